"""Spread work over processes or threads of this machine, with a limited number of items under way.

`WorkerPool` is the interface; `spark.spread` implements it with Spark.
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
"""The time in seconds for a pool's processes or threads to end after an interrupt."""


class WorkerPool(Protocol):
    """Yields a function's results for items, each as soon as it is ready, in any order. Function, items and results can be pickled,
    because they may go to other processes."""

    def __call__(self, function: Callable[[A], B], items: Sequence[A], /) -> Iterator[B]: ...


def cores() -> int:
    """Return the number of processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def first_and_more(first: str, count: int, many: str) -> str:
    """Describe `count` items by the first one: `a`, or `a and 1,234 more files`. `many`: the plural of their noun."""
    return f"{first} and {count - 1:,} more {many}" if count > 1 else first


def on_processes(workers: int) -> WorkerPool:
    """Return a pool of processes of this machine. A single item, or a single worker, uses the calling process."""
    return _over(processes, workers)


def on_threads(workers: int) -> WorkerPool:
    """Return a pool of threads, which need no start-up time, for kernels that release the interpreter's lock. A single item, or a single
    worker, uses the calling thread.

    If the caller stops early, running tasks continue to their end or to their next check for an interrupt. After an interrupt the threads
    are interrupted, too. The caller waits at most `TIDY` seconds for them, because they may be inside a kernel's compiler for long.
    """
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
        until, threads = time.monotonic() + TIDY, pool._threads  # noqa: SLF001  (a pool can only wait without a timeout, or not wait)
        for thread in threads if interrupts.came() else ():
            interrupts.interrupt(thread)
        for thread in threads:
            thread.join(max(0.0, until - time.monotonic()))


@contextmanager
def processes(workers: int) -> Iterator[ProcessPoolExecutor]:
    """Open a pool of processes that ignore Ctrl-C. If the caller stops early, their tasks end immediately and clean up. Processes still
    running `TIDY` seconds later, in imports or C code, are killed."""
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _listen)
    try:
        yield pool
    except BaseException:
        running = list((pool._processes or {}).values())  # noqa: SLF001  (public API only from Python 3.14 on)
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
    """Yield the function's results as they arrive, with at most `ahead` items under way.

    Raises TraceError if a process is killed.
    """
    waiting = iter(items)
    running: set[Future[B]] = set()
    try:
        while True:
            for item in waiting:
                with signals_blocked(*_SIGNALS):
                    running.add(pool.submit(_task, function, item))
                if len(running) >= ahead:
                    break
            if not running:
                return
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                yield future.result()
    except (BrokenProcessPool, _Ended):
        raise TraceError("a process of this command", "was ended from outside", "run it again: it goes on where it was") from None


# Signals in the pool's processes: the parent handles Ctrl-C. SIGTERM ends the task and not the process, so the pool stays usable and
# reports no broken process.


class _Ended(Exception):
    """The task was stopped by SIGTERM."""


_state = {"end": False, "busy": False}


def _task(function: Callable[[A], B], item: A) -> B:
    if _state["end"]:
        raise _Ended
    _state["busy"] = True
    try:
        return function(item)
    except _Stop:
        raise _Ended from None
    finally:
        _state["busy"] = False


class _Stop(BaseException):
    """Stops a task; a BaseException, so that tasks do not catch it."""


def _stop(*_: object) -> None:
    _state["end"] = True
    if _state["busy"]:
        _state["busy"] = False
        raise _Stop
    parent = multiprocessing.parent_process()
    if parent is None or not parent.is_alive():  # no other process will end it
        raise SystemExit(1)


def _listen() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _stop)
    unblock(*_SIGNALS)


_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def unblock(*signals: signal.Signals) -> None:
    """Unblock signals that were blocked while this process started."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)


@contextmanager
def signals_blocked(*signals: signal.Signals) -> Iterator[None]:
    """Block these signals in processes that start meanwhile, until they call `unblock`."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # the first process would start it, and Python unblocks the signals then
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
