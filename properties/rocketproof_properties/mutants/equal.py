"""Mutants that are none: what they change has the same value in every state that the types allow, reachable or not."""

from __future__ import annotations

from rocketproof_model import Action, Bool, Expr, Model, Property, all_of, lemmas
from rocketproof_model.language import coerce
from rocketproof_model.mutation import Mutant
from rocketproof_model.result import Limits

_SECONDS = 10.0


def equal(model: Model, mutant: Mutant) -> bool:
    """Whether z3 proves that the mutant changes nothing, for all values of the variables, the parameters and the constants."""
    claim = Property(mutant.id, "the mutant changes nothing", "lemma", _formula(model.named(mutant.action), mutant))
    return lemmas.prove(model, claim, limits=Limits(seconds=_SECONDS)).verdict == "holds"


def _formula(action: Action, mutant: Mutant) -> Expr:
    """Where the other guards hold, the guard says the same; where all guards hold, the same values are assigned."""
    others = all_of(guard.condition for guard in action.guards if guard.name != mutant.guard)
    if mutant.guard:
        guard = action.guard(mutant.guard)
        same = coerce(mutant.change(guard), Bool) == guard.condition
    else:
        changed = [update for update in action.updates if update.target.args[0].name == mutant.sets]
        same = all_of(coerce(mutant.change(update), update.target.type) == update.value for update in changed)
    found: Expr = ~others | same
    return found
