"""One history divided into its parts while it streams by: in memory are its open calls, and what grows with its topics, not its events;
of requests that were answered twice their numbers.

The events come from the history's pieces in the order of their numbers. Twice the same event is one. Where a number is missing the history
ends for now: the rest may come later. A long one is read twice: first for what every part must know of the whole, then to give each call
to its part.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyarrow as pa

from rocketproof_protocol.flags import COMMIT
from rocketproof_protocol.numbers import whole_number
from rocketproof_protocol.properties import DELAY, TRAN_MSG
from rocketproof_protocol.topics import RETRY_PREFIX, TEMPLATE, TEMPLATES

from ..checker.histories import cluster_of, is_recording
from ..checker.parts import Survey
from ..checker.places import TOLD_BY_FIELDS
from ..checker.ways import PLACING, linked, subject_of
from ..common.errors import TraceError, short
from ..history import Event, Header, Rules
from ..history.exchanges import CONFIGURE, PROGRESS, SENDS, STRAY, CallEvents, breaking, called, check_asked, of_stray, paired, snapshot
from .cache import BATCH, Piece, PieceCache
from .tables import CALLS, object_of

TIMER = "TIMER_"
"""What the properties of a message's own time begin with."""
HISTORY = -1
"""The number of the part that is the history itself."""
KEPT = 200_000
"""Events of a history that is not read a second time."""
_COLUMNS = ["seq", "time", "process", "type", "op", "value", "broker", "topic", "defaultTopic"]


class CachedEvent(NamedTuple):
    """An event as it lies in the cache, its value still text."""

    seq: int
    time: int | None
    process: str
    type: str
    op: str
    value: str
    broker: str | None
    topic: str | None
    default: str | None


@dataclass(frozen=True)
class HistoryTask:
    """A history that is to be judged: its pieces, what its header says, and the places where its sources could not be read on.

    `late`: seconds that a missing event is waited for, by the clock of the events, None for ever.
    """

    history: str
    pieces: tuple[Piece, ...] = ()
    origin: Mapping[str, Any] = field(default_factory=dict)
    problems: tuple[tuple[str, int | None, str], ...] = ()
    stamp: str = ""
    late: float | None = None


def partition(cache: PieceCache, task: HistoryTask) -> Iterator[pa.RecordBatch]:
    """The history's rows of CALLS, those of a part in no certain order."""
    return _Partition(cache, task).batches()


class _Partition:
    def __init__(self, cache: PieceCache, task: HistoryTask) -> None:
        self.cache, self.task = cache, task
        self.survey = Survey(cluster_of(Header(task.origin)), is_recording(Header(task.origin)))
        self.events = 0
        self.missing: tuple[int, int] | None = None  # the first number that is not there, the first one after it
        self.after: int | None = None  # when the event after the gap was
        self.problem: tuple[int, str] | None = None
        self.twice: set[int | None] = set()  # the events that began requests of which another answer came
        self.kept: list[CallEvents[CachedEvent] | CachedEvent] | None = None

    # Reading

    def _events(self) -> Iterator[CachedEvent]:
        """The events up to the first that is missing or breaks the rules of histories."""
        rules, last = Rules(), None
        for row in _in_order(self.cache, self.task.pieces):
            if row.seq != rules.next:
                if last is None or row.seq != last.seq:
                    self.missing, self.after = (rules.next, row.seq), row.time
                    return
                if row != last:
                    self.problem = (row.seq, "is there twice, with different contents")
                    return
                continue
            try:
                rules.check(self.task.history, row)
                if row.type == "invoke":
                    if row.broker is None or row.op == "end_transaction":  # else the value is read when its part is judged
                        value_of(row.seq, row.value)
                    check_asked(row.seq, row.broker)
                elif row.op == STRAY:
                    self.twice.add(of_stray(value_of(row.seq, row.value)))
                elif row.type == "state" and row.op == "topics":
                    snapshot(Event(row.seq, row.type, row.process, row.op, value_of(row.seq, row.value), row.time))
            except TraceError as error:
                self.problem = (row.seq, f"{error.problem}; {error.remedy}")
                return
            last = row
            self.events = rules.next
            yield row

    def _again(self) -> Iterator[CachedEvent]:
        """The same events once more."""
        number = 0
        for row in _in_order(self.cache, self.task.pieces):
            if number == self.events:
                return
            if row.seq == number:
                number += 1
                yield row

    def _look(self) -> None:
        """Survey the history."""
        survey, committed = self.survey, list[tuple[str, int]]()
        found_all: Iterable[CallEvents[CachedEvent] | CachedEvent] = paired(self._events())
        if sum(piece.rows for piece in self.task.pieces) <= KEPT:
            self.kept = found_all = list(found_all)
        for found in found_all:
            if isinstance(found, CallEvents):
                begun = found.begun
                if found.failed:
                    continue
                assert begun.broker is not None
                if self._is_setting(begun):
                    continue
                topic, others = self._about(found)
                survey.ask(begun.op, begun.broker, begun.seq, topic, begun.default or TEMPLATE, others)
                survey.hear(begun.op, begun.broker, begun.seq, _fields(begun) if begun.op in TOLD_BY_FIELDS else {})
                if begun.op == "end_transaction" and _committed(begun.value):
                    survey.commit(begun.broker, begun.seq)
                    if found.answer is not None:
                        committed.append((begun.broker, begun.seq))
            elif found.type == "state":
                if found.op == "topics":
                    survey.report(found.process, found.seq, json.loads(found.value).get("topics") or ())
            elif found.type == "crash" or (found.type == "invoke" and not self._is_setting(found)):
                survey.stop(breaking(found.type, found.seq, found.process if found.type == "crash" else str(found.broker)))
        for broker, opened in committed:
            if opened in self.twice:
                survey.commit(broker, opened)

    def _is_setting(self, begun: CachedEvent) -> bool:
        return begun.op == CONFIGURE and self.survey.is_setting(begun.op, object_of(begun.value) or {})

    def _about(self, found: CallEvents[CachedEvent]) -> tuple[str | None, Sequence[str] | None]:
        """The topic that a request is about, and others that its record may lie in."""
        begun, answer = found.begun, found.answer
        waits = begun.op in SENDS and any(name in begun.value for name in (DELAY, TRAN_MSG, TIMER))
        waits = waits or (begun.op == "send" and str(begun.topic).startswith(RETRY_PREFIX))
        if begun.op in PROGRESS and begun.topic is not None and not self.survey.recorded:
            return begun.topic, []
        if self.survey.recorded or not (waits or begun.op in PLACING):
            return begun.topic, None
        try:
            end = None if answer is None else (answer.seq, value_of(answer.seq, answer.value))
            one = called(begun.process, begun.op, begun.seq, value_of(begun.seq, begun.value), end, None)
        except TraceError:
            return begun.topic, None  # it is said when its part is judged
        return subject_of(one), linked(one)

    # Writing

    def batches(self) -> Iterator[pa.RecordBatch]:
        self._look()
        waiting: list[tuple[Any, ...]] = []
        for row in self._rows():
            waiting.append(row)
            if len(waiting) >= BATCH:
                yield _batch(waiting)
                waiting.clear()
        yield _batch(waiting)

    def _rows(self) -> Iterator[tuple[Any, ...]]:
        history = self.task.history
        groups = self.survey.groups()
        of = {(broker, topic): number for number, (broker, topics) in enumerate(groups) for topic in topics}
        parts_of: dict[str, list[int]] = {}
        for number, (broker, _) in enumerate(groups):
            parts_of.setdefault(broker, []).append(number)
        yield _brief(history, HISTORY, self._whole())
        for number, (broker, topics) in enumerate(groups):
            yield _brief(history, number, self._told(broker, topics, alone=len(parts_of[broker]) == 1))
        wanted = [{*topics, *TEMPLATES, self.survey.cluster, broker} for broker, topics in groups]
        for found in paired(self._again()) if self.kept is None else self.kept:
            if isinstance(found, CallEvents):
                begun, ended = found.begun, found.answer
                topic = self._about(found)[0] if begun.op in PLACING else begun.topic
                part = of.get((str(begun.broker), topic or ""))
                judged = [part] if part is not None and self.survey.belongs(begun.op, topic) else []
                if self._is_setting(begun):
                    judged = parts_of.get(str(begun.broker), [])
                if found.failed or not judged:
                    continue
                took = None if ended is None or ended.time is None or begun.time is None else ended.time - begun.time
                closed, answer = (None, None) if ended is None else (ended.seq, ended.value)
                kind = "twice" if begun.seq in self.twice and ended is not None else "call"
                for part in judged:
                    yield history, part, kind, begun.seq, closed, took, begun.process, begun.op, begun.value, answer
            elif found.type == "state" and found.op == "topics":
                topics_said = json.loads(found.value).get("topics") or {}
                for part in parts_of.get(found.process, ()):
                    mine = {name: topics_said[name] for name in wanted[part] if name in topics_said}
                    yield history, part, "topics", found.seq, None, None, found.process, found.op, json.dumps({"topics": mine}), None

    def _told(self, broker: str, topics: Sequence[str], *, alone: bool) -> dict[str, Any]:
        """What a part must know of the whole."""
        survey = self.survey
        return {
            "origin": self.task.origin,
            "broker": broker,
            "topics": topics,
            "alone": alone,
            "begun": survey.begun[broker],
            "break": survey.breaks.get(broker),
            "retry": survey.retries.get(broker),
            "commits": survey.commits.get(broker, []),
            "unheard": survey.unheard.get(broker),
            "placed": survey.is_placed(broker, topics),
        }

    def _whole(self) -> dict[str, Any]:
        problems: list[dict[str, Any]] = [{"file": f, "line": line, "seq": None, "text": text} for f, line, text in self.task.problems]
        unknown = None
        if self.problem is not None:
            problems.append({"file": None, "line": None, "seq": self.problem[0], "text": self.problem[1]})
        elif self.missing is not None:
            first, after = self.missing
            said = f"events {first} to {after - 1}" if after - 1 > first else f"event {first}"
            if self._given_up():
                problems.append({"file": None, "line": None, "seq": first, "text": f"{said} never came"})
            else:
                unknown = f"{self.task.history}: {said} did not come yet"
        found = {"events": self.events, "left_out": dict(self.survey.left_out), "problems": problems}
        return {**found, "unknown": unknown, "stamp": self.task.stamp}

    def _given_up(self) -> bool:
        """Whether what is missing is older than the history's events are waited for."""
        if self.task.late is None or self.after is None:
            return False
        return max(piece.newest for piece in self.task.pieces) - self.after >= self.task.late * 1e9


def _committed(value: str) -> bool:
    try:
        return whole_number((json.loads(value).get("fields") or {}).get("commitOrRollback", 0)) == COMMIT
    except (AttributeError, TypeError, ValueError):
        return False


def _fields(begun: CachedEvent) -> Mapping[str, str]:
    """The fields of a request's header, none where it has none that can be read."""
    found = (object_of(begun.value) or {}).get("fields")
    return found if isinstance(found, Mapping) else {}


def value_of(seq: int, text: str) -> dict[str, Any]:
    """The value of an event. Raises TraceError where the text is no JSON object."""
    value = object_of(text)
    if value is None:
        raise TraceError(f"event {seq}", f"its value is {short(text)}", "a value is a JSON object")
    return value


def _brief(history: str, part: int, told: Mapping[str, Any]) -> tuple[Any, ...]:
    return history, part, "brief", 0, None, None, None, None, json.dumps(told), None


def _batch(rows: Sequence[tuple[Any, ...]]) -> pa.RecordBatch:
    columns = list(zip(*rows, strict=True)) or [()] * len(CALLS)
    return pa.RecordBatch.from_arrays([pa.array(column, f.type) for column, f in zip(columns, CALLS, strict=True)], schema=CALLS)


def _read(cache: PieceCache, piece: Piece) -> Iterator[CachedEvent]:
    for batch in cache.batches(piece, _COLUMNS):
        yield from map(CachedEvent._make, zip(*(column.to_pylist() for column in batch.columns), strict=True))


def _in_order(cache: PieceCache, pieces: Iterable[Piece]) -> Iterator[CachedEvent]:
    """The events of pieces by their numbers: one piece after the other, and side by side where they overlap."""
    ordered = sorted(pieces, key=lambda p: (p.first, p.last, p.file))
    at = 0
    while at < len(ordered):
        together, end = [ordered[at]], ordered[at].last
        at += 1
        while at < len(ordered) and ordered[at].first <= end:
            together.append(ordered[at])
            end = max(end, ordered[at].last)
            at += 1
        if len(together) == 1:
            yield from _read(cache, together[0])
        else:
            yield from heapq.merge(*(_read(cache, piece) for piece in together), key=lambda row: row.seq)


__all__ = ["HISTORY", "HistoryTask", "partition", "value_of"]
