"""Divide one history into partitions while it is streamed. Memory holds its open calls, data that grows with topics (not with events),
and the numbers of requests answered twice.

The events come from the history's pieces in the order of their numbers. Duplicate events count once. At a missing number the history ends
for now, because the rest may arrive later. A long history is read twice: first for the facts that every partition needs, then to assign
each call to its partition.
"""

from __future__ import annotations

import heapq
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyarrow as pa

from rocketproof_protocol.flags import COMMIT
from rocketproof_protocol.numbers import whole_number
from rocketproof_protocol.properties import DELAY, INNER_NUM, TRAN_MSG
from rocketproof_protocol.topics import RETRY_PREFIX, TEMPLATE, TEMPLATES

from ..audit.own import NONE, OwnRules
from ..checker.group_offsets import DECIDED_BY_FIELDS
from ..checker.histories import cluster_of, is_recording
from ..checker.partition import Survey
from ..checker.placement import PLACEMENT_OPS, linked_topics, subject_of
from ..checker.requests import breaking, check_addressee, judged, snapshot
from ..common.errors import TraceError, short
from ..history import Event, Header, Rules
from ..history.exchange import Exchange
from ..history.exchanges import CONFIGURE, PROGRESS, SENDS, STRAY, CallEvents, addressee, paired, stray_request
from .cache import BATCH, Piece, PieceCache
from .ownrules import ExchangeRules
from .tables import CALLS, object_of

_ELSEWHERE = re.compile("|".join((DELAY, TRAN_MSG, "TIMER_", INNER_NUM)))
"""The names of properties with which a message is stored elsewhere, or is rejected."""
_PLAIN = re.compile(r'"sysFlag": ?"0"')
_BODILESS = re.compile(r'"bodySize": ?0[,}]')
HISTORY = -1
"""The partition number of the history itself."""
KEPT = 200_000
"""The maximum number of events of a history that is kept in memory instead of being read twice."""
_COLUMNS = ["seq", "time", "process", "type", "op", "value", "broker", "topic", "defaultTopic", "code", "queueId", "queueOffset"]


class CachedEvent(NamedTuple):
    """An event in the form of the cache, with its value as text."""

    seq: int
    time: int | None
    process: str
    type: str
    op: str
    value: str
    broker: str | None
    topic: str | None
    default: str | None
    code: int | None
    queue_id: int | None
    queue_offset: int | None


@dataclass(frozen=True)
class HistoryTask:
    """A history to be judged: its pieces, its header's origin, and the places where reading its sources stopped.

    `late`: how long to wait for a missing event, in seconds of the events' clock, None for ever.
    """

    history: str
    pieces: tuple[Piece, ...] = ()
    origin: Mapping[str, Any] = field(default_factory=dict)
    problems: tuple[tuple[str, int | None, str], ...] = ()
    stamp: str = ""
    late: float | None = None


def partition(cache: PieceCache, task: HistoryTask, own: OwnRules = NONE) -> Iterator[pa.RecordBatch]:
    """Yield the history's rows of CALLS, those of a partition in no particular order. `own`: rules of the user over exchanges."""
    return _Partition(cache, task, own).batches()


class _Partition:
    def __init__(self, cache: PieceCache, task: HistoryTask, own: OwnRules) -> None:
        self.cache, self.task, self.own = cache, task, ExchangeRules(own)
        self.survey = Survey(cluster_of(Header(task.origin)), is_recording(Header(task.origin)))
        self.events = 0
        self.missing: tuple[int, int] | None = None  # the first missing number, and the next existing one
        self.after: int | None = None  # the time of the event after the gap
        self.problem: tuple[int, str] | None = None
        self.twice: set[int | None] = set()  # the events that began requests with a second answer
        self.kept: list[CallEvents[CachedEvent] | CachedEvent] | None = None

    # Reading

    def _events(self) -> Iterator[CachedEvent]:
        """Yield the events up to the first that is missing or violates the rules of histories."""
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
                    if row.broker is None or row.op == "end_transaction":  # other values are read when their partition is judged
                        value_of(row.seq, row.value)
                    check_addressee(row.seq, row.broker)
                elif row.op == STRAY:
                    self.twice.add(stray_request(value_of(row.seq, row.value)))
                elif row.type == "state" and row.op == "topics":
                    snapshot(Event(row.seq, row.type, row.process, row.op, value_of(row.seq, row.value), row.time))
            except TraceError as error:
                self.problem = (row.seq, f"{error.problem}; {error.remedy}")
                return
            last = row
            self.events = rules.next
            yield row

    def _again(self) -> Iterator[CachedEvent]:
        """Yield the same events a second time."""
        number = 0
        for row in _in_order(self.cache, self.task.pieces):
            if number == self.events:
                return
            if row.seq == number:
                number += 1
                yield row

    def _survey_history(self) -> None:
        """Survey the history."""
        survey, committed = self.survey, list[tuple[str, int]]()
        calls: Iterable[CallEvents[CachedEvent] | CachedEvent] = paired(self._events())
        if sum(piece.rows for piece in self.task.pieces) <= KEPT:
            self.kept = calls = list(calls)
        for call in calls:
            if isinstance(call, CallEvents):
                begun = call.begun
                if call.failed:
                    continue
                assert begun.broker is not None
                if self._is_setting(begun):
                    continue
                topic, others = self._about(call)
                survey.add_request(begun.op, begun.broker, begun.seq, topic, begun.default or TEMPLATE, others)
                survey.add_offset_change(begun.op, begun.broker, begun.seq, _fields(begun) if begun.op in DECIDED_BY_FIELDS else {})
                if begun.op == "end_transaction" and _committed(begun.value):
                    survey.add_commit(begun.broker, begun.seq)
                    if call.answer is not None:
                        committed.append((begun.broker, begun.seq))
            elif call.type == "state":
                if call.op == "topics":
                    survey.add_topics(call.process, call.seq, json.loads(call.value).get("topics") or ())
            elif call.type == "crash" or (call.type == "invoke" and not self._is_setting(call)):
                survey.add_break(breaking(call.type, call.seq, call.process if call.type == "crash" else str(call.broker)))
        for broker, opened in committed:
            if opened in self.twice:
                survey.add_commit(broker, opened)

    def _is_setting(self, begun: CachedEvent) -> bool:
        return begun.op == CONFIGURE and self.survey.is_setting(begun.op, object_of(begun.value) or {})

    def _about(self, call: CallEvents[CachedEvent]) -> tuple[str | None, Sequence[str] | None]:
        """Return the topic that a request is about, and other topics that may store its record."""
        begun, answer = call.begun, call.answer
        elsewhere = begun.op in SENDS and (_is_odd(begun.value) or str(begun.topic).startswith(RETRY_PREFIX))
        if begun.op in PROGRESS and begun.topic is not None and not self.survey.recorded:
            return begun.topic, []
        if self.survey.recorded or not (elsewhere or begun.op in PLACEMENT_OPS):
            return begun.topic, None
        try:
            answered = (None, None) if answer is None else (answer.seq, answer.value)
            exchange = exchange_of_texts(begun.process, begun.op, begun.seq, begun.value, *answered)
        except TraceError:
            return begun.topic, None  # reported when its partition is judged
        return subject_of(exchange), linked_topics(exchange)

    # Writing

    def batches(self) -> Iterator[pa.RecordBatch]:
        self._survey_history()
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
        for number, (broker, topics) in enumerate(groups):
            yield _brief(history, number, self._facts_for(broker, topics, alone=len(parts_of[broker]) == 1))
        wanted = [{*topics, *TEMPLATES, self.survey.cluster, broker} for broker, topics in groups]
        for call in paired(self._again()) if self.kept is None else self.kept:
            if isinstance(call, CallEvents):
                if not self.own.is_empty:
                    self.own.take(call)
                begun, ended = call.begun, call.answer
                topic = self._about(call)[0] if begun.op in PLACEMENT_OPS else begun.topic
                part = of.get((str(begun.broker), topic or ""))
                judged = [part] if part is not None and self.survey.belongs(begun.op, topic) else []
                if self._is_setting(begun):
                    judged = parts_of.get(str(begun.broker), [])
                if call.failed or not judged:
                    continue
                took = None if ended is None or ended.time is None or begun.time is None else ended.time - begun.time
                closed, answer = (None, None) if ended is None else (ended.seq, ended.value)
                kind = "twice" if begun.seq in self.twice and ended is not None else "call"
                for part in judged:
                    yield history, part, kind, begun.seq, closed, took, begun.process, begun.op, begun.value, answer
            elif call.type == "state" and call.op == "topics":
                topics_said = json.loads(call.value).get("topics") or {}
                for part in parts_of.get(call.process, ()):
                    mine = {name: topics_said[name] for name in wanted[part] if name in topics_said}
                    yield history, part, "topics", call.seq, None, None, call.process, call.op, json.dumps({"topics": mine}), None
        yield _brief(history, HISTORY, self._facts_of_history())

    def _facts_for(self, broker: str, topics: Sequence[str], *, alone: bool) -> dict[str, Any]:
        """Return the facts about the whole history that a partition needs."""
        survey = self.survey
        return {
            "origin": self.task.origin,
            "broker": broker,
            "topics": topics,
            "alone": alone,
            "begun": survey.first_requests[broker],
            "break": survey.breaks.get(broker),
            "retry": survey.retries.get(broker),
            "commits": survey.commits.get(broker, []),
            "unheard": survey.unseen_from.get(broker),
            "placed": survey.is_placed(broker, topics),
        }

    def _facts_of_history(self) -> dict[str, Any]:
        problems: list[dict[str, Any]] = [{"file": f, "line": line, "seq": None, "text": text} for f, line, text in self.task.problems]
        unknown = None
        if self.problem is not None:
            problems.append({"file": None, "line": None, "seq": self.problem[0], "text": self.problem[1]})
        elif self.missing is not None:
            first, after = self.missing
            events = f"events {first} to {after - 1}" if after - 1 > first else f"event {first}"
            if self._given_up():
                problems.append({"file": None, "line": None, "seq": first, "text": f"{events} never came"})
            else:
                unknown = f"{self.task.history}: {events} did not come yet"
        facts = {"events": self.events, "left_out": dict(self.survey.left_out), "problems": problems}
        return {**facts, "unknown": unknown, "stamp": self.task.stamp, "rules": self.own.data()}

    def _given_up(self) -> bool:
        """Whether the missing event is older than the limit for late events."""
        if self.task.late is None or self.after is None:
            return False
        return max(piece.newest for piece in self.task.pieces) - self.after >= self.task.late * 1e9


def _is_odd(send: str) -> bool:
    """Return whether a send, as JSON, may be stored elsewhere or rejected for its flags, its properties or an absent body.

    Most sends are not. They are not decoded here, which would take most of the time.
    """
    return _PLAIN.search(send) is None or _ELSEWHERE.search(send) is not None or _BODILESS.search(send) is not None


def _committed(value: str) -> bool:
    try:
        return whole_number((json.loads(value).get("fields") or {}).get("commitOrRollback", 0)) == COMMIT
    except (AttributeError, TypeError, ValueError):
        return False


def _fields(begun: CachedEvent) -> Mapping[str, str]:
    """Return the fields of a request's header, empty if none are readable."""
    fields = (object_of(begun.value) or {}).get("fields")
    return fields if isinstance(fields, Mapping) else {}


def exchange_of_texts(
    process: str, op: str, opened: int, asked: str, closed: int | None, answer: str | None, took: int | None = None
) -> Exchange:
    """Return the exchange of a call whose values are texts, as the checker judges it. Raises TraceError naming the malformed event."""
    request = value_of(opened, asked)
    if closed is None or answer is None:
        return judged(Exchange(process, op, addressee(request), opened, request))
    return judged(Exchange(process, op, addressee(request), opened, request, "ok", value_of(closed, answer), closed, took=took))


def value_of(seq: int, text: str) -> dict[str, Any]:
    """Return the value of an event. Raises TraceError if the text is not a JSON object."""
    value = object_of(text)
    if value is None:
        raise TraceError(f"event {seq}", f"its value is {short(text)}", "a value is a JSON object")
    return value


def _brief(history: str, part: int, facts: Mapping[str, Any]) -> tuple[Any, ...]:
    return history, part, "brief", 0, None, None, None, None, json.dumps(facts), None


def _batch(rows: Sequence[tuple[Any, ...]]) -> pa.RecordBatch:
    columns = list(zip(*rows, strict=True)) or [()] * len(CALLS)
    return pa.RecordBatch.from_arrays([pa.array(column, f.type) for column, f in zip(columns, CALLS, strict=True)], schema=CALLS)


def _read(cache: PieceCache, piece: Piece) -> Iterator[CachedEvent]:
    for batch in cache.batches(piece, _COLUMNS):
        yield from map(CachedEvent._make, zip(*(column.to_pylist() for column in batch.columns), strict=True))


def _in_order(cache: PieceCache, pieces: Iterable[Piece]) -> Iterator[CachedEvent]:
    """Yield the events of pieces by their numbers: piece by piece, merging pieces that overlap."""
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


__all__ = ["HISTORY", "HistoryTask", "exchange_of_texts", "partition"]
