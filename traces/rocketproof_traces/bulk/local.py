"""The judge of many histories in processes of this machine, without Spark or Java.

A history is one process's work. One that is too long to be held is divided into files first, each with some of its parts.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TypeVar

import pyarrow as pa

from ..pools import answers, processes
from .cache import PieceCache
from .ingest import take
from .partition import KEPT, Docket, partition
from .results import Results, Summary
from .tables import CALLS
from .verdicts import judge_whole
from .work import Order, Tell, dockets, fresh, named, shelved

HELD = KEPT
"""Events that one process holds at once."""
WAVE = 1_000_000
"""Events whose verdicts are written as one batch."""
A = TypeVar("A")
B = TypeVar("B")


def judge(order: Order, cores: int = 1, tell: Tell = lambda _: None) -> Summary:
    """Judge what the order names and was not judged yet; the summary is of all that its folder holds. Raises TraceError."""
    ready = shelved(order)
    if ready is None:
        found = named(order)
        new = fresh(found, PieceCache(order.cache).taken())
        tell(f"reading {len(new)} of {len(found)} files")
        for _ in _spread(partial(_take, order.cache), new, cores):
            pass
    order = ready or order
    results = Results(order.out)
    todo = dockets(PieceCache(order.cache).taken().values(), results.stamps(), order)
    tell(f"judging {len(todo)} histories")
    for wave in _waves(todo):
        results.add(_judged(order, wave, cores))
    return results.summary(order.profile)


def _take(cache: str, source: str) -> None:
    take(PieceCache(cache), source)


def _judged(order: Order, todo: list[Docket], cores: int) -> Iterator[pa.Table]:
    short = [docket for docket in todo if _events(docket) <= HELD]
    yield from _spread(partial(_judge, order), short, cores)
    for docket in todo:
        if _events(docket) > HELD:
            with tempfile.TemporaryDirectory() as folder:
                files = spill(partition(PieceCache(order.cache), docket), Path(folder), -(-_events(docket) // HELD))
                yield from _spread(partial(_judge_file, order), files, cores)


def _waves(todo: Iterable[Docket]) -> Iterator[list[Docket]]:
    """The histories in batches; those that were written stay when the run is stopped."""
    wave: list[Docket] = []
    events = 0
    for docket in todo:
        wave.append(docket)
        events += _events(docket)
        if events >= WAVE:
            yield wave
            wave, events = [], 0
    if wave:
        yield wave


def _events(docket: Docket) -> int:
    return sum(piece.rows for piece in docket.pieces)


def _judge(order: Order, docket: Docket) -> pa.Table:
    return judge_whole(partition(PieceCache(order.cache), docket), order.profile, order.limit)


def _judge_file(order: Order, file: Path) -> pa.Table:
    with pa.ipc.open_file(file) as reader:
        return judge_whole((reader.get_batch(k) for k in range(reader.num_record_batches)), order.profile, order.limit)


def spill(batches: Iterable[pa.RecordBatch], folder: Path, number: int) -> list[Path]:
    """Rows of CALLS spread over `number` files, those of a part in one of them."""
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


def _spread(function: Callable[[A], B], items: Iterable[A], cores: int) -> Iterator[B]:
    """The function's answers, in any order, by as many processes."""
    todo = list(items)
    if cores < 2 or len(todo) < 2:
        yield from map(function, todo)
        return
    with processes(min(cores, len(todo))) as pool:
        yield from answers(pool, function, todo, 2 * cores)


__all__ = ["judge", "spill"]
