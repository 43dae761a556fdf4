"""The commit log as a table: a row for each record, and a row for each corrupt stretch.

Only requested columns are built. Numbers are taken from the walk; text and bodies are copied only for matching rows. The CRC of a body is
computed only if `computedCRC` is requested.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from ...stored.errors import StoredError
from ...stored.kinds import Reason, RowKind
from ...stored.segments import Range, log_files, ranges
from .clauses import Clauses, Mask, about, bounds, number_mask, text_passes
from .maps import properties_map
from .table import BYTES, INT, LONG, OF_NAMES, OF_NUMBERS, PRESENCE, TEXT, TEXTS, TIME, StoreTable
from .times import microseconds

if TYPE_CHECKING:
    from ...stored.chunk import Chunk
    from ...stored.names import NameTable

ROWS = 16384

# Columns that are numbers of the walk. In the row of a stretch all but the first two are absent.
_NUMBERS: Mapping[str, pa.DataType] = {
    "physicalOffset": LONG,
    "size": LONG,
    "queueId": INT,
    "queueOffset": LONG,
    "storeTimestamp": LONG,
    "bornTimestamp": LONG,
    "flag": INT,
    "sysFlag": INT,
    "reconsumeTimes": INT,
    "preparedTransactionOffset": LONG,
    "storedPhysicalOffset": LONG,
    "bodyLength": INT,
    "bodyCRC": INT,
    "computedCRC": INT,
}
_OF_STRETCHES = ("physicalOffset", "size")
_TIMES = {"storeTime": "storeTimestamp", "bornTime": "bornTimestamp"}
_HOSTS = {"storeHost": "store", "bornHost": "born"}
_FROM_PROPERTIES = frozenset({"tags", "keys", "properties"})


@dataclass(frozen=True)
class LogPart:
    """A range of a file of the log, which can be read independently."""

    range: Range


def _parts(folders: Sequence[str], clauses: Clauses, part_size: int) -> list[LogPart]:
    """Return a part for each range that overlaps the requested physical offsets. Each folder is a store. Raises StoredError."""
    low, high = bounds(clauses, "physicalOffset")
    all_ranges = [range_ for folder in folders for range_ in ranges(log_files([folder]), part_size)]
    return [LogPart(range_) for range_ in all_ranges if range_.file.base + range_.start <= high and range_.file.base + range_.end > low]


def _read(part: LogPart, columns: Sequence[str], clauses: Clauses) -> Iterator[pa.RecordBatch]:
    path = part.range.file.path
    if not text_passes(about(clauses, "file"), path):
        return
    from ...stored.exact_start import with_exact_start
    from ...stored.names import NameTable
    from ...stored.walk import Walk  # imported here, because the import loads kernels

    needed = {*columns, *(clause.column for clause in clauses)}
    names = NameTable()
    reached = part.range.start
    try:
        with_properties = not needed.isdisjoint(_FROM_PROPERTIES)
        for chunk in Walk(with_exact_start(part.range), names, crc="computedCRC" in needed, properties=with_properties, rows=ROWS):
            offsets = chunk["physicalOffset"]
            if len(offsets):
                reached = int(offsets[-1] + chunk["size"][-1]) - part.range.file.base
            passed = _mask(chunk, names, clauses)
            if passed.any():
                yield _Rows(_narrowed(chunk, passed), path).batch(columns)
    except StoredError as error:
        row: dict[str, int | str] = {
            "physicalOffset": part.range.file.base + reached,
            "size": part.range.end - reached,
            "file": path,
            "error": str(error),
        }
        yield from TABLE.row_batch(row, columns, clauses)


def _mask(chunk: Chunk, names: NameTable, clauses: Clauses) -> Mask:
    """Return which rows match; blanks never do."""
    kind = chunk["kind"]
    record = (kind == RowKind.MESSAGE) | (kind == RowKind.MESSAGE_V2)
    passed: Mask = record | (kind == RowKind.CORRUPT)
    for column in dict.fromkeys(clause.column for clause in clauses):
        about_column = about(clauses, column)
        if column in _NUMBERS:
            passed &= number_mask(about_column, chunk[column], None if column in _OF_STRETCHES else record)
        elif column in _TIMES:
            values, present = microseconds(chunk[_TIMES[column]])
            passed &= number_mask(about_column, values, present & record)
        elif column == "topic":
            passing = np.array([*(text_passes(about_column, name) for name in names.texts()), text_passes(about_column, None)], np.bool_)
            passed &= passing[chunk["topic"]]  # -1, no topic, is the last one
        elif column == "error":
            passed &= number_mask(about_column, kind, ~record)
    return passed


def _narrowed(chunk: Chunk, passed: Mask) -> Chunk:
    """Return the chunk with only these rows, so that texts are copied only for them."""
    if passed.all():
        return chunk
    narrowed = copy(chunk)
    narrowed.table = np.ascontiguousarray(chunk.table[:, passed])
    return narrowed


@dataclass(frozen=True)
class _Rows:
    """The rows of a chunk, column by column."""

    chunk: Chunk
    path: str

    def batch(self, columns: Sequence[str]) -> pa.RecordBatch:
        return pa.RecordBatch.from_arrays([self.column(name) for name in columns], schema=TABLE.schema(columns))

    def column(self, name: str) -> pa.Array:
        if name in _NUMBERS:
            values = self.chunk[name].astype(_NUMBERS[name].to_pandas_dtype())
            return pa.array(values, mask=None if name in _OF_STRETCHES else self.stretch)
        if name in _TIMES:
            values, present = microseconds(self.chunk[_TIMES[name]])
            return pa.array(values, mask=~present | self.stretch).cast(TIME)
        if name == "file":
            return pa.repeat(pa.scalar(self.path, TEXT), self.chunk.rows)
        if name == "error":
            reasons = pa.array(self.chunk["reason"].astype(np.int32), mask=~self.stretch)
            return pa.array([reason.sentence for reason in Reason], TEXT).take(reasons)
        if name == "body":
            return self.chunk.bodies()
        if name in _HOSTS:
            return self.chunk.hosts(_HOSTS[name])
        text = self.chunk.text(name)
        return properties_map(text) if name == "properties" else text

    @property
    def stretch(self) -> Mask:
        mask: Mask = self.chunk["kind"] == RowKind.CORRUPT
        return mask


TABLE = StoreTable(
    name="rocketmq-commitlog",
    columns={
        "topic": TEXT,
        **_NUMBERS,
        **dict.fromkeys(_TIMES, TIME),
        "tags": TEXT,
        "keys": TEXT,
        **dict.fromkeys(_HOSTS, TEXT),
        "properties": TEXTS,
        "body": BYTES,
        "file": TEXT,
        "error": TEXT,
    },
    standard=(
        *("topic", "queueId", "queueOffset", "physicalOffset", "size", "storeTimestamp", "storeTime", "bornTimestamp", "tags", "keys"),
        *("sysFlag", "reconsumeTimes", "bodyLength", "file", "error"),
    ),
    pushed={**dict.fromkeys((*_NUMBERS, *_TIMES), OF_NUMBERS), "topic": OF_NAMES, "file": OF_NAMES, "error": PRESENCE},
    parts=_parts,
    read=_read,
)
