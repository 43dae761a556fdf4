"""The index as a table: a row for each entry, from the hash of a key to a physical offset.

The index contains no keys: `keyHash` is the absolute value of Java's hash of `topic#key`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from rocketproof_protocol.numbers import is_digits

from ...stored.errors import StoredError
from ...stored.facts import Column
from ...stored.index import open_index
from ...stored.paths import join, names_of
from .clauses import Clauses, Mask, about, number_mask, text_passes
from .table import INT, LONG, OF_NAMES, OF_NUMBERS, PRESENCE, TEXT, StoreTable, packed

_BLOCK = 1 << 16
_NUMBERS = {"keyHash": INT, "physicalOffset": LONG, "storeTimestamp": LONG, "number": INT, "previous": INT}


def _parts(folders: Sequence[str], clauses: Clauses, part_size: int) -> list[tuple[str, ...]]:
    """Return a part for each index file. Raises StoredError."""
    inner = [join(folder, "index") for folder in folders]
    paths = [join(folder, name) for folder in inner for name in names_of(folder) if is_digits(name)]
    return packed([path for path in paths if text_passes(about(clauses, "file"), path)], lambda path: part_size, part_size)


def _read(part: Sequence[str], columns: Sequence[str], clauses: Clauses) -> Iterator[pa.RecordBatch]:
    for path in part:
        try:
            yield from _file(path, columns, clauses)
        except StoredError as error:
            yield from TABLE.row_batch({"file": path, "error": str(error)}, columns, clauses)


def _file(path: str, columns: Sequence[str], clauses: Clauses) -> Iterator[pa.RecordBatch]:
    file = open_index(path)
    for first in range(1, min(file.count, file.limit), _BLOCK):  # entry 0 is never used
        entries = file.entries(first, _BLOCK)
        values: Mapping[str, Column] = {
            "keyHash": entries.keyHash,
            "physicalOffset": entries.physicalOffset,
            "storeTimestamp": file.begin_timestamp + 1000 * entries.seconds,
            "number": first + np.arange(len(entries.keyHash)),
            "previous": entries.previous,
        }
        passed = np.full(len(entries.keyHash), not any(clause.operator == "present" for clause in about(clauses, "error")))
        for name, numbers in values.items():
            passed &= number_mask(about(clauses, name), numbers)
        if passed.any():
            arrays = [_array(name, values, passed, path) for name in columns]
            yield pa.RecordBatch.from_arrays(arrays, schema=TABLE.schema(columns))


def _array(name: str, values: Mapping[str, Column], passed: Mask, path: str) -> pa.Array:
    count = int(passed.sum())
    if name == "error":
        return pa.nulls(count, TEXT)
    if name == "file":
        return pa.repeat(pa.scalar(path, TEXT), count)
    return pa.array(values[name][passed].astype(_NUMBERS[name].to_pandas_dtype()))


TABLE = StoreTable(
    name="rocketmq-index",
    columns={**_NUMBERS, "file": TEXT, "error": TEXT},
    standard=(*_NUMBERS, "file", "error"),
    pushed={**dict.fromkeys(_NUMBERS, OF_NUMBERS), "file": OF_NAMES, "error": PRESENCE},
    parts=_parts,
    read=_read,
)
