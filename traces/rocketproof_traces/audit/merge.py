"""Merge the results of a log's segments: borders, queues, files, the topic table, entries that no record claims.

At a border, the same step properties are checked as inside a segment. The size of this work depends on the queues and segments, not on the
records. The entries of a queue are read only if their number differs from its records'.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rocketproof_protocol.shown import json_text

from ..common.errors import TraceError
from ..stored.facts import LIMIT
from ..stored.paths import open_source, read
from ..stored.queues import Queue
from ..stored.segments import LogFile, log_files
from . import unread
from .entries import entry_rows, offsets_from
from .findings import AuditFinding
from .folds import folded
from .keys import index_rows
from .programs import AuditPlan, programs
from .segment import SHOWN
from .store import StoreFolder, legal
from .store_rows import Numbers, append, config_rows, noted_rows, table_rows
from .task import NOT_READ, Segment
from .vocabulary import MARKS

NEAR = 4 << 20  # bytes: few records have no entry, so the next record with one begins within this distance after the log's end


@dataclass
class AuditTotals:
    """The audit of a store.

    - `counts`: the exact numbers of broken rows by rule.
    - `findings`: at most the plan's limit per rule and part of the work.
    - `topics`: records by topic.
    - `problems`: files that could not be read.
    - `unread`: parts of the store that are never read.
    - `failure`: why the store was not audited at all; empty if it was.
    - `seconds`: the time that its tasks took, summed over the workers.
    """

    store: str
    files: int = 0
    records: int = 0
    bytes: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    findings: list[AuditFinding] = field(default_factory=list)
    topics: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    failure: str = ""
    seconds: float = field(default=0.0, compare=False)

    @property
    def is_complete(self) -> bool:
        """Whether everything could be read."""
        return not (self.failure or self.problems)

    @property
    def status(self) -> str:
        """`audited`, `partly audited` if files could not be read, or `not audited`."""
        return "not audited" if self.failure else "partly audited" if self.problems else "audited"

    def text(self) -> str:
        return json_text({**self.__dict__, "findings": [finding.data() for finding in self.findings]})

    @staticmethod
    def read(text: str) -> AuditTotals:
        data = json.loads(text)
        return AuditTotals(**{**data, "findings": [AuditFinding.of(finding) for finding in data["findings"]]})


@dataclass
class _QueueTotals:
    """A queue over all segments: its records, and the location and offset of the first record."""

    begun: int
    file: str
    first: int = -1
    members: int = 0
    matched: int = 0
    final: Mapping[str, int] | None = None


@dataclass
class _MissingEnd:
    """The entries that point after the end of a log that probably lost its end."""

    end: int
    furthest: int = 0
    entries: int = 0
    topics: set[str] = field(default_factory=set)

    def take(self, rows: Numbers, topic: str) -> list[int]:
        """Return the column `behindEnd` for the entries of a topic, and count these entries."""
        after_end = [int(not there and at >= self.end) for there, at in zip(rows["recordThere"], rows["entryOffset"], strict=True)]
        ends = [at + size for is_after, at, size in zip(after_end, rows["entryOffset"], rows["entrySize"], strict=True) if is_after]
        if ends:
            self.furthest = max(self.furthest, *ends)
            self.entries += len(ends)
            self.topics.add(topic)
        return after_end


class Merger:
    """Merge the segments of one store, in the order of the log. Nothing is concluded across a segment with an error.

    `stopped`: the audit was interrupted. The results of the segments are merged; nothing else is read or checked.
    """

    def __init__(
        self, plan: AuditPlan, store: StoreFolder, files: Sequence[LogFile], segments: Sequence[Segment], *, stopped: bool = False
    ) -> None:
        self.stopped = stopped
        self.plan, self.programs, self.store, self.files = plan, programs(plan), store, files
        self.parts = segments
        self.segments = [segment for segment in segments if not segment.error]
        self.totals = AuditTotals(store.folder, len(files))
        self.totals.problems += dict.fromkeys(
            problem for segment in segments for problem in (segment.error, *segment.problems) if problem not in ("", NOT_READ)
        )
        self.whole = len(self.segments) == len(segments)
        self.queue_totals: dict[tuple[str, int], _QueueTotals] = {}

    def run(self) -> AuditTotals:
        self._sum()
        self._line_borders()
        for part in self._parts():
            try:
                part()
            except TraceError as error:
                self.totals.problems.append(str(error))
        # Several segments and threads of this process can report the same problem.
        self.totals.problems = list(dict.fromkeys((*self.totals.problems, *self.store.problems)))
        return self._sorted()

    def run_on_records(self) -> AuditTotals:
        """Merge only what was found about single and successive records."""
        self._sum()
        self._line_borders()
        self._log_borders()
        return self._sorted()

    def _sorted(self) -> AuditTotals:
        self.totals.findings = sorted(self.totals.findings) if self.plan.every else folded(self.totals.findings)
        return self.totals

    def _sum(self) -> None:
        for segment in self.segments:
            self.totals.seconds += segment.seconds
            self.totals.records += segment.records
            self.totals.bytes += segment.bytes
            self.totals.findings += segment.findings
            for id_, count in segment.counts.items():
                self._count(id_, count)

    def _parts(self) -> Sequence[Callable[[], None]]:
        """Return the remaining checks in order."""
        if self.stopped:
            return ()
        queues = (self._queues,) if self.whole else ()
        return (self._log_borders, self._files, *queues, self._side_files, self._unread)

    def _count(self, id_: str, count: int) -> None:
        self.totals.counts[id_] = self.totals.counts.get(id_, 0) + count

    def _check(self, over: str, before: Mapping[str, Any], after: Mapping[str, Any] | None, place: Callable[[int], dict[str, Any]]) -> None:
        """Check rows of Python numbers. `place` returns the location of a row and what a finding records of it."""
        if self.stopped or not before or not len(next(iter(before.values()))):
            return
        counts, breaches = self.programs[over].decide(_arrays(before), None if after is None else _arrays(after), self.plan.limit)
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

    # Borders between segments

    def _line_borders(self) -> None:
        """Compare the last record of each queue before a border with its first record after the border."""
        before: Numbers = {}
        after: Numbers = {}
        where: list[tuple[str, str]] = []
        for segment in self.parts:
            if segment.error:
                for totals in self.queue_totals.values():
                    totals.final = None
                continue
            queues = segment.queues
            for n, key in enumerate(zip(queues.get("topic", ()), queues.get("queueId", ()), strict=True)):
                if key not in self.queue_totals:
                    self.queue_totals[key] = _QueueTotals(queues["begun"][n], segment.task.file.path)
                totals = self.queue_totals[key]
                self.totals.topics[key[0]] = self.totals.topics.get(key[0], 0) + queues["records"][n]
                if not queues["members"][n]:
                    continue
                first = {name: values[n] for name, values in queues["first"].items()}
                if not totals.members:
                    totals.first = first["queueOffset"]
                if totals.final is not None:
                    append(before, totals.final)
                    append(after, first)
                    where.append((segment.task.file.path, key[0]))
                totals.final = {name: values[n] for name, values in queues["final"].items()}
                totals.members += queues["members"][n]
                totals.matched += queues["matched"][n]
        self._check("line", before, after, lambda row: self._record(where[row][0], where[row][1], after, row))

    def _log_borders(self) -> None:
        """Compare the last record or DLedger entry before a border with the first after it."""
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

            self._check(over, before, after, place)

    def _record(self, path: str, topic: str, rows: Numbers, row: int) -> dict[str, Any]:
        offset = rows["physicalOffset"][row]
        return {
            "file": path, "offset": offset, "topic": topic, "queue_id": rows["queueId"][row], "queue_offset": rows["queueOffset"][row],
            "hex": self._hex_at(path, offset),
        }  # fmt: skip

    def _hex_at(self, path: str, offset: int) -> str:
        """Return the bytes at a physical offset in hexadecimal; empty if the file no longer exists."""
        base = next((file.base for file in self.files if file.path == path), 0)
        return hex_at(path, offset - base)

    # Files

    def _files(self) -> None:
        rows: Numbers = {}
        complete_files: list[LogFile] = []
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
            complete_files.append(file)

        def place(row: int) -> dict[str, Any]:
            offset = rows["base"][row] + rows["end"][row]
            return {"file": complete_files[row].path, "offset": offset, "hex": self._hex_at(complete_files[row].path, offset)}

        self._check("file", rows, None, place)
        numbers = [self.files.index(file) for file in complete_files]
        pairs = [n for n in range(len(numbers) - 1) if numbers[n] + 1 == numbers[n + 1]]
        before = {name: [values[n] for n in pairs] for name, values in rows.items()}
        after = {name: [values[n + 1] for n in pairs] for name, values in rows.items()}
        self._check("files", before, after, lambda row: {"file": complete_files[pairs[row] + 1].path, "offset": after["base"][row]})

    # Queues and their entries

    def _queues(self) -> None:
        start = self.files[0].base if self.files else 0
        known = {(queue.topic, queue.queue_id): queue for queue in self.store.queues.all()}
        # The first entry of each queue that points into the log.
        begins = {key: queue.between(start, 1 << 62)[0] if start else queue.min for key, queue in known.items()}
        table = self.store.topics
        rows: Numbers = {}
        keys = sorted(self.queue_totals)
        for key in keys:
            totals, queue = self.queue_totals[key], known.get(key)
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
                    "records": totals.members,
                    "firstQueueOffset": totals.first,
                    "logStart": start,
                    "entriesKnown": int(queue is not None),
                    "entries": queue.max - first if queue is not None else 0,
                    "firstEntry": first,
                    "matched": totals.matched,
                    MARKS: self.plan.own.of_topic(key[0]),
                },
            )

        def place(row: int) -> dict[str, Any]:
            totals = self.queue_totals[keys[row]]
            count = f"{totals.members:,} record{'s' if totals.members != 1 else ''} of this queue"
            return {
                "file": totals.file, "offset": totals.begun, "topic": keys[row][0], "queue_id": keys[row][1], "queue_offset": totals.first,
                "hex": self._hex_at(totals.file, totals.begun), "more": count,
            }  # fmt: skip

        self._check("queue", rows, None, place)
        end = self._end
        unclaimed: list[tuple[Queue, int]] = []
        for key, queue in sorted(known.items()):
            first, past = begins[key], queue.between(start, end)[1]
            claimed = past - first == (self.queue_totals[key].matched if key in self.queue_totals else 0)
            unclaimed.append((queue, past if claimed else first))
        missing_end = self._missing_end(end, unclaimed)
        for queue, first in unclaimed:
            try:
                self._entries(queue, first, missing_end)
            except TraceError as error:
                self.totals.problems.append(str(error))
        if missing_end is not None:
            self._ending(self.files[-1], missing_end)

    def _missing_end(self, end: int, unclaimed: Sequence[tuple[Queue, int]]) -> _MissingEnd | None:
        """Return whether the log lost its end: several entries point after it, the first of them where the next record would be.

        Otherwise these entries themselves are wrong.
        """
        count, first = 0, LIMIT
        for queue, start in unclaimed:
            with suppress(TraceError):  # `_entries` raises it again, and it is reported
                for offsets in offsets_from(queue, start, end):
                    count, first = count + len(offsets), min(first, *offsets)
        if count < 2 or not self.files:
            return None
        next_records = end, self.files[-1].base + self.files[-1].length
        return _MissingEnd(end) if any(0 <= first - expected <= NEAR for expected in next_records) else None

    def _entries(self, queue: Queue, first: int, missing_end: _MissingEnd | None) -> None:
        """Check the entries of a queue from number `first` on, which no record claims."""
        if first >= queue.max:
            return
        for rows, locations in entry_rows(queue, first, self._current_log):
            rows["behindEnd"] = [0] * len(locations) if missing_end is None else missing_end.take(rows, queue.topic)
            rows[MARKS] = [self.plan.own.of_topic(queue.topic)] * len(locations)

            def place(row: int, locations: Sequence[tuple[str, int, str]] = locations, rows: Numbers = rows) -> dict[str, Any]:
                path, at, hex_ = locations[row]
                return {
                    "file": path,
                    "offset": at,
                    "topic": queue.topic,
                    "queue_id": queue.queue_id,
                    "queue_offset": rows["index"][row],
                    "hex": hex_,
                }

            self._check("entry", rows, None, place)

    def _ending(self, last: LogFile, missing_end: _MissingEnd) -> None:
        topics = f"{len(missing_end.topics)} topic{'s' if len(missing_end.topics) != 1 else ''}"
        more = f"{missing_end.entries:,} entries of {topics} point behind its end"
        place = {"file": last.path, "offset": missing_end.end, "more": more}
        self._check("ending", {"end": [missing_end.end], "furthest": [missing_end.furthest]}, None, lambda _: place)

    @cached_property
    def _end(self) -> int:
        """The physical offset at which the log ends."""
        return max((_end_of([part], part.blanks) for part in self.parts), default=0)

    @cached_property
    def _current_log(self) -> tuple[LogFile, ...]:
        """The log's files after the queues were read: a running broker has written since the walk."""
        return log_files([self.store.folder], hosts_by_flag=self.store.hosts_by_flag)

    # Other files of the store

    def _unread(self) -> None:
        self.totals.unread = unread.lines(self.store.folder, self.store.batch_topics, self.totals.topics.keys())

    def _side_files(self) -> None:
        last = max((time for segment in self.segments for time in segment.noted.get("stored", ())), default=0)
        for rows_of in (
            table_rows(self.store, self.totals.records, self.plan.own.of_topic),
            config_rows(self.store, last),
            noted_rows(self.store, self.segments, self.whole),
            index_rows(self.store.folder, self.files, self._end),
        ):
            try:
                for over, rows, place in rows_of:
                    self._check(over, rows, None, place)
            except TraceError as error:
                self.totals.problems.append(str(error))


def hex_at(path: str, at: int, size: int = SHOWN) -> str:
    """Return bytes of a file in hexadecimal; empty if the file cannot be read any more."""
    try:
        with open_source(path) as source:
            return read(source, at, max(0, min(size, source.length - at))).hex()
    except (TraceError, OSError):
        return ""


def _end_of(parts: Sequence[Segment], blanks: Sequence[tuple[int, int]]) -> int:
    """Return the physical offset at which the records of a file end."""
    if blanks:
        return min(offset for offset, _ in blanks)
    zeros = [part.data_end for part in parts if part.data_end is not None]
    return min(zeros, default=max(part.task.file.base + (part.end or 0) for part in parts))


def _arrays(rows: Mapping[str, Any]) -> dict[str, NDArray[np.int64]]:
    """Return the columns as arrays. A number beyond `LIMIT` has no value for any rule and is clipped to it."""

    def column(values: Any) -> NDArray[np.int64]:
        try:
            return np.clip(np.asarray(values, np.int64), -LIMIT, LIMIT)
        except OverflowError:
            return np.array([min(max(value, -LIMIT), LIMIT) for value in values], np.int64)

    return {name: column(values) for name, values in rows.items()}
