"""Exhaustive search, breadth first, level by level, exact: every reachable state once, each property's shortest witness.

Workers (threads that run compiled code without Python's lock) take pieces of a level, enter successors into one shared table, and
collect the new ones, which make the next level. A level's states are forgotten once they are expanded; the table, which holds each
state's level, gives them back where a witness or the graph needs them. What is reported does not depend on who found what: counts are
sums, and where one state must be chosen it is the smallest packed one. What is known of the properties, and how witnesses are rebuilt,
is in explicit/account; how states are held, in explicit/table.
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
from .explicit.crew import Crew
from .explicit.exploration import Exploration
from .explicit.external import External
from .explicit.marks import Marks
from .explicit.table import TableLayout
from .explicit.task import DECIDED, OVER, Enough, SearchState, SearchTask, Tuning
from .language import Instance, Property
from .result import DISK, INTERRUPTED, MEMORY, MODEL_ERROR, Limits, Report, Watch

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Words = NDArray[np.int64]

__all__ = ["DECIDED", "Enough", "Tuning", "explore", "question"]

# States that are read from the table at once when witnesses are rebuilt, or a part of all states if that is more; or a level.
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

    `properties` are by default the model's. The checking form raises ModelFault, an EvaluationError with its path and with what was decided
    before, where the interpreter meets a value out of its type or an index out of range; with `checked=False` such models have no defined
    meaning. Ctrl-C ends the search like a limit does. It ends after a level, too, when what was decided so far is `enough`.
    Where the model declares symmetric indices, one state of each orbit is visited, unless `symmetry` is False or a property
    tells elements apart; verdicts and lengths of witnesses are the same, and witnesses are paths of the model itself.

    With a `checkpoint` the search goes on from what an earlier one has left there, also with other workers and limits, and finds
    all that it would have found without an end in between. What is there is removed once the search is over. A full disk ends it
    like a limit does. Where the limits name bytes of disk, it goes on with its states in the checkpoint's folder when memory ends.
    Raises RocketproofError for a checkpoint of another question or that is damaged, and for bytes of disk without a checkpoint.
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
        search: _Search | External
        if checkpoint is not None and record is not None and record.ends:
            if limits.disk is None:
                raise RocketproofError(f"{checkpoint.folder} holds a search on disk; say how many bytes its files may have")
            search = External(task, record)
        else:
            search = _Search(task, record)
        search.search()
        if checkpoint is not None and limits.disk is not None and task.reason == MEMORY and isinstance(search, _Search):
            search.keep()
            checkpoint.close()
            task.reason = ""
            account.forget()
            search = External(task, checkpoint.open(account.question))
            search.search()
        return _ended(instance, task, search, compile_seconds)
    finally:
        if checkpoint is not None:
            checkpoint.release()


def question(instance: Instance, properties: Sequence[Property] | None = None, *, symmetry: bool = True) -> str:
    """Words of fixed length that tell searches apart by what they find, such as for the name of a checkpoint's folder."""
    return Account(instance, instance.model.properties if properties is None else properties, symmetry=symmetry).question


def _ended(instance: Instance, task: SearchTask, search: _Search | External, compile_seconds: float) -> Exploration:
    """What a search that has ended leaves; the checkpoint is kept or removed. Raises ModelFault."""
    account = task.account
    fault = account.fault(search.crew.seen())
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
    found, seconds = search.found(), task.watch.seconds
    total, depth = account.total(found.seen), len(found.sizes)
    outcomes = account.outcomes("explicit", total, found.states, depth, task.reason, seconds, witnesses)
    error = None if fault is None else account.error(fault, depth, search.predecessors, outcomes)
    if task.checkpoint is not None and task.reason in OVER:
        task.checkpoint.remove()
    if error is not None:
        raise error
    return Exploration(
        instance, outcomes, found.states, total.transitions, depth, total.deadlocks,
        account.made.coverage(total.counts, total.cover), task.reason, seconds,
        found.memory / max(found.states, 1), found.disk, compile_seconds, tuple(index.name for index in account.plan.indices),
        account.asymmetry, account.made, found.table, found.sizes,
    )  # fmt: skip


class _Search:
    """In memory: the levels are arrays, what was seen is a table."""

    def __init__(self, task: SearchTask, record: LevelRecord | None) -> None:
        self.task, self.account, self.limits = task, task.account, task.limits
        self.words = self.account.words
        self.crew = Crew(self.account, task.tuning.homes, task.workers, task.tuning.block)
        self.table = self.crew.table
        self.marks = None if task.checkpoint is None else Marks(task.checkpoint, record, self.account, self.table)
        self.sizes: list[int] = []  # states of each level
        self.gathered: dict[int, Words] = {}
        self.peak = 0  # bytes of all arrays, at most

    # -- checkpoints --------------------------------------------------------------------------------------------------

    def _resume(self) -> list[Words]:
        """Take over what an earlier search has left; the level that it was to expand, nothing if there is none."""
        if self.marks is None:
            return []
        self.sizes = self.marks.sizes
        frontier = self.marks.restore(self.crew.workers[0], self.crew.shared, self._grow) if self.sizes else []
        del self.sizes[-1:]
        return frontier

    def _mark(self, frontier: list[Words]) -> None:
        """Before a level is expanded: what the next search would go on from."""
        if self.marks is not None:
            try:
                self.marks.mark(self.sizes, frontier, self.crew.seen())
            except OSError:
                self.task.reason = DISK

    def keep(self) -> None:
        """Keep what the next search goes on from."""
        if self.marks is not None:
            try:
                self.marks.save(self.sizes)
            except OSError:
                self.task.reason = DISK

    # -- levels -------------------------------------------------------------------------------------------------------

    def search(self) -> None:
        """Search until all is seen, or there is a reason not to."""
        try:
            self._levels()
        except KeyboardInterrupt:
            interrupts.heard()
            self.task.reason = INTERRUPTED
            self.crew.halt()
            self._merge(len(self.sizes))

    def found(self) -> SearchState:
        self._bytes()
        return SearchState(self.crew.seen(), self.sizes, self.crew.count(), self.peak, 0, self.table)

    def _levels(self) -> None:
        frontier = self._resume()
        if not frontier and not self.task.reason:
            frontier = self._begin()
        while frontier:
            self.sizes.append(sum(map(len, frontier)) // self.words)
            if self.account.fault(self.crew.seen()) is not None:
                return
            self._mark(frontier)
            if self.task.settled() or self._limited():
                return
            if len(self.sizes) >= self.table.shape.levels and not self._grow(self.crew.count()):
                return
            self.crew.give(frontier, self.sizes[-1])
            del frontier
            while not self._sweep():
                if self._limited() or not self._grow():
                    self._merge(len(self.sizes))
                    return
            frontier = self._merge(len(self.sizes))
            self._tell()

    def _begin(self) -> list[Words]:
        """Enter the initial states, ask the state formulas about them, and give the first level."""
        start, first = self.account.start(), self.crew.workers[0]
        if len(start) // self.words > self.table.shape.capacity and not self._grow(len(start) // self.words):
            return []
        first.use(self.table, self.crew.shared, 0, 0, 0)
        while not self.account.enter(first, self.table, start):
            if not self._grow():
                return []
        first.flush()
        (states,) = first.parts
        self.crew.shared[loops.COUNT] = len(states) // self.words
        first.seen.own[loops.TRANSITIONS] += self.crew.count() - 1  # a Seen counts one initial state
        self.account.ask(states, first.seen)
        return self._merge(0)

    def _sweep(self) -> bool:
        """Expand the rest of the level until it is done, the table is full or the search is to stop."""
        room, most = self.table.shape.capacity, self.limits.states
        try:
            return self.crew.sweep(len(self.sizes), self.account.made.check, room if most is None else min(room, most), self._idle)
        except MemoryError:
            self.task.reason = MEMORY
            return False

    def _idle(self) -> bool:
        self._tell()
        return self._limited()

    def _grow(self, states: int = 0) -> bool:
        """Make room in the table, by default for many more states; False if the limit of memory forbids it."""
        if self.crew.grow(states, len(self.sizes) + 1, self._fits):
            return True
        self.task.reason = MEMORY
        return False

    def _fits(self, shape: TableLayout) -> bool:
        return self.limits.memory is None or self._bytes() + shape.bytes - self.table.bytes <= self.limits.memory

    def _bytes(self) -> int:
        """What all arrays take; remembers the most that it was."""
        taken = self.crew.bytes()
        self.peak = max(self.peak, taken)
        return taken

    def _limited(self) -> bool:
        """Whether a limit ends the search; sets the reason."""
        taken = self._bytes()
        full = self.limits.memory is not None and taken > self.limits.memory
        if not self.task.limited(self.crew.count(), self.crew.interrupted) and full:
            self.task.reason = MEMORY
        return bool(self.task.reason)

    def _tell(self) -> None:
        self.task.tell(self.sizes, self.crew.count())

    def _merge(self, level: int) -> list[Words]:
        """Bring the workers' new states and first findings together; the states are those of the given level."""
        parts = self.crew.parts()
        self.account.note(level, self.crew.seen())
        return parts

    def predecessors(self, level: int, wanted: list[Packed]) -> dict[Packed, Packed]:
        if level not in self.gathered:
            first, room = level, max(_GATHERED, sum(self.sizes) // _PART) - self.sizes[level]
            while first > 0 and self.sizes[first - 1] <= room:
                first -= 1
                room -= self.sizes[first]
            self.gathered = dict(enumerate(self.table.levels(self.sizes, first, level + 1), first))
        states = self.gathered[level]
        if self.crew.alone or len(states) <= PIECE * self.words:
            return self.account.predecessors(states, wanted)
        with ThreadPoolExecutor(len(self.crew.workers)) as pool:
            return self.account.predecessors(states, wanted, pool.map)
