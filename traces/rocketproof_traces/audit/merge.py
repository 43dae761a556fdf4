"""What the stretches of a log have found, put together: borders, queues, files, the topic table, entries that no record claims.

At a border the same step properties are decided that are decided inside a stretch. All of this is small: it grows with the queues and
stretches, not with the records; only a queue whose entries are more or fewer than its records has its entries read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..common.errors import TraceError
from ..stored.facts import LIMIT
from ..stored.paths import open_source, read
from ..stored.queues import Queue
from ..stored.segments import LogFile, log_files
from . import unread
from .beside import Numbers, append, config_rows, noted_rows, table_rows
from .entries import facts, places_behind
from .findings import AuditFinding
from .folds import folded
from .keys import index_rows
from .programs import AuditPlan, programs
from .segment import NOT_READ, SHOWN, Segment
from .store import StoreFolder, legal

NEAR = 4 << 20  # bytes; a log's next record that has an entry lies so near behind its end: those that have none are few


@dataclass
class AuditTotals:
    """The audit of a store: `counts` are exact, `findings` are at most the plan's limit of each rule and part of the work. `topics`:
    records by topic. `problems`: what could not be read, `unread`: what is never read, a line each."""

    store: str
    files: int = 0
    records: int = 0
    bytes: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    findings: list[AuditFinding] = field(default_factory=list)
    topics: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)


@dataclass
class _Line:
    """A queue over all stretches: its records, and of the first one where it lies and what its offset is."""

    begun: int
    file: str
    first: int = -1
    members: int = 0
    matched: int = 0
    final: Mapping[str, int] | None = None


@dataclass
class _Short:
    """What points behind the end of a log that may have lost the rest: how many entries, of which topics, and how far they go."""

    end: int
    furthest: int = 0
    entries: int = 0
    topics: set[str] = field(default_factory=set)

    def take(self, rows: Numbers, topic: str) -> list[int]:
        """The column `behindEnd` of entries of a topic, which are counted."""
        behind = [int(not there and at >= self.end) for there, at in zip(rows["recordThere"], rows["entryOffset"], strict=True)]
        reached = [at + size for told, at, size in zip(behind, rows["entryOffset"], rows["entrySize"], strict=True) if told]
        if reached:
            self.furthest = max(self.furthest, *reached)
            self.entries += len(reached)
            self.topics.add(topic)
        return behind


class Merger:
    """Of one store. `segments` are in the order of the log. Nothing is concluded across one that has an error.

    `stopped`: the audit was interrupted. Then what the segments found is put together and nothing else is decided or read.
    """

    def __init__(
        self, plan: AuditPlan, store: StoreFolder, files: Sequence[LogFile], segments: Sequence[Segment], *, stopped: bool = False
    ) -> None:
        self.stopped = stopped
        self.plan, self.made, self.store, self.files = plan, programs(plan), store, files
        self.parts = segments
        self.segments = [segment for segment in segments if not segment.error]
        self.totals = AuditTotals(store.folder, len(files))
        self.totals.problems += dict.fromkeys(
            problem for segment in segments for problem in (segment.error, *segment.problems) if problem not in ("", NOT_READ)
        )
        self.whole = len(self.segments) == len(segments)
        self.lines: dict[tuple[str, int], _Line] = {}

    def run(self) -> AuditTotals:
        for segment in self.segments:
            self.totals.records += segment.records
            self.totals.bytes += segment.bytes
            self.totals.findings += segment.findings
            for id_, count in segment.counts.items():
                self._count(id_, count)
        self._line_borders()
        for part in self._parts():
            try:
                part()
            except TraceError as error:
                self.totals.problems.append(str(error))
        # Several stretches, and threads of this process, may have met one together.
        self.totals.problems = list(dict.fromkeys((*self.totals.problems, *self.store.problems)))
        self.totals.findings = sorted(self.totals.findings) if self.plan.every else folded(self.totals.findings)
        return self.totals

    def _parts(self) -> Sequence[Callable[[], None]]:
        """What is left to decide, in order."""
        if self.stopped:
            return ()
        queues = (self._queues,) if self.whole else ()
        return (self._log_borders, self._files, *queues, self._beside, self._unread)

    def _count(self, id_: str, count: int) -> None:
        self.totals.counts[id_] = self.totals.counts.get(id_, 0) + count

    def _decide(
        self, over: str, before: Mapping[str, Any], after: Mapping[str, Any] | None, place: Callable[[int], dict[str, Any]]
    ) -> None:
        """Decide rows of Python numbers; `place` gives where a row lies and what a finding records of it."""
        if self.stopped or not before or not len(next(iter(before.values()))):
            return
        counts, breaches = self.made[over].decide(_arrays(before), None if after is None else _arrays(after), self.plan.limit)
        for id_, count in counts.items():
            self._count(id_, count)
        for breach in breaches:
            where = {"topic": "", "queue_id": -1, "queue_offset": -1, "hex": "", **place(breach.row)}
            more = where.pop("more", "")
            reason = breach.rule.claim.sentence + (f"; {more}" if more else "")
            self.totals.findings.append(
                AuditFinding(
                    store=self.store.folder,
                    property=breach.rule.id,
                    severity=breach.rule.severity,
                    expected=breach.expected,
                    found=breach.found,
                    reason=reason,
                    **where,
                )
            )

    # Borders between stretches

    def _line_borders(self) -> None:
        """The last record of each queue before a border, and the first one behind it."""
        before: Numbers = {}
        after: Numbers = {}
        where: list[tuple[str, str]] = []
        for segment in self.parts:
            if segment.error:
                for line in self.lines.values():
                    line.final = None
                continue
            queues = segment.queues
            for n, key in enumerate(zip(queues.get("topic", ()), queues.get("queueId", ()), strict=True)):
                if key not in self.lines:
                    self.lines[key] = _Line(queues["begun"][n], segment.task.file.path)
                line = self.lines[key]
                self.totals.topics[key[0]] = self.totals.topics.get(key[0], 0) + queues["records"][n]
                if not queues["members"][n]:
                    continue
                first = {name: values[n] for name, values in queues["first"].items()}
                if not line.members:
                    line.first = first["queueOffset"]
                if line.final is not None:
                    append(before, line.final)
                    append(after, first)
                    where.append((segment.task.file.path, key[0]))
                line.final = {name: values[n] for name, values in queues["final"].items()}
                line.members += queues["members"][n]
                line.matched += queues["matched"][n]
        self._decide("line", before, after, lambda row: self._record(where[row][0], where[row][1], after, row))

    def _log_borders(self) -> None:
        """The last record, or entry of DLedger, before a border and the first one behind it."""
        for over in dict.fromkeys(over for segment in self.segments for over in segment.edges):
            before: Numbers = {}
            after: Numbers = {}
            where: list[tuple[str, str]] = []
            last: Segment | None = None
            for segment in self.parts:
                if segment.error:
                    last = None
                if over not in segment.edges:
                    continue
                if last is not None:
                    append(before, {name: values[1] for name, values in last.edges[over].items()})
                    append(after, {name: values[0] for name, values in segment.edges[over].items()})
                    where.append((segment.task.file.path, segment.edge_topics[over]))
                last = segment

            def place(row: int, where: Sequence[tuple[str, str]] = where, after: Numbers = after) -> dict[str, Any]:
                return self._record(*where[row], after, row)

            self._decide(over, before, after, place)

    def _record(self, path: str, topic: str, rows: Numbers, row: int) -> dict[str, Any]:
        offset = rows["physicalOffset"][row]
        return {
            "file": path, "offset": offset, "topic": topic, "queue_id": rows["queueId"][row], "queue_offset": rows["queueOffset"][row],
            "hex": self._shown(path, offset),
        }  # fmt: skip

    def _shown(self, path: str, offset: int) -> str:
        """The bytes at a physical offset; none where the file has gone."""
        base = next((file.base for file in self.files if file.path == path), 0)
        return shown(path, offset - base)

    # Files

    def _files(self) -> None:
        rows: Numbers = {}
        told: list[LogFile] = []
        by_file: dict[str, list[Segment]] = {}
        for segment in self.parts:
            by_file.setdefault(segment.task.file.path, []).append(segment)
        for file in self.files:
            parts = by_file[file.path]
            if any(part.error for part in parts):
                continue
            blanks = [blank for part in parts for blank in part.blanks]
            end = _end_of(parts, blanks) - file.base
            size = blanks[0][1] if blanks else 0
            facts_of = {"base": file.base, "size": file.length, "end": end, "blank": size, "last": int(file.last)}
            append(rows, {"ledger": int(file.header > 0), **facts_of})
            told.append(file)

        def place(row: int) -> dict[str, Any]:
            offset = rows["base"][row] + rows["end"][row]
            return {"file": told[row].path, "offset": offset, "hex": self._shown(told[row].path, offset)}

        self._decide("file", rows, None, place)
        pairs = [n for n in range(len(told) - 1) if self.files.index(told[n]) + 1 == self.files.index(told[n + 1])]
        before = {name: [values[n] for n in pairs] for name, values in rows.items()}
        after = {name: [values[n + 1] for n in pairs] for name, values in rows.items()}
        self._decide("files", before, after, lambda row: {"file": told[pairs[row] + 1].path, "offset": after["base"][row]})

    # Queues and their entries

    def _queues(self) -> None:
        start = self.files[0].base if self.files else 0
        known = {(queue.topic, queue.queue_id): queue for queue in self.store.queues.all()}
        # The first entry of each queue that points into the log.
        begins = {key: queue.between(start, 1 << 62)[0] if start else queue.min for key, queue in known.items()}
        table = self.store.topics
        rows: Numbers = {}
        keys = sorted(self.lines)
        for key in keys:
            line, queue = self.lines[key], known.get(key)
            row = table.topics.get(key[0]) if table is not None else None
            first = begins.get(key, 0)
            append(
                rows,
                {
                    "topicClass": self.store.class_of(key[0]),
                    "queueId": key[1],
                    "tableThere": int(table is not None),
                    "known": int(row is not None),
                    "legalName": int(legal(key[0])),
                    "readQueueNums": row.read if row else 0,
                    "writeQueueNums": row.write if row else 0,
                    "perm": row.perm if row else 0,
                    "records": line.members,
                    "firstQueueOffset": line.first,
                    "logStart": start,
                    "entriesKnown": int(queue is not None),
                    "entries": queue.max - first if queue is not None else 0,
                    "firstEntry": first,
                    "matched": line.matched,
                },
            )

        def place(row: int) -> dict[str, Any]:
            line = self.lines[keys[row]]
            count = f"{line.members:,} record{'s' if line.members != 1 else ''} of this queue"
            return {
                "file": line.file, "offset": line.begun, "topic": keys[row][0], "queue_id": keys[row][1], "queue_offset": line.first,
                "hex": self._shown(line.file, line.begun), "more": count,
            }  # fmt: skip

        self._decide("queue", rows, None, place)
        end = self._end
        unclaimed: list[tuple[Queue, int]] = []
        for key, queue in sorted(known.items()):
            first, past = begins[key], queue.between(start, end)[1]
            claimed = past - first == (self.lines[key].matched if key in self.lines else 0)
            unclaimed.append((queue, past if claimed else first))
        short = self._short(end, unclaimed)
        for queue, first in unclaimed:
            try:
                self._entries(queue, first, short)
            except TraceError as error:
                self.totals.problems.append(str(error))
        if short is not None:
            self._ending(self.files[-1], short)

    def _short(self, end: int, unclaimed: Sequence[tuple[Queue, int]]) -> _Short | None:
        """Whether the log has lost its end: several entries point behind it, and the first of them where its next record would lie. Others
        are themselves wrong."""
        count, first = 0, LIMIT
        for queue, start in unclaimed:
            with suppress(TraceError):  # `_entries` meets it too, and tells
                for places in places_behind(queue, start, end):
                    count, first = count + len(places), min(first, *places)
        if count < 2 or not self.files:
            return None
        following = end, self.files[-1].base + self.files[-1].length
        return _Short(end) if any(0 <= first - place <= NEAR for place in following) else None

    def _entries(self, queue: Queue, first: int, short: _Short | None) -> None:
        """The entries of a queue from a number on, which no record claims."""
        if first >= queue.max:
            return
        for rows, places in facts(queue, first, self._log_now):
            rows["behindEnd"] = [0] * len(places) if short is None else short.take(rows, queue.topic)

            def place(row: int, places: Sequence[tuple[str, int, str]] = places, rows: Numbers = rows) -> dict[str, Any]:
                path, at, hexed = places[row]
                return {
                    "file": path,
                    "offset": at,
                    "topic": queue.topic,
                    "queue_id": queue.queue_id,
                    "queue_offset": rows["index"][row],
                    "hex": hexed,
                }

            self._decide("entry", rows, None, place)

    def _ending(self, last: LogFile, short: _Short) -> None:
        more = f"{short.entries:,} entries of {len(short.topics)} topic{'s' if len(short.topics) != 1 else ''} point behind its end"
        place = {"file": last.path, "offset": short.end, "more": more}
        self._decide("ending", {"end": [short.end], "furthest": [short.furthest]}, None, lambda _: place)

    @cached_property
    def _end(self) -> int:
        """The physical offset at which the log ends."""
        return max((_end_of([part], part.blanks) for part in self.parts), default=0)

    @cached_property
    def _log_now(self) -> tuple[LogFile, ...]:
        """The log's files after the queues were read: a broker that runs has gone on writing since the walk."""
        return log_files([self.store.folder], hosts_by_flag=self.store.hosts_by_flag)

    # What lies beside the log

    def _unread(self) -> None:
        self.totals.unread = unread.lines(self.store.folder, self.store.batch_topics, self.totals.topics.keys())

    def _beside(self) -> None:
        last = max((time for segment in self.segments for time in segment.noted.get("stored", ())), default=0)
        for rows_of in (
            table_rows(self.store, self.totals.records),
            config_rows(self.store, last),
            noted_rows(self.store, self.segments, self.whole),
            index_rows(self.store.folder, self.files, self._end),
        ):
            try:
                for over, rows, place in rows_of:
                    self._decide(over, rows, None, place)
            except TraceError as error:
                self.totals.problems.append(str(error))


def shown(path: str, at: int, size: int = SHOWN) -> str:
    """Bytes of a file in hexadecimal; none where the file cannot be read any more."""
    try:
        with open_source(path) as source:
            return read(source, at, max(0, min(size, source.length - at))).hex()
    except (TraceError, OSError):
        return ""


def _end_of(parts: Sequence[Segment], blanks: Sequence[tuple[int, int]]) -> int:
    """The physical offset at which the records of a file end."""
    if blanks:
        return min(offset for offset, _ in blanks)
    zeros = [part.data_end for part in parts if part.data_end is not None]
    return min(zeros, default=max(part.task.file.base + (part.end or 0) for part in parts))


def _arrays(rows: Mapping[str, Any]) -> dict[str, NDArray[np.int64]]:
    """Columns of numbers out of files. One beyond `LIMIT` has no value for any rule, and is cut to it."""

    def column(values: Any) -> NDArray[np.int64]:
        try:
            return np.clip(np.asarray(values, np.int64), -LIMIT, LIMIT)
        except OverflowError:
            return np.array([min(max(value, -LIMIT), LIMIT) for value in values], np.int64)

    return {name: column(values) for name, values in rows.items()}
