"""The data sources as a Spark Connect server receives them: by value, so that a server without rocketproof reports what is missing.

Spark sends a class of an importable module by name. A server that cannot import the module answers with a traceback. This module is sent by
value instead, so it must not import other modules of this project at its top.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType


class RemoteSource(DataSource):
    """A data source that the server imports when a query begins. Subclasses set `table`, its name."""

    table = ""

    @classmethod
    def name(cls) -> str:
        return cls.table

    def schema(self) -> StructType | str:
        return self._source().schema()

    def reader(self, schema: StructType) -> DataSourceReader:
        return self._source().reader(schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        try:
            return self._source().streamReader(schema)
        except RuntimeError as error:
            return MissingSource(str(error))

    def _source(self) -> DataSource:
        """Return the source that this one stands for. Raises RuntimeError if this Python lacks rocketproof."""
        try:
            from rocketproof_traces.spark.source import SOURCES
        except ImportError as error:
            os.environ["SPARK_HIDE_TRACEBACK"] = "1"  # Spark's worker process reads it: the error is one line
            missing = f"{self.table}: the Spark Connect server's Python {sys.executable} cannot import rocketproof ({error})"
            raise RuntimeError(f"{missing}; install it there: a stream is planned without the code that a client sends") from None
        (source,) = [each for each in SOURCES if each.name() == self.table]
        return source(self.options)


class MissingSource(DataSourceStreamReader):
    """A stream that this Python cannot read. Spark reports an error of a reader's methods, but not of its creation."""

    def __init__(self, problem: str) -> None:
        self.problem = problem

    def initialOffset(self) -> dict[str, str]:
        raise RuntimeError(self.problem)

    def latestOffset(self, start: dict[str, str], limit: object) -> dict[str, str]:
        del start, limit
        return self.initialOffset()

    def read(self, partition: InputPartition) -> Iterator[tuple[object, ...]]:
        del partition
        raise RuntimeError(self.problem)
