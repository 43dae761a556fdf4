"""Decide whether a record begins at a position of a log file: at the begin of a walk, and where it meets an irregularity.

These functions read few bytes at a time and are slow. A position is plausible in two cases:

- A blank there extends to the end of its file.
- A record there has lengths that add up to its size, and its stored physical offset is the position. In addition, its body has the right
  CRC or a record, a blank or zeros follow it.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from operator import index
from struct import Struct

import numpy as np

from .layout import BLANK_MAGIC, BLANK_SIZE, BODY_AT, FIXED_SIZE, LEDGER_BLANK, LEDGER_OTHERS, MESSAGE_MAGIC, MESSAGE_MAGIC_V2
from .memory import MARGIN
from .paths import OpenSource, read
from .record import LONGEST_HEAD, RecordPlaces, head_of, parts_of

_PAIR, _INT = Struct(">iI"), Struct(">i")
_LEDGER_PAIR, _LEDGER = Struct(">ii"), Struct(">ii16xq12xi")
_NO_MAGIC = 0, 1  # a size and a magic number of neither a record nor a blank
_BLOCK = 1 << 20

LARGEST = (16 << 20) + (64 << 10)
"""Bytes of the largest record: a message fits into one frame, and RocketMQ's frames have up to 16 MiB by default."""


class FilePlace:
    """Examine positions in a file of the log, whose first byte has the physical offset `base`.

    A position is where a record begins, including the `header` bytes before it. `hosts_by_flag`: see `segments.LogFile`.
    """

    def __init__(self, source: OpenSource, base: int, header: int = 0, *, hosts_by_flag: bool = True) -> None:
        self.hosts_by_flag = hosts_by_flag
        self.source = source
        self.base = base
        self.header = header
        self.length = source.length

    def head(self, at: int) -> tuple[int, int] | None:
        """Return the size and magic number of the record or blank at a position, zeros if nothing is written; None if the file ends
        earlier."""
        if self.header:
            return self._head_of_entry(at)
        if at + BLANK_SIZE > self.length:
            return None
        size, magic = _PAIR.unpack(read(self.source, at, BLANK_SIZE))
        return size, magic

    def _head_of_entry(self, at: int) -> tuple[int, int] | None:
        """Return the same for an entry of DLedger."""
        data = read(self.source, at, min(self.header + BLANK_SIZE, self.length - at))
        kind, size = _LEDGER_PAIR.unpack_from(data) if len(data) >= BLANK_SIZE else (0, 0)
        if kind == LEDGER_BLANK:
            return size, BLANK_MAGIC
        if len(data) < self.header + BLANK_SIZE:
            return None
        inner, magic = _PAIR.unpack_from(data, self.header)
        if magic in (MESSAGE_MAGIC, MESSAGE_MAGIC_V2) or not (kind or size or inner or magic):
            return inner, magic
        return _NO_MAGIC

    def empty(self, at: int) -> int | None:
        """Return the end of a DLedger entry without a record at a position; None if there is no such entry."""
        if not self.header or at + self.header > self.length:
            return None
        kind, size, position, body = _LEDGER.unpack(read(self.source, at, self.header))
        is_valid = kind in LEDGER_OTHERS and position == self.base + at and body >= 0 and size == self.header + body
        return at + index(size) if is_valid and at + size <= self.length else None

    def parts(self, at: int) -> RecordPlaces | None:
        """Return the places of the record at a position that has a magic number; None if the file ends in its fixed part."""
        at += self.header
        if at + FIXED_SIZE > self.length:
            return None
        head = head_of(read(self.source, at, min(LONGEST_HEAD, self.length - at)), hosts_by_flag=self.hosts_by_flag)
        if head is None or at + head.length + FIXED_SIZE - BODY_AT > self.length:
            return None
        return parts_of(lambda place, count: read(self.source, place, count), at, self.length, head)

    def is_zero(self, at: int) -> bool:
        """Return whether the bytes of the size and magic number are zeros."""
        return not any(read(self.source, at, min(BLANK_SIZE, self.length - at)))

    def agrees(self, at: int) -> bool:
        """Return whether a valid blank, or a record with valid lengths and physical offset, begins at a position."""
        return self._agreeing(at) is not None

    def _agreeing(self, at: int) -> int | None:
        """Return the end of the valid blank or record at a position; None if there is none."""
        head = self.head(at)
        if head is None:
            return self.empty(at)
        size, magic = head
        if magic == BLANK_MAGIC:
            return self.length if size == self.length - at else None
        if magic not in (MESSAGE_MAGIC, MESSAGE_MAGIC_V2):
            return self.empty(at)
        parts, record = self.parts(at), at + self.header
        if parts is None or parts.parts != size or parts.stored_offset != self.base + record:
            return None
        return record + size

    def is_plausible(self, at: int) -> bool:
        """Return whether a record or a blank begins at a position, judged by its bytes and what follows it."""
        end = self._agreeing(at)
        if end is None:
            return False
        if end == self.length or self.agrees(end) or self.is_zero(end):
            return True
        parts = None if end == self.empty(at) else self.parts(at)
        return parts is not None and self._body_is_whole(at, parts)

    def _body_is_whole(self, at: int, parts: RecordPlaces) -> bool:
        (stored,) = _INT.unpack(read(self.source, at + self.header + 8, 4))
        return index(stored) == zlib.crc32(read(self.source, parts.body_at, parts.body_length)) & 0x7FFFFFFF

    def next_plausible(self, at: int, end: int) -> int | None:
        """Return the first plausible position in [at, end), skipping entries of DLedger without a record; None if there is none."""
        before = self.header + 4
        positions = (magic_at - before for magic_at in self._magic_numbers(at + before, min(end + before, self.length)))
        first = next(filter(self.is_plausible, positions), None)
        if first is None and self.header:
            return next((position for position in self._last_blank(at) if position < end), None)
        return first

    def _last_blank(self, at: int) -> Iterator[int]:
        """Yield where the blank at the end of a DLedger file begins, at or after a position. Zeros follow its type and size."""
        last = self._last_data(at)
        return (place for place in range(max(at, last - 7), last - 2) if self._agreeing(place) == self.length)

    def _last_data(self, at: int) -> int:
        """Return the last byte that is not zero, at or after a position; -1 if there is none. Searches from the file's end."""
        from .kernel import find_data

        buffer = np.zeros(_BLOCK + 2 * MARGIN, np.uint8)
        end = self.length
        while end > at:
            start = max(at, end - _BLOCK)
            if self.source.data_from(start) < end:
                self.source.read_into(start, buffer[MARGIN : MARGIN + end - start].data)
                first, last = find_data(buffer.ctypes.data + MARGIN, 0, end - start)
                if first < end - start:
                    return start + index(last)
            end = start
        return -1

    def is_covered(self, at: int) -> bool:
        """Return whether a valid record or blank that begins up to LARGEST bytes before a position extends over it."""
        from .kernel import find_reaching

        first = max(0, at - LARGEST)
        count = at - first
        buffer = np.zeros(count + 2 * MARGIN, np.uint8)
        self.source.read_into(first, buffer[MARGIN : MARGIN + count].data)
        here = self.header + 3
        while (here := find_reaching(buffer.ctypes.data + MARGIN, here + 1, count)) < count:
            end = self._agreeing(first + here - 4 - self.header)
            if end is not None and end > at:
                return True
        return False

    def _magic_numbers(self, at: int, end: int) -> Iterator[int]:
        """Yield the positions of magic numbers that begin in [at, end)."""
        from .kernel import find_magic

        buffer = np.zeros(_BLOCK + 2 * MARGIN, np.uint8)
        address = buffer.ctypes.data + MARGIN
        at = max(at, self.source.data_from(at) - 3)
        while at < end:
            count = min(_BLOCK, self.length - at)
            self.source.read_into(at, buffer[MARGIN : MARGIN + count].data)
            here = find_magic(address, 0, count)
            while here < count:
                if at + here >= end:
                    return
                yield at + here
                here = find_magic(address, here + 1, count)
            # A magic number may span two blocks.
            at += count if at + count >= self.length else count - 3

    def data_in_rest(self, at: int) -> tuple[int, int] | None:
        """Return the first and the last byte from a position on that are not zero; None if the rest of the file is zeros."""
        from .kernel import find_data

        buffer = np.zeros(_BLOCK + 2 * MARGIN, np.uint8)
        address = buffer.ctypes.data + MARGIN
        first, last = -1, -1
        at = self.source.data_from(at)
        while at < self.length:
            count = min(_BLOCK, self.length - at)
            self.source.read_into(at, buffer[MARGIN : MARGIN + count].data)
            low, high = find_data(address, 0, count)
            if low < count:
                first, last = (at + low if first < 0 else first), at + high
            at = self.source.data_from(at + count) if at + count < self.length else self.length
        return None if first < 0 else (first, last)
