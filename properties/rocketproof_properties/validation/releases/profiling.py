"""`rocketproof profile`: which switches describe a release, each with the request that shows it.

Programs are performed on the release: the general ones, and for each switch those that tell its values (`witnesses.py`). What it does
otherwise than a profile says is explained by other values of switches, as far as any explains it, and each value is proposed with a program
that was made small on the release itself. A person decides; what nothing explains is listed by its cause.
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
from .explaining import SwitchExplanation, explain, told
from .smaller import all_smallest, plain, steps_of
from .staging import Progress, ReleaseRun, Stage
from .switching import RecordedProgram
from .witnesses import witnesses

SCHEMA, VERSION = "rocketproof-profile", 1
REPORT: Final = "profile.json"
SHRINK: Final = 20.0
"""Seconds for making one program smaller, unless given."""
MOST_SHRUNK: Final = 12
"""Unexplained differences whose programs are made smaller."""


@dataclass(frozen=True)
class ProfileRequest:
    """What to do: programs on the target, compared with the profile of the name `base`. Without a target the histories in the folder are
    explained, which an earlier run or a validation has left there."""

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
    """A difference with the smallest program that was found for it."""

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
    """What was found. `agreed`: switches whose value a program has told, and `untold` those of which none tells other values."""

    name: str
    base: str
    proposals: list[tuple[SwitchChange, int, ShownDifference, tuple[SwitchChange, ...]]] = field(default_factory=list)
    unexplained: list[tuple[Cause, int, ShownDifference]] = field(default_factory=list)
    agreed: dict[SwitchChange, RecordedProgram] = field(default_factory=dict)
    untold: list[str] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        """1 if the release is otherwise than the profile, 3 if that was not looked at to the end."""
        return exit_code(findings=self.proposals or self.unexplained, undecided=self.stopped)

    def data(self, folder: Path) -> dict[str, Any]:
        """The JSON document."""
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
                    "instead": [str(one) for one in instead],
                    "shown": example.data(folder),
                }
                for change, count, example, instead in self.proposals
            ],
            "unexplained": [
                {"about": cause.about, "rules": list(cause.rules), "programs": count, "shown": example.data(folder)}
                for cause, count, example in self.unexplained
            ],
            "agreed": [
                {"switch": change.switch, "not": shown(change.value), "steps": steps_of(one.program), "needs": one.program.needs}
                for change, one in self.agreed.items()
            ],
            "untold": self.untold,
            "exit": self.exit_code,
        }


def profile(request: ProfileRequest, progress: Progress = lambda what, done, all_: None) -> ProfileReport:
    """Do it; what was recorded stays in the folder. Raises TargetError where the target cannot be set up, InputError."""
    began = time.monotonic()
    base = PROFILES[request.base]
    name = request.target.name if request.target is not None else str(request.folder)
    made = ProfileReport(name, request.base, seed=request.seed)
    stage = None
    if request.target is None:
        recorded = saved(request.folder)
    else:
        prepare(request.folder)
        stage = Stage(request.target, request.folder / HISTORIES, request.seed, Bounds(request.workers, None, request.seconds))
        recorded = list(stage.record(_programs(request, request.target), progress).values())
        if stage.bounds.over:
            made.stopped = f"--time {request.seconds:g}"
    made.programs, made.requests = len(recorded), sum(len(one.history.exchanges) for one in recorded)
    made.compared = sum(one.tells for one in recorded)
    try:
        found = explain(recorded, base, progress)
    except KeyboardInterrupt:  # the report names the folder with what was recorded
        interrupts.heard()
        made.stopped, made.seconds = "Ctrl-C", time.monotonic() - began
        return made
    smaller: dict[SwitchChange | Cause, RecordedProgram] = {}
    try:
        _confirm(made, recorded, found, progress)
        if stage is not None and request.shrink > 0 and not stage.bounds.over:
            smaller = all_smallest(stage, _wanted(found, base), request.shrink, progress)
    except TargetError as problem:
        made.stopped = str(problem)
    except KeyboardInterrupt:
        interrupts.heard()
        made.stopped = "Ctrl-C"
    _fill(made, found, base, smaller)
    made.seconds = time.monotonic() - began
    return made


def saved(folder: Path) -> list[RecordedProgram]:
    """The programs of an earlier run. Raises InputError for a folder that has none, TraceError."""
    paths = sorted((folder / HISTORIES).glob("*.ndjson"))
    if not paths:
        raise InputError(f"--again {folder}: there are no histories in it; give the folder of a run of profile or validate")
    return [RecordedProgram.read(path) for path in paths]


def _programs(request: ProfileRequest, target: ValidationTarget) -> list[Program]:
    """The general programs and the witnesses, numbered."""
    configure, start = Capability.CONFIGURE in target.offers, Capability.START in target.offers
    general = generate(ProgramOptions(request.base, request.programs, request.seed, configure=configure, start=start, drawn=False))
    return [*general, *witnesses(len(general) + 1, configure=configure, start=start)]


def _confirm(made: ProfileReport, recorded: Sequence[RecordedProgram], found: SwitchExplanation, progress: Progress) -> None:
    """For each switch the programs that tell that it has no other value."""
    proposed = {one.switch for one in found.changes}
    wanted = [one for one in changes(found.profile) if one.switch not in proposed]
    made.agreed = told(recorded, found.profile, found.changes, wanted, progress)
    seen = {one.switch for one in made.agreed} | proposed
    made.untold = sorted({one.switch for one in wanted} - seen)


def _wanted(found: SwitchExplanation, base: Profile) -> dict[SwitchChange | Cause, tuple[RecordedProgram, Any]]:
    """What is to be made smaller, each with the question whether a program still shows it."""
    wanted: dict[SwitchChange | Cause, tuple[RecordedProgram, Any]] = {}
    for proposal in found.proposals:
        without = [one for one in found.changes if one != proposal.change]
        wanted[proposal.change] = (
            proposal.shown[0],
            lambda one, without=without: not one.differences(base, found.changes) and bool(one.differences(base, without)),
        )
    for cause, group in list(found.unexplained.items())[:MOST_SHRUNK]:
        wanted[cause] = group[0], lambda one, about=cause.about: about in _shown_by(one, base, found.changes)
    return wanted


def _shown_by(one: RecordedProgram, base: Profile, chosen: Sequence[SwitchChange]) -> set[str]:
    return {cause_of(each, one.history).about for each in one.differences(base, chosen)[:1]}


def _fill(made: ProfileReport, found: SwitchExplanation, base: Profile, smaller: dict[SwitchChange | Cause, RecordedProgram]) -> None:
    for proposal in found.proposals:
        one = smaller.get(proposal.change, proposal.shown[0])
        without = [each for each in found.changes if each != proposal.change]
        made.proposals.append(
            (proposal.change, len(proposal.shown), ShownDifference(one, one.differences(base, without)[0]), proposal.instead)
        )
    for cause, group in found.unexplained.items():
        one = smaller.get(cause, group[0])
        made.unexplained.append((cause, len(group), ShownDifference(one, one.differences(base, found.changes)[0])))
    made.unexplained.sort(key=lambda row: -row[1])
