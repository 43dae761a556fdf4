"""The premise of a property: the part of it that must have been true somewhere, or the property said nothing.

`implies(p, c)` is the term `~p | c`. A property has a premise if each of its conjuncts has one.
"""

from __future__ import annotations

from rocketproof_model import Expr, Property, any_of
from rocketproof_model.language import premises


def premise(claim: Property) -> Expr | None:
    """What must hold somewhere for the claim to say anything; None if it always does."""
    if claim.kind in ("leads_to", "until", "weak_until", "within"):
        return None if claim.formula.op == "const" else claim.formula
    if claim.kind not in ("always", "step", "lemma"):
        return None
    found = premises(claim.formula)
    return any_of(found) if found else None
