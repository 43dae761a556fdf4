"""Randomness of the simulator: seeded, or with draws chosen by a test."""

from __future__ import annotations

import random
from collections import deque


class SimulatedRandomness:
    """A seeded generator. `feed(value)` sets the next draw of any kind."""

    def __init__(self, seed: int = 0) -> None:
        self._random = random.Random(seed)
        self._fed: deque[int] = deque()

    def feed(self, *values: int) -> None:
        self._fed.extend(values)

    def below(self, limit: int) -> int:
        return self._fed.popleft() if self._fed else self._random.randrange(limit)

    def int32(self) -> int:
        return self._fed.popleft() if self._fed else self._random.randrange(-(2**31), 2**31)
