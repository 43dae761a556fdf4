"""The error of this package: one line with the place, the problem and the remedy."""

from __future__ import annotations

import re

from rocketproof_model import RocketproofError

_SECRET = re.compile(r"(?<=://)([^/@:\s]*):[^/@\s]*@")
"""The user and the secret of a URL, as in `s3://KEY:SECRET@bucket`."""


class TraceError(RocketproofError):
    """A file, a step or a query that does not fit the model. `place` is a path, `path:line`, or the query. Secrets in URLs are removed
    from the text."""

    def __init__(self, place: str, problem: str, remedy: str) -> None:
        self.place = place
        self.problem = problem
        self.remedy = remedy
        super().__init__(" ".join(_SECRET.sub(r"\1:…@", f"{place}: {problem}; {remedy}").split()))


def short(value: object) -> str:
    """Return a foreign value as text for an error line, at most 60 characters."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
