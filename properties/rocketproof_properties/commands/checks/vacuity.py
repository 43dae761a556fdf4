"""Premises: the part of a property that must have been true somewhere, or the property said nothing.

`implies(p, c)` is the term `~p | c`. A property is vacuous in a run if each of its conjuncts has such a premise and none of
them ever held. The engines find that out: the premise goes along as one more claim, `reachable` for a state and, where it
speaks of the state after, a `step` that the negation holds (violated where the premise occurred).
"""

from __future__ import annotations

from collections.abc import Iterable

from rocketproof_model import Property
from rocketproof_model.language import walk

from ...catalogue.premises import premise

PREFIX = "premise of "


def premises(claims: Iterable[Property]) -> list[Property]:
    """One auxiliary claim for each property that has a premise; `occurred` reads its verdict."""
    made = []
    for claim in claims:
        term = premise(claim)
        if term is None or claim.kind == "lemma":
            continue
        if any(e.op == "after" for e in walk(term)):
            made.append(Property(PREFIX + claim.id, f"the premise of {claim.id} occurs", "step", ~term, place=claim.place))
        else:
            made.append(Property(PREFIX + claim.id, f"the premise of {claim.id} occurs", "reachable", term, place=claim.place))
    return made


def occurred(kind: str, verdict: str) -> bool | None:
    """Whether the premise held in some explored state, from the verdict on the auxiliary claim; None if undecided."""
    if verdict not in ("holds", "violated"):
        return None
    return (verdict == "violated") == (kind == "step")
