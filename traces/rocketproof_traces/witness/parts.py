"""The parts of a model as lanes: the actor of a step, the parts that it sends to or receives from, and the owner of a variable.

A *part* is an element of an index (`broker-a`; `Broker 0` if the model gives its elements no names) or a single named part (`name server`).
An action declares its actor. Otherwise the actor is the element named by the action's first parameter over an index, or else the part that
plays its role, or `system`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from rocketproof_model import Action, EvaluationError, Expr, Instance, Model, Property, Variable
from rocketproof_model.interpreter import Environment, State, evaluate
from rocketproof_model.language import IndexType, MaybeType, Type, walk

SYSTEM = "system"


@dataclass(frozen=True)
class Acting:
    """The parts in a step by name: the actor, the receiver of its message, and the sender of the message that it takes."""

    by: str
    to: str | None = None
    source: str | None = None


def part_name(of: IndexType, code: int) -> str:
    """Return the name of an element of an index as an actor."""
    return of.names[code] if of.names else f"{of.name} {code}"


def acting(instance: Instance, state: State, action: Action, args: Sequence[int]) -> Acting:
    """Return the parts involved in an action instance taken in this state."""
    scope = Environment(state, dict(zip(action.parameters, args, strict=True)), instance.constants)
    by = _part(action.by, scope) or _by_default(instance.model, action, args)
    if action.by is action.to is action.source is None and not instance.model.parts:
        return Acting(by, _other(instance.model, action, args, by))
    to, source = (part if part != by else None for part in (_part(action.to, scope), _part(action.source, scope)))
    return Acting(by, to, source)


def _part(term: Expr | str | None, scope: Environment) -> str | None:
    if not isinstance(term, Expr):
        return term
    try:
        return _named(term.type, evaluate(term, scope))
    except EvaluationError:
        return None  # for example the broker of a request that does not exist


def _named(type_: Type, code: int) -> str | None:
    if isinstance(type_, MaybeType):
        return _named(type_.of, code - 1 + type_.of.lo) if code else None
    return part_name(type_, code) if isinstance(type_, IndexType) else None


def _by_default(model: Model, action: Action, args: Sequence[int]) -> str:
    for type_, code in zip(action.parameters.values(), args, strict=True):
        if isinstance(type_, IndexType) and (not model.parts or type_ in model.parts):
            return part_name(type_, code)
    return model.roles.get(action.actor, action.actor or SYSTEM)


def _other(model: Model, action: Action, args: Sequence[int], by: str) -> str | None:
    """Return another part among the parameters, in a model that does not declare the involved parts."""
    known = kinds(model)
    parts = (_acting(known, type_, code) for type_, code in zip(action.parameters.values(), args, strict=True))
    return next((part for part in parts if part and part != by), None)


def _acting(known: Collection[IndexType | str], of: Type, code: int) -> str:
    """Return the part that an element is or belongs to, empty if there is none."""
    if not isinstance(of, IndexType):
        return ""
    if of in known:
        return part_name(of, code)
    return _acting(known, of.owner, code // of.block) if of.owner else ""


def kinds(model: Model) -> list[IndexType | str]:
    """Return the kinds of parts in the order of the lanes: as the model declares them, or else the indices of the actors, in the order
    of the actions.

    If all actions start with the same index, every index that an action takes counts, so that partners appear.
    """
    if model.parts:
        return list(model.parts)
    kinds_found: dict[IndexType | str, None] = {}
    for action in model.actions:
        first = next((t for t in action.parameters.values() if isinstance(t, IndexType)), None)
        for part in (action.by if action.by is not None else first, action.to, action.source):
            kind = _kind(part.type) if isinstance(part, Expr) else part
            if kind is not None:
                kinds_found[kind] = None
    if len(kinds_found) == 1:
        for action in model.actions:
            kinds_found.update({t: None for t in action.parameters.values() if isinstance(t, IndexType)})
    return list(kinds_found)


def _kind(type_: Type) -> IndexType | None:
    of = type_.of if isinstance(type_, MaybeType) else type_
    return of if isinstance(of, IndexType) else None


def owner(known: Collection[IndexType | str], variable: Variable, at: Sequence[int]) -> str:
    """Return the part that owns an element of a variable, empty if none; `known` are the model's `kinds`."""
    if variable.part:
        return variable.part
    return next(filter(None, (_acting(known, axis, k) for axis, k in zip(variable.over, at, strict=True))), "")


def concerned(model: Model, claim: Property) -> set[str]:
    """Return the parts whose variables a property reads, whether they act or not."""
    return set[str]().union(*(owners(model, term) for term in claim.terms))


def owners(model: Model, term: Expr) -> set[str]:
    """Return the parts whose variables a term reads."""
    owning, known = set(), kinds(model)
    for e in walk(term):
        if e.op in ("ref", "after"):
            variable: Variable = e.args[0]
            fixed = all(i.op == "const" for i in e.args[1:])
            places = [tuple(i.args[0] for i in e.args[1:])] if fixed else variable.elements()
            owning |= {owner(known, variable, at) for at in places}
    return owning - {""}


def in_order(model: Model, names: set[str]) -> list[str]:
    """Sort parts in the order of their lanes: by kind and by element. Roles and `system`, which have neither index nor declaration, come
    first."""
    order: dict[str, int] = {}
    for kind in kinds(model):
        for name in [kind] if isinstance(kind, str) else [part_name(kind, code) for code in kind.codes()]:
            order.setdefault(name, len(order))
    return sorted(names, key=lambda name: (order.get(name, -1), name))


__all__ = ["SYSTEM", "Acting", "acting", "concerned", "in_order", "kinds", "owner", "owners", "part_name"]
