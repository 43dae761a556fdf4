"""The power fails under a broker, and it starts on what the device has.

A broker runs under load while strace writes down what it does to its files. Then it is killed, and of its files states are made that a loss
of power at that moment may leave (`states`), and one at an earlier moment, when a file had just been made. On each of them the broker is
started and looked at. The last one is where the next round begins, so that a loss may meet what an earlier one has left (PER-06). Every
other round flushes asynchronously: then no message is promised.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from ...brokers import crashstates as states
from ...brokers import strace
from ...brokers.deployment import SMALL_INDEX, ValidationTarget
from ...brokers.strace import traceable
from ...brokers.systemcalls import FileOperation
from .found import FaultTests
from .kinds import POWER
from .rounds import RoundPlan, each
from .store import BROKER, Loaded, Promised, PromisedStore

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
    target: ValidationTarget,
    found: FaultTests,
    rounds: int,
    *,
    seed: int = 0,
    most: int = STATES,
    over: Callable[[], bool] = lambda: False,
) -> None:
    """Let the power fail so many times. Raises TargetError, NotOffered."""
    assert found.kind == POWER
    plan = RoundPlan(lambda first: _SETTINGS, ROUNDS_PER_STORE)
    each(target, found, rounds, plan, lambda store: _round(store, most, over), seed=seed, over=over)


def _round(store: PromisedStore, most: int, over: Callable[[], bool]) -> bool:
    """Load, a loss of power, a start and a look on each state that it may leave; whether the last one can be worked with."""
    running, number = traceable(store.running), store.found.rounds + 1
    flush, calls = _FLUSHES[store.found.rounds % len(_FLUSHES)], store.folder / f"{number}.calls"
    running.stop(BROKER)
    place = running.store(BROKER)
    before = strace.files_of(place)
    running.around(BROKER, strace.tracing_command(calls))
    recorder = strace.Recorder(calls, place)
    try:
        running.restart(BROKER, {"flushDiskType": flush})
        store.where = f"loss {number}, {flush}"
        loaded = store.load(CLIENTS, lambda: running.kill(BROKER), BETWEEN)
    finally:
        running.around(BROKER, ())
        recorder.close()
    known = store.promised.copy()
    store.take(loaded)
    if recorder.late > _LATE:
        store.unknown("calls", f"the machine is too busy: what was forced was read {recorder.late:.1f} s late")
        return False
    disk, usable = states.disk_of(before, recorder.done, strace.files_of(place)), True
    lost = [_Left(states.described(disk, left), left, store.promised) for left in states.states(disk, most, store.chance.randrange(2**16))]
    lost[0] = replace(lost[0], told=f"only what was forced; {lost[0].told}")
    for state, left in enumerate([*_earlier(store, before, recorder.done, loaded, known), *lost][:most], 1):
        if over():
            return False
        running.kill(BROKER)
        _leave(place, left.files)
        store.where = f"loss {number}, {flush}, state {state}: {left.told}"
        store.promised = left.promised.copy()
        store.found.states += 1
        usable = store.restart()
        if usable:
            store.look(loaded.open, flushed=flush == "SYNC_FLUSH")
            store.delays()
    return usable


@dataclass(frozen=True)
class _Left:
    """What a loss of power leaves, and what the broker had promised by then."""

    told: str
    files: Mapping[str, bytes]
    promised: Promised


def _earlier(
    store: PromisedStore, before: Mapping[str, bytes], done: Sequence[FileOperation], loaded: Loaded, known: Promised
) -> Iterator[_Left]:
    """The power fails earlier, when a file had just been made (`moments`): at one such moment, if any, with only what was forced then."""
    made = [*states.moments(before, done)]
    if made:
        then = done[: store.chance.choice(made)]
        at_the_end, store.promised = store.promised, known
        store.promise(loaded.until(then[-1].at))
        store.promised = at_the_end
        left = states.forced(states.disk_of(before, then, {}))
        yield _Left(f"only what was forced when {then[-1].path} had just been made", left, known)


def _leave(place: Path, left: Mapping[str, bytes]) -> None:
    """Put the files of a state where the broker's are."""
    shutil.rmtree(place)
    for path, data in left.items():
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_bytes(data)
