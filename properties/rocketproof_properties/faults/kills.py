"""A broker is killed again and again under load, and what it acknowledged has to be there afterwards.

The page cache outlives a process, so nothing here shows what a loss of power would take (`power` does).
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from ..catalogue.faults import KILL
from ..deployments.deployment import Setup, Target
from .found import FaultTests
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
    clients: int = CLIENTS,
    settings: Mapping[str, str] = SETTINGS,
    over: Callable[[], bool] = lambda: False,
) -> None:
    """Kill a target's broker so many times, each time in other surroundings by the seed. Raises TargetError, NotOffered."""
    assert found.kind == KILL
    chance = random.Random(seed)
    while found.rounds < rounds and not over():
        with tempfile.TemporaryDirectory(prefix="rocketproof-") as folder, target.open(Setup(settings=settings)) as running:
            store = Store(running, target.profile, chance, found, Path(folder))
            first, usable = found.rounds, True
            while usable and found.rounds < min(first + ROUNDS_PER_STORE, rounds) and not over():
                store.where = f"kill {found.rounds + 1}, store {first}"
                usable = _round(store, clients)
                found.rounds += 1


def _round(store: Store, clients: int) -> bool:
    """Load, kill, start, look; whether the broker started."""
    loaded = store.load(clients, lambda: store.running.kill(BROKER))
    store.take(loaded)
    if store.restart():
        store.found.states += 1
        store.look(loaded.open)
        return True
    return False
