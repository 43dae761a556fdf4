"""The table of the catalogue: every property, rule and case of all themes, in a fixed order.

`properties(specification)` returns the claims of a scope as checked properties. `CASES` are the rows of the verdict matrix. To add a
property, write its forms in the file of its theme, and give each form a case.
"""

from __future__ import annotations

from functools import cache

from rocketproof_model import Property
from rocketproof_spec import Part
from rocketproof_traces.audit.rules import Rule

from . import (
    answers,
    consuming,
    controller,
    counts,
    creation,
    delay,
    deletions,
    device,
    durability,
    entries,
    groups,
    log,
    manual_routes,
    offsets,
    persistence,
    producers,
    queues,
    records,
    retries,
    routes,
    settings,
    sizes,
    timers,
    times,
    topics,
    transactions,
    waits,
)
from .claim import Case, Claim, HistoryClaim
from .promises.promise import Promise
from .stored import stored_rules

__all__ = ["CASES", "CLAIMS", "HISTORY_CASES", "HISTORY_CLAIMS", "Case", "Claim", "HistoryClaim", "claims_of", "properties", "rules"]

_OF_STATES = (
    creation,
    topics,
    settings,
    manual_routes,
    queues,
    routes,
    log,
    offsets,
    deletions,
    groups,
    timers,
    persistence,
    answers,
    waits,
    durability,
    controller,
    producers,
    records,
    sizes,
    delay,
    transactions,
    device,
    consuming,
    times,
    retries,
)
_OF_HISTORIES = (answers, log, offsets, queues, records, entries, delay, retries, counts, routes, transactions, waits)

CLAIMS: tuple[Claim, ...] = tuple(c for theme in _OF_STATES for c in theme.CLAIMS)
HISTORY_CLAIMS: tuple[HistoryClaim, ...] = tuple(sorted((c for theme in _OF_HISTORIES for c in theme.HISTORY), key=lambda c: c.id))
HISTORY_CASES: tuple[Case, ...] = tuple(c for theme in _OF_HISTORIES for c in theme.HISTORY_CASES)
CASES: tuple[Case, ...] = (*(c for theme in _OF_STATES for c in theme.CASES), *HISTORY_CASES)


def claims_of(promise: Promise) -> tuple[HistoryClaim, ...]:
    """Return the formulas of a promise over histories: its own, or the claims that it refers to."""
    return (promise.own,) if promise.own is not None else tuple(claim for claim in HISTORY_CLAIMS if claim.id in promise.refers)


@cache
def rules() -> tuple[Rule, ...]:
    """Return every rule of a property once: those about stores, and those that only histories have. Promises have rules of their own."""
    return tuple(dict.fromkeys((*stored_rules(), *(rule for claim in HISTORY_CLAIMS for rule in claim.rules))))


@cache
def properties(specification: Part) -> tuple[Property, ...]:
    """Return the properties of the catalogue that the scope of this specification can state."""
    return tuple(claim.of(specification) for claim in CLAIMS if claim.stated(specification))
