"""Vacuity: a property is vacuous in a run if its premise never held.

`implies(p, c)` is the term `~p | c`. A property is vacuous in a run if each of its conjuncts has such a premise and no premise ever held.
The engines check this with an auxiliary claim for the premise. It is `reachable` for a premise about one state. For a premise that reads
the next state, it is a `step` claim of the negation, which is violated where the premise occurs.
"""

from __future__ import annotations

from collections.abc import Iterable

from rocketproof_model import Property
from rocketproof_model.language import walk

from ...catalogue.premises import premise

PREFIX = "premise of "


def premises(claims: Iterable[Property]) -> list[Property]:
    """Return an auxiliary claim for each property that has a premise. `occurred` interprets its verdict."""
    auxiliary = []
    for claim in claims:
        term = premise(claim)
        if term is None or claim.kind == "lemma":
            continue
        if any(e.op == "after" for e in walk(term)):
            auxiliary.append(Property(PREFIX + claim.id, f"the premise of {claim.id} occurs", "step", ~term, place=claim.place))
        else:
            auxiliary.append(Property(PREFIX + claim.id, f"the premise of {claim.id} occurs", "reachable", term, place=claim.place))
    return auxiliary


def occurred(kind: str, verdict: str) -> bool | None:
    """Return whether the premise held in some explored state, from the verdict on the auxiliary claim; None if undecided."""
    if verdict not in ("holds", "violated"):
        return None
    return (verdict == "violated") == (kind == "step")
