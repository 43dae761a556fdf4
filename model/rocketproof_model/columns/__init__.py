"""Column programs: evaluate terms of the language for all rows of a table at once, as machine code over its columns."""

from .program import Answers, BoundProgram, ColumnProgram, TermErrors, compile_columns
from .steps import RecordedSteps, StepProgram, Violation, check_steps, compile_steps

__all__ = [
    "Answers",
    "BoundProgram",
    "TermErrors",
    "ColumnProgram",
    "StepProgram",
    "RecordedSteps",
    "Violation",
    "check_steps",
    "compile_columns",
    "compile_steps",
]
