"""Targets one after the other, where each has to be started anew: the next one starts while the last one is in use."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress

from .deployment import Deployment, Setup, TargetError, ValidationTarget


def in_turn(target: ValidationTarget, setups: Sequence[Setup]) -> Generator[Deployment, None, None]:
    """The running target of each setup; it is closed when the next one is asked for, and all of them when the iterator is.

    Raises TargetError as `Target.open` does, at the setup that cannot be had.
    """
    for running in attempted(target, setups):
        if isinstance(running, TargetError):
            raise running
        yield running


def attempted(target: ValidationTarget, setups: Sequence[Setup]) -> Generator[Deployment | TargetError, None, None]:
    """The same, with the reason in place of a setup that cannot be had."""
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
                with suppress(Exception):  # what does not start leaves nothing behind
                    opening.result().close()
