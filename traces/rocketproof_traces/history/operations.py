"""A history's events as operations: what was asked of which broker, when it began and ended, and what came back.

An operation that ended `fail` took no effect and is left out. One that ended `info`, that a crash ended or that never ended may have taken
effect or not, at any time after it began. A one-way request has no answer either.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, NamedTuple, TypeVar

from rocketproof_protocol.codes import SEND_MESSAGE, UPDATE_AND_CREATE_TOPIC
from rocketproof_protocol.groups import RETRY_MAX_TIMES
from rocketproof_protocol.numbers import java_boolean, whole_number
from rocketproof_spec.bounds import NAMES_LIMIT

from ..common.errors import TraceError, short
from . import Event, Moment
from .cases import Config, Kind, StoredMessage, properties_of, reach, stored

NAME_SERVER = "name server"
STRAY = "stray"
"""The op of an answer that nobody waited for: `of` is the request that was answered before, if there is one."""
OVER = "over"
"""The op of the event behind a program that was done to its end and read back."""
SENDS = ("send", "batch")
TELLING = ("register_topic", "forget_topic")
"""What a name server is told of topics, whatever brokers register."""
JUDGED = (*SENDS, "update_topic", "topic_config", "max_offset", "delete_topic")
"""The requests whose answers are judged."""
CONFIGURE = "configure"
CREATION, PERMISSION = "autoCreateTopicEnable", "brokerPermission"
"""The settings of which the specification says what it means that they are changed."""
PROGRESS = ("commit", "progress")
"""What groups tell of queues and ask."""
_HEAD = 20  # bytes of a batch's message in front of its body; the last four are the body's length
_SHORT = 2  # bytes of the length of its properties


@dataclass(slots=True)
class Operation:
    """A request; nobody changes it.

    `opened` and `closed` are numbers of events; `closed` and `answer` are None where nobody knows how it ended. `took` is in nanoseconds,
    None where there was no clock. `again`: it stands for the second time that another one may have been served (`served_again`). `fields`
    are those of the header, `properties` those of the message, `told` and `code` those of the answer: none without one. `messages` is how
    many a batch has: 0 if it is refused because it is none, None if its body is not in the history. `reason` is why a send or an update is
    out of the specification's reach, or nothing.
    """

    process: str
    op: str
    broker: str
    opened: int
    closed: int | None
    asked: Mapping[str, Any]
    answer: Mapping[str, Any] | None
    took: int | None = None
    again: bool = False

    fields: Mapping[str, str] = field(init=False, repr=False)
    properties: Mapping[str, str] = field(init=False, repr=False)
    told: Mapping[str, Any] = field(init=False, repr=False)
    code: int | None = field(init=False)
    topic: str = field(init=False)
    messages: int | None = field(init=False)
    reason: str = field(init=False)

    def __post_init__(self) -> None:
        self.fields = _fields(self.asked)
        text = self.fields.get("properties")
        self.properties = properties_of(str(text)) if text else {}
        self.told, self.code = ({}, None) if self.answer is None else (_fields(self.answer), self.answer.get("code"))
        self.topic = str(self.fields.get("topic", ""))
        self.messages = 1 if self.op != "batch" else self._batched()
        self.reason = self._why()

    def number(self, name: str, otherwise: int = 0) -> int:
        """A field of the header as a number."""
        try:
            return whole_number(self.fields.get(name, otherwise))
        except (ValueError, TypeError):
            return otherwise

    @property
    def remark(self) -> str:
        """What the answer says in words; nothing without an answer, or where it says nothing."""
        return str((self.answer or {}).get("remark") or "")

    def answered(self, name: str) -> int | None:
        """A field of the answer as a number, None if it is not there or is none."""
        value = self.told.get(name)
        try:
            return whole_number(value) if isinstance(value, (str, int)) else None
        except ValueError:
            return None

    def _why(self) -> str:
        if self.op == "batch":
            return "" if self.messages else "batches without messages" if self.messages == 0 else "batches without their body"
        if self.op not in ("send", "update_topic"):
            return ""
        code = UPDATE_AND_CREATE_TOPIC if self.op == "update_topic" else SEND_MESSAGE
        return self.reach(code)[1]

    def reach(self, code: int, group_limit: int | None = RETRY_MAX_TIMES) -> tuple[Kind, str]:
        """Whether the specification speaks of it as a request of this code, else why not (`cases.reach`)."""
        size, version = whole_number(self.asked.get("bodySize") or 0), whole_number(self.asked.get("version", NAMES_LIMIT))
        return reach(code, self.fields, self.properties, self.code, size, version, group_limit)

    def group(self) -> tuple[str, int, int] | None:
        """The group that an update is about, the retries that it allows from then on, and their queues; None if its body is not in the
        history."""
        try:
            data = json.loads(_body(self.asked) or b"")
            return (
                str(data["groupName"]),
                whole_number(data.get("retryMaxTimes", RETRY_MAX_TIMES)),
                whole_number(data.get("retryQueueNums", 1)),
            )
        except (ValueError, KeyError, TypeError, AttributeError):
            return None

    def _batched(self) -> int | None:
        body = _body(self.asked)
        if body is None and self.asked.get("bodySize"):
            return self._told()
        found = _batched(body or b"")
        return len(found) if found is not None else 0 if self.code == 1 else None

    def batched(self) -> list[tuple[int, str]]:
        """How long the body of each message of a batch is, and its properties as they are written; none where the history does not have
        them."""
        return (_batched(_body(self.asked) or b"") or []) if self.op == "batch" else []

    def _told(self) -> int | None:
        """How many messages the answer names, None if it names none."""
        named = self.told.get("msgId")
        return named.count(",") + 1 if isinstance(named, str) and named else None

    @property
    def case(self) -> str:
        """The recorded case that asked, nothing in other histories."""
        return str(self.asked.get("case", ""))

    @property
    def looks_after(self) -> str:
        """The recorded case after which this looks at the topic, nothing elsewhere."""
        return str(self.asked.get("after", ""))

    def stored(self) -> tuple[StoredMessage, ...]:
        """The records that the request stored, where the history says so. Raises TraceError for none."""
        try:
            return stored((self.answer or {}).get("stored") or ())
        except (AttributeError, ValueError, TypeError, KeyError) as error:
            problem = f"'stored' holds no records ({short(str(error))})"
            raise TraceError(f"event {self.closed}", problem, "a record has topic, queueId, queueOffset, sysFlag") from None

    def route(self) -> Config | None:
        """What a route says of the broker's queues for the topic, None if nothing. Raises TraceError for no route."""
        try:
            data = (json.loads(_body(self.answer or {}) or b"null") or {}).get("queueDatas", ())
            found = [Config(q["readQueueNums"], q["writeQueueNums"], q["perm"], False) for q in data if q["brokerName"] == self.broker]
        except (AttributeError, ValueError, TypeError, KeyError) as error:
            problem = f"its body holds no route ({short(str(error))})"
            raise TraceError(f"event {self.closed}", problem, "record the answer's body as it came") from None
        return found[0] if found else None

    def settings(self) -> dict[str, str]:
        """The settings of a broker that the request changes, by their names; none where its body is not in the history."""
        return settings_of(self.asked)

    def told_routes(self) -> list[tuple[str, Config]]:
        """The queues that the request tells of, each with its broker; none where its body holds no route."""
        try:
            data = (json.loads(_body(self.asked) or b"null") or {}).get("queueDatas") or ()
            return [(str(q["brokerName"]), Config(q["readQueueNums"], q["writeQueueNums"], q["perm"], False)) for q in data]
        except (AttributeError, ValueError, TypeError, KeyError):
            return []

    def config(self) -> Config | None:
        """The topic's configuration in the answer's body, None if it says that there is none. Raises TraceError for neither."""
        if self.code != 0:
            return None
        body = _body(self.answer or {})
        try:
            return config_of(json.loads(body or b"null"))
        except ValueError as error:
            problem = f"its body holds no topic's configuration ({short(str(error))})"
            raise TraceError(f"event {self.closed}", problem, "record the answer's body as it came") from None


@dataclass(frozen=True)
class Snapshot:
    """A broker's topics, as it answered."""

    seq: int
    broker: str
    topics: Mapping[str, Config]


@dataclass(frozen=True)
class Break:
    """From this event on a broker is another one: its process ended, or settings were changed of which the specification does not speak."""

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


E = TypeVar("E", bound=Moment)


class CallEvents(NamedTuple, Generic[E]):
    """A call: the event that began it, and the one that ended it (ok, fail, info or crash), None where none did."""

    begun: E
    ended: E | None

    @property
    def failed(self) -> bool:
        """Whether it took no effect."""
        return self.ended is not None and self.ended.type == "fail"

    @property
    def answer(self) -> E | None:
        """The event with its answer, None where nobody knows one."""
        return self.ended if self.ended is not None and self.ended.type == "ok" else None


def paired(events: Iterable[E]) -> Iterator[CallEvents[E] | E]:
    """The calls of a history when they end, those that never end at last; between them the events that stand alone, crashes, and the
    invocations of `configure`. At any time no more is kept than the open calls, one a process."""
    opened: dict[str, E] = {}
    for event in events:
        begun = opened.get(event.process)
        if event.type == "invoke":
            opened[event.process] = event
            if event.op == CONFIGURE:
                yield event
        elif begun is not None and event.type in ("ok", "fail", "info") and begun.op == event.op:
            yield CallEvents(opened.pop(event.process), event)
        else:
            yield event
            if begun is not None and event.type == "crash":
                yield CallEvents(opened.pop(event.process), event)
    for event in opened.values():
        yield CallEvents(event, None)


def operations(events: Iterable[Event]) -> Operations:
    """The operations of a history of requests to brokers. One that was answered twice may have been served twice: it is there once more,
    without an answer. Raises TraceError naming an event that none can be read from."""
    asked, snapshots, breaks, number = [], [], [], 0
    answered_again = set()

    def checked() -> Iterator[Event]:
        nonlocal number
        for event in events:
            number += 1
            if event.type == "invoke":
                check_asked(event.seq, addressee(event.value))
            yield event

    for found in paired(checked()):
        if isinstance(found, CallEvents):
            if not found.failed:
                asked.append(operation(found.begun, found.answer))
        elif found.type == "state":
            if found.op == "topics":
                snapshots.append(snapshot(found))
        elif found.op == STRAY:
            answered_again.add(of_stray(found.value))
        elif (found.type == "crash") or (found.type == "invoke" and not is_specified(found.value)):
            breaks.append(breaking(found.type, found.seq, found.process if found.type == "crash" else addressee(found.value)))
    asked += served_again(one for one in asked if one.opened in answered_again)
    asked.sort(key=lambda o: o.opened)
    return Operations(number, tuple(asked), tuple(snapshots), tuple(breaks))


def _fields(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """The fields of a request or an answer, none where it has none."""
    fields = value.get("fields")
    return fields if isinstance(fields, Mapping) else {}


def of_stray(value: Mapping[str, Any]) -> int | None:
    """The event that began the request which a stray answer is to, None where nobody knows one."""
    of = value.get("of")
    return of if type(of) is int else None


def served_again(twice: Iterable[Operation]) -> list[Operation]:
    """Of requests that were answered twice the second times that they may have been served: without an answer, at any time after the
    request began. One whose first answer is not known was answered late, and not twice."""
    return [
        replace(one, process=f"{one.process} again", closed=None, answer=None, took=None, again=True)
        for one in twice
        if one.closed is not None
    ]


def addressee(asked: Mapping[str, Any]) -> Any:
    """The broker that a request is about: the one that it asks, or whose registrations it asks the name server for."""
    return asked.get("broker", asked.get("to"))


def settings_of(asked: Mapping[str, Any]) -> dict[str, str]:
    """The settings that a request changes, by their names; none where its body is not in the history."""
    lines = ((_body(asked) or b"").decode("utf-8", "replace")).splitlines()
    return {name.strip(): value.strip() for name, sign, value in (line.partition("=") for line in lines) if sign}


def is_specified(asked: Mapping[str, Any]) -> bool:
    """Whether the specification says what it means that these settings are changed."""
    values = {CREATION: ("true", "false"), PERMISSION: ("0", "2", "4", "6")}
    found = settings_of(asked)
    return bool(found) and all(value.lower() in values.get(name, ()) for name, value in found.items())


def check_asked(seq: int, to: Any) -> None:
    """Raise TraceError for an invoke that does not say whom it asks."""
    if not isinstance(to, str):
        raise TraceError(f"event {seq}", "does not say whom it asks", "an invoke has 'to': a broker's name")


def breaking(type_: str, seq: int, broker: str) -> Break:
    """The break that a crash of a broker is, or an invocation of `configure`."""
    return Break(seq, broker, "the broker's process ended" if type_ == "crash" else "the broker's settings were changed")


def operation(begun: Event, ended: Event | None) -> Operation:
    """The operation that a call is."""
    took = None if ended is None or ended.time is None or begun.time is None else ended.time - begun.time
    end = None if ended is None else (ended.seq, ended.value)
    return called(begun.process, begun.op, begun.seq, begun.value, end, took)


def called(
    process: str, op: str, opened: int, asked: Mapping[str, Any], end: tuple[int, Mapping[str, Any]] | None, took: int | None
) -> Operation:
    """The operation of a call: `end` are the number and the value of the event that closed it. Raises TraceError naming the event that is
    none: an answer to a request that is judged has a number as its code. What else an answer lacks is for the specification to say."""
    if end is not None:
        code = end[1].get("code")
        if asked.get("oneWay") or (code is None and op not in SENDS):
            end = None
        elif type(code) is not int and op in (*JUDGED, *PROGRESS):
            problem = f"the answer's code is {short(code)}"
            raise TraceError(f"event {end[0]}", problem, "record a number; a call without an answer ends with info")
    try:
        if end is None:
            return Operation(process, op, addressee(asked), opened, None, asked, None, took)
        return Operation(process, op, addressee(asked), opened, end[0], asked, end[1], took)
    except (KeyError, TypeError, ValueError) as error:
        raise TraceError(f"event {opened}", f"is not a request ({short(str(error))})", "record whom it asks and what, as it was") from None


def snapshot(event: Event) -> Snapshot:
    """What a `state` event says of a broker's topics. Raises TraceError where it holds none."""
    topics = event.value.get("topics")
    try:
        return Snapshot(event.seq, event.process, {str(name): _known(entry) for name, entry in (topics or {}).items()})
    except (AttributeError, ValueError, TypeError, KeyError) as error:
        problem = f"holds no topics ({short(str(error))})"
        raise TraceError(f"event {event.seq}", problem, "a topic has readQueueNums, writeQueueNums, perm") from None


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
    order = java_boolean(str(order))
    return Config(whole_number(entry["readQueueNums"]), whole_number(entry["writeQueueNums"]), whole_number(entry["perm"]), order)


def _batched(body: bytes) -> list[tuple[int, str]] | None:
    """How long the body of each message in a batch is, and its properties, as a broker reads it: by the lengths of both, whatever the
    messages' own sizes say (BAT-04). None if it does not end where a message does."""
    at, found = 0, []
    while at < len(body):
        length = int.from_bytes(body[at + _HEAD - 4 : at + _HEAD], "big", signed=True)
        at += _HEAD
        if not 0 <= length <= len(body) - at - _SHORT:
            return None
        at += length + _SHORT
        properties = int.from_bytes(body[at - _SHORT : at], "big", signed=True)
        if not 0 <= properties <= len(body) - at:
            return None
        found.append((length, body[at : at + properties].decode("utf-8", "replace")))
        at += properties
    return found


def _body(value: Mapping[str, Any]) -> bytes | None:
    text = value.get("body")
    if not isinstance(text, str):
        return None
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
