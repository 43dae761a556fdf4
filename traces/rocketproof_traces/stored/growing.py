"""Follow a commit log that a broker is writing: which records are new since a position, and complete.

`growth` compares a log with the position up to which it was read. It never returns a record that is half written.

- The last record of the log is complete if its lengths agree, its body has its CRC, and its last text is written, or if data follows it.
- Bytes at the end that are no complete record are left for later. In the middle of the log they are damage, as in a batch audit.
- Files that were deleted before they were read are `missing`.
- A position holds a checksum of the bytes before it. If these bytes have changed, the broker truncated and rewrote the log: `Rewritten`.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import index
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from .chunk import Chunk
from .errors import StoredError
from .kinds import RowKind
from .names import NameTable
from .paths import OpenSource, open_source, read
from .segments import RANGE_SIZE, LogFile, Range, log_files
from .walk import Walk

MARKED = 4096  # bytes before a position that its checksum covers
_BLOCK = 1 << 20
_TAIL = (
    *("kind", "physicalOffset", "size", "partsSize", "storedPhysicalOffset", "topicLength", "propertiesLength", "bodyLength", "bodyCRC"),
    *("bodyOffset", "topicOffset", "propertiesOffset"),
)


class Rewritten(StoredError):
    """A log whose bytes before a position are no longer those that were read."""


@dataclass(frozen=True)
class LogPosition:
    """The physical offset up to which a log was read, -1 if nothing was read.

    `mark`: the CRC-32 of up to MARKED bytes before it, in the file that contains the last of them.
    """

    offset: int = -1
    mark: int = 0


@dataclass(frozen=True)
class Growth:
    """What a log has gained since a position.

    - `position`: the position after the new records.
    - `ranges`: the new records, cut into ranges that are exact at both ends.
    - `missing`: the first and the end of the physical offsets that were deleted unread; None if there are none.
    - `unfinished`: bytes after the position are no complete record yet.
    - `more`: the limit left records out.
    """

    position: LogPosition
    ranges: tuple[Range, ...] = ()
    missing: tuple[int, int] | None = None
    unfinished: bool = False
    more: bool = False

    @property
    def borders(self) -> tuple[int, ...]:
        """The physical offsets at which the ranges begin, and the one at which the last of them ends; empty without ranges."""
        return (*(each.file.base + each.start for each in self.ranges), self.position.offset) if self.ranges else ()

    @property
    def size(self) -> int:
        """The bytes of the new records."""
        return sum(each.end - each.start for each in self.ranges)


def growth(files: Sequence[LogFile], position: LogPosition, limit: int, part_size: int = RANGE_SIZE, *, until: int | None = None) -> Growth:
    """Return the growth of a log with these files, as `segments.log_files` returns them.

    At most `limit` bytes are returned, but at least one record; none at or after physical offset `until`. Ranges have about `part_size`
    bytes. Raises Rewritten, and StoredError for a file that cannot be read and for a DLedger log: its group can replace entries that are
    not committed.
    """
    for file in files:
        if file.header:
            raise StoredError(
                file.path, "is a log of DLedger, which cannot be followed", "audit it without --follow, or read it as a batch"
            )
    offset, missing = _begin(files, position)
    ranges: list[Range] = []
    mark, unfinished, more = 0, False, False
    for file in files:
        if file.base + file.length <= offset:
            continue
        if file.base > offset or (until is not None and offset >= until):
            break
        budget = limit - sum(each.end - each.start for each in ranges)
        if budget <= 0:
            more = True
            break
        with open_source(file.path) as source:
            start = offset - file.base
            most = start + budget if until is None else min(start + budget, until - file.base)
            found = _complete(file, source, start, most, part_size, is_first=not ranges)
            ranges += [Range(file, *each, exact=True, exact_end=True) for each in pairwise((start, *found.borders))]
            if found.borders:
                offset = file.base + found.borders[-1]
                mark = _mark(source, found.borders[-1])
        unfinished, more = found.unfinished, found.more
        if more or offset < file.base + file.length:
            break
    has_begun = position.offset >= 0 and missing is None
    after = LogPosition(offset, mark) if ranges or not has_begun else position
    return Growth(after, tuple(ranges), missing, unfinished, more)


def growths(
    folders: Sequence[str],
    positions: Mapping[str, LogPosition],
    limit: int,
    part_size: int = RANGE_SIZE,
    *,
    hosts_by_flag: bool = True,
    until: Mapping[str, int] = MappingProxyType({}),
) -> tuple[dict[str, Growth], dict[str, StoredError]]:
    """Return the growth of each store's log, and the error of each store that cannot be followed.

    All together have about `limit` bytes. Each store gets an equal share, and what others leave of theirs. `until`: see `growth`.
    """
    found: dict[str, Growth] = {}
    failed: dict[str, StoredError] = {}
    share = max(limit // max(len(folders), 1), 1)
    rest = limit

    def grow(folder: str, most: int) -> None:
        nonlocal rest
        before = found[folder].size if folder in found else 0
        try:
            files = log_files([folder], hosts_by_flag=hosts_by_flag)
            found[folder] = growth(files, positions.get(folder, LogPosition()), most, part_size, until=until.get(folder))
            rest -= found[folder].size - before
        except StoredError as error:
            failed[folder] = error

    for folder in folders:
        grow(folder, share)
    for folder in [folder for folder, grown in found.items() if grown.more]:
        most = found[folder].size + rest
        if rest > 0 and most > share:  # others left something, so it is worth reading again
            grow(folder, most)
    return {folder: grown for folder, grown in found.items() if folder not in failed}, failed


def end_of(files: Sequence[LogFile]) -> int:
    """Return the physical offset after the last complete record of a log. Walks only the last file with data. Raises StoredError."""
    last = next(file for file in files if file.last)
    return growth([file for file in files if file.base >= last.base], LogPosition(), 1 << 62).position.offset


def ranges_of(files: Sequence[LogFile], borders: Sequence[int]) -> tuple[list[Range], list[tuple[int, int]]]:
    """Return the ranges between borders, and the physical offsets of those whose files are no longer among `files`."""
    ranges, missing = [], []
    for start, end in pairwise(borders):
        file = next((file for file in files if file.base <= start and end <= file.base + file.length), None)
        if file is None:
            missing.append((start, end))
        else:
            ranges.append(Range(file, start - file.base, end - file.base, exact=True, exact_end=True))
    return ranges, missing


def _begin(files: Sequence[LogFile], position: LogPosition) -> tuple[int, tuple[int, int] | None]:
    """Return the physical offset at which to continue, and the offsets that are missing before it. Raises Rewritten."""
    offset = position.offset
    if offset < 0:
        return files[0].base, None
    last = files[-1]
    if offset > last.base + last.length:
        raise _rewritten(last.path, offset, f"ends at {last.base + last.length}")
    for file in files:
        if file.base < offset <= file.base + file.length:
            with open_source(file.path) as source:
                if _mark(source, offset - file.base) != position.mark:
                    raise _rewritten(file.path, offset, "has other bytes before it")
    following = next((file for file in files if file.base + file.length > offset), None)
    if following is None or following.base <= offset:
        return offset, None
    return following.base, (offset, following.base)


def _rewritten(path: str, offset: int, what: str) -> Rewritten:
    why = f"was read up to offset {offset} and now {what}: the broker truncated the log after a crash, or the store was replaced"
    return Rewritten(path, why, "begin again with a new checkpoint")


def _mark(source: OpenSource, end: int) -> int:
    """Return the checksum of the bytes before a position of a file."""
    start = max(0, end - MARKED)
    return zlib.crc32(read(source, start, end - start))


@dataclass(frozen=True)
class _Complete:
    """Where the complete records of a file are cut, as offsets inside the file after the start."""

    borders: tuple[int, ...] = ()
    unfinished: bool = False
    more: bool = False


def _complete(file: LogFile, source: OpenSource, start: int, most: int, part_size: int, *, is_first: bool) -> _Complete:
    """Find the complete records of a file that are in [start, most), and cut them into parts. `is_first`: take at least one record."""
    cuts, done = [start], start
    last: Chunk | None = None
    walk = Walk(Range(file, start, file.length, exact=True), NameTable(), crc=False, properties=False, source=source, growing=True)
    for chunk in walk:
        last = chunk
        begins = chunk["physicalOffset"] - file.base  # where a row begins, the one before it is complete
        fitting = index(np.searchsorted(begins, most, "right"))
        if fitting == len(begins):
            done = _cut(cuts, begins, part_size)
            continue
        if fitting:
            done = _cut(cuts, begins[:fitting], part_size)
        return _Complete(_borders(cuts, index(begins[fitting]) if done == start and is_first else done), more=True)
    if last is None:
        return _Complete()
    end = walk.walked.end if walk.data_end is None else walk.data_end - file.base
    assert end is not None, "the walk has rows"
    if file.last and not _is_written(last, source):
        return _Complete(_borders(cuts, done), unfinished=True)
    if end > most and not (done == start and is_first):
        return _Complete(_borders(cuts, done), more=True)
    return _Complete(_borders(cuts, end))


def _cut(cuts: list[int], begins: NDArray[np.int64], part_size: int) -> int:
    """Add a cut to `cuts` where a part has `part_size` bytes, and return where the last row begins."""
    while (number := index(np.searchsorted(begins, cuts[-1] + part_size))) < len(begins):
        cuts.append(index(begins[number]))
    return index(begins[-1])


def _borders(cuts: list[int], end: int) -> tuple[int, ...]:
    """Return the cuts after the first, with `end` as the last."""
    return tuple(dict.fromkeys((*cuts[1:], end))) if end > cuts[0] else ()


def _is_written(chunk: Chunk, source: OpenSource) -> bool:
    """Return whether the last row of the log is a blank, or a record of which every part is written.

    A broker writes a record from its first byte to its last, which belongs to a text and is not zero. Without properties, their length is
    the last number and is zero.
    """
    row = {name: index(chunk[name][-1]) for name in _TAIL}
    if row["kind"] == RowKind.BLANK:
        return True
    is_regular = row["kind"] in (RowKind.MESSAGE, RowKind.MESSAGE_V2) and row["partsSize"] == row["size"] and row["topicLength"] > 0
    if not is_regular or row["storedPhysicalOffset"] != row["physicalOffset"]:
        return False
    base = chunk.range.file.base
    text = row["propertiesOffset"] + row["propertiesLength"] if row["propertiesLength"] else row["topicOffset"] + row["topicLength"]
    if read(source, text - base - 1, 1) == b"\0":
        return False
    checksum, at, end = 0, row["bodyOffset"] - base, row["bodyOffset"] - base + row["bodyLength"]
    while at < end:
        block = read(source, at, min(_BLOCK, end - at))
        checksum, at = zlib.crc32(block, checksum), at + len(block)
    return checksum & 0x7FFFFFFF == row["bodyCRC"]
