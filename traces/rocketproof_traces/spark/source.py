"""RocketMQ's files as tables of Spark, by its Python Data Source API.

    spark.read.format("rocketmq-commitlog").load("/data/store").where("topic = 'orders'")
    CREATE TEMPORARY VIEW log USING `rocketmq-commitlog` OPTIONS (path '/data/store')

`register` makes the formats known to a session. Spark finds data sources by itself only in packages whose names begin with `pyspark_`, and
one in each. It pushes filters into a Python data source and does not prune its columns, so a reader names the columns, by the
option `columns` or by a schema.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, ClassVar

from pyspark.sql import datasource as api
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

from rocketproof_protocol.numbers import java_long

from ..common.errors import TraceError
from ..stored.paths import absolute
from .tables import commitlog, consumequeue, index, topics
from .tables.clauses import Clause, Clauses, Operator
from .tables.table import PART_SIZE, TIME, StoreTable

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

PUSHDOWN = "spark.sql.python.filterPushdown.enabled"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_OPERATORS: dict[type[api.Filter], Operator] = {
    api.EqualTo: "=",
    api.In: "among",
    api.LessThan: "<",
    api.LessThanOrEqual: "<=",
    api.GreaterThan: ">",
    api.GreaterThanOrEqual: ">=",
    api.StringStartsWith: "begins",
    api.IsNull: "absent",
    api.IsNotNull: "present",
}


class StoreSource(api.DataSource):
    """A table as a data source. Options: `path`, `columns`, `maxPartitionBytes`. A schema given by the user chooses columns too."""

    table: ClassVar[StoreTable]

    @classmethod
    def name(cls) -> str:
        return cls.table.name

    def schema(self) -> StructType:
        return from_arrow_schema(self.table.schema(self.table.chosen(self.options.get("columns"))))

    def reader(self, schema: StructType) -> StoreReader:
        columns = [self.table.spelled(name) for name in schema.fieldNames()]
        wanted = to_arrow_schema(schema, timezone="UTC")
        for column, field in zip(columns, wanted, strict=True):
            if field.type != self.table.columns[column]:
                kind = from_arrow_schema(self.table.schema([column]))[column].dataType.simpleString()
                raise TraceError(f"{self.name()}: column {column}", "has another type in the schema given", f"declare it {kind}")
        return StoreReader(self.table, self._folders(), columns, wanted.names, self._part_size())

    def _folders(self) -> list[str]:
        if "paths" in self.options:  # DataFrameReader.load with a list
            found = [str(path) for path in json.loads(self.options["paths"])]
        else:
            found = [self.options["path"]] if "path" in self.options else []
        if not found:
            raise TraceError(self.name(), "has no path to read", "give the folder of a store: .load(folder), or OPTIONS (path 'folder')")
        return [absolute(path) for path in found]

    def _part_size(self) -> int:
        given = self.options.get("maxPartitionBytes", str(PART_SIZE))
        size = java_long(given)
        if size is None or size <= 0:
            raise TraceError(f"{self.name()}: maxPartitionBytes", f"is {given}", "give a number of bytes from 1 on")
        return size


class CommitLogSource(StoreSource):
    table = commitlog.TABLE


class ConsumeQueueSource(StoreSource):
    table = consumequeue.TABLE


class IndexSource(StoreSource):
    table = index.TABLE


class TopicsSource(StoreSource):
    table = topics.TABLE


SOURCES: tuple[type[StoreSource], ...] = (CommitLogSource, ConsumeQueueSource, IndexSource, TopicsSource)


class StoreReader(api.DataSourceReader):
    """The reading of some columns of a table, `names` as the query spells them."""

    def __init__(self, table: StoreTable, folders: Sequence[str], columns: Sequence[str], names: Sequence[str], part_size: int) -> None:
        self.table = table
        self.folders = folders
        self.columns = columns
        self.names = names
        self.part_size = part_size
        self.clauses: Clauses = ()

    def pushFilters(self, filters: list[api.Filter]) -> Iterable[api.Filter]:
        for each in filters:
            clause = clause_of(each, self.table)
            if clause is None:
                yield each
            else:
                self.clauses = (*self.clauses, clause)

    def partitions(self) -> Sequence[api.InputPartition]:
        return [api.InputPartition(part) for part in self.table.parts(self.folders, self.clauses, self.part_size)]

    def read(self, partition: api.InputPartition) -> Iterator[pa.RecordBatch]:
        if partition.value is None:  # Spark's own, where there are none
            return
        for batch in self.table.read(partition.value, self.columns, self.clauses):
            yield batch if batch.schema.names == self.names else batch.rename_columns(list(self.names))


def clause_of(given: api.Filter, table: StoreTable) -> Clause | None:
    """The clause of a filter, None for one that the table does not understand and Spark has to apply."""
    operator = _OPERATORS.get(type(given))
    path: tuple[str, ...] = getattr(given, "attribute", ())
    if operator is None or len(path) != 1:
        return None
    column = table.spelled(path[0])
    if operator not in table.pushed.get(column, frozenset()):
        return None
    value = getattr(given, "value", None)
    if operator == "among":
        values = [_plain(each, table, column) for each in value or () if each is not None]
        return None if None in values else Clause(column, operator, tuple(values))
    if operator in ("absent", "present"):
        return Clause(column, operator)
    found = _plain(value, table, column)
    return None if found is None else Clause(column, operator, found)


def _plain(value: Any, table: StoreTable, column: str) -> int | str | None:
    """A literal as the table compares it (times in microseconds), None for one of another kind than the column."""
    kind = table.columns[column]
    if kind == TIME:
        return (value - _EPOCH) // timedelta(microseconds=1) if isinstance(value, datetime) and value.tzinfo is not None else None
    wanted = str if str(kind) == "string" else int
    return value if isinstance(value, wanted) and not isinstance(value, bool) else None


def register(spark: SparkSession) -> None:
    """Make the formats known to a session, and let it push filters into them."""
    for source in SOURCES:
        spark.dataSource.register(source)
    if spark.conf.get(PUSHDOWN, "false") != "true":
        spark.conf.set(PUSHDOWN, "true")
