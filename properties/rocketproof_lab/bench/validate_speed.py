"""Measure `rocketproof validate`: programs per minute, and the CPU-seconds of harness, judge and target.

The programs have no settings of their own. Judging in this process alternates with judging in other processes, each on a new target.
"""

from __future__ import annotations

import os
import resource
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from rocketproof_properties.brokers.address import AddressTarget
from rocketproof_properties.brokers.deployment import TargetError, ValidationTarget
from rocketproof_properties.brokers.processes import Processes
from rocketproof_properties.judging.apart import WORTHWHILE, judges_for
from rocketproof_properties.programs.parts import NAME_SERVER
from rocketproof_properties.validation.validate import ValidationRequest, validate

from .figures import Bench, FigureColumn, FigureTable, Tell, benchmark
from .usage import own_seconds

TABLE = FigureTable(
    (
        FigureColumn("target", "target"), FigureColumn("judges", "judges", "d"), FigureColumn("programs", "programs", "d"),
        FigureColumn("programs a minute", "programs_per_minute", ",.0f"), FigureColumn("harness, CPU s per 100", "harness", ".1f"),
        FigureColumn("judge", "judge", ".1f"), FigureColumn("target", "target_cpu", ".1f"), FigureColumn("findings", "findings", "d"),
        FigureColumn("load", "load", ".1f"),
    ),
    ("wall_seconds",),
)  # fmt: skip


@benchmark
def measure(target: ValidationTarget, *, programs: int, seed: int, rounds: int, tell: Tell) -> Iterator[Bench]:
    """Return rows of TABLE. CPU-seconds are per 100 programs; `load` is the machine's load at the end.

    The judges' start counts for them. Raises TargetError if the target cannot be started in processes.
    """
    for number in range(rounds):
        for judges in (0, judges_for(max(programs, WORTHWHILE))):
            tell(f"round {number + 1}: {target.name}, {f'{judges} other processes judge' if judges else 'this process judges'}")
            yield turn(target, programs, seed, judges)


def turn(target: ValidationTarget, programs: int, seed: int, judges: int) -> Bench:
    """Measure one validation."""
    with target.open() as running, tempfile.TemporaryDirectory() as folder:
        if not isinstance(running, Processes) or running.name_server is None:
            raise TargetError(f"{target.name} does not run in processes of its own; measure served or apache:VERSION")
        parts = (*running.brokers, NAME_SERVER)

        def spent() -> tuple[float, float, float]:
            children = resource.getrusage(resource.RUSAGE_CHILDREN)
            of_target = sum(own_seconds(running.pid(part)) or 0.0 for part in parts)
            return time.process_time(), children.ru_utime + children.ru_stime, of_target

        address = AddressTarget([running.name_server], profile=target.profile)
        request = ValidationRequest(address, Path(folder) / "report", programs, seed, shrink=0, judges=judges)
        before, began = spent(), time.perf_counter()
        report = validate(request)
        wall = time.perf_counter() - began
        own, others, of_target = (after - earlier for after, earlier in zip(spent(), before, strict=True))
    count = len(report.judged)
    if not count:
        raise TargetError(f"{target.name} performed no program: {report.stopped}")
    here = 0.0 if judges else report.judging_seconds
    figures = {
        "target": target.name, "judges": judges, "programs": count, "programs_per_minute": count * 60 / wall,
        "harness": (own - here) * 100 / count, "judge": (others + here) * 100 / count, "target_cpu": of_target * 100 / count,
        "findings": len(report.findings), "load": os.getloadavg()[0], "wall_seconds": wall,
    }  # fmt: skip
    return TABLE.row(figures)
