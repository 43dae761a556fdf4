"""The Arrow schemas of this room's tables about histories, and how rows of them are made."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from rocketproof_protocol.numbers import whole_number

from ..checker.part import UnexplainedEvent
from ..checker.parts import default_of
from ..history import Event
from ..history.exchanges import addressee

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
"""Events of histories. `value` is JSON. The columns after it repeat what `value` says: of an invocation broker, topic and default
topic, of its end the code, queue and offset of the answer."""

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
"""A history divided: rows of the kind `call` (a request, `asked` and `answer` as JSON), `twice` (one that was answered twice), `topics`
(what a broker said of its topics, in `asked`), `brief` (what a part must know of the whole, in `asked`); part -1 is the history itself,
with one row `brief`."""

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
    ]
)
"""What was judged: a row for each part, and one for each history, whose `part` is null. `verdict` is ok, illegal, unknown, or unreadable
where not all could be read; `outOfReach` counts requests by reason (JSON). `stamp` says of which events and by what it was judged."""

FINDINGS = pa.schema([pa.field("history", pa.string()), *_FINDING])
"""A row for each finding. `kind` is `not explained` for an answer that no state explains, `not readable` for a place in a file or a
history from which on nothing can be read, with `recorded` saying why. `values` and `state` are JSON."""

UNREADABLE = "not readable"
UNEXPLAINED = "not explained"
JSON_COLUMNS = ("values", "state")
_DECODER = json.JSONDecoder()


def event_row(history: str, event: Event) -> dict[str, Any]:
    """An event as a row of EVENTS."""
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
    """The JSON object that a text is, None if it is none."""
    try:
        value, end = _DECODER.raw_decode(text)  # most texts are that alone, without space around it
        if end != len(text):
            value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _text(text: str) -> str:
    """Text that Arrow can hold: a lone surrogate is written out."""
    return text.encode("utf-8", "backslashreplace").decode() if not text.isascii() else text


def _number(value: Any) -> int | None:
    try:
        return whole_number(value)
    except (TypeError, ValueError):
        return None


def finding_row(found: UnexplainedEvent) -> dict[str, Any]:
    """A finding of the judge as a row of FINDINGS, without its history."""
    refused = found.refused
    return {
        **dict.fromkeys(field.name for field in _FINDING),
        "kind": UNEXPLAINED,
        "part": found.part,
        "seq": found.seq,
        "process": found.process,
        "op": found.op,
        "recorded": found.recorded,
        "specified": refused.specified,
        "action": refused.action,
        "guard": refused.guard,
        "sentence": refused.sentence,
        "values": json.dumps(dict(refused.values), default=str),
        "prefix": list(found.prefix),
        "steps": list(found.steps),
        "state": json.dumps(found.state),
    }


def unreadable_row(problem: str, *, file: str | None = None, line: int | None = None, seq: int | None = None) -> dict[str, Any]:
    """A finding that says where nothing more can be read, and why."""
    row = dict.fromkeys(field.name for field in _FINDING)
    return {**row, "kind": UNREADABLE, "file": file, "line": line, "seq": seq, "recorded": problem}


def verdict_row(history: str, part: str | None, verdict: str, **more: Any) -> dict[str, Any]:
    """A row of VERDICTS; what is not given is 0, empty or null."""
    row = {"history": history, "part": part, "verdict": verdict, "events": 0, "explained": 0, "expanded": 0}
    return {**row, "outOfReach": "{}", "unknown": None, "stamp": None, "findings": [], **more}


__all__ = [
    "CALLS",
    "EVENTS",
    "FINDINGS",
    "JSON_COLUMNS",
    "UNEXPLAINED",
    "UNREADABLE",
    "VERDICTS",
    "event_row",
    "finding_row",
    "object_of",
    "unreadable_row",
    "verdict_row",
]
