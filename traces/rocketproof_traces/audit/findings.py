"""Findings: a stored row that breaks a rule, with its location, the expected and the found value; as objects, Arrow rows and JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, order=True)
class AuditFinding:
    """A stored row that breaks a rule.

    `offset`: the physical offset of the row in the log, its position in a consume queue's file, or 0. `topic` is empty and queue id and
    offset are -1 if the rule is not about a queue. `expected` begins with "at most" or similar if the rule sets a bound; of several bounds
    it is the broken one. `hex`: the bytes at the offset. `reason`: the sentence of the rule.
    """

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
        """Return the values by the names of columns."""
        return {column: getattr(self, name) for name, column in COLUMNS.items()}

    @staticmethod
    def of(data: Mapping[str, Any]) -> AuditFinding:
        return AuditFinding(**{name: data[column] for name, column in COLUMNS.items()})


COLUMNS: dict[str, str] = {
    name: {"queue_id": "queueId", "queue_offset": "queueOffset"}.get(name, name) for name in AuditFinding.__annotations__
}
_NUMBERS = ("offset", "queueId", "queueOffset")


def schema() -> pa.Schema:
    """Return the schema of a table of findings: 64-bit numbers and text, without nulls."""
    import pyarrow as pa

    return pa.schema([pa.field(name, pa.int64() if name in _NUMBERS else pa.string(), nullable=False) for name in COLUMNS.values()])


def table(findings: Iterable[AuditFinding]) -> pa.Table:
    """Return the findings as a sorted Arrow table."""
    import pyarrow as pa

    return pa.Table.from_pylist([finding.data() for finding in sorted(findings)], schema=schema())
