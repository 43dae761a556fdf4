"""Results that a command and the reader of its result tables make alike. `--since` compares them by their texts, so each has one place."""

from __future__ import annotations

from typing import Final

from .results import Result, first_line

SPECIFICATION: Final = "specification"
"""The rule of a judge's findings that are not about a user's rule."""
READING: Final = "audit"
"""The id of problems because of which a store was not read as a whole."""
NO_PROPERTIES: Final = frozenset({SPECIFICATION, READING})
"""Ids of results that are about no property. A run has them only if there is something to report."""
EXPLAINED: Final = "the specification explains what the clients saw"


def explained(profile: str, about: str, answers: int) -> Result:
    """Return the result of a history that the specification explains. `about`: its name, empty if it is the only one."""
    return Result(SPECIFICATION, EXPLAINED, "ok", "explained", "explained", profile, about=about, message=f"{answers:,} answers explained")


def undecided(profile: str, reason: str) -> Result:
    """Return the result of a part of a history whose verdict is unknown."""
    return Result(SPECIFICATION, EXPLAINED, "undecided", "unknown", "explained", profile, about=first_line(reason), message=reason)


def unbroken(rule: str, sentence: str, profile: str, *, stopped: bool) -> Result:
    """Return the result of a rule that no store breaks. `stopped`: the audit did not read everything."""
    return Result(rule, sentence, "undecided" if stopped else "ok", "holds", "holds", profile)


def not_audited(profile: str, problem: str) -> Result:
    """Return the result of a problem because of which a store was not read as a whole."""
    return Result(READING, "the whole store can be read", "error", "not audited", profile=profile, about=problem, message=problem)
