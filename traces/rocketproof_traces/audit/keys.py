"""Rows about the index files: each file with its header, each entry with the record at its physical offset (REC-04)."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterable, Iterator, Sequence
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
from .store_rows import Rows

ROWS: Final = 1 << 16
FEW: Final = 8
"""A file is of another store if more than half of its first entries, and more than FEW / 2, point at no record with their key."""
_WINDOW: Final = 8 << 20
"""Bytes of the log in memory: more than the largest record with the default maxMessageSize, which limits only the body."""
_ENTRY = Struct(">iqii")
_SECOND: Final = 1000
_MOST: Final = (1 << 31) - 1


class _Log(KeptOpen):
    """Bytes of the log at physical offsets, some MiB at a time, and always a complete record."""

    def __init__(self, files: Sequence[LogFile]) -> None:
        super().__init__()
        self._files = sorted(files, key=lambda file: file.base)
        self._bases = [file.base for file in self._files]
        self.start = self._bases[0] if self._files else 0
        self._hosts = HOSTS_IPV6 if all(file.hosts_by_flag for file in files) else 0
        self._buffer = np.zeros(0, np.uint8)
        self._first = self._past = 0

    def facts(self, entries: IndexEntries) -> NDArray[np.int64]:
        """Return whether each entry points at a record, whether the record has the key, and its store timestamp. Raises StoredError."""
        rows = np.zeros((3, len(entries.physicalOffset)), np.int64)
        n, begins = 0, -1
        while True:
            address = self._buffer.ctypes.data + MARGIN
            n = index(look_up(address, self._first, self._past, begins, self._hosts, entries.physicalOffset, entries.keyHash, n, rows))
            if n == rows.shape[1]:
                return rows
            begins = int(entries.physicalOffset[n])
            self._fill(begins)

    def path(self, offset: int) -> str:
        """Return the file that contains a physical offset."""
        return self._files[bisect.bisect_right(self._bases, offset) - 1].path

    def _fill(self, offset: int) -> None:
        """Load bytes from an offset on; none if no file contains it."""
        number = bisect.bisect_right(self._bases, offset) - 1
        file = self._files[number] if number >= 0 else None
        rest = 0 if file is None else max(0, file.base + file.length - offset)
        count = min(rest, _WINDOW)
        if file is not None and rest > _WINDOW:
            size = bytearray(4)  # the size of the record that begins there
            self.source(file.path).read_into(offset - file.base, memoryview(size))
            count = min(rest, max(_WINDOW, int.from_bytes(size, signed=True)))
        self._buffer = np.zeros(count + 2 * MARGIN, np.uint8)
        self._first, self._past = offset, offset + count
        if file is not None and count:
            self.source(file.path).read_into(offset - file.base, self._buffer[MARGIN : MARGIN + count].data)


def index_rows(store: str, files: Sequence[LogFile], end: int) -> Iterator[Rows]:
    """Yield the rows of a store's index. `end`: the physical offset at which the log's records end. Raises StoredError."""
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
    except StoredError:  # the file has no header
        yield "index", _header_row(None), lambda _: place(0)
        return
    filled = _filled(file)
    whole = (file.length - INDEX_HEADER) % (INDEX_SLOT + 4 * INDEX_ENTRY) == 0 and file.slots > 0
    counted = replace(file, count=filled)
    header = _header_row(file, filled, whole)
    if not whole or filled <= 1:
        yield "index", header, lambda _: place(0)
        return
    last = np.zeros(file.slots, np.int64)
    for start in range(1, filled, ROWS):
        hashes = counted.entries(start, ROWS).keyHash
        chain(hashes, start, last, np.empty(len(hashes), np.int64))
    heads = file.heads(0, file.slots)
    header |= {"slotsFilled": [int((heads > 0).sum())], "slotsNamed": [int((last > 0).sum())]}
    first, final = (counted.entries(number, 1) for number in (1, filled - 1))
    end_facts = [log.facts(values) for values in (first, final)]
    first_stored = int(end_facts[0][2][0])
    times_known = all(values[0][0] for values in end_facts)
    header |= {
        "firstOffset": first.physicalOffset.tolist(),
        "lastOffset": final.physicalOffset.tolist(),
        "timesKnown": [int(times_known)],
        "firstStored": [first_stored],
        "lastStored": end_facts[1][2].tolist(),
    }
    blocks = _keys(counted, log, end, last, heads, first_stored if end_facts[0][0][0] else file.begin_timestamp)
    first_block = next(blocks)
    foreign = int(((first_block[1]["hasKey"] == 0) & (first_block[1]["recordKnown"] == 1)).sum())
    header["own"] = [int(2 * foreign <= max(len(first_block[1]["number"]), FEW))]
    yield "index", header, lambda _: place(0)
    if header["own"][0]:
        yield from _entry_rows(path, counted, log, itertools.chain([first_block], blocks))


def _entry_rows(path: str, file: StoredIndexFile, log: _Log, blocks: Iterable[tuple[int, dict[str, NDArray[np.int64]]]]) -> Iterator[Rows]:
    """Yield the rows of a file's entries, located at the entry or at its record, whichever is wrong."""
    for start, rows in blocks:
        entries = file.entries(start, ROWS)

        # If an entry's hash fits its slot, or entries of one record agree on its time, the record is wrong, not the entry.
        wrong_time = rows["seconds"] != rows["expectedSeconds"]
        pair = wrong_time[1:] & wrong_time[:-1] & (rows["offset"][1:] == rows["offset"][:-1])
        intact = (rows["previous"] == rows["expectedPrevious"]) & ((rows["slot"] == rows["number"]) | (rows["newest"] == 0))
        blames_record = (rows["recordThere"] == 1) & np.where(
            rows["hasKey"] == 0,
            intact & ~wrong_time & (entries.keyHash != 0),
            np.concatenate((pair, [False])) | np.concatenate(([False], pair)),
        )

        def at(
            row: int, start: int = start, entries: IndexEntries = entries, blames_record: NDArray[np.bool_] = blames_record
        ) -> dict[str, Any]:
            if blames_record[row]:
                offset = int(entries.physicalOffset[row])
                return {"file": log.path(offset), "offset": offset, "more": f"entry {start + row} of {path}"}
            words = (int(values[row]) for values in (entries.keyHash, entries.physicalOffset, entries.seconds, entries.previous))
            where = INDEX_HEADER + file.slots * INDEX_SLOT + (start + row) * INDEX_ENTRY
            return {"file": path, "offset": where, "hex": _ENTRY.pack(*words).hex(), "more": f"entry {start + row}"}

        yield "key", rows, at


def _header_row(file: StoredIndexFile | None, filled: int = 1, whole: bool = False) -> dict[str, list[int]]:
    """Return the row of a file from its header alone; the values that a rule compares with it agree."""
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
    """Return one more than the number of the last entry that is not all zeros. A correct header contains this number."""
    if 1 <= file.count <= file.limit and _is_written(file, file.count - 1) != (file.count == 1) and not _is_written(file, file.count):
        return file.count
    whole = replace(file, count=file.limit)
    for start in range((file.limit - 1) // ROWS * ROWS, -1, -ROWS):
        entries = whole.entries(start, ROWS)
        written = np.flatnonzero(entries.keyHash | entries.physicalOffset | entries.seconds | entries.previous)
        if len(written):
            return start + int(written[-1]) + 1
    return 1


def _is_written(file: StoredIndexFile, number: int) -> bool:
    entry = replace(file, count=file.limit).entries(number, 1)
    return bool((entry.keyHash | entry.physicalOffset | entry.seconds | entry.previous).any())


def _keys(
    file: StoredIndexFile, log: _Log, end: int, last: NDArray[np.int64], heads: NDArray[np.int64], first_stored: int
) -> Iterator[tuple[int, dict[str, NDArray[np.int64]]]]:
    """Yield columns of the vocabulary `key`, some thousand entries at a time, each time with the number of the first entry."""
    newest = np.zeros(file.slots, np.int64)
    for start in range(1, file.count, ROWS):
        entries = file.entries(start, ROWS)
        count = len(entries.keyHash)
        previous = np.empty(count, np.int64)
        chain(entries.keyHash, start, newest, previous)
        slots = np.abs(entries.keyHash) % file.slots
        offsets = np.clip(entries.physicalOffset, -(LIMIT >> 1), LIMIT >> 1)
        numbers = np.arange(start, start + count)
        following = np.clip(file.entries(start + count, 1).physicalOffset, -(LIMIT >> 1), LIMIT >> 1)
        records = log.facts(entries)
        rows = {
            "number": numbers,
            "offset": offsets,
            "offsetBehind": np.concatenate((offsets[1:], following if len(following) else offsets[-1:])),
            "previous": entries.previous,
            "expectedPrevious": previous,
            "newest": (last[slots] == numbers).astype(np.int64),
            "slot": heads[slots],
            "recordKnown": ((offsets >= log.start) & (offsets < end)).astype(np.int64),
            "recordThere": records[0],
            "hasKey": records[1],
            "seconds": entries.seconds,
            "expectedSeconds": np.clip((records[2] - first_stored) // _SECOND, 0, _MOST),
        }
        yield start, rows
