"""The quality of the validation: faults are seeded into a served target, which is validated like any broker.

A mutant's change is made in a separate process before it serves (serve_mutant.py); the judging process is unchanged.
"""

from __future__ import annotations

import random
import sys
import tempfile
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Final

from rocketproof_lab.mutation.seeded.registry import mutants
from rocketproof_properties.brokers.served import Served
from rocketproof_properties.validation.validate import ValidationRequest, validate

UNSEEN: Final = frozenset(
    {
        *("M-06", "M-07"),  # the draw of an older profile
        *("M-10", "M-11", "M-30", "M-33", "M-34"),  # order topics, one millisecond, data that clients never receive
        *("M-37", "M-38", "M-39", "M-40", "M-46"),  # the inside of the lock
        *(f"M-{n}" for n in range(41, 50)),  # files and registrations at a crash
        *(f"M-{n}" for n in range(52, 62)),  # files at a crash
        *("M-25", "M-62", "M-65", "M-66", "M-69", "M-70", "M-71", "M-72", "M-106"),  # equivalent; time-outs of a disk; statistics, hooks
        *("M-89", "M-95", "M-96", "M-97", "M-98", "M-99", "M-107"),  # the limit of another profile; a stuck lock, a slave
        *(f"M-{n}" for n in range(108, 114)),  # the producer, which is not a part of a broker
    }
)
"""Mutants that show nothing to a client of a broker with the profile of 4.9.4."""
LAST: Final = 120
"""The last mutant of what a client asks for; those after it are about threads and files."""


def visible() -> list[str]:
    """Return the mutants, with variant letters, that a client could notice."""
    seen = [mutant for mutant in mutants() if mutant.id not in UNSEEN and int(mutant.id[2:]) <= LAST]
    return [mutant.id + letter for mutant in seen for letter in mutant.patches]


def chosen(count: int, seed: int) -> list[str]:
    """Draw `count` of them."""
    return sorted(random.Random(seed).sample(visible(), count))


class SeededFault(Served):
    """The implementation with a mutant, such as M-14a, in the name server and the brokers; "" means none."""

    def __init__(self, mutant: str, profile: str = "P494") -> None:
        super().__init__(profile)
        if mutant:
            self.name = f"{self.name} with {mutant}"
            self.command = (sys.executable, "-m", "serve_mutant", mutant, "serve", "--quiet")


@dataclass(frozen=True)
class Hunt:
    """Whether a mutant was found, by which judge, and after how many programs."""

    mutant: str
    found: bool
    programs: int
    by: str
    seconds: float


def hunt(mutant: str, programs: int, seed: int, *, profile: str = "P494", workers: int = 4) -> Hunt:
    """Validate the implementation with a mutant until a finding. Raises TargetError."""
    with tempfile.TemporaryDirectory() as folder:
        target, until = SeededFault(mutant, profile), attrgetter("findings")
        request = ValidationRequest(target, Path(folder) / "report", programs, seed, workers, shrink=0, until=until)
        report = validate(request)
    first = report.findings[0].verdict if report.findings else None
    said = "" if first is None else f"{first.judge}: {first.property}"
    if first is None and report.stopped:
        said = report.stopped
    return Hunt(mutant, bool(said), len(report.judged), said, report.seconds)
