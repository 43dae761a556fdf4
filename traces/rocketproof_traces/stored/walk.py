"""The walk over one range of a commit log file: the kernel where all is regular, and what to do where it is not.

Each place of the range is in exactly one row, or in the zeros at the end of the data. What a walk says depends on the file's bytes alone,
not on how it was cut into ranges or chunks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .chunk import Chunk
from .facts import Column
from .kinds import Reason, RowKind
from .layout import BLANK_MAGIC, FIXED_SIZE, IPV6_MORE, MESSAGE_MAGIC, MESSAGE_MAGIC_V2
from .names import NameTable
from .paths import OpenSource, open_source
from .plausible import FilePlace
from .record import RecordPlaces
from .segments import Range, Walked
from .table import ROWS, new_table
from .window import WINDOW_SIZE, Window, new_room


@dataclass(frozen=True)
class _Stretch:
    """Bytes [start, end) of the file that are no record. Those that are CORRUPT for no `reason` get no row: zeros behind the data."""

    start: int
    end: int
    reason: Reason
    kind: RowKind = RowKind.CORRUPT


@dataclass(frozen=True)
class _Crooked:
    """A record at `start` whose lengths do not agree, and where the next one begins."""

    start: int
    parts: RecordPlaces
    next: int


@dataclass(frozen=True)
class _Plain:
    """A record that is only too large for the window."""

    size: int


class Walk:
    """Chunks of rows, in the order of the file; iterate once. Afterwards `walked` says where it began and ended.

    `data_end` is the physical offset at which zeros to the file's end begin, None if the walk met none. Raises StoredError while it
    is iterated, for a file that cannot be read or becomes shorter. Memory that is used again: `table`, what `new_table` gives, whose
    further lines are left as they are, and `room`, what `new_room` gives, in place of a new one of `window` bytes.
    """

    def __init__(
        self,
        range_: Range,
        names: NameTable,
        *,
        crc: bool = True,
        properties: bool = True,
        rows: int = 4096,
        window: int = WINDOW_SIZE,
        room: NDArray[np.uint8] | None = None,
        source: OpenSource | None = None,
        table: NDArray[np.int64] | None = None,
    ) -> None:
        from . import kernel
        from .properties import CRC

        self._kernel: Any = kernel
        self.range = range_
        self.names = names
        self.data_end: int | None = None
        self._header = range_.file.header
        self._flags = (CRC if crc else 0) | (kernel.PROPERTIES if properties else 0)
        self._flags |= 0 if range_.file.hosts_by_flag else kernel.SHORT_HOSTS
        self._most = min(rows, ROWS)
        self._size, self._room = window, room
        self._given = source
        self._table = new_table() if table is None else table
        self._walked: Walked | None = None

    @property
    def walked(self) -> Walked:
        if self._walked is None:
            raise RuntimeError("the walk is not over")
        return self._walked

    def __iter__(self) -> Iterator[Chunk]:
        source = self._given or open_source(self.range.file.path)
        try:
            yield from self._chunks(source)
        finally:
            if self._given is None:
                source.close()

    def _chunks(self, source: OpenSource) -> Iterator[Chunk]:
        kernel, range_ = self._kernel, self.range
        base = range_.file.base
        place = FilePlace(source, base, self._header, hosts_by_flag=range_.file.hosts_by_flag)
        begin = self._begin(place)
        if begin is None:
            self._walked = Walked(range_, None, None, 0, 0)
            return
        room = new_room(min(self._size, max(source.length - begin, 1))) if self._room is None else self._room
        window = Window(source, base, room)
        table = self._table
        at, row, total = self._behind_blank(place, begin), 0, 0
        while at < place.length and not (at >= range_.end and place.is_plausible(at)):
            if not window.has(at, at + 1):
                if row:
                    yield self._chunk(table, row, window)
                    total, row = total + row, 0
                window.fill(at)
            # Beyond the range's end one record at a time, until the next range's begin is met.
            stop = range_.end if at < range_.end else at + 1
            row, there, why = self._step(window, table, at, row, stop)
            at = there + window.start
            if why == kernel.GROW:
                self.names.grow()
                continue
            if why == kernel.STOP:
                continue
            if row:
                yield self._chunk(table, row, window)
                total, row = total + row, 0
            if why == kernel.MORE and window.start != at:
                window.fill(at)
            elif why == kernel.FULL:
                if 2 * (window.end - at) < window.size:  # what is left would be a chunk of few rows
                    window.fill(at)
            else:
                found = self._look(place, at)
                if isinstance(found, _Plain):
                    window.fill(at, self._header + found.size)
                elif isinstance(found, _Stretch):
                    if found.kind == RowKind.EMPTY and not window.has(at, found.end):
                        window.fill(at, found.end - at)
                    at = found.end
                    if found.reason or found.kind != RowKind.CORRUPT:
                        kernel.blank_row(table.ctypes.data, found.kind, found.reason, base + found.start, at - found.start)
                        row = 1
                else:
                    self._crooked_row(found, window, table)
                    row, at = 1, found.next
        if row:
            yield self._chunk(table, row, window)
        self._walked = Walked(range_, begin, at, total + row, at - begin)

    def _chunk(self, table: Any, rows: int, window: Window) -> Chunk:
        return Chunk(self.range, table[:, :rows], self.names, window)

    def _begin(self, place: FilePlace) -> int | None:
        """Where the walk begins, None if no record begins in the range."""
        if self.range.start >= min(self.range.end, place.length):
            return None
        return self.range.start if self.range.exact else place.next_plausible(self.range.start, self.range.end)

    def _look(self, place: FilePlace, at: int) -> _Plain | _Stretch | _Crooked:
        """What stands at an irregular place."""
        empty = place.empty(at)
        if empty is not None:
            return _Stretch(at, empty, Reason.NONE, RowKind.EMPTY)
        head = place.head(at)
        if head is None:
            return self._zeros(place, at) if place.is_zero(at) else _Stretch(at, place.length, Reason.TRUNCATED)
        size, magic = head
        if magic in (MESSAGE_MAGIC, MESSAGE_MAGIC_V2):
            return self._look_at_record(place, at, size)
        if magic == BLANK_MAGIC:
            return self._look_at_blank(place, at, size)
        if size == 0 and magic == 0:
            return self._zeros(place, at)
        return self._stretch(place, at, Reason.MAGIC)

    def _behind_blank(self, place: FilePlace, begin: int) -> int:
        """Where the data of a file of DLedger begins: a log that was cleaned in the middle of a file has a blank over what is gone."""
        head = place.head(begin) if self._header and begin == 0 else None
        if head is None or head[1] != BLANK_MAGIC:
            return begin
        return head[0] if 0 < head[0] < place.length and place.is_plausible(head[0]) else begin

    def _look_at_blank(self, place: FilePlace, at: int, size: int) -> _Stretch:
        """A blank that the kernel does not know, or that is wrong."""
        if self._header and size == place.length - at:
            return _Stretch(at, place.length, Reason.NONE, RowKind.BLANK)
        return self._stretch(place, at, Reason.BLANK, cut=size > place.length - at)

    def _look_at_record(self, place: FilePlace, at: int, size: int) -> _Plain | _Stretch | _Crooked:
        record = at + self._header
        rest = place.length - record
        parts = place.parts(at)
        fits = FIXED_SIZE <= size <= rest
        if parts is None:
            return self._stretch(place, at, Reason.SIZE, cut=True)
        if fits and parts.parts == size:
            return _Plain(size)
        ends = [record + each for each in (parts.parts, size) if FIXED_SIZE <= each <= rest]
        followed = [end for end in ends if end == place.length or place.is_plausible(end)] or [end for end in ends if place.is_zero(end)]
        if followed:
            return _Crooked(at, parts, followed[0])
        cut = size > rest and parts.stored_offset == place.base + record
        return self._stretch(place, at, Reason.LENGTHS if fits else Reason.SIZE, cut=cut)

    def _zeros(self, place: FilePlace, at: int) -> _Stretch:
        """The end of the data, or a hole."""
        if place.data_in_rest(at) is not None:
            # Whoever writes the file may have written there just now.
            return _Stretch(at, at, Reason.NONE) if not place.is_zero(at) else self._stretch(place, at, Reason.HOLE)
        if not self.range.file.last:
            return _Stretch(at, place.length, Reason.ZEROS)
        self.data_end = place.base + at
        return _Stretch(at, place.length, Reason.NONE)

    def _stretch(self, place: FilePlace, at: int, reason: Reason, *, cut: bool = False) -> _Stretch:
        """A stretch up to the next plausible place, else to the last byte that is not zero. `cut`: a record that the file's end cuts."""
        end = place.next_plausible(at + 1, place.length)
        if end is not None:
            return _Stretch(at, end, reason)
        data = place.data_in_rest(at)
        last = at if data is None else data[1]
        return _Stretch(at, last + 1, Reason.TRUNCATED if cut else reason)

    def _crooked_row(self, found: _Crooked, window: Window, table: Any) -> None:
        """The row of a record whose lengths do not agree. Its parts are read only if it is the size that is wrong."""
        parts, at = found.parts, found.start
        record = at + self._header
        if record + parts.parts == found.next:
            needed = self._header + parts.parts
            topic_at, lengths = parts.topic_at - record, (parts.body_length, parts.topic_length, parts.properties_length)
        else:
            needed = min(self._header + FIXED_SIZE + 2 * IPV6_MORE, window.source.length - at)
            topic_at, lengths = 0, (-1, -1, -1)
        if not window.has(at, at + needed):
            window.fill(at, needed)
        self.names.grow()
        given = np.array([parts.size, parts.parts, parts.body_at - record, topic_at, *lengths], np.int64)
        self._step(window, table, at, 0, at + 1, given.ctypes.data)

    def _step(self, window: Window, table: Column, at: int, row: int, stop: int, given: int = 0) -> tuple[int, int, int]:
        """Let the kernel walk from a place in the file; the next row, the next place in the window, and why it stopped."""
        # The kernel's places are those of records, behind their headers.
        start = window.start - self._header
        row, there, why = self._kernel.walk(
            window.address, at - start, window.end - window.start, stop - start, window.source.length - window.start,
            window.offset_of_zero, self._flags, table.ctypes.data, row, self._most, self.names.address, given, self._header,
        )  # fmt: skip
        return row, there - self._header, why
