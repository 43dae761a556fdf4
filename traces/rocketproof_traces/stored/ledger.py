"""DLedger's side of a log: the header in front of each record as columns, and the index beside the log.

The files of the index are named by the place of their first byte in the index as a whole; the entry of number n lies at n * LEDGER_INDEX.
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
    """The rows of a chunk that are entries, with or without a record, and what the headers of these say. `place` is where an entry begins,
    `recordSize` what its record says, 0 without; `computedCRC` is the checksum of the body where the header has one, else 0, both without
    the highest bit. Raises StoredError."""
    kinds = chunk["kind"]
    rows = np.flatnonzero(chunk.is_message | (kinds == RowKind.EMPTY))
    has_record = kinds[rows] != RowKind.EMPTY
    place = chunk["physicalOffset"][rows] - LEDGER_HEADER * has_record
    raw = np.frombuffer(chunk.spans(place, LEDGER_HEADER), _HEADER)
    found = {name: _cut(raw[name]) for name in ("kind", "size", "index", "term", "position", "bodyCRC", "bodySize")}
    found["bodyCRC"] &= 0x7FFFFFFF
    computed = np.zeros(len(rows), np.int64)
    for row in np.flatnonzero(found["bodyCRC"]):
        body = chunk.bytes_at(int(place[row]) + LEDGER_HEADER, max(0, int(found["bodySize"][row])))
        computed[row] = zlib.crc32(body) & 0x7FFFFFFF
    return rows, found | {"place": place, "recordSize": chunk["size"][rows] * has_record, "computedCRC": computed}


class LedgerIndex(KeptOpen):
    """The index in a folder, whose files stay open; without a folder it has no file."""

    def __init__(self, folder: str) -> None:
        super().__init__()
        self._folder = folder

    @cached_property
    def _files(self) -> tuple[tuple[int, str], ...]:
        names = names_of(self._folder) if self._folder else []
        return tuple((offset_of(self._folder, name), join(self._folder, name)) for name in names if is_digits(name))

    def find(self, numbers: Column) -> Mapping[str, Column]:
        """Of entries the columns of what the index says of them; `there`: 2 where it says something, 1 where it has zeros, 0 where it has
        no place for one. Raises StoredError."""
        raw = np.zeros(len(numbers), _INDEX)
        there = np.zeros(len(numbers), np.int64)
        for base, path in self._files:
            source = self.source(path)
            first = base // LEDGER_INDEX
            rows = np.flatnonzero((numbers >= first) & (numbers < first + source.length // LEDGER_INDEX))
            # Numbers follow each other, but for damaged ones: what lies between two that do is read at once.
            for run in np.split(rows, np.flatnonzero(np.diff(numbers[rows]) != 1) + 1):
                if len(run):
                    at = int(numbers[run[0]]) * LEDGER_INDEX - base
                    raw[run] = np.frombuffer(read(source, at, len(run) * LEDGER_INDEX), _INDEX)
            there[rows] = 1
        there += raw["size"] != 0
        return {"there": there} | {name: _cut(raw[name]) for name in _INDEX.names or ()}


def _cut(numbers: NDArray[np.int64]) -> Column:
    return np.clip(numbers.astype(np.int64), -LIMIT, LIMIT)
