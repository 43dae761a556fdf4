"""Exhaustive breadth-first search, level by level and exact: every reachable state once, and each property's shortest witness.

Workers are threads that run compiled code without Python's lock. They take pieces of a level, enter successors into one shared table, and
collect the new states, which form the next level. The arrays of a level are dropped once it is expanded. The table holds each state's level
and returns the states when a witness or the graph needs them. Results do not depend on the workers: counts are sums, and where one state
must be chosen it is the smallest packed state. explicit/account records what is known of the properties and rebuilds witnesses;
explicit/table stores the states.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from . import interrupts
from .errors import RocketproofError
from .explicit import loops
from .explicit.account import PIECE, Account, Packed
from .explicit.checkpoint import LevelRecord, SearchCheckpoint
from .explicit.exploration import Exploration
from .explicit.external import ExternalSearch
from .explicit.pool import SearchPool
from .explicit.progress import SearchProgress
from .explicit.table import TableLayout
from .explicit.task import DECIDED, OVER, Enough, SearchState, SearchTask, Tuning
from .language import Instance, Property
from .result import DISK, INTERRUPTED, MEMORY, MODEL_ERROR, Limits, Report, Watch

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Words = NDArray[np.int64]

__all__ = ["DECIDED", "Enough", "Tuning", "explore", "question"]

# States that are read from the table at once for witnesses: this number, this part of all states, or a level, whichever is most.
_GATHERED, _PART = 1 << 20, 16
_UNLIMITED, _USUAL = Limits(), Tuning()


def explore(
    instance: Instance,
    properties: Sequence[Property] | None = None,
    *,
    workers: int = 1,
    limits: Limits = _UNLIMITED,
    report: Report | None = None,
    checked: bool = True,
    enough: Enough | None = None,
    tuning: Tuning = _USUAL,
    symmetry: bool = True,
    checkpoint: SearchCheckpoint | None = None,
) -> Exploration:
    """Search all reachable states and decide `always`, `reachable`, `step` and `deadlock_free` properties (others are left out).

    `properties` are by default the model's. With `checked` it raises ModelFault, an EvaluationError with its path and the outcomes decided
    before, for a value outside its type or an index out of range. With `checked=False` such models have no defined meaning. Ctrl-C ends the
    search like a limit does. The search also ends after a level if the decided properties are `enough`.

    If the model declares symmetric indices, one state per orbit is visited, unless `symmetry` is False or a property distinguishes
    elements. Verdicts and lengths of witnesses are the same, and witnesses are paths of the model itself.

    With a `checkpoint` the search resumes from an earlier search's progress, possibly with other workers and limits. It has the same result
    as an uninterrupted search. The checkpoint is removed when the search is complete. A full disk ends the search like a limit does. If
    `limits.disk` is set, the search continues with its states in the checkpoint's folder when memory is full.

    Raises RocketproofError for a checkpoint that is damaged or belongs to a different question, and for `limits.disk` without a checkpoint.
    """
    if limits.disk is not None and checkpoint is None:
        raise RocketproofError("a limit of disk without a folder for the states; give a checkpoint too")
    watch, start = Watch(limits), time.process_time()
    asked = instance.model.properties if properties is None else properties
    account = Account(instance, asked, checked=checked, unroll=tuning.unroll, word_bits=tuning.word_bits, symmetry=symmetry)
    account.ready(alone=workers <= 1)
    task = SearchTask(account, limits, watch, report, enough, workers, tuning, checkpoint)
    compile_seconds = time.process_time() - start
    record = None if checkpoint is None else checkpoint.open(account.question)
    try:
        search: _Search | ExternalSearch
        if checkpoint is not None and record is not None and record.ends:
            if limits.disk is None:
                raise RocketproofError(f"{checkpoint.folder} holds a search on disk; say how many bytes its files may have")
            search = ExternalSearch(task, record)
        else:
            search = _Search(task, record)
        search.search()
        if checkpoint is not None and limits.disk is not None and task.reason == MEMORY and isinstance(search, _Search):
            search.keep()
            checkpoint.close()
            task.reason = ""
            account.forget()
            search = ExternalSearch(task, checkpoint.open(account.question))
            search.search()
        return _ended(instance, task, search, compile_seconds)
    finally:
        if checkpoint is not None:
            checkpoint.release()


def question(instance: Instance, properties: Sequence[Property] | None = None, *, symmetry: bool = True) -> str:
    """Return a digest that identifies a search by its possible result, for example for the name of a checkpoint's folder."""
    return Account(instance, instance.model.properties if properties is None else properties, symmetry=symmetry).question


def _ended(instance: Instance, task: SearchTask, search: _Search | ExternalSearch, compile_seconds: float) -> Exploration:
    """Return the result of a search that has ended, and save or remove its checkpoint. Raises ModelFault."""
    account = task.account
    fault = account.fault(search.pool.results())
    if fault is not None:
        task.reason = MODEL_ERROR
    if task.reason not in OVER:
        search.keep()
    try:
        witnesses = account.witnesses(search.predecessors)
    except KeyboardInterrupt:
        interrupts.heard()
        task.reason, witnesses = INTERRUPTED, {}
        search.keep()
    state, seconds = search.state(), task.watch.seconds
    total, depth = account.total(state.results), len(state.sizes)
    outcomes = account.outcomes("explicit", total, state.states, depth, task.reason, seconds, witnesses)
    error = None if fault is None else account.error(fault, depth, search.predecessors, outcomes)
    if task.checkpoint is not None and task.reason in OVER:
        task.checkpoint.remove()
    if error is not None:
        raise error
    return Exploration(
        instance, outcomes, state.states, total.transitions, depth, total.deadlocks,
        account.kernel.coverage(total.counts, total.cover), task.reason, seconds,
        state.memory / max(state.states, 1), state.disk, compile_seconds, tuple(index.name for index in account.plan.indices),
        account.asymmetry, account.kernel, state.table, state.sizes,
    )  # fmt: skip


class _Search:
    """A search in memory: levels are arrays, the seen states a table."""

    def __init__(self, task: SearchTask, record: LevelRecord | None) -> None:
        self.task, self.account, self.limits = task, task.account, task.limits
        self.words = self.account.words
        self.pool = SearchPool(self.account, task.tuning.homes, task.workers, task.tuning.block)
        self.table = self.pool.table
        self.progress = None if task.checkpoint is None else SearchProgress(task.checkpoint, record, self.account, self.table)
        self.sizes: list[int] = []  # states of each level
        self.gathered: dict[int, Words] = {}
        self.peak = 0  # peak of the bytes of all arrays

    # -- checkpoints --------------------------------------------------------------------------------------------------

    def _resume(self) -> list[Words]:
        """Restore an earlier search and return the level to expand next; [] if there is none."""
        if self.progress is None:
            return []
        self.sizes = self.progress.sizes
        frontier = self.progress.restore(self.pool.workers[0], self.pool.shared, self._grow) if self.sizes else []
        del self.sizes[-1:]
        return frontier

    def _mark(self, frontier: list[Words]) -> None:
        """Record the progress before a level is expanded."""
        if self.progress is not None:
            try:
                self.progress.mark(self.sizes, frontier, self.pool.results())
            except OSError:
                self.task.reason = DISK

    def keep(self) -> None:
        """Save the progress from which the next search resumes."""
        if self.progress is not None:
            try:
                self.progress.save(self.sizes)
            except OSError:
                self.task.reason = DISK

    # -- levels -------------------------------------------------------------------------------------------------------

    def search(self) -> None:
        """Search until all states are seen or there is a reason to end."""
        try:
            self._levels()
        except KeyboardInterrupt:
            interrupts.heard()
            self.task.reason = INTERRUPTED
            self.pool.halt()
            self._merge(len(self.sizes))

    def state(self) -> SearchState:
        self._bytes()
        return SearchState(self.pool.results(), self.sizes, self.pool.count(), self.peak, 0, self.table)

    def _levels(self) -> None:
        frontier = self._resume()
        if not frontier and not self.task.reason:
            frontier = self._begin()
        while frontier:
            self.sizes.append(sum(map(len, frontier)) // self.words)
            if self.account.fault(self.pool.results()) is not None:
                return
            self._mark(frontier)
            if self.task.enough_decided() or self._limited():
                return
            if len(self.sizes) >= self.table.shape.levels and not self._grow(self.pool.count()):
                return
            self.pool.give(frontier, self.sizes[-1])
            del frontier
            while not self._sweep():
                if self._limited() or not self._grow():
                    self._merge(len(self.sizes))
                    return
            frontier = self._merge(len(self.sizes))
            self._report_progress()

    def _begin(self) -> list[Words]:
        """Enter the initial states, evaluate the state formulas for them, and return the first level."""
        start, first = self.account.start(), self.pool.workers[0]
        if len(start) // self.words > self.table.shape.capacity and not self._grow(len(start) // self.words):
            return []
        first.use(self.table, self.pool.shared, 0, 0, 0)
        while not self.account.enter(first, self.table, start):
            if not self._grow():
                return []
        first.flush()
        (states,) = first.parts
        self.pool.shared[loops.COUNT] = len(states) // self.words
        first.result.own[loops.TRANSITIONS] += self.pool.count() - 1  # `WorkerResult.transitions` adds one initial state
        self.account.ask(states, first.result)
        return self._merge(0)

    def _sweep(self) -> bool:
        """Expand the rest of the level until it is complete, the table is full or the search should stop."""
        room, most = self.table.shape.capacity, self.limits.states
        try:
            return self.pool.sweep(len(self.sizes), self.account.kernel.check, room if most is None else min(room, most), self._idle)
        except MemoryError:
            self.task.reason = MEMORY
            return False

    def _idle(self) -> bool:
        self._report_progress()
        return self._limited()

    def _grow(self, states: int = 0) -> bool:
        """Enlarge the table, by default for many more states; False if the limit of memory forbids it."""
        if self.pool.grow(states, len(self.sizes) + 1, self._fits):
            return True
        self.task.reason = MEMORY
        return False

    def _fits(self, shape: TableLayout) -> bool:
        return self.limits.memory is None or self._bytes() + shape.bytes - self.table.bytes <= self.limits.memory

    def _bytes(self) -> int:
        """Return the bytes of all arrays, and update their peak."""
        taken = self.pool.bytes()
        self.peak = max(self.peak, taken)
        return taken

    def _limited(self) -> bool:
        """Return whether a limit ends the search, and set the reason."""
        taken = self._bytes()
        full = self.limits.memory is not None and taken > self.limits.memory
        if not self.task.limited(self.pool.count(), self.pool.interrupted) and full:
            self.task.reason = MEMORY
        return bool(self.task.reason)

    def _report_progress(self) -> None:
        self.task.report_progress(self.sizes, self.pool.count())

    def _merge(self, level: int) -> list[Words]:
        """Return the workers' new states, and record the first findings; the states are those of the given level."""
        parts = self.pool.parts()
        self.account.note(level, self.pool.results())
        return parts

    def predecessors(self, level: int, wanted: list[Packed]) -> dict[Packed, Packed]:
        if level not in self.gathered:
            first, room = level, max(_GATHERED, sum(self.sizes) // _PART) - self.sizes[level]
            while first > 0 and self.sizes[first - 1] <= room:
                first -= 1
                room -= self.sizes[first]
            self.gathered = dict(enumerate(self.table.levels(self.sizes, first, level + 1), first))
        states = self.gathered[level]
        if self.pool.alone or len(states) <= PIECE * self.words:
            return self.account.predecessors(states, wanted)
        with ThreadPoolExecutor(len(self.pool.workers)) as pool:
            return self.account.predecessors(states, wanted, pool.map)
