"""Shrink the program of a finding on the target, with new names for each attempt, within a time limit.

A live target may not show a finding again. Therefore the program is repeated first, and a finding that is not always reproduced is reported
as such.
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
from ..judging.judging import judge_file
from ..judging.specification import EXPANDED
from ..judging.verdicts import Judge, ProgramFinding
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
    """The smallest program found, its verdict, and how often the original program showed the finding again."""

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
    """Repeat a finding, then remove steps and arguments while the finding is reproduced.

    `renew` gives the runner a new broker, for programs that may leave unreadable data. Raises Gone if the broker is gone.
    """
    search = _Search(runner, folder, program, verdict, profile, time.monotonic() + seconds, renew, bound)
    smallest = Smallest(program, verdict, path, 0, 0, 0)
    repeats = 0
    again = 0
    while repeats < REPEATS and not search.over:
        repeats += 1
        again += search.breaks(program.steps) is not None
    if again:
        smaller(program.steps, verdict.text, search.breaks, simpler=simpler_steps)
        if search.best is not None:
            smallest = search.best
    return replace(smallest, again=again, repeats=repeats, tries=search.tries)


def fewer_settings(
    original: Smallest,
    under: Callable[[str], AbstractContextManager[Runner]],
    folder: Path,
    profile: str,
    seconds: float,
    bound: SearchBound = EXPANDED,
) -> Smallest:
    """Remove settings that were chosen for a program while its finding is reproduced.

    Settings that a running broker accepts are removed first. For the others, `under` starts brokers with such settings and returns a
    runner. A broker that does not start shows nothing.
    """
    end = time.monotonic() + seconds
    best = original

    def shows(fixed: Mapping[str, str], kept_settings: Sequence[tuple[str, str]]) -> str | None:
        nonlocal best
        program = replace(original.program, needs=needs_of({**fixed, **dict(kept_settings)}))
        if time.monotonic() > end:
            return None
        try:
            with under(program.needs) as runner:
                search = _Search(runner, folder, program, original.verdict, profile, end, bound=bound)
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
        """Whether data of the last program may still be stored: a restart after a crash removes what it cannot read."""
        self.tries = 0
        self.best: Smallest | None = None

    @property
    def over(self) -> bool:
        return time.monotonic() > self._end

    def breaks(self, steps: Sequence[Step]) -> str | None:
        """Return the text of the same finding for the program of these steps; None if it is not shown or the time is over."""
        if self.over or not steps or self._harms(steps):
            return None
        program = replace(self._program, steps=tuple(steps))
        if self._verdict.at and self._shown(program) is None:
            return None  # a random fault of the connection hardly occurs twice
        shown = self._shown(program)
        if shown is None:
            return None
        path, verdict = shown
        if self.best is not None and self.best.path != path and self.best.path.exists():
            self.best.path.unlink()
        self.best = Smallest(program, verdict, path, 0, 0, self.tries)
        return verdict.text

    def _harms(self, steps: Sequence[Step]) -> bool:
        """Return whether the program could store unreadable data on a broker that others use too."""
        profile = PROFILES[self._profile]
        return self._program.needs != ENDED and any(unread(sent) for sent in requests(steps, profile))

    def _shown(self, program: Program) -> tuple[Path, ProgramFinding] | None:
        """Run the program. Return its history, and its finding about the same property; None if it has none."""
        self.tries += 1
        if self._renew is not None and self._left:  # otherwise the previous program could cause the finding
            self._renew()
        self._left = program.steps[-1][0] != "crash"
        path = self._runner.perform(program, self._folder)
        judges: tuple[Judge, ...] = (self._verdict.judge,)
        same = judge_file(path, self._profile, judges, self._bound).alike(self._verdict)
        if not same:
            path.unlink()
            return None
        return path, same[0]
