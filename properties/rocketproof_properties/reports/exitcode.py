"""The exit codes of all commands, and the rule that derives the exit code of a run."""

from __future__ import annotations

from collections.abc import Sized
from typing import Final

OK: Final = 0
"""Everything was decided, as expected."""
DIFFERS: Final = 1
"""A verdict is not the expected verdict, or there is a finding."""
USAGE: Final = 2
"""Wrong usage, or input that cannot be read."""
STOPPED: Final = 3
"""There is no finding, and something is undecided."""


def exit_code(*, findings: Sized | bool, undecided: Sized | bool | str, unreadable: Sized | bool = False) -> int:
    """Return the exit code of a run. Unreadable input takes precedence, then findings, then undecided results.

    Undecided results never hide a finding, and never count as passed.
    """
    if unreadable:
        return USAGE
    if findings:
        return DIFFERS
    return STOPPED if undecided else OK
