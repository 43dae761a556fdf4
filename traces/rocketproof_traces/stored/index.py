"""Read the index files, which map hashes of keys to physical offsets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from struct import Struct

import numpy as np
from numpy.typing import NDArray

from rocketproof_protocol.numbers import is_digits

from .errors import StoredError
from .facts import LIMIT, Column
from .layout import INDEX_ENTRY, INDEX_HEADER, INDEX_SLOT
from .paths import join, names_of, open_source, read

_HEADER = Struct(">qqqqii")
_ENTRY = np.dtype([("keyHash", ">i4"), ("physicalOffset", ">i8"), ("seconds", ">i4"), ("previous", ">i4")])


@dataclass(frozen=True)
class IndexEntries:
    """Columns of entries: the key's hash, the record's physical offset, seconds since the file's first record, the previous entry of the
    slot."""

    keyHash: Column  # noqa: N815  (columns have the names that rules use)
    physicalOffset: Column  # noqa: N815
    seconds: Column
    previous: Column


@dataclass(frozen=True)
class StoredIndexFile:
    """An index file and its header. `count` is the number of the next entry; entry 0 is never used.

    The file does not contain its number of slots. Without an explicit number, `slots` follows from the file's length and the broker's ratio
    of four entries per slot.
    """

    path: str
    length: int
    begin_timestamp: int
    end_timestamp: int
    begin_offset: int
    end_offset: int
    used_slots: int
    count: int
    slots: int

    @property
    def limit(self) -> int:
        """The number of entries for which the file has room."""
        return max(0, self.length - INDEX_HEADER - self.slots * INDEX_SLOT) // INDEX_ENTRY

    def entries(self, first: int, count: int) -> IndexEntries:
        """Return at most `count` entries from number `first` on. Raises StoredError."""
        past = min(first + count, self.count, self.limit)
        if first >= past:
            return IndexEntries(*(np.empty(0, np.int64) for _ in range(4)))
        start = INDEX_HEADER + self.slots * INDEX_SLOT + first * INDEX_ENTRY
        raw = np.frombuffer(self._read(start, (past - first) * INDEX_ENTRY), _ENTRY)
        offset = np.clip(raw["physicalOffset"].astype(np.int64), -LIMIT, LIMIT)
        return IndexEntries(raw["keyHash"].astype(np.int64), offset, raw["seconds"].astype(np.int64), raw["previous"].astype(np.int64))

    def heads(self, first: int, count: int) -> NDArray[np.int64]:
        """Return the number of the newest entry of each slot, from slot `first` on. Raises StoredError."""
        past = min(first + count, self.slots)
        data = self._read(INDEX_HEADER + first * INDEX_SLOT, max(0, past - first) * INDEX_SLOT)
        return np.frombuffer(data, ">i4").astype(np.int64)

    def _read(self, start: int, size: int) -> bytes:
        with open_source(self.path) as source:
            return read(source, start, size)


def index_files(folders: Sequence[str], slots: int | None = None) -> list[StoredIndexFile]:
    """Return the index files of a store in the order of their names. Raises StoredError."""
    files = []
    for folder in folders:
        inner = join(folder, "index")
        files += [open_index(join(inner, name), slots) for name in names_of(inner) if is_digits(name)]
    return files


def open_index(path: str, slots: int | None = None) -> StoredIndexFile:
    """Read the header of an index file. Raises StoredError."""
    with open_source(path) as source:
        if source.length < INDEX_HEADER:
            raise StoredError(path, f"has {source.length} bytes, fewer than the header of an index", "take the file out of the store")
        begin, end, first, last, used, count = _HEADER.unpack(read(source, 0, INDEX_HEADER))
        fitting = (source.length - INDEX_HEADER) // (INDEX_SLOT + 4 * INDEX_ENTRY)
        return StoredIndexFile(path, source.length, begin, end, first, last, used, max(1, count), fitting if slots is None else slots)
