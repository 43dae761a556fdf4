"""The error of this room: one line that says where, what, and how to mend it."""

from __future__ import annotations

from rocketproof_model import RocketproofError


class TraceError(RocketproofError):
    """A file, a step or a question that does not fit the model. `place` is a path, `path:line`, or what was asked."""

    def __init__(self, place: str, problem: str, remedy: str) -> None:
        self.place = place
        self.problem = problem
        self.remedy = remedy
        super().__init__(" ".join(f"{place}: {problem}; {remedy}".split()))


def short(value: object) -> str:
    """A foreign value for an error line, cut where it gets long."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
