"""Programs that showed a finding, remembered for the next run on the same target under the same profile.

They are tried first, as they were made smaller then; one that shows nothing any more is forgotten.
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
"""Programs that are remembered of a target."""


def file_of(target: str, profile: str) -> Path:
    """Where the programs of a target are remembered."""
    return failures.file_of("validate", target, profile)


def programs(rows: Sequence[Any]) -> list[Program]:
    """The programs that were remembered; what is none is left out."""
    found = []
    for row in rows:
        try:
            steps = tuple((str(name), dict(args)) for name, args in row["steps"])
            made = Program(0, str(row["source"]), steps, str(row["needs"]))
        except (KeyError, TypeError, ValueError):
            continue
        if steps and is_known(made.needs):
            found.append(made)
    return found[:MOST]


def numbered(remembered: Sequence[Program], after: int, *, configure: bool, start: bool, end: bool = False) -> list[Program]:
    """Those that the target can perform, with the numbers behind those of the others."""

    def able(needs: str) -> bool:
        return (end or needs != ENDED) and can_be_had(needs, configure=configure, start=start)

    return [replace(one, number=after + place) for place, one in enumerate((one for one in remembered if able(one.needs)), 1)]


def told(report: ValidationReport, remembered: Sequence[Program]) -> str:
    """What came of the remembered programs, in a sentence; "" where there were none."""
    if not remembered:
        return ""
    shown, passed = _of(report, remembered, shows=True), _of(report, remembered, shows=False)
    said = f"{counted(len(remembered), 'program')} of earlier findings tried first: {len(shown)} still show one"
    left = len(remembered) - len(shown) - len(passed)
    parts = [said, f"{len(passed)} no more and are forgotten" if passed else "", f"{left} were not reached" if left else ""]
    return ", ".join(part for part in parts if part)


def keep(report: ValidationReport, remembered: Sequence[Program], path: Path) -> str:
    """Remember the programs of this run's findings, and those of earlier ones that did not pass; why that was not possible, or ""."""
    passed = [one.number for one in _of(report, remembered, shows=False)]
    new = [one.program for one in report.open if one.program.steps]
    rows = []
    for one in (*new, *(old for old in remembered if old.number not in passed)):
        row = {key: value for key, value in one.data().items() if key != "number"}
        if row not in rows:
            rows.append(row)
    return failures.keep(path, rows[:MOST])


def _of(report: ValidationReport, remembered: Sequence[Program], *, shows: bool) -> list[Program]:
    """The remembered programs that showed a finding, or did not, had all their answers and were decided."""
    judged = {one.program: bool(one.findings) for one in report.judged if one.findings or not (one.in_doubt or one.unknown)}
    return [one for one in remembered if judged.get(one.number) is shows]
