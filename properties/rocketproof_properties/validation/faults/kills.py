"""Kill a broker repeatedly under load. What it acknowledged must be present afterwards.

The page cache survives a process, so this does not show what a power loss would destroy (see `power`).
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
_RECORDED: Final = 11.0  # seconds; offsets are first recorded ten seconds after the start
_AGAIN: Final = 2.0  # seconds within which a restarted broker delivers pending messages
_MIX: Final = Mix(later=6)


def run(
    target: ValidationTarget,
    results: FaultTests,
    rounds: int,
    *,
    seed: int = 0,
    settings: Mapping[str, str] = SETTINGS,
    over: Callable[[], bool] = lambda: False,
) -> None:
    """Kill a target's broker `rounds` times, at times that the seed determines. Raises TargetError, NotOffered."""
    assert results.kind == KILL
    plan, records = RoundPlan(lambda first: settings, ROUNDS_PER_STORE, _MIX), _OFTEN not in target.lacks
    each(target, results, rounds, plan, lambda store: _round(store, records=records), seed=seed, over=over)


def _round(store: PromisedStore, *, records: bool) -> bool:
    """Load the broker, kill it, restart and check it. Return whether the broker started.

    In one of several rounds the kill follows when all messages are delivered, if the broker `records` its progress often.
    """
    rests = records and store.results.rounds % _RESTS == 1
    store.where = f"kill {store.results.rounds + 1}{', at rest' if rests else ''}"
    loaded = store.load(CLIENTS, lambda: None if rests else store.running.kill(BROKER))
    if rests:
        rests = not until(store.undelivered, lambda text: not text, _DELIVERED, 0.2)
        interrupts.pause(_RECORDED)
        store.running.kill(BROKER)
    store.record_acknowledged(loaded)
    if not store.restart():
        return False
    store.results.states += 1
    store.check(loaded.open)
    if rests:
        interrupts.pause(_AGAIN)
        store.report("repeated", [text] if (text := store.undelivered()) else [])
    return True
