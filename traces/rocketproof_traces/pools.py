"""Work given to a pool of threads or processes, a little ahead of what they do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait


def answers(pool: Executor, function: Callable[[str], str], items: Sequence[str], ahead: int) -> Iterator[str]:
    """The function's answers as they come, with at most `ahead` items under way; those that have not begun are given up at the end."""
    waiting = iter(items)
    running: set[Future[str]] = set()
    try:
        while True:
            while len(running) < ahead and (item := next(waiting, None)) is not None:
                running.add(pool.submit(function, item))
            if not running:
                return
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for one in done:
                yield one.result()
    finally:
        for one in running:
            one.cancel()
