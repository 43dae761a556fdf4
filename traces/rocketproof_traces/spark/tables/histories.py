"""Histories as a table: a row for each event of the files in some folders.

A file is a history, a recording of single requests, or Parquet with events. A place that cannot be read ends its file with a row that has
an `error`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from ...bulk.ingest import UNREADABLE_SOURCE, SourceReader, problem_of, size_of, sources, unreadable
from ...bulk.tables import EVENTS
from .clauses import Clauses, Mask, about, number_mask, text_passes
from .table import LONG, OF_NAMES, OF_NUMBERS, PRESENCE, TEXT, StoreTable, packed

_TEXTS = tuple(field.name for field in EVENTS if field.type == TEXT and field.name != "value")
_NUMBERS = tuple(field.name for field in EVENTS if field.type == LONG)


def _parts(folders: Sequence[str], clauses: Clauses, part_size: int) -> list[tuple[str, ...]]:
    """Return files, grouped to parts. Raises TraceError for a path that is missing."""
    sizes = {path: size_of(stamp) for path, stamp in sources(list(folders))}
    return packed([path for path in sizes if text_passes(about(clauses, "file"), path)], sizes.__getitem__, part_size)


def _read(part: Sequence[str], columns: Sequence[str], clauses: Clauses) -> Iterator[pa.RecordBatch]:
    for path in part:
        reader = SourceReader(path)
        damaged = any(clause.operator == "present" for clause in about(clauses, "error"))
        try:
            for _, table in reader.tables():
                passed = np.zeros(table.num_rows, np.bool_) if damaged else _mask(table, clauses)
                if passed.any():
                    yield from _batches(table.filter(pa.array(passed)), path, columns)
        except UNREADABLE_SOURCE as error:
            line, text = problem_of(path, unreadable(path, error))
            row: dict[str, int | str] = {"history": reader.history, "file": path, "error": text if line is None else f"line {line}: {text}"}
            yield from TABLE.row_batch(row, columns, clauses)


def _mask(table: pa.Table, clauses: Clauses) -> Mask:
    """Return which events match."""
    passed = np.ones(table.num_rows, np.bool_)
    for name in _TEXTS:
        if of_column := about(clauses, name):
            codes = table[name].combine_chunks().dictionary_encode(null_encoding="encode")
            fits = np.array([text_passes(of_column, text) for text in codes.dictionary.to_pylist()], np.bool_)
            passed &= fits[codes.indices.to_numpy(zero_copy_only=False)] if len(fits) else passed
    for name in _NUMBERS:
        if of_column := about(clauses, name):
            column = table[name].combine_chunks()
            present = column.is_valid().to_numpy(zero_copy_only=False)
            passed &= number_mask(of_column, column.fill_null(0).to_numpy(zero_copy_only=False), present)
    return passed


def _batches(table: pa.Table, path: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    more = {"file": pa.repeat(pa.scalar(path, TEXT), table.num_rows), "error": pa.nulls(table.num_rows, TEXT)}
    arrays = [more[name] if name in more else table[name] for name in columns]
    yield from pa.Table.from_arrays(arrays, schema=TABLE.schema(columns)).to_batches()


TABLE = StoreTable(
    name="rocketmq-history",
    columns={**{field.name: field.type for field in EVENTS}, "file": TEXT, "error": TEXT},
    standard=(*EVENTS.names, "file", "error"),
    pushed={**dict.fromkeys(_TEXTS, OF_NAMES), **dict.fromkeys(_NUMBERS, OF_NUMBERS), "file": OF_NAMES, "error": PRESENCE},
    parts=_parts,
    read=_read,
)
