"""A parsed history: the requests of a run with what came of them, in order, and what was looked at."""

from __future__ import annotations

import base64
import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rocketproof_protocol.codes import SYSTEM_BUSY
from rocketproof_protocol.numbers import whole_number
from rocketproof_traces.common.errors import TraceError
from rocketproof_traces.history import Event, Header, read
from rocketproof_traces.history.operations import STRAY, CallEvents, paired

from ...programs.call import may_be_held
from ...programs.names import ProgramNames
from ...programs.program import Program
from .reported import readable, unreadable

_NO_HEADER = Header()


@dataclass
class ParsedRequest:
    """A request, sent `millis` after the begin. `closed` is ok, fail, info, crash or "" for one that is still open; `answer` the value of
    that event.

    `strays`: further answers to it, or any to one that wants none. `alone`: no other request was under way.
    """

    seq: int
    process: str
    op: str
    value: Mapping[str, Any]
    closed: str = ""
    answer: Mapping[str, Any] = field(default_factory=dict)
    strays: list[Mapping[str, Any]] = field(default_factory=list)
    end: int = 0
    millis: int = 0
    ended: int = 0

    @property
    def fields(self) -> Mapping[str, str]:
        fields: Mapping[str, str] = self.value["fields"]
        return fields

    @property
    def one_way(self) -> bool:
        return bool(self.value["oneWay"])

    @property
    def held(self) -> int | None:
        """How long a pull waited that a broker may hold until there is something to answer (ms); None for others."""
        return self.ended - self.millis if self.closed == "ok" and may_be_held(self.op, self.fields) else None

    @property
    def served(self) -> int:
        """The event that says when it was served: a pull that was held is served anew when it is answered."""
        return self.seq if self.held is None else self.end

    @property
    def code(self) -> int | None:
        """The answer's code, None without one."""
        return whole_number(self.answer["code"]) if self.closed == "ok" else None

    @property
    def refused(self) -> bool:
        """Whether the broker had too much to do and so did nothing (REM-06, REM-07, REM-10); one-way callers are answered too (HAZ-26)."""
        answers = [self.answer] if self.closed == "ok" else []
        return any(answer.get("code") == SYSTEM_BUSY for answer in (*answers, *self.strays))

    def __str__(self) -> str:
        about = self.fields.get("topic") or self.fields.get("group") or ""
        return f"event {self.seq} ({self.op} {about})".replace(" )", ")")


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
    items: list[ParsedRequest | Other] = field(default_factory=list)
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
    def asked(self) -> list[ParsedRequest]:
        return [one for one in self.items if isinstance(one, ParsedRequest)]

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
    asked: dict[int, ParsedRequest] = {}
    strays: list[Event] = []
    for found in paired(parsed.events):
        if isinstance(found, CallEvents):
            begun, ended = found
            one = asked[begun.seq] = ParsedRequest(begun.seq, begun.process, begun.op, begun.value, millis=(begun.time or 0) // 1_000_000)
            if ended is not None:
                one.closed, one.answer, one.end = ended.type, ended.value, ended.seq
                one.ended = (ended.time or 0) // 1_000_000
        elif found.type == "state":
            parsed.states[found.op] = found.value
            parsed.looks.append((found.process, found.op, found.value))
        elif found.op == STRAY:
            strays.append(found)
        elif found.type != "invoke":
            parsed.items.append(Other(found.seq, found.op, found.value))
    parsed.items = sorted([*parsed.items, *asked.values()], key=lambda one: one.served if isinstance(one, ParsedRequest) else one.seq)
    served = [one for one in parsed.asked if one.held is None]
    parsed.concurrent = any(not one.closed or one.end > after.seq for one, after in itertools.pairwise(served))
    for stray in strays:
        of = asked.get(stray.value.get("of", -1))
        if of is None:
            parsed.strays.append((stray.seq, stray.value))
        else:
            of.strays.append(stray.value)
    return parsed


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
