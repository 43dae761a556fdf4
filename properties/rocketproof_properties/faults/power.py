"""The power fails under a broker, and it starts on what the device has.

A broker runs under load while strace writes down what it does to its files. Then it is killed, and of its files states are made that a loss
of power at that moment may leave (`states`); on each of them the broker is started and looked at. The last one is where the next round
begins, so that a loss may meet what an earlier one has left (PER-06). Every other round flushes asynchronously: then no message is
promised.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from ..deployments.deployment import SMALL_INDEX, Target
from . import states, strace
from .found import FaultTests
from .kinds import POWER
from .rounds import Plan, each
from .store import BROKER, Store
from .strace import traceable

STATES: Final = 6
"""Of one load."""
ROUNDS_PER_STORE: Final = 3
CLIENTS: Final = 3
BETWEEN: Final = (1.5, 4.0)
"""Seconds of load: what is delayed for one is delivered in them."""
_SETTINGS: Final = {
    **SMALL_INDEX,
    "mappedFileSizeCommitLog": "65536",
    "mappedFileSizeConsumeQueue": "400",
    "flushDelayOffsetInterval": "500",
}
_LATE: Final = 0.8
"""Seconds; a broker flushes its queues each second, and notes it in its checkpoint."""
_FLUSHES: Final = ("SYNC_FLUSH", "ASYNC_FLUSH")


def run(
    target: Target,
    found: FaultTests,
    rounds: int,
    *,
    seed: int = 0,
    most: int = STATES,
    over: Callable[[], bool] = lambda: False,
) -> None:
    """Let the power fail so many times. Raises TargetError, NotOffered."""
    assert found.kind == POWER
    plan = Plan(lambda first: _SETTINGS, ROUNDS_PER_STORE)
    each(target, found, rounds, plan, lambda store: _round(store, most, over), seed=seed, over=over)


def _round(store: Store, most: int, over: Callable[[], bool]) -> bool:
    """Load, a loss of power, a start and a look on each state that it may leave; whether the last one can be worked with."""
    running, number = traceable(store.running), store.found.rounds + 1
    flush, calls = _FLUSHES[store.found.rounds % len(_FLUSHES)], store.folder / f"{number}.calls"
    running.stop(BROKER)
    place = running.store(BROKER)
    before = strace.files_of(place)
    running.around(BROKER, strace.writing_down(calls))
    recorder = strace.Recorder(calls, place)
    try:
        running.restart(BROKER, {"flushDiskType": flush})
        store.where = f"loss {number}, {flush}"
        loaded = store.load(CLIENTS, lambda: running.kill(BROKER), BETWEEN)
    finally:
        running.around(BROKER, ())
        recorder.close()
    store.take(loaded)
    if recorder.late > _LATE:
        store.unknown("calls", f"the machine is too busy: what was forced was read {recorder.late:.1f} s late")
        return False
    disk = states.disk_of(before, recorder.done, strace.files_of(place))
    promised, usable = store.promised, True
    for state, left in enumerate(states.states(disk, most, store.chance.randrange(2**16)), 1):
        if over():
            return False
        running.kill(BROKER)
        _leave(place, left)
        kind = " (only what was forced)" if state == 1 else ""
        store.where = f"loss {number}, {flush}, state {state}{kind}: {states.described(disk, left)}"
        store.promised = promised.copy()
        store.found.states += 1
        usable = store.restart()
        if usable:
            store.look(loaded.open, flushed=flush == "SYNC_FLUSH")
            store.delays()
    return usable


def _leave(place: Path, left: Mapping[str, bytes]) -> None:
    """Put the files of a state where the broker's are."""
    shutil.rmtree(place)
    for path, data in left.items():
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_bytes(data)
