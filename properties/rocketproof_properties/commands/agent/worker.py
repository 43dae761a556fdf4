"""Run one tool in this process: a request on standard input, then lines of JSON with progress and the answer on standard output.

A process of its own can be ended when the agent cancels, and nothing that a model prints reaches the agent.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any, Final, TextIO

from rocketproof_model import RocketproofError

from .allowed import Allowed
from .bounded import visible
from .tools import perform

_PAUSE: Final = 0.2
"""Seconds between two lines of progress."""
_MESSAGE: Final = 200


def main() -> None:
    """Serve the request. The answer is `{"answer": ...}`, or `{"error": text}` for what the agent can change."""
    request = json.load(sys.stdin)
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    allowed = Allowed(Path(request["root"]), Path(request["session"]), request["execute"], request["beyond"])
    os.chdir(allowed.root)
    line: dict[str, Any]
    try:
        line = {"answer": perform(request["tool"], request["arguments"], allowed, _Progress(out))}
    except RocketproofError as problem:
        line = {"error": visible(" ".join(str(problem).split()))[:2_000]}
    _write(out, line)


class _Progress:
    """Writes lines of progress, not more than a few per second."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._next = 0.0

    def __call__(self, what: str, done: int, of: int) -> None:
        now = time.monotonic()
        if now >= self._next:
            self._next = now + _PAUSE
            _write(self._out, {"progress": visible(what)[:_MESSAGE], "done": done, "of": of})


def _write(out: TextIO, line: dict[str, Any]) -> None:
    out.write(json.dumps(line) + "\n")
    out.flush()


if __name__ == "__main__":
    main()
