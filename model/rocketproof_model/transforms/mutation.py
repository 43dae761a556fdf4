"""Mutants: one-place changes of a model, all compiled in at once and selected by a constant.

`with_mutants(model, mutants)` has a further constant `mutant`. Its value k > 0 gives the k-th mutant's guard or effect its changed form; 0
is the unchanged model. Trying a thousand mutants costs one compilation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..errors import ModelError
from ..language import Action, Assignment, Bool, Expr, Guard, Int, Model, coerce, ite

CONSTANT = "mutant"
Change = Callable[[Any], object]


@dataclass(frozen=True)
class ModelMutant:
    """A changed guard (`guard` names it) or effect (`sets` names the variable) of one action.

    `change` receives the Guard, or each Assignment to the variable, and returns the changed condition or value.
    """

    id: str
    sentence: str
    action: str
    change: Change
    guard: str = ""
    sets: str = ""


def negated(condition: Expr) -> Expr:
    """Return the negation of a guard's condition."""
    return ~condition


def dropped(condition: Expr) -> bool:
    """Return the condition of a guard that never refuses."""
    return True


def with_mutants(model: Model, mutants: Sequence[ModelMutant]) -> Model:
    """Return the model with the constant `mutant` (0 = none, k = the k-th of `mutants`).

    Raises ModelError if a mutant names an action, guard or variable that does not exist.
    """
    type_ = Int(0, len(mutants))
    chosen = Expr("given", (CONSTANT,), type_)
    mutated: dict[str, list[tuple[Expr, ModelMutant]]] = {}
    for number, mutant in enumerate(mutants, 1):
        _check(model.named(mutant.action), mutant)
        mutated.setdefault(mutant.action, []).append((chosen == number, mutant))
    return model.with_actions([_mutated(a, mutated.get(a.name, [])) for a in model.actions], **{CONSTANT: (type_, 0)})


def _check(action: Action, mutant: ModelMutant) -> None:
    if mutant.guard:
        action.guard(mutant.guard)
        return
    known = sorted({update.target.args[0].name for update in action.updates})
    if mutant.sets not in known:
        raise ModelError(
            f"mutant {mutant.id}: action {action.name} does not set {mutant.sets!r}", f"it sets {', '.join(known) or 'nothing'}"
        )


def _mutated(action: Action, mutants: Sequence[tuple[Expr, ModelMutant]]) -> Action:
    def guard(old: Guard) -> Guard:
        condition = old.condition
        for active, mutant in mutants:
            if mutant.guard == old.name:
                condition = ite(active, coerce(mutant.change(old), Bool), condition)
        return replace(old, condition=condition) if condition is not old.condition else old

    def update(old: Assignment) -> Assignment:
        variable, value, when = old.target.args[0], old.value, old.when
        for active, mutant in mutants:
            if mutant.sets == variable.name:
                changed = old.becoming(coerce(mutant.change(old), variable.type))
                value, when = ite(active, changed.value, value), ite(active, changed.when, when)
        return replace(old, value=value, when=when) if value is not old.value else old

    return replace(action, guards=tuple(map(guard, action.guards)), updates=tuple(map(update, action.updates))) if mutants else action


__all__ = ["CONSTANT", "ModelMutant", "dropped", "negated", "with_mutants"]
