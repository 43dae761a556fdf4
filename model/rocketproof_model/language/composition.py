"""Models made of models, and history variables: additions to a model that do not change its behaviour."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ..errors import ModelError, caller
from .actions import Action, Assignment, moved_action, written
from .expr import Expr, coerce
from .model import Model
from .traverse import rewrite
from .types import Type
from .variables import Variable, moved


def include(model: Model, other: Model, prefix: str, share: Mapping[str, str] | None = None) -> Callable[[Expr], Expr]:
    """Add the variables, actions and properties of another model. Return a function that translates its terms into terms of this model.

    Names get `prefix` and a `_` before them, ids of properties the prefix and a blank. `share` maps variables of the other model to
    variables of this model with the same type and indices; both models change them. Constants of the same name are shared.

    Raises ModelError for duplicate names, or if a shared variable or constant differs.
    """
    known = dict(share or {})
    if not isinstance(prefix, str) or not prefix.isidentifier():
        raise ModelError(f"a model is included under the name {prefix!r}", "give a prefix such as 'left'")
    if odd := sorted(known.keys() - {v.name for v in other.variables}):
        raise ModelError(f"{odd[0]} is shared and no variable of model {other.name}", "name its variables, and those here that they are")
    for name, (type_, default) in other.constants.items():
        if model.constants.setdefault(name, (type_, default)) != (type_, default):
            raise ModelError(f"constant {name} of model {other.name} is another one here", "give the two constants two names")
    model.sentences = {**other.sentences, **model.sentences}
    to: dict[Variable, Variable] = {}
    for variable in other.variables:
        to[variable] = _shared(model, variable, known[variable.name]) if variable.name in known else _added(model, variable, prefix)

    def translated(term: Expr) -> Expr:
        return moved(term, to)

    for container in other.containers:
        if container.variables[0].name not in known:
            held = tuple(to[v] for v in container.variables)
            model.containers.append(replace(container, name=f"{prefix}_{container.name}", variables=held))
    model.starts += [translated(condition) for condition in other.starts]
    model.start_places |= {translated(condition): place for condition, place in other.start_places.items()}
    for action in other.actions:
        model.actions.append(replace(moved_action(action, to), name=_free(model, f"{prefix}_{action.name}")))
    for claim in other.properties:
        if any(p.id == f"{prefix} {claim.id}" for p in model.properties):
            raise ModelError(f"property {prefix} {claim.id} is declared twice", "include each model under a prefix of its own")
        clock = claim.clock and f"{prefix}_{claim.clock}"
        model.properties.append(replace(claim.mapped(translated), id=f"{prefix} {claim.id}", clock=clock))
    return translated


def _shared(model: Model, variable: Variable, name: str) -> Variable:
    shared = model.variable(name)
    if (shared.type, shared.over) != (variable.type, variable.over):
        raise ModelError(f"{variable.name} is shared as {name}, which is of another type or over other indices", "declare both alike")
    return shared


def _added(model: Model, variable: Variable, prefix: str) -> Variable:
    name = f"{prefix}_{variable.name}"
    if any(v.name == name for v in model.variables):
        raise ModelError(f"variable {name} is declared twice", "include each model under a prefix of its own")
    copy = replace(variable, name=name, first=model.slots)
    model.variables.append(copy)
    model.slots += copy.size
    return copy


def _free(model: Model, name: str) -> str:
    if any(action.name == name for action in model.actions):
        raise ModelError(f"action {name} is declared twice", "include each model under a prefix of its own")
    return name


def history(model: Model, name: str, type_: Type, *, init: Any, becomes: Callable[[Expr], Any], sentence: str = "") -> Expr:
    """Declare a variable that records what happened, for use in properties. Every action declared so far sets it to `becomes(itself)`.

    In `becomes`, `after(x)` is the value of x after the action. No guard and no other variable depends on the new variable. Declare it
    after the actions; raises ModelError if there is no action yet.
    """
    if not model.actions:
        raise ModelError(f"history variable {name} is declared before all actions", "declare it behind them: each is to change it")
    variable: Expr = model.var(name, type_, init=init, sentence=sentence)
    value, place = coerce(becomes(variable), type_), caller()
    model.actions[:] = [_remembering(action, variable, value, place) for action in model.actions]
    for action in model.actions:
        model.check(action)
    return variable


def _remembering(action: Action, variable: Expr, value: Expr, place: str) -> Action:
    def after_action(e: Expr) -> Expr | None:
        return written(action.updates, Expr("ref", e.args, e.type)) if e.op == "after" else None

    return replace(action, updates=(*action.updates, Assignment(variable, rewrite(value, after_action), place)))


__all__ = ["history", "include"]
