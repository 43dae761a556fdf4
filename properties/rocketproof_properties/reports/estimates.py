"""From what came once, how much there may be that never came.

If of many requests (steps, ...) some are the only ones of their kind, the next one is of a kind never seen about as often as one was one of
those (Good and Turing); and there are at least so many more kinds as the square of those seen once, over twice those seen twice (Chao).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def unseen(kinds: Mapping[Any, int]) -> dict[str, float]:
    """How often the next one is of a kind that never came (`share`, of 1), and how many such `kinds` there are at least; `kinds` gives
    how often each kind came."""
    once, twice = (sum(times == number for times in kinds.values()) for number in (1, 2))
    share = once / max(1, sum(kinds.values()))
    return {"share": round(share, 5), "kinds": round(once * (once - 1) / (2 * (twice + 1)), 1)}


def unseen_text(kinds: Mapping[Any, int], named: str, one: str) -> str:
    """The estimate as a sentence; `named` is what the kinds are of, as a plural, and `one` what comes next."""
    once, estimate = sum(times == 1 for times in kinds.values()), unseen(kinds)
    seldom = f"{1 / estimate['share']:,.0f}" if estimate["share"] else "very many"
    new = f"one {one} in {seldom} is of a new kind, and at least {estimate['kinds']:.0f} kinds were not seen"
    return f"{once} of {len(kinds)} kinds of {named} came once: {new}"
