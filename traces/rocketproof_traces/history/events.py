"""The events of a history: what happened in a real or simulated run, in the order of observation.

A process (a client, a broker, a node) has at most one open call. `invoke` opens it; `ok`, `fail` or `info` with the same `op` closes it.
`info` means that it is unknown whether the call took effect. `info` also stands alone for events of the run. `disk` is the content of a
store, `state` is what a part of the system reported about itself, and `crash` ends a process and its open call. docs/history.md describes
the schema; docs/history.schema.json defines it for other tools.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from rocketproof_protocol.shown import json_text

from ..common.errors import TraceError

SCHEMA = "rocketproof-history"
VERSION = 1
TYPES = ("invoke", "ok", "fail", "info", "disk", "crash", "state")


@dataclass(frozen=True)
class Header:
    """The subject of a history. `origin` describes its source; `start` is the wall clock (ISO 8601) at time 0, or None.

    `witness` is present in a history made from a witness: its property, constants, loop and note.
    """

    origin: Mapping[str, Any] = field(default_factory=dict)
    start: str | None = None
    note: str = ""
    witness: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Event:
    """One line. `time` is in nanoseconds since the start, None without a clock; `seq` counts from 0."""

    seq: int
    type: str
    process: str
    op: str
    value: Mapping[str, Any]
    time: int | None = None


class Moment(Protocol):
    """An event without its value."""

    @property
    def seq(self) -> int: ...
    @property
    def type(self) -> str: ...
    @property
    def process(self) -> str: ...
    @property
    def op(self) -> str: ...
    @property
    def time(self) -> int | None: ...


def header_line(header: Header) -> str:
    row: dict[str, Any] = {"v": VERSION, "type": "header", "schema": SCHEMA, "version": VERSION, "origin": dict(header.origin)}
    row |= {"start": header.start, "note": header.note}
    if header.witness is not None:
        row["witness"] = dict(header.witness)
    return json_text(row)


def event_line(event: Event) -> str:
    row = {"v": VERSION, "seq": event.seq, "time": event.time, "process": event.process, "type": event.type, "op": event.op}
    return json_text({**row, "value": dict(event.value)})


class Rules:
    """Checks of an event apart from its form: its number, its type, and the call that it closes. Events are checked in order."""

    def __init__(self) -> None:
        self.next = 0
        self.open: dict[str, str] = {}

    def check(self, place: str, event: Moment) -> None:
        type_, process, op = event.type, event.process, event.op
        if event.seq != self.next:
            raise TraceError(place, f"'seq' is {event.seq}, expected {self.next}", "events are numbered from 0 without gaps")
        if type_ not in TYPES:
            raise TraceError(place, f"unknown type {type_!r}", f"the types are {', '.join(TYPES)}")
        if event.time is not None and event.time < 0:
            raise TraceError(place, f"'time' is {event.time}", "time is in nanoseconds since the start, not negative")
        opened = self.open.get(process)
        if type_ == "invoke":
            if opened is not None:
                raise TraceError(place, f"{process} invokes {op} while {opened} is open", "close it with ok, fail or info first")
            self.open[process] = op
        elif opened == op or type_ == "crash":
            self.open.pop(process, None)
        elif type_ in ("ok", "fail"):
            raise TraceError(place, f"{type_} closes {op} of {process}, which is not open", "write its invoke first")
        self.next += 1
