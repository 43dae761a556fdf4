"""Consume queues: for each queue of a topic, where its messages are in the log (REC-04).

A queue's files are longer than its data: behind the last entry come zeros, before the first one there may be filler. Where data begins and
ends is found by bisection. Zeros with entries less than BEYOND behind them are damage, and no end.
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
                path = join(self.folder, name)
                found.append(QueueFile(path, offset_of(self.folder, name), length_of(path)))
        return tuple(found)

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
        """One more than the last index of a file that has an entry; its first one if it has none."""
        begin, past = _indices(file)
        end = begin
        while (last := probe.last(file, end, min(past, end + BEYOND))) is not None:
            is_long = last + 1 == end + BEYOND and end > begin  # the second block is in memory with the first one
            blocks = range(last + 1, past, BEYOND) if is_long else range(0)
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
                part = room[done * ENTRY_SIZE : (done + count) * ENTRY_SIZE]
                with _probing() as probe:
                    probe.read_into(file, (first + done) * ENTRY_SIZE - file.base, part.data)
                done += count
        return done

    def raw(self, first: int, count: int) -> NDArray[np.void]:
        """The same as an array of entries, their numbers in the order of the file's bytes."""
        room = np.empty(max(count, 0) * ENTRY_SIZE, np.uint8)
        return room[: self.read_into(first, room) * ENTRY_SIZE].view(_ENTRY)

    def sample(self, indices: Iterable[int]) -> Iterator[tuple[int, int, int]]:
        """Physical offset, size and tags code of single entries, numbers of eight bytes cut to ±2^62."""
        with _probing() as probe:
            for index in indices:
                offset, size, code = probe.entry(self._file_of(index), index)
                yield max(-LIMIT, min(offset, LIMIT)), size, max(-LIMIT, min(code, LIMIT))

    def entries(self, first: int, count: int) -> Entries:
        """The entries from an index on."""
        raw = self.raw(first, count)
        size = raw["size"].astype(np.int64)
        found = np.where(size == 0, NO_ENTRY, np.where(size == FILLER_SIZE, FILLER, ENTRY))
        return Entries(found, _cut(raw["physicalOffset"]), size, _cut(raw["tagsCode"]))

    def between(self, low: int, high: int) -> tuple[int, int]:
        """The first index whose record lies at `low` or behind it, and the first one at `high` or behind it."""

        ends = self._ends

        def first_behind(offset: int) -> int:
            """Most often all entries are, or none is."""
            if ends.first == ends.past or ends.last_place < offset:
                return ends.past
            if ends.first_place >= offset:
                return ends.first
            with _probing() as probe:
                return _bisect(ends.first, ends.past, lambda index: self._place(probe, index, ends.past) >= offset)

        return first_behind(low), first_behind(high)

    def _place(self, probe: _Probe, index: int, past: int) -> int:
        """The physical offset that the entry at an index points at; of a zero entry, that of the next one before `past`."""
        while True:
            offset, size, _ = probe.entry(self._file_of(index), index)
            if size != 0 or index + 1 >= past:
                return offset
            index += 1

    def _file_of(self, index: int) -> QueueFile:
        """The file of an index, or the next one."""
        return next(file for file in self.files if index < _indices(file)[1])


class _Ends(NamedTuple):
    """A queue's first index and one past its last, and the physical offsets that its first and last entry point at."""

    first: int
    past: int
    first_place: int
    last_place: int


class _Probe(KeptOpen):
    """Entries of files that stay open. Keeps the block of entries read last: most queues are in one block, and read once."""

    def __init__(self, room: NDArray[np.uint8], address: int) -> None:
        super().__init__()
        self._room, self._address = room, address
        self._path, self._begin, self._end = "", 0, 0  # of the block

    def entry(self, file: QueueFile, index: int) -> tuple[int, int, int]:
        """Physical offset, size and tags code; of an index before the file, its first entry."""
        at = max(0, index * ENTRY_SIZE - file.base)
        if self._has(file, at, ENTRY_SIZE):
            offset, size, code = _STRUCT.unpack_from(self._room.data, at - self._begin)
        else:
            offset, size, code = _STRUCT.unpack(read(self.source(file.path), at, ENTRY_SIZE))
        return offset, size, code

    def last(self, file: QueueFile, first: int, past: int) -> int | None:
        """The last index of at most BEYOND that has an entry."""
        from .entries import last_entry

        at, end = (index * ENTRY_SIZE - file.base for index in (first, past))
        if self._has(file, at, 0) and self.source(file.path).data_from(self._end) >= end:
            end = min(end, self._end)  # behind the block the file has a hole
        elif not self._has(file, at, end - at):
            count = min(len(self._room), file.length - at)
            self.source(file.path).read_into(at, self._room[:count].data)
            self._path, self._begin, self._end = file.path, at, at + count
        last = index(last_entry(self._address + at - self._begin, (end - at) // ENTRY_SIZE))
        return first + last if last >= 0 else None

    def read_into(self, file: QueueFile, at: int, buffer: Buffer) -> None:
        """Fill a buffer with the bytes from a place in a file on."""
        if self._has(file, at, len(buffer)):
            buffer[:] = self._room.data[at - self._begin : at - self._begin + len(buffer)]
        else:
            self.source(file.path).read_into(at, buffer)

    def _has(self, file: QueueFile, at: int, size: int) -> bool:
        return file.path == self._path and self._begin <= at and at + size <= self._end


class _Own(local):
    """A thread's probe while it uses one, and its memory: a new one would cost more than what is read into it."""

    def __init__(self) -> None:
        self.probe: _Probe | None = None
        self.room = np.empty(2 * BEYOND * ENTRY_SIZE, np.uint8)
        self.address = int(self.room.ctypes.data)


_own = _Own()


@contextmanager
def _probing() -> Iterator[_Probe]:
    """This thread's probe. The one of an outer block, if there is one, whose files are open and whose block is read."""
    if _own.probe is not None:
        yield _own.probe
        return
    with _Probe(_own.room, _own.address) as probe:
        _own.probe = probe
        try:
            yield probe
        finally:
            _own.probe = None


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
        # Threads that begin together ask for the same queues. Reading is many short calls: two threads that do it at a time take the
        # interpreter's lock from one another at each call, and need longer than one that does it for both.
        self.one_at_a_time = Lock()

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
            data = np.empty((past - first + 1) * ENTRY_SIZE, np.uint8)
            data[queue.read_into(first, data[:-ENTRY_SIZE]) * ENTRY_SIZE :] = 0
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

    def __len__(self) -> int:
        """How many queues it knows."""
        return len(self._known)

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
            if absent:
                with self._queues.one_at_a_time:
                    for row, slot in missing[:, :absent].T.tolist():
                        interrupts.stop_thread_if_interrupted()
                        with _probing():
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
