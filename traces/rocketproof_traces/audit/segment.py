"""One stretch of the log audited: walk, facts, rules, and what has to be compared with the stretches beside it.

A plain function from a task to a result, both of them data that goes through JSON: it runs in a thread, in a process, in a task of Spark.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rocketproof_protocol.flags import COMPRESSED
from rocketproof_protocol.properties import ORIGIN_MESSAGE_ID, RETRY_TOPIC
from rocketproof_protocol.topics import HALF_TOPIC, OP_HALF_TOPIC, SCHEDULE

from ..errors import TraceError
from ..stored.chunk import Chunk
from ..stored.errors import StoredError
from ..stored.facts import COLUMNS, Column, column
from ..stored.kinds import BIT, Kind
from ..stored.layout import ENTRY
from ..stored.ledger import LedgerIndex, entries
from ..stored.names import Names
from ..stored.paths import is_remote, open_source
from ..stored.queues import Lookup
from ..stored.segments import LogFile, Range, Walked
from ..stored.walk import Walk
from .findings import Finding
from .lines import Lines
from .noted import Noted
from .origins import origin
from .programs import Breach, Plan, Programs, programs
from .records import Records
from .store import Store, opened
from .transactions import Halves, numbers_of
from .vocabulary import FACTS, I64, Class

ROWS = 4096  # of a chunk: its columns stay in the processor's caches
WINDOW = 5 << 20  # bytes in memory: a chunk ends with them, and has as many records of 1 KiB as its table has room for
NOT_READ = "not read yet"
LEVELS = "delay_levels"  # a setting of the plan: what the broker waits on each level in milliseconds
COMPRESSIONS = (0x78, 0x04, 0x28)  # the first bytes of what zlib, LZ4 and Zstandard have made
SHOWN = 64  # bytes of a record that a finding shows
CHAINED = BIT[RETRY_TOPIC] | BIT[ORIGIN_MESSAGE_ID]
SENT_BACK = np.isin(np.arange(len(Class.names)), [Class.encode("retry"), Class.encode("dead")])
PLACE = ("physicalOffset", "queueId", "queueOffset", "size")


@dataclass(frozen=True)
class Task:
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
    def read(text: str) -> Task:
        data = json.loads(text)
        return Task(**{**data, "file": LogFile(**data["file"])})


@dataclass(frozen=True)
class Segment:
    """What a task found. `begin` and `end`: where its walk began and ended in the file, None if no record begins there; `data_end`: the
    physical offset from which on the file has zeros only, None if the walk did not come so far. `queues`: columns by name, one element a
    queue that has a record here; `first` and `final` in it: columns of the first and the last record that takes a queue offset. `edges`:
    by the kind of their rules, columns of the first and of the last record or entry of DLedger, `edge_topics`: the first one's topic.
    `blanks`: where one lies and the size that it has. `noted`: what `noted.Noted` gives. `error`: why there is
    nothing, NOT_READ for a task that an interrupted audit has not come to."""

    task: Task
    begin: int | None
    end: int | None
    data_end: int | None
    records: int
    bytes: int
    counts: dict[str, int]
    findings: list[Finding]
    queues: dict[str, Any]
    edges: dict[str, dict[str, list[int]]]
    edge_topics: dict[str, str]
    blanks: list[tuple[int, int]]
    noted: dict[str, Any]
    error: str = ""

    @property
    def walked(self) -> Walked:
        return Walked(self.task.range, self.begin, self.end, self.records, self.bytes)

    def text(self) -> str:
        data = {**self.__dict__, "task": asdict(self.task), "findings": [found.data() for found in self.findings]}
        return json.dumps(data, ensure_ascii=False)

    @staticmethod
    def read(text: str) -> Segment:
        data = json.loads(text)
        task = {**data["task"], "file": LogFile(**data["task"]["file"])}
        findings = [Finding.of(found) for found in data["findings"]]
        return Segment(**{**data, "task": Task(**task), "findings": findings, "blanks": [tuple(each) for each in data["blanks"]]})


def answer(plan: Plan, text: str) -> str:
    """The result of a task, both as text."""
    task = Task.read(text)
    try:
        return audit_segment(plan, task).text()
    except (TraceError, OSError) as error:
        said = str(error) if isinstance(error, TraceError) else f"{error.filename or task.file.path}: {error.strerror or error}"
        return nothing(task, said).text()


def nothing(task: Task, error: str) -> Segment:
    """The result of a task that could not be done."""
    return Segment(task, None, None, None, 0, 0, {}, [], {}, {}, {}, [], {}, error)


def audit_segment(plan: Plan, task: Task) -> Segment:
    """Every rule over records, decided for one range. Raises StoredError and OSError for a file that cannot be read."""
    made = programs(plan)
    store = opened(task.store, task.moment)
    names = Names((SCHEDULE, HALF_TOPIC, OP_HALF_TOPIC))
    with open_source(task.file.path) as source, Records(store.log) as log, LedgerIndex(task.file.index) as index:
        auditor = _Auditor(plan, made, store, task, names, log, index)
        if source.length < task.file.length:
            problem = f"has become shorter, {source.length} bytes from {task.file.length}, since the audit began"
            raise StoredError(task.file.path, problem, "audit a copy, or a store that nobody changes")
        walk = Walk(task.range, names, crc=True, properties=True, rows=ROWS, window=WINDOW, source=source)
        for chunk in walk:
            auditor.take(chunk)
    walked = walk.walked
    return auditor.result(walked, walk.data_end)


@dataclass
class _Auditor:
    plan: Plan
    made: Programs
    store: Store
    task: Task
    names: Names
    log: Records
    index: LedgerIndex
    counts: dict[str, int] = field(default_factory=dict)
    found: list[Finding] = field(default_factory=list)
    blanks: list[tuple[int, int]] = field(default_factory=list)
    edges: dict[str, dict[str, list[int]]] = field(default_factory=dict)
    records: int = 0
    chunk: Chunk = field(init=False)

    def __post_init__(self) -> None:
        self.lookup = Lookup(self.store.queues, self.names)
        self.operations = Lookup(self.store.queues, self.names)
        self.halves = Halves(self.log, self.names)
        self.noted = Noted(self.store.checkpoint_times)
        self.waits = np.array((0, *(dict(self.plan.settings).get(LEVELS) or self.store.delays)), np.int64)
        self.lines = Lines(tuple(dict.fromkeys((*PLACE, *self.made["line"].reads))))
        self.texts: list[str] = []
        self.classes = np.zeros(0, np.int64)
        self.limits = np.zeros(0, np.int64)
        self.known = np.zeros(0, np.int64)
        self.queues = np.zeros(0, np.int64)

    def take(self, chunk: Chunk) -> None:
        """One chunk of the walk."""
        self.chunk = chunk
        table, kinds = chunk.table, chunk["kind"]
        if not chunk.is_message.all():
            self._others(table, kinds)
            table = table[:, chunk.is_message]
        if table.shape[1]:
            self._records(table)
        if self.task.file.header:
            self._entries(chunk)

    def _others(self, table: NDArray[np.int64], kinds: Column) -> None:
        blanks = np.flatnonzero(kinds == Kind.BLANK)
        self.blanks += zip(column(table, "physicalOffset")[blanks].tolist(), column(table, "size")[blanks].tolist(), strict=True)
        broken = table[:, kinds == Kind.CORRUPT]
        if broken.shape[1]:
            rows = {name: column(broken, name) for name in ("physicalOffset", "reason")} | {"length": column(broken, "size")}
            self._decide("damage", rows | {"offset": rows["physicalOffset"]}, None)

    def _records(self, table: NDArray[np.int64]) -> None:
        self.records += table.shape[1]
        rows: dict[str, Column] = {name: table[number] for number, name in enumerate(COLUMNS)}
        self._join(rows)
        rows["falselyCompressed"] = self._falsely_compressed(table)
        self._decide("record", rows, None)
        self._ends(table, rows)
        self.noted.take(rows)
        member = self.made.member("record").of(rows)
        matched = member & rows["entryThere"].astype(np.bool_) & (rows["entryOffset"] == rows["physicalOffset"])
        follows, earlier = self.lines.follow(rows, member, matched)
        self._decide("line", earlier, {name: rows[name][follows] for name in (*self.lines.columns, "topic")})
        if not self.task.file.header:
            # DLedger's broker takes a message's store timestamp before it takes the lock, so that times may go back.
            self._follow("log", rows)

    def _falsely_compressed(self, table: NDArray[np.int64]) -> Column:
        """Whose bodies are said to be compressed, and do not begin so."""
        found = np.zeros(table.shape[1], np.int64)
        asked = np.flatnonzero((column(table, "sysFlag") & COMPRESSED != 0) & (column(table, "bodyLength") > 0))
        if len(asked):
            found[asked] = ~np.isin(self.chunk.spans(column(table, "bodyOffset")[asked], 1), COMPRESSIONS)
        return found

    def _ends(self, table: NDArray[np.int64], rows: dict[str, Column]) -> None:
        """What ends half messages, beside these."""
        self.halves.take(rows)
        _, outcomes = self.halves.outcomes(rows)
        if len(outcomes["half"]):
            self._decide("outcome", outcomes, None)
            self.noted.commits(outcomes)
        chosen = np.flatnonzero(rows["topicClass"] == Class.encode("operations"))
        if not len(chosen):
            return
        start, length = column(table, "bodyOffset")[chosen].tolist(), rows["bodyLength"][chosen].tolist()
        bodies = [self.chunk.bytes_at(*span) if span[1] > 0 else b"" for span in zip(start, length, strict=True)]
        said = [numbers_of(body) for body in bodies]
        whose = np.repeat(chosen, [len(each or [-1]) for each in said])
        half = np.array([number for each in said for number in each or [-1]], np.int64)
        zeros = np.zeros(len(half), np.int64)
        entries = self.operations.find(zeros + self.names.number(HALF_TOPIC), zeros, half)
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
        self._follow("ledgers", rows)

    def _follow(self, over: str, rows: dict[str, Column]) -> None:
        """Each record or entry and the one before it in the log, the last one of the chunk before included."""
        edges = self.edges.get(over)
        if edges is None:
            columns = dict.fromkeys((*PLACE, "topic", *self.made[over].reads))
            edges = self.edges[over] = {name: [int(rows[name][0]), int(rows[name][0])] for name in columns}
            before, after = {name: rows[name][:-1] for name in edges}, {name: rows[name][1:] for name in edges}
        else:
            before = {name: np.concatenate(([last], rows[name][:-1])) for name, (_, last) in edges.items()}
            after = {name: rows[name] for name in edges}
        for name, edge in edges.items():
            edge[1] = int(rows[name][-1])
        self._decide(over, before, after)

    def _join(self, rows: dict[str, Column]) -> None:
        """Add what the store says about the records' topics, levels and entries."""
        if len(self.names) > len(self.texts):
            texts = self.names.texts()
            new = texts[len(self.texts) :]
            none = [Class.encode("none")]
            self.classes = np.array([*self.classes[:-1].tolist(), *map(self.store.class_of, new), *none], np.int64)
            self.limits = np.array([*self.limits[:-1].tolist(), *map(self.store.limit_of, new), 0], np.int64)
            self.known = np.array([*self.known[:-1].tolist(), *map(self.store.has_queues_of, (*new, ""))], np.int64)
            self.queues = np.array([*self.queues[:-1].tolist(), *map(self.store.queues_of, new), 0], np.int64)
            self.texts = texts
        # A topic that is not there has the number -1, and its class is the last one.
        for name, topic in (("topicClass", "topic"), ("realClass", "realTopic"), ("retryClass", "retryTopic")):
            rows[name] = self.classes[rows[topic]]
        rows["realSame"] = (rows["realTopic"] == rows["topic"]).astype(np.int64)
        rows["realQueues"] = self.queues[rows["realTopic"]]
        rows["retryMaxTimes"] = self.limits[rows["topic"]]
        rows["levelDelay"] = self.waits[np.clip(rows["delayLevel"], 0, len(self.waits) - 1)]
        entries = self.lookup.find(rows["topic"], rows["queueId"], rows["queueOffset"])
        rows["entryKnown"] = self.known[rows["topic"]] & (rows["physicalOffset"] <= self.store.dispatched)
        rows["entryThere"] = (entries.found == 1).astype(np.int64)
        rows["entryOffset"], rows["entrySize"] = entries.physicalOffset, entries.size
        # An address in the queue's extension is beyond what a rule may compute with.
        rows["entryTags"] = np.clip(entries.tagsCode, I64.lo, I64.hi)
        self._look_back(rows)

    def _look_back(self, rows: dict[str, Column]) -> None:
        """Add what the first records of chains say; in a store elsewhere each of them would be a request."""
        known, same, times, here = np.zeros((4, len(rows["topic"])), np.int64)
        read = np.ones(len(rows["topic"]), np.int64)
        asked = SENT_BACK[rows["topicClass"]] & (rows["properties"] & CHAINED == CHAINED)
        for row in [] if is_remote(self.store.folder) else np.flatnonzero(asked):
            found = origin(self.log, int(rows["physicalOffset"][row]))
            if found is not None:
                read[row], here[row], known[row], same[row], times[row] = found
        rows["originRead"], rows["originHere"] = read, here
        rows["originKnown"], rows["originSame"], rows["originTimes"] = known, same, times

    def _decide(self, over: str, before: Mapping[str, Column], after: Mapping[str, Column] | None) -> None:
        counts, breaches = self.made[over].decide(before, after, self.plan.limit, self.counts)
        for id_, count in counts.items():
            self.counts[id_] = self.counts.get(id_, 0) + count
        self.found += [self._finding(breach, before if after is None else after) for breach in breaches]

    def _finding(self, breach: Breach, rows: Mapping[str, Column]) -> Finding:
        def number(name: str) -> int:
            return int(rows[name][breach.row]) if name in rows else -1

        topic, offset = number("topic"), number("physicalOffset")
        return Finding(
            store=self.task.store,
            file=self.task.file.path,
            offset=offset,
            property=breach.rule.id,
            topic=self.texts[topic] if topic >= 0 else "",
            queue_id=number("queueId"),
            queue_offset=number("queueOffset"),
            expected=breach.expected,
            found=breach.found,
            hex=self.chunk.bytes_at(offset, SHOWN).hex(),
            severity=breach.rule.severity,
            reason=breach.rule.claim.sentence,
        )

    def result(self, walked: Walked, data_end: int | None) -> Segment:
        lines, n = self.lines, self.lines.count
        texts = self.names.texts()
        queues = {
            "topic": [texts[k] for k in lines.topic[:n]],
            "queueId": lines.queue_id[:n].tolist(),
            "begun": lines.begun.tolist(),
            "records": lines.records.tolist(),
            "members": lines.members.tolist(),
            "matched": lines.matched.tolist(),
            "first": {name: values[:n].tolist() for name, values in lines.first.items()},
            "final": {name: values[:n].tolist() for name, values in lines.final.items()},
        }
        firsts = {over: edges["topic"][0] for over, edges in self.edges.items()}
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
            self.edges,
            {over: texts[topic] if topic >= 0 else "" for over, topic in firsts.items()},
            self.blanks,
            self.noted.data(),
        )


assert set(FACTS) <= set(COLUMNS), "the vocabulary names facts that no walk finds"
