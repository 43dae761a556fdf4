"""Errors that name what was wrong, where, and how to fix it.

A model is ordinary Python, so the place of a mistake is a line of the caller's file. `caller()` finds it:
the innermost frame that is not part of this package.
"""

from __future__ import annotations

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))
_LANGUAGE = (_HERE, os.path.join(_HERE, "language"))


class RocketproofError(Exception):
    """Base of all errors that a user can fix; `str(error)` is one line."""


class ModelError(RocketproofError):
    """A wrongly built model. `place` is `file:line` of the declaration, `remedy` is how to fix it."""

    def __init__(self, problem: str, remedy: str, place: str | None = None) -> None:
        self.problem = problem
        self.remedy = remedy
        self.place = place or caller()
        super().__init__(f"{self.place}: {problem}; {remedy}")


class EvaluationError(RocketproofError):
    """An expression has no value in a state: an index out of range, a remainder by zero, a value out of its type."""


class LimitReached(RocketproofError):
    """A limit of time, memory or states ended a run before it could decide; `reason` is one of the verdict's reasons."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


def caller() -> str:
    """Return `file:line` of the innermost frame outside the modelling language (the specification counts as a caller)."""
    depth = 1
    while True:
        try:
            frame = sys._getframe(depth)
        except ValueError:
            return "<unknown>"
        name = frame.f_code.co_filename
        if os.path.dirname(os.path.abspath(name)) not in _LANGUAGE and not name.startswith("<"):
            return f"{name}:{frame.f_lineno}"
        depth += 1
