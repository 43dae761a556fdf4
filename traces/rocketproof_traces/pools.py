"""Work spread over processes of this machine, a little ahead of what they do.

`Spread` is how work is done, here or elsewhere (`spark.spread`): it gets a function and items, both for other processes too, and gives the
answers in any order, each as soon as it is there.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from .errors import TraceError

A = TypeVar("A")
B = TypeVar("B")
Spread = Callable[[Callable[[str], str], Sequence[str]], Iterator[str]]

FEW = 4  # short tasks that are done sooner than processes begin


def cores() -> int:
    """The processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def on_processes(workers: int, few: int = FEW) -> Spread:
    """Spread over processes of this machine; up to `few` items, or all for one worker, are done in this one.

    Threads would wait for each other: between two calls of a kernel, which take a fraction of a millisecond, each needs Python's lock.
    """

    def spread(function: Callable[[str], str], items: Sequence[str]) -> Iterator[str]:
        if workers == 1 or len(items) <= few:
            yield from map(function, items)
            return
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(workers, context, signal.signal, (signal.SIGINT, signal.SIG_IGN)) as pool:
            yield from answers(pool, function, items, 2 * workers)

    return spread


def answers(pool: Executor, function: Callable[[A], B], items: Iterable[A], ahead: int) -> Iterator[B]:
    """The function's answers as they come, with at most `ahead` items under way; those that have not begun are given up at the end.

    Raises TraceError where a process is killed.
    """
    waiting = iter(items)
    running: set[Future[B]] = set()
    try:
        while True:
            for item in waiting:
                running.add(pool.submit(function, item))
                if len(running) >= ahead:
                    break
            if not running:
                return
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for one in done:
                yield one.result()
    except BrokenProcessPool:
        raise TraceError("a process of this command", "was ended from outside", "run it again: it goes on where it was") from None
    finally:
        for one in running:
            one.cancel()
