"""Read consume queues: for each queue of a topic, the physical offsets of its messages (REC-04).

A queue's files are longer than its data: zeros follow the last entry, and filler may precede the first. Bisection finds the start and
end of the data. Zeros that are followed by entries within BEYOND entries are damage, not the end.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from operator import index
from struct import Struct
from threading import Lock, local
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rocketproof_model import interrupts
from rocketproof_protocol.folders import topic_of

from .facts import LIMIT, Column
from .layout import ENTRY, ENTRY_SIZE, FILLER, FILLER_SIZE, NO_ENTRY
from .paths import Buffer, KeptOpen, is_file_name, is_remote, join, length_of, names_of, offset_of, queue_of, read

if TYPE_CHECKING:
    from .names import NameTable

_ENTRY = np.dtype([("physicalOffset", ">i8"), ("size", ">i4"), ("tagsCode", ">i8")])
_STRUCT = Struct(">qiq")
_MEMORY = 64 << 20  # bytes for the windows of all queues
_LOCAL, _REMOTE, _LEAST = 1 << 13, 1 << 16, 64  # entries of a window
BEYOND: Final = 1 << 12  # entries
_QUEUE_ID = re.compile(r"-?[0-9]+")  # 4.7.1 generates ids below 0 and has queues for them


@dataclass(frozen=True)
class Entries:
    """Columns of entries. The other columns are defined only where `found` is ENTRY. Numbers of eight bytes are clipped to ±2^62."""

    found: Column
    physicalOffset: Column  # noqa: N815
    size: Column
    tagsCode: Column  # noqa: N815


@dataclass(frozen=True)
class QueueFile:
    """A file of a queue: the offset of its first byte in the queue, and its length in bytes."""

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
        """The files in order."""
        files = []
        for name in names_of(self.folder):
            if is_file_name(name):
                path = join(self.folder, name)
                files.append(QueueFile(path, offset_of(self.folder, name), length_of(path)))
        return tuple(files)

    @property
    def min(self) -> int:
        """The index of the first entry."""
        return self._ends.first

    @property
    def max(self) -> int:
        """One more than the index of the last entry."""
        return self._ends.past

    @cached_property
    def _ends(self) -> _Ends:
        with _probing() as probe:
            ends = ((_indices(file)[0], self._end(probe, file)) for file in reversed(self.files))
            past = next((end for begin, end in ends if end > begin), None)
            first = self._first(probe)
            if past is None or first == past:
                return _Ends(first, first, 0, 0)
            return _Ends(first, past, self._place(probe, first, past), self._place(probe, past - 1, past))

    def _first(self, probe: _Probe) -> int:
        if not self.files:
            return 0
        file = self.files[0]
        first, past = _indices(file)
        if first == past or probe.entry(file, first)[1] != FILLER_SIZE:
            return first
        return _bisect(first, past, lambda index: probe.entry(file, index)[1] != FILLER_SIZE)

    def _end(self, probe: _Probe, file: QueueFile) -> int:
        """Return one more than the last index of a file that has an entry; its first index if it has none."""
        begin, past = _indices(file)
        end = begin
        while (last := probe.last(file, end, min(past, end + BEYOND))) is not None:
            is_long = last + 1 == end + BEYOND and end > begin  # the second block is in memory with the first
            blocks = range(last + 1, past, BEYOND) if is_long else range(0)
            count = bisect_left(blocks, True, key=lambda index: probe.entry(file, index)[1] == 0)
            end = blocks[count - 1] if count else last + 1
        return end

    def read_into(self, first: int, buffer: NDArray[np.uint8]) -> int:
        """Fill a buffer with the bytes of entries from index `first` on; return how many entries were read.

        There are fewer if the next file is missing, and none if no file contains `first`.
        """
        done, capacity = 0, len(buffer) // ENTRY_SIZE
        for file in self.files:
            start, past = _indices(file)
            if start <= first + done < past and done < capacity:
                count = min(capacity - done, past - first - done)
                part = buffer[done * ENTRY_SIZE : (done + count) * ENTRY_SIZE]
                with _probing() as probe:
                    probe.read_into(file, (first + done) * ENTRY_SIZE - file.base, part.data)
                done += count
        return done

    def raw(self, first: int, count: int) -> NDArray[np.void]:
        """Return entries as a structured array in the file's byte order."""
        buffer = np.empty(max(count, 0) * ENTRY_SIZE, np.uint8)
        return buffer[: self.read_into(first, buffer) * ENTRY_SIZE].view(_ENTRY)

    def sample(self, indices: Iterable[int]) -> Iterator[tuple[int, int, int]]:
        """Yield physical offset, size and tags code of single entries. Numbers of eight bytes are clipped to ±2^62."""
        with _probing() as probe:
            for index in indices:
                offset, size, code = probe.entry(self._file_of(index), index)
                yield max(-LIMIT, min(offset, LIMIT)), size, max(-LIMIT, min(code, LIMIT))

    def entries(self, first: int, count: int) -> Entries:
        """Return up to `count` entries from index `first` on."""
        raw = self.raw(first, count)
        size = raw["size"].astype(np.int64)
        found = np.where(size == 0, NO_ENTRY, np.where(size == FILLER_SIZE, FILLER, ENTRY))
        return Entries(found, _cut(raw["physicalOffset"]), size, _cut(raw["tagsCode"]))

    def between(self, low: int, high: int) -> tuple[int, int]:
        """Return the first index whose record is at or after `low`, and the first whose record is at or after `high`."""

        ends = self._ends

        def first_from(offset: int) -> int:
            # Usually all entries point at or after the offset, or none does.
            if ends.first == ends.past or ends.last_place < offset:
                return ends.past
            if ends.first_place >= offset:
                return ends.first
            with _probing() as probe:
                return _bisect(ends.first, ends.past, lambda index: self._place(probe, index, ends.past) >= offset)

        return first_from(low), first_from(high)

    def _place(self, probe: _Probe, index: int, past: int) -> int:
        """Return the physical offset in the entry at an index. For a zero entry, return that of the next entry before `past`."""
        while True:
            offset, size, _ = probe.entry(self._file_of(index), index)
            if size != 0 or index + 1 >= past:
                return offset
            index += 1

    def _file_of(self, index: int) -> QueueFile:
        """Return the file that contains an index, or the next file."""
        return next(file for file in self.files if index < _indices(file)[1])


class _Ends(NamedTuple):
    """A queue's first index and one past its last, and the physical offsets in its first and last entry."""

    first: int
    past: int
    first_place: int
    last_place: int


class _Probe(KeptOpen):
    """Read entries of files that stay open. Caches the last block of entries: most queues fit into one block and are read once."""

    def __init__(self, buffer: NDArray[np.uint8], address: int) -> None:
        super().__init__()
        self._buffer, self._address = buffer, address
        self._path, self._begin, self._end = "", 0, 0  # of the block

    def entry(self, file: QueueFile, index: int) -> tuple[int, int, int]:
        """Return physical offset, size and tags code. For an index before the file, return its first entry."""
        at = max(0, index * ENTRY_SIZE - file.base)
        if self._has(file, at, ENTRY_SIZE):
            offset, size, code = _STRUCT.unpack_from(self._buffer.data, at - self._begin)
        else:
            offset, size, code = _STRUCT.unpack(read(self.source(file.path), at, ENTRY_SIZE))
        return offset, size, code

    def last(self, file: QueueFile, first: int, past: int) -> int | None:
        """Return the last index in [first, past) that has an entry. The range has at most BEYOND indices."""
        from .entries import last_entry

        at, end = (index * ENTRY_SIZE - file.base for index in (first, past))
        if self._has(file, at, 0) and self.source(file.path).data_from(self._end) >= end:
            end = min(end, self._end)  # after the block the file has a hole
        elif not self._has(file, at, end - at):
            count = min(len(self._buffer), file.length - at)
            self.source(file.path).read_into(at, self._buffer[:count].data)
            self._path, self._begin, self._end = file.path, at, at + count
        last = index(last_entry(self._address + at - self._begin, (end - at) // ENTRY_SIZE))
        return first + last if last >= 0 else None

    def read_into(self, file: QueueFile, at: int, buffer: Buffer) -> None:
        """Fill a buffer with the bytes from position `at` of a file on."""
        if self._has(file, at, len(buffer)):
            buffer[:] = self._buffer.data[at - self._begin : at - self._begin + len(buffer)]
        else:
            self.source(file.path).read_into(at, buffer)

    def _has(self, file: QueueFile, at: int, size: int) -> bool:
        return file.path == self._path and self._begin <= at and at + size <= self._end


class _PerThread(local):
    """A thread's active probe and its memory. Allocating memory for each probe would cost more than reading."""

    def __init__(self) -> None:
        self.probe: _Probe | None = None
        self.buffer = np.empty(2 * BEYOND * ENTRY_SIZE, np.uint8)
        self.address = int(self.buffer.ctypes.data)


_per_thread = _PerThread()


@contextmanager
def _probing() -> Iterator[_Probe]:
    """Yield this thread's probe. Inside another such block, yield that block's probe with its open files and cached block."""
    if _per_thread.probe is not None:
        yield _per_thread.probe
        return
    with _Probe(_per_thread.buffer, _per_thread.address) as probe:
        _per_thread.probe = probe
        try:
            yield probe
        finally:
            _per_thread.probe = None


def _indices(file: QueueFile) -> tuple[int, int]:
    first = file.base // ENTRY_SIZE
    return first, first + file.length // ENTRY_SIZE


def _bisect(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """Return the first index in [low, high) for which `holds` is true; `high` if there is none. `holds` must be monotonic."""
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
        # Threads that begin together need the same queues. Reading is many short calls: two threads that read at a time take the
        # interpreter's lock from one another at each call, which is slower than one thread that reads for both.
        self.reading = Lock()

    @cached_property
    def _by_key(self) -> dict[tuple[str, int], Queue]:
        queues = {}
        for folder in self._folders:
            for topic_folder in names_of(folder):
                topic = topic_of(topic_folder)
                for name in names_of(join(folder, topic_folder)):
                    if _QUEUE_ID.fullmatch(name):
                        queue_id = queue_of(join(folder, topic_folder), name)
                        queues[topic, queue_id] = Queue(topic, queue_id, join(folder, topic_folder, name))
        return queues

    def all(self) -> list[Queue]:
        """Return the queues ordered by topic and queue id. Raises StoredError."""
        return [self._by_key[key] for key in sorted(self._by_key)]

    def find(self, topic: str, queue_id: int) -> Queue | None:
        """Return the queue, None if the store does not have it. Raises StoredError."""
        return self._by_key.get((topic, queue_id))

    @cached_property
    def windows(self) -> Windows:
        """Raises StoredError."""
        return Windows(self.all())


class Windows:
    """A cache of the most recently used parts of queues. Threads that read neighbouring parts of a log share it."""

    def __init__(self, queues: Sequence[Queue]) -> None:
        most = _REMOTE if any(is_remote(queue.folder) for queue in queues[:1]) else _LOCAL
        self.size = max(_LEAST, min(most, _MEMORY // ENTRY_SIZE // max(1, len(queues))))
        self._cache: OrderedDict[tuple[Queue, int], NDArray[np.uint8]] = OrderedDict()
        self._cache_lock = Lock()

    def at(self, queue: Queue, index: int) -> tuple[int, int, NDArray[np.uint8]]:
        """Return the part that contains an index of a queue: its first index, one past its last, and the bytes of its entries.

        If a file in the middle is missing, its entries are zeros. Raises StoredError.
        """
        number = (index - queue.min) // self.size
        first = queue.min + number * self.size
        past = min(first + self.size, queue.max)
        with self._cache_lock:
            data = self._cache.pop((queue, number), None)
        if data is None:  # two threads may both read it, which is better than waiting
            data = np.empty((past - first + 1) * ENTRY_SIZE, np.uint8)
            data[queue.read_into(first, data[:-ENTRY_SIZE]) * ENTRY_SIZE :] = 0
        with self._cache_lock:
            self._cache[queue, number] = data
            if len(self._cache) * self.size * ENTRY_SIZE > _MEMORY:
                self._cache.popitem(last=False)
        return first, past, data


class EntryLookup:
    """Look up the entries of many records at once.

    One window of each queue is in memory. If records come in the order of the log, each window is read once.
    """

    def __init__(self, queues: Queues, names: NameTable) -> None:
        self._queues = queues
        self._names = names
        self._windows: list[NDArray[np.uint8]] = []
        self._known: list[Queue | None] = []
        self._make_room(256)

    def __len__(self) -> int:
        """The number of known queues."""
        return len(self._known)

    def _make_room(self, most: int) -> None:
        """Make room for `most` queues, a power of two. The known queues are looked up again."""
        self._known.clear()
        self._keys, self._slots = np.full(2 * most, -1, np.int64), np.zeros(2 * most, np.int64)
        self._lines = np.zeros((most, 6), np.int64)
        self._windows = [np.empty(0, np.uint8)] * most

    def find(self, topic: Column, queue_id: Column, queue_offset: Column, into: Sequence[Column] | None = None) -> Entries:
        """Return the entry of each record, written to the columns `into` if they are given.

        `topic` are numbers of the names. Raises StoredError.
        """
        from .entries import find_entries

        columns = [np.ascontiguousarray(column) for column in (topic, queue_id, queue_offset)]
        out = Entries(*(np.empty((4, len(topic)), np.int64) if into is None else into))
        if len(self._known) + len(topic) > len(self._lines):
            self._make_room(1 << (len(topic) + len(self._known)).bit_length())
        pending, missing = np.arange(len(topic)), np.empty((2, len(topic)), np.int64)
        while len(pending):
            rows, absent, _ = find_entries(
                *columns, pending, self._keys, self._slots, self._lines, len(self._known), missing,
                out.found, out.physicalOffset, out.size, out.tagsCode,
            )  # fmt: skip
            if absent:
                with self._queues.reading:
                    for row, slot in missing[:, :absent].T.tolist():
                        interrupts.stop_thread_if_interrupted()
                        with _probing():
                            self._load_window(slot, int(topic[row]), int(queue_id[row]), int(queue_offset[row]))
            pending = pending[:rows]
        return out

    def _load_window(self, slot: int, topic: int, queue_id: int, index: int) -> None:
        """Look up a queue if it is new, and load its window that contains an index, if the queue has that index."""
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
