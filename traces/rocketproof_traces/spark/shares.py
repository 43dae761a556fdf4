"""One task of a distributed search: a shard's share of a level, from files to files. Nothing here imports Spark.

Shards own ranges of state hashes. A task gets the runs of states that arrived for its shard, and the runs that its shard has seen. It
writes the new states to one file and their successors to another, from which every shard takes its range at the next level. Sometimes it
merges several runs of seen states into one.

A task can run twice, at the same time or after its process was killed, and the driver uses either result. Therefore a task deletes nothing,
and a file gets its unique name when it is complete.
"""

from __future__ import annotations

import errno
import gc
import os
import pickle
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rocketproof_model import Instance, Property
from rocketproof_model.explicit import runs
from rocketproof_model.explicit.account import Account, Packed
from rocketproof_model.explicit.workers import WorkerResult

from ..common.errors import TraceError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Words = NDArray[np.int64]

_QUESTION = "question"
_KEPT = 2  # accounts that a process keeps; each has a compiled kernel
_HOPELESS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES)  # another attempt would fail too


@dataclass(frozen=True)
class Slice:
    """A run of states in a file: `total` states from number `first` on."""

    file: str
    first: int
    total: int


@dataclass(frozen=True)
class ShardTask:
    """The work of a task in `folder`: the runs that `arrived` for the shard, and those that contain its `seen` states, oldest first."""

    folder: str
    level: int
    shard: int
    shards: int
    arrived: tuple[Slice, ...]
    seen: tuple[Slice, ...]


@dataclass(frozen=True, eq=False)
class SearchShardResult:
    """The result of a share.

    - `new`: the shard's new states of this level. `seen`: replaces the shard's seen runs. `sent`: the runs for each shard.
    - `asked`: the formulas' results on the new states. `expanded`: results on their transitions.
    - `seconds`: by kind of work; `cpu` is processor time. `span`: start and end of the work by the worker's clock.
    - `problem`: why nothing was done and a retry is useless.
    """

    shard: int
    new: Slice
    seen: tuple[Slice, ...] = ()
    sent: tuple[tuple[Slice, ...], ...] = ()
    asked: WorkerResult | None = None
    expanded: WorkerResult | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    span: tuple[float, float] = (0.0, 0.0)
    problem: str = ""


@dataclass(frozen=True)
class PredecessorLookup:
    """A request about some runs of a level: find the smallest predecessor of each wanted state."""

    folder: str
    runs: tuple[Slice, ...]
    wanted: tuple[Packed, ...]


Parents = dict[Packed, Packed]


def put_question(folder: Path, instance: Instance, properties: Sequence[Property], checked: bool) -> Account:
    """Write the instance, the properties and `checked` to the folder for all tasks.

    Returns this process' account for exactly these objects.
    """
    data = pickle.dumps((instance, tuple(properties), checked))
    _write(folder, _QUESTION, lambda file: file.write(data), at=_QUESTION)
    return _keep(str(folder), Account(instance, properties, checked=checked))


def account(folder: str) -> Account:
    """Return this process' account for the folder, created once: the kernel is compiled or loaded from the cache on disk."""
    if folder in _accounts:
        return _accounts[folder]
    instance, properties, checked = pickle.loads(Path(folder, _QUESTION).read_bytes())
    new_account = _keep(folder, Account(instance, properties, checked=checked))
    gc.freeze()  # Spark's worker collects garbage after every task; with these libraries that is slower than starting a task
    return new_account


def _keep(folder: str, new_account: Account) -> Account:
    while len(_accounts) >= _KEPT:
        del _accounts[next(iter(_accounts))]
    _accounts[folder] = new_account
    return new_account


_accounts: dict[str, Account] = {}


def put_run(folder: str, name: str, run: Words, width: int) -> Slice:
    """Write one run."""
    return Slice(_write(Path(folder), name, lambda file: file.write(run)), 0, len(run) // width)


def divided(folder: str, run: Slice, shards: int) -> list[Slice]:
    """Return the part of a run that belongs to each shard."""
    width = account(folder).words
    ends = runs.borders(_mapped(folder, run, width), shards, width)
    return [Slice(run.file, run.first + ends[k], ends[k + 1] - ends[k]) for k in range(shards)]


def perform(work: ShardTask | PredecessorLookup) -> SearchShardResult | Parents:
    """Run one task."""
    return expand(work) if isinstance(work, ShardTask) else look_up(work)


def expand(share: ShardTask) -> SearchShardResult:
    """Find the new states of a shard at a level and their successors. Raises OSError if a retry may succeed."""
    try:
        return _Expansion(share).result()
    except OSError as error:
        if error.errno not in _HOPELESS:
            raise
        return SearchShardResult(share.shard, Slice("", 0, 0), problem=f"{share.folder}: {os.strerror(error.errno)}")


def look_up(lookup: PredecessorLookup) -> Parents:
    """Return the smallest predecessor of each wanted state in the runs; states without one are omitted."""
    known = account(lookup.folder)
    parents: Parents = {}
    for run in lookup.runs:
        states = _mapped(lookup.folder, run, known.words)
        for state, predecessor in known.predecessors(states, list(lookup.wanted)).items():
            parents[state] = min(predecessor, parents.get(state, predecessor))
    return parents


class _Expansion:
    def __init__(self, share: ShardTask) -> None:
        self.share, self.folder = share, Path(share.folder)
        self.seconds: dict[str, float] = {}
        self.began, self.cpu, self.mark = time.time(), time.process_time(), time.perf_counter()
        self.account = account(share.folder)
        self.width = self.account.words
        self.name = f"level-{share.level:05}-shard-{share.shard:05}"
        self.lap("load")

    def lap(self, work: str) -> None:
        """Add the time since the last lap to this kind of work."""
        now = time.perf_counter()
        self.seconds[work] = self.seconds.get(work, 0.0) + now - self.mark
        self.mark = now

    def result(self) -> SearchShardResult:
        share, known = self.share, self.account
        arrived = np.concatenate([_read(share.folder, run, self.width) for run in share.arrived])
        self.lap("read")
        arrived = runs.run_of(arrived, self.width)
        self.lap("sort")
        states = runs.unseen(arrived, [_mapped(share.folder, run, self.width) for run in share.seen], self.width)
        self.lap("compare")
        asked, expanded = WorkerResult(known.kernel, known.groups), WorkerResult(known.kernel, known.groups)
        known.ask(states, asked)
        self.lap("check")
        new = put_run(share.folder, f"{self.name}-new", states, self.width)
        self.lap("write")
        seen = self.merged((*share.seen, new), states) if new.total else share.seen
        self.lap("merge")
        sent = self.send(states, expanded)
        self.seconds["cpu"] = time.process_time() - self.cpu
        return SearchShardResult(share.shard, new, seen, sent, asked, expanded, self.seconds, (self.began, time.time()))

    def merged(self, seen: tuple[Slice, ...], newest: Words) -> tuple[Slice, ...]:
        count = runs.tail([run.total for run in seen])
        if count == 1:
            return seen
        for run in reversed(seen[-count:-1]):
            newest = runs.merged(_mapped(self.share.folder, run, self.width), newest, self.width)
        return (*seen[:-count], put_run(self.share.folder, f"{self.name}-seen", newest, self.width))

    def send(self, states: Words, expanded: WorkerResult) -> tuple[tuple[Slice, ...], ...]:
        """Write the successors; return the runs of each shard."""
        if not len(states):
            return ((),) * self.share.shards
        borders: list[list[int]] = []

        def write(file: Any) -> None:
            for run in self.account.runs_of_successors(states, expanded):
                self.lap("expand")
                borders.append(runs.borders(run, self.share.shards, self.width))
                file.write(run)
                self.lap("write")
            self.lap("expand")

        name = _write(self.folder, f"{self.name}-sent", write)
        self.lap("write")
        sent: list[list[Slice]] = [[] for _ in range(self.share.shards)]
        before = 0
        for ends in borders:
            for shard, slices in enumerate(sent):
                if ends[shard] < ends[shard + 1]:
                    slices.append(Slice(name, before + ends[shard], ends[shard + 1] - ends[shard]))
            before += ends[-1]
        return tuple(tuple(slices) for slices in sent)


def _write(folder: Path, name: str, fill: Callable[[Any], object], *, at: str = "") -> str:
    """Write a file atomically and return its name: `name` with a unique suffix, or the fixed name `at`."""
    name = at or f"{name}-{uuid.uuid4().hex[:12]}"
    part = folder / f"{name}.part"
    try:
        with part.open("wb") as file:
            fill(file)
        part.rename(folder / name)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    return name


def _read(folder: str, run: Slice, width: int) -> Words:
    words = np.fromfile(Path(folder, run.file), dtype=np.int64, count=run.total * width, offset=run.first * width * 8)
    if len(words) != run.total * width:
        raise _truncated(folder, run)
    return words


def _mapped(folder: str, run: Slice, width: int) -> Words:
    """Map a run into memory without reading all of it."""
    if not run.total:
        return np.empty(0, dtype=np.int64)
    try:
        words: Words = np.memmap(
            Path(folder, run.file), dtype=np.int64, mode="c", offset=run.first * width * 8, shape=(run.total * width,)
        ).view(np.ndarray)
    except ValueError:
        raise _truncated(folder, run) from None
    return words


def _truncated(folder: str, run: Slice) -> TraceError:
    return TraceError(f"{folder}/{run.file}", "is shorter than when it was written", "leave the folder alone while a search runs")
