"""Perform a hand-written program on a target, judge it, and group equal outcomes of repetitions."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from pathlib import Path
from typing import Any, Final

from rocketproof_protocol.properties import DELAY, TRAN_MSG

from ...brokers.comeback import NotBack
from ...brokers.deployment import DEFAULT, Deployment, TargetError, ValidationTarget
from ...brokers.runs.configured import configured
from ...brokers.runs.parsed import load
from ...brokers.runs.runner import Bounds, Gone, ProgramRun, Runner
from ...judging import judging
from ...judging.verdicts import JUDGES, Judge, JudgedProgram, ProgramFinding
from ...programs.names import ProgramNames, is_system_topic
from ...programs.parts import Capability
from ...programs.vocabulary import Step
from ...reports.choices import InputError
from ...reports.output import counted
from ..validate import Progress, mark
from .answers import ProgramAnswers, answers_of
from .condition import NotShown, ShowCondition
from .programfile import ProgramFile

_TOGETHER: Final = 6
"""Programs that share brokers at a time."""
_BUSY: Final = "[TIMEOUT_CLEAN_QUEUE]"
_BUSY_TRIALS: Final = 3
"""Further trials of a program on a busy machine."""


@dataclass(frozen=True)
class RecordedTrial:
    """A program that was performed once, and is not judged yet. The fields are those of ProgramTrial."""

    history: Path
    seqs: Sequence[Sequence[int]]
    stopped: str = ""


@dataclass(frozen=True)
class ProgramTrial:
    """A program that was performed once.

    - `seqs`: the numbers of each step's events. `ends`: the last event of each request, by its first.
    - `names`: the names of the run. `stopped`: why it ended early, "" if it did not.
    """

    history: Path
    seqs: Sequence[Sequence[int]]
    answers: ProgramAnswers
    judged: JudgedProgram
    names: ProgramNames
    ends: Mapping[int, int | None]
    stopped: str = ""

    @property
    def broken(self) -> list[ProgramFinding]:
        """The broken rules: those that are known to be broken in this release, too."""
        return [*self.judged.deviations, *self.judged.unconfirmed]

    @property
    def findings(self) -> list[ProgramFinding]:
        """The broken rules that are not known."""
        return [finding for finding in self.broken if not finding.known]

    @property
    def undecided(self) -> list[str]:
        """The undecided parts, one sentence each."""
        names = [judge for judge in JUDGES if judge not in self.judged.by]
        reasons = [f"the {judge} does not judge programs of this kind" for judge in names if len(names) == len(JUDGES)]
        return [*self.judged.unknown, *map(str, self.judged.faults), *reasons]

    @cached_property
    def _steps_by_event(self) -> dict[int, int]:
        """The number of the step of each event: those of `seqs`, and the ends of their requests."""
        ends = self.ends
        return {at: number for number, mine in enumerate(self.seqs, 1) for seq in mine for at in (seq, ends.get(seq)) if at is not None}

    def step_of(self, seq: int) -> int:
        """Return the number of the step with this event, 0 if there is none."""
        return self._steps_by_event.get(seq, 0)

    def judges(self, number: int) -> dict[Judge, str]:
        """Return the verdict of each judge on a step: agrees, differs, or - if it has not judged the step."""
        verdicts: dict[Judge, str] = dict.fromkeys(JUDGES, "-")
        for judge in self.judged.by:
            at = [step for each in self.broken if each.judge == judge and (step := self.step_of(each.seq))]
            ended = judge != "claims" and bool(at) and number > min(at)  # the other judges end at the first event that differs
            asked = "-" if ended else "agrees" if self.answers[number].asked else ""
            verdicts[judge] = "differs" if number in at else asked
        return verdicts

    def shows(self, condition: ShowCondition) -> bool | None:
        """Return whether the trial shows the problem, None if that is undecided."""
        try:
            return condition.holds(self.answers, self.broken)
        except NotShown:
            return None

    def outcome(self, *, fresh: bool) -> tuple[Any, ...]:
        """Return the values that equal trials share: the responses, and the properties that are broken.

        Unless each trial has `fresh` brokers, the content of the brokers' own topics grows, and only the names of these responses count.
        """
        shared = [not fresh and _is_shared(answer.step) for answer in self.answers]
        responses = tuple(answer.name if own else repr(answer.parts) for answer, own in zip(self.answers, shared, strict=True))
        return responses, tuple(sorted({each.property for each in self.broken})), self.stopped


def _is_shared(step: Step) -> bool:
    """Return whether the step concerns a topic of the brokers, also as the place where a delayed message or a half message waits."""
    _, args = step
    properties = args.get("properties") or {}
    waits = any(name in (DELAY, TRAN_MSG) or name.startswith("TIMER_") for name in properties)
    return waits or is_system_topic(str(args.get("topic", "")))


@dataclass(frozen=True)
class TrialOutcome:
    """Equal outcomes of several trials: how many there were, and the first of them."""

    times: int
    trial: ProgramTrial
    shows: bool | None


def outcomes(trials: Sequence[ProgramTrial], condition: ShowCondition, *, fresh: bool = False) -> list[TrialOutcome]:
    """Group trials with equal outcomes, the most frequent first."""
    groups: dict[tuple[Any, ...], list[ProgramTrial]] = {}
    for trial in trials:
        groups.setdefault((trial.outcome(fresh=fresh), trial.shows(condition)), []).append(trial)
    rows = [TrialOutcome(len(group), group[0], shows) for (_, shows), group in groups.items()]
    return sorted(rows, key=lambda row: -row.times)


def perform(
    program: ProgramFile,
    target: ValidationTarget,
    folder: Path,
    *,
    times: int = 1,
    fresh: bool = False,
    name_server: str | None = None,
    configure: bool = False,
    progress: Progress = lambda what, done, all_: None,
) -> list[ProgramTrial]:
    """Perform the program several times and judge each run. Stops after a run in which the broker was lost.

    `fresh`: each run has new brokers. `configure`: the target's brokers run already, and their settings may be changed. Raises TargetError,
    InputError.
    """
    with closing(_runners(program, target, folder, fresh=fresh, name_server=name_server, configure=configure)) as runners:
        recorded = _recorded(program, runners, folder, times, progress)
    return [read_trial(program, each.history, each.seqs, target.profile, each.stopped) for each in recorded]


def record(program: ProgramFile, target: ValidationTarget, folder: Path, *, times: int = 1) -> list[RecordedTrial]:
    """Perform the program as `perform` does, without judging the runs."""
    with closing(_runners(program, target, folder)) as runners:
        return _recorded(program, runners, folder, times)


def record_together(
    programs: Sequence[ProgramFile], target: ValidationTarget, folder: Path, times: int | None = None
) -> Iterator[tuple[ProgramFile, list[RecordedTrial]]]:
    """Perform programs with equal setups concurrently on the same brokers, and yield each with its recorded trials.

    A program that loses its broker is performed again on brokers of its own. `times`: runs of each program; None: as its file states.
    Raises TargetError if the brokers do not start.
    """
    again: list[ProgramFile] = []
    with closing(_runners(programs[0], target, folder)) as runners:
        runner = next(runners)
        with ThreadPoolExecutor(_TOGETHER) as pool:
            recorded = [pool.submit(_recorded, each, repeat(runner), folder, times or each.times) for each in programs]
        for program, found in zip(programs, recorded, strict=True):
            if len(programs) > 1 and (found.exception() is not None or found.result()[-1].stopped):
                again.append(program)
            else:
                yield program, found.result()
    for program in again:
        yield program, record(program, target, folder, times=times or program.times)


def _recorded(
    program: ProgramFile, runners: Iterator[Runner], folder: Path, times: int, progress: Progress = lambda what, done, all_: None
) -> list[RecordedTrial]:
    trials: list[RecordedTrial] = []
    for number in range(times):
        trials.append(_record(program, next(runners), folder))
        for _ in range(_BUSY_TRIALS):
            if trials[-1].stopped or not _was_busy(trials[-1].history):
                break
            trials[-1] = _record(program, next(runners), folder)
        if times > 1:
            progress("run", number + 1, times)
        if trials[-1].stopped:
            break
    return trials


def _runners(
    program: ProgramFile,
    target: ValidationTarget,
    folder: Path,
    *,
    fresh: bool = False,
    name_server: str | None = None,
    configure: bool = False,
) -> Generator[Runner, None, None]:
    """Yield a runner for each run: the same one, or with `fresh` one with new brokers."""
    started = Capability.START in target.offers
    given = {**program.settings, **program.running}
    if not started:
        _refuse_started(program, target.name, given, configure=configure)
    setup = program.setup if started else DEFAULT
    origin = {
        "target": {"name": target.name},
        "profile": target.profile,
        "given": program.given,
    }
    while True:
        with target.open(setup) as running, configured(running, program.running if started else given):
            running.name_server = name_server or running.name_server
            _check_brokers(program, running)
            runner = Runner(running, folder, origin, Bounds(1), mark(), program.running if started else given)
            try:
                yield runner
                while not fresh:
                    yield runner
            finally:
                runner.close()


def _refuse_started(program: ProgramFile, name: str, given: Mapping[str, str], *, configure: bool) -> None:
    """Raise InputError for a program that needs brokers with settings of its own, on brokers that run already."""
    if program.name_server or program.own:
        which = "NAME_SERVER_SETTINGS" if program.name_server else "BROKER_SETTINGS"
        raise InputError(f"{program.path} has {which}, and {name} runs already; give --target apache:RELEASE")
    if given and not configure:
        settings = ", ".join(given)
        raise InputError(f"{program.path} needs {settings}, and {name} runs already; start a target, or give --configure to change them")


def _check_brokers(program: ProgramFile, running: Deployment) -> None:
    if len(running.brokers) < program.brokers:
        known = ", ".join(running.brokers)
        raise InputError(
            f"{program.path} has BROKERS = {program.brokers}; {running.name} has {counted(len(running.brokers), 'broker')}: {known}"
        )


def _was_busy(history: Path) -> bool:
    """Return whether the broker has refused a request because it had waited too long: the machine was too busy for the program."""
    return _BUSY in history.read_text("utf-8", "replace")


def _record(program: ProgramFile, runner: Runner, folder: Path) -> RecordedTrial:
    under_way = runner.begin(program.program, folder)
    stopped = ""
    try:
        runner.carry_out(under_way)
    except (Gone, NotBack) as problem:
        stopped = str(problem)
    except TargetError as problem:
        raise InputError(f"{program.path}: {problem}") from None
    return RecordedTrial(under_way.path, _seqs(program, under_way), stopped)


def _seqs(program: ProgramFile, done: ProgramRun) -> list[list[int]]:
    """Return the numbers of the events of each step, in the order of the steps."""
    mine = {number: iter(client.performed) for number, client in done.clients.items()}
    return [[] if name == "meet" else next(mine[args.get("client", 0)], []) for name, args in program.steps]


def read_trial(program: ProgramFile, history: Path, seqs: Sequence[Sequence[int]], profile: str, stopped: str = "") -> ProgramTrial:
    """Judge a recorded trial."""
    parsed = load(history)
    answers = answers_of(program.steps, seqs, parsed)
    ends = {exchange.seq: exchange.end for exchange in parsed.exchanges}
    return ProgramTrial(history, seqs, answers, judging.judge(parsed, history, profile), parsed.names, ends, stopped)
