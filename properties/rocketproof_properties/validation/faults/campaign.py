"""Run the faults of a validation one after another (`--faults kill:20,power,disk`)."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Final, Protocol

from ...brokers import strace
from ...brokers.deployment import ValidationTarget
from ...programs.parts import Capability
from ...reports.choices import InputError
from . import disk, kills, power, slaves, threads
from .found import FaultTests
from .kinds import DISK, KILL, POWER, SLAVE, THREADS, TRACED

NEEDED: Final = frozenset({Capability.START, Capability.STOP, Capability.KILL, Capability.RESTART, Capability.STORE})
"""The capabilities that a target needs."""


class _Run(Protocol):
    def __call__(self, target: ValidationTarget, results: FaultTests, rounds: int, *, seed: int, over: Callable[[], bool]) -> None: ...


_RUNS: Final[Mapping[str, _Run]] = {KILL: kills.run, POWER: power.run, DISK: disk.run, THREADS: threads.run, SLAVE: slaves.run}


def refuse(target: ValidationTarget, kinds: Mapping[str, int]) -> None:
    """Raise InputError for kinds of faults that are impossible on a target; the message names what is missing."""
    lacks = sorted(capability.value for capability in NEEDED - target.offers)
    if kinds and lacks:
        raise InputError(f"--faults {','.join(kinds)} with {target.name}, which does not offer {', '.join(lacks)}; leave it out")
    traced = [kind for kind in kinds if kind in TRACED]
    if traced and not strace.is_installed():
        raise InputError(f"--faults {','.join(traced)}: {strace.MISSING}")


def run(
    target: ValidationTarget,
    results: FaultTests,
    rounds: int,
    *,
    seed: int = 0,
    until: Callable[[FaultTests], bool] = lambda results: False,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> None:
    """Inject up to `rounds` faults of one kind into brokers that are started for it.

    `until` ends it early. Raises TargetError, NotOffered.
    """
    began = time.monotonic() - results.seconds

    def over() -> bool:
        progress(results.rounds, rounds)
        return until(results)

    try:
        _RUNS[results.kind](target, results, rounds, seed=seed, over=over)
    finally:
        results.seconds = time.monotonic() - began
    progress(results.rounds, rounds)
