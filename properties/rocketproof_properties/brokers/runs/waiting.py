"""Looking at something again and again until it is as it should be, or a while is over."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from rocketproof_model import interrupts

T = TypeVar("T")


def until(look: Callable[[], T], enough: Callable[[T], bool], seconds: float, pause: float) -> T:
    """What is seen as soon as it is enough, or at the end of so many seconds; between two looks there is a pause."""
    end = time.monotonic() + seconds
    while True:
        found = look()
        if enough(found) or time.monotonic() > end:
            return found
        interrupts.pause(pause)
