"""RocketMQ's files as tables of Spark, with its Python Data Source API.

    spark.read.format("rocketmq-commitlog").load("/data/store").where("topic = 'orders'")
    CREATE TEMPORARY VIEW log USING `rocketmq-commitlog` OPTIONS (path '/data/store')

`register` makes the formats known to a session. Spark discovers data sources itself only in packages whose names begin with `pyspark_`, one
per package. Spark does not prune the columns of a Python data source. So a reader selects columns with the option `columns` or with a
schema.

Spark keeps the filters that it pushed last for all scans of one `load()`, also for those of other queries. A reader that followed them
would lose rows. So the option `filters` selects rows, and of Spark's filters only those that it implies are accepted.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, ClassVar

from pyspark.sql import datasource as api
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

from rocketproof_protocol.numbers import java_long

from ..common.errors import TraceError
from ..stored.paths import absolute
from .failures import one_line
from .spread import context_of
from .tables import commitlog, consumequeue, histories, index, topics
from .tables.clauses import Clause, Clauses, Operator
from .tables.filters import clauses_of, comparable, is_implied
from .tables.table import PART_SIZE, StoreTable, renamed

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

PUSHDOWN = "spark.sql.python.filterPushdown.enabled"

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


OPTIONS = ("path", "paths", "columns", "filters", "maxPartitionBytes", "maxBytesPerTrigger")
"""The options of a reader. `DataFrameReader.load` with a list sets `paths`; only streams use `maxBytesPerTrigger`."""


class StoreSource(api.DataSource):
    """A table as a data source, with the options `OPTIONS`. A schema from the user also selects columns."""

    table: ClassVar[StoreTable]

    @classmethod
    def name(cls) -> str:
        return cls.table.name

    def schema(self) -> StructType:
        with one_line():
            self._check_options()
            return from_arrow_schema(self.table.schema(self.table.chosen(self.options.get("columns"))))

    def reader(self, schema: StructType) -> StoreReader:
        with one_line():
            self._check_options()
            return self._reader(schema)

    def streamReader(self, schema: StructType) -> api.DataSourceStreamReader:
        try:
            self._check_options()
            return self._stream_reader(schema)
        except TraceError as error:
            return _Refused(error)

    def _stream_reader(self, schema: StructType) -> api.DataSourceStreamReader:
        del schema
        raise TraceError(f"{self.name()}: readStream", "is not supported", "stream rocketmq-commitlog, or use read")

    def _check_options(self) -> None:
        """Raise TraceError for an option that no reader has, or a wrong number. Spark ignores case."""
        self._bytes("maxPartitionBytes", PART_SIZE)
        self._bytes("maxBytesPerTrigger", PART_SIZE)
        known = {name.lower(): name for name in OPTIONS}
        for name in self.options:
            if name.lower() not in known:
                near = get_close_matches(name.lower(), known, 1)
                remedy = f"did you mean {known[near[0]]}?" if near else f"choose among {', '.join(OPTIONS)}"
                raise TraceError(f"{self.name()}: option {name}", "does not exist", remedy)

    def _reader(self, schema: StructType) -> StoreReader:
        columns, names = self._columns(schema)
        clauses = clauses_of(self.table, self.options.get("filters"))
        return StoreReader(self.table, self._folders(), columns, names, self._bytes("maxPartitionBytes", PART_SIZE), clauses)

    def _columns(self, schema: StructType) -> tuple[list[str], list[str]]:
        """Return the columns of a schema, and their spellings in it. Raises TraceError."""
        columns = [self.table.spelled(name) for name in schema.fieldNames()]
        wanted = to_arrow_schema(schema, timezone="UTC")
        for column, field in zip(columns, wanted, strict=True):
            if field.type != self.table.columns[column]:
                kind = from_arrow_schema(self.table.schema([column]))[column].dataType.simpleString()
                raise TraceError(f"{self.name()}: column {column}", "has another type in the schema given", f"declare it {kind}")
        return columns, wanted.names

    def _folders(self) -> list[str]:
        if "paths" in self.options:  # DataFrameReader.load with a list
            folders = [str(path) for path in json.loads(self.options["paths"])]
        else:
            folders = [self.options["path"]] if "path" in self.options else []
        if not folders:
            raise TraceError(self.name(), "has no path to read", "give the folder of a store: .load(folder), or OPTIONS (path 'folder')")
        return [absolute(path) for path in folders]

    def _bytes(self, option: str, default: int) -> int:
        text = self.options.get(option, str(default))
        size = java_long(text)
        if size is None or size <= 0:
            raise TraceError(f"{self.name()}: {option}", f"is {text}", "give a number of bytes from 1 on")
        return size


class CommitLogSource(StoreSource):
    table = commitlog.TABLE

    def _stream_reader(self, schema: StructType) -> api.DataSourceStreamReader:
        try:
            from .stream import BATCH_SIZE, LogStreamReader
        except ImportError:  # before 4.2 a source did not learn where a query stands
            raise TraceError(f"{self.name()}: readStream", "needs PySpark 4.2 or later", "update pyspark, or use read") from None
        if "filters" in self.options:
            raise TraceError(f"{self.name()}: option filters", "is not for streams", "use where() on the stream")
        columns, names = self._columns(schema)
        sizes = self._bytes("maxPartitionBytes", PART_SIZE), self._bytes("maxBytesPerTrigger", BATCH_SIZE)
        return LogStreamReader(self._folders(), columns, names, *sizes)


class ConsumeQueueSource(StoreSource):
    table = consumequeue.TABLE


class IndexSource(StoreSource):
    table = index.TABLE


class TopicsSource(StoreSource):
    table = topics.TABLE


class HistorySource(StoreSource):
    table = histories.TABLE


SOURCES: tuple[type[StoreSource], ...] = (CommitLogSource, ConsumeQueueSource, IndexSource, TopicsSource, HistorySource)


class _Refused(api.DataSourceStreamReader):
    """A stream that cannot be read. Spark reports an error of a reader's methods, but not of its creation."""

    def __init__(self, error: TraceError) -> None:
        self.error = error

    def initialOffset(self) -> dict[str, str]:
        with one_line():
            raise self.error

    def latestOffset(self, start: dict[str, str], limit: object) -> dict[str, str]:
        del start, limit
        return self.initialOffset()

    def read(self, partition: api.InputPartition) -> Iterator[pa.RecordBatch]:
        del partition
        raise self.error


class StoreReader(api.DataSourceReader):
    """Reads some columns of the rows of a table that match the clauses; `names` are the columns' spellings in the query."""

    def __init__(
        self, table: StoreTable, folders: Sequence[str], columns: Sequence[str], names: Sequence[str], part_size: int, clauses: Clauses = ()
    ) -> None:
        self.table = table
        self.folders = folders
        self.columns = columns
        self.names = names
        self.part_size = part_size
        self.clauses = clauses

    def pushFilters(self, filters: list[api.Filter]) -> Iterable[api.Filter]:
        for filter_ in filters:
            clause = clause_of(filter_, self.table)
            if clause is None or not is_implied(clause, self.clauses):
                yield filter_

    def partitions(self) -> Sequence[api.InputPartition]:
        with one_line():
            return [api.InputPartition(part) for part in self.table.parts(self.folders, self.clauses, self.part_size)]

    def read(self, partition: api.InputPartition) -> Iterator[pa.RecordBatch]:
        if partition.value is None:  # Spark's own partition, if the table has none
            return
        yield from renamed(self.table.read(partition.value, self.columns, self.clauses), self.names)


def clause_of(filter_: api.Filter, table: StoreTable) -> Clause | None:
    """Return the clause of a filter, None if the table does not support it and Spark must apply it."""
    operator = _OPERATORS.get(type(filter_))
    path: tuple[str, ...] = getattr(filter_, "attribute", ())
    if operator is None or len(path) != 1:
        return None
    column = table.spelled(path[0])
    if operator not in table.pushed.get(column, frozenset()):
        return None
    value = getattr(filter_, "value", None)
    if operator == "among":
        values = [comparable(table, column, each) for each in value or () if each is not None]
        return None if None in values else Clause(column, operator, tuple(values))
    if operator in ("absent", "present"):
        return Clause(column, operator)
    literal = comparable(table, column, value)
    return None if literal is None else Clause(column, operator, literal)


def register(spark: SparkSession) -> None:
    """Make the formats known to a session. Its plans show the filters that readers apply."""
    remote = context_of(spark) is None
    for source in SOURCES:
        spark.dataSource.register(sent_by_value(source) if remote else source)
    if spark.conf.get(PUSHDOWN, "false") != "true":
        spark.conf.set(PUSHDOWN, "true")


def sent_by_value(source: type[StoreSource]) -> type[api.DataSource]:
    """Return a class that stands for a source on a Spark Connect server."""
    from pyspark import cloudpickle

    from . import remote

    pickler: Any = cloudpickle  # it has no types
    pickler.register_pickle_by_value(remote)
    return type(source.__name__, (remote.RemoteSource,), {"table": source.name(), "__module__": remote.__name__})
