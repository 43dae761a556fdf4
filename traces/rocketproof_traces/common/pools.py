"""Work spread over processes or threads of this machine, a little ahead of what they do.

`WorkerPool` is how work is done, here or elsewhere (`spark.spread`).
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager
from multiprocessing import resource_tracker
from typing import Final, Protocol, TypeVar

from rocketproof_model import interrupts

from .errors import TraceError

A = TypeVar("A")
B = TypeVar("B")
TIDY: Final = 0.5
"""Seconds that a pool's processes, or threads, have to end after they were told to."""


class WorkerPool(Protocol):
    """Gives a function's answers for some items in any order, each as soon as it is there. The function, items and answers go to other
    processes and come back, so they can be pickled."""

    def __call__(self, function: Callable[[A], B], items: Sequence[A], /) -> Iterator[B]: ...


def cores() -> int:
    """The processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def on_processes(workers: int) -> WorkerPool:
    """Spread over processes of this machine; a single item, or all for one worker, are done in this one."""
    return _over(processes, workers)


def on_threads(workers: int) -> WorkerPool:
    """Spread over threads, which need no start: for work that is done in kernels, without the interpreter's lock. A single item, or all for
    one worker, are done in this thread. Where this one stops early, what the others have begun is done first, to its end or to where the
    function looks for an interrupt. After an interrupt the threads are interrupted too, and this one waits `TIDY` seconds for them and then
    goes on: they may be inside the compiler of a kernel for many seconds."""
    return _over(_threads, workers)


def _over(pools: Callable[[int], AbstractContextManager[Executor]], workers: int) -> WorkerPool:
    def spread(function: Callable[[A], B], items: Sequence[A]) -> Iterator[B]:
        if workers < 2 or len(items) < 2:
            yield from map(function, items)
            return
        with pools(min(workers, len(items))) as pool:
            yield from answers(pool, function, items, workers)

    return spread


@contextmanager
def _threads(workers: int) -> Iterator[ThreadPoolExecutor]:
    pool = ThreadPoolExecutor(workers)
    try:
        yield pool
    finally:
        pool.shutdown(wait=not interrupts.came(), cancel_futures=True)
        until, threads = time.monotonic() + TIDY, pool._threads  # noqa: SLF001  (a pool waits for its threads for ever, or not at all)
        for thread in threads if interrupts.came() else ():
            interrupts.interrupt(thread)
        for thread in threads:
            thread.join(max(0.0, until - time.monotonic()))


@contextmanager
def processes(workers: int) -> Iterator[ProcessPoolExecutor]:
    """A pool of processes that leave Ctrl-C to this one. Where this one stops early they end their tasks at once, and tidy up. Those that
    have not ended `TIDY` seconds later, because they still load modules or are inside C code, are killed."""
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _listen)
    try:
        yield pool
    except BaseException:
        running = list((pool._processes or {}).values())  # noqa: SLF001  (Python 3.14 is the first to have a word for it)
        for process in running:
            process.terminate()
        pool.shutdown(wait=False, cancel_futures=True)
        until = time.monotonic() + TIDY
        for process in running:
            process.join(max(0.0, until - time.monotonic()))
        for process in running:
            process.kill()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def answers(pool: Executor, function: Callable[[A], B], items: Iterable[A], ahead: int) -> Iterator[B]:
    """The function's answers as they come, with at most `ahead` items under way.

    Raises TraceError where a process is killed.
    """
    waiting = iter(items)
    running: set[Future[B]] = set()
    try:
        while True:
            for item in waiting:
                with unheard(*_SIGNALS):
                    running.add(pool.submit(_task, function, item))
                if len(running) >= ahead:
                    break
            if not running:
                return
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for one in done:
                yield one.result()
    except (BrokenProcessPool, _Ended):
        raise TraceError("a process of this command", "was ended from outside", "run it again: it goes on where it was") from None


# What a process of the pool does with signals: Ctrl-C is for the one that began it, and a polite kill ends the task, not the process,
# so that the pool stays whole and has nothing to say.


class _Ended(Exception):
    """The task was told to end."""


_told = {"end": False, "busy": False}


def _task(function: Callable[[A], B], item: A) -> B:
    if _told["end"]:
        raise _Ended
    _told["busy"] = True
    try:
        return function(item)
    except _Stop:
        raise _Ended from None
    finally:
        _told["busy"] = False


class _Stop(BaseException):
    """Passes through a task, whatever that catches."""


def _stop(*_: object) -> None:
    _told["end"] = True
    if _told["busy"]:
        _told["busy"] = False
        raise _Stop
    parent = multiprocessing.parent_process()
    if parent is None or not parent.is_alive():  # nobody else will end it
        raise SystemExit(1)


def _listen() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _stop)
    unblock(*_SIGNALS)


_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def unblock(*signals: signal.Signals) -> None:
    """Let this process hear signals that were blocked while it began."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)


@contextmanager
def unheard(*signals: signal.Signals) -> Iterator[None]:
    """Processes that begin meanwhile hear none of these signals before they unblock them."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # the first process would start it, and Python unblocks the signals then
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
