"""Mutants that are equivalent: the changed part has the same value in every state that types and invariants allow, reachable or not."""

from __future__ import annotations

from rocketproof_model import Action, Bool, Expr, Model, all_of
from rocketproof_model.language import coerce
from rocketproof_model.proofs.weakest import holds
from rocketproof_model.result import Limits
from rocketproof_model.transforms.mutation import ModelMutant

LIMITS = Limits(seconds=10.0)
"""Limits of one proof."""


def equal(model: Model, mutant: ModelMutant, known: Expr) -> bool:
    """Whether z3 proves that the mutant changes nothing if `known` holds, for all values of variables, parameters and constants."""
    action = model.named(mutant.action)
    others = all_of(guard.condition for guard in action.guards if guard.name != mutant.guard)
    return holds(model, known & others, _same(action, mutant), LIMITS)


def _same(action: Action, mutant: ModelMutant) -> Expr:
    """The guard is equal if the other guards hold; the assigned values are equal if all guards hold."""
    if mutant.guard:
        guard = action.guard(mutant.guard)
        same: Expr = coerce(mutant.change(guard), Bool) == guard.condition
        return same
    changed = [update for update in action.updates if update.target.args[0].name == mutant.sets]
    return all_of(coerce(mutant.change(update), update.target.type) == update.value for update in changed)
