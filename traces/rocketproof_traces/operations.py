"""A history's events as operations: what was asked of which broker, when it began and ended, and what came back.

An operation that ended `fail` took no effect and is left out. One that ended `info`, that a crash ended or that never ended may have taken
effect or not, at any time after it began. A one-way request has no answer either.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .errors import TraceError, short
from .history import Event
from .recording import SEND, Config, reach

NAME_SERVER = "name server"
BATCH = 320
_HEAD = 4  # bytes that say how long a message of a batch is


@dataclass(frozen=True)
class Operation:
    """A request. `opened` and `closed` are numbers of events; `closed` and `answer` are None where nobody knows how it ended.

    `took` is in nanoseconds, None where there was no clock.
    """

    process: str
    op: str
    broker: str
    opened: int
    closed: int | None
    asked: Mapping[str, Any]
    answer: Mapping[str, Any] | None
    took: int | None = None

    @property
    def fields(self) -> Mapping[str, str]:
        fields: Mapping[str, str] = self.asked.get("fields") or {}
        return fields

    @property
    def topic(self) -> str:
        return str(self.fields.get("topic", ""))

    def number(self, name: str, otherwise: int = 0) -> int:
        """A field of the header as a number."""
        try:
            return int(self.fields.get(name, otherwise))
        except ValueError:
            return otherwise

    @property
    def code(self) -> int | None:
        """The answer's code, None without an answer."""
        return None if self.answer is None else self.answer.get("code")

    def answered(self, name: str) -> int | None:
        """A field of the answer as a number, None if it is not there."""
        value = ((self.answer or {}).get("fields") or {}).get(name)
        try:
            return None if value is None else int(value)
        except ValueError:
            return None

    @property
    def reason(self) -> str:
        """Why a send is out of the specification's reach, or nothing."""
        if self.op == "batch":
            return "" if self.messages else "batches without messages" if self.messages == 0 else "batches without their body"
        return reach(SEND, dict(self.fields), self.code, int(self.asked.get("bodySize") or 0))[1]

    @property
    def messages(self) -> int | None:
        """How many messages a batch has; 0 if it is refused because it is none, None if its body is not in the history."""
        if self.op != "batch":
            return 1
        body = _body(self.asked)
        if body is None and self.asked.get("bodySize"):
            return None
        count = _messages(body or b"")
        return count if count is not None else 0 if self.code == 1 else None

    def config(self) -> Config | None:
        """The topic's configuration in the answer's body, None if it says that there is none. Raises ValueError for neither."""
        if self.code != 0:
            return None
        body = _body(self.answer or {})
        return config_of(json.loads(body or b"null"))


@dataclass(frozen=True)
class Snapshot:
    """What a broker said of its topics."""

    seq: int
    broker: str
    topics: Mapping[str, Config]


@dataclass(frozen=True)
class Break:
    """From this event on a broker is another one: its process ended, or its settings were changed."""

    seq: int
    broker: str
    why: str


@dataclass(frozen=True)
class Operations:
    """A history by what its events mean. `events` is their number."""

    events: int
    asked: tuple[Operation, ...]
    snapshots: tuple[Snapshot, ...]
    breaks: tuple[Break, ...]


def operations(events: Iterable[Event], place: str = "history") -> Operations:
    """The operations of a history of requests to brokers. Raises TraceError naming an event that none can be read from."""
    opened: dict[str, Event] = {}
    asked, snapshots, breaks, number = [], [], [], 0
    for event in events:
        number += 1
        begun = opened.get(event.process)
        if event.type == "invoke":
            if not isinstance(event.value.get("to"), str):
                raise TraceError(f"{place}: event {event.seq}", "does not say whom it asks", "an invoke has 'to': a broker's name")
            opened[event.process] = event
            if event.op == "configure":
                breaks.append(Break(event.seq, event.value["to"], "the broker's settings were changed"))
        elif event.type == "crash":
            breaks.append(Break(event.seq, event.process, "the broker's process ended"))
            if begun is not None:
                asked.append(_operation(opened.pop(event.process), None))
        elif event.type in ("ok", "fail", "info") and begun is not None and begun.op == event.op:
            del opened[event.process]
            if event.type != "fail":
                asked.append(_operation(begun, event if event.type == "ok" else None))
        elif event.type == "state" and event.op == "topics":
            snapshots.append(_snapshot(event, place))
    asked += [_operation(event, None) for event in opened.values()]
    asked.sort(key=lambda o: o.opened)
    return Operations(number, tuple(asked), tuple(snapshots), tuple(breaks))


def _operation(begun: Event, ended: Event | None) -> Operation:
    answer = None if ended is None or begun.value.get("oneWay") or ended.value.get("code") is None else ended.value
    took = None if ended is None or ended.time is None or begun.time is None else ended.time - begun.time
    closed = None if answer is None or ended is None else ended.seq
    return Operation(begun.process, begun.op, begun.value["to"], begun.seq, closed, begun.value, answer, took)


def _snapshot(event: Event, place: str) -> Snapshot:
    topics = event.value.get("topics")
    try:
        return Snapshot(event.seq, event.process, {str(name): _known(entry) for name, entry in (topics or {}).items()})
    except (AttributeError, ValueError, TypeError, KeyError) as error:
        problem = f"holds no topics ({short(str(error))})"
        raise TraceError(f"{place}: event {event.seq}", problem, "a topic has readQueueNums, writeQueueNums, perm") from None


def config_of(data: Any) -> Config | None:
    """A configuration as brokers write it. Raises ValueError where it is none."""
    if data is None:
        return None
    try:
        return _known(data.get("topicConfig", data))
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"no topic's configuration: {error}") from None


def _known(entry: Mapping[str, Any]) -> Config:
    order = entry.get("order", False)
    order = str(order).lower() == "true"
    return Config(int(entry["readQueueNums"]), int(entry["writeQueueNums"]), int(entry["perm"]), order)


def _messages(body: bytes) -> int | None:
    """How many messages a batch's body holds, None if it does not end where a message does."""
    at = count = 0
    while at + _HEAD <= len(body):
        size = int.from_bytes(body[at : at + _HEAD], "big", signed=True)
        if size < _HEAD:
            return None
        at += size
        count += 1
    return count if at == len(body) else None


def _body(value: Mapping[str, Any]) -> bytes | None:
    text = value.get("body")
    if not isinstance(text, str):
        return None
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
