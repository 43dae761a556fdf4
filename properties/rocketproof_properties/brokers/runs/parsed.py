"""A parsed history: the requests of a run with their results in order, and the recorded states."""

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
    """A request, sent `millis` after the start.

    - `closed`: ok, fail, info, crash, or "" if it is still open. `answer`: the value of that event.
    - `strays`: further responses, or any response to a one-way request.
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
        """The time in ms for which the broker held a pull; None for other requests."""
        return self.ended - self.millis if self.closed == "ok" and may_be_held(self.op, self.fields) else None

    @property
    def served(self) -> int:
        """The event at which the request was served. A held pull is served when it is answered."""
        return self.seq if self.held is None else self.end

    @property
    def code(self) -> int | None:
        """The response's code, None without a response."""
        return whole_number(self.answer["code"]) if self.closed == "ok" else None

    @property
    def refused(self) -> bool:
        """Whether the broker was too busy and did nothing (REM-06, REM-07, REM-10). One-way requests are answered too (HAZ-26)."""
        answers = [self.answer] if self.closed == "ok" else []
        return any(answer.get("code") == SYSTEM_BUSY for answer in (*answers, *self.strays))

    def __str__(self) -> str:
        about = self.fields.get("topic") or self.fields.get("group") or ""
        return f"event {self.seq} ({self.op} {about})".replace(" )", ")")


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
    items: list[ParsedRequest | Other] = field(default_factory=list)
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
    def asked(self) -> list[ParsedRequest]:
        return [item for item in self.items if isinstance(item, ParsedRequest)]

    @property
    def busy(self) -> bool:
        """Whether the broker has rejected a request because it was busy."""
        return any(request.refused for request in self.asked)

    @property
    def ended(self) -> bool:
        """Whether a broker's process was killed."""
        return any(isinstance(item, Other) and item.op == "crash" for item in self.items)

    @property
    def deleted(self) -> frozenset[str]:
        """Topics that were or may have been deleted: their queues start again."""
        return frozenset(request.fields.get("topic", "") for request in self.asked if request.op == "delete_topic")

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
    by_seq: dict[int, ParsedRequest] = {}
    strays: list[Event] = []
    for event in paired(parsed.events):
        if isinstance(event, CallEvents):
            begun, ended = event
            request = by_seq[begun.seq] = ParsedRequest(
                begun.seq, begun.process, begun.op, begun.value, millis=(begun.time or 0) // 1_000_000
            )
            if ended is not None:
                request.closed, request.answer, request.end = ended.type, ended.value, ended.seq
                request.ended = (ended.time or 0) // 1_000_000
        elif event.type == "state":
            parsed.states[event.op] = event.value
            parsed.looks.append((event.process, event.op, event.value))
        elif event.op == STRAY:
            strays.append(event)
        elif event.type != "invoke":
            parsed.items.append(Other(event.seq, event.op, event.value))
    parsed.items = sorted([*parsed.items, *by_seq.values()], key=lambda item: item.served if isinstance(item, ParsedRequest) else item.seq)
    served = [request for request in parsed.asked if request.held is None]
    parsed.concurrent = any(not request.closed or request.end > after.seq for request, after in itertools.pairwise(served))
    for stray in strays:
        origin = by_seq.get(stray.value.get("of", -1))
        if origin is None:
            parsed.strays.append((stray.seq, stray.value))
        else:
            origin.strays.append(stray.value)
    return parsed


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
