"""The verdict matrix: tasks become units of work, units are decided, and the rows are judged against what is expected.

Nothing is printed here; a listener hears what is going on. Whatever stops a run (a limit, Ctrl-C, an engine that fails),
the rows decided so far stay, and the others say `unknown` with the reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from rocketproof_model import Guard, interrupts
from rocketproof_model.result import INTERRUPTED, TIME, Coverage, Limits, Progress, Watch
from rocketproof_protocol.numbers import whole_number

from ...reports.exitcode import exit_code
from . import memory, processes, witnessfiles
from .decide import decide
from .plan import ENGINES, CheckTask
from .rows import VerdictRow, contradictions, settle, undecided
from .units import PROGRAMS, Budget, SparkCluster, Unit, UnitResult
from .verdictcache import VerdictCache


@dataclass(frozen=True)
class Gap:
    """Something that no run of a profile exercised: an action (`guard` stopped it) or one answer of a guard."""

    profile: str
    action: str
    guard: str
    sentence: str
    missing: str


@dataclass
class CheckReport:
    """All rows of a run in the order of the plan, and what else a reader has to know.

    `covered` gives for each profile how many actions happened, of how many; `coverage` has it in full, with `guards` by action and
    name and the sentences of `actions`. `broken` are the tasks whose units had problems, `faults` errors of a user's
    model, each in one line.
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
        differing = [one for one in self.rows if one.agrees is False or one.vacuous]
        undecided = self.interrupted or any(one.agrees is None for one in self.rows)
        return exit_code(findings=self.problems or differing, undecided=undecided, unreadable=self.faults)


class RunListener(Protocol):
    """Hears about a run as it goes; `number` of `of` units have been begun. `decided` hears the verdicts of a unit."""

    def begin(self, number: int, of: int, unit: Unit) -> None: ...

    def progress(self, unit: Unit, at: Progress) -> None: ...

    def decided(self, rows: Sequence[VerdictRow]) -> None: ...


@dataclass(frozen=True)
class Settings:
    """How to run: `seconds` bound the whole run, `memory` the bytes of the engines' arrays at any time.

    `fair`: no unit gets more of the seconds than an equal share of what is left, instead of all that is left. `first`: rows by
    `memory.key` whose units are decided before the others. `checkpoint`: where searches keep their progress,
    and may have `disk` bytes of states. `certificates`: where proofs are kept. `cache`: verdicts of
    earlier runs.
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
    """The tasks grouped by instance and engine, in the order of their first tasks; those with a task of `first` come first."""
    paths = witnessfiles.paths(witnesses, tasks)
    groups: dict[tuple[Any, ...], list[CheckTask]] = {}
    for task in tasks:
        groups.setdefault((task.engine, task.source.key), []).append(task)
    made = [Unit(g[0].source, g[0].engine, tuple(g), tuple(paths[t] for t in g)) for g in groups.values()]
    return sorted(made, key=lambda unit: (not any(memory.key(task) in first for task in unit.tasks), ENGINES.index(unit.engine)))


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

    def __init__(self, made: list[Unit], listener: RunListener, settings: Settings) -> None:
        self.units, self.listener, self.settings = made, listener, settings
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
        made = [unit for unit in self.units if not self.known(unit)]
        cache = self.settings.cache
        work = decide if cache is None else cache.decide
        if processes.available(made, self.settings.workers):
            self.processes = min(self.settings.workers, len(made))
            processes.run(made, self.processes, work, self.budget, self.begin, self.listener.progress, self.done)
            return
        for unit in made:
            budget = self.budget()
            if budget is None:
                return
            self.begin(unit)

            def progress(at: Progress, unit: Unit = unit) -> None:
                self.listener.progress(unit, at)

            self.done(unit, work(unit, budget, progress))

    def known(self, unit: Unit) -> bool:
        """Take a unit's verdicts from the cache, if it has all of them and no model has to be built to see that."""
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
        """What the next unit may use; None if the time is over."""
        if self.watch.expired:
            return None
        memory, left = self.settings.memory, self.watch.left
        if left is not None and self.settings.fair:
            left *= min(1.0, self.processes / (len(self.units) - self.begun))
        limits = Limits(seconds=left, memory=None if memory is None else memory // self.processes)
        own = self.settings
        disk = None if own.disk is None else own.disk // self.processes
        workers, kept = own.workers // self.processes, own.certificates
        return Budget(limits, workers, own.seed, own.programs, own.cluster, own.symmetry, own.checkpoint, disk, kept)

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
    """What a profile's runs never exercised, each with the guard in question and its sentence."""
    found = []
    stopped = dict(coverage.never())
    for action, guard in stopped.items():
        found.append(Gap(label, action, guard, guards[action, guard].sentence if guard else "", "action"))
    for action, guard, answer in coverage.one_sided():
        rule = guards[action, guard]
        if action not in stopped and not rule.bound:
            found.append(Gap(label, action, guard, rule.sentence, "false" if answer else "true"))
    return found


def default_memory() -> int | None:
    """Bytes that the engines may take if the user says nothing: three quarters of what is free now."""
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
