"""Pair the events of a history into exchanges: each request with its broker, its start and end, and its response.

A request that ended with `fail` took no effect and is left out. A request that ended with `info` or a crash, or never ended, may have taken
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
"""The op of a response that no request waited for. `of` names the request that had been answered before, if there is one."""
OVER = "over"
"""The op of the event after a program that ran to its end and was read back."""
SENDS = ("send", "batch")
ROUTE_UPDATES = ("register_topic", "forget_topic")
"""Requests that change topics at a name server, apart from registrations."""
JUDGED = (*SENDS, "update_topic", "topic_config", "max_offset", "delete_topic")
"""The requests whose answers are judged."""
CONFIGURE = "configure"
CREATION, PERMISSION = "autoCreateTopicEnable", "brokerPermission"
"""The settings whose changes the specification covers."""
QUERIES = (
    *("topic_config", "topics", "settings", "groups", "stats"),
    *("max_offset", "min_offset", "earliest", "search", "progress", "find", "view"),
)
"""The requests that change nothing at a broker. A pull is none of them: it may commit an offset."""
PROGRESS = ("commit", "progress")
"""Commits and queries of group offsets."""


@dataclass(frozen=True)
class Snapshot:
    """A broker's topics, as it reported them."""

    seq: int
    broker: str
    topics: Mapping[str, Config]


@dataclass(frozen=True)
class Break:
    """The event from which on a broker may behave differently: its process ended, or settings were changed that the specification does
    not cover."""

    seq: int
    broker: str
    why: str


@dataclass(frozen=True)
class RecordedExchanges:
    """The exchanges of a history, with reported topics and breaks. `events` is the number of events."""

    events: int
    exchanges: tuple[Exchange, ...]
    snapshots: tuple[Snapshot, ...]
    breaks: tuple[Break, ...]


E = TypeVar("E", bound=Moment)


class CallEvents(NamedTuple, Generic[E]):
    """A call: the event that began it, and the event that ended it (ok, fail, info or crash), None without one."""

    begun: E
    ended: E | None

    @property
    def failed(self) -> bool:
        """Whether it took no effect."""
        return self.ended is not None and self.ended.type == "fail"

    @property
    def answer(self) -> E | None:
        """The event with its answer, None without one."""
        return self.ended if self.ended is not None and self.ended.type == "ok" else None


def paired(events: Iterable[E]) -> Iterator[CallEvents[E] | E]:
    """Yield the calls of a history when they end, and calls that never end last. Events that stand alone, crashes, and invocations of
    `configure` are yielded in between. Memory holds only the open calls, one per process."""
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
    """Return the exchanges of a history, ordered by their first events.

    A request that was answered twice may have been executed twice. It is included a second time, without a response. Raises TraceError
    naming a malformed event.
    """
    exchanges, snapshots, breaks, number = [], [], [], 0
    answered_again = set()

    def checked() -> Iterator[Event]:
        nonlocal number
        for event in events:
            number += 1
            if event.type == "invoke":
                check_addressee(event.seq, addressee(event.value))
            yield event

    for call in paired(checked()):
        if isinstance(call, CallEvents):
            if not call.failed:
                exchanges.append(exchange(call.begun, call.answer))
        elif call.type == "state":
            if call.op == "topics":
                snapshots.append(snapshot(call))
        elif call.op == STRAY:
            answered_again.add(stray_request(call.value))
        elif (call.type == "crash") or (call.type == "invoke" and not is_specified(call.value)):
            breaks.append(breaking(call.type, call.seq, call.process if call.type == "crash" else addressee(call.value)))
    exchanges += second_executions(request for request in exchanges if request.seq in answered_again)
    exchanges.sort(key=lambda request: request.seq)
    return RecordedExchanges(number, tuple(exchanges), tuple(snapshots), tuple(breaks))


def stray_request(value: Mapping[str, Any]) -> int | None:
    """Return the event that began the request of a stray response, None if unknown."""
    of = value.get("of")
    return of if type(of) is int else None


def second_executions(twice: Iterable[Exchange]) -> list[Exchange]:
    """Return the possible second executions of requests that were answered twice: without a response, at any time after the request
    began.

    A request whose first answer is missing was answered late, not twice, and is skipped.
    """
    return [
        replace(exchange, process=f"{exchange.process} again", closed="", outcome={}, end=None, took=None, again=True)
        for exchange in twice
        if exchange.end is not None
    ]


def addressee(asked: Mapping[str, Any]) -> Any:
    """Return the broker that a request is about: the broker it is sent to, or the broker whose registrations it requests from the name
    server."""
    return asked.get("broker", asked.get("to"))


def is_specified(request: Mapping[str, Any]) -> bool:
    """Whether the specification covers this change of settings."""
    values = {CREATION: ("true", "false"), PERMISSION: ("0", "2", "4", "6")}
    settings = settings_of(request)
    return bool(settings) and all(value.lower() in values.get(name, ()) for name, value in settings.items())


def check_addressee(seq: int, to: Any) -> None:
    """Raise TraceError for an invoke without an addressee."""
    if not isinstance(to, str):
        raise TraceError(f"event {seq}", "does not say whom it asks", "an invoke has 'to': a broker's name")


def breaking(type_: str, seq: int, broker: str) -> Break:
    """Return the break for a broker's crash, or for an invocation of `configure`."""
    return Break(seq, broker, "the broker's process ended" if type_ == "crash" else "the broker's settings were changed")


def exchange(begun: Event, ended: Event | None) -> Exchange:
    """Return the exchange of a call."""
    took = None if ended is None or ended.time is None or begun.time is None else ended.time - begun.time
    end = None if ended is None else (ended.seq, ended.value)
    return read_exchange(begun.process, begun.op, begun.seq, begun.value, end, took)


def read_exchange(
    process: str, op: str, opened: int, request: Mapping[str, Any], end: tuple[int, Mapping[str, Any]] | None, took: int | None
) -> Exchange:
    """Return the exchange of a call. `end` is the number and the value of the event with its response.

    Raises TraceError naming the malformed event. The code in the response to a judged request must be a number. The specification decides
    about anything else that a response lacks.
    """
    if end is not None:
        code = end[1].get("code")
        if request.get("oneWay") or (code is None and op not in SENDS):
            end = None
        elif type(code) is not int and op in (*JUDGED, *PROGRESS):
            problem = f"the answer's code is {short(code)}"
            raise TraceError(f"event {end[0]}", problem, "record a number; a call without an answer ends with info")
    try:
        if end is None:
            exchange = Exchange(process, op, addressee(request), opened, request, took=took)
        else:
            exchange = Exchange(process, op, addressee(request), opened, request, "ok", end[1], end[0], took=took)
        _ = exchange.properties, exchange.messages, exchange.reason  # malformed values are rejected here, where the event is known
        return exchange
    except (KeyError, TypeError, ValueError) as error:
        raise TraceError(f"event {opened}", f"is not a request ({short(str(error))})", "record whom it asks and what, as it was") from None


def snapshot(event: Event) -> Snapshot:
    """Return the broker's topics in a `state` event. Raises TraceError if it has none."""
    topics = event.value.get("topics")
    try:
        return Snapshot(event.seq, event.process, {str(name): known_config(entry) for name, entry in (topics or {}).items()})
    except (AttributeError, ValueError, TypeError, KeyError) as error:
        problem = f"holds no topics ({short(str(error))})"
        raise TraceError(f"event {event.seq}", problem, "a topic has readQueueNums, writeQueueNums, perm") from None
