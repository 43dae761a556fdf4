"""The error of this room: one line that says where, what, and how to fix it."""

from __future__ import annotations

import re

from rocketproof_model import RocketproofError

_SECRET = re.compile(r"(?<=://)([^/@:\s]*):[^/@\s]*@")
"""The user and the secret of a URL, as in `s3://KEY:SECRET@bucket`."""


class TraceError(RocketproofError):
    """A file, a step or a question that does not fit the model. `place` is a path, `path:line`, or what was asked. Secrets of URLs are
    left out of the text."""

    def __init__(self, place: str, problem: str, remedy: str) -> None:
        self.place = place
        self.problem = problem
        self.remedy = remedy
        super().__init__(" ".join(_SECRET.sub(r"\1:…@", f"{place}: {problem}; {remedy}").split()))


def short(value: object) -> str:
    """A foreign value for an error line, cut where it gets long."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
