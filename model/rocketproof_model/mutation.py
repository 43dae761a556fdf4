"""Mutants: one-place changes of a model, all compiled in at once and switched on by a constant.

`with_mutants(model, mutants)` has a further constant `mutant`; its value k > 0 makes the k-th mutant's guard or effect
take its changed form, and 0 is the model as it was. So trying a hundred mutants costs one compilation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from .errors import ModelError
from .language import Action, Bool, Expr, Guard, Int, Model, Update, coerce, ite

CONSTANT = "mutant"
Change = Callable[[Expr], object]


@dataclass(frozen=True)
class Mutant:
    """A changed guard (`guard` names it) or effect (`sets` names the variable) of one action.

    `change` gets the condition or the assigned term and returns the changed one.
    """

    id: str
    sentence: str
    action: str
    change: Change
    guard: str = ""
    sets: str = ""


def negated(condition: Expr) -> Expr:
    """The guard's opposite."""
    return ~condition


def dropped(condition: Expr) -> bool:
    """The guard never refuses."""
    return True


def with_mutants(model: Model, mutants: Sequence[Mutant]) -> Model:
    """The model with the constant `mutant` (0 = none, k = the k-th of `mutants`).

    Raises ModelError if a mutant names an action, guard or variable that is not there.
    """
    type_ = Int(0, len(mutants))
    chosen = Expr("given", (CONSTANT,), type_)
    actions = {a.name: a for a in model.actions}
    for number, mutant in enumerate(mutants, 1):
        if mutant.action not in actions:
            model.named(mutant.action)
        actions[mutant.action] = _mutate(actions[mutant.action], mutant, chosen == number)
    return model.with_actions(actions.values(), **{CONSTANT: (type_, 0)})


def _mutate(action: Action, mutant: Mutant, active: Expr) -> Action:
    if mutant.guard:
        old = action.guard(mutant.guard)
        condition = ite(active, coerce(mutant.change(old.condition), Bool), old.condition)
        guards = tuple(Guard(g.name, condition, g.sentence, g.bound, g.place) if g is old else g for g in action.guards)
        return replace(action, guards=guards)
    targets = [u for u in action.updates if u.target.args[0].name == mutant.sets]
    if not targets:
        known = ", ".join(sorted({u.target.args[0].name for u in action.updates}))
        raise ModelError(f"mutant {mutant.id}: action {action.name} does not set {mutant.sets!r}", f"it sets {known}")
    updates = []
    for update in action.updates:
        if update in targets:
            changed = coerce(mutant.change(update.value), update.target.args[0].type)
            update = Update(update.target, ite(active, changed, update.value), update.place)
        updates.append(update)
    return replace(action, updates=tuple(updates))


__all__ = ["CONSTANT", "Mutant", "dropped", "negated", "with_mutants"]
