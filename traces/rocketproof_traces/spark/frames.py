"""A broker's files as DataFrames: records, consume queue entries, index entries, topics, and events of histories.

Each function registers the data sources with the session and sends this project's code to its workers. Nothing is read until Spark runs a
query; filters and columns then decide what is read. `python -m rocketproof_traces.spark.frames` prints the columns for the page
`traces/docs/frames.md`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Any, Final

from ..common.errors import TraceError
from .tables import commitlog, consumequeue
from .tables import histories as events
from .tables import index as keys
from .tables import topics as table
from .tables.clauses import ORDERS, Clause
from .tables.filters import clauses_of, written
from .tables.table import BYTES, INT, LONG, OF_NAMES, OF_NUMBERS, PRESENCE, TEXT, TEXTS, TIME, TRUTH, StoreTable

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

Filters = Sequence[tuple[str, str, Any]]
Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
FRAMES: Final = {
    "records": commitlog.TABLE,
    "entries": consumequeue.TABLE,
    "index": keys.TABLE,
    "topics": table.TABLE,
    "histories": events.TABLE,
}
"""The table that each function of this module reads."""


def records(
    spark: SparkSession, paths: Paths, columns: Iterable[str] = (), filters: Filters = (), *, part_bytes: int | None = None
) -> DataFrame:
    """Return the records of the commit logs of stores: a row for each record, and for each stretch of bytes that is none (`error`).

    `paths`: a store or several, local or as URLs such as hdfs:// and s3://. `columns`: names of columns; empty for the standard ones, `*`
    for all, `+body` for the standard ones and the body. `filters`: conditions `(column, operator, value)` that all must hold, on topic,
    numbers, times, file and error; the reader skips other rows, and files in which no row can match. The operators are those of
    `filters.OPERATORS`. `part_bytes`: the bytes that a task reads at most, 128 MiB by default.

    Raises TraceError for no path, an unknown column, and a filter that the reader cannot apply. A query raises PySpark's exception for a
    path without a store.
    """
    return _frame(spark, "records", paths, columns, filters, part_bytes)


def entries(
    spark: SparkSession, paths: Paths, columns: Iterable[str] = (), filters: Filters = (), *, part_bytes: int | None = None
) -> DataFrame:
    """Return the consume queue entries of stores. Arguments and errors are those of `records`.

    Filters on topic, queueId, queueOffset and file skip whole files.
    """
    return _frame(spark, "entries", paths, columns, filters, part_bytes)


def index(
    spark: SparkSession, paths: Paths, columns: Iterable[str] = (), filters: Filters = (), *, part_bytes: int | None = None
) -> DataFrame:
    """Return the entries of the index files of stores: the hash of a key, and the place of its record. Arguments as in `records`."""
    return _frame(spark, "index", paths, columns, filters, part_bytes)


def topics(
    spark: SparkSession, paths: Paths, columns: Iterable[str] = (), filters: Filters = (), *, part_bytes: int | None = None
) -> DataFrame:
    """Return the topics of the stores' topics.json. Arguments as in `records`."""
    return _frame(spark, "topics", paths, columns, filters, part_bytes)


def histories(
    spark: SparkSession, paths: Paths, columns: Iterable[str] = (), filters: Filters = (), *, part_bytes: int | None = None
) -> DataFrame:
    """Return the events of histories and recordings: a row for each event, and for each place that cannot be read (`error`).

    `paths`: files and folders. The other arguments are those of `records`. Filters can be on history, process, type, op, broker, topic,
    numbers, file and error.
    """
    return _frame(spark, "histories", paths, columns, filters, part_bytes)


def _frame(spark: SparkSession, name: str, paths: Paths, columns: Iterable[str], filters: Filters, part_bytes: int | None) -> DataFrame:
    from . import delivery, source

    given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    if not given:
        raise TraceError(f"rocketproof.spark.{name}", "has no path to read", "give a path or a list of paths")
    described: StoreTable = FRAMES[name]
    chosen = described.chosen(columns if isinstance(columns, str) else ",".join(columns))
    delivery.deliver(spark)
    source.register(spark)
    reader = spark.read.format(described.name).option("columns", ",".join(chosen))
    if part_bytes is not None:
        reader = reader.option("maxPartitionBytes", str(part_bytes))
    clauses = clauses_of(described, written(filters))
    if clauses:
        reader = reader.option("filters", written(filters))
    frame = reader.load([os.fspath(path) for path in given])
    # The same conditions again, so that a plan shows which filters the reader applies. Spark does not apply them itself.
    named = [clause for clause in clauses if clause.column in chosen]
    return frame.where(reduce(and_, (_condition(described, clause) for clause in named))) if named else frame


def _condition(of_frame: StoreTable, clause: Clause) -> Column:
    """Return a clause about a table as a condition of Spark."""
    from pyspark.sql import functions

    def literal(value: Any) -> Any:
        return functions.timestamp_micros(functions.lit(value)) if of_frame.columns[clause.column] == TIME else value

    column, value = functions.col(clause.column), clause.value
    match clause.operator:
        case "absent":
            return column.isNull()
        case "present":
            return column.isNotNull()
        case "begins":
            return column.startswith(str(value))
        case "among":
            return column.isin([literal(each) for each in value or ()])
        case operator:
            compared: Column = ORDERS[operator](column, literal(value))
            return compared


_TYPES: Final = {INT: "int", LONG: "bigint", TEXT: "string", BYTES: "binary", TRUTH: "boolean", TIME: "timestamp", TEXTS: "map of strings"}
_OPERATORS: Final = {frozenset(): "", PRESENCE: "`IS [NOT] NULL`", OF_NAMES: "names", OF_NUMBERS: "numbers"}


def described() -> Sequence[str]:
    """Return the columns of each DataFrame as lines of Markdown."""
    lines: list[str] = []
    for name, of_frame in FRAMES.items():
        lines += [
            f"### {name}",
            "",
            f"Format `{of_frame.name}`.",
            "",
            "| Column | Type | Standard | Filters |",
            "| --- | --- | --- | --- |",
        ]
        for column, type_ in of_frame.columns.items():
            standard = "yes" if column in of_frame.standard else ""
            lines.append(f"| `{column}` | {_TYPES[type_]} | {standard} | {_OPERATORS[of_frame.pushed.get(column, frozenset())]} |")
        lines.append("")
    return lines


if __name__ == "__main__":
    sys.stdout.write("\n".join(described()))

__all__ = ["FRAMES", "described", "entries", "histories", "index", "records", "topics"]
