"""Targets that are started one after the other: the next one starts while the present one is in use."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress

from .deployment import Deployment, Setup, TargetError, ValidationTarget


def in_turn(target: ValidationTarget, setups: Sequence[Setup]) -> Generator[Deployment, None, None]:
    """Yield the running target of each setup. It is closed when the next one is requested, or when the iterator is closed.

    Raises TargetError, as `ValidationTarget.open` does, at a setup that cannot be started.
    """
    for running in attempted(target, setups):
        if isinstance(running, TargetError):
            raise running
        yield running


def attempted(target: ValidationTarget, setups: Sequence[Setup]) -> Generator[Deployment | TargetError, None, None]:
    """Like `in_turn`, but yield the error for a setup that cannot be started."""
    with ThreadPoolExecutor(1, thread_name_prefix="target") as pool:
        opening: Future[Deployment] | None = None
        try:
            for number, _ in enumerate(setups):
                opened = opening or pool.submit(target.open, setups[number])
                problem = opened.exception()
                opening = pool.submit(target.open, setups[number + 1]) if number + 1 < len(setups) else None
                if isinstance(problem, TargetError):
                    yield problem
                    continue
                with opened.result() as running:
                    yield running
        finally:
            if opening is not None and not opening.cancel():
                with suppress(Exception):  # a target that does not start has cleaned up
                    opening.result().close()
