"""The problem that a program should show: a condition on its responses, or a property that a judge finds broken.

A condition comes from `--expect`, from `--field`, from the function `shows` of the program's file, or from the property of a finding's
file. Without any of these, a trial shows the problem if a judge finds a broken rule.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rocketproof_protocol.numbers import whole_number

from ...judging.verdicts import ProgramFinding
from ...reports import userfile
from ...reports.choices import InputError
from ...reports.output import counted
from .answers import ProgramAnswers
from .programfile import FILE, ProgramFile

_FIELD: Final = re.compile(r"([0-9]+)\.([A-Za-z_]\w*)(!?=)(.*)", re.DOTALL)
_CODES: Final = ("code", "name", "remark", "error")


class NotShown(Exception):
    """A condition cannot be decided. `str(error)` is one line."""


@dataclass(frozen=True)
class ShowCondition:
    """A condition. `text` names it for readers; `holds` decides it and raises NotShown."""

    text: str
    holds: Callable[[ProgramAnswers, Sequence[ProgramFinding]], bool]


def condition_of(program: ProgramFile, expect: str | None, field: str | None) -> ShowCondition:
    """Return the condition that shows the program's problem. Raises InputError for an invalid expression."""
    if expect is not None and field is not None:
        raise InputError("--expect and --field both say what the program shows; give one of them")
    if expect is not None:
        return _of_expression(expect)
    if field is not None:
        return _of_field(field, len(program.steps))
    if program.shows is not None:
        return _of_function(program)
    if program.finding:
        return of_property(program.finding)
    return ANY_BROKEN


def of_property(property_: str) -> ShowCondition:
    """Return the condition that a judge finds this property broken, known or not."""
    return ShowCondition(f"{property_} is broken", lambda _, broken: any(finding.property == property_ for finding in broken))


ANY_BROKEN: Final = ShowCondition("a rule is broken", lambda _, broken: bool(broken))


def _of_function(program: ProgramFile) -> ShowCondition:
    shows = program.shows
    assert shows is not None

    def holds(answers: ProgramAnswers, broken: Sequence[ProgramFinding]) -> bool:
        del broken
        try:
            return bool(shows(answers))
        except Exception as error:  # noqa: BLE001  (whatever a user's function does)
            raise NotShown(str(userfile.failure(program.path, program.source, error, FILE._replace(main="shows")))) from None

    return ShowCondition("shows(answers) of the file", holds)


def _of_expression(text: str) -> ShowCondition:
    try:
        code = compile(text, "--expect", "eval")
    except (SyntaxError, ValueError) as error:
        reason = error.msg if isinstance(error, SyntaxError) else error
        raise InputError(f"--expect {text!r}: {reason}; give an expression such as 'answers[3].code == 0'") from None

    def holds(answers: ProgramAnswers, broken: Sequence[ProgramFinding]) -> bool:
        try:
            return bool(eval(code, {"answers": answers, "broken": [finding.property for finding in broken]}))
        except Exception as error:  # noqa: BLE001  (whatever a user's expression does)
            raise NotShown(f"--expect {text!r}: {type(error).__name__}: {error}") from None

    return ShowCondition(text, holds)


def _of_field(text: str, steps: int) -> ShowCondition:
    match = _FIELD.fullmatch(text)
    if match is None:
        raise InputError(f"--field {text}: is not a field; give STEP.NAME=VALUE, such as 3.queueOffset=1 or 3.name=SUCCESS")
    number, name, sign, value = whole_number(match[1]), match[2], match[3], match[4]
    if not 1 <= number <= steps:
        raise InputError(f"--field {text}: there is no step {number}; the program has {counted(steps, 'step')}")

    def holds(answers: ProgramAnswers, broken: Sequence[ProgramFinding]) -> bool:
        del broken
        answer: Any = answers[number]
        found = getattr(answer, name) if name in _CODES else answer.fields[name]
        return ("" if found is None else str(found)) == value if sign == "=" else found is not None and str(found) != value

    return ShowCondition(text, holds)
