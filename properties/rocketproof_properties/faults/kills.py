"""A broker is killed again and again under load, and what it acknowledged has to be there afterwards.

The page cache outlives a process, so nothing here shows what a loss of power would take (`power` does).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from ..catalogue.faults import KILL
from ..deployments.deployment import Target
from .found import FaultTests
from .rounds import Plan, each
from .store import BROKER, Store

SETTINGS: Final = {"flushDiskType": "SYNC_FLUSH"}
ROUNDS_PER_STORE: Final = 20
CLIENTS: Final = 4


def run(
    target: Target,
    found: FaultTests,
    rounds: int,
    *,
    seed: int = 0,
    settings: Mapping[str, str] = SETTINGS,
    over: Callable[[], bool] = lambda: False,
) -> None:
    """Kill a target's broker so many times, each time in other surroundings by the seed. Raises TargetError, NotOffered."""
    assert found.kind == KILL
    each(target, found, rounds, Plan(lambda first: settings, ROUNDS_PER_STORE), _round, seed=seed, over=over)


def _round(store: Store) -> bool:
    """Load, kill, start, look; whether the broker started."""
    store.where = f"kill {store.found.rounds + 1}"
    loaded = store.load(CLIENTS, lambda: store.running.kill(BROKER))
    store.take(loaded)
    if store.restart():
        store.found.states += 1
        store.look(loaded.open)
        return True
    return False
