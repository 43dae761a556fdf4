"""A part of a model that decides some of its variables.

Variables are left out if neither the wanted variables nor the guards of actions that change these depend on them. Actions that would change
nothing are left out too. Bounds are dropped, because they keep a scope finite and are no rule of the described system. The part therefore
has all behaviour of the wanted variables in any scope of these types, and possibly more.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ..language import Action, Expr, Model, Variable, children, walk
from ..language.actions import moved_action


def sliced(model: Model, wanted: Iterable[str], actions: Iterable[str] | None = None, last: str | tuple[str, ...] = "") -> Model:
    """Return the part of the model that decides the variables `wanted`, restricted to `actions` if given.

    Variables whose names begin with `last`, or with one of its elements, come last in a state; the others keep their order. Properties are
    left out. Raises ModelError for a name that the model does not have.
    """
    names = None if actions is None else {model.named(name).name for name in actions}
    chosen = [a for a in model.actions if names is None or a.name in names]
    variables = {model.variable(name) for name in wanted}
    while True:
        deciding = [a for a in chosen if any(u.target.args[0] in variables for u in a.updates)]
        more = {v for a in deciding for v in _deciding(a, variables)} - variables
        if not more:
            break
        variables |= more
    order = sorted((v for v in model.variables if v in variables), key=lambda v: bool(last) and v.name.startswith(last))
    part = Model(model.name, constants=dict(model.constants), sentences=model.sentences)
    to: dict[Variable, Variable] = {}
    for variable in order:
        to[variable] = replace(variable, first=part.slots)
        part.variables.append(to[variable])
        part.slots += variable.size
    memo: dict[Expr, Expr] = {}
    part.actions = [moved_action(_without(a, variables), to, memo) for a in deciding]
    return part


def control(model: Model) -> set[Variable]:
    """Return the variables whose values decide what happens next: guards and indices depend on them. The others are only copied."""
    variables: set[Variable] = set()
    for action in model.actions:
        variables |= _variables(g.condition for g in action.guards if not g.bound)
        for update in action.updates:
            variables |= _variables(children(update.target))
            variables |= _variables(i for e in walk(update.value) if e.op == "ref" for i in children(e))
    while True:
        more = {
            v for a in model.actions for u in a.updates if u.target.args[0] in variables for v in _variables([u.value, u.when])
        } - variables
        if not more:
            return variables
        variables |= more


def _deciding(action: Action, variables: set[Variable]) -> set[Variable]:
    terms = [g.condition for g in action.guards if not g.bound]
    terms += [t for u in action.updates if u.target.args[0] in variables for t in (u.value, u.when, *children(u.target))]
    return _variables(terms)


def _variables(terms: Iterable[Expr]) -> set[Variable]:
    return {e.args[0] for e in walk(*terms) if e.op == "ref"}


def _without(action: Action, variables: set[Variable]) -> Action:
    """Return the action without bounds and without assignments to other variables."""
    guards = tuple(g for g in action.guards if not g.bound)
    updates = tuple(u for u in action.updates if u.target.args[0] in variables)
    # the acting part and the sentence may have a term over a variable that is left out
    return replace(action, guards=guards, updates=updates, by=None, to=None, source=None, says=None)


__all__ = ["control", "sliced"]
