"""Estimate how many kinds of events were not seen, from the kinds that were seen once or twice.

The probability that the next event is of an unseen kind is about the share of events whose kind was seen once (Good-Turing). A lower bound
of the number of unseen kinds is the square of the number seen once, divided by twice the number seen twice (Chao).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def unseen(kinds: Mapping[Any, int]) -> dict[str, float]:
    """Estimate what was not seen. `kinds` counts the events of each kind.

    `share` is the probability that the next event is of a new kind. `kinds` is a lower bound of the number of unseen kinds.
    """
    once, twice = (sum(times == number for times in kinds.values()) for number in (1, 2))
    share = once / max(1, sum(kinds.values()))
    return {"share": round(share, 5), "kinds": round(once * (once - 1) / (2 * (twice + 1)), 1)}


def unseen_text(kinds: Mapping[Any, int], named: str, one: str) -> str:
    """Return the estimate as a sentence. `named` is the plural name of the events, `one` the singular."""
    once, estimate = sum(times == 1 for times in kinds.values()), unseen(kinds)
    seldom = f"{1 / estimate['share']:,.0f}" if estimate["share"] else "very many"
    new = f"one {one} in {seldom} is of a new kind, and at least {estimate['kinds']:.0f} kinds were not seen"
    return f"{once} of {len(kinds)} kinds of {named} came once: {new}"
