"""Findings: which rule a stored row breaks, where it lies, what the rule expected and what was found. As objects, Arrow rows, JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, order=True)
class AuditFinding:
    """`offset`: the physical offset of the row in the log, its place in a consume queue's file, or 0. `topic` is empty, and queue id and
    offset are -1, where the rule is about none. `expected` has "at most" or the like in front where the rule sets a bound, of several
    the one that is broken. `hex`: the bytes at the offset; `reason`: what the rule claims."""

    store: str
    file: str
    offset: int
    property: str
    topic: str
    queue_id: int
    queue_offset: int
    expected: str
    found: str
    hex: str
    severity: str
    reason: str

    def data(self) -> dict[str, Any]:
        """By the names of columns."""
        return {column: getattr(self, name) for name, column in COLUMNS.items()}

    @staticmethod
    def of(data: Mapping[str, Any]) -> AuditFinding:
        return AuditFinding(**{name: data[column] for name, column in COLUMNS.items()})


COLUMNS: dict[str, str] = {
    name: {"queue_id": "queueId", "queue_offset": "queueOffset"}.get(name, name) for name in AuditFinding.__annotations__
}
_NUMBERS = ("offset", "queueId", "queueOffset")


def schema() -> pa.Schema:
    """Of a table of findings: 64-bit numbers and text, nothing null."""
    import pyarrow as pa

    return pa.schema([pa.field(name, pa.int64() if name in _NUMBERS else pa.string(), nullable=False) for name in COLUMNS.values()])


def table(found: Iterable[AuditFinding]) -> pa.Table:
    """The findings as an Arrow table, in order."""
    import pyarrow as pa

    return pa.Table.from_pylist([each.data() for each in sorted(found)], schema=schema())
