"""The Arrow schemas of the tables about histories, and functions that build their rows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from rocketproof_protocol.numbers import whole_number

from ..checker.findings import UnexplainedEvent
from ..checker.partition import default_of
from ..history import Event
from ..history.exchanges import addressee
from .kinds import BROKEN, UNEXPLAINED, UNREADABLE

if TYPE_CHECKING:
    from ..audit.programs import ViolatingRow

EVENTS = pa.schema(
    [
        pa.field("history", pa.string(), nullable=False),
        pa.field("seq", pa.int64(), nullable=False),
        pa.field("time", pa.int64()),
        pa.field("process", pa.string(), nullable=False),
        pa.field("type", pa.string(), nullable=False),
        pa.field("op", pa.string(), nullable=False),
        pa.field("value", pa.string(), nullable=False),
        pa.field("broker", pa.string()),
        pa.field("topic", pa.string()),
        pa.field("defaultTopic", pa.string()),
        pa.field("code", pa.int64()),
        pa.field("queueId", pa.int64()),
        pa.field("queueOffset", pa.int64()),
    ]
)
"""Events of histories. `value` is JSON. The columns after it repeat parts of `value`: for an invocation the broker, the topic and the
default topic, for its end the code, queue and offset of the answer."""

CALLS = pa.schema(
    [
        pa.field("history", pa.string()),
        pa.field("part", pa.int32()),
        pa.field("kind", pa.string()),
        pa.field("opened", pa.int64()),
        pa.field("closed", pa.int64()),
        pa.field("took", pa.int64()),
        pa.field("process", pa.string()),
        pa.field("op", pa.string()),
        pa.field("asked", pa.string()),
        pa.field("answer", pa.string()),
    ]
)
"""A history divided into partitions. `part` is the partition's number; -1 is the history itself, with a single row `brief`. The kinds of
rows are:

* `call`: a request, with `asked` and `answer` as JSON. `twice`: a request that was answered twice.
* `topics`: a broker's report of its topics, in `asked`.
* `brief`: the facts about the whole history that a partition needs, in `asked`.
"""

_FINDING = [
    pa.field("kind", pa.string()),
    pa.field("part", pa.string()),
    pa.field("file", pa.string()),
    pa.field("line", pa.int64()),
    pa.field("seq", pa.int64()),
    pa.field("process", pa.string()),
    pa.field("op", pa.string()),
    pa.field("recorded", pa.string()),
    pa.field("specified", pa.string()),
    pa.field("action", pa.string()),
    pa.field("guard", pa.string()),
    pa.field("sentence", pa.string()),
    pa.field("values", pa.string()),
    pa.field("prefix", pa.list_(pa.int64())),
    pa.field("steps", pa.list_(pa.string())),
    pa.field("state", pa.string()),
    pa.field("rule", pa.string()),
    pa.field("severity", pa.string()),
]

VERDICTS = pa.schema(
    [
        pa.field("history", pa.string()),
        pa.field("part", pa.string()),
        pa.field("verdict", pa.string()),
        pa.field("events", pa.int64()),
        pa.field("explained", pa.int64()),
        pa.field("expanded", pa.int64()),
        pa.field("outOfReach", pa.string()),
        pa.field("unknown", pa.string()),
        pa.field("stamp", pa.string()),
        pa.field("findings", pa.list_(pa.struct(_FINDING))),
        pa.field("rules", pa.string()),
    ]
)
"""The verdicts: a row for each partition, and one for each history, whose `part` is null.

`verdict` is ok, illegal, unknown, or unreadable if a part could not be read. `outOfReach` counts requests by reason (JSON). `stamp`
identifies the judged events and the job. `rules` counts the rows that break a user's rule, by its id (JSON).
"""

FINDINGS = pa.schema([pa.field("history", pa.string()), *_FINDING])
"""A row for each finding. `values` and `state` are JSON.

`kind` is `not explained` for an answer that no state explains, and `not readable` for a place after which a file or a history cannot be
read. In the second case, `recorded` has the reason. For `rule broken`, the columns `rule`, `severity` and `sentence` are a user's rule,
`specified` and `recorded` its expected and found values.
"""

JSON_COLUMNS = ("values", "state")
_DECODER = json.JSONDecoder()


def event_row(history: str, event: Event) -> dict[str, Any]:
    """Return an event as a row of EVENTS."""
    value = event.value
    fields = value.get("fields")
    fields = fields if isinstance(fields, Mapping) else {}
    row = {"history": history, "seq": event.seq, "time": event.time, "process": _text(event.process), "type": event.type}
    row |= {"op": _text(event.op), "value": json.dumps(value)}
    if event.type == "invoke":
        broker = addressee(value)
        row["broker"] = _text(broker) if isinstance(broker, str) else None
        row["topic"] = _text(str(fields["topic"])) if "topic" in fields else None
        row["defaultTopic"] = _text(default_of(fields)) if "defaultTopic" in fields else None
    elif event.type == "ok":
        row["code"] = _number(value.get("code"))
        row["queueId"], row["queueOffset"] = _number(fields.get("queueId")), _number(fields.get("queueOffset"))
    return row


def object_of(text: str) -> dict[str, Any] | None:
    """Return the JSON object in a text, None for anything else."""
    try:
        value, end = _DECODER.raw_decode(text)  # most texts have no space around the value
        if end != len(text):
            value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _text(text: str) -> str:
    """Return text that Arrow can store, with lone surrogates escaped."""
    return text.encode("utf-8", "backslashreplace").decode() if not text.isascii() else text


def _number(value: Any) -> int | None:
    try:
        return whole_number(value)
    except (TypeError, ValueError):
        return None


def finding_row(finding: UnexplainedEvent) -> dict[str, Any]:
    """Return a finding of the checker as a row of FINDINGS, without its history."""
    refused = finding.refused
    return {
        **dict.fromkeys(field.name for field in _FINDING),
        "kind": UNEXPLAINED,
        "part": finding.part,
        "seq": finding.seq,
        "process": finding.process,
        "op": finding.op,
        "recorded": finding.recorded,
        "specified": refused.specified,
        "action": refused.action,
        "guard": refused.guard,
        "sentence": refused.sentence,
        "values": json.dumps(dict(refused.values), default=str),
        "prefix": list(finding.prefix),
        "steps": list(finding.steps),
        "state": json.dumps(finding.state),
    }


def unreadable_row(problem: str, *, file: str | None = None, line: int | None = None, seq: int | None = None) -> dict[str, Any]:
    """Return a finding for a place after which nothing can be read, and why."""
    row = dict.fromkeys(field.name for field in _FINDING)
    return {**row, "kind": UNREADABLE, "file": file, "line": line, "seq": seq, "recorded": problem}


def broken_row(breach: ViolatingRow, **where: Any) -> dict[str, Any]:
    """Return a finding for a row that breaks a user's rule."""
    rule = breach.rule
    row = {**dict.fromkeys(field.name for field in _FINDING), **where, "kind": BROKEN, "rule": rule.id, "severity": rule.severity}
    return {**row, "sentence": rule.claim.sentence, "specified": breach.expected, "recorded": breach.found}


def verdict_row(history: str, part: str | None, verdict: str, **more: Any) -> dict[str, Any]:
    """Return a row of VERDICTS; missing values are 0, empty or null."""
    row = {"history": history, "part": part, "verdict": verdict, "events": 0, "explained": 0, "expanded": 0}
    return {**row, "outOfReach": "{}", "unknown": None, "stamp": None, "findings": [], "rules": "{}", **more}


__all__ = [
    "CALLS",
    "EVENTS",
    "FINDINGS",
    "JSON_COLUMNS",
    "VERDICTS",
    "broken_row",
    "event_row",
    "finding_row",
    "object_of",
    "unreadable_row",
    "verdict_row",
]
