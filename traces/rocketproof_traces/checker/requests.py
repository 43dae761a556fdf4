"""The requests of a history as the checker judges them, with the topics that brokers reported, and the events that end the judging.

A request that ended with `fail` took no effect and is left out. A request that ended with `info` or a crash, or never ended, may have taken
effect at any time after it began. A one-way request has no response either.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..common.errors import TraceError, short
from ..history import Event
from ..history.covered import Config
from ..history.exchange import Exchange, known_config, settings_of
from ..history.exchanges import CONFIGURE, CREATION, JUDGED, PERMISSION, PROGRESS, SENDS, RecordedExchanges


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


def requests_of(recorded: RecordedExchanges) -> tuple[Exchange, ...]:
    """Return the requests to judge, by their first events.

    A request that was answered twice may have been executed twice. It is included a second time, without a response. Raises TraceError
    for a malformed request.
    """
    requests = []
    for exchange in recorded.exchanges:
        check_addressee(exchange.seq, exchange.broker)
        if exchange.closed != "fail":
            requests.append(judged(exchange))
    requests += second_executions(request for request in requests if request.strays)
    return tuple(sorted(requests, key=lambda request: request.seq))


def snapshots_of(recorded: RecordedExchanges) -> tuple[Snapshot, ...]:
    """Return the topics that brokers reported. Raises TraceError for a malformed report."""
    return tuple(snapshot(report) for report in recorded.reports if report.op == "topics")


def breaks_of(recorded: RecordedExchanges) -> tuple[Break, ...]:
    """Return the crashes, and the changes of settings that the specification does not cover."""
    changes = (each for each in recorded.exchanges if each.op == CONFIGURE and not is_specified(each.request))
    crashes = (event for event in recorded.others if event.type == "crash")
    return (
        *(breaking("invoke", change.seq, change.broker) for change in changes),
        *(breaking(crash.type, crash.seq, crash.process) for crash in crashes),
    )


def _unanswered(exchange: Exchange) -> Exchange:
    """Return the request as one without a response, which may have taken effect at any time."""
    return replace(exchange, closed="", outcome={}, end=None, took=None)


def second_executions(twice: Iterable[Exchange]) -> list[Exchange]:
    """Return the possible second executions of requests that were answered twice: without a response, at any time after the request
    began.

    A request whose first answer is missing was answered late, not twice, and is skipped.
    """
    return [
        replace(_unanswered(exchange), process=f"{exchange.process} again", again=True, strays=[])
        for exchange in twice
        if exchange.end is not None
    ]


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
        exchange = exchange if exchange.end is None else _unanswered(exchange)
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
