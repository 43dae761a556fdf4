"""Walk over one range of a commit log file: the kernel reads regular records, this module handles everything irregular.

Each byte of the range belongs to exactly one row, or to the zeros at the end of the data. The rows depend only on the file's bytes, not on
how the file is cut into ranges or chunks.
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
from .window import WINDOW_SIZE, Window, new_buffer


@dataclass(frozen=True)
class _Stretch:
    """Bytes [start, end) of the file that are not a record. CORRUPT without a `reason` gets no row: zeros after the data."""

    start: int
    end: int
    reason: Reason
    kind: RowKind = RowKind.CORRUPT


@dataclass(frozen=True)
class _Inconsistent:
    """A record at `start` whose lengths do not agree, and where the next record begins."""

    start: int
    parts: RecordPlaces
    next: int


@dataclass(frozen=True)
class _LargeRecord:
    """A regular record that is larger than the window."""

    size: int


class Walk:
    """Yield chunks of rows in the order of the file; iterate once. Afterwards `walked` states where the walk began and ended.

    `data_end` is the physical offset at which zeros to the file's end begin, None if the walk did not reach them. The iteration raises
    StoredError for a file that cannot be read or is truncated.

    `growing`: a broker may be writing after the data. The walk of the last file ends at the first zeros, and does not read what follows
    them.

    Memory for reuse: `table` is from `new_table`, whose additional lines stay unchanged. `buffer` is from `new_buffer` and replaces a new
    buffer of `window` bytes.
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
        buffer: NDArray[np.uint8] | None = None,
        source: OpenSource | None = None,
        table: NDArray[np.int64] | None = None,
        growing: bool = False,
    ) -> None:
        from . import kernel
        from .properties import CRC

        self._kernel: Any = kernel
        self.range = range_
        self.names = names
        self.data_end: int | None = None
        self._growing = growing and range_.file.last
        self._header = range_.file.header
        self._flags = (CRC if crc else 0) | (kernel.PROPERTIES if properties else 0)
        self._flags |= 0 if range_.file.hosts_by_flag else kernel.SHORT_HOSTS
        self._most = min(rows, ROWS)
        self._size, self._buffer = window, buffer
        self._open_source = source
        self._table = new_table() if table is None else table
        self._walked: Walked | None = None

    @property
    def walked(self) -> Walked:
        if self._walked is None:
            raise RuntimeError("the walk is not over")
        return self._walked

    def __iter__(self) -> Iterator[Chunk]:
        source = self._open_source or open_source(self.range.file.path)
        try:
            yield from self._chunks(source)
        finally:
            if self._open_source is None:
                source.close()

    def _chunks(self, source: OpenSource) -> Iterator[Chunk]:
        kernel, range_ = self._kernel, self.range
        base = range_.file.base
        positions = FilePlace(source, base, self._header, hosts_by_flag=range_.file.hosts_by_flag)
        begin = self._begin(positions)
        if begin is None:
            self._walked = Walked(range_, None, None, 0, 0)
            return
        buffer = new_buffer(min(self._size, max(source.length - begin, 1))) if self._buffer is None else self._buffer
        window = Window(source, base, buffer)
        table = self._table
        at, row, total = self._after_blank(positions, begin), 0, 0
        while at < positions.length and not (at >= range_.end and (range_.exact_end or positions.is_plausible(at))):
            if not window.has(at, at + 1):
                if row:
                    yield self._chunk(table, row, window)
                    total, row = total + row, 0
                window.fill(at)
            # After the range's end one record at a time, up to the start of the next range.
            stop = range_.end if at < range_.end else at + 1
            row, next_at, stop_reason = self._step(window, table, at, row, stop)
            at = next_at + window.start
            if stop_reason == kernel.GROW:
                self.names.grow()
                continue
            if stop_reason == kernel.STOP:
                continue
            if row:
                yield self._chunk(table, row, window)
                total, row = total + row, 0
            if stop_reason == kernel.MORE and window.start != at:
                window.fill(at)
            elif stop_reason == kernel.FULL:
                if 2 * (window.end - at) < window.size:  # the remaining bytes would be a chunk of few rows
                    window.fill(at)
            else:
                irregular = self._classify(positions, at)
                if isinstance(irregular, _LargeRecord):
                    window.fill(at, self._header + irregular.size)
                elif isinstance(irregular, _Stretch):
                    if irregular.kind == RowKind.EMPTY and not window.has(at, irregular.end):
                        window.fill(at, irregular.end - at)
                    at = irregular.end
                    if irregular.reason or irregular.kind != RowKind.CORRUPT:
                        kernel.blank_row(table.ctypes.data, irregular.kind, irregular.reason, base + irregular.start, at - irregular.start)
                        row = 1
                else:
                    self._write_inconsistent(irregular, window, table)
                    row, at = 1, irregular.next
        if row:
            yield self._chunk(table, row, window)
        self._walked = Walked(range_, begin, at, total + row, at - begin)

    def _chunk(self, table: Any, rows: int, window: Window) -> Chunk:
        return Chunk(self.range, table[:, :rows], self.names, window)

    def _begin(self, positions: FilePlace) -> int | None:
        """Return where the walk begins, None if no record begins in the range."""
        if self.range.start >= min(self.range.end, positions.length):
            return None
        return self.range.start if self.range.exact else positions.next_plausible(self.range.start, self.range.end)

    def _classify(self, positions: FilePlace, at: int) -> _LargeRecord | _Stretch | _Inconsistent:
        """Classify what is at an irregular position."""
        empty = positions.empty(at)
        if empty is not None:
            return _Stretch(at, empty, Reason.NONE, RowKind.EMPTY)
        head = positions.head(at)
        if head is None:
            return self._zeros(positions, at) if positions.is_zero(at) else _Stretch(at, positions.length, Reason.TRUNCATED)
        size, magic = head
        if magic in (MESSAGE_MAGIC, MESSAGE_MAGIC_V2):
            return self._classify_record(positions, at, size)
        if magic == BLANK_MAGIC:
            return self._classify_blank(positions, at, size)
        if size == 0 and magic == 0:
            return self._zeros(positions, at)
        return self._stretch(positions, at, Reason.MAGIC)

    def _after_blank(self, positions: FilePlace, begin: int) -> int:
        """Return where the data of a DLedger file begins.

        If a log was cleaned in the middle of a file, a blank covers the removed part.
        """
        head = positions.head(begin) if self._header and begin == 0 else None
        if head is None or head[1] != BLANK_MAGIC:
            return begin
        return head[0] if 0 < head[0] < positions.length and positions.is_plausible(head[0]) else begin

    def _classify_blank(self, positions: FilePlace, at: int, size: int) -> _Stretch:
        """Classify a blank that the kernel does not know, or that is wrong."""
        if self._header and size == positions.length - at:
            return _Stretch(at, positions.length, Reason.NONE, RowKind.BLANK)
        return self._stretch(positions, at, Reason.BLANK, cut=size > positions.length - at)

    def _classify_record(self, positions: FilePlace, at: int, size: int) -> _LargeRecord | _Stretch | _Inconsistent:
        record_at = at + self._header
        rest = positions.length - record_at
        parts = positions.parts(at)
        fits = FIXED_SIZE <= size <= rest
        if parts is None:
            return self._stretch(positions, at, Reason.SIZE, cut=True)
        if fits and parts.parts == size:
            return _LargeRecord(size)
        ends = [record_at + length for length in (parts.parts, size) if FIXED_SIZE <= length <= rest]
        plausible_ends = [end for end in ends if end == positions.length or positions.is_plausible(end)]
        next_records = plausible_ends or [end for end in ends if positions.is_zero(end)]
        if next_records:
            return _Inconsistent(at, parts, next_records[0])
        cut = size > rest and parts.stored_offset == positions.base + record_at
        return self._stretch(positions, at, Reason.LENGTHS if fits else Reason.SIZE, cut=cut)

    def _zeros(self, positions: FilePlace, at: int) -> _Stretch:
        """Return the end of the data, or a hole."""
        if self._growing:
            self.data_end = positions.base + at
            return _Stretch(at, positions.length, Reason.NONE)
        if positions.data_in_rest(at) is not None:
            # A running broker may have written here since `head` was read.
            return _Stretch(at, at, Reason.NONE) if not positions.is_zero(at) else self._stretch(positions, at, Reason.HOLE)
        if not self.range.file.last:
            return _Stretch(at, positions.length, Reason.ZEROS)
        self.data_end = positions.base + at
        return _Stretch(at, positions.length, Reason.NONE)

    def _stretch(self, positions: FilePlace, at: int, reason: Reason, *, cut: bool = False) -> _Stretch:
        """Return a stretch up to the next plausible position, else up to the last byte that is not zero.

        `cut`: the end of the file truncates a record.
        """
        end = positions.next_plausible(at + 1, positions.length)
        if end is not None:
            return _Stretch(at, end, reason)
        data = positions.data_in_rest(at)
        last = at if data is None else data[1]
        return _Stretch(at, last + 1, Reason.TRUNCATED if cut else reason)

    def _write_inconsistent(self, record: _Inconsistent, window: Window, table: Any) -> None:
        """Write the row of a record whose lengths do not agree. Its parts are read only if the size is wrong."""
        parts, at = record.parts, record.start
        record_at = at + self._header
        if record_at + parts.parts == record.next:
            needed = self._header + parts.parts
            topic_at, lengths = parts.topic_at - record_at, (parts.body_length, parts.topic_length, parts.properties_length)
        else:
            needed = min(self._header + FIXED_SIZE + 2 * IPV6_MORE, window.source.length - at)
            topic_at, lengths = 0, (-1, -1, -1)
        if not window.has(at, at + needed):
            window.fill(at, needed)
        self.names.grow()
        known_lengths = np.array([parts.size, parts.parts, parts.body_at - record_at, topic_at, *lengths], np.int64)
        self._step(window, table, at, 0, at + 1, known_lengths.ctypes.data)

    def _step(self, window: Window, table: Column, at: int, row: int, stop: int, known_lengths: int = 0) -> tuple[int, int, int]:
        """Let the kernel walk from position `at` of the file.

        Returns the next row, the next position in the window, and the reason of the stop.
        """
        # The kernel's positions are those of records, after their headers.
        start = window.start - self._header
        row, next_at, stop_reason = self._kernel.walk(
            window.address, at - start, window.end - window.start, stop - start, window.source.length - window.start,
            window.offset_of_zero, self._flags, table.ctypes.data, row, self._most, self.names.address, known_lengths, self._header,
        )  # fmt: skip
        return row, next_at - self._header, stop_reason
