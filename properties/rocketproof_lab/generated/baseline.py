"""The programs that changes are tried with, and which of them goes through which lines of the implementation.

They are performed once on the implementation as it is, where nothing may be found. A change is tried with those programs only that go
through it; what no program reaches, none can notice. Programs that let time pass run at the same time and share their lines, and so do
those that run while something is done now and then: each has all lines that it may have gone through, and some more.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Final

from rocketproof_properties.brokers.deployment import TargetError
from rocketproof_properties.brokers.runs.parsed import load
from rocketproof_properties.judging.judging import judge_file
from rocketproof_properties.programs.program import Program, ProgramOptions, generate
from rocketproof_properties.reports.choices import InputError
from rocketproof_properties.validation.report import HISTORIES, ValidationReport
from rocketproof_properties.validation.validate import CTRL_C, Progress, ValidationRequest, possible, validate

from .switched import Tried
from .target import Forked, Line

TOGETHER: Final = 16
"""Programs that let time pass, and run at a time."""
WARM: Final = 40
"""Histories that are judged before processes are forked, which then have what the judges compute once."""


@dataclass
class Baseline:
    """`reached`: for each program, by its place, the lines that it goes through; `started` the lines of starts."""

    profile: str
    programs: Sequence[Program]
    reached: dict[int, frozenset[Line]] = field(default_factory=dict)
    started: frozenset[Line] = frozenset()

    def worth(self, change: Tried) -> list[Program]:
        """The programs that can notice a change: those that go through it, and behind them, for what is done at a start, all others: they
        find the broker as that has left it. Any may notice a switch."""
        if change.lines is None:
            return list(self.programs)
        wanted = change.lines
        through = {place for place in range(len(self.programs)) if wanted & self.reached.get(place, frozenset())}
        places = sorted(range(len(self.programs)), key=lambda place: place not in through)
        return [self.programs[place] for place in places if place in through or wanted & self.started]


def baseline(profile: str, count: int, seed: int, progress: Progress) -> Baseline:
    """Perform the programs on the implementation as it is.

    Raises InputError if they find something, TargetError if they are not performed to their end, KeyboardInterrupt.
    """
    made = Baseline(profile, generate(ProgramOptions(profile, count, seed, **possible(Forked.offers))))
    target = Forked(profile, traced=True)
    try:
        with tempfile.TemporaryDirectory(prefix="rocketproof-") as name:
            for waits in (False, True):
                places = [place for place, one in enumerate(made.programs) if one.waits == waits]
                if places:
                    _perform(target, made, Path(name) / f"waits-{waits}", places, progress, together=waits)
    finally:
        target.end()
    return made


def perform(
    target: Forked, folder: Path, programs: Sequence[Program], workers: int, seconds: float | None, progress: Progress
) -> ValidationReport:
    """Validate a target with these programs up to the first finding. Raises TargetError where it cannot be set up."""
    request = ValidationRequest(
        target, folder, programs=0, workers=workers, seconds=seconds, shrink=0, remembered=programs, audits=True,
        until=attrgetter("findings"),
    )  # fmt: skip
    return validate(request, progress)


def _perform(target: Forked, made: Baseline, folder: Path, places: Sequence[int], progress: Progress, *, together: bool) -> None:
    """Perform some of the programs, all at once or one after the other, and note their lines."""
    target.lines()

    def done(what: str, number: int, of: int) -> None:
        del of
        progress("programs without a change", number, len(made.programs))
        if what == "program" and not together:
            path = max((folder / HISTORIES).glob("*.ndjson"))
            made.reached[places[load(path).program.number - 1]] = target.lines()

    found = perform(target, folder, [made.programs[place] for place in places], TOGETHER if together else 1, None, done)
    if found.stopped == CTRL_C:
        raise KeyboardInterrupt
    if found.open:
        raise InputError(f"without any change the programs find something: {found.open[0].verdict.text}; mend that first")
    if len(found.judged) < len(places):  # the others would pass for programs that reach no line
        why = found.stopped or "one of them showed something that did not come again"
        raise TargetError(f"without any change only {len(found.judged)} of {len(places)} programs were performed: {why}; try again")
    if together:
        lines = target.lines()
        made.reached |= dict.fromkeys(places, lines)
    made.started |= target.started
    for path in sorted((folder / HISTORIES).glob("*.ndjson"))[:WARM]:
        judge_file(path, made.profile)
