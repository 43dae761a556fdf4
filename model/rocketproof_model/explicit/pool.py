"""The workers of a search and their threads, around one table of seen states."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from ..interrupts import heard, uninterrupted
from . import loops
from .account import Account
from .table import StateTable, TableLayout
from .workers import ROOM, Worker, WorkerResult

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Words = NDArray[np.int64]

_ALONE = 512  # states of a level below which no threads are started
_LEAST = 128  # minimum of states that a worker takes from a level at once
# The growth factor of a table's capacity, by its size in bytes: growing costs time, unused room costs memory.
_GROWTH = ((1 << 25, 1.3), (1 << 24, 2.0), (0, 4.0))


class ThreadEnd:
    """Whether a worker's thread has ended.

    Interrupting a wait costs at most one missed wake-up. A threading.Event would keep its lock for ever if Ctrl-C arrived just after the
    lock was taken. It would then block every thread that sets or awaits it.
    """

    def __init__(self) -> None:
        self.reached = False
        self._wakes = threading.Lock()
        self._wakes.acquire()

    def set(self) -> None:
        """Mark the thread as ended. The thread calls this once."""
        self.reached = True
        self._wakes.release()

    def wait(self, seconds: float) -> None:
        """Wait at most `seconds`."""
        self._wakes.acquire(timeout=seconds)


class SearchPool:
    """`workers` threads that expand levels. `interrupted` is true after Ctrl-C ended a sweep."""

    def __init__(self, account: Account, homes: int, workers: int, block: int) -> None:
        self.account, self.words = account, account.words
        self.table = StateTable(account.kernel.layout, homes)
        self.shared = np.zeros(loops.SHARED, dtype=np.int64)
        self.spare: list[Words] = []  # arrays of states that were expanded
        self.workers = [account.worker(block, self.spare) for _ in range(max(workers, 1))]
        self.waiting: deque[tuple[Words, int, int]] = deque()  # pieces of the level that no worker has taken: array, first, last
        self.source: Iterator[Words] = iter(())  # parts of the level that are not read yet
        self.reading = threading.Lock()
        self.piece = ROOM  # states that a worker takes at once
        self.size = 0  # states of the level
        self.running: list[ThreadEnd] = []  # one per worker's thread
        self.interrupted = False

    @property
    def alone(self) -> bool:
        return len(self.workers) == 1

    def results(self) -> list[WorkerResult]:
        return [worker.result for worker in self.workers]

    def count(self) -> int:
        """Return the number of states in the table."""
        return int(self.shared[loops.COUNT])

    # -- a level ------------------------------------------------------------------------------------------------------

    def give(self, level: Iterable[Words], size: int, *, at_once: bool = True) -> None:
        """Set the level to expand, of `size` states. Unless `at_once`, its parts are read when they are needed."""
        share = size // (4 * len(self.workers))
        self.size, self.piece = size, ROOM if self.alone or share >= ROOM else max(share, _LEAST)
        self.source = iter(level)
        while at_once and self._read():
            pass

    def _read(self) -> bool:
        """Divide the next part of the level into pieces small enough for all workers; False if there is no further part."""
        part = next(self.source, None)
        if part is not None:
            total = len(part) // self.words
            for first in range(0, total, self.piece):
                self.waiting.append((part, first, min(first + self.piece, total)))
        return part is not None

    def _take(self, worker: Worker) -> bool:
        """Give a worker a piece of the level; False if none is left."""
        while True:
            try:
                worker.take(*self.waiting.popleft())
            except IndexError:
                with self.reading:
                    if not self.waiting and not self._read():
                        return False
            else:
                return True

    def sweep(self, level: int, check: int, limit: int, idle: Callable[[], bool]) -> bool:
        """Expand the rest of the level. Return whether it is complete.

        Stops early if the table has more than `limit` states or no room, or if `idle` returns true. `idle` is called ten times a second
        while threads expand the level. A level of fewer than 512 states is expanded without threads and without calls of `idle`. New
        states get this level, and the formulas of `check` are evaluated in them. Raises MemoryError, and any exception of the iterator
        passed to `give`.
        """
        for worker in self.workers:
            worker.status = loops.DONE
            worker.use(self.table, self.shared, limit, level, check)
        if self.size < _ALONE:
            self._work(self.workers[0])
        else:
            with uninterrupted():
                self.running = [self._start(worker) for worker in self.workers]
            self._wait(idle)
        for worker in self.workers:
            if worker.error is not None:
                error, worker.error = worker.error, None
                raise error
        return all(worker.status == loops.DONE for worker in self.workers)

    def _start(self, worker: Worker) -> ThreadEnd:
        """Run a worker in a thread and return its end.

        (Thread.join is no alternative: an interrupted join reports a running thread as ended.)
        """
        end = ThreadEnd()

        def work() -> None:
            try:
                self._work(worker)
            finally:
                end.set()

        threading.Thread(target=work, daemon=True).start()
        return end

    def _wait(self, idle: Callable[[], bool]) -> None:
        while self.running:
            while not self.running[-1].reached:
                try:
                    self.running[-1].wait(0.1)
                    if idle():
                        self.shared[loops.STOP] = 1
                except KeyboardInterrupt:
                    heard()
                    self.interrupted = True
                    self.shared[loops.STOP] = 1
            self.running.pop()

    def _work(self, worker: Worker) -> None:
        try:
            while worker.busy or self._take(worker):
                worker.status = self.account.expand(worker, self.table, alone=self.alone)
                if worker.status == loops.FULL_QUEUE:
                    worker.flush()
                elif worker.status != loops.DONE:
                    return
                else:
                    worker.leave()
        except BaseException as error:  # noqa: BLE001  raised again by the main thread
            worker.status, worker.error = loops.STOPPED, error
            self.shared[loops.STOP] = 1

    def halt(self) -> None:
        """Stop the workers after an interruption at any point, and wait for them."""
        self.shared[loops.STOP] = 1
        for end in self.running:
            while not end.reached:
                end.wait(1)

    def parts(self) -> list[Words]:
        """Return the workers' new states and remove them from the workers."""
        for worker in self.workers:
            worker.flush()
        parts = [part for worker in self.workers for part in worker.parts]
        for worker in self.workers:
            worker.parts = []
        return parts

    def forget(self) -> None:
        """Remove all states from the table."""
        self.table.clear()
        self.shared[loops.COUNT] = 0

    # -- memory -------------------------------------------------------------------------------------------------------

    def grow(self, states: int, levels: int, fits: Callable[[TableLayout], bool]) -> bool:
        """Enlarge the table for `states` states, or for many more than now if `states` is 0.

        Return False if no larger layout fits or memory is missing.
        """
        self.shared[loops.PAUSE] = 0
        factor = next(factor for size, factor in _GROWTH if self.table.bytes >= size)
        shape = self.table.larger(max(states or int(self.count() * factor), 1), levels)
        if not fits(shape):
            shape = self.table.larger(1, levels)
        if not fits(shape):
            return False
        try:
            self.table.grow(shape, len(self.workers))
        except MemoryError:
            return False
        return True

    def bytes(self) -> int:
        """Return the bytes of all arrays."""
        arrays = {id(a): a.nbytes for w in self.workers for a in (*map(_whole, w.parts), w.fresh)}
        waiting = self.waiting.copy()  # atomic: workers take from the queue at the same time
        arrays |= {id(a): a.nbytes for a in (*self.spare, *(_whole(part) for part, _, _ in waiting))}
        return self.table.bytes + sum(arrays.values()) + sum(w.bytes() for w in self.workers)


def _whole(part: Words) -> Words:
    """Return the array that a part is a view of."""
    base = part.base
    return part if not isinstance(base, np.ndarray) else base
