"""Audit one segment of the log: walk it, collect facts, check rules, and keep what must be compared with neighbouring segments.

This is a plain function from a task to a result. Both are data that passes through JSON, so it runs in a thread, a process or a Spark task.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from threading import local

import numpy as np
from numpy.typing import NDArray

from rocketproof_model import interrupts
from rocketproof_protocol.topics import HALF_TOPIC, OP_HALF_TOPIC, SCHEDULE

from ..common.errors import TraceError
from ..stored.chunk import Chunk
from ..stored.errors import StoredError
from ..stored.facts import COLUMNS, Column, column
from ..stored.kinds import RowKind
from ..stored.layout import ENTRY
from ..stored.ledger import LedgerIndex, entries
from ..stored.names import NameTable
from ..stored.paths import is_remote, open_source
from ..stored.queues import EntryLookup
from ..stored.segments import Walked
from ..stored.table import new_table
from ..stored.walk import Walk
from ..stored.window import new_buffer
from .findings import AuditFinding
from .joining import CHAINED_ROWS, COMPRESSED_ROWS, NUMBER, OPERATION_ROWS, TRANSACTION_ROWS, join
from .notes import COLUMNS as NOTE_COLUMNS
from .notes import SegmentNotes
from .origins import origin
from .programs import AuditPlan, RulePrograms, ViolatingRow, programs
from .queue_tracker import QueueTracker
from .records import Records
from .store import StoreFolder, store_folder
from .succession import Succession
from .task import LogRange, Segment, failed_segment
from .transactions import HalfMessages, numbers_of
from .vocabulary import FACTS, JOINED, MARKS, Class

ROWS = 4096  # rows of a chunk: its columns stay in the processor's caches
WINDOW = 5 << 20  # bytes in memory, for 4096 records of 1 KiB; a chunk does not extend over them
MANY = 4096  # names or queues
LEVELS = "delay_levels"  # a setting of the plan: the wait of each delay level in milliseconds
COMPRESSIONS = (0x78, 0x04, 0x28)  # the first bytes of data compressed by zlib, LZ4 and Zstandard
SHOWN = 64  # bytes of a record that a finding shows
ENTRY_COLUMNS = ("entryThere", "entryOffset", "entrySize", "entryTags")
ORIGIN_COLUMNS = ("originRead", "originHere", "originKnown", "originSame", "originTimes")
LOCATION_COLUMNS = ("physicalOffset", "queueId", "queueOffset", "size")


def audit_task(plan: AuditPlan, task: LogRange, store: StoreFolder | None = None) -> Segment:
    """Check one range of a store, by default the one of the task's folder. A file that cannot be read is the result's `error`."""
    began = time.perf_counter()
    try:
        segment = audit_segment(plan, task, store or store_folder(task.store, task.moment, task.file.hosts_by_flag))
    except (TraceError, OSError) as error:
        problem = str(error) if isinstance(error, TraceError) else f"{error.filename or task.file.path}: {error.strerror or error}"
        segment = failed_segment(task, problem)
    return replace(segment, seconds=round(time.perf_counter() - began, 6))


def audit_segment(plan: AuditPlan, task: LogRange, store: StoreFolder) -> Segment:
    """Check every rule over records for one range. Raises StoredError and OSError for a file that cannot be read."""
    compiled = programs(plan)
    with (
        _workspace(plan, store) as workspace,
        open_source(task.file.path) as source,
        Records(store.log) as log,
        LedgerIndex(task.file.index) as index,
    ):
        auditor = _Auditor(plan, compiled, store, task, workspace, log, index)
        if source.length < task.file.length:
            problem = f"has become shorter, {source.length} bytes from {task.file.length}, since the audit began"
            raise StoredError(task.file.path, problem, "audit a copy, or a store that nobody changes")
        walk = Walk(task.range, workspace.names, rows=ROWS, buffer=workspace.buffer, source=source, table=workspace.table)
        for chunk in walk:
            interrupts.stop_thread_if_interrupted()
            auditor.take(chunk)
        auditor.end()
        return auditor.result(walk.walked, walk.data_end)


class _Workspace:
    """Memory, names, and facts about topics and queues that a thread reuses for successive ranges of a store."""

    def __init__(self, plan: AuditPlan, store: StoreFolder) -> None:
        compiled = programs(plan)
        self.plan, self.store = plan, store
        self.names = NameTable((SCHEDULE, HALF_TOPIC, OP_HALF_TOPIC))
        self.lookup = EntryLookup(store.queues, self.names)
        self.operations = EntryLookup(store.queues, self.names)
        self.waits = np.array((0, *(dict(plan.settings).get(LEVELS) or store.delays)), np.int64)
        self.buffer = new_buffer(WINDOW)
        self.table = new_table(len(JOINED))
        self.picked = np.zeros((4, ROWS), np.int64)
        self.columns = dict(zip(NUMBER, self.table, strict=True))
        self.decide_records = compiled["record"].bind(self.columns)
        self.members = compiled.membership("record").bind(self.columns)
        self.log_lines = np.array([NUMBER[name] for name in _compared_columns(compiled, "log")], np.int64)
        self.texts: list[str] = []
        self.facts_of_names = np.zeros((4, 1), np.int64)
        self.marks = np.zeros(1, np.int64)  # of each name, see `own.OwnRules`; last of the absent name

    @property
    def is_large(self) -> bool:
        """Whether it holds so many names or queues that its memory costs more than finding them again."""
        return max(len(self.names), len(self.lookup), len(self.operations)) > MANY

    def add_names(self) -> None:
        """Get the store's facts about new names."""
        if len(self.names) == len(self.texts):
            return
        texts, store = self.names.texts(), self.store
        new = texts[len(self.texts) :]
        facts = [[store.class_of(name), store.limit_of(name), store.queues_of(name), store.has_queues_of(name)] for name in new]
        none = [Class.encode("none"), 0, 0, store.has_queues_of("")]
        self.facts_of_names = np.concatenate((self.facts_of_names[:, :-1], np.array([*facts, none], np.int64).T), axis=1)
        self.marks = np.concatenate((self.marks[:-1], np.array([*map(self.plan.own.of_topic, new), 0], np.int64)))
        self.texts = texts

    def join(self, rows: int) -> tuple[int, int, int, int]:
        """Add the store's facts about the records' topics, levels and entries.

        Returns how many rows need further facts, see `joining.join`.
        """
        topic, queue_id, queue_offset = (self.columns[name][:rows] for name in ("topic", "queueId", "queueOffset"))
        self.lookup.find(topic, queue_id, queue_offset, [self.columns[name][:rows] for name in ENTRY_COLUMNS])
        counts: tuple[int, int, int, int] = join(self.table, rows, self.facts_of_names, self.waits, self.store.dispatched, self.picked)
        if self.plan.own.patterns:
            self.columns[MARKS][:rows] = self.marks[topic]
        return counts


def _compared_columns(compiled: RulePrograms, over: str) -> tuple[str, ...]:
    """Return the columns that are kept of rows for comparisons with other rows."""
    return tuple(dict.fromkeys((*LOCATION_COLUMNS, "topic", *compiled[over].reads)))


class _PerThread(local):
    workspace: _Workspace | None = None


_per_thread = _PerThread()


@contextmanager
def _workspace(plan: AuditPlan, store: StoreFolder) -> Iterator[_Workspace]:
    """Yield this thread's workspace for a store. A workspace is not reused after a range that failed."""
    workspace, _per_thread.workspace = _per_thread.workspace, None
    if workspace is None or workspace.store is not store or workspace.plan != plan or workspace.is_large:
        workspace = _Workspace(plan, store)
    yield workspace
    _per_thread.workspace = workspace


@dataclass
class _Auditor:
    plan: AuditPlan
    programs: RulePrograms
    store: StoreFolder
    task: LogRange
    workspace: _Workspace
    log: Records
    index: LedgerIndex
    counts: dict[str, int] = field(default_factory=dict)
    findings: list[AuditFinding] = field(default_factory=list)
    blanks: list[tuple[int, int]] = field(default_factory=list)
    records: int = 0
    chunk: Chunk = field(init=False)

    def __post_init__(self) -> None:
        self.names, self.table = self.workspace.names, self.workspace.table
        self.columns, self.picked = self.workspace.columns, self.workspace.picked
        self.halves = HalfMessages(self.log, self.names)
        self.noted = SegmentNotes(self.store.checkpoint_times)
        self.lines = QueueTracker(_compared_columns(self.programs, "line"))
        self.decide_lines = self.programs["line"].bind(self.lines.before, self.lines.after)
        self.successions: dict[str, Succession] = {}
        self.transactions: list[NDArray[np.int64]] = []

    def take(self, chunk: Chunk) -> None:
        """Audit one chunk of the walk, whose rows are the first of `table`."""
        self.chunk = chunk
        rows, kinds = chunk.rows, chunk["kind"]
        self.workspace.add_names()
        if self.task.file.header:
            self._entries(chunk)
        is_message = chunk.is_message
        if not is_message.all():
            self._others(chunk.table, kinds)
            messages = chunk.table[:, is_message]
            rows = messages.shape[1]
            self.table[:, :rows] = messages
        if rows:
            self._records(rows)

    def end(self) -> None:
        """Finish after the last chunk."""
        self._outcomes()

    def _others(self, table: NDArray[np.int64], kinds: Column) -> None:
        blanks = np.flatnonzero(kinds == RowKind.BLANK)
        self.blanks += zip(column(table, "physicalOffset")[blanks].tolist(), column(table, "size")[blanks].tolist(), strict=True)
        broken = table[:, kinds == RowKind.CORRUPT]
        if broken.shape[1]:
            rows = {name: column(broken, name) for name in ("physicalOffset", "reason")} | {"length": column(broken, "size")}
            self._decide("damage", rows | {"offset": rows["physicalOffset"]}, None)

    def _records(self, rows: int) -> None:
        self.records += rows
        compressed, chained, transactions, operations = self.workspace.join(rows)
        self._falsely_compressed(self.picked[COMPRESSED_ROWS, :compressed])
        self._add_origins(self.picked[CHAINED_ROWS, :chained])
        self._keep(self.workspace.decide_records(rows, self.plan.limit, self.counts), self.columns)
        if transactions:
            self.transactions.append(self.table[:, self.picked[TRANSACTION_ROWS, :transactions]])
        if sum(each.shape[1] for each in self.transactions) >= ROWS:
            self._outcomes()
        self._operations(self.picked[OPERATION_ROWS, :operations])
        self.noted.take({name: self.columns[name][:rows] for name in NOTE_COLUMNS})
        pairs = self.lines.follow(self.table, rows, self.workspace.members.failed(rows))
        self._keep(self.decide_lines(pairs, self.plan.limit, self.counts), self.lines.after)
        if not self.task.file.header:
            # DLedger's broker reads the clock for the store timestamp before it takes the lock, so times can decrease.
            succession = self._succession("log")
            self._keep(succession.take(self.table, self.workspace.log_lines, rows, self.plan.limit, self.counts), succession.after)

    def _falsely_compressed(self, rows: NDArray[np.int64]) -> None:
        """Find rows that are marked as compressed but whose bodies do not begin like compressed data."""
        if len(rows):
            begins = self.chunk.spans(column(self.table[:, rows], "bodyOffset"), 1)
            self.columns["falselyCompressed"][rows] = ~np.isin(begins, COMPRESSIONS)

    def _outcomes(self) -> None:
        """Compare the collected records that end half messages with these. They are collected because single lookups are slower."""
        if not self.transactions:
            return
        rows = dict(zip(NUMBER, np.concatenate(self.transactions, axis=1), strict=True))
        self.transactions.clear()
        self.halves.take(rows)
        outcomes = self.halves.outcomes(rows)
        if len(outcomes["half"]):
            self._decide("outcome", outcomes, None)
            self.noted.commits(outcomes)

    def _operations(self, rows: NDArray[np.int64]) -> None:
        """Check the half messages that operation records name as ended."""
        if not len(rows):
            return
        columns = self.columns
        start, length = column(self.table[:, rows], "bodyOffset").tolist(), columns["bodyLength"][rows].tolist()
        bodies = [self.chunk.bytes_at(*span) if span[1] > 0 else b"" for span in zip(start, length, strict=True)]
        numbers = [numbers_of(body) for body in bodies]
        owners = np.repeat(rows, [len(offsets or [-1]) for offsets in numbers])
        half = np.array([number for offsets in numbers for number in offsets or [-1]], np.int64)
        zeros = np.zeros(len(half), np.int64)
        entries = self.workspace.operations.find(zeros + self.names.number(HALF_TOPIC), zeros, half)
        first = self.store.first_half
        operations = {
            **{name: columns[name][owners] for name in (*LOCATION_COLUMNS, "topic")},
            "readable": (half >= 0).astype(np.int64),
            "half": half,
            "halfKnown": ((half >= first) & (first >= 0)).astype(np.int64),
            "halfThere": (entries.found == ENTRY).astype(np.int64),
            "place": entries.physicalOffset,
        }
        self._decide("operation", operations, None)
        self.noted.operations(operations)

    def _entries(self, chunk: Chunk) -> None:
        """Check the headers of DLedger's entries and its index."""
        entry_rows, headers = entries(chunk)
        if not len(entry_rows):
            return
        index = self.index.find(headers["index"])
        known = (index["there"] == 2) | ((index["there"] == 1) & self.store.has_stopped)
        rows = {
            **{name: chunk[name][entry_rows] for name in ("topic", "queueId", "queueOffset")},
            **headers,
            "physicalOffset": headers["place"],
            "indexKnown": known.astype(np.int64),
            "indexThere": (index["there"] == 2).astype(np.int64),
            **{f"index{name.capitalize()}": index[name] for name in ("position", "size", "term")},
            "indexNumber": index["index"],
        }
        self._decide("ledger", rows, None)
        succession = self._succession("ledgers")
        table = np.stack([rows[name] for name in succession.columns])
        decision = succession.take(table, np.arange(len(table)), len(entry_rows), self.plan.limit, self.counts)
        self._keep(decision, succession.after)

    def _succession(self, over: str) -> Succession:
        """Return the successive records or entries for rules of this kind."""
        if over not in self.successions:
            self.successions[over] = Succession(self.programs[over], _compared_columns(self.programs, over))
        return self.successions[over]

    def _add_origins(self, rows: NDArray[np.int64]) -> None:
        """Add the facts of the first records of chains. Skipped for remote stores, where each record would be a request."""
        for row in [] if is_remote(self.store.folder) else rows.tolist():
            first_record = origin(self.log, int(self.columns["physicalOffset"][row]))
            for name, value in zip(ORIGIN_COLUMNS, first_record or (), strict=False):
                self.columns[name][row] = value

    def _decide(self, over: str, before: Mapping[str, Column], after: Mapping[str, Column] | None) -> None:
        self._keep(self.programs[over].decide(before, after, self.plan.limit, self.counts), before if after is None else after)

    def _keep(self, decision: tuple[dict[str, int], list[ViolatingRow]], rows: Mapping[str, Column]) -> None:
        """Keep counts and findings."""
        counts, breaches = decision
        for id_, count in counts.items():
            self.counts[id_] = self.counts.get(id_, 0) + count
        self.findings += [self._finding(breach, rows) for breach in breaches]

    def _finding(self, breach: ViolatingRow, rows: Mapping[str, Column]) -> AuditFinding:
        def number(name: str) -> int:
            return int(rows[name][breach.row]) if name in rows else -1

        topic, offset = number("topic"), number("physicalOffset")
        return AuditFinding(
            store=self.task.store,
            file=self.task.file.path,
            offset=offset,
            property=breach.rule.id,
            topic=self.workspace.texts[topic] if topic >= 0 else "",
            queue_id=number("queueId"),
            queue_offset=number("queueOffset"),
            expected=breach.expected,
            found=breach.found,
            hex=self.chunk.bytes_at(offset, SHOWN).hex(),
            severity=breach.rule.severity,
            reason=breach.rule.claim.sentence,
        )

    def result(self, walked: Walked, data_end: int | None) -> Segment:
        lines, texts = self.lines, self.names.texts()
        edges = {over: succession.edges for over, succession in self.successions.items()}
        queues = {
            "topic": [texts[k] for k in lines.topic],
            "queueId": lines.queue_id.tolist(),
            "begun": lines.begun.tolist(),
            "records": lines.records.tolist(),
            "members": lines.members.tolist(),
            "matched": lines.matched.tolist(),
            "first": {name: values.tolist() for name, values in lines.first.items()},
            "final": {name: values.tolist() for name, values in lines.final.items()},
        }
        firsts = {over: each["topic"][0] for over, each in edges.items()}
        return Segment(
            self.task,
            walked.begin,
            walked.end,
            data_end,
            self.records,
            walked.size,
            self.counts,
            self.findings,
            queues,
            edges,
            {over: texts[topic] if topic >= 0 else "" for over, topic in firsts.items()},
            self.blanks,
            self.noted.data(),
            problems=list(dict.fromkeys((*self.store.problems, *self.log.problems))),
        )


assert set(FACTS) <= set(COLUMNS), "the vocabulary names facts that no walk finds"
