"""One stretch of the log audited: walk, facts, rules, and what has to be compared with the stretches beside it.

A plain function from a task to a result, both of them data that goes through JSON: it runs in a thread, in a process, in a task of Spark.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from threading import local
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rocketproof_model import interrupts
from rocketproof_protocol.shown import json_text
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
from ..stored.segments import LogFile, Range, Walked
from ..stored.table import new_table
from ..stored.walk import Walk
from ..stored.window import new_buffer
from .findings import AuditFinding
from .joining import CHAINED_ROWS, COMPRESSED_ROWS, NUMBER, OPERATION_ROWS, TRANSACTION_ROWS, join
from .lines import Lines
from .noted import COLUMNS as NOTED
from .noted import Noted
from .origins import origin
from .programs import AuditPlan, RulePrograms, ViolatingRow, programs
from .records import Records
from .store import StoreFolder, opened
from .succession import Succession
from .transactions import Halves, numbers_of
from .vocabulary import FACTS, JOINED, Class

ROWS = 4096  # of a chunk: its columns stay in the processor's caches
WINDOW = 5 << 20  # bytes in memory: a chunk ends with them, and has as many records of 1 KiB as its table has room for
MANY = 4096  # names or queues
NOT_READ = "not read yet"
LEVELS = "delay_levels"  # a setting of the plan: what the broker waits on each level in milliseconds
COMPRESSIONS = (0x78, 0x04, 0x28)  # the first bytes of what zlib, LZ4 and Zstandard have made
SHOWN = 64  # bytes of a record that a finding shows
FOUND = ("entryThere", "entryOffset", "entrySize", "entryTags")
ORIGIN = ("originRead", "originHere", "originKnown", "originSame", "originTimes")
PLACE = ("physicalOffset", "queueId", "queueOffset", "size")


@dataclass(frozen=True)
class LogRange:
    """A range of a log file of a store. `moment` names the audit: what one audit reads of a store besides its log is read once."""

    moment: int
    store: str
    file: LogFile
    start: int
    end: int
    exact: bool

    @property
    def range(self) -> Range:
        return Range(self.file, self.start, self.end, self.exact)

    def text(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def read(text: str) -> LogRange:
        data = json.loads(text)
        return LogRange(**{**data, "file": LogFile(**data["file"])})


@dataclass(frozen=True)
class Segment:
    """What a task found. `begin` and `end`: where its walk began and ended in the file, None if no record begins there; `data_end`: the
    physical offset from which on the file has zeros only, None if the walk did not come so far. `queues`: columns by name, one element a
    queue that has a record here; `first` and `final` in it: columns of the first and the last record that takes a queue offset. `edges`:
    by the kind of their rules, columns of the first and of the last record or entry of DLedger, `edge_topics`: the first one's topic.
    `blanks`: where one lies and the size that it has. `noted`: what `noted.Noted` gives. `error`: why there is
    nothing, NOT_READ for a task that an interrupted audit has not come to. `problems`: what else could not be read, a line each; what
    depends on that is unknown, and no rule was asked about it."""

    task: LogRange
    begin: int | None
    end: int | None
    data_end: int | None
    records: int
    bytes: int
    counts: dict[str, int]
    findings: list[AuditFinding]
    queues: dict[str, Any]
    edges: dict[str, dict[str, list[int]]]
    edge_topics: dict[str, str]
    blanks: list[tuple[int, int]]
    noted: dict[str, Any]
    error: str = ""
    problems: list[str] = field(default_factory=list)

    @property
    def walked(self) -> Walked:
        return Walked(self.task.range, self.begin, self.end, self.records, self.bytes)

    def text(self) -> str:
        data = {**self.__dict__, "task": asdict(self.task), "findings": [found.data() for found in self.findings]}
        return json_text(data)

    @staticmethod
    def read(text: str) -> Segment:
        data = json.loads(text)
        task = {**data["task"], "file": LogFile(**data["task"]["file"])}
        findings = [AuditFinding.of(found) for found in data["findings"]]
        return Segment(**{**data, "task": LogRange(**task), "findings": findings, "blanks": [tuple(each) for each in data["blanks"]]})


def answer(plan: AuditPlan, text: str) -> str:
    """The result of a task, both as text."""
    task = LogRange.read(text)
    try:
        return audit_segment(plan, task).text()
    except (TraceError, OSError) as error:
        said = str(error) if isinstance(error, TraceError) else f"{error.filename or task.file.path}: {error.strerror or error}"
        return nothing(task, said).text()


def nothing(task: LogRange, error: str) -> Segment:
    """The result of a task that could not be done."""
    return Segment(task, None, None, None, 0, 0, {}, [], {}, {}, {}, [], {}, error)


def audit_segment(plan: AuditPlan, task: LogRange) -> Segment:
    """Every rule over records, decided for one range. Raises StoredError and OSError for a file that cannot be read."""
    made = programs(plan)
    store = opened(task.store, task.moment, task.file.hosts_by_flag)
    with (
        _workspace(plan, store) as work,
        open_source(task.file.path) as source,
        Records(store.log) as log,
        LedgerIndex(task.file.index) as index,
    ):
        auditor = _Auditor(plan, made, store, task, work, log, index)
        if source.length < task.file.length:
            problem = f"has become shorter, {source.length} bytes from {task.file.length}, since the audit began"
            raise StoredError(task.file.path, problem, "audit a copy, or a store that nobody changes")
        walk = Walk(task.range, work.names, rows=ROWS, buffer=work.buffer, source=source, table=work.table)
        for chunk in walk:
            interrupts.stop_thread_if_interrupted()
            auditor.take(chunk)
        auditor.end()
        return auditor.result(walk.walked, walk.data_end)


class _Workspace:
    """What a thread uses again for one range after the other of a store: memory, names, and what it knows of topics and queues."""

    def __init__(self, plan: AuditPlan, store: StoreFolder) -> None:
        made = programs(plan)
        self.plan, self.store = plan, store
        self.names = NameTable((SCHEDULE, HALF_TOPIC, OP_HALF_TOPIC))
        self.lookup = EntryLookup(store.queues, self.names)
        self.operations = EntryLookup(store.queues, self.names)
        self.waits = np.array((0, *(dict(plan.settings).get(LEVELS) or store.delays)), np.int64)
        self.buffer = new_buffer(WINDOW)
        self.table = new_table(len(JOINED))
        self.picked = np.zeros((4, ROWS), np.int64)
        self.columns = dict(zip(NUMBER, self.table, strict=True))
        self.decide_records = made["record"].bind(self.columns)
        self.members = made.member("record").bind(self.columns)
        self.log_lines = np.array([NUMBER[name] for name in _kept(made, "log")], np.int64)
        self.texts: list[str] = []
        self.facts_of_names = np.zeros((4, 1), np.int64)

    @property
    def is_large(self) -> bool:
        """It knows so many names or queues that the memory is worth more than the time to find them again."""
        return max(len(self.names), len(self.lookup), len(self.operations)) > MANY

    def meet_names(self) -> None:
        """Ask the store about new names."""
        if len(self.names) == len(self.texts):
            return
        texts, store = self.names.texts(), self.store
        new = texts[len(self.texts) :]
        facts = [[store.class_of(name), store.limit_of(name), store.queues_of(name), store.has_queues_of(name)] for name in new]
        none = [Class.encode("none"), 0, 0, store.has_queues_of("")]
        self.facts_of_names = np.concatenate((self.facts_of_names[:, :-1], np.array([*facts, none], np.int64).T), axis=1)
        self.texts = texts

    def join(self, rows: int) -> tuple[int, int, int, int]:
        """Add what the store says about the records' topics, levels and entries; how many rows ask for more, see `joining.join`."""
        topic, queue_id, queue_offset = (self.columns[name][:rows] for name in ("topic", "queueId", "queueOffset"))
        self.lookup.find(topic, queue_id, queue_offset, [self.columns[name][:rows] for name in FOUND])
        found: tuple[int, int, int, int] = join(self.table, rows, self.facts_of_names, self.waits, self.store.dispatched, self.picked)
        return found


def _kept(made: RulePrograms, over: str) -> tuple[str, ...]:
    """The columns that are kept of rows that rules compare with others."""
    return tuple(dict.fromkeys((*PLACE, "topic", *made[over].reads)))


class _Own(local):
    work: _Workspace | None = None


_own = _Own()


@contextmanager
def _workspace(plan: AuditPlan, store: StoreFolder) -> Iterator[_Workspace]:
    """This thread's workspace for a store. One in which a range was not done to its end is not used again."""
    work, _own.work = _own.work, None
    if work is None or work.store is not store or work.plan != plan or work.is_large:
        work = _Workspace(plan, store)
    yield work
    _own.work = work


@dataclass
class _Auditor:
    plan: AuditPlan
    made: RulePrograms
    store: StoreFolder
    task: LogRange
    work: _Workspace
    log: Records
    index: LedgerIndex
    counts: dict[str, int] = field(default_factory=dict)
    found: list[AuditFinding] = field(default_factory=list)
    blanks: list[tuple[int, int]] = field(default_factory=list)
    records: int = 0
    chunk: Chunk = field(init=False)

    def __post_init__(self) -> None:
        self.names, self.table, self.columns, self.picked = self.work.names, self.work.table, self.work.columns, self.work.picked
        self.halves = Halves(self.log, self.names)
        self.noted = Noted(self.store.checkpoint_times)
        self.lines = Lines(_kept(self.made, "line"))
        self.decide_lines = self.made["line"].bind(self.lines.before, self.lines.after)
        self.successions: dict[str, Succession] = {}
        self.transactions: list[NDArray[np.int64]] = []

    def take(self, chunk: Chunk) -> None:
        """One chunk of the walk, which fills the first lines of `table`."""
        self.chunk = chunk
        rows, kinds = chunk.rows, chunk["kind"]
        self.work.meet_names()
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
        """The walk is over."""
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
        compressed, chained, transactions, operations = self.work.join(rows)
        self._falsely_compressed(self.picked[COMPRESSED_ROWS, :compressed])
        self._look_back(self.picked[CHAINED_ROWS, :chained])
        self._tell(self.work.decide_records(rows, self.plan.limit, self.counts), self.columns)
        if transactions:
            self.transactions.append(self.table[:, self.picked[TRANSACTION_ROWS, :transactions]])
        if sum(each.shape[1] for each in self.transactions) >= ROWS:
            self._outcomes()
        self._operations(self.picked[OPERATION_ROWS, :operations])
        self.noted.take({name: self.columns[name][:rows] for name in NOTED})
        pairs = self.lines.follow(self.table, rows, self.work.members.failed(rows))
        self._tell(self.decide_lines(pairs, self.plan.limit, self.counts), self.lines.after)
        if not self.task.file.header:
            # DLedger's broker takes a message's store timestamp before it takes the lock, so that times may go back.
            succession = self._succession("log")
            self._tell(succession.take(self.table, self.work.log_lines, rows, self.plan.limit, self.counts), succession.after)

    def _falsely_compressed(self, rows: NDArray[np.int64]) -> None:
        """Of rows whose bodies are said to be compressed: which ones do not begin so."""
        if len(rows):
            begins = self.chunk.spans(column(self.table[:, rows], "bodyOffset"), 1)
            self.columns["falselyCompressed"][rows] = ~np.isin(begins, COMPRESSIONS)

    def _outcomes(self) -> None:
        """What ends half messages, beside these: of rows that wait for it, since each by itself would cost more."""
        if not self.transactions:
            return
        rows = dict(zip(NUMBER, np.concatenate(self.transactions, axis=1), strict=True))
        self.transactions.clear()
        self.halves.take(rows)
        outcomes = self.halves.outcomes(rows)
        if len(outcomes["half"]):
            self._decide("outcome", outcomes, None)
            self.noted.commits(outcomes)

    def _operations(self, chosen: NDArray[np.int64]) -> None:
        """The half messages that some rows name, which have ended."""
        if not len(chosen):
            return
        rows = self.columns
        start, length = column(self.table[:, chosen], "bodyOffset").tolist(), rows["bodyLength"][chosen].tolist()
        bodies = [self.chunk.bytes_at(*span) if span[1] > 0 else b"" for span in zip(start, length, strict=True)]
        said = [numbers_of(body) for body in bodies]
        whose = np.repeat(chosen, [len(each or [-1]) for each in said])
        half = np.array([number for each in said for number in each or [-1]], np.int64)
        zeros = np.zeros(len(half), np.int64)
        entries = self.work.operations.find(zeros + self.names.number(HALF_TOPIC), zeros, half)
        first = self.store.first_half
        operations = {
            **{name: rows[name][whose] for name in (*PLACE, "topic")},
            "readable": (half >= 0).astype(np.int64),
            "half": half,
            "halfKnown": ((half >= first) & (first >= 0)).astype(np.int64),
            "halfThere": (entries.found == ENTRY).astype(np.int64),
            "place": entries.physicalOffset,
        }
        self._decide("operation", operations, None)
        self.noted.operations(operations)

    def _entries(self, chunk: Chunk) -> None:
        """The headers of DLedger's entries, and the index beside them."""
        numbers, said = entries(chunk)
        if not len(numbers):
            return
        index = self.index.find(said["index"])
        known = (index["there"] == 2) | ((index["there"] == 1) & self.store.has_stopped)
        rows = {
            **{name: chunk[name][numbers] for name in ("topic", "queueId", "queueOffset")},
            **said,
            "physicalOffset": said["place"],
            "indexKnown": known.astype(np.int64),
            "indexThere": (index["there"] == 2).astype(np.int64),
            **{f"index{name.capitalize()}": index[name] for name in ("position", "size", "term")},
            "indexNumber": index["index"],
        }
        self._decide("ledger", rows, None)
        succession = self._succession("ledgers")
        table = np.stack([rows[name] for name in succession.columns])
        told = succession.take(table, np.arange(len(table)), len(numbers), self.plan.limit, self.counts)
        self._tell(told, succession.after)

    def _succession(self, over: str) -> Succession:
        """Each record or entry and the one before it in the log."""
        if over not in self.successions:
            self.successions[over] = Succession(self.made[over], _kept(self.made, over))
        return self.successions[over]

    def _look_back(self, rows: NDArray[np.int64]) -> None:
        """Add what the first records of chains say; in a store elsewhere each of them would be a request."""
        for row in [] if is_remote(self.store.folder) else rows.tolist():
            found = origin(self.log, int(self.columns["physicalOffset"][row]))
            for name, value in zip(ORIGIN, found or (), strict=False):
                self.columns[name][row] = value

    def _decide(self, over: str, before: Mapping[str, Column], after: Mapping[str, Column] | None) -> None:
        self._tell(self.made[over].decide(before, after, self.plan.limit, self.counts), before if after is None else after)

    def _tell(self, told: tuple[dict[str, int], list[ViolatingRow]], rows: Mapping[str, Column]) -> None:
        """Keep what was decided about rows."""
        counts, breaches = told
        for id_, count in counts.items():
            self.counts[id_] = self.counts.get(id_, 0) + count
        self.found += [self._finding(breach, rows) for breach in breaches]

    def _finding(self, breach: ViolatingRow, rows: Mapping[str, Column]) -> AuditFinding:
        def number(name: str) -> int:
            return int(rows[name][breach.row]) if name in rows else -1

        topic, offset = number("topic"), number("physicalOffset")
        return AuditFinding(
            store=self.task.store,
            file=self.task.file.path,
            offset=offset,
            property=breach.rule.id,
            topic=self.work.texts[topic] if topic >= 0 else "",
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
            self.found,
            queues,
            edges,
            {over: texts[topic] if topic >= 0 else "" for over, topic in firsts.items()},
            self.blanks,
            self.noted.data(),
            problems=list(dict.fromkeys((*self.store.problems, *self.log.problems))),
        )


assert set(FACTS) <= set(COLUMNS), "the vocabulary names facts that no walk finds"
