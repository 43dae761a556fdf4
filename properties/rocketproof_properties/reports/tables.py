"""The result tables: rows about runs, findings, metrics and verdicts, appended to a folder or a catalog, for queries over many runs.

Parquet is written by this process, every other format by a session of Spark. `TABLES` defines the columns.
`python -m rocketproof_properties.reports.tables` prints them for the page `properties/docs/tables.md`.
"""

from __future__ import annotations

import sys
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from . import files
from .choices import InputError
from .results import tool

if TYPE_CHECKING:
    import pyarrow as pa

VERSION: Final = 1
"""The version of the schemas. It changes if a column is removed or changes its meaning, not if one is added."""


@dataclass(frozen=True)
class TableColumn:
    """A column of a result table.

    `type` is `string`, `long`, `double`, `boolean`, `timestamp` (UTC), `map` (of texts) or `counts`, a map from texts to numbers.
    """

    name: str
    type: str
    meaning: str


_RUN: Final = (
    TableColumn("runId", "string", "identifies the run; the name of its file in each table"),
    TableColumn("time", "timestamp", "when the run began"),
)
_STORE: Final = (
    TableColumn("store", "string", "the folder or URL of the store; of a judge the history; of a campaign the part of the specification"),
    TableColumn("labels", "map", "its labels in the manifest"),
)
TABLES: Final[Mapping[str, tuple[TableColumn, ...]]] = {
    "runs": (
        *_RUN,
        TableColumn("command", "string", "audit, judge or campaign"),
        TableColumn("profile", "string", "the profile; of an audit, of stores without their own"),
        TableColumn("version", "string", "the version of rocketproof"),
        TableColumn("stores", "long", "the number of stores"),
        TableColumn("records", "long", "the records that were read"),
        TableColumn("bytes", "long", "the bytes of logs that were read"),
        TableColumn("histories", "long", "the number of histories"),
        TableColumn("events", "long", "their events"),
        TableColumn("programs", "long", "the number of programs of a campaign"),
        TableColumn("seconds", "double", "the duration"),
        TableColumn("exitCode", "long", "the exit code"),
        TableColumn("stopped", "boolean", "whether the run was interrupted"),
    ),
    "findings": (
        *_RUN,
        *_STORE,
        TableColumn("profile", "string", "the profile of the store or history"),
        TableColumn("rule", "string", "the rule's id; `specification` for a response that the specification does not explain"),
        TableColumn("severity", "string", "error, warning or note"),
        TableColumn("outcome", "string", "differs or error; ok for a finding that does not fail the run"),
        TableColumn("place", "string", "where, in words; identifies the finding if two runs are compared"),
        TableColumn("file", "string", "the file, empty without one"),
        TableColumn("offset", "long", "the physical offset in the log, or the position in another file; -1 without one"),
        TableColumn("event", "long", "the event of a history, -1 without one"),
        TableColumn("topic", "string", "the topic, empty without one"),
        TableColumn("queueId", "long", "the queue, -1 without one"),
        TableColumn("queueOffset", "long", "the queue offset, -1 without one"),
        TableColumn("expected", "string", "what the rule expects"),
        TableColumn("found", "string", "what the store or history has"),
        TableColumn("reason", "string", "the rule's sentence"),
    ),
    "metrics": (
        *_RUN,
        *_STORE,
        TableColumn("profile", "string", "the profile of the store, history or part"),
        TableColumn(
            "status", "string", "audited, partly audited or not audited; of a history the verdict; of a campaign run, partly run or not run"
        ),
        TableColumn(
            "problem", "string", "why the store or history was not or only partly read or decided, or why programs did not run; or empty"
        ),
        TableColumn("rule", "string", "the rule's id; of a campaign the property's; `specification` as in findings"),
        TableColumn("sentence", "string", "the rule's sentence"),
        TableColumn("severity", "string", "error, warning or note; of a campaign note for an expected violation, and for a state to reach"),
        TableColumn(
            "violated", "long", "the rows that break the rule, exact; of a campaign the shards with a violation, summed over its claims"
        ),
        TableColumn(
            "unknown",
            "boolean",
            "whether more may break it: something was not read, programs did not run, or none reached the rule's state",
        ),
        TableColumn("records", "long", "the records of the store, the events of a history, the programs of a part"),
        TableColumn("bytes", "long", "the bytes of the store's log, else 0"),
        TableColumn("seconds", "double", "of a store the time of its tasks, summed over the workers; else 0"),
    ),
    "verdicts": (
        *_RUN,
        TableColumn("profile", "string", "the profile that the judge used"),
        TableColumn("history", "string", "the file or the name of the history"),
        TableColumn("kind", "string", "history for the row of a whole history, part for the row of one of its parts"),
        TableColumn("part", "string", "the part: a broker and its topics; empty for a whole history"),
        TableColumn("verdict", "string", "ok, illegal, unknown, or unreadable if a part could not be read"),
        TableColumn("unknown", "string", "why it is unknown, or empty"),
        TableColumn("events", "long", "the events of a whole history, 0 for a part"),
        TableColumn("explained", "long", "the explained responses of a part, 0 for a whole history"),
        TableColumn("expanded", "long", "the states that the judge expanded for a part: a measure of the work"),
        TableColumn("outOfReach", "counts", "requests that were not judged, by reason"),
        TableColumn(
            "stamp",
            "string",
            "of a whole history: identifies the events, profile, bounds and rules of the verdict; equal stamps need no new run",
        ),
        TableColumn("findings", "long", "the number of findings"),
    ),
}


def schema(name: str) -> pa.Schema:
    """Return the Arrow schema of a table. Its metadata `rocketproof.schema` has the version."""
    import pyarrow as pa

    types = {
        "string": pa.string(), "long": pa.int64(), "double": pa.float64(), "boolean": pa.bool_(), "timestamp": pa.timestamp("us", "UTC"),
        "map": pa.map_(pa.string(), pa.string()), "counts": pa.map_(pa.string(), pa.int64()),
    }  # fmt: skip
    fields = [pa.field(column.name, types[column.type], nullable=False) for column in TABLES[name]]
    return pa.schema(fields, {"rocketproof.schema": f"{name} {VERSION}"})


TABLE: Final = "table:"
"""The beginning of a target that is a namespace of Spark's catalog, such as `table:ops.rocketproof`."""
PARQUET: Final = "parquet"


@dataclass(frozen=True)
class TableTarget:
    """Where the tables are: a folder, a URL, or `table:NAMESPACE`, and the format of new rows.

    `by_spark` appends rows with a session, as `rocketproof_traces.spark.appending` does. Parquet in a folder of this machine needs none.
    """

    place: str
    format: str = PARQUET
    by_spark: Callable[..., None] | None = None

    @property
    def needs_spark(self) -> bool:
        return self.format != PARQUET or self.place.startswith(TABLE) or "://" in self.place

    def check(self, engine: str | None = None) -> None:
        """Raise InputError if the target cannot be written, before a long run. Spark writes a table without rows for that.

        Raises RocketproofError if Spark cannot write it.
        """
        if self.needs_spark and engine == "local":
            raise InputError(
                f"{self}: only Spark writes this, and the engine is local; give a folder and --format parquet, or --engine spark"
            )
        if self.needs_spark:
            self._with_spark("runs", schema("runs").empty_table())
            return
        try:
            (Path(self.place) / "runs").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{self}: cannot be written ({error.strerror or error}); give another folder") from None

    def __str__(self) -> str:
        return f"--tables {self.place}" + (f" --format {self.format}" if self.format != PARQUET else "")

    def append(self, run: Mapping[str, Any], rows: Mapping[str, Iterable[Mapping[str, Any]]]) -> None:
        """Add a run's rows of other tables, and then the run itself: a run without its row is incomplete. Raises InputError.

        Each row gets the id and the time of the run.
        """
        import pyarrow as pa

        keys = {name: run[name] for name in ("runId", "time")}
        for name, of_table in {**rows, "runs": [run]}.items():
            table = pa.Table.from_pylist([{**keys, **row} for row in of_table], schema=schema(name))
            if self.needs_spark:
                self._with_spark(name, table)
            else:
                self._as_file(Path(self.place) / name / f"{run['runId']}.parquet", table)

    def _as_file(self, path: Path, table: pa.Table) -> None:
        import pyarrow.parquet as pq

        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            files.replace(path, partial(pq.write_table, table))
        except OSError as error:
            raise InputError(f"{self}: cannot be written ({error.strerror or error}); give another folder") from None

    def _with_spark(self, name: str, rows: pa.Table) -> None:
        assert self.by_spark is not None
        if self.place.startswith(TABLE):
            self.by_spark(rows, self.format, table=f"{self.place.removeprefix(TABLE)}.{name}", place=str(self))
        else:
            self.by_spark(rows, self.format, folder=f"{self.place.rstrip('/')}/{name}", place=str(self))


def run_row(command: str, profile: str, seconds: float, exit_code: int, *, stopped: bool, **counts: int) -> dict[str, Any]:
    """Return the row of a run that took `seconds` and ends now. `counts` are further columns of `runs`; missing ones are 0."""
    time = datetime.now(UTC) - timedelta(seconds=seconds)
    numbers = dict.fromkeys(("stores", "records", "bytes", "histories", "events", "programs"), 0)
    return {
        "runId": f"{time:%Y%m%dT%H%M%S}-{uuid.uuid4().hex[:8]}", "time": time, "command": command, "profile": profile, "version": tool(),
        **numbers, **counts, "seconds": seconds, "exitCode": exit_code, "stopped": stopped,
    }  # fmt: skip


NO_PLACE: Final = {"labels": [], "file": "", "offset": -1, "event": -1, "topic": "", "queueId": -1, "queueOffset": -1}
"""The values of a finding's columns that it does not have."""


def described() -> Sequence[str]:
    """Return the tables as lines of Markdown."""
    lines: list[str] = []
    for name, columns in TABLES.items():
        rows = [f"| `{column.name}` | {column.type} | {column.meaning} |" for column in columns]
        lines += [f"### `{name}`, version {VERSION}", "", "| Column | Type | Meaning |", "| --- | --- | --- |", *rows, ""]
    return lines


if __name__ == "__main__":
    sys.stdout.write("\n".join(described()))
