"""SARIF 2.1.0, as code scanning takes it: the rules that are not as expected, each finding with where it is stated or stored.

Verdicts as expected are no results here, since whoever reads SARIF takes each result for a problem. What was accepted is suppressed; what
was not decided, and errors of a run, are notifications of the invocation.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote

from rocketproof_protocol.shown import one_line, printable

from .results import Place, Result, Run, lines
from .since import Changes

SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
SCANNED: Final = ("differs", "accepted")
_LEVELS: Final[Mapping[str, str]] = {"undecided": "warning", "error": "error"}
_LABEL: Final = re.compile(r"[A-Z]+-\d{2,3}(\.\w+)?")
_HELP: Final = "Where it is stated, and what belongs to it: rocketproof requirements {}"
_HOME: Final = "https://pypi.org/project/rocketproof/"


def write(run: Run, changes: Changes | None = None) -> str:
    """The run as a SARIF log; with changes each result says whether it is new since the other run."""
    found = [one for one in run.results if one.outcome in SCANNED]
    rules: dict[str, Result] = {}
    for one in run.results:
        if one.outcome in SCANNED or one.outcome in _LEVELS:
            rules.setdefault(one.id, one)
    index = {id_: number for number, id_ in enumerate(rules)}
    log = {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "rocketproof",
                        "version": run.tool,
                        "informationUri": _HOME,
                        "rules": [_rule(id_, one) for id_, one in rules.items()],
                    }
                },
                "automationDetails": {"id": "/".join(part for part in ("rocketproof", run.command, one_line(run.profile)) if part) + "/"},
                "invocations": [_invocation(run, index)],
                "results": [_result(one, index[one.id], changes) for one in found],
                "columnKind": "unicodeCodePoints",
            }
        ],
    }
    return json.dumps(log, indent=1, ensure_ascii=True) + "\n"


def _rule(id_: str, one: Result) -> dict[str, Any]:
    sentence = one_line(one.sentence) or id_
    return {
        "id": printable(id_),
        "name": printable(id_),
        "shortDescription": {"text": sentence},
        "fullDescription": {"text": sentence},
        "help": {"text": f"{sentence}. {_HELP.format(id_.partition('.')[0])}" if _LABEL.fullmatch(id_) else sentence},
        "defaultConfiguration": {"level": "error"},
    }


def _result(one: Result, rule: int, changes: Changes | None) -> dict[str, Any]:
    case = ", ".join(part for part in (one.about, one.profile, one.condition) if part)
    head = one_line(f"{one.sentence} ({case})" if case else one.sentence)
    made: dict[str, Any] = {
        "ruleId": printable(one.id),
        "ruleIndex": rule,
        "level": "error" if one.outcome == "differs" else "note",
        "message": {"text": printable(lines([f"{head}: {one_line(one.said)}", one.details, *one.commands]))},
        "locations": [] if one.place is None else [_location(one.place)],
        "partialFingerprints": {"rocketproof/v1": one.fingerprint},
        "properties": {
            name: value
            for name, value in {
                **one.properties, "verdict": one.verdict, "expected": one.expected, "profile": one.profile, "condition": one.condition,
                "engine": one.engine, "scope": one.scope, "cause": one.cause, "witness": one.witness,
            }.items()
            if value
        },
    }  # fmt: skip
    if one.outcome == "accepted":
        made["suppressions"] = [{"kind": "external", "status": "accepted", "justification": one_line(one.message)}]
    if changes is not None:
        made["baselineState"] = "new" if one.key in changes.added else "updated" if one.key in changes.flipped else "unchanged"
    return made


def _location(place: Place) -> dict[str, Any]:
    at: dict[str, Any] = {"artifactLocation": {"uri": _relative(place.file)}}
    if place.line is not None:
        at["region"] = {"startLine": place.line}
    elif place.offset is not None:
        at["region"] = {"byteOffset": place.offset, "byteLength": 0}
    return {"physicalLocation": at}


def _relative(file: str) -> str:
    """A path as a reference; what has a scheme of its own (s3://) keeps it."""
    scheme, separator, rest = file.rpartition("://")
    if not separator and file.startswith("/"):
        scheme, separator = "file", "://"
    return f"{scheme}{separator}" + quote(printable(rest), safe="/")


def _invocation(run: Run, index: Mapping[str, int]) -> dict[str, Any]:
    told = [
        {
            "level": _LEVELS[one.outcome],
            "message": {"text": one_line(f"{one.name}: {one.said}")},
            "associatedRule": {"id": printable(one.id), "index": index[one.id]},
        }
        for one in run.results
        if one.outcome in _LEVELS
    ]
    notes = [{"level": "note", "message": {"text": one_line(text)}} for text in (*run.notes, *([run.stopped] if run.stopped else []))]
    made: dict[str, Any] = {
        "executionSuccessful": run.exit in (0, 1),
        "exitCode": run.exit,
        "toolExecutionNotifications": [*told, *notes],
    }
    if run.line:
        made["commandLine"] = one_line(run.line)
    if run.started:
        made["startTimeUtc"] = run.started.partition("+")[0] + "Z"
    return made
