"""The programs that changes are tried with, and the lines of the implementation that each program reaches.

The programs first run on the unchanged implementation, where they must find nothing. A change is tried only with programs that reach it. A
change that no program reaches cannot be noticed. Programs that let time pass run concurrently and share their lines, and so do programs
that run during background work. Their sets therefore contain every line they may have reached, and some more. Starts, and the checks after
the last program on a broker, are part of each trial: every program may notice a change that they reach.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Final

from rocketproof_properties.brokers.deployment import TargetError, setup_of
from rocketproof_properties.brokers.runs.parsed import load
from rocketproof_properties.judging.judging import judge_file
from rocketproof_properties.programs.coverplan import SOURCE, plan
from rocketproof_properties.programs.program import Program, ProgramOptions, generate
from rocketproof_properties.programs.settings import ENDED, stages
from rocketproof_properties.reports.choices import InputError
from rocketproof_properties.validation.report import HISTORIES, ValidationReport
from rocketproof_properties.validation.validate import CTRL_C, Progress, ValidationRequest, changeable, possible, validate

from .switched import WireMutant
from .target import Forked, Line

TOGETHER: Final = 16
"""Number of programs that let time pass and run at the same time."""
WARM: Final = 40
"""Number of histories judged before processes are forked, so that the judges' caches are shared."""


@dataclass
class Baseline:
    """`reached`: the lines that each program reaches, by its index. `shared`: the lines of starts, and of checks after the last program."""

    profile: str
    programs: Sequence[Program]
    reached: dict[int, frozenset[Line]] = field(default_factory=dict)
    shared: frozenset[Line] = frozenset()

    def programs_for(self, mutant: WireMutant) -> list[Program]:
        """Return the programs that can notice a change: first those that reach it. If it is among the shared lines, all others follow.
        Every program may notice a switch."""
        if mutant.lines is None:
            return list(self.programs)
        wanted = mutant.lines
        through = {place for place in range(len(self.programs)) if wanted & self.reached.get(place, frozenset())}
        places = sorted(range(len(self.programs)), key=lambda place: place not in through)
        return [self.programs[place] for place in places if place in through or wanted & self.shared]


def baseline(profile: str, count: int, seed: int, progress: Progress, *, cover: bool = False) -> Baseline:
    """Run the programs on the unchanged implementation. With `cover`, those of the transition cover follow.

    Raises InputError if they find something, TargetError if they do not run to their end, KeyboardInterrupt.
    """
    programs = generate(ProgramOptions(profile, count, seed, **possible(Forked.offers), **changeable(Forked.offers)))
    covering = plan(profile, seed, **possible(Forked.offers), only=()).programs if cover else ()
    base = Baseline(profile, [*programs, *covering])
    target = Forked(profile, traced=True)
    try:
        base.shared |= _started(target, base.programs)
        with tempfile.TemporaryDirectory(prefix="rocketproof-") as name:
            for waits in (False, True):
                places = [place for place, program in enumerate(base.programs) if program.waits == waits]
                if places:
                    _perform(target, base, Path(name) / f"waits-{waits}", places, progress, together=waits)
    finally:
        target.end()
    return base


def is_of_cover(program: Program) -> bool:
    """Return whether the program belongs to the transition cover."""
    return program.source.startswith(SOURCE)


def perform(
    target: Forked, folder: Path, programs: Sequence[Program], workers: int, seconds: float | None, progress: Progress
) -> ValidationReport:
    """Validate a target with these programs until the first finding. Raises TargetError if it cannot be set up."""
    request = ValidationRequest(
        target, folder, programs=0, workers=workers, seconds=seconds, shrink=0, remembered=programs, audits=True,
        until=attrgetter("findings"),
    )  # fmt: skip
    return validate(request, progress)


def _started(target: Forked, programs: Sequence[Program]) -> frozenset[Line]:
    """Return the lines that a start reaches with the settings of any program."""
    for stage in stages(program.needs for program in programs):
        target.open(setup_of(stage[0])).close()
    return target.lines()


def _perform(target: Forked, base: Baseline, folder: Path, places: Sequence[int], progress: Progress, *, together: bool) -> None:
    """Run some of the programs, concurrently or one after the other, and record their lines."""
    target.lines()
    closed, needs = target.closed, ""

    def done(what: str, number: int, of: int) -> None:
        nonlocal closed, needs
        del of
        progress("programs without a change", number, len(base.programs))
        if what == "program" and not together:
            program = load(max((folder / HISTORIES).glob("*.ndjson"))).program
            lines = base.reached[places[program.number - 1]] = target.lines()
            if target.closed != closed and not needs == program.needs == ENDED:  # the lines since the last program are those of checks too
                base.shared |= lines
            closed, needs = target.closed, program.needs

    report = perform(target, folder, [base.programs[place] for place in places], TOGETHER if together else 1, None, done)
    if report.stopped == CTRL_C:
        raise KeyboardInterrupt
    if report.open:
        raise InputError(f"without any change the programs find something: {report.open[0].verdict.text}; mend that first")
    if len(report.judged) < len(places):  # the others would count as programs that reach no line
        reason = report.stopped or "one of them showed something that did not come again"
        raise TargetError(f"without any change only {len(report.judged)} of {len(places)} programs were performed: {reason}; try again")
    if together:
        base.reached |= dict.fromkeys(places, target.lines())
    else:
        base.shared |= target.lines()
    for path in sorted((folder / HISTORIES).glob("*.ndjson"))[:WARM]:
        judge_file(path, base.profile)
