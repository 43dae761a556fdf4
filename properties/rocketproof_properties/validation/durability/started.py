"""The durability of a target that is started, such as a release: faults that need nothing but its process and its files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from ...brokers.comeback import NotBack, come_back
from ...brokers.deployment import Deployment, Setup, ValidationTarget
from ...brokers.stoppedstore import StoppedStore
from ...brokers.strace import files_of
from ...programs.corruption import HOWS
from ..faults.power import restore
from .outcome import MESSAGES, SETTINGS, Copy, DurabilityLoad, FaultOutcome
from .usedbytes import PARTS, spread, used_bytes

_BROKER: Final = "broker-a"
_PATIENCE: Final = 4.0
"""Seconds after a start in which a broker delivers what is due."""
_BYTES: Final = 6
"""The number of bytes of a part that are changed: each needs a start."""


def kill(target: ValidationTarget, flush: str) -> FaultOutcome:
    """Kill the broker after each number of messages. Raises TargetError, RemotingError."""
    outcome = FaultOutcome()
    with _opened(target, flush) as running:
        for messages in range(1, MESSAGES + 1):
            load = DurabilityLoad(f"durable{messages}")
            load.create_topic(running, _BROKER)
            load.run(running, _BROKER, messages)
            running.kill(_BROKER)
            outcome.add(load.acknowledged, _read(running, load))
    return outcome


def one_byte(part: str, target: ValidationTarget, flush: str) -> FaultOutcome:
    """Flip or zero bytes of a part of the store after a graceful stop, one in each state. Raises TargetError, RemotingError, OSError."""
    outcome, load = FaultOutcome(), DurabilityLoad()
    with _opened(target, flush) as running:
        load.create_topic(running, _BROKER)
        load.run(running, _BROKER)
        running.stop(_BROKER)
        place = running.store(_BROKER)
        files, stopped = StoppedStore(place), files_of(place)
        for number, byte in enumerate(spread(used_bytes(files, part, load.topic), _BYTES)):
            restore(place, stopped)
            if byte.change(files, HOWS[number % len(HOWS)]):
                outcome.add(load.acknowledged, _read(running, load))
                running.kill(_BROKER)
    return outcome


def _opened(target: ValidationTarget, flush: str) -> Deployment:
    settings = {name: value for name, value in SETTINGS.items() if name not in target.lacks}
    return target.open(Setup(settings={**settings, "flushDiskType": flush}))


def _read(running: Deployment, load: DurabilityLoad) -> list[Copy] | None:
    """Start the broker and return what a consumer gets; None if it does not start, or only without a damaged file."""
    try:
        come_back(running, _BROKER)
    except NotBack:
        return None
    return None if running.unsized.pop(_BROKER, None) else load.read(running, _BROKER, _PATIENCE)


Measure = Callable[[ValidationTarget, str], FaultOutcome]


def _byte_of(part: str) -> Measure:
    return partial(one_byte, part)


MEASURES: Final[Mapping[str, Measure]] = {"kill": kill, **{f"byte of {part}": _byte_of(part) for part in PARTS}}
"""What measures a fault on a started target, given its flush mode."""
