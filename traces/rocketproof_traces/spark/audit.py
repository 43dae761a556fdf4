"""The audit spread over Spark's workers: the same function from task to result, a task each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from ..errors import TraceError
from .spread import spread

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from ..audit.run import Spread

WAVE = 16  # tasks for each core that are given out at once; what they found is kept before the next ones


def on_spark(spark: SparkSession) -> Spread:
    """How an audit spreads its tasks by this session."""
    from pyspark.errors import PySparkException

    width = WAVE * _cores(spark)

    def run(function: Callable[[str], str], items: Sequence[str]) -> Iterator[str]:
        try:
            yield from spread(spark, function, items, width)
        except PySparkException as error:
            said = str(error).strip().splitlines() or [type(error).__name__]
            raise TraceError("Spark", f"could not do a part of the audit ({said[0][:200]})", "give the same command again") from None

    return run


def _cores(spark: SparkSession) -> int:
    """Cores that the session uses, as far as it tells: one of Spark Connect has no context to ask."""
    from pyspark.errors import PySparkException

    try:
        return max(1, int(spark.sparkContext.defaultParallelism))
    except PySparkException:
        return max(1, int(spark.conf.get("spark.sql.shuffle.partitions", "4") or 4))
