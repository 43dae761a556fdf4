"""Exhaustive search on Spark's workers: the same result as the local search, over more states than fit on one machine.

Level by level, each shard's share is a task (see `shares`) between files in a folder that driver and workers reach. No data passes through
Spark. Spark starts tasks, repeats lost ones, and tells the driver which attempt counts. So the same code works with classic sessions and
Spark Connect. The driver itself does levels that cost less than starting tasks; it measures both. The search begins with one shard. Shards
are ranges of hashes, so dividing a shard means cutting runs.
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

_RATE = 500_000.0  # arriving states per second, until it is measured
_SURE = 10_000  # arriving states of a level that suffice to measure the rate
_WORTH = 0.1  # seconds of work below which the workers are not prepared
_COPIES = 3  # copies of arriving states in a task's memory


@dataclass(frozen=True)
class LevelCost:
    """The cost of one level. `tasks` is 0 if the driver did it. `work` is the tasks' seconds by kind (`cpu`: processor time).

    `overhead` is Spark's time: `seconds` without the longest task. `before` is the part until the last task began, `after` the part since
    the last task ended, as far as the clocks of driver and workers agree.
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
    """The result, the cost of each level, and the seconds until the workers first responded (0 if they were not used)."""

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
    """Decide the same as `rocketproof_model.search.explore`, with equal counts and witnesses; the default `properties` are the model's.

    States are kept in a new folder in `scratch` (default: the folder for temporary files) until the search ends. The driver does levels
    with at most `alone` arriving states; by default it measures which levels are worth spreading. `perform` runs a task. Limits and Ctrl-C
    end the search after the last complete level; `limits.memory` bounds the memory of a level's tasks. Raises TraceError if the folder
    cannot be used or tasks fail, and ModelFault like the local search.
    """
    asked = instance.model.properties if properties is None else properties
    try:
        # Absolute, because workers have other working folders.
        folder = Path(tempfile.mkdtemp(prefix="rocketproof-search-", dir=scratch and scratch.absolute()))
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
        self.total.own[loops.TRANSITIONS] += len(self.account.start()) // self.account.words - 1  # a WorkerResult counts one initial state
        self.arrived: list[tuple[Slice, ...]] = [(start,)]  # by shard
        self.seen: list[tuple[Slice, ...]] = [()]
        self.level_runs: list[list[Slice]] = []  # the runs of each level
        self.levels: list[LevelCost] = []
        self.states = 0
        self.rate, self.ready_seconds = _RATE, 0.0
        self.files: set[str] = {start.file}
        self.stale: set[str] = set()
        self.reason = ""
        self.last_results: list[WorkerResult] = []  # results on the states of the last level
        self.successor_results: list[WorkerResult] = []  # results on the transitions to their successors

    def run(self) -> SparkExplored:
        try:
            while any(self.arrived):
                self._check_limits()
                if not self._level():
                    break
        except KeyboardInterrupt:
            interrupts.heard()
            self.reason = INTERRUPTED
        except LimitReached as reached:
            self.reason = reached.reason
        fault = self.account.fault([*self.last_results, *self.successor_results])
        if fault is not None:
            self.reason = MODEL_ERROR
        try:
            witnesses = self.account.witnesses(self._predecessors)
        except KeyboardInterrupt:
            interrupts.heard()
            self.reason, witnesses = INTERRUPTED, {}
        depth, seconds, total = len(self.level_runs), self.watch.seconds, self.total
        outcomes = self.account.outcomes("spark", total, self.states, depth, self.reason, seconds, witnesses)
        if fault is not None:
            raise self.account.error(fault, depth, self._predecessors, outcomes)
        return SparkExplored(
            self.instance, outcomes, self.states, total.transitions, depth, total.deadlocks,
            self.account.kernel.coverage(total.counts, total.cover), self.reason, seconds,
            self.levels, self.ready_seconds,
        )  # fmt: skip

    def _check_limits(self) -> None:
        """Raise LimitReached if a limit ends the search before the next level."""
        if self.limits.states is not None and self.states > self.limits.states:
            raise LimitReached(STATES)
        largest = max(sum(run.total for run in slices) for slices in self.arrived)
        tasks = min(self.workers.parallel_tasks, len(self.arrived)) if self.workers.parallel_tasks else 1
        if self.limits.memory is not None and largest * tasks * self.account.words * 8 * _COPIES > self.limits.memory:
            raise LimitReached(MEMORY)
        self._beat()

    def _beat(self) -> None:
        self.watch.check()
        self._report_progress()

    def _report_progress(self) -> None:
        if self.report is not None:
            frontier = sum(run.total for run in self.level_runs[-1]) if self.level_runs else 0
            self.report(Progress("spark", len(self.level_runs), self.states, frontier, self.watch.seconds))

    def _level(self) -> bool:
        """Do one level; return whether it had states."""
        arrived = sum(run.total for slices in self.arrived for run in slices)
        use_workers = self._is_worth(arrived)
        number, shards = len(self.level_runs), len(self.arrived)
        work = [
            ShardTask(str(self.folder), number, shard, shards, arrived, self.seen[shard])
            for shard, arrived in enumerate(self.arrived)
            if arrived
        ]
        began, start = time.time(), time.perf_counter()
        results: list[SearchShardResult]
        results = self.workers.run(work, self._beat) if use_workers else [self.workers.perform(task) for task in work]
        seconds = time.perf_counter() - start
        for result in results:
            if result.problem:
                raise TraceError(result.problem.partition(": ")[0], result.problem.partition(": ")[2], OTHER_FOLDER)
        self._measure(number, arrived, results, len(work) if use_workers else 0, began, seconds)
        return self._take(number, results)

    def _is_worth(self, arrived: int) -> bool:
        """Return whether to spread a level with this many arriving states. The first time, the workers are prepared."""
        if self.alone is not None and arrived <= self.alone:
            return False
        driver_seconds = arrived / self.rate
        if self.alone is None and driver_seconds < _WORTH:
            return False
        if not self.workers.parallel_tasks:
            start = time.perf_counter()
            self.workers.prepare(self.folder, self._beat)
            self._divide(self.workers.parallel_tasks)
            self.ready_seconds = time.perf_counter() - start
        return self.alone is not None or driver_seconds - driver_seconds / self.workers.parallel_tasks > self.workers.start_seconds

    def _divide(self, shards: int) -> None:
        """Split the runs of the single shard among the new shards."""
        for runs_of in (self.arrived, self.seen):
            parts = [shares.divided(str(self.folder), run, shards) for run in runs_of[0]]
            runs_of[:] = [tuple(slices[k] for slices in parts if slices[k].total) for k in range(shards)]

    def _measure(self, number: int, arrived: int, results: list[SearchShardResult], tasks: int, began: float, seconds: float) -> None:
        work: dict[str, float] = {}
        for result in results:
            for kind, kind_seconds in result.seconds.items():
                work[kind] = work.get(kind, 0.0) + kind_seconds
        longest = max(sum(kind_seconds for kind, kind_seconds in result.seconds.items() if kind != "cpu") for result in results)
        overhead = before = after = 0.0
        if tasks:
            overhead = seconds - longest
            before, after = max(result.span[0] for result in results) - began, began + seconds - max(result.span[1] for result in results)
            self.workers.start_seconds = min(self.workers.start_seconds, overhead)
        elif arrived >= _SURE:
            self.rate = arrived / seconds
        self.levels.append(
            LevelCost(number, sum(result.new.total for result in results), arrived, tasks, seconds, overhead, before, after, work)
        )

    def _take(self, number: int, results: list[SearchShardResult]) -> bool:
        """Add the results of a level's tasks and create the next level's shares; return whether there were new states."""
        asked, expanded = [result.asked for result in results if result.asked], [result.expanded for result in results if result.expanded]
        self.account.note(number, asked)
        for worker_result in (*asked, *expanded):
            self.total.add(worker_result)
        self.last_results = [*self.successor_results, *asked]
        if self.account.fault(self.last_results) is not None:
            return False
        self.account.note(number + 1, expanded)
        self.successor_results = expanded
        new = [result.new for result in results if result.new.total]
        if new:
            self.level_runs.append(new)
            self.states += sum(run.total for run in new)
        for result in results:
            self.seen[result.shard] = result.seen
        self.arrived = [tuple(run for result in results for run in result.sent[shard]) for shard in range(len(self.arrived))]
        self.files |= {run.file for result in results for run in (result.new, *result.seen)} | {s.file for a in self.arrived for s in a}
        self._sweep()
        return bool(new)

    def _sweep(self) -> None:
        """Delete the files that nothing has needed since the previous level. A delayed attempt still finds its files."""
        needed = {run.file for group in (*self.level_runs, *self.seen, *self.arrived) for run in group}
        for file in self.stale:
            (self.folder / file).unlink(missing_ok=True)
        self.files -= self.stale
        self.stale = self.files - needed

    def _predecessors(self, level: int, wanted: list[Packed]) -> Parents:
        lookups = [PredecessorLookup(str(self.folder), (run,), tuple(wanted)) for run in self.level_runs[level]]
        predecessors: Parents = {}
        use_workers = self.workers.parallel_tasks and self._is_worth(sum(run.total for run in self.level_runs[level]))
        results = self.workers.run(lookups, self._report_progress) if use_workers else [self.workers.perform(lookup) for lookup in lookups]
        for parents in results:
            for state, parent in parents.items():
                predecessors[state] = min(parent, predecessors.get(state, parent))
        return predecessors
