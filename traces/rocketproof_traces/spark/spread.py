"""Spread items over a session's workers in tasks; Spark repeats a lost task.

The function and its items are sent as bytes, and the results return as bytes. Nothing else passes through Spark, so the same code works
with classic sessions and Spark Connect.
"""

from __future__ import annotations

import gc
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from operator import index
from typing import TYPE_CHECKING, Any, TypeVar

from rocketproof_protocol.numbers import whole_number

from ..common.errors import TraceError
from ..common.pools import WorkerPool
from .failures import reason, spark_errors
from .session import in_thread

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

WAVE = 16  # items per core that are sent at once; their results are kept before the next items are sent
TASKS = 2  # tasks per core for short items: a task costs Spark about 20 ms
ANSWER = "answer binary"
A = TypeVar("A")
B = TypeVar("B")
Mapping = Callable[[Iterable["pa.RecordBatch"]], Iterator["pa.RecordBatch"]]


def _number(items: Sequence[Any]) -> str:
    return f"{len(items):,} items"


@dataclass(frozen=True)
class JobNames:
    """How Spark's page shows the jobs of a pool: their group, and a description of the items of a job."""

    group: str = "rocketproof"
    describe: Callable[[Sequence[Any]], str] = _number


def name_jobs(spark: SparkSession, group: str, description: str) -> None:
    """Name the jobs that this thread starts from now on. On Spark Connect, which has no descriptions, the group becomes a tag."""
    context = context_of(spark)
    if context is None:
        spark.addTag(group.replace(" ", "-"))
    else:
        context.setJobGroup(group, description)


def on_spark(spark: SparkSession, *, short: bool = True, names: JobNames = JobNames()) -> WorkerPool:
    """Return a worker pool on this session. It sends WAVE items per core at a time, and Spark's page shows its jobs by `names`.

    `short` items take a fraction of a second and share TASKS tasks per core. Longer items are sent WAVE / 2 per core, one per task. Raises
    TraceError if Spark fails.
    """
    cores = in_thread(partial(core_count, spark))
    width = (WAVE if short else WAVE // 2) * cores

    def run(function: Callable[[A], B], items: Sequence[A]) -> Iterator[B]:
        try:
            yield from spread(spark, function, items, width, TASKS * cores if short else width, names)
        except spark_errors() as error:
            raise TraceError("Spark", f"could not do a part of the work ({reason(error)[:200]})", "give the same command again") from None

    return run


def spread(
    spark: SparkSession,
    function: Callable[[A], B],
    items: Sequence[A],
    width: int,
    tasks: int,
    names: JobNames = JobNames(),
) -> Iterator[B]:
    """Yield the function's results, sending `width` items at a time in up to `tasks` tasks.

    The workers must be able to import the function, and repeated calls must return the same result. Ctrl-C stops the running tasks; earlier
    results are complete.
    """
    for first in range(0, len(items), width):
        wave = list(items[first : first + width])
        yield from in_thread(partial(_wave, spark, function, wave, tasks, names), spark.interruptAll)


def _wave(spark: SparkSession, function: Callable[[A], B], items: Sequence[A], tasks: int, names: JobNames) -> list[B]:
    name_jobs(spark, names.group, names.describe(items))
    numbers = spark.range(0, len(items), 1, min(tasks, len(items)))
    return [pickle.loads(row["answer"]) for row in numbers.mapInArrow(over_items(function, items), ANSWER).collect()]


def over_items(function: Callable[[A], B], items: Sequence[A]) -> Mapping:
    """Return a function for `mapInArrow` over numbers of items; its rows are the pickled results (ANSWER)."""

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            answers = [pickle.dumps(function(items[index(n)])) for n in batch.column(0).to_pylist()]
            _freeze_loaded()
            yield pa.RecordBatch.from_pydict({"answer": pa.array(answers, pa.binary())})

    return run


@cache
def _freeze_loaded() -> None:
    """Freeze loaded objects. Spark's worker collects garbage after each task, which takes 0.1 s for the objects of all loaded modules."""
    gc.collect()
    gc.freeze()


def context_of(spark: SparkSession) -> SparkContext | None:
    """Return the context of a classic session. A session of Spark Connect has none."""
    return getattr(spark, "sparkContext", None)


def core_count(spark: SparkSession) -> int:
    """Return the number of cores of the session. On Spark Connect, which does not show it, return the number of shuffle partitions."""
    context = context_of(spark)
    if context is None:
        return max(1, whole_number(spark.conf.get("spark.sql.shuffle.partitions", "4") or 4))
    return max(1, whole_number(context.defaultParallelism))
