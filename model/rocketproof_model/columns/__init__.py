"""Column programs: terms of the language decided for all rows of a table at once, as machine code over its columns."""

from .program import Answers, Bound, Broken, ColumnProgram, compile_columns
from .steps import StepProgram, Steps, Violation, check_steps, compile_steps

__all__ = [
    "Answers", "Bound", "Broken", "ColumnProgram", "StepProgram", "Steps", "Violation", "check_steps", "compile_columns", "compile_steps",
]  # fmt: skip
