"""Pair the events of a history into exchanges: each request with its responses. All judges of a history read the result of `pair`.

`RecordedExchanges.requests` are the exchanges as the checker judges them. A request that ended with `fail` took no effect and is left out.
A request that ended with `info` or a crash, or never ended, may have taken effect at any time after it began. A one-way request has no
response either.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeVar

from ..common.errors import TraceError, short
from . import Event, Moment
from .covered import Config
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

    @cached_property
    def requests(self) -> tuple[Exchange, ...]:
        """The exchanges as the checker judges them, by their first events. A request that was answered twice may have been executed twice,
        so it is included a second time, without a response. Raises TraceError for a malformed request."""
        requests = []
        for exchange in self.exchanges:
            check_addressee(exchange.seq, exchange.broker)
            if exchange.closed != "fail":
                requests.append(judged(exchange))
        requests += second_executions(request for request in requests if request.strays)
        return tuple(sorted(requests, key=lambda request: request.seq))

    @cached_property
    def snapshots(self) -> tuple[Snapshot, ...]:
        """The topics that brokers reported. Raises TraceError for a malformed report."""
        return tuple(snapshot(report) for report in self.reports if report.op == "topics")

    @property
    def breaks(self) -> tuple[Break, ...]:
        """The crashes, and the changes of settings that the specification does not cover."""
        changes = (each for each in self.exchanges if each.op == CONFIGURE and not is_specified(each.request))
        crashes = (event for event in self.others if event.type == "crash")
        return (
            *(breaking("invoke", change.seq, change.broker) for change in changes),
            *(breaking(crash.type, crash.seq, crash.process) for crash in crashes),
        )


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
    """Pair the requests of a history with their responses. The requests are checked later, by `RecordedExchanges.requests`."""
    by_seq: dict[int, Exchange] = {}
    others, reports, stray_responses = list[Event](), list[Event](), list[Event]()
    for event in paired(events):
        if isinstance(event, CallEvents):
            by_seq[event.begun.seq] = exchange_of(*event)
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


def second_executions(twice: Iterable[Exchange]) -> list[Exchange]:
    """Return the possible second executions of requests that were answered twice: without a response, at any time after the request
    began.

    A request whose first answer is missing was answered late, not twice, and is skipped.
    """
    return [
        replace(exchange, process=f"{exchange.process} again", closed="", outcome={}, end=None, took=None, again=True, strays=[])
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


def judged(exchange: Exchange) -> Exchange:
    """Return an exchange as the checker judges it: with its response, or as a request that may have taken effect at any time.

    Raises TraceError naming the malformed event. The code in the response to a judged request must be a number. The specification decides
    about anything else that a response lacks.
    """
    response = exchange.response
    code = None if response is None else response.get("code")
    if response is None or exchange.one_way or (code is None and exchange.op not in SENDS):
        exchange = exchange if exchange.end is None else replace(exchange, closed="", outcome={}, end=None, took=None)
    elif type(code) is not int and exchange.op in (*JUDGED, *PROGRESS):
        problem = f"the answer's code is {short(code)}"
        raise TraceError(f"event {exchange.end}", problem, "record a number; a call without an answer ends with info")
    try:
        _ = exchange.properties, exchange.messages, exchange.reason  # malformed values are rejected here, where the event is known
    except (KeyError, TypeError, ValueError) as error:
        problem = f"is not a request ({short(str(error))})"
        raise TraceError(f"event {exchange.seq}", problem, "record whom it asks and what, as it was") from None
    return exchange


def snapshot(event: Event) -> Snapshot:
    """Return the broker's topics in a `state` event. Raises TraceError if it has none."""
    topics = event.value.get("topics")
    try:
        return Snapshot(event.seq, event.process, {str(name): known_config(entry) for name, entry in (topics or {}).items()})
    except (AttributeError, ValueError, TypeError, KeyError) as error:
        problem = f"holds no topics ({short(str(error))})"
        raise TraceError(f"event {event.seq}", problem, "a topic has readQueueNums, writeQueueNums, perm") from None
