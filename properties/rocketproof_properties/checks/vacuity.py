"""Premises: the part of a property that must have been true somewhere, or the property said nothing.

`implies(p, c)` is the term `~p | c`. A property is vacuous in a run if each of its conjuncts has such a premise and none of
them ever held. The engines find that out: the premise goes along as one more claim, `reachable` for a state and, where it
speaks of the state after, a `step` that the negation holds (violated where the premise occurred).
"""

from __future__ import annotations

from collections.abc import Iterable

from rocketproof_model import Expr, Property, any_of
from rocketproof_model.language import walk

PREFIX = "premise of "


def premise(claim: Property) -> Expr | None:
    """What must hold somewhere for the claim to say anything; None if it always does."""
    if claim.kind == "leads_to":
        return None if claim.formula.op == "const" else claim.formula
    if claim.kind not in ("always", "step", "lemma"):
        return None
    premises = [_of(part) for part in _parts("and", claim.formula)]
    if not premises or any(p is None for p in premises):
        return None
    return any_of(premises)


def _of(part: Expr) -> Expr | None:
    if part.op != "or" or part.args[0].op != "not":
        return None
    first: Expr = part.args[0].args[0]
    further = _of(part.args[1])
    return first if further is None else first & further


def _parts(op: str, term: Expr) -> Iterable[Expr]:
    stack = [term]
    while stack:
        e = stack.pop()
        if e.op == op:
            stack.extend(reversed(e.args))
        else:
            yield e


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
