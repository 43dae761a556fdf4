"""The files of the index beside the log, as rows: each file with its header, each entry with the record that it points at (REC-04)."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from operator import index
from struct import Struct
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rocketproof_protocol.flags import HOSTS_IPV6
from rocketproof_protocol.numbers import is_digits

from ..stored.errors import StoredError, Unreadable
from ..stored.facts import LIMIT
from ..stored.index import IndexEntries, StoredIndexFile, open_index
from ..stored.keys import chain, look_up
from ..stored.layout import INDEX_ENTRY, INDEX_HEADER, INDEX_SLOT
from ..stored.memory import MARGIN
from ..stored.paths import KeptOpen, is_file_name, join, names_of
from ..stored.segments import LogFile
from .beside import Rows

ROWS: Final = 1 << 16
FEW: Final = 8
"""So many entries tell whether a file is of this store; in one of fewer each is judged by itself."""
_WINDOW: Final = 8 << 20
"""Bytes of the log in memory: more than the largest record has by the default of maxMessageSize, which limits its body alone."""
_ENTRY = Struct(">iqii")
_SECOND: Final = 1000
_MOST: Final = (1 << 31) - 1


class _Log(KeptOpen):
    """Bytes of the log at physical offsets, some MiB at a time, and a whole record however large it is."""

    def __init__(self, files: Sequence[LogFile]) -> None:
        super().__init__()
        self._files = sorted(files, key=lambda file: file.base)
        self._bases = [file.base for file in self._files]
        self.start = self._bases[0] if self._files else 0
        self._hosts = HOSTS_IPV6 if all(file.hosts_by_flag for file in files) else 0
        self._room = np.zeros(0, np.uint8)
        self._first = self._past = 0

    def facts(self, entries: IndexEntries) -> NDArray[np.int64]:
        """Whether each entry points at a record, whether that one has the key, its store timestamp. Raises StoredError."""
        found = np.zeros((3, len(entries.physicalOffset)), np.int64)
        n, begins = 0, -1
        while True:
            address = self._room.ctypes.data + MARGIN
            n = index(look_up(address, self._first, self._past, begins, self._hosts, entries.physicalOffset, entries.keyHash, n, found))
            if n == found.shape[1]:
                return found
            begins = int(entries.physicalOffset[n])
            self._fill(begins)

    def path(self, offset: int) -> str:
        """The file that has a physical offset."""
        return self._files[bisect.bisect_right(self._bases, offset) - 1].path

    def _fill(self, offset: int) -> None:
        """Have bytes from an offset on; none where no file has it."""
        number = bisect.bisect_right(self._bases, offset) - 1
        file = self._files[number] if number >= 0 else None
        rest = 0 if file is None else max(0, file.base + file.length - offset)
        count = min(rest, _WINDOW)
        if file is not None and rest > _WINDOW:
            size = bytearray(4)  # of the record that begins there
            self.source(file.path).read_into(offset - file.base, memoryview(size))
            count = min(rest, max(_WINDOW, int.from_bytes(size, signed=True)))
        self._room = np.zeros(count + 2 * MARGIN, np.uint8)
        self._first, self._past = offset, offset + count
        if file is not None and count:
            self.source(file.path).read_into(offset - file.base, self._room[MARGIN : MARGIN + count].data)


def index_rows(store: str, files: Sequence[LogFile], end: int) -> Iterator[Rows]:
    """The index of a store whose log's records end at a physical offset. Raises StoredError."""
    folder = join(store, "index")
    with _Log(files) as log:
        for name in names_of(folder):
            if is_digits(name) and not is_file_name(name):
                yield from _file(join(folder, name), log, end)


def _file(path: str, log: _Log, end: int) -> Iterator[Rows]:
    def place(at: int) -> dict[str, Any]:
        return {"file": path, "offset": at}

    try:
        file = open_index(path)
    except Unreadable:
        raise
    except StoredError:  # it has no header
        yield "index", _of_file(None), lambda _: place(0)
        return
    filled = _filled(file)
    whole = (file.length - INDEX_HEADER) % (INDEX_SLOT + 4 * INDEX_ENTRY) == 0 and file.slots > 0
    counted = replace(file, count=filled)
    said = _of_file(file, filled, whole)
    if not whole or filled <= 1:
        yield "index", said, lambda _: place(0)
        return
    last = np.zeros(file.slots, np.int64)
    for start in range(1, filled, ROWS):
        hashes = counted.entries(start, ROWS).keyHash
        chain(hashes, start, last, np.empty(len(hashes), np.int64))
    heads = file.heads(0, file.slots)
    said |= {"slotsFilled": [int((heads > 0).sum())], "slotsNamed": [int((last > 0).sum())]}
    first, final = (counted.entries(number, 1) for number in (1, filled - 1))
    ends = [log.facts(each) for each in (first, final)]
    begun = int(ends[0][2][0])
    known = all(each[0][0] for each in ends)
    said |= {
        "firstOffset": first.physicalOffset.tolist(),
        "lastOffset": final.physicalOffset.tolist(),
        "timesKnown": [int(known)],
        "firstStored": [begun],
        "lastStored": ends[1][2].tolist(),
    }
    parts = _keys(counted, log, end, last, heads, begun if ends[0][0][0] else file.begin_timestamp)
    some = next(parts)
    strays = int(((some[1]["hasKey"] == 0) & (some[1]["recordKnown"] == 1)).sum())
    said["own"] = [int(2 * strays <= max(len(some[1]["number"]), FEW))]
    yield "index", said, lambda _: place(0)
    for start, rows in itertools.chain([some], parts) if said["own"][0] else ():
        entries = counted.entries(start, ROWS)

        # Where an entry's hash agrees with its slot, or other entries of a record tell its time alike, it is the record that is wrong.
        late = rows["seconds"] != rows["expectedSeconds"]
        pair = late[1:] & late[:-1] & (rows["offset"][1:] == rows["offset"][:-1])
        intact = (rows["previous"] == rows["expectedPrevious"]) & ((rows["slot"] == rows["number"]) | (rows["newest"] == 0))
        blame = (rows["recordThere"] == 1) & np.where(
            rows["hasKey"] == 0, intact & ~late & (entries.keyHash != 0), np.concatenate((pair, [False])) | np.concatenate(([False], pair))
        )

        def at(row: int, start: int = start, entries: IndexEntries = entries, blame: NDArray[np.bool_] = blame) -> dict[str, Any]:
            if blame[row]:
                offset = int(entries.physicalOffset[row])
                return {"file": log.path(offset), "offset": offset, "more": f"entry {start + row} of {path}"}
            words = (int(each[row]) for each in (entries.keyHash, entries.physicalOffset, entries.seconds, entries.previous))
            where = INDEX_HEADER + file.slots * INDEX_SLOT + (start + row) * INDEX_ENTRY
            return {**place(where), "hex": _ENTRY.pack(*words).hex(), "more": f"entry {start + row}"}

        yield "key", rows, at


def _of_file(file: StoredIndexFile | None, filled: int = 1, whole: bool = False) -> dict[str, list[int]]:
    """The row of a file by its header alone; what a rule compares with it agrees."""
    if file is None:
        file = StoredIndexFile("", 0, 0, 0, 0, 0, 0, 1, 0)
    return {
        "whole": [int(whole)],
        "own": [1],
        "count": [file.count if whole else filled],
        "filled": [filled],
        "room": [file.limit if whole else filled],
        "usedSlots": [file.used_slots if whole else 0],
        "slotsFilled": [0],
        "slotsNamed": [0],
        **{name: [_cut(file.begin_offset)] for name in ("beginOffset", "firstOffset")},
        **{name: [_cut(file.end_offset)] for name in ("endOffset", "lastOffset")},
        "timesKnown": [0],
        **{name: [_cut(file.begin_timestamp)] for name in ("beginTimestamp", "firstStored")},
        **{name: [_cut(file.end_timestamp)] for name in ("endTimestamp", "lastStored")},
    }


def _cut(number: int) -> int:
    return max(min(number, LIMIT >> 1), -(LIMIT >> 1))


def _filled(file: StoredIndexFile) -> int:
    """One more than the number of the last entry that is not all zeros, which the header says too if it is right."""
    if 1 <= file.count <= file.limit and _there(file, file.count - 1) != (file.count == 1) and not _there(file, file.count):
        return file.count
    whole = replace(file, count=file.limit)
    for start in range((file.limit - 1) // ROWS * ROWS, -1, -ROWS):
        entries = whole.entries(start, ROWS)
        there = np.flatnonzero(entries.keyHash | entries.physicalOffset | entries.seconds | entries.previous)
        if len(there):
            return start + int(there[-1]) + 1
    return 1


def _there(file: StoredIndexFile, number: int) -> bool:
    entry = replace(file, count=file.limit).entries(number, 1)
    return bool((entry.keyHash | entry.physicalOffset | entry.seconds | entry.previous).any())


def _keys(
    file: StoredIndexFile, log: _Log, end: int, last: NDArray[np.int64], heads: NDArray[np.int64], begun: int
) -> Iterator[tuple[int, dict[str, NDArray[np.int64]]]]:
    """Columns of the vocabulary `key`, some thousand entries at a time, each time with the number of the first."""
    seen = np.zeros(file.slots, np.int64)
    for start in range(1, file.count, ROWS):
        entries = file.entries(start, ROWS)
        count = len(entries.keyHash)
        previous = np.empty(count, np.int64)
        chain(entries.keyHash, start, seen, previous)
        slots = np.abs(entries.keyHash) % file.slots
        offsets = np.clip(entries.physicalOffset, -(LIMIT >> 1), LIMIT >> 1)
        numbers = np.arange(start, start + count)
        following = np.clip(file.entries(start + count, 1).physicalOffset, -(LIMIT >> 1), LIMIT >> 1)
        found = log.facts(entries)
        rows = {
            "number": numbers,
            "offset": offsets,
            "offsetBehind": np.concatenate((offsets[1:], following if len(following) else offsets[-1:])),
            "previous": entries.previous,
            "expectedPrevious": previous,
            "newest": (last[slots] == numbers).astype(np.int64),
            "slot": heads[slots],
            "recordKnown": ((offsets >= log.start) & (offsets < end)).astype(np.int64),
            "recordThere": found[0],
            "hasKey": found[1],
            "seconds": entries.seconds,
            "expectedSeconds": np.clip((found[2] - begun) // _SECOND, 0, _MOST),
        }
        yield start, rows
