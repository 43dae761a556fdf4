"""The premise of a property: the part that must be true in some state, because the property is vacuous otherwise.

`implies(p, c)` is the term `~p | c`. A property has a premise if each of its conjuncts has one.
"""

from __future__ import annotations

from rocketproof_model import Expr, Property, any_of
from rocketproof_model.language import premises


def premise(claim: Property) -> Expr | None:
    """Return the term that must hold in some state for the claim not to be vacuous, or None if there is no such term."""
    if claim.kind in ("leads_to", "until", "weak_until", "within"):
        return None if claim.formula.op == "const" else claim.formula
    if claim.kind not in ("always", "step", "lemma"):
        return None
    terms = premises(claim.formula)
    return any_of(terms) if terms else None
