"""Randomness from the operating system, or from a seed."""

from __future__ import annotations

import random


class SystemRandomness:
    """Pseudo-random numbers, reproducible with a seed."""

    __slots__ = ("_random",)

    def __init__(self, seed: int | None = None) -> None:
        self._random = random.Random(seed)

    def below(self, limit: int) -> int:
        return self._random.randrange(limit)

    def int32(self) -> int:
        return self._random.randrange(-(2**31), 2**31)
