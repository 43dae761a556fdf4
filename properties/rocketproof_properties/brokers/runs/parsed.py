"""A parsed history: the requests of a run with their results in order, and the recorded states."""

from __future__ import annotations

import base64
import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rocketproof_protocol.numbers import whole_number
from rocketproof_traces.common.errors import TraceError
from rocketproof_traces.history import Event, Header, read
from rocketproof_traces.history.exchange import Exchange
from rocketproof_traces.history.exchanges import STRAY, CallEvents, addressee, paired

from ...programs.call import may_be_held
from ...programs.names import ProgramNames
from ...programs.program import Program
from .reported import readable, unreadable

_NO_HEADER = Header()


def held_millis(exchange: Exchange) -> int | None:
    """How long a pull waited that a broker may hold until there is a message (milliseconds); None for other requests."""
    if exchange.closed != "ok" or not may_be_held(exchange.op, exchange.fields):
        return None
    return exchange.ended_millis - exchange.sent_millis


def served_at(exchange: Exchange) -> int:
    """The event that says when a request was served: a held pull is served again when it is answered."""
    return exchange.seq if exchange.end is None or held_millis(exchange) is None else exchange.end


@dataclass(frozen=True)
class Other:
    """Another event of the run, such as wait or disconnect."""

    seq: int
    op: str
    value: Mapping[str, Any]


@dataclass
class ParsedHistory:
    """The history of one program. `states`: the last recorded state of each kind. `looks`: all of them, with the part they belong to."""

    origin: Mapping[str, Any]
    events: list[Event]
    items: list[Exchange | Other] = field(default_factory=list)
    strays: list[tuple[int, Mapping[str, Any]]] = field(default_factory=list)
    states: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    looks: list[tuple[str, str, Mapping[str, Any]]] = field(default_factory=list)
    concurrent: bool = False
    whole: bool = True
    header: Header = field(default_factory=Header)

    @property
    def millis(self) -> int:
        """The duration, as far as the events have a time."""
        return max((event.time or 0 for event in self.events), default=0) // 1_000_000

    @property
    def exchanges(self) -> list[Exchange]:
        return [item for item in self.items if isinstance(item, Exchange)]

    @property
    def busy(self) -> bool:
        """Whether the broker has rejected a request because it was busy."""
        return any(request.refused for request in self.exchanges)

    @property
    def ended(self) -> bool:
        """Whether a broker's process was killed."""
        return any(isinstance(item, Other) and item.op == "crash" for item in self.items)

    @property
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

    @property
    def settings(self) -> Mapping[str, str]:
        """The broker's settings with readable values."""
        return readable(self.origin.get("settings") or {})

    @property
    def unreadable(self) -> frozenset[str]:
        """The names of settings for which the broker reported an invalid value instead of a number."""
        return frozenset({*(self.origin.get("unreadable") or ()), *unreadable(self.origin.get("settings") or {})})

    @property
    def names(self) -> ProgramNames:
        cluster, name = self.settings.get("brokerClusterName", "DefaultCluster"), self.settings.get("brokerName", self.broker)
        own = frozenset({name, cluster, f"{cluster}_REPLY_TOPIC"})
        return ProgramNames(str(self.origin.get("prefix", "")), whole_number(self.origin.get("number", 0)), cluster, own)

    @property
    def program(self) -> Program:
        data = self.origin.get("program") or {}
        steps = tuple((name, dict(args)) for name, args in data.get("steps", ()))
        return Program(whole_number(data.get("number", 0)), str(data.get("source", "")), steps, str(data.get("needs", "")))

    @property
    def records(self) -> dict[int, bytes]:
        """The records that were read back and kept, by their place in the log."""
        return self._kept("records")

    @property
    def ends(self) -> dict[int, bytes]:
        """What the broker stored about ended half messages, by place in the log."""
        return self._kept("ends")

    def _kept(self, state: str) -> dict[int, bytes]:
        rows = self.states.get(state, {}).get("records", ())
        return {whole_number(row["at"]): base64.b64decode(row["data"]) for row in rows if "data" in row}


def parse(events: Iterable[Event], header: Header = _NO_HEADER) -> ParsedHistory:
    """Pair requests with their responses."""
    parsed = ParsedHistory(header.origin, list(events), header=header)
    by_seq: dict[int, Exchange] = {}
    strays: list[Event] = []
    for event in paired(parsed.events):
        if isinstance(event, CallEvents):
            begun, ended = event
            by_seq[begun.seq] = _exchange(begun, ended)
        elif event.type == "state":
            parsed.states[event.op] = event.value
            parsed.looks.append((event.process, event.op, event.value))
        elif event.op == STRAY:
            strays.append(event)
        elif event.type != "invoke":
            parsed.items.append(Other(event.seq, event.op, event.value))
    parsed.items = sorted([*parsed.items, *by_seq.values()], key=lambda item: served_at(item) if isinstance(item, Exchange) else item.seq)
    served = [request for request in parsed.exchanges if held_millis(request) is None]
    parsed.concurrent = any(request.end is None or request.end > after.seq for request, after in itertools.pairwise(served))
    for stray in strays:
        origin = by_seq.get(stray.value.get("of", -1))
        if origin is None:
            parsed.strays.append((stray.seq, stray.value))
        else:
            origin.strays.append(stray.value)
    return parsed


def _exchange(begun: Event, ended: Event | None) -> Exchange:
    broker = addressee(begun.value)
    if ended is None:
        return Exchange(begun.process, begun.op, broker, begun.seq, begun.value, sent=begun.time)
    took = (ended.time or 0) - (begun.time or 0)
    return Exchange(begun.process, begun.op, broker, begun.seq, begun.value, ended.type, ended.value, ended.seq, begun.time, took)


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
    parsed = parse(kept, header)
    parsed.whole = whole
    return parsed
