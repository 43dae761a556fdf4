"""Smaller programs that show the same finding, tried on the target itself under fresh names each time, within a time limit.

What a live target shows need not come again: a finding is first repeated, and one that does not always come is called so.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from rocketproof_profiles import PROFILES
from rocketproof_traces.checker.steps import SearchBound

from ..brokers.deployment import TargetError
from ..brokers.runs.runner import Runner
from ..judging.judging import EXPANDED, Judge, ProgramFinding, judge_file
from ..programs.boundaries import unread
from ..programs.pool import requests
from ..programs.program import Program
from ..programs.settings import ENDED, LEGAL, drawn_of, needs_of
from ..programs.shrink import shrink as smaller
from ..programs.shrink import simpler_steps
from ..programs.vocabulary import Step

REPEATS: Final = 3


@dataclass(frozen=True)
class Smallest:
    """The smallest program found, what it shows, and how often the program as it was first showed it again."""

    program: Program
    verdict: ProgramFinding
    path: Path
    again: int
    repeats: int
    tries: int


def shrink(
    runner: Runner,
    folder: Path,
    program: Program,
    verdict: ProgramFinding,
    path: Path,
    profile: str,
    seconds: float,
    renew: Callable[[], None] | None = None,
    bound: SearchBound = EXPANDED,
) -> Smallest:
    """Repeat a finding, then leave out steps and arguments as long as it comes. `renew` gives the runner a new broker, of programs that may
    leave behind what cannot be read. Raises Gone when the broker is."""
    search = _Search(runner, folder, program, verdict, profile, time.monotonic() + seconds, renew, bound)
    found = Smallest(program, verdict, path, 0, 0, 0)
    repeats = 0
    again = 0
    while repeats < REPEATS and not search.over:
        repeats += 1
        again += search.breaks(program.steps) is not None
    if again:
        smaller(program.steps, verdict.text, search.breaks, simpler=simpler_steps)
        if search.best is not None:
            found = search.best
    return replace(found, again=again, repeats=repeats, tries=search.tries)


def fewer_settings(
    found: Smallest,
    under: Callable[[str], AbstractContextManager[Runner]],
    folder: Path,
    profile: str,
    seconds: float,
    bound: SearchBound = EXPANDED,
) -> Smallest:
    """Leave out settings that were drawn for a program as long as its finding comes, first those that a running broker takes over: for
    the others `under`, which gives a runner of brokers with such settings, has to start brokers. A broker that does not start shows
    nothing."""
    end = time.monotonic() + seconds
    best = found

    def shows(fixed: Mapping[str, str], some: Sequence[tuple[str, str]]) -> str | None:
        nonlocal best
        program = replace(found.program, needs=needs_of({**fixed, **dict(some)}))
        if time.monotonic() > end:
            return None
        try:
            with under(program.needs) as runner:
                search = _Search(runner, folder, program, found.verdict, profile, end, bound=bound)
                search.breaks(program.steps)
        except TargetError:
            return None
        tries = best.tries + search.tries
        if search.best is None:
            best = replace(best, tries=tries)
            return None
        best.path.unlink()
        best = replace(best, program=program, verdict=search.best.verdict, path=search.best.path, tries=tries)
        return best.verdict.text

    for start in (False, True):
        settings = drawn_of(best.program.needs)
        fixed = {name: value for name, value in settings.items() if LEGAL[name].start is not start}
        smaller([*(settings.items() - fixed.items())], best.verdict.text, partial(shows, fixed))
    return best


class _Search:
    def __init__(
        self,
        runner: Runner,
        folder: Path,
        program: Program,
        verdict: ProgramFinding,
        profile: str,
        end: float,
        renew: Callable[[], None] | None = None,
        bound: SearchBound = EXPANDED,
    ) -> None:
        self._runner, self._folder, self._program, self._verdict, self._profile = runner, folder, program, verdict, profile
        self._end = end
        self._renew, self._bound = renew, bound
        self._left = True
        """Whether what the last program stored may still be there: a start behind a crash cuts off what it cannot read."""
        self.tries = 0
        self.best: Smallest | None = None

    @property
    def over(self) -> bool:
        return time.monotonic() > self._end

    def breaks(self, steps: Sequence[Step]) -> str | None:
        """What the program of these steps shows of the same property; None also when the time is over."""
        if self.over or not steps or self._harms(steps):
            return None
        program = replace(self._program, steps=tuple(steps))
        if self._verdict.at and self._shown(program) is None:
            return None  # a fault of the connection comes by chance too, and hardly twice
        found = self._shown(program)
        if found is None:
            return None
        path, verdict = found
        if self.best is not None and self.best.path != path and self.best.path.exists():
            self.best.path.unlink()
        self.best = Smallest(program, verdict, path, 0, 0, self.tries)
        return verdict.text

    def _harms(self, steps: Sequence[Step]) -> bool:
        """Whether a broker that others use too may store what it cannot read again."""
        profile = PROFILES[self._profile]
        return self._program.needs != ENDED and any(unread(sent) for sent in requests(steps, profile))

    def _shown(self, program: Program) -> tuple[Path, ProgramFinding] | None:
        """The history of the program, and what it shows of the same property."""
        self.tries += 1
        if self._renew is not None and self._left:  # a finding would be one of the program before
            self._renew()
        self._left = program.steps[-1][0] != "crash"
        path = self._runner.perform(program, self._folder)
        judges: tuple[Judge, ...] = (self._verdict.judge,)
        same = judge_file(path, self._profile, judges, self._bound).alike(self._verdict)
        if not same:
            path.unlink()
            return None
        return path, same[0]
