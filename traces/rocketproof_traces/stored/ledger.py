"""Read DLedger's part of a log: the header of each entry as columns, and the index of the log.

An index file is named by the offset of its first byte in the whole index. Entry n is at offset n * LEDGER_INDEX.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rocketproof_protocol.numbers import is_digits

from .chunk import Chunk
from .facts import LIMIT, Column
from .kinds import RowKind
from .layout import LEDGER_HEADER, LEDGER_INDEX
from .paths import KeptOpen, join, names_of, offset_of, read

_HEADER = np.dtype(
    [
        *[("kind", ">i4"), ("size", ">i4"), ("index", ">i8"), ("term", ">i8"), ("position", ">i8")],
        *[("channel", ">i4"), ("chainCRC", ">i4"), ("bodyCRC", ">i4"), ("bodySize", ">i4")],
    ]
)
_INDEX = np.dtype([("kind", ">i4"), ("position", ">i8"), ("size", ">i4"), ("index", ">i8"), ("term", ">i8")])


def entries(chunk: Chunk) -> tuple[NDArray[np.int64], dict[str, Column]]:
    """Return the rows of a chunk that are DLedger entries, and the columns of their headers.

    Further columns:

    - `place`: the physical offset of the entry.
    - `recordSize`: the size in its record, 0 without a record.
    - `computedCRC`: the checksum of the body if the header has one, else 0.

    Checksums are without the highest bit. Raises StoredError.
    """
    kinds = chunk["kind"]
    rows = np.flatnonzero(chunk.is_message | (kinds == RowKind.EMPTY))
    has_record = kinds[rows] != RowKind.EMPTY
    place = chunk["physicalOffset"][rows] - LEDGER_HEADER * has_record
    raw = np.frombuffer(chunk.spans(place, LEDGER_HEADER), _HEADER)
    columns = {name: _cut(raw[name]) for name in ("kind", "size", "index", "term", "position", "bodyCRC", "bodySize")}
    columns["bodyCRC"] &= 0x7FFFFFFF
    computed = np.zeros(len(rows), np.int64)
    for row in np.flatnonzero(columns["bodyCRC"]):
        body = chunk.bytes_at(int(place[row]) + LEDGER_HEADER, max(0, int(columns["bodySize"][row])))
        computed[row] = zlib.crc32(body) & 0x7FFFFFFF
    return rows, columns | {"place": place, "recordSize": chunk["size"][rows] * has_record, "computedCRC": computed}


class LedgerIndex(KeptOpen):
    """The index files of a folder, kept open. Without a folder there are no files."""

    def __init__(self, folder: str) -> None:
        super().__init__()
        self._folder = folder

    @cached_property
    def _files(self) -> tuple[tuple[int, str], ...]:
        names = names_of(self._folder) if self._folder else []
        return tuple((offset_of(self._folder, name), join(self._folder, name)) for name in names if is_digits(name))

    def find(self, numbers: Column) -> Mapping[str, Column]:
        """Return the index columns of the entries with these numbers.

        `there` is 2 if the index has an entry, 1 if it has zeros there, 0 if its files do not extend to the number. Raises StoredError.
        """
        raw = np.zeros(len(numbers), _INDEX)
        there = np.zeros(len(numbers), np.int64)
        for base, path in self._files:
            source = self.source(path)
            first = base // LEDGER_INDEX
            rows = np.flatnonzero((numbers >= first) & (numbers < first + source.length // LEDGER_INDEX))
            # Undamaged numbers are consecutive: each consecutive run is read at once.
            for run in np.split(rows, np.flatnonzero(np.diff(numbers[rows]) != 1) + 1):
                if len(run):
                    at = int(numbers[run[0]]) * LEDGER_INDEX - base
                    raw[run] = np.frombuffer(read(source, at, len(run) * LEDGER_INDEX), _INDEX)
            there[rows] = 1
        there += raw["size"] != 0
        return {"there": there} | {name: _cut(raw[name]) for name in _INDEX.names or ()}


def _cut(numbers: NDArray[np.int64]) -> Column:
    return np.clip(numbers.astype(np.int64), -LIMIT, LIMIT)
