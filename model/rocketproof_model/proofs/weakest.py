"""Claims about states that every step keeps, whatever the constants: proven action by action, by weakest preconditions.

A claim about the state after an action is a term over the state before it, in which what the action assigns stands where it was read. So
each action is a lemma, for all constants and parameters at once. `symbolic.induction` looks further, at an instance whose constants are
known.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..language import Action, Expr, Model, Property, all_of, any_of, implies, rewrite
from ..language.actions import written
from ..lemmas import VACUOUS, prove
from ..result import Limits


def before(action: Action, claim: Expr) -> Expr:
    """What holds before the action exactly if the claim holds after it: the claim itself, if the action assigns nothing that it reads."""
    return rewrite(claim, lambda e: written(action.updates, e) if e.op == "ref" else None)


def kept(model: Model, claims: Sequence[Expr], *, limits: Limits = Limits()) -> tuple[Expr, ...]:
    """Those of the claims that hold at the start and that every step keeps, if they all hold before it, for all values of the constants.

    A claim that a step may break is given up, and with it the claims that need it. `limits` are those of one proof; a claim for which it
    is not enough is given up, too.
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
    """Whether the claim is proven, and has a value, for all values that meet the premise; if none do, it is."""
    lemma = Property("lemma", "the premise implies the claim", "lemma", implies(premise, claim))
    found = prove(model, lemma, limits=limits)
    return found.verdict == "holds" or found.reason == VACUOUS


def _start(model: Model) -> Expr:
    """That the state is an initial one."""
    elements = [
        any_of(variable.element(at) == start for start in starts)
        for variable in model.variables
        for at, starts in zip(variable.elements(), variable.init, strict=True)
    ]
    return all_of([*elements, *model.starts])


def _broken(model: Model, action: Action, known: Expr, claims: Sequence[Expr], limits: Limits) -> list[Expr]:
    """The claims that the action may break; all that it touches are asked at once first."""
    premise = all_of([known, *(guard.condition for guard in action.guards)])
    asked = {claim: changed for claim in claims if (changed := before(action, claim)) is not claim}
    if not asked or holds(model, premise, all_of(asked.values()), limits):
        return []
    return [claim for claim, changed in asked.items() if not holds(model, premise, changed, limits)]
