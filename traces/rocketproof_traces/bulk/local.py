"""Judge many histories in processes of this machine, without Spark or Java.

Each history is the work of one process. A history too long for memory is first divided into files, each with some of its partitions.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pyarrow as pa

from ..common.pools import WorkerPool, on_processes
from .cache import PieceCache
from .partition import KEPT, HistoryTask, partition
from .results import FolderResults, Summary
from .tables import CALLS
from .verdicts import judge_whole
from .work import JudgingJob, Tell, cached, named, take_new, unjudged

HELD = KEPT
"""The number of events that one process holds in memory."""
WAVE = 1_000_000
"""The number of events whose verdicts are written as one batch."""


def judge(order: JudgingJob, cores: int = 1, tell: Tell = lambda _: None) -> Summary:
    """Judge the job's histories that have no current verdict, and return the summary of its folder. Raises TraceError."""
    spread = on_processes(cores)
    ready = cached(order)
    if ready is None:
        take_new(order, named(order), spread, tell)
    order = ready or order
    results = FolderResults(order.out)
    todo = unjudged(order, tell)
    done = 0
    for wave in _waves(todo):
        results.add(_judged(order, wave, spread))
        done += len(wave)
        tell(f"judged {done} of {len(todo)} histories")
    return results.summary(order.profile)


def _judged(order: JudgingJob, todo: list[HistoryTask], spread: WorkerPool) -> Iterator[pa.Table]:
    short = [task for task in todo if _events(task) <= HELD]
    yield from spread(partial(_judge, order), short)
    for task in todo:
        if _events(task) > HELD:
            with tempfile.TemporaryDirectory() as folder:
                files = spill(partition(PieceCache(order.cache), task, order.own), Path(folder), -(-_events(task) // HELD))
                yield from spread(partial(_judge_file, order), files)


def _waves(todo: Iterable[HistoryTask]) -> Iterator[list[HistoryTask]]:
    """Yield the histories in batches; written batches are kept if the run is stopped."""
    wave: list[HistoryTask] = []
    events = 0
    for task in todo:
        wave.append(task)
        events += _events(task)
        if events >= WAVE:
            yield wave
            wave, events = [], 0
    if wave:
        yield wave


def _events(task: HistoryTask) -> int:
    return sum(piece.rows for piece in task.pieces)


def _judge(order: JudgingJob, task: HistoryTask) -> pa.Table:
    return judge_whole(partition(PieceCache(order.cache), task, order.own), order.profile, order.bound, order.own)


def _judge_file(order: JudgingJob, file: Path) -> pa.Table:
    with pa.ipc.open_file(file) as reader:
        return judge_whole((reader.get_batch(k) for k in range(reader.num_record_batches)), order.profile, order.bound, order.own)


def spill(batches: Iterable[pa.RecordBatch], folder: Path, number: int) -> list[Path]:
    """Write rows of CALLS to `number` files; the rows of a partition are in one file."""
    files = [folder / f"{k}.arrow" for k in range(number)]
    with ExitStack() as stack:
        writers = [stack.enter_context(pa.ipc.new_file(file, CALLS)) for file in files]
        for batch in batches:
            parts = batch.column(1).to_numpy() % number
            for k, writer in enumerate(writers):
                mine = batch.filter(pa.array(parts == k))
                if mine.num_rows:
                    writer.write_batch(mine)
    return files


__all__ = ["judge", "spill"]
