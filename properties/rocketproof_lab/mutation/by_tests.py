"""Trial by tests: for each mutant run the tests with one of its ids, or all tests if it names none, until one fails.

Tests are collected once. They first run without a mutant. They must pass, and their duration and their calls of changed functions are
recorded. A mutant then runs only tests of files that call what it changes. Tests that call it themselves run first, quick tests before slow
ones. Results that a test takes from an earlier test are computed in the same file, so every test that could notice the mutant is included.
"""

from __future__ import annotations

import gc
import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

import pytest
from hypothesis import Phase, settings

from rocketproof_model import RocketproofError, interrupts
from rocketproof_properties.reports.choices import InputError

from .forks import FOREVER, ForkedTask, OutOfTime, limit_memory, needs_fork, run_forked
from .mutant import PatchedMutant
from .patch import Ready, prepare, probe
from .results import EQUIVALENT, KILLED, SURVIVED, UNDECIDED, MutantOutcome, MutantVerdict, ResultFormat
from .runner import RunLimits

PROFILE = "rocketproof-mutate"
# A project's own options are for other runs, such as several processes or a report. Nothing is printed here. The warning is
# irrelevant: it reports imported modules without rewritten assertions.
_QUIET = ("-o", "addopts=", "-p", "no:cacheprovider", "-p", "no:terminal", "--capture=no")
_OPTIONS = (*_QUIET, "-W", "ignore::pytest.PytestAssertRewriteWarning")
PATIENCE = 10.0
"""Minimum timeout of a test in seconds, however quick it is without a mutant."""
FORMAT: Final = ResultFormat(
    option="",
    noun="mutant",
    schema="",
    rows="",
    columns={
        **{name: name for name in ("id", "sentence")},
        "killed_by": "by",
        **{name: name for name in ("seconds", "equivalent")},
        "nearest_miss": "how",
        "verdict": "verdict",
    },
    words={
        KILLED: "a test failed",
        EQUIVALENT: "the same behaviour, for a reason",
        SURVIVED: "no test failed",
        UNDECIDED: "the run ended before",
    },
    styles={KILLED: "green", EQUIVALENT: "green", SURVIVED: "bold red", UNDECIDED: "bold yellow"},
)


def carried(item: pytest.Item) -> set[str]:
    """Return the ids of the rules, properties and hazards that a test is evidence for."""
    return {id_ for marker in item.iter_markers("behaviour") for id_ in marker.args}


@dataclass(frozen=True)
class TestEnd:
    """How a test ended. hung: it was killed after its timeout. lost: its process ended. `called`: calls of each changed function."""

    test: str
    outcome: Literal["passed", "skipped", "failed", "hung", "lost"]
    seconds: float
    called: Counter[str] = field(default_factory=Counter)
    why: str = ""  # the first line of a failed test's message

    @property
    def failed(self) -> bool:
        return self.outcome in ("failed", "hung", "lost")


@dataclass(eq=False)
class ForkedTests(ForkedTask):
    """The tests of one process, in this order, under a patch. `timeout`: the timeout of a test in seconds.

    `ran` grows as the tests end. With `stop` the process stops after the first failure. A hung or lost test always ends it.
    `temporary` is a folder for the tests' temporary files.
    """

    items: Sequence[pytest.Item]
    ready: Ready
    timeout: Callable[[str], float]
    stop: bool
    temporary: Path
    ran: list[TestEnd] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._test = self.items[0].nodeid

    def patience(self) -> float:
        return self.timeout(self._test)

    def receive(self, message: TestEnd | str) -> None:
        """Take the name of a test that begins, or how it ended."""
        if isinstance(message, TestEnd):
            self.ran.append(message)
        else:
            self._test = message

    def broke(self, how: Literal["hung", "lost"], seconds: float) -> None:
        self.ran.append(TestEnd(self._test, how, seconds))

    def work(self, send: Callable[[Any], None]) -> None:
        limit_memory()
        os.environ["PYTEST_DEBUG_TEMPROOT"] = str(self.temporary)
        reports = _Reports()
        self.items[0].config.pluginmanager.register(reports)
        called: Counter[str] = Counter()

        def reached(name: str) -> None:
            called[name] += 1

        with self.ready.applied(reached):
            for item, following in zip(self.items, [*self.items[1:], None], strict=True):
                send(item.nodeid)
                called.clear()
                reports.outcomes.clear()
                begun = time.monotonic()
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                outcomes = reports.outcomes
                outcome: Literal["failed", "skipped", "passed"]
                outcome = "failed" if "failed" in outcomes else "skipped" if "skipped" in outcomes else "passed"
                send(TestEnd(item.nodeid, outcome, time.monotonic() - begun, called, reports.why))
                if self.stop and outcome == "failed":
                    break


class _Reports:
    """Collects the reports of one test: setup, call, teardown."""

    def __init__(self) -> None:
        self.outcomes: set[str] = set()
        self.why = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.outcomes.add(report.outcome)
        if report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            self.why = str(getattr(crash, "message", "")).partition("\n")[0]


class TrialByTests:
    """Tries mutants with the tests in a folder or file. Also the pytest plugin that replaces the run of the collected tests."""

    format = FORMAT
    options: Mapping[str, Any] = {}

    def __init__(self, tests: Path) -> None:
        self._tests = tests
        self._mutants: Sequence[PatchedMutant] = ()
        self._variants: list[_Variant] = []
        self._limits: RunLimits | None = None
        self._raised: Exception | None = None
        self._begun = self._interrupted = False
        self._broken: list[str] = []

    def run(self, mutants: Sequence[PatchedMutant], limits: RunLimits) -> None:
        """Try the mutants. Raises PatchError for a patch that does not fit.

        Raises InputError if there are no tests, or some cannot be collected or fail without a mutant.
        """
        needs_fork()
        if not self._tests.exists():
            raise InputError(f"there are no tests at {self._tests}; give their folder with --tests")
        self._mutants, self._limits = mutants, limits
        code = pytest.main([str(self._tests), *_OPTIONS], plugins=[self])
        if self._raised is not None:
            raise self._raised
        if self._interrupted or (code == pytest.ExitCode.INTERRUPTED and not self._begun):
            raise KeyboardInterrupt
        if not self._begun:
            raise InputError(f"the tests at {self._tests} could not be collected; `pytest --collect-only {self._tests}` says why")

    def final(self, mutant: PatchedMutant, outcome: MutantOutcome | None, stopped: str) -> MutantOutcome:
        """Return the outcome of a mutant from those of its variants. It is killed if all variants are."""
        del outcome
        variants = [variant for variant in self._variants if variant.mutant is mutant]
        killers = {variant.letter: variant.killed_by() for variant in variants}
        missed = [variant for variant in variants if killers[variant.letter] is None]
        killed = bool(variants) and not missed
        texts = killers if killed else {variant.letter: variant.nearest_miss(stopped) for variant in missed}
        words = "; ".join(f"{letter}: {text}" if letter else str(text) for letter, text in texts.items())
        if not variants:
            words = f"not decided: stopped by {stopped}"
        verdict: MutantVerdict = EQUIVALENT if mutant.equivalent else SURVIVED
        if killed:
            verdict = KILLED
        elif not any(variant.done for variant in missed):
            verdict = UNDECIDED
        return MutantOutcome(
            mutant.id,
            verdict,
            by=words if killed else "",
            how="" if killed else words,
            seconds=sum(variant.seconds for variant in variants),
            more={"sentence": mutant.sentence, "equivalent": mutant.equivalent},
        )

    def deviations(self) -> None:
        """Return None: no test runs without a mutant for its own sake."""

    def pytest_sessionstart(self) -> None:
        """Use the same Hypothesis examples each time, without shrinking failures."""
        settings.register_profile(PROFILE, settings.get_profile("ci"), phases=(Phase.explicit, Phase.generate), print_blob=False)
        settings.load_profile(PROFILE)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._broken.append(report.nodeid)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self._begun = True
        try:
            if self._broken:
                raise InputError(f"{self._broken[0]} cannot be collected; `pytest --collect-only {self._broken[0]}` says why")
            self._run(session.items)
        except (RocketproofError, OutOfTime) as error:
            self._raised = error
        except KeyboardInterrupt:
            interrupts.heard()
            self._interrupted = True
        return True

    def _run(self, items: Sequence[pytest.Item]) -> None:
        self._variants = [
            _Variant(letter, mutant, prepare(patch), [item for item in items if _may_notice(item, mutant)])
            for mutant in self._mutants
            for letter, patch in mutant.variants().items()
        ]
        with ExitStack() as after:
            temporary = Path(after.enter_context(tempfile.TemporaryDirectory(prefix="rocketproof-", ignore_cleanup_errors=True)))
            gc.collect()
            gc.freeze()  # so that forked processes share the memory of existing objects
            after.callback(_unfreeze)
            self._try(self._unmutated(temporary), temporary)

    def _unmutated(self, temporary: Path) -> _UnmutatedRun:
        """Run the tests without a mutant. Raises InputError if some fail."""
        files: dict[Path, dict[str, pytest.Item]] = {}
        for item in (item for variant in self._variants for item in variant.carrying):
            files.setdefault(item.path, {})[item.nodeid] = item
        ready = probe([patch for mutant in self._mutants for patch in mutant.variants().values()])
        tasks = [
            ForkedTests(list(items.values()), ready, lambda test: FOREVER, stop=False, temporary=temporary) for items in files.values()
        ]
        baseline = _UnmutatedRun()
        for task in self._all("tests without a mutant, file", tasks):
            baseline.add(task)
        failing = [f"{ran.test} ({ran.why})" if ran.why else ran.test for ran in baseline.ran.values() if ran.failed]
        if failing:
            more = f" and {len(failing) - 3} more" if len(failing) > 3 else ""
            raise InputError(f"without any mutant {', '.join(failing[:3])}{more} failed, so they can find none; fix them first")
        return baseline

    def _try(self, baseline: _UnmutatedRun, temporary: Path) -> None:
        tasks: dict[ForkedTests, _Variant] = {}
        for variant in self._variants:
            variant.carrying = [item for item in variant.carrying if baseline.ran[item.nodeid].outcome == "passed"]
            items = baseline.tests_for(variant)
            if items:
                tasks[ForkedTests(items, variant.ready, baseline.timeout, stop=True, temporary=temporary)] = variant
            else:
                variant.done = True
        for task in self._all("mutants, run", list(tasks)):
            variant = tasks[task]
            variant.ran, variant.seconds, variant.done = task.ran, task.seconds, True

    def _all(self, activity: str, tasks: Sequence[ForkedTests]) -> Iterator[ForkedTests]:
        assert self._limits is not None
        with closing(run_forked(tasks, self._limits.workers, self._limits.deadline)) as ended:
            for done, task in enumerate(ended, 1):
                yield task
                self._limits.progress(activity, done, len(tasks))


def _unfreeze() -> None:
    """Undo `gc.freeze`, unless the process is about to end."""
    if not interrupts.came():
        gc.unfreeze()


def _may_notice(item: pytest.Item, mutant: PatchedMutant) -> bool:
    """Whether a test carries one of the mutant's ids. Every test may notice a mutant without ids."""
    return not mutant.killers or bool(carried(item) & set(mutant.killers))


@dataclass
class _Variant:
    """A variant of a mutant, the tests with its ids that are not skipped, and the results of the tests run under it."""

    letter: str
    mutant: PatchedMutant
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
        return f"{next((id_ for id_ in self.mutant.killers if id_ in carries), '')} {last.test}{how}".lstrip()

    def nearest_miss(self, stopped: str) -> str:
        ids = " or ".join(self.mutant.killers) or "any kind"
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

    def add(self, task: ForkedTests) -> None:
        """Add the tests of one file."""
        called = frozenset(name for ran in task.ran for name in ran.called)
        for ran in task.ran:
            self.ran[ran.test], self.seconds[ran.test], self.called[ran.test] = ran, task.seconds, called

    def tests_for(self, variant: _Variant) -> list[pytest.Item]:
        """Return the tests to run for a mutant, in order."""
        names, anywhere = variant.ready.names, bool(variant.ready.values)
        calling = [item for item in variant.carrying if anywhere or names & self.called[item.nodeid]]
        return sorted(calling, key=lambda item: self._order(self.ran[item.nodeid], names))

    def _order(self, ran: TestEnd, names: frozenset[str]) -> tuple[bool, int]:
        """Sort callers first, then quick tests. Similar durations count as equal, so that another run has the same order."""
        return not names & ran.called.keys(), int(4 * ran.seconds).bit_length()

    def timeout(self, test: str) -> float:
        """Return the timeout of a test in seconds: many times the duration of its whole file without a mutant."""
        return PATIENCE + 10 * self.seconds[test]
