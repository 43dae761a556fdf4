"""Models made of models, and variables that remember: what is added to a model from outside, without a change to what it does."""

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
    """Add the variables, actions and properties of another model to this one; a function that says what a term of it is here.

    Their names get `prefix` before them, with a `_` between, and ids of properties a blank. `share` names variables of the other model
    that are variables here, of the same type and indices, by their names there; both models change them. Constants of one name are one.
    Raises ModelError where names meet, or what is shared is not alike.
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

    def here(term: Expr) -> Expr:
        return moved(term, to)

    for container in other.containers:
        if container.variables[0].name not in known:
            held = tuple(to[v] for v in container.variables)
            model.containers.append(replace(container, name=f"{prefix}_{container.name}", variables=held))
    model.starts += [here(condition) for condition in other.starts]
    model.start_places |= {here(condition): place for condition, place in other.start_places.items()}
    for action in other.actions:
        model.actions.append(replace(moved_action(action, to), name=_free(model, f"{prefix}_{action.name}")))
    for claim in other.properties:
        if any(p.id == f"{prefix} {claim.id}" for p in model.properties):
            raise ModelError(f"property {prefix} {claim.id} is declared twice", "include each model under a prefix of its own")
        clock = claim.clock and f"{prefix}_{claim.clock}"
        model.properties.append(replace(claim.mapped(here), id=f"{prefix} {claim.id}", clock=clock))
    return here


def _shared(model: Model, variable: Variable, name: str) -> Variable:
    found = model.variable(name)
    if (found.type, found.over) != (variable.type, variable.over):
        raise ModelError(f"{variable.name} is shared as {name}, which is of another type or over other indices", "declare both alike")
    return found


def _added(model: Model, variable: Variable, prefix: str) -> Variable:
    name = f"{prefix}_{variable.name}"
    if any(v.name == name for v in model.variables):
        raise ModelError(f"variable {name} is declared twice", "include each model under a prefix of its own")
    made = replace(variable, name=name, first=model.slots)
    model.variables.append(made)
    model.slots += made.size
    return made


def _free(model: Model, name: str) -> str:
    if any(action.name == name for action in model.actions):
        raise ModelError(f"action {name} is declared twice", "include each model under a prefix of its own")
    return name


def history(model: Model, name: str, type_: Type, *, init: Any, becomes: Callable[[Expr], Any], sentence: str = "") -> Expr:
    """Declare a variable that remembers what happened, for properties to speak of: every action declared so far makes it `becomes(itself)`.

    There `after(x)` is x behind the action. No guard and no other variable depends on it. Declare it behind the actions; raises ModelError
    where there is none yet.
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
    def behind(e: Expr) -> Expr | None:
        return written(action.updates, Expr("ref", e.args, e.type)) if e.op == "after" else None

    return replace(action, updates=(*action.updates, Assignment(variable, rewrite(value, behind), place)))


__all__ = ["history", "include"]
