"""The machine's clock."""

from __future__ import annotations

import time


class SystemClock:
    """Milliseconds since the epoch, by the clock of the operating system."""

    __slots__ = ()

    def now(self) -> int:
        return time.time_ns() // 1_000_000
