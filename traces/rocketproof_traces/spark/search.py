"""Exhaustive search on Spark's workers: what the local search finds, over more states than one machine holds.

Level by level, each shard's share of a level is a task (see shares) between files in a folder that driver and workers
reach. No data passes through Spark, which starts tasks, does lost ones again, and tells the driver which attempt counts;
so one plan serves classic sessions and Spark Connect. Levels that cost less than starting tasks are done by the driver,
which measures both. It begins with one shard; as shards are ranges of hashes, dividing what it has is cutting runs.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from rocketproof_model import Instance, LimitReached, Property, interrupts
from rocketproof_model.explicit import loops
from rocketproof_model.explicit.account import Packed
from rocketproof_model.explicit.workers import WorkerResult
from rocketproof_model.result import INTERRUPTED, MEMORY, MODEL_ERROR, STATES, Explored, Limits, Progress, Report, Watch

from ..common.errors import TraceError
from . import shares
from .jobs import OTHER_FOLDER, Perform, Workers
from .shares import Parents, PredecessorLookup, SearchShardResult, ShardTask, Slice

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_RATE = 500_000.0  # states that arrive and are done in a second, before that was measured
_SURE = 10_000  # arriving states of a level that is enough to measure the rate
_WORTH = 0.1  # seconds of work below which the workers are not even asked how fast they start
_COPIES = 3  # of arriving states that a task holds in memory


@dataclass(frozen=True)
class LevelCost:
    """What one level cost. `tasks` is 0 where the driver did it; `work` sums the tasks' seconds by kind (`cpu`: the processor's).

    `overhead` is what Spark took: `seconds` without those of the task that worked longest. Of these `before` passed until the
    last task began and `after` since the last one ended, as far as the clocks of driver and workers agree.
    """

    number: int
    states: int
    arrived: int
    tasks: int
    seconds: float
    overhead: float
    before: float
    after: float
    work: dict[str, float]


@dataclass(frozen=True, eq=False)
class SparkExplored(Explored):
    """With what each level cost, and the seconds until the workers had answered for the first time (0 if never asked)."""

    levels: list[LevelCost] = field(repr=False)
    ready_seconds: float


def explore(
    spark: SparkSession,
    instance: Instance,
    properties: Sequence[Property] | None = None,
    *,
    scratch: Path | None = None,
    limits: Limits = Limits(),
    report: Report | None = None,
    checked: bool = True,
    alone: int | None = None,
    perform: Perform = shares.perform,
) -> SparkExplored:
    """Decide what `rocketproof_model.search.explore` decides, with equal counts and witnesses; `properties` are by default the model's.

    States are kept in a new folder in `scratch` (default: that for temporary files) until the search ends. Levels to which no
    more than `alone` states arrive are done by the driver; by default it measures what is worth spreading. `perform` does a
    task. Limits and Ctrl-C end the search after the last complete level; `limits.memory` bounds what the tasks of a level
    hold. Raises TraceError where the folder cannot be used or tasks fail, ModelFault as the local search does.
    """
    asked = instance.model.properties if properties is None else properties
    try:
        folder = Path(tempfile.mkdtemp(prefix="rocketproof-search-", dir=scratch and scratch.absolute()))  # workers have other folders
    except OSError as error:
        raise TraceError(str(scratch or tempfile.gettempdir()), f"cannot hold the states ({error.strerror})", OTHER_FOLDER) from None
    try:
        with Workers(spark, perform) as workers:
            return _Search(folder, instance, asked, checked, limits, report, alone, workers).run()
    except OSError as error:
        raise TraceError(str(folder), str(error.strerror or error), OTHER_FOLDER) from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class _Search:
    def __init__(
        self, folder: Path, instance: Instance, properties: Sequence[Property], checked: bool, limits: Limits, report: Report | None,
        alone: int | None, workers: Workers,
    ) -> None:  # fmt: skip
        self.folder, self.instance, self.limits, self.report = folder, instance, limits, report
        self.alone, self.workers, self.watch = alone, workers, Watch(limits)
        self.account = shares.put_question(folder, instance, properties, checked)
        self.total = WorkerResult(self.account.kernel, self.account.groups)
        start = shares.put_run(str(folder), "start", self.account.start(), self.account.words)
        self.total.own[loops.TRANSITIONS] += len(self.account.start()) // self.account.words - 1  # a Seen counts one initial state
        self.arrived: list[tuple[Slice, ...]] = [(start,)]  # by shard
        self.seen: list[tuple[Slice, ...]] = [()]
        self.kept: list[list[Slice]] = []  # the levels
        self.levels: list[LevelCost] = []
        self.states = 0
        self.rate, self.ready_seconds = _RATE, 0.0
        self.files: set[str] = {start.file}
        self.stale: set[str] = set()
        self.reason = ""
        self.met: list[WorkerResult] = []  # what was met in the states of the last level,
        self.late: list[WorkerResult] = []  # and on the way to their successors

    def run(self) -> SparkExplored:
        try:
            while any(self.arrived):
                self._limited()
                if not self._level():
                    break
        except KeyboardInterrupt:
            interrupts.heard()
            self.reason = INTERRUPTED
        except LimitReached as reached:
            self.reason = reached.reason
        fault = self.account.fault([*self.met, *self.late])
        if fault is not None:
            self.reason = MODEL_ERROR
        try:
            witnesses = self.account.witnesses(self._predecessors)
        except KeyboardInterrupt:
            interrupts.heard()
            self.reason, witnesses = INTERRUPTED, {}
        depth, seconds, total = len(self.kept), self.watch.seconds, self.total
        outcomes = self.account.outcomes("spark", total, self.states, depth, self.reason, seconds, witnesses)
        if fault is not None:
            raise self.account.error(fault, depth, self._predecessors, outcomes)
        return SparkExplored(
            self.instance, outcomes, self.states, total.transitions, depth, total.deadlocks,
            self.account.kernel.coverage(total.counts, total.cover), self.reason, seconds,
            self.levels, self.ready_seconds,
        )  # fmt: skip

    def _limited(self) -> None:
        """Raise LimitReached where a limit ends the search before the next level."""
        if self.limits.states is not None and self.states > self.limits.states:
            raise LimitReached(STATES)
        most = max(sum(one.total for one in slices) for slices in self.arrived)
        tasks = min(self.workers.many, len(self.arrived)) if self.workers.many else 1
        if self.limits.memory is not None and most * tasks * self.account.words * 8 * _COPIES > self.limits.memory:
            raise LimitReached(MEMORY)
        self._beat()

    def _beat(self) -> None:
        self.watch.check()
        self._tell()

    def _tell(self) -> None:
        if self.report is not None:
            frontier = sum(one.total for one in self.kept[-1]) if self.kept else 0
            self.report(Progress("spark", len(self.kept), self.states, frontier, self.watch.seconds))

    def _level(self) -> bool:
        """Do one level; whether it had states."""
        arrived = sum(one.total for slices in self.arrived for one in slices)
        spread = self._is_worth(arrived)
        number, shards = len(self.kept), len(self.arrived)
        work = [
            ShardTask(str(self.folder), number, shard, shards, arrived, self.seen[shard])
            for shard, arrived in enumerate(self.arrived)
            if arrived
        ]
        began, start = time.time(), time.perf_counter()
        answers: list[SearchShardResult] = self.workers.run(work, self._beat) if spread else [self.workers.perform(share) for share in work]
        seconds = time.perf_counter() - start
        for done in answers:
            if done.problem:
                raise TraceError(done.problem.partition(": ")[0], done.problem.partition(": ")[2], OTHER_FOLDER)
        self._measure(number, arrived, answers, len(work) if spread else 0, began, seconds)
        return self._take(number, answers)

    def _is_worth(self, arrived: int) -> bool:
        """Whether to spread a level to which so many states arrive; the first time the workers are made ready."""
        if self.alone is not None and arrived <= self.alone:
            return False
        alone = arrived / self.rate
        if self.alone is None and alone < _WORTH:
            return False
        if not self.workers.many:
            start = time.perf_counter()
            self.workers.prepare(self.folder, self._beat)
            self._divide(self.workers.many)
            self.ready_seconds = time.perf_counter() - start
        return self.alone is not None or alone - alone / self.workers.many > self.workers.fixed

    def _divide(self, shards: int) -> None:
        """Give each of the shards to come its parts of the runs of the one so far."""
        for each in (self.arrived, self.seen):
            parts = [shares.divided(str(self.folder), one, shards) for one in each[0]]
            each[:] = [tuple(part[k] for part in parts if part[k].total) for k in range(shards)]

    def _measure(self, number: int, arrived: int, answers: list[SearchShardResult], tasks: int, began: float, seconds: float) -> None:
        work: dict[str, float] = {}
        for done in answers:
            for kind, took in done.seconds.items():
                work[kind] = work.get(kind, 0.0) + took
        longest = max(sum(took for kind, took in done.seconds.items() if kind != "cpu") for done in answers)
        overhead = before = after = 0.0
        if tasks:
            overhead = seconds - longest
            before, after = max(done.span[0] for done in answers) - began, began + seconds - max(done.span[1] for done in answers)
            self.workers.fixed = min(self.workers.fixed, overhead)
        elif arrived >= _SURE:
            self.rate = arrived / seconds
        self.levels.append(
            LevelCost(number, sum(done.new.total for done in answers), arrived, tasks, seconds, overhead, before, after, work)
        )

    def _take(self, number: int, answers: list[SearchShardResult]) -> bool:
        """Enter what a level's tasks found, and make the next level's shares; whether there were new states."""
        asked, expanded = [d.asked for d in answers if d.asked], [d.expanded for d in answers if d.expanded]
        self.account.note(number, asked)
        for seen in (*asked, *expanded):
            self.total.add(seen)
        self.met = [*self.late, *asked]
        if self.account.fault(self.met) is not None:
            return False
        self.account.note(number + 1, expanded)
        self.late = expanded
        new = [done.new for done in answers if done.new.total]
        if new:
            self.kept.append(new)
            self.states += sum(one.total for one in new)
        for done in answers:
            self.seen[done.shard] = done.seen
        self.arrived = [tuple(one for done in answers for one in done.sent[shard]) for shard in range(len(self.arrived))]
        self.files |= {one.file for done in answers for one in (done.new, *done.seen)} | {s.file for a in self.arrived for s in a}
        self._sweep()
        return bool(new)

    def _sweep(self) -> None:
        """Delete the files that nothing needs since the level before, so that an attempt that lags behind finds its own."""
        needed = {one.file for group in (*self.kept, *self.seen, *self.arrived) for one in group}
        for file in self.stale:
            (self.folder / file).unlink(missing_ok=True)
        self.files -= self.stale
        self.stale = self.files - needed

    def _predecessors(self, level: int, wanted: list[Packed]) -> Parents:
        work = [PredecessorLookup(str(self.folder), (one,), tuple(wanted)) for one in self.kept[level]]
        found: Parents = {}
        spread = self.workers.many and self._is_worth(sum(one.total for one in self.kept[level]))
        answers = self.workers.run(work, self._tell) if spread else [self.workers.perform(one) for one in work]
        for parents in answers:
            for state, parent in parents.items():
                found[state] = min(parent, found.get(state, parent))
        return found
