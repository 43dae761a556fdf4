"""Waiting for what a broker does in its own time."""

from __future__ import annotations

import time
from collections.abc import Callable


def until(true: Callable[[], bool], what: str, seconds: float = 60) -> None:
    """Return as soon as `true` returns true. Raises AssertionError naming `what` after a timeout."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, what
        time.sleep(0.1)
