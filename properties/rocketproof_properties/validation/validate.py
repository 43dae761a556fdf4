"""`rocketproof validate`: run programs on a target, record and judge them, shrink findings, and write the report."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

from rocketproof_model import interrupts
from rocketproof_protocol.numbers import java_int
from rocketproof_traces.checker.steps import SearchBound

from ..brokers.comeback import NotBack
from ..brokers.deployment import Deployment, Setup, TargetError, ValidationTarget, setup_of
from ..brokers.runs.configured import configured
from ..brokers.runs.parsed import load
from ..brokers.runs.recording import last_number
from ..brokers.runs.runner import Bounds, Done, Gone, Runner
from ..brokers.staging import attempted
from ..catalogue import conditions as about
from ..conformance.witnesses.known import HazardReplayed, KnownHazard, replay
from ..judging.apart import HistoryJudges, judges_for
from ..judging.judging import judge_file
from ..judging.restarts import KILLED, STOPPED
from ..judging.specification import EXPANDED, judge_shared
from ..judging.verdicts import FindingKey, JudgedProgram, ProgramFinding
from ..judging.wholelog import LOGS, judge_log
from ..programs.coverplan import CoverPlan, plan
from ..programs.names import ProgramNames
from ..programs.parts import Capability
from ..programs.program import Program, ProgramOptions, generate
from ..programs.settings import ALONE, ENDED, at_start, drawn_of, of_name_server, while_running
from ..reports.output import counted
from ..reports.results import tool
from . import accept, busy, memory, report, resume, slaves
from .confirm import Confirmation, repeated_before, restore
from .cover import coverage, rejected_as_busy
from .faults import campaign
from .faults.found import FaultTests
from .finish import finish
from .report import HISTORIES, SMALLEST, ValidationFinding, ValidationReport
from .restarts import delayed, restart_each, restart_name_server
from .shrink import Smallest, fewer_settings, shrink
from .stages import looks, stages_of
from .states import StateReport
from .stores import BrokerStore, judge_store
from .text import contradicted
from .unserved import of_unserved, unserved

Progress = Callable[[str, int, int], None]
Found = Callable[[str], None]
"""Takes the sentence that a confirmed finding contradicts."""
SHRINK: Final = 20.0
"""Default seconds for shrinking the program of one finding."""
MOST_SHRUNK: Final = 10
STATES: Final = EXPANDED.states
"""Default bound of the specification's judge for each part of a program."""
CTRL_C: Final = "Ctrl-C"
"""The value of `stopped` in a report for a run that a user interrupted."""
_DELAYING: Final = frozenset({about.DELAYED, about.HALF_DELAYED, about.SENT_BACK})
"""Conditions of programs whose messages may be delivered after their end."""
WITH_ROUTES: Final = 100
"""Minimum number of programs for which the name server is restarted too, and brokers get a further one.

It takes up to half a minute until the brokers register.
"""
ENDING: Final = frozenset({Capability.START, Capability.KILL, Capability.RESTART})
"""The capabilities that a target needs for programs that end with a killed process."""
STOPPING: Final = frozenset({Capability.START, Capability.STOP, Capability.RESTART})
"""The capabilities that a target needs for programs around a restart."""


@dataclass(frozen=True)
class ValidationRequest:
    """What to validate, and how. Times are in seconds.

    - `name_server`: the name server of a target that does not know its own.
    - `until`: end after the first program for which this is true. `exit_first`: after the first with a finding that is not accepted.
    - `plain`: programs are drawn at random only.
    - `witnesses`: witnesses of the model to replay after the programs.
    - `faults`: machine faults to inject after that, with the number per kind, or until `until_fault`.
    - `asked`: the options of the command line, saved for `--resume`. `resumes`: the folder has an interrupted run.
    - `remembered`: programs to try before the others.
    - `audits`: judge all files of the brokers too. `stores`: stores of brokers that were not started for the run.
    - `states`: bound of the specification's judge in each part of a program.
    - `slave`: a slave follows the broker of programs without settings at its start; after them it must equal its master.
    - `judges`: number of processes that judge the programs; 0: this one. None: as many as the programs are worth. With an early end
      (`until`, `exit_first`) this process judges, so that no program runs after the last one.
    - `cover`: run the transition cover of these scopes instead of generated programs; all scopes if empty. None: generate programs.
    """

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
    exit_first: bool = False
    witnesses: Sequence[KnownHazard] = ()
    faults: Mapping[str, int] = field(default_factory=dict)
    until_fault: Callable[[FaultTests], bool] | None = None
    asked: Mapping[str, Any] | None = None
    resumes: bool = False
    remembered: Sequence[Program] = ()
    audits: bool = False
    stores: Sequence[Path] = ()
    cover: Sequence[str] | None = None
    slave: bool = False
    judges: int | None = None

    @property
    def other_processes(self) -> int:
        """The number of other processes that judge the programs."""
        if self.until is not None or self.exit_first:
            return 0
        return judges_for(self.programs) if self.judges is None else self.judges


def validate(
    request: ValidationRequest, progress: Progress = lambda what, done, all_: None, found: Found = lambda sentence: None
) -> ValidationReport:
    """Run the validation. Histories are kept in any case. `found` is called for each finding as soon as it is confirmed.

    Raises TargetError if the target cannot be set up, InputError.
    """
    campaign.refuse(request.target, request.faults)
    if request.slave:
        slaves.refuse(request.target)
    if not request.resumes:
        report.prepare(request.folder)
    if request.asked is not None:
        resume.note(request.folder, request.asked)
    covers = cover_of(request)
    if covers is not None:
        request = replace(request, programs=len(covers.programs))
    return _Validation(request, progress, found, covers).run()


def cover_of(request: ValidationRequest) -> CoverPlan | None:
    """Return the cover for the request's target, None if programs are generated."""
    if request.cover is None:
        return None
    return plan(request.target.profile, request.seed, **possible(request.target.offers), only=request.cover)


def tried_first(request: ValidationRequest) -> list[Program]:
    """Return the remembered programs that the target can perform, as numbered in the run."""
    offers = request.target.offers
    return memory.numbered(request.remembered, request.programs, **possible(offers), stop=STOPPING <= offers)


def possible(offers: Set[Capability]) -> dict[str, bool]:
    """Return what programs may need of a target with these capabilities, as arguments of a choice of programs."""
    return {
        "configure": Capability.CONFIGURE in offers,
        "start": Capability.START in offers,
        "start_name_server": Capability.START_NAME_SERVER in offers,
        "end": ENDING <= offers,
    }


def changeable(offers: Set[Capability]) -> dict[str, bool]:
    """Return how programs may restart a target with these capabilities and what they may change meanwhile, for `ProgramOptions`."""
    return {"stop": STOPPING <= offers, "corrupt": {Capability.STORE, Capability.STOP} <= offers, "clocks": Capability.SET_CLOCK in offers}


class _Validation:
    def __init__(self, request: ValidationRequest, progress: Progress, found: Found, covers: CoverPlan | None) -> None:
        self.request = request
        self.covers = covers
        self.progress = progress
        self.found = found
        self.announced: set[FindingKey] = set()
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
        """Why programs of a lost broker were skipped, if any were."""
        self.ignored: set[str] = set()
        """Settings for which a broker did not report the value that it was given."""
        self.unreadable: dict[str, str] = {}
        """Settings whose reported values are not numeric although they must be."""
        self.unserved: frozenset[str] | None = None
        self.report = ValidationReport(
            {
                "name": self.target.name,
                "version": self.target.version,
                "offers": sorted(capability.value for capability in self.target.offers),
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
                **({} if request.cover is None else {"cover": list(request.cover)}),
            },
            tool(),
            datetime.now(UTC).isoformat(timespec="seconds"),
        )

    def run(self) -> ValidationReport:
        """Run all groups of programs, and write the report."""
        result = self.report
        result.lost = {capability.value: sentence for capability, sentence in self.target.lost.items()}
        offers, asked = self.target.offers, self.request
        may = {**possible(offers), **changeable(offers)}
        choice = ProgramOptions(self.target.profile, asked.programs, asked.seed, **may, plain=asked.plain)
        programs = [*self.remembered, *(self.covers.programs if self.covers is not None else generate(choice))]
        if self.request.resumes:
            self._remember(programs)
        try:
            with HistoryJudges(self.target.profile, self.bound, asked.other_processes) as self.judges:
                self._all(programs)
            result.judging_seconds = self.judges.cpu_seconds
            self._stores()
            self._replay()
            self._faults()
        except KeyboardInterrupt:
            interrupts.heard()
            result.stopped = CTRL_C
        except TargetError as problem:
            if not (result.judged or isinstance(problem, (Gone, NotBack))):
                raise
            result.stopped = str(problem)
        except BaseException as error:
            result.stopped = f"{type(error).__name__}: {error}"
            self._finish()
            raise
        result.stopped = result.stopped or self.gone
        if not result.stopped and self.bounds.over and not self.enough:
            result.stopped = f"--time {self.request.seconds}"
        self._finish()
        return result

    def _remember(self, programs: Sequence[Program]) -> None:
        """Load what an interrupted run has recorded: programs, logs, witnesses, faults."""
        folder, result = self.request.folder, self.report
        self.old = resume.report(folder)
        self.over = resume.recorded(folder, programs)
        result.repeated |= repeated_before(self.old)
        for path in sorted((folder / LOGS).glob("*.ndjson")):
            self.programs[path] = load(path).program
            result.logs.append(judge_log(path, self.target.profile))
        self._gather(result.logs)
        self.before = float(self.old.get("seconds") or 0)
        result.witnesses = [HazardReplayed.read(row) for row in self.old.get("witnesses") or ()]
        result.faults = [FaultTests.read(row) for row in self.old.get("faults") or ()]

    def _all(self, programs: Sequence[Program]) -> None:
        """Run the programs by configuration.

        Settings that a running broker accepts are changed on the first target; others need their own target.
        """
        groups: dict[str, list[Program]] = {}
        for program in programs:
            groups.setdefault(program.needs, []).append(program)
        for needs in [needs for needs, group in groups.items() if all(recorded.number in self.over for recorded in group)]:
            self._gather(self._recorded(groups.pop(needs)))
        stages = stages_of(groups)
        setups = [setup_of(next(iter(stage))) for stage in stages]
        with closing(attempted(self.target, setups)) as targets:
            for number, (stage, running) in enumerate(zip(stages, targets, strict=False), 1):
                first, last = next(iter(stage)), number == len(stages)
                if isinstance(running, TargetError):
                    self._left_out(first, running, len(groups[first]), last=last)
                    continue
                try:
                    with self._slave(first, running):
                        for needs, group in stage.items():
                            if not self.bounds.over:
                                self._group(needs, group, running)
                    self._busy(first, running)
                    self._restarts(STOPPED, first, running)
                    self._logs(first, running)
                    # After the files are read: a killed broker creates the queues of deleted topics again.
                    self._restarts(KILLED, first, running)
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
        """Report programs that are skipped because the target does not start with their settings.

        Raise the problem if it does not start with any.
        """
        if not needs or (last and not self.report.judged):
            raise problem
        with_ = ", ".join(f"{name}={value}" for name, value in {**at_start(needs), **of_name_server(needs)}.items())
        text = f"{counted(programs, 'program')} on a broker with {needs} ({with_}) are left out, since it does not start so: {problem}"
        verdict = ProgramFinding("reference", f"start.{needs.replace(' ', '_')}", text)
        if all(finding.verdict.property != verdict.property for finding in self.report.findings):
            self.report.findings.append(ValidationFinding(verdict, Program(0, needs, (), needs), "", programs))

    def _not_back(self, problem: NotBack, needs: str) -> None:
        """Report a broker that does not start again. Its remaining programs are skipped; others have their own brokers."""
        verdict = ProgramFinding("reference", "start.again", str(problem), rules=("REC-02",))
        if all(finding.verdict.property != verdict.property for finding in self.report.findings):
            self.report.findings.append(ValidationFinding(verdict, Program(0, needs, tuple(problem.steps), needs), ""))

    def _recorded(self, programs: Sequence[Program]) -> list[JudgedProgram]:
        """Judge the programs that an interrupted run has recorded."""
        results = []
        for program in programs:
            path = self.over.get(program.number)
            if path is not None:
                self.programs[path] = program
                results.append(judge_file(path, self.target.profile, bound=self.bound))
                self.progress("program", len(self.report.judged) + len(results), self.request.programs)
        restore(results, self.old)
        self.report.judged += results
        return results

    def _group(self, needs: str, programs: Sequence[Program], running: Deployment) -> None:
        """Run the programs of one configuration."""
        with configured(running, while_running(needs)), ExitStack() as at_the_end:
            running.name_server = self.request.name_server or running.name_server
            not_served = self._unserved(running)
            runner = self._runner(running, needs, not_served)
            at_the_end.callback(runner.close)
            self.unreadable |= runner.unreadable
            if runner.reported_settings:
                in_broker = {**at_start(needs), **while_running(needs)}
                self.ignored |= {name for name, value in in_broker.items() if runner.reported_settings.get(name) != value}
            self.report.settings = {**self.report.settings, "broker": runner.settings} if not needs else self.report.settings
            earlier, judged = self._recorded(programs), list[JudgedProgram]()
            programs = [reduced for entry in programs if entry.number not in self.over and (reduced := entry.without(not_served)).steps]

            def take(*, all_: bool) -> None:
                for result in self.judges.results(all_=all_):
                    judged.append(result)
                    if self._is_last(result):
                        self._is_enough()
                        self.bounds.ended.set()
                    self.progress("program", len(self.report.judged) + len(judged), self.request.programs)

            def done(program: Program, path: Path) -> None:
                self.programs[path] = program
                self.judges.submit(path)
                take(all_=needs == ENDED)  # the finding of such a program decides on the next one's broker

            renew = partial(self._renew, runner, needs, running, at_the_end)
            whole, new = False, list[ValidationFinding]()
            try:
                alone = [entry for entry in programs if needs in (ALONE, ENDED) or looks(entry) or entry.restarts]
                try:
                    runner.run([entry for entry in programs if entry not in alone], done)
                    if needs == ENDED:
                        self._one_by_one(runner, alone, done, judged, renew)
                    else:
                        runner.run(alone, done, workers=1)
                finally:
                    take(all_=not interrupts.came())
                if self.covers is not None:
                    rejected = rejected_as_busy(self.covers, judged)
                    runner.run([entry for entry in programs if entry.number in rejected], done, workers=1)
                    take(all_=True)
                whole = True
            finally:
                self.report.judged += judged
                self.stage += judged
                self.report.target = {**self.report.target, "version": self.target.version}
                both = sorted((*earlier, *judged), key=lambda entry: entry.program)
                try:
                    if whole:
                        with self._going_on():
                            self._confirmation(runner).confirm(both, self.programs)
                finally:
                    new = self._gather(both)
                if whole:
                    with self._going_on():
                        self._shrink(runner, new, renew if needs == ENDED else None)
                self._announce(new)
        if whole:  # the broker's settings are restored at this point
            with self._going_on():
                self._fewer_settings(new, partial(self._under, running, needs))

    def _runner(self, running: Deployment, needs: str, not_served: frozenset[str]) -> Runner:
        """Return a runner for programs on brokers with these settings."""
        origin = {"target": dict(self.report.target), "profile": self.target.profile, "seed": self.request.seed}
        clean = Capability.START in self.target.offers
        folder, running_settings = self.request.folder / HISTORIES, while_running(needs)
        return Runner(running, folder, origin, self.bounds, self.mark, running_settings, self.numbers, clean, not_served)

    @contextmanager
    def _under(self, running: Deployment, before: str, needs: str) -> Iterator[Runner]:
        """Return a runner with other settings than `before`: on the running brokers if they can have them, else on new brokers."""
        with ExitStack() as at_the_end:
            if setup_of(needs) != setup_of(before):
                running = self.target.open(setup_of(needs))
                at_the_end.callback(running.close)
                running.name_server = self.request.name_server or running.name_server
            at_the_end.enter_context(configured(running, while_running(needs)))
            runner = self._runner(running, needs, self._unserved(running))
            at_the_end.callback(runner.close)
            yield runner

    @property
    def enough(self) -> bool:
        """Whether the condition for an early end was met."""
        return self.report.enough is not None

    def _is_last(self, judged: JudgedProgram) -> bool:
        """Return whether the run ends after this program."""
        request = self.request
        if request.until is not None and request.until(judged):
            return True
        return request.exit_first and bool(accept.sort(judged.findings, request.accepted, datetime.now(UTC).date()).left)

    def _is_enough(self) -> None:
        if not self.enough:
            self.report.enough = self.before + time.monotonic() - self.began

    @contextmanager
    def _going_on(self) -> Iterator[None]:
        """Continue despite an early end, to repeat what was seen."""
        if self.enough:
            self.bounds.ended.clear()
        yield
        if self.enough:
            self.bounds.ended.set()

    def _unserved(self, running: Deployment) -> frozenset[str]:
        """Return the steps that the target does not serve. Each is a finding, and is removed from programs."""
        if self.unserved is None:
            # Programs show more about requests without response.
            refused = [request for request in unserved(running, self.mark) if request.refused]
            self.unserved = frozenset(request.step for request in refused)
            self.report.findings += map(of_unserved, refused)
        return self.unserved

    def _busy(self, needs: str, running: Deployment) -> None:
        """Check, once per run, that idle brokers do not keep rejecting requests."""
        known = {finding.verdict.property for finding in self.report.findings}
        if busy.PROPERTY not in known and not self.bounds.over and needs != ENDED:
            self.report.findings += busy.busy(running, self.target.profile, self.mark, needs)

    @contextmanager
    def _slave(self, needs: str, running: Deployment) -> Iterator[None]:
        """Let a slave follow the broker of a stage, and compare it at the end. A broker with settings at its start has none."""
        if not self.request.slave or at_start(needs):
            yield
            return
        with slaves.following(self.target, running) as slave:
            yield
            if not self.bounds.over:
                self.progress("slave", 0, 1)
                names, recreated = ProgramNames(self.mark, 0), set[str]().union(*(program.deleted_by_requests for program in self.stage))
                self._stated(slaves.compare(running, slave, names, self._state_report(needs), recreated), needs)

    def _state_report(self, needs: str) -> StateReport:
        origin = {"target": dict(self.report.target), "profile": self.target.profile, "seed": self.request.seed, "prefix": self.mark}
        return StateReport(self.request.folder, len(self.report.logs), needs, origin, self.target.profile)

    def _stated(self, judged: JudgedProgram, needs: str) -> None:
        """Add the judgement of a broker's state to the report."""
        self.report.logs.append(judged)
        self.programs[judged.path] = Program(0, judged.source, (), needs)
        self._gather([judged])

    def _restarts(self, how: str, needs: str, running: Deployment) -> None:
        """Restart each broker and check its data. A broker that was not started for the run is not restarted."""
        if Capability.START not in self.target.offers or self.bounds.over or needs == ENDED:
            return
        late = list(delayed(program.path for program in self.stage if not _DELAYING.isdisjoint(program.conditions)))
        written = self._state_report(needs)
        names, servers = ProgramNames(self.mark, 0), list[str]()
        with ExitStack() as at_the_end:
            name_server_restarts: list[Iterator[JudgedProgram]] = []
            if running.name_server is not None and not needs and len(self.stage) >= WITH_ROUTES:
                servers = [running.name_server]
                if how == STOPPED:
                    name_server_restarts.append(restart_name_server(running, names, written))
                    servers += self._further(at_the_end)
            for judged in itertools.chain(*name_server_restarts, restart_each(running, how, late, names, written, servers)):
                self._stated(judged, needs)

    def _further(self, at_the_end: ExitStack) -> list[str]:
        """Return the address of another name server; none if the target cannot start one without a broker."""
        with suppress(TargetError):
            other = self.target.open(Setup(brokers=0))
            at_the_end.callback(other.close)
            if other.name_server is not None:
                return [other.name_server]
        return []

    def _one_by_one(
        self, runner: Runner, programs: Sequence[Program], done: Done, judged: Sequence[JudgedProgram], renew: Callable[[], None]
    ) -> None:
        """Run programs that may leave a broker unusable.

        After a program with a finding, or with unreadable stored data, the next program gets a new broker.
        """
        for number, program in enumerate(programs):
            if self.bounds.over:
                return
            runner.run([program], done, workers=1)
            is_unusable = bool(judged) and (judged[-1].deviations or not judged[-1].conditions.isdisjoint(about.DAMAGING))
            if is_unusable and number + 1 < len(programs):
                renew()

    def _renew(self, runner: Runner, needs: str, first: Deployment, at_the_end: ExitStack) -> None:
        """Give the runner a new broker instead of one that may hold unreadable data. The caller closes `first`, the initial broker."""
        runner.close()
        if runner.deployment is not first:
            runner.deployment.close()
        fresh = self.target.open(setup_of(needs))
        at_the_end.callback(fresh.close)
        runner.settle(fresh)

    def _logs(self, needs: str, running: Deployment) -> None:
        """Judge what the brokers have stored for all programs of a stage together."""
        if Capability.STORE not in self.target.offers or needs == ENDED:
            return
        for broker in running.brokers:
            self._stored(running.store(broker), broker, needs, self.stage)

    def _stores(self) -> None:
        """Judge the stores of brokers that run elsewhere."""
        for number, store in enumerate(self.request.stores):
            self._stored(store, f"broker-{chr(ord('a') + number)}", "", self.report.judged)

    def _stored(self, store: Path, broker: str, needs: str, programs: Sequence[JudgedProgram]) -> None:
        did = set().union(*(program.conditions for program in programs))
        deleted = sorted(set().union(*(program.deleted for program in programs)))
        recreated = sorted(set().union(*(program.deleted_by_requests for program in programs)))
        origin = {
            "deleted": deleted,
            "anew": recreated,
            "programs": sorted(number for program in programs if (number := java_int(program.path.stem)) is not None),
            "target": dict(self.report.target),
            "profile": self.target.profile,
            "seed": self.request.seed,
            "prefix": self.mark,
        }
        broker_store, known = BrokerStore(store, broker, needs, did, origin), len(self.report.logs)
        for judged in judge_store(broker_store, self.request.folder, known, self.target.profile, audits=self.request.audits):
            self._stated(judged, needs)

    def _replay(self) -> None:
        """Replay the witnesses of known violations that no program of one client shows."""
        known = {witness.hazard for witness in self.report.witnesses}
        for number, hazard in enumerate(self.request.witnesses, 1):
            if self.bounds.over:
                return
            if hazard.hazard in known:
                continue
            self.progress("witness", number, len(self.request.witnesses))
            self.report.witnesses.append(replay(self.target, hazard, mark()))

    def _faults(self) -> None:
        """Inject faults of the machine under load, kind by kind."""
        request, known = self.request, {tests.kind: tests for tests in self.report.faults}

        def enough(results: FaultTests) -> bool:
            if request.until_fault is not None and request.until_fault(results):
                self._is_enough()
            return self.enough or self.bounds.over

        for kind, rounds in request.faults.items():
            if self.enough or self.bounds.over:
                return
            results = known.get(kind) or FaultTests(kind)
            self.report.faults += [results] if kind not in known else []
            campaign.run(self.target, results, rounds, seed=request.seed, until=enough, progress=partial(self.progress, f"fault ({kind})"))

    def _gather(self, judged: Sequence[JudgedProgram]) -> list[ValidationFinding]:
        """Add the findings of a group. Return the new findings."""
        new = []
        for finding in report.gather(judged, self.programs):
            same = next((known for known in self.report.findings if known.key == finding.key), None)
            if same is None:
                new.append(finding)
                self.report.findings.append(finding)
            else:
                same.count += finding.count
        return new

    def _shrink(self, runner: Runner, findings: Sequence[ValidationFinding], renew: Callable[[], None] | None) -> None:
        """Shrink the programs of the findings on the target, within the time limit; `renew` as in `shrink`."""
        for number, finding in enumerate(findings[:MOST_SHRUNK], 1):
            if self.request.shrink <= 0 or self.bounds.over:
                return
            self.progress("making smaller the program of finding", number, len(findings))
            folder = self.request.folder / SMALLEST
            folder.mkdir(exist_ok=True)
            path = self.request.folder / finding.history
            smallest = shrink(
                runner, folder, finding.program, finding.verdict, path, self.target.profile, self.request.shrink, renew, self.bound
            )
            _show_by(finding, smallest)
            self._announce([finding])

    def _announce(self, findings: Sequence[ValidationFinding]) -> None:
        """Report findings while the run continues, each once. A finding that no repetition showed is not confirmed."""
        for finding in findings:
            if finding.reproduced is not False and finding.key not in self.announced:
                self.announced.add(finding.key)
                self.found(contradicted(finding.verdict, self.target.profile).title)

    def _fewer_settings(self, findings: Sequence[ValidationFinding], under: Callable[[str], AbstractContextManager[Runner]]) -> None:
        """Remove generated settings of reproduced findings, with the same time limit as for steps."""
        for finding in findings[:MOST_SHRUNK]:
            if self.request.shrink <= 0 or self.bounds.over:
                return
            if not (finding.again and drawn_of(finding.program.needs)):
                continue
            folder = self.request.folder / SMALLEST
            before = Smallest(
                finding.program, finding.verdict, self.request.folder / finding.history, finding.again, finding.repeats or 0, 0
            )
            smallest = fewer_settings(before, under, folder, self.target.profile, self.request.shrink, self.bound)
            _show_by(finding, smallest)

    def _confirmation(self, runner: Runner) -> Confirmation:
        known = {(finding.verdict.judge, finding.verdict.property) for finding in self.report.findings}
        folder = self.request.folder / SMALLEST
        return Confirmation(runner, folder, self.target.profile, known, lambda: self.bounds.over, self.report.repeated)

    def _finish(self) -> None:
        if self.report.stopped != CTRL_C:  # otherwise `--again` and `--resume` judge them
            self.report.shared = judge_shared(self.report.judged, self.target.profile, self.bound)
        self._gather(self.report.shared)
        self._announce(self.report.findings)
        if self.covers is not None:
            self.report.coverage = coverage(self.covers, self.report.judged)
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
    """Return a random prefix for all names of a run."""
    return f"r{random.SystemRandom().randrange(16**6):06x}-"


def _show_by(finding: ValidationFinding, smallest: Smallest) -> None:
    """Replace the program of a finding by a smaller program."""
    finding.program, finding.verdict = smallest.program, smallest.verdict
    finding.history = f"{smallest.path.parent.name}/{smallest.path.name}"
    finding.again, finding.repeats = smallest.again, smallest.repeats
