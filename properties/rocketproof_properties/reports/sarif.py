"""SARIF 2.1.0 for code scanning: the rules that are not as expected, and each finding with a place in the repository.

Verdicts as expected are omitted, because SARIF viewers treat each result as a problem. Accepted results are suppressed. Undecided results
and errors of a run are notifications of the invocation.

Code scanning rejects a whole file for a single result without a place, or for a reference that is no path of the repository. Its limits are
25,000 results and 10 MB. Therefore every result has a place (`places.py`), and what exceeds a limit is omitted and counted, suppressed
results first.
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
"""Maximum number of notifications; code scanning shows none of them."""
MOST_BYTES: Final = 10_000_000
_AROUND: Final = 50_000
"""Bytes reserved for everything except rules, results and notifications."""
_A_LINE: Final = 8
"""Bytes per line in addition to its own text: indentation and separators."""
_ID, _SENTENCE, _TEXT, _PROPERTY = 255, 1_000, 8_000, 1_000
"""Maximum number of characters of ids, sentences, messages and properties."""
_LEVELS: Final[Mapping[Outcome, str]] = {"error": "error", "undecided": "warning"}
_LABEL: Final = re.compile(r"[A-Z]+-[0-9]{2,3}(\.\w+)?")
_HELP: Final = "What it states: rocketproof list properties {}"


def write(run: Run, changes: Changes | None = None) -> str:
    """Return the run as a SARIF log. With `changes`, each result states whether it is new since the other run."""
    file = _File()
    file.add(file.notifications, _noted(run), MOST_NOTED, MOST_BYTES // 2)
    scanned = [result for outcome in SCANNED for result in run.results if result.outcome == outcome]
    otherwise = anchor(run)
    results = ((result, _result(result, located(result, run, otherwise), changes)) for result in scanned)
    file.add(file.results, results, MOST_RESULTS, MOST_BYTES - _AROUND)
    omitted = len(scanned) - len(file.results)
    if omitted:
        text = f"{omitted:,} of {len(scanned):,} results are left out: code scanning takes no larger file; fix the others first"
        file.notifications.append({"level": "warning", "message": {"text": text}})
    driver = {"name": "rocketproof", "version": run.tool, "rules": [*file.rules.values()]}
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
    """The parts of a file. Their total size is limited to what code scanning accepts."""

    def __init__(self) -> None:
        self.rules: dict[str, dict[str, Any]] = {}
        self.results: list[dict[str, Any]] = []
        self.notifications: list[dict[str, Any]] = []
        self._numbers: dict[str, int] = {}
        self._bytes = 0

    def add(self, to: list[dict[str, Any]], parts: Iterable[tuple[Result | None, dict[str, Any]]], most: int, most_bytes: int) -> None:
        """Add at most `most` of the parts, each with the rule of its result, while the file stays below `most_bytes`."""
        for result, part in itertools.islice(parts, most):
            id_ = "" if result is None else _id(result)
            rule = None if result is None or id_ in self.rules else _rule(result)
            size = _size(part) + (0 if rule is None else _size(rule))
            if self._bytes + size > most_bytes:
                return
            self._bytes += size
            if rule is not None:
                self.rules[id_] = rule
            number = self._numbers.setdefault(id_, len(self._numbers)) if result is not None else 0
            if "ruleId" in part:
                part["ruleIndex"] = number
            elif result is not None:
                part["associatedRule"] = {"id": id_, "index": number}
            to.append(part)


def _size(part: dict[str, Any]) -> int:
    text = json.dumps(part, indent=1, ensure_ascii=True)
    return len(text) + _A_LINE * (text.count("\n") + 4)


def _id(result: Result) -> str:
    return shortened(printable(result.id), _ID)


def _rule(result: Result) -> dict[str, Any]:
    id_ = _id(result)
    sentence = shortened(one_line(result.sentence), _SENTENCE) or id_
    return {
        "id": id_,
        "name": id_,
        "shortDescription": {"text": sentence},
        "fullDescription": {"text": sentence},
        "help": {"text": f"{sentence}. {_HELP.format(id_.partition('.')[0])}" if _LABEL.fullmatch(id_) else sentence},
        "defaultConfiguration": {"level": "error"},
    }


def _result(result: Result, place: SourcePlace, changes: Changes | None) -> dict[str, Any]:
    case = ", ".join(part for part in (result.about, result.profile, result.condition) if part)
    head = one_line(f"{result.sentence} ({case})" if case else result.sentence)
    text = lines(
        [f"{head}: {one_line(result.said)}", result.details, *result.commands, f"at {result.place}" if result.place is not None else ""]
    )
    properties = {
        **result.properties, "verdict": result.verdict, "expected": result.expected, "profile": result.profile,
        "condition": result.condition, "engine": result.engine, "scope": result.scope, "cause": result.cause, "witness": result.witness,
    }  # fmt: skip
    entry: dict[str, Any] = {
        "ruleId": _id(result),
        "ruleIndex": 0,
        "level": "error" if result.outcome == "differs" else "note",
        "message": {"text": shortened(printable(text), _TEXT)},
        "locations": [_location(place)],
        "partialFingerprints": {"rocketproof/v1": result.fingerprint},
        "properties": {shortened(name, _ID): shortened(value, _PROPERTY) for name, value in properties.items() if value},
    }
    if result.outcome == "accepted":
        justification = shortened(one_line(result.message), _SENTENCE)
        entry["suppressions"] = [{"kind": "external", "status": "accepted", "justification": justification}]
    if changes is not None:
        entry["baselineState"] = "new" if result.key in changes.added else "updated" if result.key in changes.flipped else "unchanged"
    return entry


def _location(place: SourcePlace) -> dict[str, Any]:
    region = {"startLine": place.line or 1}
    if place.offset is not None:
        region |= {"byteOffset": place.offset, "byteLength": 0}
    return {"physicalLocation": {"artifactLocation": {"uri": quote(printable(place.file), safe="/")}, "region": region}}


def _noted(run: Run) -> Iterator[tuple[Result | None, dict[str, Any]]]:
    """Yield the notifications: errors, undecided results, then notes on the run, beginning with the reason of an early end."""
    for outcome, level in _LEVELS.items():
        for result in run.of(outcome):
            yield result, {"level": level, "message": {"text": shortened(one_line(f"{result.name}: {result.said}"), _TEXT)}}
    for text in (*([run.stopped] if run.stopped else []), *run.notes):
        yield None, {"level": "note", "message": {"text": shortened(one_line(text), _TEXT)}}


def _invocation(run: Run, notifications: list[dict[str, Any]]) -> dict[str, Any]:
    invocation: dict[str, Any] = {
        "executionSuccessful": run.exit in (0, 1),
        "exitCode": run.exit,
        "toolExecutionNotifications": notifications,
    }
    if run.line:
        invocation["commandLine"] = shortened(one_line(run.line), _TEXT)
    if run.started:
        invocation["startTimeUtc"] = run.started.partition("+")[0] + "Z"
    return invocation
