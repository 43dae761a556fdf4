"""A parsed history: the requests of a run with what came of them, in order, and what was looked at."""

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
    """Something that happened to the run: wait, disconnect."""

    seq: int
    op: str
    value: Mapping[str, Any]


@dataclass
class ParsedHistory:
    """A history of one program. `states` holds what was looked at last of each kind; `looks` all of it, with who was looked at."""

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
        """How long it took, as far as its events have a time."""
        return max((event.time or 0 for event in self.events), default=0) // 1_000_000

    @property
    def asked(self) -> list[Exchange]:
        return [one for one in self.items if isinstance(one, Exchange)]

    @property
    def busy(self) -> bool:
        """Whether the broker has refused something."""
        return any(one.refused for one in self.asked)

    @property
    def ended(self) -> bool:
        """Whether a broker's process has ended."""
        return any(isinstance(one, Other) and one.op == "crash" for one in self.items)

    @property
    def deleted(self) -> frozenset[str]:
        """Topics that were deleted, or may be: their queues begin anew."""
        return frozenset(one.fields.get("topic", "") for one in self.asked if one.op == "delete_topic")

    @property
    def cleaned(self) -> frozenset[str]:
        """Topics that were to be deleted when the program was over: what comes to them later is stored in new queues."""
        return frozenset(self.states.get("deleted", {}).get("topics", ()))

    @property
    def broker(self) -> str:
        return str(self.origin.get("broker", "broker-a"))

    @property
    def settings(self) -> Mapping[str, str]:
        """The settings of the broker whose values are known."""
        return readable(self.origin.get("settings") or {})

    @property
    def unreadable(self) -> frozenset[str]:
        """The names of settings that the broker reported with a value that is no number, as it has to be."""
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
        """What the broker noted of half messages that ended, by its place in the log."""
        return self._kept("ends")

    def _kept(self, state: str) -> dict[int, bytes]:
        rows = self.states.get(state, {}).get("records", ())
        return {whole_number(row["at"]): base64.b64decode(row["data"]) for row in rows if "data" in row}


def parse(events: Iterable[Event], header: Header = _NO_HEADER) -> ParsedHistory:
    """Put requests and answers together."""
    parsed = ParsedHistory(header.origin, list(events), header=header)
    asked: dict[int, Exchange] = {}
    strays: list[Event] = []
    for found in paired(parsed.events):
        if isinstance(found, CallEvents):
            begun, ended = found
            asked[begun.seq] = _exchange(begun, ended)
        elif found.type == "state":
            parsed.states[found.op] = found.value
            parsed.looks.append((found.process, found.op, found.value))
        elif found.op == STRAY:
            strays.append(found)
        elif found.type != "invoke":
            parsed.items.append(Other(found.seq, found.op, found.value))
    parsed.items = sorted([*parsed.items, *asked.values()], key=lambda item: served_at(item) if isinstance(item, Exchange) else item.seq)
    served = [exchange for exchange in parsed.asked if held_millis(exchange) is None]
    parsed.concurrent = any(one.end is None or one.end > after.seq for one, after in itertools.pairwise(served))
    for stray in strays:
        of = asked.get(stray.value.get("of", -1))
        if of is None:
            parsed.strays.append((stray.seq, stray.value))
        else:
            of.strays.append(stray.value)
    return parsed


def _exchange(begun: Event, ended: Event | None) -> Exchange:
    broker = addressee(begun.value)
    if ended is None:
        return Exchange(begun.process, begun.op, broker, begun.seq, begun.value, sent=begun.time)
    took = (ended.time or 0) - (begun.time or 0)
    return Exchange(begun.process, begun.op, broker, begun.seq, begun.value, ended.type, ended.value, ended.seq, begun.time, took)


def load(path: Path) -> ParsedHistory:
    """The history in a file; of one that was cut off what is whole. Raises TraceError for a file that is not a history."""
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
