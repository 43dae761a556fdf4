"""The machine's clock."""

from __future__ import annotations

import time


class SystemClock:
    """Milliseconds since the epoch, by the clock of the operating system. It may be set `ahead` of that clock, or behind if negative."""

    __slots__ = ("_ahead",)

    def __init__(self, ahead: int = 0) -> None:
        self._ahead = ahead

    def now(self) -> int:
        return time.time_ns() // 1_000_000 + self._ahead
