"""SARIF 2.1.0, as code scanning takes it: the rules that are not as expected, each finding with a place in the repository.

Verdicts as expected are no results here, since whoever reads SARIF takes each result for a problem. What was accepted is suppressed; what
was not decided, and errors of a run, are notifications of the invocation.

Code scanning rejects a whole file for a result without a place, a reference that is no path of the repository, more than 25,000 results or
10 MB: so results have places (`places.py`), and what exceeds a limit is left out and counted, suppressed results first.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final
from urllib.parse import quote

from rocketproof_protocol.shown import one_line, printable

from .places import anchor, located
from .results import Outcome, Result, Run, SourcePlace, lines
from .since import Changes
from .text import shortened

SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
SCANNED: Final = ("differs", "accepted")
MOST_RESULTS: Final = 25_000
MOST_NOTED: Final = 1_000
"""Notifications; code scanning shows none of them."""
MOST_BYTES: Final = 10_000_000
_AROUND: Final = 50_000
"""Bytes for what is around rules, results and notifications."""
_A_LINE: Final = 8
"""Bytes that each line of such a part has besides its own: blanks before it, and what comes behind it."""
_ID, _SENTENCE, _TEXT, _PROPERTY = 255, 1_000, 8_000, 1_000
"""Characters that are kept of ids, sentences, messages and properties."""
_LEVELS: Final[Mapping[Outcome, str]] = {"error": "error", "undecided": "warning"}
_LABEL: Final = re.compile(r"[A-Z]+-[0-9]{2,3}(\.\w+)?")
_HELP: Final = "Where it is stated, and what belongs to it: rocketproof requirements {}"
_HOME: Final = "https://pypi.org/project/rocketproof/"


def write(run: Run, changes: Changes | None = None) -> str:
    """The run as a SARIF log; with changes each result says whether it is new since the other run."""
    file = _File()
    file.add(file.notifications, _noted(run), MOST_NOTED, MOST_BYTES // 2)
    found = [one for outcome in SCANNED for one in run.results if one.outcome == outcome]
    otherwise = anchor(run)
    results = ((one, _result(one, located(one, run, otherwise), changes)) for one in found)
    file.add(file.results, results, MOST_RESULTS, MOST_BYTES - _AROUND)
    left = len(found) - len(file.results)
    if left:
        text = f"{left:,} of {len(found):,} results are left out: code scanning takes no larger file; fix the others first"
        file.notifications.append({"level": "warning", "message": {"text": text}})
    driver = {"name": "rocketproof", "version": run.tool, "informationUri": _HOME, "rules": [*file.rules.values()]}
    log = {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": driver},
                "automationDetails": {"id": "/".join(part for part in ("rocketproof", run.command, one_line(run.profile)) if part) + "/"},
                "invocations": [_invocation(run, file.notifications)],
                "results": file.results,
                "columnKind": "unicodeCodePoints",
            }
        ],
    }
    return json.dumps(log, indent=1, ensure_ascii=True) + "\n"


class _File:
    """The parts of a file, which together have no more bytes than code scanning takes."""

    def __init__(self) -> None:
        self.rules: dict[str, dict[str, Any]] = {}
        self.results: list[dict[str, Any]] = []
        self.notifications: list[dict[str, Any]] = []
        self._numbers: dict[str, int] = {}
        self._bytes = 0

    def add(self, to: list[dict[str, Any]], parts: Iterable[tuple[Result | None, dict[str, Any]]], most: int, most_bytes: int) -> None:
        """Add so many of the parts, each with the rule of its result, as the file has room for."""
        for one, part in itertools.islice(parts, most):
            id_ = "" if one is None else _id(one)
            rule = None if one is None or id_ in self.rules else _rule(one)
            size = _size(part) + (0 if rule is None else _size(rule))
            if self._bytes + size > most_bytes:
                return
            self._bytes += size
            if rule is not None:
                self.rules[id_] = rule
            number = self._numbers.setdefault(id_, len(self._numbers)) if one is not None else 0
            if "ruleId" in part:
                part["ruleIndex"] = number
            elif one is not None:
                part["associatedRule"] = {"id": id_, "index": number}
            to.append(part)


def _size(part: dict[str, Any]) -> int:
    text = json.dumps(part, indent=1, ensure_ascii=True)
    return len(text) + _A_LINE * (text.count("\n") + 4)


def _id(one: Result) -> str:
    return shortened(printable(one.id), _ID)


def _rule(one: Result) -> dict[str, Any]:
    id_ = _id(one)
    sentence = shortened(one_line(one.sentence), _SENTENCE) or id_
    return {
        "id": id_,
        "name": id_,
        "shortDescription": {"text": sentence},
        "fullDescription": {"text": sentence},
        "help": {"text": f"{sentence}. {_HELP.format(id_.partition('.')[0])}" if _LABEL.fullmatch(id_) else sentence},
        "defaultConfiguration": {"level": "error"},
    }


def _result(one: Result, place: SourcePlace, changes: Changes | None) -> dict[str, Any]:
    case = ", ".join(part for part in (one.about, one.profile, one.condition) if part)
    head = one_line(f"{one.sentence} ({case})" if case else one.sentence)
    text = lines([f"{head}: {one_line(one.said)}", one.details, *one.commands, f"at {one.place}" if one.place is not None else ""])
    properties = {
        **one.properties, "verdict": one.verdict, "expected": one.expected, "profile": one.profile, "condition": one.condition,
        "engine": one.engine, "scope": one.scope, "cause": one.cause, "witness": one.witness,
    }  # fmt: skip
    made: dict[str, Any] = {
        "ruleId": _id(one),
        "ruleIndex": 0,
        "level": "error" if one.outcome == "differs" else "note",
        "message": {"text": shortened(printable(text), _TEXT)},
        "locations": [_location(place)],
        "partialFingerprints": {"rocketproof/v1": one.fingerprint},
        "properties": {shortened(name, _ID): shortened(value, _PROPERTY) for name, value in properties.items() if value},
    }
    if one.outcome == "accepted":
        justification = shortened(one_line(one.message), _SENTENCE)
        made["suppressions"] = [{"kind": "external", "status": "accepted", "justification": justification}]
    if changes is not None:
        made["baselineState"] = "new" if one.key in changes.added else "updated" if one.key in changes.flipped else "unchanged"
    return made


def _location(place: SourcePlace) -> dict[str, Any]:
    region = {"startLine": place.line or 1}
    if place.offset is not None:
        region |= {"byteOffset": place.offset, "byteLength": 0}
    return {"physicalLocation": {"artifactLocation": {"uri": quote(printable(place.file), safe="/")}, "region": region}}


def _noted(run: Run) -> Iterator[tuple[Result | None, dict[str, Any]]]:
    """The notifications: errors, what is undecided, then what is said of the run, which ended early first."""
    for outcome, level in _LEVELS.items():
        for one in run.of(outcome):
            yield one, {"level": level, "message": {"text": shortened(one_line(f"{one.name}: {one.said}"), _TEXT)}}
    for text in (*([run.stopped] if run.stopped else []), *run.notes):
        yield None, {"level": "note", "message": {"text": shortened(one_line(text), _TEXT)}}


def _invocation(run: Run, notifications: list[dict[str, Any]]) -> dict[str, Any]:
    made: dict[str, Any] = {
        "executionSuccessful": run.exit in (0, 1),
        "exitCode": run.exit,
        "toolExecutionNotifications": notifications,
    }
    if run.line:
        made["commandLine"] = shortened(one_line(run.line), _TEXT)
    if run.started:
        made["startTimeUtc"] = run.started.partition("+")[0] + "Z"
    return made
