"""Claims about states that every step preserves, whatever the constants: proven action by action, by weakest preconditions.

A claim about the state after an action becomes a term over the state before: assigned elements are replaced by their new values. Each
action is therefore one lemma for all constants and parameters. `symbolic.induction` considers more than one action, for an instance with
known constants.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..language import Action, Expr, Model, Property, all_of, any_of, implies, rewrite
from ..language.actions import written
from ..lemmas import VACUOUS, prove
from ..result import Limits


def before(action: Action, claim: Expr) -> Expr:
    """Return the weakest precondition of the claim for the action: the claim itself if the action assigns nothing that it reads."""
    return rewrite(claim, lambda e: written(action.updates, e) if e.op == "ref" else None)


def preserved(model: Model, claims: Sequence[Expr], *, limits: Limits = Limits()) -> tuple[Expr, ...]:
    """Return the claims that hold initially and that every step preserves if all of them hold before it, for all constants.

    A claim that a step may violate is given up, and with it the claims that need it. `limits` apply to each proof; a claim whose proof
    needs more is given up too.
    """
    start = _start(model)
    every = holds(model, start, all_of(claims), limits)
    left = [claim for claim in claims if every or holds(model, start, claim, limits)]
    while True:
        known = all_of(left)
        broken = {claim for action in model.actions for claim in _broken(model, action, known, left, limits)}
        if not broken:
            return tuple(left)
        left = [claim for claim in left if claim not in broken]


def holds(model: Model, premise: Expr, claim: Expr, limits: Limits) -> bool:
    """Return whether the claim is proven, and has a value, for all values that satisfy the premise; also if no values do."""
    lemma = Property("lemma", "the premise implies the claim", "lemma", implies(premise, claim))
    outcome = prove(model, lemma, limits=limits)
    return outcome.verdict == "holds" or outcome.reason == VACUOUS


def _start(model: Model) -> Expr:
    """Return the condition that the state is an initial state."""
    elements = [
        any_of(variable.element(at) == start for start in starts)
        for variable in model.variables
        for at, starts in zip(variable.elements(), variable.init, strict=True)
    ]
    return all_of([*elements, *model.starts])


def _broken(model: Model, action: Action, known: Expr, claims: Sequence[Expr], limits: Limits) -> list[Expr]:
    """Return the claims that the action may violate; first all that it affects are tried together."""
    premise = all_of([known, *(guard.condition for guard in action.guards)])
    asked = {claim: changed for claim in claims if (changed := before(action, claim)) is not claim}
    if not asked or holds(model, premise, all_of(asked.values()), limits):
        return []
    return [claim for claim, changed in asked.items() if not holds(model, premise, changed, limits)]
