"""One file of the index: a hash table from keys to positions in the log.

It has a header of 40 bytes, slots of 4, and entries of 20. A slot contains the number of its newest entry; each entry contains the number
of the previous one in its slot. Entry 0 is never used: its number means that there is none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from operator import attrgetter
from struct import Struct
from typing import NamedTuple

from ..java import INT_MAX, absolute, string_hash, wrap
from ..ports import Region

HEADER_SIZE, SLOT_SIZE, ENTRY_SIZE = 40, 4, 20
_HEADER = Struct(">qqqqii")
_SLOT = Struct(">i")
_ENTRY = Struct(">iqii")
_COUNTS = 32
SECOND = 1000


class IndexEntry(NamedTuple):
    """The hash of a key, its record's position in the log, seconds since the file's first record, and the previous entry in its slot."""

    key_hash: int
    physical_offset: int
    seconds: int
    previous: int


@dataclass(slots=True)
class IndexHeader:
    """Store timestamps and positions of the first and last record, the number of used slots, and the number of the next entry."""

    begin_timestamp: int = 0
    end_timestamp: int = 0
    begin_physical_offset: int = 0
    end_physical_offset: int = 0
    hash_slot_count: int = 0
    index_count: int = 1


_FIELDS = attrgetter(*IndexHeader.__dataclass_fields__)


def key_hash(key: str) -> int:
    """Return the hash of a key. It is never negative; the smallest int counts as 0."""
    return max(0, absolute(string_hash(key)))


class MappedIndexFile:
    """A mapped index file; `slots` and `limit` are its numbers of slots and entries."""

    __slots__ = ("header", "limit", "path", "region", "slots")

    def __init__(self, path: str, region: Region, slots: int, limit: int) -> None:
        self.path = path
        self.region = region
        self.slots = slots
        self.limit = limit
        self.header = IndexHeader()

    def load(self) -> None:
        self.header = IndexHeader(*_HEADER.unpack(self.region.read(0, HEADER_SIZE)))
        self.header.index_count = max(1, self.header.index_count)

    def follow(self, last: MappedIndexFile) -> None:
        """Begin where the previous file ended."""
        if last.header.end_physical_offset > 0:
            self.header.begin_physical_offset = self.header.end_physical_offset = last.header.end_physical_offset
        if last.header.end_timestamp > 0:
            self.header.begin_timestamp = self.header.end_timestamp = last.header.end_timestamp
        self.region.write(0, self._header()[:_COUNTS])  # the counts are written with the first entry

    @property
    def is_full(self) -> bool:
        return self.header.index_count >= self.limit

    def put(self, key: str, physical_offset: int, store_timestamp: int) -> bool:
        """Add an entry. Return False if the file is full. Raises OSError.

        An entry is written before its slot, and the slot before the header that counts the entry.
        """
        if self.is_full:
            return False
        header, number = self.header, self.header.index_count
        hashed = key_hash(key)
        slot = HEADER_SIZE + hashed % self.slots * SLOT_SIZE
        previous = self._valid(_SLOT.unpack(self.region.read(slot, SLOT_SIZE))[0])
        seconds = 0
        if header.begin_timestamp > 0:
            seconds = min(INT_MAX, max(0, store_timestamp - header.begin_timestamp) // SECOND)
        self.region.write(self._position(number), _ENTRY.pack(hashed, physical_offset, seconds, previous))
        self.region.write(slot, _SLOT.pack(number))
        if number <= 1:
            header.begin_physical_offset, header.begin_timestamp = physical_offset, store_timestamp
        if previous == 0:
            header.hash_slot_count = wrap(header.hash_slot_count + 1)
        header.index_count += 1
        header.end_physical_offset, header.end_timestamp = physical_offset, store_timestamp
        self.region.write(0, self._header())
        return True

    def _valid(self, number: int) -> int:
        """Return an entry's number if it is valid, else 0."""
        return number if 0 < number <= self.header.index_count and number < self.limit else 0

    def _position(self, number: int) -> int:
        return HEADER_SIZE + self.slots * SLOT_SIZE + number * ENTRY_SIZE

    def _header(self) -> bytes:
        return _HEADER.pack(*_FIELDS(self.header))

    def flush(self) -> None:
        """Write the header and sync the file. Raises OSError."""
        self.region.write(0, self._header())
        self.region.force()

    def entry(self, number: int) -> IndexEntry:
        return IndexEntry._make(_ENTRY.unpack(self.region.read(self._position(number), ENTRY_SIZE)))

    def touches(self, begin: int, end: int) -> bool:
        """Return whether the file has records stored between two times."""
        first, last = self.header.begin_timestamp, self.header.end_timestamp
        return (begin < first and end > last) or first <= begin <= last or first <= end <= last

    def find(self, key: str, begin: int, end: int) -> Iterator[int]:
        """Yield positions of records stored between two times whose key has this hash, newest first. Other keys may have it too.

        Each entry leads to an older one with a smaller number. A chain whose numbers increase is damaged, and ends there.
        """
        hashed = key_hash(key)
        number = self._valid(_SLOT.unpack(self.region.read(HEADER_SIZE + hashed % self.slots * SLOT_SIZE, SLOT_SIZE))[0])
        if self.header.index_count <= 1:
            return
        while number:
            entry = self.entry(number)
            time = self.header.begin_timestamp + entry.seconds * SECOND
            if entry.seconds < 0:
                return
            if entry.key_hash == hashed and begin <= time <= end:
                yield entry.physical_offset
            before = self._valid(entry.previous)
            if before >= number or time < begin:
                return
            number = before
