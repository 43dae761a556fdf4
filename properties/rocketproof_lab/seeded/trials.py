"""Try mutants: for each mutant run the tests with one of its ids, or all tests if it names none, until one fails.

Tests are collected once. They first run without a mutant. They must pass, and their duration and their calls of changed functions are
recorded. A mutant then runs only tests of files that call what it changes. Tests that call it themselves run first, quick tests before slow
ones. Results that a test takes from an earlier test are computed in the same file, so every test that could notice the mutant is included.
"""

from __future__ import annotations

import gc
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, settings

from rocketproof_model import RocketproofError, interrupts
from rocketproof_properties.reports.choices import InputError
from rocketproof_properties.reports.exitcode import exit_code

from .forks import FOREVER, ForkedTests, TestEnd, run
from .patch import Ready, prepare, probe
from .plugin import carried
from .registry import SeededMutant

PROFILE = "rocketproof-mutate"
# A project's own options are for other runs, such as several processes or a report. Nothing is printed here. The warning is
# irrelevant: it reports imported modules without rewritten assertions.
_QUIET = ("-o", "addopts=", "-p", "no:cacheprovider", "-p", "no:terminal", "--capture=no")
_OPTIONS = (*_QUIET, "-W", "ignore::pytest.PytestAssertRewriteWarning")
CTRL_C, TIME = "Ctrl-C", "the time limit"
PATIENCE = 10.0
"""Minimum timeout of a test in seconds, however quick it is without a mutant."""


@dataclass(frozen=True)
class SeededResult:
    """The result of a mutant. `killed_by` is None if no test failed. `nearest_miss` then states what was tried."""

    id: str
    sentence: str
    killed_by: str | None
    seconds: float
    equivalent: str
    nearest_miss: str | None
    decided: bool = True

    @property
    def verdict(self) -> str:
        """killed, survived, equivalent (survived for a known reason) or undecided."""
        if self.killed_by is not None:
            return "killed"
        return "undecided" if not self.decided else "equivalent" if self.equivalent else "survived"

    def record(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "sentence": self.sentence,
            "killed_by": self.killed_by,
            "seconds": round(self.seconds, 3),
            "equivalent": self.equivalent or None,
            "nearest_miss": self.nearest_miss,
            "verdict": self.verdict,
        }


@dataclass
class SeededReport:
    """The results in the mutants' order. `stopped`: what ended the run early, '' if nothing did."""

    rows: list[SeededResult] = field(default_factory=list)
    stopped: str = ""
    seconds: float = 0.0

    @property
    def exit_code(self) -> int:
        """1 if a mutant survived, otherwise 3 if one is undecided, otherwise 0."""
        verdicts = {row.verdict for row in self.rows}
        return exit_code(findings="survived" in verdicts, undecided="undecided" in verdicts)


def mutate(
    mutants: Sequence[SeededMutant], tests: Path, workers: int, seconds: float | None, progress: Callable[[str, int, int], None]
) -> SeededReport:
    """Try the mutants with the tests in a folder or file on `workers` processes for at most `seconds`.

    `progress` gets the activity, the number done and the total. Raises PatchError for a patch that does not fit. Raises InputError if there
    are no tests, or some cannot be collected or fail without a mutant.
    """
    begun = time.monotonic()
    if not hasattr(os, "fork"):
        raise InputError("mutants are tried in forked processes, which this system does not have; use Linux or macOS")
    if not tests.exists():
        raise InputError(f"there are no tests at {tests}; give their folder with --tests")
    trials = _Trials(mutants, workers, FOREVER if seconds is None else begun + seconds, progress)
    code = pytest.main([str(tests), *_OPTIONS], plugins=[trials])
    if trials.error is not None:
        raise trials.error
    if code == pytest.ExitCode.INTERRUPTED and not trials.begun:
        raise KeyboardInterrupt
    if not trials.begun:
        raise InputError(f"the tests at {tests} could not be collected; `pytest --collect-only {tests}` says why")
    trials.report.seconds = time.monotonic() - begun
    return trials.report


class _Trials:
    """A pytest plugin that replaces the run of the collected tests."""

    def __init__(self, mutants: Sequence[SeededMutant], workers: int, until: float, progress: Callable[[str, int, int], None]) -> None:
        self.mutants, self.workers, self.until, self.progress = mutants, workers, until, progress
        self.report = SeededReport()
        self.error: RocketproofError | None = None
        self.begun = False
        self.broken: list[str] = []

    def pytest_sessionstart(self) -> None:
        """Use the same Hypothesis examples each time, without shrinking failures."""
        settings.register_profile(PROFILE, settings.get_profile("ci"), phases=(Phase.explicit, Phase.generate), print_blob=False)
        settings.load_profile(PROFILE)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.broken.append(report.nodeid)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.begun = True
        try:
            if self.broken:
                raise InputError(f"{self.broken[0]} cannot be collected; `pytest --collect-only {self.broken[0]}` says why")
            self._run(session.items)
        except RocketproofError as error:
            self.error = error
        return True

    def _run(self, items: Sequence[pytest.Item]) -> None:
        trials = [
            _Trial(letter, mutant, prepare(patch), [item for item in items if _may_notice(item, mutant)])
            for mutant in self.mutants
            for letter, patch in mutant.patches.items()
        ]
        with ExitStack() as after:
            temporary = Path(after.enter_context(tempfile.TemporaryDirectory(prefix="rocketproof-", ignore_cleanup_errors=True)))
            gc.collect()
            gc.freeze()  # so that children share the memory of existing objects
            after.callback(_unfreeze)
            try:
                baseline = self._unmutated(trials, temporary)
                self._try(trials, baseline, temporary)
            except _TimeOver:
                self.report.stopped = TIME
            except KeyboardInterrupt:
                interrupts.heard()
                self.report.stopped = CTRL_C
        self.report.rows = [_row(m, [t for t in trials if t.mutant is m], self.report.stopped) for m in self.mutants]

    def _unmutated(self, trials: Sequence[_Trial], temporary: Path) -> _UnmutatedRun:
        """Run the tests without a mutant. Raises InputError if some fail."""
        files: dict[Path, dict[str, pytest.Item]] = {}
        for item in (item for trial in trials for item in trial.carrying):
            files.setdefault(item.path, {})[item.nodeid] = item
        ready = probe([patch for mutant in self.mutants for patch in mutant.patches.values()])
        jobs = [ForkedTests(list(items.values()), ready, lambda test: FOREVER, stop=False) for items in files.values()]
        baseline = _UnmutatedRun()
        for job in self._all("tests without a mutant, file", jobs, temporary):
            baseline.add(job)
        failing = [f"{ran.test} ({ran.why})" if ran.why else ran.test for ran in baseline.ran.values() if ran.failed]
        if failing:
            more = f" and {len(failing) - 3} more" if len(failing) > 3 else ""
            raise InputError(f"without any mutant {', '.join(failing[:3])}{more} failed, so they can find none; fix them first")
        return baseline

    def _try(self, trials: Sequence[_Trial], baseline: _UnmutatedRun, temporary: Path) -> None:
        jobs: dict[ForkedTests, _Trial] = {}
        for trial in trials:
            trial.carrying = [item for item in trial.carrying if baseline.ran[item.nodeid].outcome == "passed"]
            items = baseline.tests_for(trial)
            if items:
                jobs[ForkedTests(items, trial.ready, baseline.patience, stop=True)] = trial
            else:
                trial.done = True
        for job in self._all("mutants, run", list(jobs), temporary):
            trial = jobs[job]
            trial.ran, trial.seconds, trial.done = job.ran, job.seconds, True

    def _all(self, activity: str, jobs: Sequence[ForkedTests], temporary: Path) -> Iterator[ForkedTests]:
        done = 0
        with closing(run(jobs, self.workers, self.until, temporary)) as ended:
            for done, job in enumerate(ended, 1):
                yield job
                self.progress(activity, done, len(jobs))
        if done < len(jobs):
            raise _TimeOver


def _unfreeze() -> None:
    """Undo `gc.freeze`, unless the process is about to end."""
    if not interrupts.came():
        gc.unfreeze()


def _may_notice(item: pytest.Item, mutant: SeededMutant) -> bool:
    """Whether a test carries one of the mutant's ids. Every test may notice a mutant without ids."""
    return not mutant.row.killers or bool(carried(item) & set(mutant.row.killers))


class _TimeOver(Exception):
    """The time limit is reached."""


@dataclass
class _Trial:
    """A variant of a mutant, the tests with its ids that are not skipped, and the results of the tests run under it."""

    letter: str
    mutant: SeededMutant
    ready: Ready
    carrying: Sequence[pytest.Item]
    ran: Sequence[TestEnd] = ()
    seconds: float = 0.0
    done: bool = False

    def killed_by(self) -> str | None:
        if not self.ran or not self.ran[-1].failed:
            return None
        last = self.ran[-1]
        carries = next(carried(item) for item in self.carrying if item.nodeid == last.test)
        how = {"hung": " (it did not end)", "lost": " (its process ended)"}.get(last.outcome, "")
        return f"{next((id_ for id_ in self.mutant.row.killers if id_ in carries), '')} {last.test}{how}".lstrip()

    def nearest_miss(self, stopped: str) -> str:
        ids = " or ".join(self.mutant.row.killers) or "any kind"
        if not self.done:
            return f"not decided: stopped by {stopped}"
        if not self.carrying:
            return f"no test that carries {ids} is run"
        count = f"{len(self.carrying)} test{'' if len(self.carrying) == 1 else 's'} of {ids}"
        if not self.ran:
            return f"none of {count} calls what is changed"
        nearest = max(self.ran, key=lambda ran: ran.called.total())
        if self.ready.values and not nearest.called:
            return f"passed {len(self.ran)} of {count}, the first was {nearest.test}"
        callers = sum(1 for ran in self.ran if ran.called)
        if not callers:
            return f"none of {count} calls what is changed"
        return f"passed {count}; {callers} called what is changed, most often ({nearest.called.total()} times) {nearest.test}"


@dataclass
class _UnmutatedRun:
    """Each test's result without a mutant, the duration of its file in seconds, and the changed functions its file calls."""

    ran: dict[str, TestEnd] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    called: dict[str, frozenset[str]] = field(default_factory=dict)

    def add(self, job: ForkedTests) -> None:
        """Add the tests of one file."""
        called = frozenset(name for ran in job.ran for name in ran.called)
        for ran in job.ran:
            self.ran[ran.test], self.seconds[ran.test], self.called[ran.test] = ran, job.seconds, called

    def tests_for(self, trial: _Trial) -> list[pytest.Item]:
        """Return the tests to run for a mutant, in order."""
        names, anywhere = trial.ready.names, bool(trial.ready.values)
        calling = [item for item in trial.carrying if anywhere or names & self.called[item.nodeid]]
        return sorted(calling, key=lambda item: self._order(self.ran[item.nodeid], names))

    def _order(self, ran: TestEnd, names: frozenset[str]) -> tuple[bool, int]:
        """Sort callers first, then quick tests. Similar durations count as equal, so that another run has the same order."""
        return not names & ran.called.keys(), int(4 * ran.seconds).bit_length()

    def patience(self, test: str) -> float:
        """Return the timeout of a test in seconds: many times the duration of its whole file without a mutant."""
        return PATIENCE + 10 * self.seconds[test]


def _row(mutant: SeededMutant, trials: Sequence[_Trial], stopped: str) -> SeededResult:
    killers = {trial.letter: trial.killed_by() for trial in trials}
    killed = all(killers.values())
    missed = [trial for trial in trials if killers[trial.letter] is None]
    texts = killers if killed else {trial.letter: trial.nearest_miss(stopped) for trial in missed}
    words = "; ".join(f"{letter}: {text}" if letter else str(text) for letter, text in texts.items())
    return SeededResult(
        mutant.row.id,
        mutant.row.sentence,
        words if killed else None,
        sum(trial.seconds for trial in trials),
        mutant.row.equivalent,
        None if killed else words,
        decided=killed or any(trial.done for trial in missed),
    )
