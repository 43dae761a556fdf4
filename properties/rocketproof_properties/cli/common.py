"""What the commands share: exit codes, and the checks of options that several have."""

from __future__ import annotations

from importlib.util import find_spec

from cyclopts import Parameter

from ..choices import InputError

OK, DIFFERS, USAGE, STOPPED = 0, 1, 2, 3

Many = Parameter(negative=(), consume_multiple=False, show_default=False)


def positive(option: str, value: float | None) -> None:
    """Raise InputError for a number that is given and not positive."""
    if value is not None and not 0 < value < float("inf"):
        raise InputError(f"{option} {value:g} is not a positive number; give more than 0")


def needs_pytest(command: str) -> None:
    """Raise InputError where pytest is not installed: it is not a dependency, as only commands that run the project's tests need it."""
    if find_spec("pytest") is None:
        raise InputError(f"{command} runs tests and needs pytest; `pip install pytest` (in a clone `uv run --group test rocketproof ...`)")
