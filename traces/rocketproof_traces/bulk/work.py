"""Find the open work, for every engine: sources that are not in the cache yet, and histories without a current verdict."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

from pyarrow import fs

from ..audit.own import NONE, OwnRules
from ..checker.steps import SearchBound
from ..common.errors import TraceError
from ..common.pools import WorkerPool
from ..stored.paths import readable
from .cache import SUFFIX, CachedSource, PieceCache, by_history
from .ingest import size_of, sources, take
from .partition import HistoryTask
from .results import FolderResults

Tell = Callable[[str], None]


@dataclass(frozen=True)
class JudgingJob:
    """Judge the histories of `sources` (files and folders) by a profile. Pieces are stored in the folder `cache`, verdicts in `out`.

    `bound` limits each partition. `late` is the limit for missing events in seconds, None to wait for ever. `only`: the files to judge,
    each with its stamp, see `ingest.sources`; None for all. `own`: rules of the user, which are checked too.
    """

    sources: tuple[str, ...]
    profile: str
    out: str
    cache: str
    bound: SearchBound = SearchBound()
    late: float | None = None
    only: frozenset[tuple[str, str]] | None = None
    own: OwnRules = NONE


def cached(order: JudgingJob) -> JudgingJob | None:
    """Return the job if its only source is a folder of pieces, which is judged unchanged; otherwise None."""
    if len(order.sources) != 1:
        return None
    cache = PieceCache(order.sources[0])
    with readable(order.sources[0]):
        if cache.files.get_file_info(cache.path).type != fs.FileType.Directory:
            return None
        names = [info.path for info in cache.files.get_file_info(fs.FileSelector(cache.path))]
    return replace(order, cache=order.sources[0]) if any(name.endswith(SUFFIX) for name in names) else None


def named(order: JudgingJob) -> list[tuple[str, str]]:
    """Return the files that the job names, with their stamps. Raises TraceError if there are none."""
    files = sources(list(order.sources))
    if not files:
        raise TraceError(", ".join(order.sources), "holds no files", "give files or folders of histories")
    PieceCache(order.cache).create()
    return files if order.only is None else [file for file in files if file in order.only]


def take_new(order: JudgingJob, files: Sequence[tuple[str, str]], spread: WorkerPool, tell: Tell) -> None:
    """Read new and changed sources into the cache, one task each."""
    new = fresh(files, PieceCache(order.cache).sources())
    if new:
        tell(f"reading {len(new)} of {len(files)} files")
    sizes = {source: size_of(stamp) for source, stamp in files}
    done, size = 0, sum(sizes[source] for source in new)
    for source in spread(partial(_take, order.cache), new):
        done += sizes[source]
        tell(f"read {done:,} of {size:,} bytes")


def _take(cache: str, source: str) -> str:
    take(PieceCache(cache), source)
    return source


def unjudged(order: JudgingJob, tell: Tell) -> list[HistoryTask]:
    """Return the cached histories without a current verdict."""
    todo = tasks(PieceCache(order.cache).sources().values(), FolderResults(order.out).stamps(), order)
    if todo:
        tell(f"judging {len(todo)} histories")
    return todo


def fresh(files: Sequence[tuple[str, str]], known: Mapping[str, CachedSource]) -> list[str]:
    """Return the sources that are missing in the cache or changed since; `known` are the cached ones."""
    return [source for source, stamp in files if source not in known or known[source].stamp != stamp]


def tasks(sources: Iterable[CachedSource], judged: Mapping[str, tuple[int, str]], order: JudgingJob) -> list[HistoryTask]:
    """Return the histories to judge: those without a verdict on exactly these events by this job."""
    open_tasks = []
    for history, its_sources in by_history(sources).items():
        task = _task(history, its_sources, order)
        if history not in judged or judged[history][1] != task.stamp:
            open_tasks.append(task)
    return open_tasks


def _task(history: str, sources: Sequence[CachedSource], order: JudgingJob) -> HistoryTask:
    pieces = tuple(piece for source in sources for piece in source.pieces if piece.history == history)
    origin: dict[str, Any] = {}
    for source in sources:
        origin = {**source.origins.get(history, {}), **origin}
    problems = tuple((source.source, line, text) for source in sources for name, line, text in source.problems if name == history)
    about = [[asdict(p) for p in pieces], [source.stamp for source in sources], origin, problems, order.profile, order.bound, order.late]
    about += [order.own.text] if order.own.rules else []
    stamp = hashlib.sha256(json.dumps(about).encode()).hexdigest()[:16]
    return HistoryTask(history, pieces, origin, problems, stamp, order.late)


__all__ = ["JudgingJob", "Tell", "cached", "named", "take_new", "tasks", "unjudged"]
