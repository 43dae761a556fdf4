"""Consume queues: for each queue of a topic, where its messages are in the log (REC-04).

A queue's files are longer than its data: behind the last entry come zeros, before the first one there may be filler. Where data begins and
ends is found by bisection. Zeros with entries less than BEYOND behind them are damage, and no end.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import index
from struct import Struct
from threading import Lock
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from rocketproof_protocol.folders import topic_of

from .facts import LIMIT, Column
from .layout import ENTRY, ENTRY_SIZE, FILLER, FILLER_SIZE, NO_ENTRY
from .paths import KeptOpen, is_file_name, is_remote, join, names_of, offset_of, open_source, queue_of, read

if TYPE_CHECKING:
    from .names import NameTable

_ENTRY = np.dtype([("physicalOffset", ">i8"), ("size", ">i4"), ("tagsCode", ">i8")])
_STRUCT = Struct(">qiq")
_MEMORY = 64 << 20  # bytes for the windows of all queues
_LOCAL, _REMOTE, _LEAST = 1 << 13, 1 << 16, 64  # entries of a window
BEYOND: Final = 1 << 12  # entries
_QUEUE_ID = re.compile(r"-?[0-9]+")  # 4.7.1 draws ids below 0 and has queues for them


@dataclass(frozen=True)
class Entries:
    """Columns of entries. Only where `found` is ENTRY the others mean something. Numbers of eight bytes are cut to ±2^62."""

    found: Column
    physicalOffset: Column  # noqa: N815
    size: Column
    tagsCode: Column  # noqa: N815


@dataclass(frozen=True)
class QueueFile:
    """A file of a queue: the place of its first byte in the queue, and its bytes."""

    path: str
    base: int
    length: int


@dataclass(frozen=True)
class Queue:
    """A queue of a topic. Indices are queue offsets. Every method raises StoredError."""

    topic: str
    queue_id: int
    folder: str

    @cached_property
    def files(self) -> tuple[QueueFile, ...]:
        """In order."""
        found = []
        for name in names_of(self.folder):
            if is_file_name(name):
                with open_source(join(self.folder, name)) as source:
                    found.append(QueueFile(source.path, offset_of(self.folder, name), source.length))
        return tuple(found)

    @property
    def min(self) -> int:
        """The index of the first entry."""
        return self._ends[0]

    @property
    def max(self) -> int:
        """One more than the index of the last entry."""
        return self._ends[1]

    @cached_property
    def _ends(self) -> tuple[int, int]:
        with _Probe() as probe:
            first = self._first(probe)
            ends = ((_indices(file)[0], self._end(probe, file)) for file in reversed(self.files))
            return first, next((end for begin, end in ends if end > begin), first)

    def _first(self, probe: _Probe) -> int:
        if not self.files:
            return 0
        file = self.files[0]
        first, past = _indices(file)
        if first == past or probe.entry(file, first)[1] != FILLER_SIZE:
            return first
        return _bisect(first, past, lambda index: probe.entry(file, index)[1] != FILLER_SIZE)

    def _end(self, probe: _Probe, file: QueueFile) -> int:
        """One more than the last index of a file that has an entry; its first one if it has none."""
        end, past = _indices(file)
        while (last := _last(probe, file, end, min(past, end + BEYOND))) is not None:
            blocks = range(last + 1, past, BEYOND) if last + 1 == end + BEYOND else range(0)
            count = bisect_left(blocks, True, key=lambda index: probe.entry(file, index)[1] == 0)
            end = blocks[count - 1] if count else last + 1
        return end

    def read_into(self, first: int, room: NDArray[np.uint8]) -> int:
        """Fill a room with entries from an index on, as they are in the files; how many there are, fewer where a file ends that has no next
        one. None if `first` is in no file."""
        done, most = 0, len(room) // ENTRY_SIZE
        for file in self.files:
            start, past = _indices(file)
            if start <= first + done < past and done < most:
                count = min(most - done, past - first - done)
                with open_source(file.path) as source:
                    source.read_into((first + done) * ENTRY_SIZE - file.base, room[done * ENTRY_SIZE : (done + count) * ENTRY_SIZE].data)
                done += count
        return done

    def raw(self, first: int, count: int) -> NDArray[np.void]:
        """The same as an array of entries, their numbers in the order of the file's bytes."""
        room = np.empty(max(count, 0) * ENTRY_SIZE, np.uint8)
        return room[: self.read_into(first, room) * ENTRY_SIZE].view(_ENTRY)

    def entries(self, first: int, count: int) -> Entries:
        """The entries from an index on."""
        raw = self.raw(first, count)
        size = raw["size"].astype(np.int64)
        found = np.where(size == 0, NO_ENTRY, np.where(size == FILLER_SIZE, FILLER, ENTRY))
        return Entries(found, _cut(raw["physicalOffset"]), size, _cut(raw["tagsCode"]))

    def between(self, low: int, high: int) -> tuple[int, int]:
        """The first index whose record lies at `low` or behind it, and the first one at `high` or behind it."""

        with _Probe() as probe:

            def place(index: int) -> int:
                """Where the record of an entry lies; of one that is zero, that of the next one."""
                while True:
                    offset, size, _ = probe.entry(self._file_of(index), index)
                    if size != 0 or index + 1 >= self.max:
                        return offset
                    index += 1

            def first_behind(offset: int) -> int:
                """Most often all entries are, or none is."""
                if self.min == self.max or place(self.max - 1) < offset:
                    return self.max
                return self.min if place(self.min) >= offset else _bisect(self.min, self.max, lambda index: place(index) >= offset)

            return first_behind(low), first_behind(high)

    def _file_of(self, index: int) -> QueueFile:
        """The file of an index, or the next one."""
        return next(file for file in self.files if index < _indices(file)[1])


class _Probe(KeptOpen):
    """Single entries, from files that stay open."""

    def entry(self, file: QueueFile, index: int) -> tuple[int, int, int]:
        """Physical offset, size and tags code; of an index before the file, its first entry."""
        offset, size, code = _STRUCT.unpack(read(self.source(file.path), max(0, index * ENTRY_SIZE - file.base), ENTRY_SIZE))
        return offset, size, code


def _last(probe: _Probe, file: QueueFile, first: int, past: int) -> int | None:
    """The last index of some that has an entry."""
    from .entries import last_entry

    room = np.empty((past - first) * ENTRY_SIZE, np.uint8)
    probe.source(file.path).read_into(first * ENTRY_SIZE - file.base, room.data)
    last = last_entry(room.ctypes.data, past - first)
    return first + index(last) if last >= 0 else None


def _indices(file: QueueFile) -> tuple[int, int]:
    first = file.base // ENTRY_SIZE
    return first, first + file.length // ENTRY_SIZE


def _bisect(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """The first index in [low, high) for which something holds that also holds for all later ones; `high` for none."""
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low


def _cut(numbers: NDArray[np.int64]) -> Column:
    return np.clip(numbers.astype(np.int64), -LIMIT, LIMIT)


class Queues:
    """The consume queues of a store, by topic and queue id."""

    def __init__(self, folders: Sequence[str]) -> None:
        self._folders = [join(folder, "consumequeue") for folder in folders]

    @cached_property
    def _found(self) -> dict[tuple[str, int], Queue]:
        found = {}
        for folder in self._folders:
            for inside in names_of(folder):
                topic = topic_of(inside)
                for name in names_of(join(folder, inside)):
                    if _QUEUE_ID.fullmatch(name):
                        queue_id = queue_of(join(folder, inside), name)
                        found[topic, queue_id] = Queue(topic, queue_id, join(folder, inside, name))
        return found

    def all(self) -> list[Queue]:
        """In the order of topics and queue ids. Raises StoredError."""
        return [self._found[key] for key in sorted(self._found)]

    def find(self, topic: str, queue_id: int) -> Queue | None:
        """Raises StoredError."""
        return self._found.get((topic, queue_id))

    @cached_property
    def windows(self) -> Windows:
        """Raises StoredError."""
        return Windows(self.all())


class Windows:
    """Parts of queues in memory, as many as were used last; threads that read neighbouring parts of a log have the same ones."""

    def __init__(self, queues: Sequence[Queue]) -> None:
        most = _REMOTE if any(is_remote(queue.folder) for queue in queues[:1]) else _LOCAL
        self.size = max(_LEAST, min(most, _MEMORY // ENTRY_SIZE // max(1, len(queues))))
        self._kept: OrderedDict[tuple[Queue, int], NDArray[np.uint8]] = OrderedDict()
        self._one_at_a_time = Lock()

    def at(self, queue: Queue, index: int) -> tuple[int, int, NDArray[np.uint8]]:
        """The part that has an index of a queue: its first index, one past its last, the entries as they are in the files. Where a file is
        missing in the middle, what would be there reads as no entry. Raises StoredError."""
        number = (index - queue.min) // self.size
        first = queue.min + number * self.size
        past = min(first + self.size, queue.max)
        with self._one_at_a_time:
            data = self._kept.pop((queue, number), None)
        if data is None:  # two threads may read it both, which is better than that one waits
            data = np.zeros((past - first + 1) * ENTRY_SIZE, np.uint8)
            queue.read_into(first, data[:-ENTRY_SIZE])
        with self._one_at_a_time:
            self._kept[queue, number] = data
            if len(self._kept) * self.size * ENTRY_SIZE > _MEMORY:
                self._kept.popitem(last=False)
        return first, past, data


class EntryLookup:
    """The entries of records, many at once. Of each queue a window is in memory; records in the order of the log read each window once."""

    def __init__(self, queues: Queues, names: NameTable) -> None:
        self._queues = queues
        self._names = names
        self._windows: list[NDArray[np.uint8]] = []
        self._known: list[Queue | None] = []
        self._make_room(256)

    def _make_room(self, most: int) -> None:
        """For so many queues, a power of two; those that are known are looked for again."""
        self._known.clear()
        self._keys, self._slots = np.full(2 * most, -1, np.int64), np.zeros(2 * most, np.int64)
        self._lines = np.zeros((most, 6), np.int64)
        self._windows = [np.empty(0, np.uint8)] * most

    def find(self, topic: Column, queue_id: Column, queue_offset: Column, into: Sequence[Column] | None = None) -> Entries:
        """The entry of each record, in the columns `into` if they are given; `topic` are numbers of the names. Raises StoredError."""
        from .entries import find_entries

        columns = [np.ascontiguousarray(each) for each in (topic, queue_id, queue_offset)]
        out = Entries(*(np.empty((4, len(topic)), np.int64) if into is None else into))
        if len(self._known) + len(topic) > len(self._lines):
            self._make_room(1 << (len(topic) + len(self._known)).bit_length())
        asked, missing = np.arange(len(topic)), np.empty((2, len(topic)), np.int64)
        while len(asked):
            rows, absent, _ = find_entries(
                *columns, asked, self._keys, self._slots, self._lines, len(self._known), missing,
                out.found, out.physicalOffset, out.size, out.tagsCode,
            )  # fmt: skip
            for row, slot in missing[:, :absent].T.tolist():
                self._bring(slot, int(topic[row]), int(queue_id[row]), int(queue_offset[row]))
            asked = asked[:rows]
        return out

    def _bring(self, slot: int, topic: int, queue_id: int, index: int) -> None:
        """Look for a queue that is new, and take its window that has an index, if it has that."""
        if slot == len(self._known):
            queue = self._queues.find(self._names.raw(topic).decode("utf-8", "surrogateescape"), queue_id)
            self._known.append(queue)
            self._lines[slot] = (0, -1, 0, 0, 0, 0) if queue is None else (queue.min, queue.max, 0, 0, 0, 0)
        queue = self._known[slot]
        self._lines[slot, -1] = 0
        if queue is None or not queue.min <= index < queue.max:
            return
        first, past, data = self._queues.windows.at(queue, index)
        self._windows[slot] = data
        self._lines[slot, 2:] = (first, past, data.ctypes.data, 0)
