"""`rocketproof profile`: find the switches that describe a release, each with a request that shows its value.

The release runs general programs, and for each switch programs that distinguish its values (`witnesses.py`). Its deviations from a profile
are explained by other values of switches where possible. Each value is proposed with a program that was shrunk on the release itself.
Unexplained deviations are listed by cause. The user decides what to change.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from rocketproof_model import interrupts
from rocketproof_profiles import PROFILES, Profile
from rocketproof_profiles.differing import SwitchChange, changes, shown

from ...brokers.deployment import TargetError, ValidationTarget
from ...brokers.runs.runner import Bounds
from ...judging.reference.comparison import FieldDifference
from ...programs.parts import Capability
from ...programs.program import Program, ProgramOptions, generate
from ...reports.choices import InputError
from ...reports.exitcode import exit_code
from ..report import HISTORIES, prepare
from .causes import Cause, cause_of
from .explaining import SwitchExplanation, excluding, explain
from .smaller import all_smallest, plain, steps_of
from .staging import Progress, ReleaseRun, Stage
from .switching import RecordedProgram
from .witnesses import witnesses

SCHEMA, VERSION = "rocketproof-profile", 1
REPORT: Final = "profile.json"
SHRINK: Final = 20.0
"""Default seconds for shrinking one program."""
MOST_SHRUNK: Final = 12
"""Maximum number of unexplained differences whose programs are shrunk."""


@dataclass(frozen=True)
class ProfileRequest:
    """The programs run on the target, which is compared with the profile named `base`.

    Without a target, the histories in the folder are explained; an earlier run or a validation has recorded them.
    """

    base: str
    folder: Path
    target: ValidationTarget | None = None
    programs: int = 300
    seed: int = 0
    workers: int = 4
    seconds: float | None = None
    shrink: float = SHRINK


@dataclass(frozen=True)
class ShownDifference:
    """A difference with the smallest program that shows it."""

    recorded: RecordedProgram
    difference: FieldDifference

    def data(self, folder: Path) -> dict[str, Any]:
        at = self.recorded.path
        return {
            "steps": steps_of(self.recorded.program),
            "needs": self.recorded.program.needs,
            "where": self.difference.where,
            "field": self.difference.field,
            "release": plain(self.difference.recorded),
            "profile": plain(self.difference.found),
            "history": str(at.relative_to(folder)) if at.is_relative_to(folder) else str(at),
        }


@dataclass
class ProfileReport(ReleaseRun):
    """The result. `agreed`: switches whose value a program confirms. `undistinguished`: switches whose other values no program excludes."""

    name: str
    base: str
    proposals: list[tuple[SwitchChange, int, ShownDifference, tuple[SwitchChange, ...]]] = field(default_factory=list)
    unexplained: list[tuple[Cause, int, ShownDifference]] = field(default_factory=list)
    agreed: dict[SwitchChange, RecordedProgram] = field(default_factory=dict)
    undistinguished: list[str] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        """1 if the release deviates from the profile, 3 if the comparison is incomplete."""
        return exit_code(findings=self.proposals or self.unexplained, undecided=self.stopped)

    def data(self, folder: Path) -> dict[str, Any]:
        """Return the JSON document."""
        base = PROFILES[self.base]
        return {
            "schema": SCHEMA,
            "version": VERSION,
            **self.record(),
            "target": self.name,
            "profile": self.base,
            "proposals": [
                {
                    "switch": change.switch,
                    "profile": shown(getattr(base, change.switch)),
                    "release": shown(change.value),
                    "programs": count,
                    "instead": [str(item) for item in instead],
                    "shown": example.data(folder),
                }
                for change, count, example, instead in self.proposals
            ],
            "unexplained": [
                {"about": cause.about, "rules": list(cause.rules), "programs": count, "shown": example.data(folder)}
                for cause, count, example in self.unexplained
            ],
            "agreed": [
                {"switch": change.switch, "not": shown(change.value), "steps": steps_of(item.program), "needs": item.program.needs}
                for change, item in self.agreed.items()
            ],
            "untold": self.undistinguished,
            "exit": self.exit_code,
        }


def profile(request: ProfileRequest, progress: Progress = lambda what, done, all_: None) -> ProfileReport:
    """Compare the release with the profile.

    The histories stay in the folder. Raises TargetError if the target cannot be set up, InputError.
    """
    began = time.monotonic()
    base = PROFILES[request.base]
    name = request.target.name if request.target is not None else str(request.folder)
    report = ProfileReport(name, request.base, seed=request.seed)
    stage = None
    if request.target is None:
        recorded = saved(request.folder)
    else:
        prepare(request.folder)
        stage = Stage(request.target, request.folder / HISTORIES, request.seed, Bounds(request.workers, None, request.seconds))
        recorded = list(stage.record(_programs(request, request.target), progress).values())
        if stage.bounds.over:
            report.stopped = f"--time {request.seconds:g}"
    report.programs, report.requests = len(recorded), sum(len(program.history.exchanges) for program in recorded)
    report.compared = sum(program.is_comparable for program in recorded)
    try:
        explanation = explain(recorded, base, progress)
    except KeyboardInterrupt:  # the report names the folder with the histories
        interrupts.heard()
        report.stopped, report.seconds = "Ctrl-C", time.monotonic() - began
        return report
    smaller: dict[SwitchChange | Cause, RecordedProgram] = {}
    try:
        _confirm(report, recorded, explanation, progress)
        if stage is not None and request.shrink > 0 and not stage.bounds.over:
            smaller = all_smallest(stage, _to_shrink(explanation, base), request.shrink, progress)
    except TargetError as problem:
        report.stopped = str(problem)
    except KeyboardInterrupt:
        interrupts.heard()
        report.stopped = "Ctrl-C"
    _fill(report, explanation, base, smaller)
    report.seconds = time.monotonic() - began
    return report


def saved(folder: Path) -> list[RecordedProgram]:
    """Return the programs of an earlier run. Raises InputError for a folder without histories, TraceError."""
    paths = sorted((folder / HISTORIES).glob("*.ndjson"))
    if not paths:
        raise InputError(f"--again {folder}: there are no histories in it; give the folder of a run of profile or validate")
    return [RecordedProgram.read(path) for path in paths]


def _programs(request: ProfileRequest, target: ValidationTarget) -> list[Program]:
    """Return the general programs and the witnesses, numbered."""
    configure, start = Capability.CONFIGURE in target.offers, Capability.START in target.offers
    general = generate(ProgramOptions(request.base, request.programs, request.seed, configure=configure, start=start, drawn=False))
    return [*general, *witnesses(len(general) + 1, configure=configure, start=start)]


def _confirm(report: ProfileReport, recorded: Sequence[RecordedProgram], explanation: SwitchExplanation, progress: Progress) -> None:
    """Set, for each switch that is not proposed, the program that confirms its value."""
    proposed = {change.switch for change in explanation.changes}
    candidates = [change for change in changes(explanation.profile) if change.switch not in proposed]
    report.agreed = excluding(recorded, explanation.profile, explanation.changes, candidates, progress)
    decided = {change.switch for change in report.agreed} | proposed
    report.undistinguished = sorted({change.switch for change in candidates} - decided)


def _to_shrink(explanation: SwitchExplanation, base: Profile) -> dict[SwitchChange | Cause, tuple[RecordedProgram, Any]]:
    """Return the programs to shrink, each with a function that checks whether a smaller program still shows the same."""
    result: dict[SwitchChange | Cause, tuple[RecordedProgram, Any]] = {}
    for proposal in explanation.proposals:
        without = [change for change in explanation.changes if change != proposal.change]
        result[proposal.change] = (
            proposal.shown[0],
            lambda program, without=without: (
                not program.differences(base, explanation.changes) and bool(program.differences(base, without))
            ),
        )
    for cause, group in list(explanation.unexplained.items())[:MOST_SHRUNK]:
        result[cause] = group[0], lambda program, about=cause.about: about in _shown_by(program, base, explanation.changes)
    return result


def _shown_by(program: RecordedProgram, base: Profile, chosen: Sequence[SwitchChange]) -> set[str]:
    return {cause_of(difference, program.history).about for difference in program.differences(base, chosen)[:1]}


def _fill(
    report: ProfileReport, explanation: SwitchExplanation, base: Profile, smaller: dict[SwitchChange | Cause, RecordedProgram]
) -> None:
    for proposal in explanation.proposals:
        program = smaller.get(proposal.change, proposal.shown[0])
        without = [change for change in explanation.changes if change != proposal.change]
        report.proposals.append(
            (proposal.change, len(proposal.shown), ShownDifference(program, program.differences(base, without)[0]), proposal.instead)
        )
    for cause, group in explanation.unexplained.items():
        program = smaller.get(cause, group[0])
        report.unexplained.append((cause, len(group), ShownDifference(program, program.differences(base, explanation.changes)[0])))
    report.unexplained.sort(key=lambda row: -row[1])
