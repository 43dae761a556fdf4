"""A broker can start no thread for a while, as where its user or its container has as many as it may.

Who starts one gets an OutOfMemoryError in Java, which is no Exception: what a service does with an Error shows. Index files are so small
that dispatch needs a thread for each that is full; and every other broker answers from a pool that still grows.
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
"""Store by store: the pool from which messages are answered has started its few threads before the fault, or starts one for each answer."""
FAULTS: Final = (DiskFault("no thread is started (EAGAIN)", "clone,clone3:error=EAGAIN"),)


def run(target: ValidationTarget, found: FaultTests, rounds: int, *, seed: int = 0, over: Callable[[], bool] = lambda: False) -> None:
    """Let a broker start no thread, so many times. Raises TargetError, NotOffered."""
    assert found.kind == THREADS
    plan = RoundPlan(lambda first: {**_SETTINGS, **_POOLS[first % len(_POOLS)]}, 1)
    each(target, found, rounds, plan, lambda store: DiskRound(store, FAULTS).run(), seed=seed, over=over)
