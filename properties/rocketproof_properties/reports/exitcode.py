"""The exit codes of all commands, and the one rule by which what a run counted becomes one of them."""

from __future__ import annotations

from collections.abc import Sized
from typing import Final

OK: Final = 0
"""Everything was decided, as expected."""
DIFFERS: Final = 1
"""A verdict is not the expected one, or something was found."""
USAGE: Final = 2
"""Wrong usage, or input that cannot be read."""
STOPPED: Final = 3
"""Nothing was found, and something was left undecided."""


def exit_code(*, findings: Sized | bool, undecided: Sized | bool | str, unreadable: Sized | bool = False) -> int:
    """Return the exit code of a run: input that cannot be read comes first, then findings, then what is undecided.

    A finding stays one however much else is undecided. What is undecided never counts as passed.
    """
    if unreadable:
        return USAGE
    if findings:
        return DIFFERS
    return STOPPED if undecided else OK
