"""What there is to do, the same for every engine: sources that are not in the cache yet, and histories that were not judged as they are."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

from pyarrow import fs

from ..checker.steps import SearchBound
from ..common.errors import TraceError
from ..common.pools import WorkerPool
from ..stored.paths import readable
from .cache import SUFFIX, CachedSource, PieceCache, by_history
from .ingest import sources, take
from .partition import HistoryTask
from .results import FolderResults

Tell = Callable[[str], None]


@dataclass(frozen=True)
class JudgingJob:
    """What is wanted: judge the histories of `sources` (files and folders) by a profile. Pieces go to the folder `cache`, verdicts to
    `out`. `bound` is that of each part; `late` is in seconds, None: a missing event is waited for."""

    sources: tuple[str, ...]
    profile: str
    out: str
    cache: str
    bound: SearchBound = SearchBound()
    late: float | None = None


def cached(order: JudgingJob) -> JudgingJob | None:
    """The order if its one source is a folder of pieces already, and is to be judged as it lies; else None."""
    if len(order.sources) != 1:
        return None
    cache = PieceCache(order.sources[0])
    with readable(order.sources[0]):
        if cache.files.get_file_info(cache.path).type != fs.FileType.Directory:
            return None
        names = [info.path for info in cache.files.get_file_info(fs.FileSelector(cache.path))]
    return replace(order, cache=order.sources[0]) if any(name.endswith(SUFFIX) for name in names) else None


def named(order: JudgingJob) -> list[tuple[str, str]]:
    """The files that the order names, with their stamps. Raises TraceError where there are none."""
    found = sources(list(order.sources))
    if not found:
        raise TraceError(", ".join(order.sources), "holds no files", "give files or folders of histories")
    PieceCache(order.cache).create()
    return found


def take_new(order: JudgingJob, found: Sequence[tuple[str, str]], spread: WorkerPool, tell: Tell) -> None:
    """Read the sources that are not in the cache as they are now into it, a task each."""
    new = fresh(found, PieceCache(order.cache).sources())
    tell(f"reading {len(new)} of {len(found)} files")
    for done, _ in enumerate(spread(partial(_take, order.cache), new), 1):
        tell(f"read {done} of {len(new)} files")


def _take(cache: str, source: str) -> None:
    take(PieceCache(cache), source)


def unjudged(order: JudgingJob, tell: Tell) -> list[HistoryTask]:
    """The histories in the cache that were not judged as they are."""
    todo = tasks(PieceCache(order.cache).sources().values(), FolderResults(order.out).stamps(), order)
    tell(f"judging {len(todo)} histories")
    return todo


def fresh(found: Sequence[tuple[str, str]], known: Mapping[str, CachedSource]) -> list[str]:
    """The sources (with stamps) that are not in the cache as they are now; `known` are those that it has."""
    return [source for source, stamp in found if source not in known or known[source].stamp != stamp]


def tasks(sources: Iterable[CachedSource], judged: Mapping[str, tuple[int, str]], order: JudgingJob) -> list[HistoryTask]:
    """The histories that are to be judged: those that were not yet, or not with these events by this order."""
    found = []
    for history, its_sources in by_history(sources).items():
        task = _task(history, its_sources, order)
        if history not in judged or judged[history][1] != task.stamp:
            found.append(task)
    return found


def _task(history: str, sources: Sequence[CachedSource], order: JudgingJob) -> HistoryTask:
    pieces = tuple(piece for one in sources for piece in one.pieces if piece.history == history)
    origin: dict[str, Any] = {}
    for one in sources:
        origin = {**one.origins.get(history, {}), **origin}
    problems = tuple((one.source, line, text) for one in sources for name, line, text in one.problems if name == history)
    about = [[asdict(p) for p in pieces], [one.stamp for one in sources], origin, problems, order.profile, order.bound, order.late]
    stamp = hashlib.sha256(json.dumps(about).encode()).hexdigest()[:16]
    return HistoryTask(history, pieces, origin, problems, stamp, order.late)


__all__ = ["JudgingJob", "Tell", "cached", "named", "take_new", "tasks", "unjudged"]
