"""One task of a distributed search: a shard's share of a level, from files to files. Nothing here knows Spark.

States belong to shards by ranges of their hashes. A task is given the runs of states that arrived for its shard and the runs
that hold what the shard has seen. It writes the states that are new, in one file; their successors, in another, from which
every shard takes its range at the next level; and now and then several runs of seen states merged into one.

A task may be done twice, at the same time or after its process was killed, and the driver takes either answer: a task
deletes nothing, and a file gets its name, which no other attempt uses, when it is complete.
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
    """What a task is to do in `folder`: the runs that `arrived` for the shard, and those that hold what it has `seen`, oldest first."""

    folder: str
    level: int
    shard: int
    shards: int
    arrived: tuple[Slice, ...]
    seen: tuple[Slice, ...]


@dataclass(frozen=True, eq=False)
class SearchShardResult:
    """What came of a share. `new` is the shard's level, `seen` replaces the share's; `sent` has the runs for each shard.

    `asked` is what the formulas of the new states said, `expanded` what was met among their successors. `seconds` are by
    kind of work, those of the processor as `cpu`; `span` is from when to when it worked, by the worker's clock. `problem` says why
    nothing was done, and that trying again is no use.
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
    """A question about some runs of a level: of each wanted state the smallest one there that leads to it."""

    folder: str
    runs: tuple[Slice, ...]
    wanted: tuple[Packed, ...]


Parents = dict[Packed, Packed]


def put_question(folder: Path, instance: Instance, properties: Sequence[Property], checked: bool) -> Account:
    """Write what every task needs to know into the folder; this process' account of it, about these very objects."""
    data = pickle.dumps((instance, tuple(properties), checked))
    _write(folder, _QUESTION, lambda file: file.write(data), at=_QUESTION)
    return _keep(str(folder), Account(instance, properties, checked=checked))


def account(folder: str) -> Account:
    """This process' account of the folder's question, made once: the kernel is compiled or loaded from the cache on disk."""
    if folder in _accounts:
        return _accounts[folder]
    instance, properties, checked = pickle.loads(Path(folder, _QUESTION).read_bytes())
    made = _keep(folder, Account(instance, properties, checked=checked))
    gc.freeze()  # Spark's worker collects garbage after every task, which with these libraries loaded takes longer than starting it
    return made


def _keep(folder: str, made: Account) -> Account:
    while len(_accounts) >= _KEPT:
        del _accounts[next(iter(_accounts))]
    _accounts[folder] = made
    return made


_accounts: dict[str, Account] = {}


def put_run(folder: str, name: str, run: Words, width: int) -> Slice:
    """Write one run."""
    return Slice(_write(Path(folder), name, lambda file: file.write(run)), 0, len(run) // width)


def divided(folder: str, one: Slice, shards: int) -> list[Slice]:
    """The parts of a run that belong to each shard."""
    width = account(folder).words
    ends = runs.borders(_mapped(folder, one, width), shards, width)
    return [Slice(one.file, one.first + ends[k], ends[k + 1] - ends[k]) for k in range(shards)]


def perform(work: ShardTask | PredecessorLookup) -> SearchShardResult | Parents:
    """Do one task."""
    return expand(work) if isinstance(work, ShardTask) else look_up(work)


def expand(share: ShardTask) -> SearchShardResult:
    """Find the new states of a shard at a level and their successors. OSError where another attempt may do better."""
    try:
        return _Expansion(share).done()
    except OSError as error:
        if error.errno not in _HOPELESS:
            raise
        return SearchShardResult(share.shard, Slice("", 0, 0), problem=f"{share.folder}: {os.strerror(error.errno)}")


def look_up(lookup: PredecessorLookup) -> Parents:
    """Of each wanted state the smallest one of the runs that leads to it; states without one are left out."""
    known = account(lookup.folder)
    found: Parents = {}
    for one in lookup.runs:
        states = _mapped(lookup.folder, one, known.words)
        for state, parent in known.predecessors(states, list(lookup.wanted)).items():
            found[state] = min(parent, found.get(state, parent))
    return found


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
        """Count the time since the last lap as this kind of work."""
        now = time.perf_counter()
        self.seconds[work] = self.seconds.get(work, 0.0) + now - self.mark
        self.mark = now

    def done(self) -> SearchShardResult:
        share, known = self.share, self.account
        arrived = np.concatenate([_read(share.folder, one, self.width) for one in share.arrived])
        self.lap("read")
        arrived = runs.run_of(arrived, self.width)
        self.lap("sort")
        states = runs.unseen(arrived, [_mapped(share.folder, one, self.width) for one in share.seen], self.width)
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
        many = runs.tail([one.total for one in seen])
        if many == 1:
            return seen
        for one in reversed(seen[-many:-1]):
            newest = runs.merged(_mapped(self.share.folder, one, self.width), newest, self.width)
        return (*seen[:-many], put_run(self.share.folder, f"{self.name}-seen", newest, self.width))

    def send(self, states: Words, expanded: WorkerResult) -> tuple[tuple[Slice, ...], ...]:
        """Write the successors; the runs of them that are each shard's."""
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
    """Write a file whose name ends in what no other attempt has (or `at` a fixed name), at once; the name."""
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


def _read(folder: str, one: Slice, width: int) -> Words:
    words = np.fromfile(Path(folder, one.file), dtype=np.int64, count=one.total * width, offset=one.first * width * 8)
    if len(words) != one.total * width:
        raise _cut(folder, one)
    return words


def _mapped(folder: str, one: Slice, width: int) -> Words:
    """The run without reading all of it."""
    if not one.total:
        return np.empty(0, dtype=np.int64)
    try:
        found: Words = np.memmap(
            Path(folder, one.file), dtype=np.int64, mode="c", offset=one.first * width * 8, shape=(one.total * width,)
        ).view(np.ndarray)
    except ValueError:
        raise _cut(folder, one) from None
    return found


def _cut(folder: str, one: Slice) -> TraceError:
    return TraceError(f"{folder}/{one.file}", "is shorter than when it was written", "leave the folder alone while a search runs")
