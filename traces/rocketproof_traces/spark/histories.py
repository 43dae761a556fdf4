"""Judge many histories on Spark: the functions of `bulk` as tasks. They can be repeated on any worker with the same result.

There are three steps. Files are converted to pieces, one task each. Histories are divided into calls, one streaming task each. Parts are
judged with `applyInArrow`, grouped by history and part. Between the steps Spark shuffles calls, packed by part. Spark writes the verdicts
and keeps one attempt of each task.

A single folder of files is read as a stream: `availableNow` takes the files that its checkpoint has not seen. State from earlier runs is in
the cache; writing it repeatedly changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ..bulk.cache import Piece, PieceCache
from ..bulk.ingest import sources
from ..bulk.partition import HistoryTask, partition
from ..bulk.results import FolderResults, Summary
from ..bulk.tables import CALLS, VERDICTS
from ..bulk.verdicts import judge_calls
from ..bulk.work import JudgingJob, Tell, cached, named, take_new, unjudged
from ..common.collection import uncollected
from ..common.errors import TraceError
from ..common.pools import first_and_more
from .failures import reason, spark_errors
from .session import in_thread
from .spread import JobNames, name_jobs, on_spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

EVENTS_A_TASK = 20_000
"""About how many events a task judges, in one second."""
_PACKED = "history string, part int, calls binary"
"""Calls of one part as a record batch of Arrow (CALLS): Spark moves a few large values much faster than many rows."""
_FILES = "path string, modificationTime timestamp, length long, content binary"
_GROUP = "rocketproof judge"
_READING = JobNames(_GROUP, lambda items: f"read {first_and_more(items[0], len(items), 'files')}")


def judge(spark: SparkSession, order: JudgingJob, tell: Tell = lambda _: None) -> Summary:
    """Judge what the order names and was not judged yet. Returns the summary of everything in its folder. Raises TraceError."""
    try:
        return in_thread(lambda: _judge(spark, order, tell), spark.interruptAll)
    except spark_errors() as error:
        raise TraceError("Spark", f"gave up: {reason(error)}", "run it again: it goes on where it was") from None


def _judge(spark: SparkSession, order: JudgingJob, tell: Tell) -> Summary:
    from pyspark.sql.utils import is_remote

    from_cache = cached(order)
    if from_cache is None:
        named_sources = named(order)
        is_folder = len(order.sources) == 1 and [source for source, _ in named_sources] != list(order.sources)
        if is_folder and order.only is None and not is_remote():
            _stream(spark, order, tell)  # a Spark Connect server would run the batches without this process's files
        take_new(order, named_sources, on_spark(spark, names=_READING), tell)  # also files that changed since the stream read them
    order = from_cache or order
    _judge_batch(spark, order, tell)
    return FolderResults(order.out).summary(order.profile)


def _stream(spark: SparkSession, order: JudgingJob, tell: Tell) -> None:
    """Take and judge the files of a folder that the checkpoint has not seen."""
    reader = spark.readStream.format("binaryFile").schema(_FILES).option("recursiveFileLookup", "true")
    files = reader.load(order.sources[0]).select("path")

    def batch(rows: DataFrame, _: int) -> None:
        known = {_plain(row["path"]) for row in rows.collect()}
        new = [source for source in sources(list(order.sources)) if _plain(source[0]) in known]
        take_new(order, new, on_spark(spark, names=_READING), tell)
        _judge_batch(spark, order, tell)

    query = (
        files.writeStream.foreachBatch(batch)
        .option("checkpointLocation", f"{order.cache.rstrip('/')}/_checkpoint")
        .trigger(availableNow=True)
        .start()
    )
    try:
        query.awaitTermination()
    finally:
        query.stop()


def _plain(path: str) -> str:
    """Return a path in comparable form: without the scheme of local files."""
    return path.removeprefix("file:").replace("//", "/")


def _judge_batch(spark: SparkSession, order: JudgingJob, tell: Tell) -> None:
    """Judge the new or changed histories in the cache and write their verdicts as one batch."""
    todo = unjudged(order, tell)
    if todo:
        name_jobs(spark, _GROUP, f"{first_and_more(todo[0].history, len(todo), 'histories')}: {order.profile}")
        judged(spark, order, todo).write.mode("overwrite").parquet(f"{order.out.rstrip('/')}/{FolderResults(order.out).next()}")


def judged(spark: SparkSession, order: JudgingJob, todo: Sequence[HistoryTask]) -> DataFrame:
    """Return the verdicts on histories, rows of VERDICTS."""
    root, profile, bound, own = order.cache, order.profile, order.bound, order.own

    def division(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for text in batch.column(0).to_pylist():
                with uncollected():
                    yield from map(_packed, partition(PieceCache(root), _task(json.loads(text)), own))

    def verdict(packed: pa.Table) -> pa.Table:
        return judge_calls(_unpacked(packed), profile, bound, own)

    calls = _spread(spark, "task", [json.dumps(asdict(history_task)) for history_task in todo]).mapInArrow(division, _PACKED)
    events = sum(piece.rows for task in todo for piece in task.pieces)
    tasks = min(1 + events // EVENTS_A_TASK, 1000)  # explicit, because Spark sees few bytes and would create one task
    return calls.repartition(tasks, "history", "part").groupBy("history", "part").applyInArrow(verdict, _columns(VERDICTS))


def _packed(calls: pa.RecordBatch) -> pa.RecordBatch:
    """Return rows of CALLS of one history, packed by part."""
    calls = calls.sort_by("part")
    parts = calls["part"].to_numpy()
    edges = [0, *(np.flatnonzero(parts[1:] != parts[:-1]) + 1).tolist(), len(parts)]
    pieces = [calls.slice(a, b - a) for a, b in pairwise(edges) if a < b]
    columns = {
        "history": [piece["history"][0].as_py() for piece in pieces],
        "part": pa.array([piece["part"][0].as_py() for piece in pieces], pa.int32()),
        "calls": pa.array([piece.serialize().to_pybytes() for piece in pieces], pa.binary()),
    }
    return pa.RecordBatch.from_pydict(columns)


def _unpacked(packed: pa.Table) -> pa.Table:
    """Return the rows of CALLS."""
    values = [value.as_buffer() for chunk in packed["calls"].chunks for value in chunk]
    return pa.Table.from_batches([pa.ipc.read_record_batch(value, CALLS) for value in values], CALLS)


def _task(data: dict[str, Any]) -> HistoryTask:
    pieces = tuple(Piece(**piece) for piece in data["pieces"])
    problems = tuple((file, line, text) for file, line, text in data["problems"])
    return HistoryTask(data["history"], pieces, data["origin"], problems, data["stamp"], data["late"])


def _spread(spark: SparkSession, name: str, values: Sequence[str]) -> DataFrame:
    """Return a column of texts, each in its own partition up to 1000 partitions."""
    rows = spark.createDataFrame(pa.table({name: list(values)}))
    return rows.repartitionByRange(min(len(values), 1000), name)


def _columns(schema: pa.Schema) -> Any:
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(schema)


__all__ = ["judge", "judged"]
