"""The catalogue: every property once, and the cases in which each has a known verdict.

`properties(specification)` gives the claims of a scope as checked properties, in a fixed order; `CASES` are the rows of
the verdict matrix. To add a property: write its `Claim` beside its kin, put it into CLAIMS, and give it a case. A property of
what the specification abstracts from is a `HistoryClaim` in `history`, and its cases are in `historycases`.
"""

from __future__ import annotations

from functools import cache

from rocketproof_model.language import Property
from rocketproof_model.specification import Part

from . import answers, creation, durability, historycases, persistence, queues, routing, store, time
from .claim import Case, Claim
from .history import HISTORY_CLAIMS, HistoryClaim

__all__ = ["CASES", "CLAIMS", "HISTORY_CLAIMS", "Case", "Claim", "HistoryClaim", "properties"]

CLAIMS: tuple[Claim, ...] = tuple(
    c for module in (creation, queues, routing, store, persistence, answers, time, durability) for c in module.CLAIMS
)
CASES: tuple[Case, ...] = tuple(
    c for module in (creation, queues, routing, store, persistence, answers, time, durability, historycases) for c in module.CASES
)


@cache
def properties(specification: Part) -> tuple[Property, ...]:
    """The properties of the catalogue that this specification's scope can state."""
    return tuple(claim.of(specification) for claim in CLAIMS if claim.stated(specification))
