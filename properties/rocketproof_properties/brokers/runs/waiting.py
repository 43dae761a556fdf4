"""Polling until a condition holds or a timeout."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from rocketproof_model import interrupts

T = TypeVar("T")


def until(look: Callable[[], T], enough: Callable[[T], bool], seconds: float, pause: float) -> T:
    """Return the first value of `look` that is `enough`, or the last one after `seconds`, with pauses in between."""
    end = time.monotonic() + seconds
    while True:
        value = look()
        if enough(value) or time.monotonic() > end:
            return value
        interrupts.pause(pause)
