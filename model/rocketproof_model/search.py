"""Exhaustive search, breadth first, level by level, exact: every reachable state once, each property's shortest witness.

Each level is an array of packed states. Workers (threads that run compiled code without Python's lock) take blocks of it,
enter successors into one shared table, and collect the new ones, which make the next level. What is reported does not
depend on who found what: counts are sums, and where one state must be chosen it is the smallest packed one. What is known
of the properties, and how witnesses are rebuilt, is in explicit/account.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from .errors import LimitReached
from .explicit import kernel, loops
from .explicit.account import BLOCK, LOAD, Account, Packed
from .explicit.graph import Graph, explored_graph
from .explicit.layout import WORD_BITS
from .explicit.workers import Seen, Worker
from .language import Instance, Property
from .result import INTERRUPTED, MEMORY, STATES, TIME, Explored, Limits, Progress, Report, Watch

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Words = NDArray[np.int64]

DECIDED = "decided"
_REPORT = 0.5  # seconds between two reports
_ALONE = 512  # a level smaller than this is not worth starting threads for


@dataclass(frozen=True)
class Tuning:
    """Sizes that change speed and memory but no result: see kernel.build and layout; `slots` is the first table's (a power of 2)."""

    unroll: int = kernel.UNROLL
    word_bits: int = WORD_BITS
    slots: int = 1 << 18
    block: int = BLOCK


_UNLIMITED, _USUAL = Limits(), Tuning()


@dataclass(frozen=True, eq=False)
class Exploration(Explored):
    """With what the search leaves in memory: packed states level by level. `compile_seconds` is CPU time."""

    bytes_per_state: float
    compile_seconds: float
    kernel: kernel.Kernel = field(repr=False)
    levels: list[Words] = field(repr=False)

    def graph(self, most: int = 2_000_000) -> Graph:
        """The explored states and transitions as arrays; LimitReached if unfinished or with more than `most` states."""
        if not self.finished:
            raise LimitReached(self.reason)
        if self.states > most:
            raise LimitReached(STATES)
        return explored_graph(self.kernel, self.kernel.consts(self.instance), self.levels, self.transitions - 1)


def explore(
    instance: Instance,
    properties: Sequence[Property] | None = None,
    *,
    workers: int = 1,
    limits: Limits = _UNLIMITED,
    report: Report | None = None,
    checked: bool = True,
    stop_when_decided: bool = False,
    tuning: Tuning = _USUAL,
) -> Exploration:
    """Search all reachable states and decide `always`, `reachable`, `step` and `deadlock_free` properties (others are left out).

    `properties` are by default the model's. The checking form raises EvaluationError where the interpreter would: a
    value out of its type, an index out of range; with `checked=False` such models have no defined meaning. Ctrl-C ends
    the search like a limit does. With `stop_when_decided` it ends after the level in which every property is decided.
    """
    return _Search(instance, properties, workers, limits, report, checked, stop_when_decided, tuning).run()


class _Search:
    def __init__(
        self, instance: Instance, properties: Sequence[Property] | None, workers: int, limits: Limits,
        report: Report | None, checked: bool, stop_when_decided: bool, tuning: Tuning,
    ) -> None:  # fmt: skip
        self.instance, self.limits, self.report, self.stop_when_decided = instance, limits, report, stop_when_decided
        self.watch = Watch(limits)
        start = time.process_time()
        asked = instance.model.properties if properties is None else properties
        self.account = Account(instance, asked, checked=checked, unroll=tuning.unroll, word_bits=tuning.word_bits)
        self.made, self.words, self.consts = self.account.made, self.account.words, self.account.consts
        self.workers = [self.account.worker(tuning.block) for _ in range(max(workers, 1))]
        self.reserve = len(self.workers) * self.workers[0].block * max(self.made.most, 1)
        self.shared = np.zeros(loops.SHARED, dtype=np.int64)
        self.table = np.zeros(tuning.slots * self.words, dtype=np.int64)
        self.levels: list[Words] = []
        self.stored = 0  # bytes of the levels
        self.threads: list[threading.Thread] = []
        self.reason = ""
        self.reported = self.watch.seconds
        self._ready()
        self.compile_seconds = time.process_time() - start

    def _ready(self) -> None:
        """Compile or load all loops that a search needs, so that this is not counted as searching."""
        nothing, start = np.empty(0, dtype=np.int64), self.account.start()
        self._expand(self.workers[0], nothing, True)
        self.account.predecessors(nothing, [])
        loops.enter(self.table, self._slots() - 1, nothing, 0, self.words)
        w = Worker(self.made, [], 1)
        loops.successors(self.made.succ, start, self.consts, w.out, w.tags, w.seen.counts, w.seen.cover)

    # -- levels -------------------------------------------------------------------------------------------------------

    def run(self) -> Exploration:
        try:
            self._levels()
        except KeyboardInterrupt:
            self.reason = INTERRUPTED
            self._halt()
        self.account.raise_fault(self._seen())
        try:
            witnesses = self.account.witnesses(self._predecessors)
        except KeyboardInterrupt:
            self.reason, witnesses = INTERRUPTED, {}
        total = Seen(self.made, self.account.groups)
        for worker in self.workers:
            total.add(worker.seen)
        states, depth, seconds = self._count(), len(self.levels), self.watch.seconds
        return Exploration(
            self.instance, self.account.outcomes("explicit", total, states, depth, self.reason, seconds, witnesses), states,
            total.transitions, depth, total.deadlocks, self.made.coverage(total.counts, total.cover), self.reason, seconds,
            self._bytes() / max(states, 1), self.compile_seconds, self.made, self.levels,
        )  # fmt: skip

    def _levels(self) -> None:
        frontier = self._begin()
        while len(frontier):
            self.levels.append(frontier)
            self.stored += frontier.nbytes
            if self._settled() or self._limited():
                return
            self.shared[loops.CURSOR] = 0
            while True:
                self._sweep(frontier)
                if all(w.status == loops.DONE for w in self.workers):
                    break
                if self._limited() or not self._grow():
                    self._merge(len(self.levels))
                    return
            frontier = self._merge(len(self.levels))
            self.account.raise_fault(self._seen())
            self._tell()

    def _seen(self) -> list[Seen]:
        return [worker.seen for worker in self.workers]

    def _halt(self) -> None:
        """Stop the workers, wherever the interruption came, and keep what they found."""
        self.shared[loops.STOP] = 1
        for thread in self.threads:
            thread.join()
        self._merge(len(self.levels))

    def _begin(self) -> Words:
        """Enter the initial state, ask the state formulas about it, and give the first level."""
        start = self.account.start()
        while self._room() < 1:
            self._grow()
        loops.enter(self.table, self._slots() - 1, start, 1, self.words)
        self.shared[loops.COUNT] = 1
        self.account.ask(start, self.workers[0].seen)
        self.account.raise_fault(self._seen())
        self._merge(0)
        return start

    def _slots(self) -> int:
        return len(self.table) // self.words

    def _room(self) -> int:
        """The number of states above which the table has no room for a further block of each worker."""
        return int(self._slots() * LOAD) - self.reserve

    def _limit(self) -> int:
        return self._room() if self.limits.states is None else min(self._room(), self.limits.states)

    def _count(self) -> int:
        return int(self.shared[loops.COUNT])

    def _sweep(self, frontier: Words) -> None:
        """Expand the rest of the level until it is done, the table is full or the search is to stop."""
        for worker in self.workers:
            worker.status = loops.DONE
        if len(frontier) < _ALONE * self.words:
            self._work(self.workers[0], frontier, True)
        else:
            alone = len(self.workers) == 1
            for worker in self.workers:
                self.threads.append(threading.Thread(target=self._work, args=(worker, frontier, alone), daemon=True))
                self.threads[-1].start()
            self._wait()
        for worker in self.workers:
            worker.flush()
            if isinstance(worker.error, MemoryError):
                self.reason = MEMORY
            elif worker.error is not None:
                raise worker.error

    def _wait(self) -> None:
        while self.threads:
            while self.threads[-1].is_alive():
                try:
                    self.threads[-1].join(0.1)
                    self._tell()
                    if self._limited():
                        self.shared[loops.STOP] = 1
                except KeyboardInterrupt:
                    self.reason = INTERRUPTED
                    self.shared[loops.STOP] = 1
            self.threads.pop()

    def _work(self, worker: Worker, frontier: Words, alone: bool) -> None:
        try:
            while True:
                worker.status = self._expand(worker, frontier, alone)
                if worker.status != loops.FULL_QUEUE:
                    return
                worker.flush()
        except BaseException as error:  # noqa: BLE001  raised again by the main thread
            worker.status, worker.error = loops.STOPPED, error
            self.shared[loops.STOP] = 1

    def _expand(self, w: Worker, frontier: Words, alone: bool) -> int:
        return self.account.expand(w, frontier, self.shared, self.table, self._limit(), alone=alone)

    def _grow(self) -> bool:
        """Make the table larger, by 4 while it is small; False if the limit of memory forbids it."""
        old, slots = self.table, self._slots()
        slots *= 4 if slots < 1 << 20 else 2
        if self.limits.memory is not None and self._bytes() + slots * self.words * 8 > self.limits.memory:
            self.reason = MEMORY
            return False
        try:
            self.table = np.zeros(slots * self.words, dtype=np.int64)
        except MemoryError:
            self.reason = MEMORY
            return False
        loops.enter(self.table, slots - 1, old, len(old) // self.words, self.words)
        return True

    def _bytes(self) -> int:
        return self.table.nbytes + self.stored + sum(w.bytes() for w in self.workers)

    def _limited(self) -> bool:
        """Whether a limit ends the search; sets the reason."""
        if not self.reason:
            if self.watch.expired:
                self.reason = TIME
            elif self.limits.states is not None and self._count() > self.limits.states:
                self.reason = STATES
            elif self.limits.memory is not None and self._bytes() > self.limits.memory:
                self.reason = MEMORY
        return bool(self.reason)

    def _settled(self) -> bool:
        if self.stop_when_decided and self.account.settled:
            self.reason = DECIDED
        return bool(self.reason)

    def _tell(self) -> None:
        if self.report is not None and self.watch.seconds - self.reported >= _REPORT:
            self.reported = self.watch.seconds
            frontier = len(self.levels[-1]) // self.words if self.levels else 0
            self.report(Progress("explicit", len(self.levels), self._count(), frontier, self.watch.seconds))

    def _merge(self, level: int) -> Words:
        """Bring the workers' new states and first findings together; the states are those of the given level."""
        self.account.note(level, self._seen())
        parts = [part for w in self.workers for part in w.parts]
        for w in self.workers:
            w.parts = []
        return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)

    def _predecessors(self, level: int, wanted: list[Packed]) -> dict[Packed, Packed]:
        if len(self.workers) == 1:
            return self.account.predecessors(self.levels[level], wanted)
        with ThreadPoolExecutor(len(self.workers)) as pool:
            return self.account.predecessors(self.levels[level], wanted, pool.map)
