"""Remember programs that showed a finding, for the next run on the same target under the same profile.

The next run tries them first, in their shrunk form. A program that no longer shows a finding is forgotten.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from ..programs.program import Program
from ..programs.settings import ENDED, can_be_had, is_known
from ..reports import failures
from ..reports.output import counted
from .report import ValidationReport

MOST: Final = 50
"""Maximum number of programs remembered per target."""


def file_of(target: str, profile: str) -> Path:
    """Return the file with the programs of a target."""
    return failures.file_of("validate", target, profile)


def programs(rows: Sequence[Any]) -> list[Program]:
    """Parse remembered programs; invalid ones are skipped."""
    result = []
    for row in rows:
        try:
            steps = tuple((str(name), dict(args)) for name, args in row["steps"])
            program = Program(0, str(row["source"]), steps, str(row["needs"]))
        except (KeyError, TypeError, ValueError):
            continue
        if steps and is_known(program.needs):
            result.append(program)
    return result[:MOST]


def numbered(
    remembered: Sequence[Program],
    after: int,
    *,
    configure: bool,
    start: bool,
    start_name_server: bool = True,
    end: bool = False,
    stop: bool = False,
) -> list[Program]:
    """Return the programs that the target can perform, numbered from `after` + 1."""

    def able(program: Program) -> bool:
        ends = end if program.needs == ENDED else stop or not program.restarts
        return ends and can_be_had(program.needs, configure=configure, start=start, start_name_server=start_name_server)

    return [replace(program, number=after + place) for place, program in enumerate((program for program in remembered if able(program)), 1)]


def told(report: ValidationReport, remembered: Sequence[Program]) -> str:
    """Return a sentence on the results of the remembered programs; "" if there were none."""
    if not remembered:
        return ""
    shown, passed = _tried(report, remembered, shows=True), _tried(report, remembered, shows=False)
    text = f"{counted(len(remembered), 'program')} of earlier findings tried first: {len(shown)} still show one"
    unreached = len(remembered) - len(shown) - len(passed)
    parts = [text, f"{len(passed)} no more and are forgotten" if passed else "", f"{unreached} were not reached" if unreached else ""]
    return ", ".join(part for part in parts if part)


def keep(report: ValidationReport, remembered: Sequence[Program], path: Path) -> str:
    """Remember the programs of this run's findings, and earlier programs that did not pass. Return an error message, or "" on success."""
    passed = [passing.number for passing in _tried(report, remembered, shows=False)]
    new = [finding.program for finding in report.open if finding.program.steps]
    rows = []
    for program in (*new, *(old for old in remembered if old.number not in passed)):
        row = {key: value for key, value in program.data().items() if key != "number"}
        if row not in rows:
            rows.append(row)
    return failures.keep(path, rows[:MOST])


def _tried(report: ValidationReport, remembered: Sequence[Program], *, shows: bool) -> list[Program]:
    """Return the remembered programs that showed a finding; with `shows=False`, those that were decided without a finding."""
    judged = {
        result.program: bool(result.findings) for result in report.judged if result.findings or not (result.in_doubt or result.unknown)
    }
    return [program for program in remembered if judged.get(program.number) is shows]
