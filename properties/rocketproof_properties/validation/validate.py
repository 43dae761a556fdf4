"""`rocketproof validate`: programs on a target, recorded, judged, made smaller, reported."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

from rocketproof_model import interrupts
from rocketproof_protocol.numbers import java_int
from rocketproof_traces.checker.steps import SearchBound

from ..brokers.comeback import NotBack
from ..brokers.deployment import Deployment, Setup, TargetError, ValidationTarget
from ..brokers.runs.configured import configured
from ..brokers.runs.parsed import load
from ..brokers.runs.recording import last_number
from ..brokers.runs.runner import Bounds, Done, Gone, Runner
from ..brokers.staging import attempted
from ..catalogue import conditions as about
from ..conformance.witnesses.known import HazardReplayed, KnownHazard, replay
from ..judging.judging import EXPANDED, JudgedProgram, ProgramFinding, judge_file, judge_shared
from ..judging.restarts import KILLED, STOPPED
from ..judging.wholelog import LOGS, judge_log
from ..programs import settings
from ..programs.names import ProgramNames
from ..programs.parts import Capability
from ..programs.program import Program, ProgramOptions, generate
from ..programs.settings import ALONE, ENDED, at_start, drawn_of, while_running
from ..reports.output import counted
from ..reports.results import tool
from . import accept, busy, memory, report, resume
from .confirm import Confirmation, repeated_before, restore
from .faults import campaign
from .faults.found import FaultTests
from .finish import finish
from .report import HISTORIES, SMALLEST, ValidationFinding, ValidationReport
from .restarts import RestartReport, delayed, restart_each, restart_name_server
from .shrink import Smallest, fewer_settings, shrink
from .stages import looks, stages_of
from .stores import BrokerStore, judge_store
from .unserved import of_unserved, unserved

Progress = Callable[[str, int, int], None]
SHRINK: Final = 20.0
"""Seconds for making one finding's program smaller, unless given."""
MOST_SHRUNK: Final = 10
STATES: Final = EXPANDED.states
"""The specification's bound in each part of a program, unless given."""
CTRL_C: Final = "Ctrl-C"
"""What a report says that was stopped by hand."""
_DELAYING: Final = frozenset({about.DELAYED, about.HALF_DELAYED, about.SENT_BACK})
"""Programs whose messages may come when they are over."""
WITH_ROUTES: Final = 100
"""From so many programs on the name server is started again, too, which takes up to half a minute until brokers register, and brokers get
another one."""
ENDING: Final = frozenset({Capability.START, Capability.KILL, Capability.RESTART})
"""What programs behind which a process ends need of a target."""


@dataclass(frozen=True)
class ValidationRequest:
    """What to do. `name_server` is that of a target which does not know its own; times are seconds. `until`: end behind the first program
    of which this holds. `plain`: programs are drawn by chance alone.

    `witnesses` of the model are replayed behind the programs; then `faults` strike, of each kind so many times, or until `until_fault`.
    `asked`: how the command line said it, which is kept for who goes on with the run. `resumes`: the folder is that of a run that was
    interrupted, which goes on. `remembered` are programs that are tried before the others. `audits`: all files of the brokers are judged
    too; `stores` are those of brokers that were not started for the run. `states` bound the specification's judge in each part of a
    program."""

    target: ValidationTarget
    folder: Path
    programs: int = 500
    seed: int = 0
    workers: int = 4
    seconds: float | None = None
    rate: float | None = None
    shrink: float = SHRINK
    states: int = STATES
    plain: bool = False
    name_server: str | None = None
    accepted: Sequence[accept.Accepted] = ()
    until: Callable[[JudgedProgram], bool] | None = None
    witnesses: Sequence[KnownHazard] = ()
    faults: Mapping[str, int] = field(default_factory=dict)
    until_fault: Callable[[FaultTests], bool] | None = None
    asked: Mapping[str, Any] | None = None
    resumes: bool = False
    remembered: Sequence[Program] = ()
    audits: bool = False
    stores: Sequence[Path] = ()


def validate(request: ValidationRequest, progress: Progress = lambda what, done, all_: None) -> ValidationReport:
    """Run it all; what was recorded stays, whatever happens. Raises TargetError where the target cannot be set up, InputError."""
    campaign.refuse(request.target, request.faults)
    if not request.resumes:
        report.prepare(request.folder)
    if request.asked is not None:
        resume.note(request.folder, request.asked)
    return _Validation(request, progress).run()


def tried_first(request: ValidationRequest) -> list[Program]:
    """The remembered programs that the target can perform, as the run numbers them."""
    return memory.numbered(request.remembered, request.programs, **possible(request.target.offers))


def possible(offers: Set[Capability]) -> dict[str, bool]:
    """What programs may need of a target that offers this, by the names that a choice of programs has."""
    return {"configure": Capability.CONFIGURE in offers, "start": Capability.START in offers, "end": ENDING <= offers}


class _Validation:
    def __init__(self, request: ValidationRequest, progress: Progress) -> None:
        self.request = request
        self.progress = progress
        self.target = request.target
        self.began = time.monotonic()
        self.bounds = Bounds(request.workers, request.rate, request.seconds)
        self.bound = SearchBound(request.states)
        self.mark = mark()
        self.numbers = itertools.count(1 + last_number(request.folder))
        self.over: dict[int, Path] = {}
        self.before = 0.0
        self.old: Mapping[str, Any] = {}
        self.programs: dict[Path, Program] = {}
        self.stage: list[JudgedProgram] = []
        self.remembered = tried_first(request)
        self.gone = ""
        """Why programs of a broker that is gone were left out, if any were."""
        self.ignored: set[str] = set()
        """Settings of which a broker did not tell the value that it was given."""
        self.unreadable: dict[str, str] = {}
        """Settings whose reported values are no numbers, as they have to be."""
        self.unserved: frozenset[str] | None = None
        self.report = ValidationReport(
            {
                "name": self.target.name,
                "version": self.target.version,
                "offers": sorted(one.value for one in self.target.offers),
                "note": self.target.note,
            },
            self.target.profile,
            request.seed,
            request.programs,
            {
                "workers": request.workers,
                "seconds": request.seconds,
                "rate": request.rate,
                "shrink": request.shrink,
                "states": request.states,
            },
            tool(),
            datetime.now(UTC).isoformat(timespec="seconds"),
        )

    def run(self) -> ValidationReport:
        """All groups of programs, then the report."""
        made = self.report
        made.lost = {capability.value: sentence for capability, sentence in self.target.lost.items()}
        choice = ProgramOptions(
            self.target.profile, self.request.programs, self.request.seed, **possible(self.target.offers), plain=self.request.plain
        )
        programs = [*self.remembered, *generate(choice)]
        if self.request.resumes:
            self._remember(programs)
        try:
            self._all(programs)
            self._stores()
            self._replay()
            self._faults()
        except KeyboardInterrupt:
            interrupts.heard()
            made.stopped = CTRL_C
        except TargetError as problem:
            if not (made.judged or isinstance(problem, (Gone, NotBack))):
                raise
            made.stopped = str(problem)
        except BaseException as error:
            made.stopped = f"{type(error).__name__}: {error}"
            self._finish()
            raise
        made.stopped = made.stopped or self.gone
        if not made.stopped and self.bounds.over and not self.enough:
            made.stopped = f"--time {self.request.seconds}"
        self._finish()
        return made

    def _remember(self, programs: Sequence[Program]) -> None:
        """What an interrupted run has recorded: programs, logs, witnesses, faults."""
        folder, made = self.request.folder, self.report
        self.old = resume.report(folder)
        self.over = resume.recorded(folder, programs)
        made.repeated |= repeated_before(self.old)
        for path in sorted((folder / LOGS).glob("*.ndjson")):
            self.programs[path] = load(path).program
            made.logs.append(judge_log(path, self.target.profile))
        self._gather(made.logs)
        self.before = float(self.old.get("seconds") or 0)
        made.witnesses = [HazardReplayed.read(row) for row in self.old.get("witnesses") or ()]
        made.faults = [FaultTests.read(row) for row in self.old.get("faults") or ()]

    def _all(self, programs: Sequence[Program]) -> None:
        """Settings that a running broker takes over are changed on the first target; what is chosen at the start needs one of its own."""
        groups: dict[str, list[Program]] = {}
        for program in programs:
            groups.setdefault(program.needs, []).append(program)
        for needs in [needs for needs, group in groups.items() if all(one.number in self.over for one in group)]:
            self._gather(self._recorded(groups.pop(needs)))
        stages = stages_of(groups)
        setups = [Setup(settings=at_start(next(iter(stage)))) for stage in stages]
        with closing(attempted(self.target, setups)) as targets:
            for number, (stage, running) in enumerate(zip(stages, targets, strict=False), 1):
                first, last = next(iter(stage)), number == len(stages)
                if isinstance(running, TargetError):
                    self._left_out(first, running, len(groups[first]), last=last)
                    continue
                try:
                    for needs, group in stage.items():
                        if not self.bounds.over:
                            self._group(needs, group, running)
                    self._busy(first, running)
                    self._restarts(STOPPED, first, running)
                    self._logs(first, running)
                    self._restarts(KILLED, first, running)  # behind the files: a killed broker makes queues of deleted topics anew
                except (Gone, NotBack) as problem:
                    if isinstance(problem, NotBack):
                        self._not_back(problem, first)
                    if last or (isinstance(problem, Gone) and first != ENDED):
                        raise
                    self.gone = self.gone or str(problem)
                    if not self.enough:
                        self.bounds.ended.clear()
                self.stage.clear()
                if self.bounds.over:
                    return

    def _left_out(self, needs: str, problem: TargetError, programs: int, *, last: bool) -> None:
        """A target that does not start with some settings is judged without them, and one that does not start at all is none."""
        if not needs or (last and not self.report.judged):
            raise problem
        with_ = ", ".join(f"{name}={value}" for name, value in at_start(needs).items())
        text = f"{counted(programs, 'program')} on a broker with {needs} ({with_}) are left out, since it does not start so: {problem}"
        verdict = ProgramFinding("reference", f"start.{needs.replace(' ', '_')}", text)
        if all(one.verdict.property != verdict.property for one in self.report.findings):
            self.report.findings.append(ValidationFinding(verdict, Program(0, needs, (), needs), "", programs))

    def _not_back(self, problem: NotBack, needs: str) -> None:
        """A broker that does not start again is what was found, and the last that its programs do. Others have brokers of their own."""
        verdict = ProgramFinding("reference", "start.again", str(problem), rules=("REC-02",))
        if all(one.verdict.property != verdict.property for one in self.report.findings):
            self.report.findings.append(ValidationFinding(verdict, Program(0, needs, tuple(problem.steps), needs), ""))

    def _recorded(self, programs: Sequence[Program]) -> list[JudgedProgram]:
        """Those of the programs that an interrupted run has recorded, judged."""
        found = []
        for program in programs:
            path = self.over.get(program.number)
            if path is not None:
                self.programs[path] = program
                found.append(judge_file(path, self.target.profile, bound=self.bound))
                self.progress("program", len(self.report.judged) + len(found), self.request.programs)
        restore(found, self.old)
        self.report.judged += found
        return found

    def _group(self, needs: str, programs: Sequence[Program], running: Deployment) -> None:
        """The programs of one configuration."""
        with configured(running, while_running(needs)), ExitStack() as at_the_end:
            running.name_server = self.request.name_server or running.name_server
            not_served = self._unserved(running)
            runner = self._runner(running, needs, not_served)
            at_the_end.callback(runner.close)
            self.unreadable |= runner.unreadable
            if runner.reported_settings:
                self.ignored |= {name for name, value in settings.settings_of(needs).items() if runner.reported_settings.get(name) != value}
            self.report.settings = {**self.report.settings, "broker": runner.settings} if not needs else self.report.settings
            earlier, judged = self._recorded(programs), list[JudgedProgram]()
            programs = [found for one in programs if one.number not in self.over and (found := one.without(not_served)).steps]

            def done(program: Program, path: Path) -> None:
                self.programs[path] = program
                judged.append(judge_file(path, self.target.profile, bound=self.bound))
                if self.request.until is not None and self.request.until(judged[-1]):
                    self._is_enough()
                    self.bounds.ended.set()
                self.progress("program", len(self.report.judged) + len(judged), self.request.programs)

            renew = partial(self._renew, runner, needs, running, at_the_end)
            whole, new = False, list[ValidationFinding]()
            try:
                alone = [one for one in programs if needs in (ALONE, ENDED) or looks(one)]
                runner.run([one for one in programs if one not in alone], done)
                if needs == ENDED:
                    self._one_by_one(runner, alone, done, judged, renew)
                else:
                    runner.run(alone, done, workers=1)
                whole = True
            finally:
                self.report.judged += judged
                self.stage += judged
                self.report.target = {**self.report.target, "version": self.target.version}
                both = sorted((*earlier, *judged), key=lambda one: one.program)
                try:
                    if whole:
                        with self._going_on():
                            self._confirmation(runner).confirm(both, self.programs)
                finally:
                    new = self._gather(both)
                if whole:
                    with self._going_on():
                        self._shrink(runner, new, renew if needs == ENDED else None)
        if whole:  # what was changed on the broker has been set back
            with self._going_on():
                self._fewer_settings(new, partial(self._under, running, needs))

    def _runner(self, running: Deployment, needs: str, not_served: frozenset[str]) -> Runner:
        """Who performs programs on brokers that have these settings."""
        origin = {"target": dict(self.report.target), "profile": self.target.profile, "seed": self.request.seed}
        clean = Capability.START in self.target.offers
        folder, given = self.request.folder / HISTORIES, while_running(needs)
        return Runner(running, folder, origin, self.bounds, self.mark, given, self.numbers, clean, not_served)

    @contextmanager
    def _under(self, running: Deployment, before: str, needs: str) -> Iterator[Runner]:
        """A runner with other settings than `before`: of the brokers that run, where they were started so, or of others."""
        with ExitStack() as at_the_end:
            if at_start(needs) != at_start(before):
                running = self.target.open(Setup(settings=at_start(needs)))
                at_the_end.callback(running.close)
                running.name_server = self.request.name_server or running.name_server
            at_the_end.enter_context(configured(running, while_running(needs)))
            runner = self._runner(running, needs, self._unserved(running))
            at_the_end.callback(runner.close)
            yield runner

    @property
    def enough(self) -> bool:
        """Whether what ends the run has been seen."""
        return self.report.enough is not None

    def _is_enough(self) -> None:
        if not self.enough:
            self.report.enough = self.before + time.monotonic() - self.began

    @contextmanager
    def _going_on(self) -> Iterator[None]:
        """What was seen is tried again, although it is enough and no further program is wanted."""
        if self.enough:
            self.bounds.ended.clear()
        yield
        if self.enough:
            self.bounds.ended.set()

    def _unserved(self, running: Deployment) -> frozenset[str]:
        """The steps whose requests the target does not serve: a finding each, and in no program."""
        if self.unserved is None:
            found = [one for one in unserved(running, self.mark) if one.refused]  # of the others programs find out more
            self.unserved = frozenset(one.step for one in found)
            self.report.findings += map(of_unserved, found)
        return self.unserved

    def _busy(self, needs: str, running: Deployment) -> None:
        """Whether brokers go on rejecting what they are sent; once in a run."""
        known = {one.verdict.property for one in self.report.findings}
        if busy.PROPERTY not in known and not self.bounds.over and needs != ENDED:
            self.report.findings += busy.busy(running, self.target.profile, self.mark, needs)

    def _restarts(self, how: str, needs: str, running: Deployment) -> None:
        """What a broker still has when it has ended and started again. One that anybody else uses goes on running."""
        if Capability.START not in self.target.offers or self.bounds.over or needs == ENDED:
            return
        late = list(delayed(one.path for one in self.stage if not _DELAYING.isdisjoint(one.conditions)))
        origin = {"target": dict(self.report.target), "profile": self.target.profile, "seed": self.request.seed, "prefix": self.mark}
        written = RestartReport(self.request.folder, len(self.report.logs), needs, origin, self.target.profile)
        names, servers = ProgramNames(self.mark, 0), list[str]()
        with ExitStack() as at_the_end:
            found: list[Iterator[JudgedProgram]] = []
            if running.name_server is not None and not needs and len(self.stage) >= WITH_ROUTES:
                servers = [running.name_server]
                if how == STOPPED:
                    found.append(restart_name_server(running, names, written))
                    servers += self._further(at_the_end)
            for judged in itertools.chain(*found, restart_each(running, how, late, names, written, servers)):
                self.report.logs.append(judged)
                self.programs[judged.path] = Program(0, judged.source, (), needs)
                self._gather([judged])

    def _further(self, at_the_end: ExitStack) -> list[str]:
        """The address of another name server, none where the target starts none without a broker."""
        with suppress(TargetError):
            other = self.target.open(Setup(brokers=0))
            at_the_end.callback(other.close)
            if other.name_server is not None:
                return [other.name_server]
        return []

    def _one_by_one(
        self, runner: Runner, programs: Sequence[Program], done: Done, judged: Sequence[JudgedProgram], renew: Callable[[], None]
    ) -> None:
        """Programs that may leave a broker which nobody can work with: one that showed something, or stored what cannot be read, was its
        last one, and the next gets a new broker."""
        for number, program in enumerate(programs):
            if self.bounds.over:
                return
            runner.run([program], done, workers=1)
            spoilt = bool(judged) and (judged[-1].verdicts or not judged[-1].conditions.isdisjoint(about.DAMAGING))
            if spoilt and number + 1 < len(programs):
                renew()

    def _renew(self, runner: Runner, needs: str, first: Deployment, at_the_end: ExitStack) -> None:
        """Give the runner a new broker in place of one that may hold what cannot be read. `first`, with which it began, others close."""
        runner.close()
        if runner.deployment is not first:
            runner.deployment.close()
        fresh = self.target.open(Setup(settings=at_start(needs)))
        at_the_end.callback(fresh.close)
        runner.settle(fresh)

    def _logs(self, needs: str, running: Deployment) -> None:
        """What the brokers have stored on all programs of a stage together."""
        if Capability.STORE not in self.target.offers or needs == ENDED:
            return
        for broker in running.brokers:
            self._stored(running.store(broker), broker, needs, self.stage)

    def _stores(self) -> None:
        """What lies in the folders of brokers that run elsewhere."""
        for number, store in enumerate(self.request.stores):
            self._stored(store, f"broker-{chr(ord('a') + number)}", "", self.report.judged)

    def _stored(self, store: Path, broker: str, needs: str, programs: Sequence[JudgedProgram]) -> None:
        did = set().union(*(one.conditions for one in programs))
        deleted = sorted(set().union(*(one.deleted for one in programs)))
        anew = sorted(set().union(*(one.anew for one in programs)))
        origin = {
            "deleted": deleted,
            "anew": anew,
            "programs": sorted(number for one in programs if (number := java_int(one.path.stem)) is not None),
            "target": dict(self.report.target),
            "profile": self.target.profile,
            "seed": self.request.seed,
            "prefix": self.mark,
        }
        one, known = BrokerStore(store, broker, needs, did, origin), len(self.report.logs)
        for judged in judge_store(one, self.request.folder, known, self.target.profile, audits=self.request.audits):
            self.report.logs.append(judged)
            self.programs[judged.path] = Program(0, judged.source, (), needs)
            self._gather([judged])

    def _replay(self) -> None:
        """Known violations that no program of one client shows."""
        known = {one.hazard for one in self.report.witnesses}
        for number, wanted in enumerate(self.request.witnesses, 1):
            if self.bounds.over:
                return
            if wanted.hazard in known:
                continue
            self.progress("witness", number, len(self.request.witnesses))
            self.report.witnesses.append(replay(self.target, wanted, mark()))

    def _faults(self) -> None:
        """Faults of the machine under load, kind by kind."""
        request, known = self.request, {one.kind: one for one in self.report.faults}

        def enough(found: FaultTests) -> bool:
            if request.until_fault is not None and request.until_fault(found):
                self._is_enough()
            return self.enough or self.bounds.over

        for kind, rounds in request.faults.items():
            if self.enough or self.bounds.over:
                return
            found = known.get(kind) or FaultTests(kind)
            self.report.faults += [found] if kind not in known else []
            campaign.run(self.target, found, rounds, seed=request.seed, until=enough, progress=partial(self.progress, f"fault ({kind})"))

    def _gather(self, judged: Sequence[JudgedProgram]) -> list[ValidationFinding]:
        """Add the findings of a group; those that are new."""
        new = []
        for finding in report.gather(judged, self.programs):
            same = next((one for one in self.report.findings if one.key == finding.key), None)
            if same is None:
                new.append(finding)
                self.report.findings.append(finding)
            else:
                same.count += finding.count
        return new

    def _shrink(self, runner: Runner, findings: Sequence[ValidationFinding], renew: Callable[[], None] | None) -> None:
        """Make the findings' programs smaller on the target, as long as there is time; `renew` as `shrink` has it."""
        for number, one in enumerate(findings[:MOST_SHRUNK], 1):
            if self.request.shrink <= 0 or self.bounds.over:
                return
            self.progress("making smaller the program of finding", number, len(findings))
            folder = self.request.folder / SMALLEST
            folder.mkdir(exist_ok=True)
            path = self.request.folder / one.history
            found = shrink(runner, folder, one.program, one.verdict, path, self.target.profile, self.request.shrink, renew, self.bound)
            _show_by(one, found)

    def _fewer_settings(self, findings: Sequence[ValidationFinding], under: Callable[[str], AbstractContextManager[Runner]]) -> None:
        """Leave out drawn settings of findings that came again, with as much time for each as for its steps."""
        for one in findings[:MOST_SHRUNK]:
            if self.request.shrink <= 0 or self.bounds.over:
                return
            if not (one.again and drawn_of(one.program.needs)):
                continue
            folder = self.request.folder / SMALLEST
            before = Smallest(one.program, one.verdict, self.request.folder / one.history, one.again, one.repeats or 0, 0)
            found = fewer_settings(before, under, folder, self.target.profile, self.request.shrink, self.bound)
            _show_by(one, found)

    def _confirmation(self, runner: Runner) -> Confirmation:
        known, folder = {one.key for one in self.report.findings}, self.request.folder / SMALLEST
        return Confirmation(runner, folder, self.target.profile, known, lambda: self.bounds.over, self.report.repeated)

    def _finish(self) -> None:
        if self.report.stopped != CTRL_C:  # else `--again` and `--resume` judge them
            self.report.shared = judge_shared(self.report.judged, self.target.profile, self.bound)
        self._gather(self.report.shared)
        self.report.seconds = self.before + time.monotonic() - self.began
        notes = [memory.told(self.report, self.remembered)]
        if self.ignored:
            ignored = ", ".join(sorted(self.ignored))
            notes.append(f"settings that the broker does not tell as it was given them, and may ignore: {ignored}")
        if self.unreadable:
            unknown = ", ".join(f"{name}={value}" for name, value in sorted(self.unreadable.items()))
            notes.append(f"the broker reports settings that are no numbers in range; what depends on them is not judged: {unknown}")
        finish(self.report, self.request.folder, self.request.accepted, filter(None, notes))


def mark() -> str:
    """The begin of all names of a run, which no other run has."""
    return f"r{random.SystemRandom().randrange(16**6):06x}-"


def _show_by(finding: ValidationFinding, found: Smallest) -> None:
    """Let a smaller program show a finding."""
    finding.program, finding.verdict, finding.history = found.program, found.verdict, f"{found.path.parent.name}/{found.path.name}"
    finding.again, finding.repeats = found.again, found.repeats
