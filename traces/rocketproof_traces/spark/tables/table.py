"""A table: columns with Arrow types, how reading is divided into parts, and the batches of a part."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import pyarrow as pa

from ...common.errors import TraceError
from .clauses import Clauses, Operator, row_passes

Item = TypeVar("Item")

PART_SIZE = 128 << 20  # bytes that one part reads, if the files can be divided

INT, LONG, TEXT, BYTES, TRUTH = pa.int32(), pa.int64(), pa.string(), pa.binary(), pa.bool_()
TIME = pa.timestamp("us", "UTC")
TEXTS = pa.map_(TEXT, TEXT)

# The operators that clauses can apply to a column.
PRESENCE: frozenset[Operator] = frozenset(("absent", "present"))
OF_NAMES: frozenset[Operator] = frozenset((*PRESENCE, "=", "among", "begins"))
OF_NUMBERS: frozenset[Operator] = frozenset((*PRESENCE, "=", "among", "<", "<=", ">", ">="))


@dataclass(frozen=True)
class StoreTable:
    """A table of a store.

    - `columns`: all columns. `standard`: the columns of a reader that names none.
    - `pushed`: by column, the operators that `read` supports.
    - `parts(folders, clauses, part_size)` returns parts that can be pickled, without parts in which no row can match.
    - `read(part, columns, clauses)` yields batches with exactly these columns of the matching rows. It raises nothing about the content of
      files: a stretch or a file that cannot be read is a row with an `error`.
    """

    name: str
    columns: Mapping[str, pa.DataType]
    standard: Sequence[str]
    pushed: Mapping[str, frozenset[Operator]]
    parts: Callable[[Sequence[str], Clauses, int], Sequence[Any]]
    read: Callable[[Any, Sequence[str], Clauses], Iterator[pa.RecordBatch]]

    def chosen(self, names: str | None) -> tuple[str, ...]:
        """Return the columns of a selection: `topic, size`; `*` for all; empty for the standard ones; `+body` for additional ones.

        Raises TraceError for a name that is not a column.
        """
        words = [word.strip() for word in (names or "").split(",") if word.strip()]
        wanted: dict[str, None] = {}
        if not words or any(word.startswith("+") for word in words):
            wanted.update(dict.fromkeys(self.standard))
        for word in words:
            wanted.update(dict.fromkeys(self.columns if word == "*" else [self.spelled(word.removeprefix("+").strip())]))
        return tuple(wanted)

    def spelled(self, name: str) -> str:
        """Return the column with this name in any case, because SQL ignores case. Raises TraceError if there is none."""
        for column in self.columns:
            if column.lower() == name.lower():
                return column
        raise TraceError(f"{self.name}: column {name}", "does not exist", f"choose among {', '.join(self.columns)}")

    def row_batch(self, row: Mapping[str, int | str], names: Sequence[str], clauses: Clauses) -> Iterator[pa.RecordBatch]:
        """Yield a batch of a single row that reports an unreadable file, if the row matches."""
        if row_passes(clauses, row):
            yield pa.RecordBatch.from_pylist([{name: row.get(name) for name in names}], schema=self.schema(names))

    def schema(self, names: Sequence[str]) -> pa.Schema:
        return pa.schema([(name, self.columns[name]) for name in names])


def renamed(batches: Iterable[pa.RecordBatch], names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yield batches with the names that a query gives to their columns."""
    for batch in batches:
        yield batch if batch.schema.names == names else batch.rename_columns(list(names))


def packed(items: Iterable[Item], size_of: Callable[[Item], int], target_size: int) -> list[tuple[Item, ...]]:
    """Split the items in order into parts.

    A part ends with the item that brings it to `target_size` bytes or more. Only the last part may be smaller.
    """
    parts: list[list[Item]] = []
    size = target_size
    for item in items:
        if size >= target_size:
            parts.append([])
            size = 0
        parts[-1].append(item)
        size += size_of(item)
    return [tuple(part) for part in parts]
