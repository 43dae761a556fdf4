"""A program performed on a target: its distinct outcomes, and the JSON values of `rocketproof run`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...brokers.deployment import ValidationTarget
from ...judging.verdicts import data
from ...reports.exitcode import exit_code
from ..validate import Progress
from .condition import ANY_BROKEN, ShowCondition
from .programfile import ProgramFile
from .trial import TrialOutcome, outcomes, perform


@dataclass(frozen=True)
class PerformedProgram:
    """The distinct outcomes of a program's runs on a target. `condition` shows the program's problem."""

    program: ProgramFile
    target: ValidationTarget
    groups: Sequence[TrialOutcome]
    condition: ShowCondition

    @property
    def exit_code(self) -> int:
        """1 if a rule is broken or the problem is shown, 3 if that is undecided. Known broken rules alone are no finding."""
        named = self.condition is not ANY_BROKEN
        found = [group for group in self.groups if group.trial.findings or group.trial.stopped or (named and group.shows)]
        open_ = [group for group in self.groups if group.trial.undecided or group.shows is None]
        return exit_code(findings=found, undecided=open_)

    def data(self) -> dict[str, Any]:
        """Return the outcomes as JSON values."""
        rows = [
            {
                "times": group.times,
                "shows": group.shows,
                "steps": [answer.data() | {"judges": group.trial.judges(answer.number)} for answer in group.trial.answers],
                "broken": [data(finding) | {"step": group.trial.step_of(finding.seq)} for finding in group.trial.broken],
                "undecided": group.trial.undecided,
                "stopped": group.trial.stopped,
            }
            for group in self.groups
        ]
        return {
            "program": self.program.path,
            **self.program.data(),
            "target": self.target.name,
            "profile": self.target.profile,
            "condition": self.condition.text,
            "outcomes": rows,
            "exit": self.exit_code,
        }


def perform_program(
    program: ProgramFile,
    target: ValidationTarget,
    condition: ShowCondition,
    folder: Path,
    *,
    times: int = 1,
    fresh: bool = False,
    name_server: str | None = None,
    configure: bool = False,
    progress: Progress = lambda what, done, all_: None,
) -> PerformedProgram:
    """Perform a program on a target. Histories are written to `folder`. Raises TargetError if the target cannot be set up."""
    trials = perform(program, target, folder, times=times, fresh=fresh, name_server=name_server, configure=configure, progress=progress)
    return PerformedProgram(program, target, outcomes(trials, condition, fresh=fresh), condition)
