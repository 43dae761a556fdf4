"""Seeded random numbers, and confidence intervals of probabilities.

Each run of a simulation has its own generator, made from the seed and the run's number. No result depends on how runs are grouped, and any
run can be repeated alone. The generator is splitmix64.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

MASK = (1 << 64) - 1
GAMMA, MIX_1, MIX_2 = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


def _mix(z: int) -> int:
    z = (z ^ z >> 30) * MIX_1 & MASK
    z = (z ^ z >> 27) * MIX_2 & MASK
    return z ^ z >> 31


def base(seed: int) -> int:
    """Return the number from which the generators of all runs of a seed are made; seeds count modulo 2**64."""
    return _mix(seed + GAMMA & MASK)


@dataclass
class Generator:
    """splitmix64: 64 bits of state."""

    state: int

    @staticmethod
    def of(seed: int, run: int) -> Generator:
        """Return the generator of one run."""
        return Generator(_mix(base(seed) + GAMMA * (run + 1) & MASK))

    def uniform(self) -> float:
        """Return a number from 0 to below 1, of 53 random bits."""
        self.state = self.state + GAMMA & MASK
        return (_mix(self.state) >> 11) * 2.0**-53


def choose(weights: Sequence[float] | NDArray[np.float64], uniform: float) -> int:
    """Return the position that a uniform number selects in proportion to the weights.

    If all weights are 0, all positions are equally likely.
    """
    sums = np.cumsum(np.asarray(weights, np.float64))  # adds in order, as the kernel does
    whole = float(sums[-1])
    if whole <= 0.0:
        return int(uniform * len(sums))
    # a product that is rounded up to the whole selects the last position with a weight
    return int(min(np.searchsorted(sums, uniform * whole, "right"), np.searchsorted(sums, whole)))


def interval(count: int, of: int, confidence: float) -> tuple[float, float]:
    """Return the confidence interval of the probability of an event seen `count` times in `of` runs: Wilson's interval.

    If `count` is 0 or `of`, it is Clopper and Pearson's exact one-sided bound instead; without runs it is (0, 1).
    """
    if of == 0:
        return 0.0, 1.0
    doubt = 1.0 - confidence
    if count == 0:
        return 0.0, 1.0 - doubt ** (1.0 / of)
    if count == of:
        return doubt ** (1.0 / of), 1.0
    z = NormalDist().inv_cdf(1.0 - doubt / 2)
    share, square = count / of, z * z
    centre = (share + square / (2 * of)) / (1 + square / of)
    reach = z / (1 + square / of) * math.sqrt(share * (1 - share) / of + square / (4 * of * of))
    return max(0.0, centre - reach), min(1.0, centre + reach)
