"""Generate stores of any size quickly: a commit log, its consume queues and the table of topics, in a broker's formats.

They are used by measurements and by tests that damage them. The content is determined by the plan and its seed. Records have several forms:
plain records with and without tags and keys, delayed records, half messages and their commits.
"""

# Numba's functions have no types that a checker knows.
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator"
# pyright: basic, reportCallIssue=false
from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from struct import Struct
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from rocketproof_impl.java import string_hash
from rocketproof_impl.message import properties_text
from rocketproof_impl.store.record import BLANK_MAGIC, BLANK_SIZE, FIXED_SIZE, MESSAGE_MAGIC
from rocketproof_model.routines.compiled import compiled
from rocketproof_protocol.topics import HALF_TOPIC, SCHEDULE
from rocketproof_traces.stored.crc import crc32
from rocketproof_traces.stored.memory import MARGIN, put, put_byte, word

_POOL = 4 << 20  # random bytes from which bodies are taken
_KEY = "0A000001000018B4AAC2"  # prefix of a unique key; 12 digits of a counter follow
_LEVELS = (1000, 5000, 10000, 30000, 60000)
_WRITTEN = 8 << 20  # approximate bytes per write
_BATCH = 1 << 15  # records chosen per batch
_WAITING = 1 << 20  # queue entries per write
_PAIR = Struct(">iI")
_ENTRY = np.dtype([("offset", ">i8"), ("size", ">i4"), ("code", ">i8")])


@dataclass(frozen=True)
class StorePlan:
    """The store to generate. `log_size`: minimum bytes of records and blanks. Shares are per 1000 records.

    `store_time`: the store time of the first record in milliseconds. `per_millisecond` records have the same store time.
    """

    log_size: int
    seed: int = 0
    topics: int = 20
    queues: int = 8
    bodies: tuple[int, int] = (1024, 1024)
    tags: int = 500
    keys: int = 200
    unique: bool = True
    delayed: int = 10
    transactions: int = 10
    file_size: int = 1 << 30
    queue_file_size: int = 6_000_000
    store_time: int = 1_700_000_000_000
    per_millisecond: int = 20


@dataclass(frozen=True)
class RecordForm:
    """A form of records: everything that is equal in all its records. A queue of -1 stands for any queue of the topic.

    `delay` is in milliseconds, 0 for none. `code` is the tags code of records without delay.
    """

    topic: str
    queues: int
    queue: int
    sys_flag: int
    properties: dict[str, str]
    delay: int = 0

    @property
    def text(self) -> bytes:
        return properties_text(self.properties, trailing=False).encode()

    @property
    def transactional(self) -> bool:
        """Whether it is a half message or its commit."""
        return "TRAN_MSG" in self.properties

    @property
    def code(self) -> int:
        return string_hash(self.properties.get("TAGS", ""))


@dataclass(frozen=True)
class Fabricated:
    """The result: number of records, end of the log, and number of entries by queue."""

    records: int
    log_end: int
    queues: dict[tuple[str, int], int]


def topic_name(number: int) -> str:
    return f"topic-{number:03d}-{'abcdefghij'[number % 10] * (number % 7)}"


def forms(plan: StorePlan) -> tuple[list[RecordForm], list[int]]:
    """Return the forms of a plan, and the average number of records of each form per 1000 * topics records."""
    weighted: list[tuple[RecordForm, int]] = []
    plain = 1000 - plan.delayed - plan.transactions
    for number in range(plan.topics):
        topic = topic_name(number)
        base = {"CLUSTER": "DefaultCluster"}
        if plan.unique:
            base |= {"UNIQ_KEY": _KEY + "0" * 12}
        for has_tags in (False, True):
            for has_keys in (False, True):
                share = plain * (plan.tags if has_tags else 1000 - plan.tags) // 1000 * (plan.keys if has_keys else 1000 - plan.keys)
                more = ({"TAGS": f"tag{number % 5}"} if has_tags else {}) | ({"KEYS": f"order-{number}"} if has_keys else {})
                weighted.append((RecordForm(topic, plan.queues, -1, 0, base | more), share // 1000))
        level = number % len(_LEVELS) + 1
        real = {"REAL_TOPIC": topic, "REAL_QID": str(number % plan.queues)}
        delayed = base | {"DELAY": str(level)} | real
        weighted.append((RecordForm(SCHEDULE, 18, level - 1, 0, delayed, _LEVELS[level - 1]), plan.delayed))
        weighted.append((RecordForm(HALF_TOPIC, 1, 0, 0, base | {"TRAN_MSG": "true", "PGROUP": "group"} | real), plan.transactions // 2))
        committed = base | {"TRAN_MSG": "true", "PGROUP": "group"} | real
        weighted.append((RecordForm(topic, plan.queues, number % plan.queues, 8, committed), plan.transactions - plan.transactions // 2))
    kept = [(form, share) for form, share in weighted if share]
    return [form for form, _ in kept], [share for _, share in kept]


@dataclass
class _Tables:
    """The forms as arrays for the kernel."""

    names: list[tuple[str, int]]
    text: NDArray[np.uint8]
    numbers: NDArray[np.int64]  # one row per form: the words that _write reads

    @staticmethod
    def of(record_forms: list[RecordForm]) -> _Tables:
        slots: dict[tuple[str, int], int] = {}
        topics: dict[str, int] = {}
        text = bytearray(MARGIN)
        lines = []
        for form in record_forms:
            first = slots.setdefault((form.topic, 0), sum(1 for _ in slots))
            for queue in range(1, form.queues):
                slots.setdefault((form.topic, queue), len(slots))
            name, properties = form.topic.encode(), form.text
            unique = properties.find(_KEY.encode())
            lines.append([
                len(text), len(name), len(text) + len(name), len(properties), unique + len(_KEY) if unique >= 0 else -1,
                form.sys_flag, form.code, form.delay, first, form.queues, form.queue, form.topic == HALF_TOPIC,
                topics.setdefault(form.properties["REAL_TOPIC"], len(topics)) if form.transactional else -1,
            ])  # fmt: skip
            text += name + properties
        text += bytes(MARGIN)
        return _Tables(list(slots), np.frombuffer(bytes(text), np.uint8).copy(), np.array(lines, np.int64))


@njit(nogil=True, inline="always")
def _big(base, at, value, count):
    for each in range(count):
        put_byte(base, at + each, value >> 8 * (count - 1 - each))


@njit(nogil=True)
def _copy(source, start, base, at, length):
    """Copy eight bytes at a time. Up to seven extra bytes are written, which the next write overwrites."""
    for each in range(0, length, 8):
        put(base, at + each, word(source, start + each))


@compiled
def _write(
    base, at, room, origin, forms, text, pool, choice, body_start, body_size, queue, first, records, clock, rate, next_index, half, entries
):
    """Write records from `first` on until there is no room. Return the next record and the next place.

    `half` has one row per topic: offset and birth time of the last half message, -1 before the first. Without a half message, its commit is
    written as a plain record. `entries` gets one row per record: number of the queue, physical offset, size, tags code.
    """
    number = first
    while number < choice.size:
        form = forms[choice[number]]
        size = FIXED_SIZE + body_size[number] + form[1] + form[3]
        if at + size + BLANK_SIZE > room:
            break
        slot = form[8] + (queue[number] % form[9] if form[10] < 0 else form[10])
        time = clock + (records + number) // rate
        offset = origin + at
        _big(base, at, size, 4)
        _big(base, at + 4, MESSAGE_MAGIC, 4)
        _big(base, at + 8, crc32(pool, body_start[number], body_size[number]) & 0x7FFFFFFF, 4)
        _big(base, at + 12, slot - form[8], 4)
        _big(base, at + 16, 0, 4)
        _big(base, at + 20, next_index[slot], 8)
        _big(base, at + 28, offset, 8)
        prepared, born = (half[form[12], 0], half[form[12], 1]) if form[5] == 8 else (0, time - 1)
        _big(base, at + 36, form[5] if prepared >= 0 else 0, 4)
        _big(base, at + 40, born if prepared >= 0 else time - 1, 8)
        _big(base, at + 48, 0x0A00000200009C40, 8)
        _big(base, at + 56, time, 8)
        _big(base, at + 64, 0x0A00000100002A9F, 8)
        _big(base, at + 72, 0, 4)
        _big(base, at + 76, prepared if prepared >= 0 else 0, 8)
        _big(base, at + 84, body_size[number], 4)
        _copy(pool, body_start[number], base, at + 88, body_size[number])
        there = at + 88 + body_size[number]
        put_byte(base, there, form[1])
        _copy(text, form[0], base, there + 1, form[1])
        there += 1 + form[1]
        _big(base, there, form[3], 2)
        _copy(text, form[2], base, there + 2, form[3])
        if form[4] >= 0:
            for digit in range(12):
                value = (records + number) >> 4 * (11 - digit) & 15
                put_byte(base, there + 2 + form[4] + digit, value + (48 if value < 10 else 55))
        entries[number, 0] = slot
        entries[number, 1] = offset
        entries[number, 2] = size
        entries[number, 3] = time + form[7] if form[7] else form[6]
        next_index[slot] += 1
        if form[11]:
            half[form[12], 0], half[form[12], 1] = offset, time - 1
        at += size
        number += 1
    return number, at


def fabricate(folder: str | Path, plan: StorePlan) -> Fabricated:
    """Write a store into a new folder. Raises OSError."""
    root = Path(folder)
    maker = _Maker(root, plan)
    maker.run()
    _configuration(root, plan)
    return Fabricated(
        maker.records, maker.end, {name: int(count) for name, count in zip(maker.tables.names, maker.next_index, strict=True) if count}
    )


@dataclass
class _Maker:
    """The state of the generation."""

    root: Path
    plan: StorePlan
    records: int = 0
    end: int = 0
    tables: _Tables = field(init=False)
    next_index: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        record_forms, shares = forms(self.plan)
        self.tables = _Tables.of(record_forms)
        self.half = np.full((int(self.tables.numbers[:, 12].max()) + 2, 2), -1, np.int64)
        self._weights = np.cumsum(shares) / sum(shares)
        self._random = np.random.default_rng(self.plan.seed)
        self._pool = self._random.integers(0, 256, _POOL + self.plan.bodies[1] + 2 * MARGIN, np.uint8)
        self.next_index = np.zeros(len(self.tables.names), np.int64)
        self._queues = _Queues(self.root / "consumequeue", self.tables.names, self.plan.queue_file_size)

    def run(self) -> None:
        folder = self.root / "commitlog"
        folder.mkdir(parents=True, exist_ok=True)
        batches = self._batches()
        batch, done = next(batches), 0
        base = 0
        while self.end < self.plan.log_size:
            with (folder / f"{base:020d}").open("wb") as file:
                full = False
                while not full and self.end < self.plan.log_size:
                    if done == len(batch[0]):
                        batch, done = next(batches), 0
                    data, done, full = self._fill(batch, done, base, self.end - base)
                    file.write(data)
                    self.end += len(data)
                if full:
                    file.write(_PAIR.pack(base + self.plan.file_size - self.end, BLANK_MAGIC & 0xFFFFFFFF))
                    self.end = base + self.plan.file_size
                file.truncate(self.plan.file_size)
            base += self.plan.file_size
        self._queues.write()

    def _batches(self) -> Iterator[tuple[NDArray[np.int64], ...]]:
        low, high = self.plan.bodies
        while True:
            choice = np.searchsorted(self._weights, self._random.random(_BATCH), side="right").astype(np.int64)
            size = self._random.integers(low, high, _BATCH, np.int64, endpoint=True)
            start = self._random.integers(MARGIN, _POOL, _BATCH, np.int64)
            # A committed message has the body of its half message.
            ends = self.tables.numbers[choice, 12] >= 0
            size[ends], start[ends] = (low + high) // 2, MARGIN
            yield choice, start, size, self._random.integers(0, 1 << 30, _BATCH, np.int64)

    def _fill(self, batch: tuple[NDArray[np.int64], ...], done: int, base: int, at: int) -> tuple[memoryview, int, bool]:
        """Return the bytes of the batch's records from `done` on, the next record, and whether the file has no room for it."""
        choice, start, size, queue = batch
        lines = self.tables.numbers
        lengths = np.cumsum(FIXED_SIZE + size[done:] + lines[choice[done:], 1] + lines[choice[done:], 3])
        wanted = min(_WRITTEN, self.plan.log_size - self.end)
        stop = min(done + int(np.searchsorted(lengths, wanted)) + 1, len(choice))
        data = np.empty(int(lengths[stop - done - 1]) + MARGIN, np.uint8)
        entries = np.empty((stop, 4), np.int64)
        number, end = _write(
            data.ctypes.data - at, at, self.plan.file_size, base, lines, self.tables.text.ctypes.data, self._pool.ctypes.data,
            choice[:stop], start[:stop], size[:stop], queue[:stop], done, self.records - done, self.plan.store_time,
            self.plan.per_millisecond, self.next_index, self.half, entries,
        )  # fmt: skip
        self.records += number - done
        self._queues.add(entries[done:number])
        return data[: end - at].data, number, number < stop


@dataclass
class _Queues:
    """The files of the consume queues."""

    folder: Path
    names: list[tuple[str, int]]
    file_size: int
    counts: dict[int, int] = field(default_factory=dict)
    waiting: list[NDArray[np.int64]] = field(default_factory=list)

    def add(self, entries: NDArray[np.int64]) -> None:
        """Add entries of several queues: number of the queue, physical offset, size, tags code."""
        self.waiting.append(entries)
        if sum(map(len, self.waiting)) >= _WAITING:
            self.write()

    def write(self) -> None:
        """Write the added entries to the files."""
        entries = np.concatenate(self.waiting) if self.waiting else np.empty((0, 4), np.int64)
        self.waiting.clear()
        entries = entries[np.argsort(entries[:, 0], kind="stable")]
        borders = np.flatnonzero(np.diff(entries[:, 0])) + 1
        for part in np.split(entries, borders):
            if len(part):
                packed = np.empty(len(part), _ENTRY)
                packed["offset"], packed["size"], packed["code"] = part[:, 1], part[:, 2], part[:, 3]
                self._append(int(part[0, 0]), packed.tobytes())

    def _append(self, slot: int, data: bytes) -> None:
        at = self.counts.get(slot, 0)
        self.counts[slot] = at + len(data)
        topic, queue = self.names[slot]
        folder = self.folder / topic / str(queue)
        folder.mkdir(parents=True, exist_ok=True)
        while data:
            start = at - at % self.file_size
            room = start + self.file_size - at
            path = folder / f"{start:020d}"
            with path.open("r+b" if path.exists() else "w+b") as file:
                file.truncate(self.file_size)
                file.seek(at - start)
                file.write(data[:room])
            at, data = at + min(room, len(data)), data[room:]


def _configuration(root: Path, plan: StorePlan) -> None:
    """Write the table of topics."""
    folder = root / "config"
    folder.mkdir(parents=True, exist_ok=True)
    table = {}
    for name, queues in [*((topic_name(number), plan.queues) for number in range(plan.topics)), (HALF_TOPIC, 1), (SCHEDULE, 18)]:
        table[name] = {
            "order": False, "perm": 6, "readQueueNums": queues, "topicFilterType": "SINGLE_TAG", "topicName": name, "topicSysFlag": 0,
            "writeQueueNums": queues,
        }  # fmt: skip
    data: dict[str, Any] = {"dataVersion": {"counter": len(table), "timestamp": plan.store_time}, "topicConfigTable": table}
    (folder / "topics.json").write_text(json.dumps(data, indent="\t"), encoding="utf-8")
