"""Exhaustive search, breadth first, level by level, exact: every reachable state once, each property's shortest witness.

Workers (threads that run compiled code without Python's lock) take pieces of a level, enter successors into one shared table, and
collect the new ones, which make the next level. A level's states are forgotten once they are expanded; the table, which holds each
state's level, gives them back where a witness or the graph needs them. What is reported does not depend on who found what: counts are
sums, and where one state must be chosen it is the smallest packed one. What is known of the properties, and how witnesses are rebuilt,
is in explicit/account; how states are held, in explicit/table.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .checkpoint import Checkpoint
from .explicit import kernel, loops
from .explicit.account import BLOCK, Account, Packed
from .explicit.exploration import Exploration
from .explicit.layout import WORD_BITS
from .explicit.marks import Marks
from .explicit.table import Shape, Table
from .explicit.workers import ROOM, Seen, Worker
from .interrupts import uninterrupted
from .language import Instance, Property
from .result import DISK, INTERRUPTED, MEMORY, MODEL_ERROR, STATES, TIME, Limits, Progress, Report, Watch

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Words = NDArray[np.int64]

DECIDED = "decided"
_REPORT = 0.5  # seconds between two reports
_ALONE = 512  # a level smaller than this is not worth starting threads for
_LEAST = 128  # states that a worker takes from a level at once, if there are so many
_GATHERED = 1 << 20  # states that are read from the table at once when witnesses are rebuilt, unless a level has more
# How many times as many states a table has room for when it has grown, by the bytes from which that is so: growing costs time, room memory.
_GROWTH = ((1 << 25, 1.3), (1 << 24, 2.0), (0, 4.0))


@dataclass(frozen=True)
class Tuning:
    """Sizes that change speed and memory but no result: see kernel.build and layout; `homes` is of the first table."""

    unroll: int = kernel.UNROLL
    word_bits: int = WORD_BITS
    homes: int = 1 << 13
    block: int = BLOCK


_UNLIMITED, _USUAL = Limits(), Tuning()


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
    symmetry: bool = True,
    checkpoint: Checkpoint | None = None,
) -> Exploration:
    """Search all reachable states and decide `always`, `reachable`, `step` and `deadlock_free` properties (others are left out).

    `properties` are by default the model's. The checking form raises ModelFault, an EvaluationError with its path and with what was decided
    before, where the interpreter meets a value out of its type or an index out of range; with `checked=False` such models have no defined
    meaning. Ctrl-C ends the search like a limit does. With `stop_when_decided` it ends after the level in which every property is decided.
    Where the model declares symmetric indices, one state of each orbit is visited, unless `symmetry` is False or a property
    tells elements apart; verdicts and lengths of witnesses are the same, and witnesses are paths of the model itself.

    With a `checkpoint` the search goes on from what an earlier one has left there, also with other workers and limits, and finds
    all that it would have found without an end in between. What is there is removed once the search is over. A full disk ends it
    like a limit does. Raises RocketproofError for a checkpoint of another question or that is damaged.
    """
    return _Search(instance, properties, workers, limits, report, checked, stop_when_decided, tuning, symmetry, checkpoint).run()


def question(instance: Instance, properties: Sequence[Property] | None = None, *, symmetry: bool = True) -> str:
    """Words of fixed length that tell searches apart by what they find, such as for the name of a checkpoint's folder."""
    return Account(instance, instance.model.properties if properties is None else properties, symmetry=symmetry).question


class _Search:
    def __init__(
        self, instance: Instance, properties: Sequence[Property] | None, workers: int, limits: Limits,
        report: Report | None, checked: bool, stop_when_decided: bool, tuning: Tuning, symmetry: bool, checkpoint: Checkpoint | None,
    ) -> None:  # fmt: skip
        self.checkpoint = checkpoint
        self.marks: Marks | None = None
        self.instance, self.limits, self.report, self.stop_when_decided = instance, limits, report, stop_when_decided
        self.watch = Watch(limits)
        start = time.process_time()
        asked = instance.model.properties if properties is None else properties
        self.account = Account(instance, asked, checked=checked, unroll=tuning.unroll, word_bits=tuning.word_bits, symmetry=symmetry)
        self.made, self.words = self.account.made, self.account.words
        self.spare: list[Words] = []  # arrays of states that were expanded
        self.workers = [self.account.worker(tuning.block, self.spare) for _ in range(max(workers, 1))]
        self.shared = np.zeros(loops.SHARED, dtype=np.int64)
        self.table = Table(self.made.layout, tuning.homes)
        self.sizes: list[int] = []  # states of each level
        self.waiting: deque[tuple[Words, int, int]] = deque()  # what no worker has taken of the level: states, the first and the last
        self.gathered: dict[int, Words] = {}
        self.held = self.peak = 0  # bytes of the level and of the next one, now and at most
        self.running: list[threading.Event] = []  # each is set when a worker's thread has ended
        self.reason = ""
        self.reported = self.watch.seconds
        self._ready()
        self.compile_seconds = time.process_time() - start

    def _ready(self) -> None:
        """Compile or load all loops that a search needs, so that this is not counted as searching."""
        self.account.ready(alone=len(self.workers) == 1)

    # -- checkpoints --------------------------------------------------------------------------------------------------

    def _resume(self) -> list[Words]:
        """Take over what an earlier search has left; the level that it was to expand, nothing if there is none."""
        if self.checkpoint is None:
            return []
        self.marks = Marks(self.checkpoint, self.account, self.table)
        self.sizes = self.marks.sizes
        frontier = self.marks.restore(self.workers[0], self.shared, self._grow) if self.sizes else []
        del self.sizes[-1:]
        return frontier

    def _mark(self, frontier: list[Words]) -> None:
        """Before a level is expanded: what the next search would go on from."""
        if self.marks is not None:
            try:
                self.marks.mark(self.sizes, frontier, self._seen())
            except OSError:
                self.reason = DISK

    def _leave(self) -> None:
        """Keep what the next search goes on from, or nothing if the search is over."""
        if self.checkpoint is None or self.marks is None:
            return
        if self.reason in ("", DECIDED, MODEL_ERROR):
            self.checkpoint.remove()
            return
        try:
            self.marks.save(self.sizes)
        except OSError:
            self.reason = DISK

    # -- levels -------------------------------------------------------------------------------------------------------

    def run(self) -> Exploration:
        try:
            try:
                self._levels()
            except KeyboardInterrupt:
                self.reason = INTERRUPTED
                self._halt()
            fault = self.account.fault(self._seen())
            if fault is not None:
                self.reason = MODEL_ERROR
            self._leave()
        finally:
            if self.checkpoint is not None:
                self.checkpoint.close()
        try:
            witnesses = self.account.witnesses(self._predecessors)
        except KeyboardInterrupt:
            self.reason, witnesses = INTERRUPTED, {}
        total = self.account.total(self._seen())
        states, depth, seconds = self._count(), len(self.sizes), self.watch.seconds
        outcomes = self.account.outcomes("explicit", total, states, depth, self.reason, seconds, witnesses)
        if fault is not None:
            raise self.account.error(fault, depth, self._predecessors, outcomes)
        return Exploration(
            self.instance, outcomes, states, total.transitions, depth, total.deadlocks,
            self.made.coverage(total.counts, total.cover), self.reason, seconds,
            self.peak / max(states, 1), self.compile_seconds, tuple(index.name for index in self.account.plan.indices),
            self.account.asymmetry, self.made, self.table, self.sizes,
        )  # fmt: skip

    def _levels(self) -> None:
        frontier = self._resume()
        if not frontier and not self.reason:
            frontier = self._begin()
        while frontier:
            self.sizes.append(sum(map(len, frontier)) // self.words)
            if self.account.fault(self._seen()) is not None:
                return
            self._mark(frontier)
            if self._settled() or self._limited():
                return
            if len(self.sizes) >= self.table.shape.levels and not self._grow(self._count()):
                return
            self._hand_out(frontier)
            while True:
                self._sweep()
                if all(w.status == loops.DONE for w in self.workers):
                    break
                if self._limited() or not self._grow():
                    self._merge(len(self.sizes))
                    return
            frontier = self._merge(len(self.sizes))
            self._tell()

    def _hand_out(self, frontier: list[Words]) -> None:
        """Divide a level into pieces, small enough that all workers have some."""
        share = self.sizes[-1] // (4 * len(self.workers))
        piece = ROOM if len(self.workers) == 1 or share >= ROOM else max(share, _LEAST)
        for part in frontier:
            total = len(part) // self.words
            for first in range(0, total, piece):
                self.waiting.append((part, first, min(first + piece, total)))

    def _seen(self) -> list[Seen]:
        return [worker.seen for worker in self.workers]

    def _halt(self) -> None:
        """Stop the workers, wherever the interruption came, and keep what they found."""
        self.shared[loops.STOP] = 1
        for ended in self.running:
            ended.wait()
        self._merge(len(self.sizes))

    def _begin(self) -> list[Words]:
        """Enter the initial states, ask the state formulas about them, and give the first level."""
        start, first = self.account.start(), self.workers[0]
        first.use(self.table, self.shared, 0, 0, 0)
        while not self.account.enter(first, self.table, start) and self._grow():
            pass
        first.flush()
        (states,) = first.parts
        self.shared[loops.COUNT] = len(states) // self.words
        first.seen.own[loops.TRANSITIONS] += self._count() - 1  # a Seen counts one initial state
        self.account.ask(states, first.seen)
        return self._merge(0)

    def _count(self) -> int:
        return int(self.shared[loops.COUNT])

    def _sweep(self) -> None:
        """Expand the rest of the level until it is done, the table is full or the search is to stop."""
        room, most = self.table.shape.capacity, self.limits.states
        limit = room if most is None else min(room, most)
        for worker in self.workers:
            worker.status = loops.DONE
            worker.use(self.table, self.shared, limit, len(self.sizes), self.made.check)
        if self.sizes[-1] < _ALONE:
            self._work(self.workers[0])
        else:
            with uninterrupted():
                self.running = [self._start(worker) for worker in self.workers]
            self._wait()
        for worker in self.workers:
            if isinstance(worker.error, MemoryError):
                self.reason = MEMORY
            elif worker.error is not None:
                raise worker.error

    def _start(self, worker: Worker) -> threading.Event:
        """Let a worker run in a thread; what is set when it has ended. (Thread.join, interrupted, takes a thread that runs for ended.)"""
        ended = threading.Event()

        def work() -> None:
            try:
                self._work(worker)
            finally:
                ended.set()

        threading.Thread(target=work, daemon=True).start()
        return ended

    def _wait(self) -> None:
        while self.running:
            while not self.running[-1].is_set():
                try:
                    self.running[-1].wait(0.1)
                    self._tell()
                    if self._limited():
                        self.shared[loops.STOP] = 1
                except KeyboardInterrupt:
                    self.reason = INTERRUPTED
                    self.shared[loops.STOP] = 1
            self.running.pop()

    def _work(self, worker: Worker) -> None:
        try:
            while worker.busy or self._take(worker):
                worker.status = self.account.expand(worker, self.table, alone=len(self.workers) == 1)
                if worker.status == loops.FULL_QUEUE:
                    worker.flush()
                elif worker.status != loops.DONE:
                    return
                else:
                    worker.leave()
        except BaseException as error:  # noqa: BLE001  raised again by the main thread
            worker.status, worker.error = loops.STOPPED, error
            self.shared[loops.STOP] = 1

    def _take(self, worker: Worker) -> bool:
        """Give a worker a piece of the level, if there is one."""
        try:
            worker.take(*self.waiting.popleft())
        except IndexError:
            return False
        return True

    def _grow(self, states: int = 0) -> bool:
        """Make room in the table, by default for many more states; False if the limit of memory forbids it."""
        self.shared[loops.PAUSE] = 0
        factor = next(factor for size, factor in _GROWTH if self.table.bytes >= size)
        levels = len(self.sizes) + 1
        shape = self.table.larger(max(states or int(self._count() * factor), 1), levels)
        if not self._fits(shape):
            shape = self.table.larger(1, levels)
        try:
            if self._fits(shape):
                self.table.grow(shape)
                return True
        except MemoryError:
            pass
        self.reason = MEMORY
        return False

    def _fits(self, shape: Shape) -> bool:
        return self.limits.memory is None or self._bytes() + shape.bytes - self.table.bytes <= self.limits.memory

    def _bytes(self) -> int:
        """What all arrays take; remembers the most that it was."""
        arrays = {id(a): a.nbytes for w in self.workers for a in (*map(_whole, w.parts), w.fresh)}
        waiting = self.waiting.copy()  # at once: workers take from it meanwhile
        arrays |= {id(a): a.nbytes for a in (*self.spare, *(_whole(part) for part, _, _ in waiting))}
        taken = self.table.bytes + sum(arrays.values()) + sum(w.bytes() for w in self.workers)
        self.peak = max(self.peak, taken)
        return taken

    def _limited(self) -> bool:
        """Whether a limit ends the search; sets the reason."""
        taken = self._bytes()
        if not self.reason:
            if self.watch.expired:
                self.reason = TIME
            elif self.limits.states is not None and self._count() > self.limits.states:
                self.reason = STATES
            elif self.limits.memory is not None and taken > self.limits.memory:
                self.reason = MEMORY
        return bool(self.reason)

    def _settled(self) -> bool:
        if self.stop_when_decided and self.account.settled:
            self.reason = DECIDED
        return bool(self.reason)

    def _tell(self) -> None:
        if self.report is not None and self.watch.seconds - self.reported >= _REPORT:
            self.reported = self.watch.seconds
            self.report(Progress("explicit", len(self.sizes), self._count(), self.sizes[-1] if self.sizes else 0, self.watch.seconds))

    def _merge(self, level: int) -> list[Words]:
        """Bring the workers' new states and first findings together; the states are those of the given level."""
        for w in self.workers:
            w.flush()
        self.account.note(level, self._seen())
        self._bytes()
        parts = [part for w in self.workers for part in w.parts]
        for w in self.workers:
            w.parts = []
        return parts

    def _predecessors(self, level: int, wanted: list[Packed]) -> dict[Packed, Packed]:
        if level not in self.gathered:
            first = level
            while first > 0 and sum(self.sizes[first - 1 : level + 1]) <= _GATHERED:
                first -= 1
            self.gathered = dict(enumerate(self.table.levels(self.sizes, first, level + 1), first))
        states = self.gathered[level]
        if len(self.workers) == 1:
            return self.account.predecessors(states, wanted)
        with ThreadPoolExecutor(len(self.workers)) as pool:
            return self.account.predecessors(states, wanted, pool.map)


def _whole(part: Words) -> Words:
    """The array that a part is of."""
    base = part.base
    return part if not isinstance(base, np.ndarray) else base
