"""Items spread over a session's workers, in tasks; one that is lost is done again by itself.

The items go out with the function and the answers come back as bytes; nothing else passes through Spark, so that one plan serves classic
sessions and Spark Connect.
"""

from __future__ import annotations

import gc
import pickle
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from operator import index
from typing import TYPE_CHECKING, TypeVar

from rocketproof_protocol.numbers import whole_number

from ..common.errors import TraceError
from ..common.pools import WorkerPool
from .session import aside

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

WAVE = 16  # items for each core that are given out at once; what they gave is kept before the next ones
TASKS = 2  # for each core, of short items: a task costs Spark some 20 ms
ANSWER = "answer binary"
A = TypeVar("A")
B = TypeVar("B")
Mapping = Callable[[Iterable["pa.RecordBatch"]], Iterator["pa.RecordBatch"]]


def on_spark(spark: SparkSession, *, short: bool = True) -> WorkerPool:
    """How work is spread by this session, WAVE items for each of its cores at a time: `short` ones take a fraction of a second, and share
    TASKS tasks; of others half as many, each a task of its own. Raises TraceError where Spark fails."""
    from pyspark.errors import PySparkException

    cores = aside(partial(_cores, spark))
    width = (WAVE if short else WAVE // 2) * cores

    def run(function: Callable[[A], B], items: Sequence[A]) -> Iterator[B]:
        try:
            yield from spread(spark, function, items, width, TASKS * cores if short else width)
        except PySparkException as error:
            raise TraceError("Spark", f"could not do a part of the work ({reason(error)[:200]})", "give the same command again") from None

    return run


def spread(spark: SparkSession, function: Callable[[A], B], items: Sequence[A], width: int, tasks: int) -> Iterator[B]:
    """The function's answers, `width` items at a time, in so many tasks. It has to be found by import on the workers, and give an item the
    same answer again.

    Ctrl-C ends the tasks that run; the answers given before are complete.
    """
    for first in range(0, len(items), width):
        some = list(items[first : first + width])
        yield from aside(partial(_wave, spark, function, some, tasks), spark.interruptAll)


def _wave(spark: SparkSession, function: Callable[[A], B], items: Sequence[A], tasks: int) -> list[B]:
    numbers = spark.range(0, len(items), 1, min(tasks, len(items)))
    return [pickle.loads(row["answer"]) for row in numbers.mapInArrow(over_items(function, items), ANSWER).collect()]


def over_items(function: Callable[[A], B], items: Sequence[A]) -> Mapping:
    """For `mapInArrow` over numbers of items: the pickled answers, rows of ANSWER."""

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            answers = [pickle.dumps(function(items[index(n)])) for n in batch.column(0).to_pylist()]
            _keep_what_is_loaded()
            yield pa.RecordBatch.from_pydict({"answer": pa.array(answers, pa.binary())})

    return run


@cache
def _keep_what_is_loaded() -> None:
    """Spark's worker collects garbage after each task, and looks at every object of every module that is loaded: a tenth of a second."""
    gc.collect()
    gc.freeze()


def reason(error: Exception) -> str:
    """What went wrong, of the pages that Spark prints: the last line that names an error of Python or Java, else the first."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    named = [line for line in lines if re.match(r"[\w.]*(Error|Exception)\b", line)]
    return named[-1] if named else (lines or [type(error).__name__])[0]


def _cores(spark: SparkSession) -> int:
    """Cores that the session uses, as far as it reports them: one of Spark Connect has no context to ask."""
    from pyspark.errors import PySparkException

    try:
        return max(1, whole_number(spark.sparkContext.defaultParallelism))
    except PySparkException:
        return max(1, whole_number(spark.conf.get("spark.sql.shuffle.partitions", "4") or 4))
