"""The events of a history as exchanges: each request with the broker that it asks, when it began and ended, and its response.

A request that ended `fail` took no effect and is left out. One that ended `info`, that a crash ended or that never ended may have taken
effect at any time after it began. A one-way request has no response either.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, NamedTuple, TypeVar

from ..common.errors import TraceError, short
from . import Event, Moment
from .cases import Config
from .exchange import Exchange, known_config, settings_of

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
class RecordedExchanges:
    """A history by what its events mean. `events` is their number."""

    events: int
    asked: tuple[Exchange, ...]
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


def read_exchanges(events: Iterable[Event]) -> RecordedExchanges:
    """Return the exchanges of a history of requests to brokers, by their first event. A request that was answered twice may have been
    executed twice: it is there once more, without a response. Raises TraceError naming a malformed event."""
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
                asked.append(exchange(found.begun, found.answer))
        elif found.type == "state":
            if found.op == "topics":
                snapshots.append(snapshot(found))
        elif found.op == STRAY:
            answered_again.add(of_stray(found.value))
        elif (found.type == "crash") or (found.type == "invoke" and not is_specified(found.value)):
            breaks.append(breaking(found.type, found.seq, found.process if found.type == "crash" else addressee(found.value)))
    asked += served_again(one for one in asked if one.seq in answered_again)
    asked.sort(key=lambda o: o.seq)
    return RecordedExchanges(number, tuple(asked), tuple(snapshots), tuple(breaks))


def of_stray(value: Mapping[str, Any]) -> int | None:
    """The event that began the request which a stray answer is to, None where nobody knows one."""
    of = value.get("of")
    return of if type(of) is int else None


def served_again(twice: Iterable[Exchange]) -> list[Exchange]:
    """Of requests that were answered twice the second times that they may have been served: without an answer, at any time after the
    request began. One whose first answer is not known was answered late, and not twice."""
    return [
        replace(one, process=f"{one.process} again", closed="", outcome={}, end=None, took=None, again=True)
        for one in twice
        if one.end is not None
    ]


def addressee(asked: Mapping[str, Any]) -> Any:
    """The broker that a request is about: the one that it asks, or whose registrations it asks the name server for."""
    return asked.get("broker", asked.get("to"))


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


def exchange(begun: Event, ended: Event | None) -> Exchange:
    """Return the exchange of a call."""
    took = None if ended is None or ended.time is None or begun.time is None else ended.time - begun.time
    end = None if ended is None else (ended.seq, ended.value)
    return called(begun.process, begun.op, begun.seq, begun.value, end, took)


def called(
    process: str, op: str, opened: int, asked: Mapping[str, Any], end: tuple[int, Mapping[str, Any]] | None, took: int | None
) -> Exchange:
    """Return the exchange of a call. `end` is the number and the value of the event with its response.

    Raises TraceError naming the malformed event: the response to a judged request has a number as its code. The specification decides
    about anything else that a response lacks."""
    if end is not None:
        code = end[1].get("code")
        if asked.get("oneWay") or (code is None and op not in SENDS):
            end = None
        elif type(code) is not int and op in (*JUDGED, *PROGRESS):
            problem = f"the answer's code is {short(code)}"
            raise TraceError(f"event {end[0]}", problem, "record a number; a call without an answer ends with info")
    try:
        if end is None:
            made = Exchange(process, op, addressee(asked), opened, asked, took=took)
        else:
            made = Exchange(process, op, addressee(asked), opened, asked, "ok", end[1], end[0], took=took)
        _ = made.properties, made.messages, made.reason  # malformed ones are refused here, where the event is known
        return made
    except (KeyError, TypeError, ValueError) as error:
        raise TraceError(f"event {opened}", f"is not a request ({short(str(error))})", "record whom it asks and what, as it was") from None


def snapshot(event: Event) -> Snapshot:
    """What a `state` event says of a broker's topics. Raises TraceError where it holds none."""
    topics = event.value.get("topics")
    try:
        return Snapshot(event.seq, event.process, {str(name): known_config(entry) for name, entry in (topics or {}).items()})
    except (AttributeError, ValueError, TypeError, KeyError) as error:
        problem = f"holds no topics ({short(str(error))})"
        raise TraceError(f"event {event.seq}", problem, "a topic has readQueueNums, writeQueueNums, perm") from None
