"""Items spread over a session's workers, each a task of its own, so that one that is lost is done again by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from ..errors import TraceError
from ..pools import Spread
from .session import aside

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

WAVE = 16  # short items for each core that are given out at once; what they gave is kept before the next ones


def on_spark(spark: SparkSession, wave: int = WAVE) -> Spread:
    """How work is spread by this session, `wave` items for each of its cores at a time. Raises TraceError where Spark fails."""
    from pyspark.errors import PySparkException

    width = wave * aside(partial(_cores, spark))

    def run(function: Callable[[str], str], items: Sequence[str]) -> Iterator[str]:
        try:
            yield from spread(spark, function, items, width)
        except PySparkException as error:
            said = str(error).strip().splitlines() or [type(error).__name__]
            raise TraceError("Spark", f"could not do a part of the work ({said[0][:200]})", "give the same command again") from None

    return run


def spread(spark: SparkSession, function: Callable[[str], str], items: Sequence[str], width: int) -> Iterator[str]:
    """The function's answers, `width` items at a time. It has to be found by import on the workers, and give an item the same answer again.

    Ctrl-C ends the tasks that run; the answers given before are complete.
    """
    for first in range(0, len(items), width):
        some = list(items[first : first + width])
        yield from aside(partial(_wave, spark, function, some), spark.interruptAll)


def _wave(spark: SparkSession, function: Callable[[str], str], items: Sequence[str]) -> list[str]:
    tasks = spark.range(0, len(items), 1, len(items)).mapInArrow(_over(function, items), "answer string")
    return [row["answer"] for row in tasks.collect()]


def _over(function: Callable[[str], str], items: Sequence[str]) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            answers = pa.array([function(items[int(n)]) for n in batch.column(0).to_pylist()], pa.string())
            yield pa.RecordBatch.from_arrays([answers], ["answer"])

    return run


def _cores(spark: SparkSession) -> int:
    """Cores that the session uses, as far as it tells: one of Spark Connect has no context to ask."""
    from pyspark.errors import PySparkException

    try:
        return max(1, int(spark.sparkContext.defaultParallelism))
    except PySparkException:
        return max(1, int(spark.conf.get("spark.sql.shuffle.partitions", "4") or 4))
