"""Power losses: a broker starts on the data that the device has after a loss.

A broker runs under load while strace records its file operations. Then it is killed. The recording yields disk states that a power loss at
that moment may leave (`states`). It also yields one state for an earlier moment, when a file had just been created. The broker is started
and checked on each state. The next round starts from the last state, so that a loss may meet the remains of an earlier loss (PER-06). Every
second round flushes asynchronously; then no message is promised.
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
"""Maximum number of disk states per load."""
ROUNDS_PER_STORE: Final = 3
CLIENTS: Final = 3
BETWEEN: Final = (1.5, 4.0)
"""Seconds of load: long enough for a message with a delay of one second to be delivered."""
_SETTINGS: Final = {
    **SMALL_INDEX,
    "mappedFileSizeCommitLog": "65536",
    "mappedFileSizeConsumeQueue": "400",
    "flushDelayOffsetInterval": "500",
}
_LATE: Final = 0.8
"""Seconds. A broker flushes its queues every second, and records this in its checkpoint."""
_FLUSHES: Final = ("SYNC_FLUSH", "ASYNC_FLUSH")


def run(
    target: ValidationTarget,
    results: FaultTests,
    rounds: int,
    *,
    seed: int = 0,
    most: int = STATES,
    over: Callable[[], bool] = lambda: False,
) -> None:
    """Inject `rounds` power losses. Raises TargetError, NotOffered."""
    assert results.kind == POWER
    plan = RoundPlan(lambda first: _SETTINGS, ROUNDS_PER_STORE)
    each(target, results, rounds, plan, lambda store: _round(store, most, over), seed=seed, over=over)


def _round(store: PromisedStore, most: int, over: Callable[[], bool]) -> bool:
    """Load the broker, and start and check it on each state that a power loss may leave. Return whether it is usable on the last state."""
    running, number = traceable(store.running), store.results.rounds + 1
    flush, calls = _FLUSHES[store.results.rounds % len(_FLUSHES)], store.folder / f"{number}.calls"
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
    store.record_acknowledged(loaded)
    if recorder.late > _LATE:
        store.report_unknown("calls", f"the machine is too busy: what was forced was read {recorder.late:.1f} s late")
        return False
    disk, usable = states.disk_of(before, recorder.done, strace.files_of(place)), True
    lost = [
        _DiskState(states.described(disk, files), files, store.promised)
        for files in states.states(disk, most, store.chance.randrange(2**16))
    ]
    lost[0] = replace(lost[0], description=f"only what was forced; {lost[0].description}")
    for state, disk_state in enumerate([*_earlier(store, before, recorder.done, loaded, known), *lost][:most], 1):
        if over():
            return False
        running.kill(BROKER)
        restore(place, disk_state.files)
        store.where = f"loss {number}, {flush}, state {state}: {disk_state.description}"
        store.promised = disk_state.promised.copy()
        store.results.states += 1
        usable = store.restart()
        if usable:
            store.check(loaded.open, flushed=flush == "SYNC_FLUSH")
            store.check_delays()
    return usable


@dataclass(frozen=True)
class _DiskState:
    """A disk state after a power loss, and what the broker had promised before it. `told` describes the state."""

    description: str
    files: Mapping[str, bytes]
    promised: Promised


def _earlier(
    store: PromisedStore, before: Mapping[str, bytes], done: Sequence[FileOperation], loaded: Loaded, known: Promised
) -> Iterator[_DiskState]:
    """Yield at most one state of an earlier power loss: only synced data, just after a file was created (`moments`)."""
    moments = [*states.moments(before, done)]
    if moments:
        operations = done[: store.chance.choice(moments)]
        at_the_end, store.promised = store.promised, known
        store.promise(loaded.answered_by(operations[-1].at))
        store.promised = at_the_end
        synced = states.forced(states.disk_of(before, operations, {}))
        yield _DiskState(f"only what was forced when {operations[-1].path} had just been made", synced, known)


def restore(place: Path, files: Mapping[str, bytes]) -> None:
    """Replace the broker's files by the files of a disk state."""
    shutil.rmtree(place)
    for path, data in files.items():
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_bytes(data)
