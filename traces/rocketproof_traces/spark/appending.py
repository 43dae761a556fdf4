"""Append rows to a table of Spark, in any format that the session knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..common.errors import TraceError
from .failures import reason, spark_errors

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession


def append(spark: SparkSession, rows: pa.Table, format_: str, *, table: str = "", folder: str = "", place: str = "") -> None:
    """Append rows to a table of the session's catalog, or else to a folder or URL. `place` names the target in errors.

    Raises TraceError if the session does not know the format or cannot write there.
    """
    try:
        writer = spark.createDataFrame(rows).write.format(format_).mode("append")
        if table:
            writer.saveAsTable(table)
        else:
            writer.save(folder)
    except spark_errors() as error:
        remedy = "give a format that the session knows; --conf spark.jars.packages=NAME adds its library"
        raise TraceError(place or table or folder, f"cannot be written ({reason(error)[:200]})", remedy) from None
