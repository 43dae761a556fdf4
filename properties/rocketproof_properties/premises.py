"""The premise of a property: the part of it that must have been true somewhere, or the property said nothing.

`implies(p, c)` is the term `~p | c`. A property has a premise if each of its conjuncts has one.
"""

from __future__ import annotations

from collections.abc import Iterable

from rocketproof_model import Expr, Property, any_of


def premise(claim: Property) -> Expr | None:
    """What must hold somewhere for the claim to say anything; None if it always does."""
    if claim.kind in ("leads_to", "until", "weak_until", "within"):
        return None if claim.formula.op == "const" else claim.formula
    if claim.kind not in ("always", "step", "lemma"):
        return None
    premises = [_of(part) for part in _parts("and", claim.formula)]
    if not premises or any(p is None for p in premises):
        return None
    return any_of(premises)


def _of(part: Expr) -> Expr | None:
    """All premises of `a` implies (`b` implies ...), together; None if it is no implication."""
    found: Expr | None = None
    while part.op == "or" and part.args[0].op == "not":
        premise: Expr = part.args[0].args[0]
        found, part = premise if found is None else found & premise, part.args[1]
    return found


def _parts(op: str, term: Expr) -> Iterable[Expr]:
    stack = [term]
    while stack:
        e = stack.pop()
        if e.op == op:
            stack.extend(reversed(e.args))
        else:
            yield e
