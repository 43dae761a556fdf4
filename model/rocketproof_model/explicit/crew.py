"""The workers of a search and the threads that they run in, around one table of seen states."""

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

_ALONE = 512  # a level smaller than this is not worth starting threads for
_LEAST = 128  # states that a worker takes from a level at once, if there are so many
# How many times as many states a table has room for when it has grown, by the bytes from which that is so: growing costs time, room memory.
_GROWTH = ((1 << 25, 1.3), (1 << 24, 2.0), (0, 4.0))


class ThreadEnd:
    """Whether a worker's thread has ended. Waiting for it may be interrupted anywhere, which costs a wake-up at most: an Event keeps a lock
    for ever where Ctrl-C comes just behind its taking, and whoever sets or awaits it then stands still."""

    def __init__(self) -> None:
        self.reached = False
        self._wakes = threading.Lock()
        self._wakes.acquire()

    def set(self) -> None:
        """Once, by the thread."""
        self.reached = True
        self._wakes.release()

    def wait(self, seconds: float) -> None:
        """At most so long."""
        self._wakes.acquire(timeout=seconds)


class Crew:
    """`workers` threads. `interrupted` says that Ctrl-C ended a sweep."""

    def __init__(self, account: Account, homes: int, workers: int, block: int) -> None:
        self.account, self.words = account, account.words
        self.table = StateTable(account.made.layout, homes)
        self.shared = np.zeros(loops.SHARED, dtype=np.int64)
        self.spare: list[Words] = []  # arrays of states that were expanded
        self.workers = [account.worker(block, self.spare) for _ in range(max(workers, 1))]
        self.waiting: deque[tuple[Words, int, int]] = deque()  # what no worker has taken of the level: states, the first and the last
        self.source: Iterator[Words] = iter(())  # states of the level that are yet to be read
        self.reading = threading.Lock()
        self.piece = ROOM  # states that a worker takes at once
        self.size = 0  # of the level
        self.running: list[ThreadEnd] = []  # of each worker's thread
        self.interrupted = False

    @property
    def alone(self) -> bool:
        return len(self.workers) == 1

    def seen(self) -> list[WorkerResult]:
        return [worker.seen for worker in self.workers]

    def count(self) -> int:
        """States in the table."""
        return int(self.shared[loops.COUNT])

    # -- a level ------------------------------------------------------------------------------------------------------

    def give(self, level: Iterable[Words], size: int, *, at_once: bool = True) -> None:
        """A level to expand, of `size` states; unless `at_once`, its parts are asked for when they are needed."""
        share = size // (4 * len(self.workers))
        self.size, self.piece = size, ROOM if self.alone or share >= ROOM else max(share, _LEAST)
        self.source = iter(level)
        while at_once and self._read():
            pass

    def _read(self) -> bool:
        """Divide the next part of the level into pieces, small enough that all workers have some; False if there is none."""
        part = next(self.source, None)
        if part is not None:
            total = len(part) // self.words
            for first in range(0, total, self.piece):
                self.waiting.append((part, first, min(first + self.piece, total)))
        return part is not None

    def _take(self, worker: Worker) -> bool:
        """Give a worker a piece of the level, if there is one."""
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
        """Expand the rest of the level until it is done, the table has more than `limit` states or no room, or `idle`, called ten times a
        second, is true; True if it is done. New states get this level and are asked `check`. MemoryError, and what `give` raises late."""
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
        """Let a worker run in a thread; what is set when it has ended. (Thread.join, interrupted, takes a thread that runs for ended.)"""
        ended = ThreadEnd()

        def work() -> None:
            try:
                self._work(worker)
            finally:
                ended.set()

        threading.Thread(target=work, daemon=True).start()
        return ended

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
        """Stop the workers, wherever an interruption came."""
        self.shared[loops.STOP] = 1
        for ended in self.running:
            while not ended.reached:
                ended.wait(1)

    def parts(self) -> list[Words]:
        """The workers' new states, which are theirs no more."""
        for worker in self.workers:
            worker.flush()
        parts = [part for worker in self.workers for part in worker.parts]
        for worker in self.workers:
            worker.parts = []
        return parts

    def forget(self) -> None:
        """Empty the table."""
        self.table.clear()
        self.shared[loops.COUNT] = 0

    # -- memory -------------------------------------------------------------------------------------------------------

    def grow(self, states: int, levels: int, fits: Callable[[TableLayout], bool]) -> bool:
        """Make room in the table, for 0 states for many more than there are; False if no larger shape fits, or there is no memory."""
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
        """What all arrays take."""
        arrays = {id(a): a.nbytes for w in self.workers for a in (*map(_whole, w.parts), w.fresh)}
        waiting = self.waiting.copy()  # at once: workers take from it meanwhile
        arrays |= {id(a): a.nbytes for a in (*self.spare, *(_whole(part) for part, _, _ in waiting))}
        return self.table.bytes + sum(arrays.values()) + sum(w.bytes() for w in self.workers)


def _whole(part: Words) -> Words:
    """The array that a part is of."""
    base = part.base
    return part if not isinstance(base, np.ndarray) else base
