"""A broker is killed again and again under load, and what it acknowledged has to be there afterwards.

The page cache outlives a process, so nothing here shows what a loss of power would take (`power` does).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from rocketproof_model import interrupts

from ...brokers.deployment import ValidationTarget
from ...brokers.runs.waiting import until
from .found import FaultTests
from .kinds import KILL
from .rounds import RoundPlan, each
from .store import BROKER, Mix, PromisedStore

_OFTEN: Final = "flushDelayOffsetInterval"
SETTINGS: Final = {"flushDiskType": "SYNC_FLUSH", _OFTEN: "500"}
ROUNDS_PER_STORE: Final = 20
CLIENTS: Final = 4
_RESTS: Final = 4
_DELIVERED: Final = 10.0
_RECORDED: Final = 11.0  # seconds: the first record comes ten after the start
_AGAIN: Final = 2.0  # seconds in which a broker that starts delivers what it has
_MIX: Final = Mix(later=6)


def run(
    target: ValidationTarget,
    found: FaultTests,
    rounds: int,
    *,
    seed: int = 0,
    settings: Mapping[str, str] = SETTINGS,
    over: Callable[[], bool] = lambda: False,
) -> None:
    """Kill a target's broker so many times, each time in other surroundings by the seed. Raises TargetError, NotOffered."""
    assert found.kind == KILL
    plan, records = RoundPlan(lambda first: settings, ROUNDS_PER_STORE, _MIX), _OFTEN not in target.lacks
    each(target, found, rounds, plan, lambda store: _round(store, records=records), seed=seed, over=over)


def _round(store: PromisedStore, *, records: bool) -> bool:
    """Load, kill, start, look; whether the broker started. One kill of some comes when all is delivered, and a broker that `records` often
    has had the time for it."""
    rests = records and store.found.rounds % _RESTS == 1
    store.where = f"kill {store.found.rounds + 1}{', at rest' if rests else ''}"
    loaded = store.load(CLIENTS, lambda: None if rests else store.running.kill(BROKER))
    if rests:
        rests = not until(store.undelivered, lambda one: not one, _DELIVERED, 0.2)
        interrupts.pause(_RECORDED)
        store.running.kill(BROKER)
    store.take(loaded)
    if not store.restart():
        return False
    store.found.states += 1
    store.look(loaded.open)
    if rests:
        interrupts.pause(_AGAIN)
        store.wrong("repeated", [said] if (said := store.undelivered()) else [])
    return True
