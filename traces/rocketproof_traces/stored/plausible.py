"""What a place in a file is, looked at with care: where a walk begins, and where it finds something irregular.

These functions read little by little and are slow. A place is plausible if a blank there reaches to the end of its file, or if a record
there has lengths that add up to its size and the physical offset it lies at, and its body has the right CRC or something of that kind
follows it too.
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
_NEITHER = 0, 1  # a size and a magic number of nothing
_BLOCK = 1 << 20

LARGEST = (16 << 20) + (64 << 10)
"""Bytes of the largest record: a message comes in one frame, and RocketMQ's frames have up to 16 MiB unless it is configured otherwise."""


class FilePlace:
    """Questions about places in a file of the log, whose first byte has the physical offset `base`. A place is where a record begins
    with the `header` bytes before it. `hosts_by_flag`: as of `segments.LogFile`."""

    def __init__(self, source: OpenSource, base: int, header: int = 0, *, hosts_by_flag: bool = True) -> None:
        self.hosts_by_flag = hosts_by_flag
        self.source = source
        self.base = base
        self.header = header
        self.length = source.length

    def head(self, at: int) -> tuple[int, int] | None:
        """The size and magic number of the record or blank at a place, zeros where nothing is written; None if the file ends in them."""
        if self.header:
            return self._head_of_entry(at)
        if at + BLANK_SIZE > self.length:
            return None
        size, magic = _PAIR.unpack(read(self.source, at, BLANK_SIZE))
        return size, magic

    def _head_of_entry(self, at: int) -> tuple[int, int] | None:
        """The same of an entry of DLedger."""
        data = read(self.source, at, min(self.header + BLANK_SIZE, self.length - at))
        kind, size = _LEDGER_PAIR.unpack_from(data) if len(data) >= BLANK_SIZE else (0, 0)
        if kind == LEDGER_BLANK:
            return size, BLANK_MAGIC
        if len(data) < self.header + BLANK_SIZE:
            return None
        inner, magic = _PAIR.unpack_from(data, self.header)
        if magic in (MESSAGE_MAGIC, MESSAGE_MAGIC_V2) or not (kind or size or inner or magic):
            return inner, magic
        return _NEITHER

    def empty(self, at: int) -> int | None:
        """Where the entry of DLedger at a place ends that has no record."""
        if not self.header or at + self.header > self.length:
            return None
        kind, size, position, body = _LEDGER.unpack(read(self.source, at, self.header))
        agrees = kind in LEDGER_OTHERS and position == self.base + at and body >= 0 and size == self.header + body
        return at + index(size) if agrees and at + size <= self.length else None

    def parts(self, at: int) -> RecordPlaces | None:
        """The record at a place with a magic number; None if the file ends in its fixed places."""
        at += self.header
        if at + FIXED_SIZE > self.length:
            return None
        head = head_of(read(self.source, at, min(LONGEST_HEAD, self.length - at)), hosts_by_flag=self.hosts_by_flag)
        if head is None or at + head.length + FIXED_SIZE - BODY_AT > self.length:
            return None
        return parts_of(lambda place, count: read(self.source, place, count), at, self.length, head)

    def is_zero(self, at: int) -> bool:
        """Whether what would be a size and a magic number are zeros."""
        return not any(read(self.source, at, min(BLANK_SIZE, self.length - at)))

    def agrees(self, at: int) -> bool:
        """Whether a blank stands there, or a record that fits and lies where it says."""
        return self._agreeing(at) is not None

    def _agreeing(self, at: int) -> int | None:
        """Where the blank or record that agrees ends."""
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
        """Whether a record or a blank begins at a place, by all that can be seen from there."""
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
        """The first plausible place in [at, end), passing over entries of DLedger without a record."""
        before = self.header + 4
        places = (found - before for found in self._magic_numbers(at + before, min(end + before, self.length)))
        found = next(filter(self.is_plausible, places), None)
        if found is None and self.header:
            return next((place for place in self._last_blank(at) if place < end), None)
        return found

    def _last_blank(self, at: int) -> Iterator[int]:
        """Where the blank at the end of a file of DLedger begins, at a place or behind it: all behind its type and size are zeros."""
        last = self._last_data(at)
        return (place for place in range(max(at, last - 7), last - 2) if self._agreeing(place) == self.length)

    def _last_data(self, at: int) -> int:
        """The last byte that is not zero, looked for from the file's end down to a place; -1 for none."""
        from .kernel import find_data

        room = np.zeros(_BLOCK + 2 * MARGIN, np.uint8)
        end = self.length
        while end > at:
            start = max(at, end - _BLOCK)
            if self.source.data_from(start) < end:
                self.source.read_into(start, room[MARGIN : MARGIN + end - start].data)
                first, last = find_data(room.ctypes.data + MARGIN, 0, end - start)
                if first < end - start:
                    return start + index(last)
            end = start
        return -1

    def is_covered(self, at: int) -> bool:
        """Whether a record or a blank that agrees, and begins up to LARGEST bytes before a place, reaches beyond it."""
        from .kernel import find_reaching

        first = max(0, at - LARGEST)
        count = at - first
        room = np.zeros(count + 2 * MARGIN, np.uint8)
        self.source.read_into(first, room[MARGIN : MARGIN + count].data)
        here = self.header + 3
        while (here := find_reaching(room.ctypes.data + MARGIN, here + 1, count)) < count:
            end = self._agreeing(first + here - 4 - self.header)
            if end is not None and end > at:
                return True
        return False

    def _magic_numbers(self, at: int, end: int) -> Iterator[int]:
        """Places of magic numbers that begin in [at, end)."""
        from .kernel import find_magic

        room = np.zeros(_BLOCK + 2 * MARGIN, np.uint8)
        address = room.ctypes.data + MARGIN
        at = max(at, self.source.data_from(at) - 3)
        while at < end:
            count = min(_BLOCK, self.length - at)
            self.source.read_into(at, room[MARGIN : MARGIN + count].data)
            here = find_magic(address, 0, count)
            while here < count:
                if at + here >= end:
                    return
                yield at + here
                here = find_magic(address, here + 1, count)
            # A magic number may lie across two blocks.
            at += count if at + count >= self.length else count - 3

    def data_in_rest(self, at: int) -> tuple[int, int] | None:
        """The first and the last byte from a place on that are not zero; None if the rest of the file is zeros."""
        from .kernel import find_data

        room = np.zeros(_BLOCK + 2 * MARGIN, np.uint8)
        address = room.ctypes.data + MARGIN
        first, last = -1, -1
        at = self.source.data_from(at)
        while at < self.length:
            count = min(_BLOCK, self.length - at)
            self.source.read_into(at, room[MARGIN : MARGIN + count].data)
            low, high = find_data(address, 0, count)
            if low < count:
                first, last = (at + low if first < 0 else first), at + high
            at = self.source.data_from(at + count) if at + count < self.length else self.length
        return None if first < 0 else (first, last)
