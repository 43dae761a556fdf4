"""The judge of many histories on Spark: the functions of `bulk` as tasks, which may be done again, on any worker, with the same result.

Three steps: files to pieces (a task each), histories divided into calls (a task each, streaming), parts judged (`applyInArrow`, grouped by
history and part). Between them goes what Spark shuffles, calls packed by part; verdicts are written by Spark, which keeps one attempt
of each task.

A single folder of files is a stream: `availableNow` takes the files that its checkpoint has not seen. What a history needs of earlier runs
is in the cache, written so that doing it again changes nothing.
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
from .session import aside
from .spread import on_spark, reason

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

EVENTS_A_TASK = 20_000
"""Events that a task judges, about: a second's work."""
_PACKED = "history string, part int, calls binary"
"""Calls of one part as a record batch of Arrow (CALLS): Spark moves few large values much faster than many rows."""
_FILES = "path string, modificationTime timestamp, length long, content binary"


def judge(spark: SparkSession, order: JudgingJob, tell: Tell = lambda _: None) -> Summary:
    """Judge what the order names and was not judged yet; the summary is of all that its folder holds. Raises TraceError."""
    from pyspark.errors import PySparkException

    try:
        return aside(lambda: _judge(spark, order, tell), spark.interruptAll)
    except PySparkException as error:
        raise TraceError("Spark", f"gave up: {reason(error)}", "run it again: it goes on where it was") from None


def _judge(spark: SparkSession, order: JudgingJob, tell: Tell) -> Summary:
    from pyspark.sql.utils import is_remote

    ready = cached(order)
    if ready is None:
        found = named(order)
        if len(order.sources) == 1 and [source for source, _ in found] != list(order.sources) and not is_remote():
            _stream(spark, order, tell)  # a server of Spark Connect would run the batches without this process's files
        take_new(order, found, on_spark(spark), tell)  # and what has changed since a stream saw it
    order = ready or order
    _judge_batch(spark, order, tell)
    return FolderResults(order.out).summary(order.profile)


def _stream(spark: SparkSession, order: JudgingJob, tell: Tell) -> None:
    """Take and judge the files of a folder that the checkpoint has not seen."""
    reader = spark.readStream.format("binaryFile").schema(_FILES).option("recursiveFileLookup", "true")
    files = reader.load(order.sources[0]).select("path")

    def batch(rows: DataFrame, _: int) -> None:
        known = {_plain(row["path"]) for row in rows.collect()}
        take_new(order, [one for one in sources(list(order.sources)) if _plain(one[0]) in known], on_spark(spark), tell)
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
    """A path as it is compared: without the scheme of local files."""
    return path.removeprefix("file:").replace("//", "/")


def _judge_batch(spark: SparkSession, order: JudgingJob, tell: Tell) -> None:
    """Judge the histories in the cache that were not judged as they are, and write their verdicts as one batch."""
    todo = unjudged(order, tell)
    if todo:
        judged(spark, order, todo).write.mode("overwrite").parquet(f"{order.out.rstrip('/')}/{FolderResults(order.out).next()}")


def judged(spark: SparkSession, order: JudgingJob, todo: Sequence[HistoryTask]) -> DataFrame:
    """The verdicts on histories, rows of VERDICTS."""
    root, profile, bound = order.cache, order.profile, order.bound

    def division(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for text in batch.column(0).to_pylist():
                with uncollected():
                    yield from map(_packed, partition(PieceCache(root), _task(json.loads(text))))

    def verdict(packed: pa.Table) -> pa.Table:
        return judge_calls(_unpacked(packed), profile, bound)

    calls = _spread(spark, "task", [json.dumps(asdict(one)) for one in todo]).mapInArrow(division, _PACKED)
    events = sum(piece.rows for task in todo for piece in task.pieces)
    tasks = min(1 + events // EVENTS_A_TASK, 1000)  # said outright: Spark, which sees few bytes, would make one task of them
    return calls.repartition(tasks, "history", "part").groupBy("history", "part").applyInArrow(verdict, _columns(VERDICTS))


def _packed(calls: pa.RecordBatch) -> pa.RecordBatch:
    """Rows of CALLS of one history, packed by their parts."""
    calls = calls.sort_by("part")
    parts = calls["part"].to_numpy()
    edges = [0, *(np.flatnonzero(parts[1:] != parts[:-1]) + 1).tolist(), len(parts)]
    pieces = [calls.slice(a, b - a) for a, b in pairwise(edges) if a < b]
    found = {
        "history": [piece["history"][0].as_py() for piece in pieces],
        "part": pa.array([piece["part"][0].as_py() for piece in pieces], pa.int32()),
        "calls": pa.array([piece.serialize().to_pybytes() for piece in pieces], pa.binary()),
    }
    return pa.RecordBatch.from_pydict(found)


def _unpacked(packed: pa.Table) -> pa.Table:
    """The rows of CALLS again."""
    values = [value.as_buffer() for chunk in packed["calls"].chunks for value in chunk]
    return pa.Table.from_batches([pa.ipc.read_record_batch(value, CALLS) for value in values], CALLS)


def _task(data: dict[str, Any]) -> HistoryTask:
    pieces = tuple(Piece(**piece) for piece in data["pieces"])
    problems = tuple((file, line, text) for file, line, text in data["problems"])
    return HistoryTask(data["history"], pieces, data["origin"], problems, data["stamp"], data["late"])


def _spread(spark: SparkSession, name: str, values: Sequence[str]) -> DataFrame:
    """A column of texts, each in a partition of its own as far as that makes sense."""
    rows = spark.createDataFrame(pa.table({name: list(values)}))
    return rows.repartitionByRange(min(len(values), 1000), name)


def _columns(schema: pa.Schema) -> Any:
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(schema)


__all__ = ["judge", "judged"]
