"""The verdict matrix: group tasks into units of work, decide the units, and compare the rows with the expected verdicts.

Nothing is printed here; a listener is notified of the progress. If a run is stopped by a limit, Ctrl-C or a failing engine, the rows
decided so far are kept. The others are `unknown` with the reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from rocketproof_model import Guard, interrupts
from rocketproof_model.result import INTERRUPTED, TIME, Coverage, Limits, Progress, Watch
from rocketproof_protocol.numbers import whole_number
from rocketproof_traces.spark.cluster import SparkCluster

from ...reports.exitcode import exit_code
from . import memory, processes, witnessfiles
from .decide import decide
from .plan import ENGINES, CheckTask
from .rows import VerdictRow, contradictions, settle, undecided
from .units import PROGRAMS, Budget, Unit, UnitResult
from .verdictcache import VerdictCache


@dataclass(frozen=True)
class Gap:
    """An action or an answer of a guard that no run of a profile exercised. For an action, `guard` is the guard that disabled it."""

    profile: str
    action: str
    guard: str
    sentence: str
    missing: str


@dataclass
class CheckReport:
    """All rows of a run in the order of the plan, with coverage and errors.

    - `covered`: for each profile, how many actions happened, and of how many.
    - `coverage`: the full coverage by profile; `guards` by action and name, and the sentences of `actions`.
    - `broken`: the tasks whose units had problems.
    - `faults`: errors of a user's model, one line each.
    """

    rows: list[VerdictRow] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    covered: dict[str, tuple[int, int]] = field(default_factory=dict)
    coverage: dict[str, Coverage] = field(default_factory=dict)
    guards: dict[tuple[str, str], Guard] = field(default_factory=dict)
    actions: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    broken: set[CheckTask] = field(default_factory=set)
    seconds: float = 0.0
    interrupted: bool = False
    faults: list[str] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        differing = [row for row in self.rows if row.agrees is False or row.vacuous]
        undecided = self.interrupted or any(row.agrees is None for row in self.rows)
        return exit_code(findings=self.problems or differing, undecided=undecided, unreadable=self.faults)


class RunListener(Protocol):
    """Is notified of a run's progress.

    In `begin`, `number` is the 1-based number of the unit, `of` the number of all units. `decided` receives the verdicts of a unit.
    """

    def begin(self, number: int, of: int, unit: Unit) -> None: ...

    def progress(self, unit: Unit, at: Progress) -> None: ...

    def decided(self, rows: Sequence[VerdictRow]) -> None: ...


@dataclass(frozen=True)
class Settings:
    """How to run a check.

    - `seconds`: limit of the whole run. `fair`: each unit gets at most an equal share of the remaining seconds, instead of all of them.
    - `memory`: limit in bytes of all engines' arrays together.
    - `first`: rows, as `memory.key`, whose units are decided before the others.
    - `checkpoint`: folder in which searches save their progress; they may write `disk` bytes of states there.
    - `certificates`: folder for proofs.
    - `cache`: verdicts of earlier runs.
    """

    seconds: float | None = None
    memory: int | None = None
    workers: int = 1
    seed: int = 0
    programs: int = PROGRAMS
    fair: bool = False
    cluster: SparkCluster = SparkCluster()
    symmetry: bool = True
    witnesses: Path = witnessfiles.DEFAULT_FOLDER
    first: frozenset[tuple[str, ...]] = frozenset()
    checkpoint: Path | None = None
    disk: int | None = None
    certificates: Path | None = None
    cache: VerdictCache | None = None


def units(tasks: Sequence[CheckTask], witnesses: Path, first: frozenset[tuple[str, ...]] = frozenset()) -> list[Unit]:
    """Group the tasks by instance and engine, in the order of their first tasks. Units with a task of `first` are at the front."""
    paths = witnessfiles.paths(witnesses, tasks)
    groups: dict[tuple[Any, ...], list[CheckTask]] = {}
    for task in tasks:
        groups.setdefault((task.engine, task.source.key), []).append(task)
    grouped = [Unit(g[0].source, g[0].engine, tuple(g), tuple(paths[t] for t in g)) for g in groups.values()]
    return sorted(grouped, key=lambda unit: (not any(memory.key(task) in first for task in unit.tasks), ENGINES.index(unit.engine)))


def run(tasks: Sequence[CheckTask], listener: RunListener, settings: Settings = Settings()) -> CheckReport:
    """Decide the tasks and judge the rows. Raises RocketproofError if a model file is wrong or a file cannot be written."""
    work = _Run(units(tasks, settings.witnesses, settings.first), listener, settings)
    try:
        work.all()
    except KeyboardInterrupt:
        interrupts.heard()
        work.interrupted = True
    reason = INTERRUPTED if work.interrupted else TIME
    rows = settle([work.rows.get(task) or undecided(task, reason) for task in tasks])
    report = CheckReport(rows, seconds=work.watch.seconds, interrupted=work.interrupted)
    report.problems, report.broken = [*work.problems, *contradictions(rows)], work.broken
    report.faults = list(dict.fromkeys(work.faults))
    report.coverage, report.guards, report.actions = work.coverage, work.guards, work.actions
    for label, coverage in work.coverage.items():
        report.covered[label] = (sum(1 for n in coverage.taken.values() if n), len(coverage.taken))
        report.gaps += gaps(label, coverage, work.guards)
    return report


class _Run:
    """The state of one run: rows by task, coverage by profile."""

    def __init__(self, units: list[Unit], listener: RunListener, settings: Settings) -> None:
        self.units, self.listener, self.settings = units, listener, settings
        self.watch = Watch(Limits(seconds=settings.seconds))
        self.processes = 1
        self.begun = 0
        self.rows: dict[CheckTask, VerdictRow] = {}
        self.coverage: dict[str, Coverage] = {}
        self.guards: dict[tuple[str, str], Guard] = {}
        self.actions: dict[str, str] = {}
        self.problems: list[str] = []
        self.broken: set[CheckTask] = set()
        self.faults: list[str] = []
        self.interrupted = False

    def all(self) -> None:
        undecided_units = [unit for unit in self.units if not self.known(unit)]
        cache = self.settings.cache
        work = decide if cache is None else cache.decide
        if processes.available(undecided_units, self.settings.workers):
            self.processes = min(self.settings.workers, len(undecided_units))
            processes.run(undecided_units, self.processes, work, self.budget, self.begin, self.listener.progress, self.done)
            return
        for unit in undecided_units:
            budget = self.budget()
            if budget is None:
                return
            self.begin(unit)

            def progress(at: Progress, unit: Unit = unit) -> None:
                self.listener.progress(unit, at)

            self.done(unit, work(unit, budget, progress))

    def known(self, unit: Unit) -> bool:
        """Take a unit's verdicts from the cache. Return False if some are missing or the model would have to be built to look them up."""
        cache = self.settings.cache
        if cache is None or cache.fresh or not unit.source.is_cached:
            return False
        answer = cache.answer(unit, self.settings.certificates)
        if len(answer.rows) < len(unit.tasks):
            return False
        self.begun += 1
        self.done(unit, answer)
        return True

    def budget(self) -> Budget | None:
        """Return the limits of the next unit; None if the time limit is reached."""
        if self.watch.expired:
            return None
        memory, remaining = self.settings.memory, self.watch.left
        if remaining is not None and self.settings.fair:
            remaining *= min(1.0, self.processes / (len(self.units) - self.begun))
        limits = Limits(seconds=remaining, memory=None if memory is None else memory // self.processes)
        settings = self.settings
        disk = None if settings.disk is None else settings.disk // self.processes
        workers, certificates = settings.workers // self.processes, settings.certificates
        return Budget(
            limits, workers, settings.seed, settings.programs, settings.cluster, settings.symmetry, settings.checkpoint, disk, certificates
        )

    def begin(self, unit: Unit) -> None:
        self.begun += 1
        self.listener.begin(self.begun, len(self.units), unit)

    def done(self, unit: Unit, answer: UnitResult) -> None:
        self.rows.update(answer.rows)
        self.listener.decided(list(answer.rows.values()))
        self.problems += answer.problems
        self.faults += answer.faults
        self.broken.update(unit.tasks if answer.problems or answer.faults else ())
        if answer.coverage is not None:
            self._cover(unit, answer.coverage)
        if answer.interrupted:
            raise KeyboardInterrupt

    def _cover(self, unit: Unit, coverage: Coverage) -> None:
        model = unit.source.kept().instance.model
        self.guards.update({(a.name, g.name): g for a in model.actions for g in a.guards})
        self.actions.update({a.name: a.sentence for a in model.actions})
        for label in dict.fromkeys(t.source.profile or f"{model.name}, scope {t.source.scope}" for t in unit.tasks):
            before = self.coverage.get(label)
            self.coverage[label] = coverage if before is None else before.merge(coverage)


def gaps(label: str, coverage: Coverage, guards: dict[tuple[str, str], Guard]) -> list[Gap]:
    """Return what a profile's runs never exercised, each with the guard concerned and its sentence."""
    result = []
    stopped = dict(coverage.never())
    for action, guard in stopped.items():
        result.append(Gap(label, action, guard, guards[action, guard].sentence if guard else "", "action"))
    for action, guard, answer in coverage.one_sided():
        rule = guards[action, guard]
        if action not in stopped and not rule.bound:
            result.append(Gap(label, action, guard, rule.sentence, "false" if answer else "true"))
    return result


def default_memory() -> int | None:
    """Return the default memory limit in bytes: three quarters of the memory that is free now; None if unknown."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            free = next(whole_number(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration, ValueError):
        return None
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            with open(path, encoding="ascii") as limit:
                free = min(free, whole_number(limit.read()))
        except (OSError, ValueError):
            continue
    return free * 3 // 4
