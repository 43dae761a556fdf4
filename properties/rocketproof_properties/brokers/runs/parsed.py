"""The history of one program, parsed: its requests with their responses, the recorded states, and the program."""

from __future__ import annotations

import base64
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from rocketproof_protocol.numbers import whole_number
from rocketproof_traces.common.errors import TraceError
from rocketproof_traces.history import Event, Header, read
from rocketproof_traces.history.exchange import Exchange
from rocketproof_traces.history.exchanges import RecordedExchanges, pair

from ...programs.call import may_be_held
from ...programs.names import ProgramNames
from ...programs.program import Program

CORRUPTED: Final = "corrupted"
"""The event that names the changed bytes of a file, if the files had the place."""
_NO_HEADER = Header()
_INT: Final = range(1 << 31)
RANGES: Final[Mapping[str, range]] = {
    "brokerPermission": range(16),
    "listenPort": range(1, 1 << 16),
    "mappedFileSizeCommitLog": _INT[1:],
    "maxMessageSize": _INT,
    "transactionCheckInterval": range(1 << 63),
}
"""The settings that judging reads as numbers, with their valid ranges."""


def held_millis(exchange: Exchange) -> int | None:
    """How long a pull waited that a broker may hold until there is a message (milliseconds); None for other requests."""
    if exchange.closed != "ok" or not may_be_held(exchange.op, exchange.fields):
        return None
    return exchange.ended_millis - exchange.sent_millis


def served_at(exchange: Exchange) -> int:
    """The event that says when a request was served: a held pull is served again when it is answered."""
    return exchange.seq if exchange.end is None or held_millis(exchange) is None else exchange.end


@dataclass(frozen=True)
class ParsedHistory:
    """The history of one program: its exchanges, and what its header states about the program and the broker.

    `whole`: the history is complete. A truncated file is not.
    """

    recorded: RecordedExchanges = field(default_factory=RecordedExchanges)
    header: Header = field(default_factory=Header)
    whole: bool = True

    @property
    def origin(self) -> Mapping[str, Any]:
        return self.header.origin

    @property
    def events(self) -> Sequence[Event]:
        return self.recorded.events

    @cached_property
    def millis(self) -> int:
        """The duration, as far as the events have a time."""
        return max((event.time or 0 for event in self.events), default=0) // 1_000_000

    @cached_property
    def items(self) -> list[Exchange | Event]:
        """The requests and the events that belong to no request, such as waits, in the order in which the broker served them."""
        items: list[Exchange | Event] = [*self.recorded.others, *self.recorded.exchanges]
        return sorted(items, key=lambda item: served_at(item) if isinstance(item, Exchange) else item.seq)

    @cached_property
    def exchanges(self) -> list[Exchange]:
        """The requests in the order in which the broker served them."""
        return [item for item in self.items if isinstance(item, Exchange)]

    def exchange_of(self, seq: int) -> Exchange | None:
        """Return the request that this event sent; None if the event sent none. Of a request that was executed twice, the first."""
        return self._by_event.get(seq)

    @cached_property
    def _by_event(self) -> Mapping[int, Exchange]:
        return {exchange.seq: exchange for exchange in reversed(self.exchanges)}

    @cached_property
    def concurrent(self) -> bool:
        """Whether a request was sent before an earlier one had ended. Pulls that the broker held do not count."""
        served = [request for request in self.exchanges if held_millis(request) is None]
        return any(request.end is None or request.end > after.seq for request, after in itertools.pairwise(served))

    @property
    def reports(self) -> Sequence[Event]:
        """All states that a part of the system reported."""
        return self.recorded.reports

    @cached_property
    def states(self) -> dict[str, Mapping[str, Any]]:
        """The last reported state of each kind."""
        return {report.op: report.value for report in self.recorded.reports}

    @property
    def strays(self) -> Sequence[Event]:
        """The responses to no known request."""
        return self.recorded.strays

    @cached_property
    def busy(self) -> bool:
        """Whether the broker has rejected a request because it was busy."""
        return any(request.refused for request in self.exchanges)

    @cached_property
    def ended(self) -> bool:
        """Whether a broker's process was killed."""
        return any(event.op == "crash" for event in self.recorded.others)

    @cached_property
    def stopped(self) -> bool:
        """Whether a broker was stopped gracefully."""
        return any(event.op == "stop" for event in self.recorded.others)

    @cached_property
    def corrupted(self) -> bool:
        """Whether bytes in a broker's files were changed."""
        return any(event.op == CORRUPTED and event.value for event in self.recorded.others)

    @cached_property
    def clocks(self) -> frozenset[int]:
        """How many milliseconds the clocks of restarted brokers were ahead of the machine's, without 0."""
        return frozenset(event.value["clock"] for event in self.recorded.others if event.type == "crash" and "clock" in event.value)

    @cached_property
    def deleted(self) -> frozenset[str]:
        """Topics that were or may have been deleted: their queues start again."""
        return frozenset(request.fields.get("topic", "") for request in self.exchanges if request.op == "delete_topic")

    @property
    def cleaned(self) -> frozenset[str]:
        """Topics that were deleted after the program: later messages to them are stored in new queues."""
        return frozenset(self.states.get("deleted", {}).get("topics", ()))

    @property
    def broker(self) -> str:
        return str(self.origin.get("broker", "broker-a"))

    @cached_property
    def settings(self) -> Mapping[str, str]:
        """The broker's settings with readable values."""
        return readable(self.origin.get("settings") or {})

    @cached_property
    def unreadable(self) -> frozenset[str]:
        """The names of settings for which the broker reported an invalid value instead of a number."""
        return frozenset({*(self.origin.get("unreadable") or ()), *unreadable(self.origin.get("settings") or {})})

    @cached_property
    def names(self) -> ProgramNames:
        cluster, name = self.settings.get("brokerClusterName", "DefaultCluster"), self.settings.get("brokerName", self.broker)
        own = frozenset({name, cluster, f"{cluster}_REPLY_TOPIC"})
        return ProgramNames(str(self.origin.get("prefix", "")), whole_number(self.origin.get("number", 0)), cluster, own)

    @cached_property
    def program(self) -> Program:
        data = self.origin.get("program") or {}
        steps = tuple((name, dict(args)) for name, args in data.get("steps", ()))
        return Program(whole_number(data.get("number", 0)), str(data.get("source", "")), steps, str(data.get("needs", "")))

    @cached_property
    def records(self) -> dict[int, bytes]:
        """The records that were read back and kept, by their place in the log."""
        return self._kept("records")

    @cached_property
    def ends(self) -> dict[int, bytes]:
        """What the broker stored about ended half messages, by place in the log."""
        return self._kept("ends")

    def _kept(self, state: str) -> dict[int, bytes]:
        rows = self.states.get(state, {}).get("records", ())
        return {whole_number(row["at"]): base64.b64decode(row["data"]) for row in rows if "data" in row}


def parse(events: Iterable[Event], header: Header = _NO_HEADER) -> ParsedHistory:
    """Pair requests with their responses."""
    return ParsedHistory(pair(list(events)), header)


def load(path: Path) -> ParsedHistory:
    """Return the history in a file. A truncated file yields its complete part. Raises TraceError for a file that is not a history."""
    header, events = read(path)
    kept: list[Event] = []
    whole = True
    try:
        kept.extend(events)
    except TraceError as error:
        if "cut off" not in str(error):
            raise
        whole = False
    return ParsedHistory(pair(kept), header, whole)


def unreadable(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the reported settings that must be numbers and are not: their values are unknown."""
    return {name: settings[name] for name, numbers in RANGES.items() if name in settings and not _is_one_of(settings[name], numbers)}


def readable(settings: Mapping[str, str]) -> Mapping[str, str]:
    """Return the other settings."""
    unknown = unreadable(settings)
    return {name: value for name, value in settings.items() if name not in unknown} if unknown else settings


def _is_one_of(text: str, numbers: range) -> bool:
    try:
        return whole_number(text) in numbers
    except (TypeError, ValueError):
        return False
