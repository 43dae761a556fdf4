"""The result tables: rows about runs, findings and metrics, appended as Parquet files to a folder, for queries over many runs.

`TABLES` defines the columns. `python -m rocketproof_properties.reports.tables` prints them for the page `properties/docs/tables.md`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from . import files
from .choices import InputError

if TYPE_CHECKING:
    import pyarrow as pa

VERSION: Final = 1
"""The version of the schemas. It changes if a column is removed or changes its meaning, not if one is added."""


@dataclass(frozen=True)
class TableColumn:
    """A column of a result table. `type` is `string`, `long`, `double`, `boolean`, `timestamp` (UTC) or `map` (of texts)."""

    name: str
    type: str
    meaning: str


_RUN: Final = (
    TableColumn("runId", "string", "identifies the run; the name of its file in each table"),
    TableColumn("time", "timestamp", "when the run began"),
)
_STORE: Final = (
    TableColumn("store", "string", "the folder or URL of the store"),
    TableColumn("labels", "map", "its labels in the manifest"),
)
TABLES: Final[Mapping[str, tuple[TableColumn, ...]]] = {
    "runs": (
        *_RUN,
        TableColumn("command", "string", "audit"),
        TableColumn("profile", "string", "the profile of stores without their own"),
        TableColumn("version", "string", "the version of rocketproof"),
        TableColumn("stores", "long", "the number of stores"),
        TableColumn("records", "long", "the records that were read"),
        TableColumn("bytes", "long", "the bytes of logs that were read"),
        TableColumn("seconds", "double", "the duration"),
        TableColumn("exitCode", "long", "the exit code"),
        TableColumn("stopped", "boolean", "whether the run was interrupted"),
    ),
    "findings": (
        *_RUN,
        *_STORE,
        TableColumn("rule", "string", "the rule's id"),
        TableColumn("severity", "string", "error, warning or note"),
        TableColumn("file", "string", "the file"),
        TableColumn("offset", "long", "the physical offset in the log, or the position in another file"),
        TableColumn("topic", "string", "the topic, empty without one"),
        TableColumn("queueId", "long", "the queue, -1 without one"),
        TableColumn("queueOffset", "long", "the queue offset, -1 without one"),
        TableColumn("expected", "string", "what the rule expects"),
        TableColumn("found", "string", "what the store has"),
        TableColumn("reason", "string", "the rule's sentence"),
    ),
    "metrics": (
        *_RUN,
        *_STORE,
        TableColumn("profile", "string", "the profile of the store"),
        TableColumn("status", "string", "audited, partly audited or not audited"),
        TableColumn("problem", "string", "why the store was not or only partly audited, or empty"),
        TableColumn("rule", "string", "the rule's id"),
        TableColumn("severity", "string", "error, warning or note"),
        TableColumn("violated", "long", "the rows that break the rule, exact"),
        TableColumn("unknown", "boolean", "whether more rows may break it, because something was not read"),
        TableColumn("records", "long", "the records of the store"),
        TableColumn("bytes", "long", "the bytes of its log"),
        TableColumn("seconds", "double", "the time of its tasks, summed over the workers"),
    ),
}


def schema(name: str) -> pa.Schema:
    """Return the Arrow schema of a table. Its metadata `rocketproof.schema` has the version."""
    import pyarrow as pa

    types = {
        "string": pa.string(), "long": pa.int64(), "double": pa.float64(), "boolean": pa.bool_(), "timestamp": pa.timestamp("us", "UTC"),
        "map": pa.map_(pa.string(), pa.string()),
    }  # fmt: skip
    fields = [pa.field(column.name, types[column.type], nullable=False) for column in TABLES[name]]
    return pa.schema(fields, {"rocketproof.schema": f"{name} {VERSION}"})


def append(folder: Path, run_id: str, rows: Mapping[str, Iterable[Mapping[str, Any]]]) -> None:
    """Add the rows of a run to the tables: FOLDER/TABLE/RUN.parquet. Raises InputError if a file cannot be written."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for name, of_table in rows.items():
        table = pa.Table.from_pylist([dict(row) for row in of_table], schema=schema(name))
        path = folder / name / f"{run_id}.parquet"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            files.replace(path, partial(pq.write_table, table))
        except OSError as error:
            raise InputError(f"--tables {folder}: cannot be written ({error.strerror or error}); give another folder") from None


def described() -> Sequence[str]:
    """Return the tables as lines of Markdown."""
    lines: list[str] = []
    for name, columns in TABLES.items():
        rows = [f"| `{column.name}` | {column.type} | {column.meaning} |" for column in columns]
        lines += [f"### `{name}`, version {VERSION}", "", "| Column | Type | Meaning |", "| --- | --- | --- |", *rows, ""]
    return lines


if __name__ == "__main__":
    sys.stdout.write("\n".join(described()))
