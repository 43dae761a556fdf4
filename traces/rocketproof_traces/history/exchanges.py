"""Pair the events of a history into exchanges: each request with its responses. All judges of a history read the result of `pair`.

The events are not checked here. The checker rejects malformed requests (`checker.requests`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from . import Event, Moment
from .exchange import Exchange

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
    *("max_offset", "min_offset", "earliest", "search", "progress", "find", "view", "members"),
)
"""The requests that change nothing at a broker. A pull is none of them: it may commit an offset."""
PROGRESS = ("commit", "progress")
"""Commits and queries of group offsets."""


@dataclass(frozen=True)
class RecordedExchanges:
    """A history whose events are paired.

    * `events`: all events, in order.
    * `exchanges`: all requests, by their first events.
    * `others`: the events that belong to no request, such as waits and crashes.
    * `reports`: the `state` events.
    * `strays`: the responses to no known request. Further responses to a known request are in its exchange.
    """

    events: Sequence[Event] = ()
    exchanges: tuple[Exchange, ...] = ()
    others: tuple[Event, ...] = ()
    reports: tuple[Event, ...] = ()
    strays: tuple[Event, ...] = ()


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


def pair(events: Sequence[Event]) -> RecordedExchanges:
    """Pair the requests of a history with their responses."""
    by_seq: dict[int, Exchange] = {}
    others, reports, stray_responses = list[Event](), list[Event](), list[Event]()
    for event in paired(events):
        if isinstance(event, CallEvents):
            by_seq[event.begun.seq] = exchange_of(event.begun, event.ended)
        elif event.type == "state":
            reports.append(event)
        elif event.op == STRAY:
            stray_responses.append(event)
        elif event.type != "invoke":
            others.append(event)
    strays = []
    for stray in stray_responses:
        of = stray_request(stray.value)
        if of in by_seq:
            by_seq[of].strays.append(stray.value)
        else:
            strays.append(stray)
    exchanges = tuple(by_seq[seq] for seq in sorted(by_seq))
    return RecordedExchanges(events, exchanges, tuple(others), tuple(reports), tuple(strays))


def exchange_of(begun: Event, ended: Event | None) -> Exchange:
    """Return the exchange of a call from the event that began it and the event that ended it."""
    broker = addressee(begun.value)
    if ended is None:
        return Exchange(begun.process, begun.op, broker, begun.seq, begun.value, sent=begun.time)
    took = None if begun.time is None or ended.time is None else ended.time - begun.time
    return Exchange(begun.process, begun.op, broker, begun.seq, begun.value, ended.type, ended.value, ended.seq, begun.time, took)


def stray_request(value: Mapping[str, Any]) -> int | None:
    """Return the event that began the request of a stray response, None if unknown."""
    of = value.get("of")
    return of if type(of) is int else None


def addressee(asked: Mapping[str, Any]) -> Any:
    """Return the broker that a request is about: the broker it is sent to, or the broker whose registrations it requests from the name
    server."""
    return asked.get("broker", asked.get("to"))
