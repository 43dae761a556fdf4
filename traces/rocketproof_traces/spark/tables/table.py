"""What a table is: columns with Arrow types, how reading is divided into parts, and the batches of a part."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import pyarrow as pa

from ...common.errors import TraceError
from .clauses import Clauses, Operator, row_passes

Item = TypeVar("Item")

PART_SIZE = 128 << 20  # bytes that one part reads, where the files can be divided

INT, LONG, TEXT, BYTES, TRUTH = pa.int32(), pa.int64(), pa.string(), pa.binary(), pa.bool_()
TIME = pa.timestamp("us", "UTC")
TEXTS = pa.map_(TEXT, TEXT)

# What clauses may ask of a column.
PRESENCE: frozenset[Operator] = frozenset(("absent", "present"))
OF_NAMES: frozenset[Operator] = frozenset((*PRESENCE, "=", "among", "begins"))
OF_NUMBERS: frozenset[Operator] = frozenset((*PRESENCE, "=", "among", "<", "<=", ">", ">="))


@dataclass(frozen=True)
class StoreTable:
    """`columns`: all there are; `standard`: those of a reader who names none. `pushed`: the clauses that `read` understands, by column.

    `parts(folders, clauses, part_size)` leaves out what no row can pass; each part can be pickled. `read(part, columns, clauses)` gives
    batches of exactly these columns and of the rows that pass; it raises nothing for what lies in the files: a stretch or a
    file that cannot be read is a row whose `error` says why.
    """

    name: str
    columns: Mapping[str, pa.DataType]
    standard: Sequence[str]
    pushed: Mapping[str, frozenset[Operator]]
    parts: Callable[[Sequence[str], Clauses, int], Sequence[Any]]
    read: Callable[[Any, Sequence[str], Clauses], Iterator[pa.RecordBatch]]

    def chosen(self, names: str | None) -> tuple[str, ...]:
        """Columns by a reader's choice: `topic, size`, `*` for all, none for the standard ones, `+body` for more than those.

        Raises TraceError for a name that is no column.
        """
        words = [word.strip() for word in (names or "").split(",") if word.strip()]
        wanted: dict[str, None] = {}
        if not words or any(word.startswith("+") for word in words):
            wanted.update(dict.fromkeys(self.standard))
        for word in words:
            wanted.update(dict.fromkeys(self.columns if word == "*" else [self.spelled(word.removeprefix("+").strip())]))
        return tuple(wanted)

    def spelled(self, name: str) -> str:
        """The column of a name in any case, as SQL has it. Raises TraceError where there is none."""
        for column in self.columns:
            if column.lower() == name.lower():
                return column
        raise TraceError(f"{self.name}: column {name}", "does not exist", f"choose among {', '.join(self.columns)}")

    def one(self, row: Mapping[str, int | str], names: Sequence[str], clauses: Clauses) -> Iterator[pa.RecordBatch]:
        """A batch of a single row, if it passes: one that reports what cannot be read."""
        if row_passes(clauses, row):
            yield pa.RecordBatch.from_pylist([{name: row.get(name) for name in names}], schema=self.schema(names))

    def schema(self, names: Sequence[str]) -> pa.Schema:
        return pa.schema([(name, self.columns[name]) for name in names])


def packed(items: Iterable[Item], size_of: Callable[[Item], int], most: int) -> list[tuple[Item, ...]]:
    """The items in their order, divided so that each part has about `most` bytes."""
    parts: list[list[Item]] = []
    size = most
    for item in items:
        if size >= most:
            parts.append([])
            size = 0
        parts[-1].append(item)
        size += size_of(item)
    return [tuple(part) for part in parts]
