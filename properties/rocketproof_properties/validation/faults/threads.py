"""Thread exhaustion: a broker can start no thread for a while, as at a user's or container's limit.

In Java, the failed start raises OutOfMemoryError, which is no Exception. The test shows how services handle an Error. Index files are so
small that dispatch needs a thread for each full file. Every second broker answers from a pool that still grows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from ...brokers.deployment import ValidationTarget
from . import disk
from .disk import DiskFault, DiskRound
from .found import FaultTests
from .kinds import THREADS
from .rounds import RoundPlan, each

_SETTINGS: Final = {**disk.SETTINGS, "maxIndexNum": "40"}
_POOLS: Final[tuple[Mapping[str, str], ...]] = ({}, {"putMessageFutureThreadPoolNums": "1000"})
"""Alternating settings of the pool that answers messages: its few threads are started before the fault, or a thread is started for each
response.
"""
FAULTS: Final = (DiskFault("no thread is started (EAGAIN)", "clone,clone3:error=EAGAIN"),)


def run(target: ValidationTarget, results: FaultTests, rounds: int, *, seed: int = 0, over: Callable[[], bool] = lambda: False) -> None:
    """Prevent thread creation `rounds` times. Raises TargetError, NotOffered."""
    assert results.kind == THREADS
    plan = RoundPlan(lambda first: {**_SETTINGS, **_POOLS[first % len(_POOLS)]}, 1)
    each(target, results, rounds, plan, lambda store: DiskRound(store, FAULTS).run(), seed=seed, over=over)
