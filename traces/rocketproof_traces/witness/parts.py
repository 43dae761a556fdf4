"""Who acts: the parts of a model as lanes, from whom to whom a step goes, and whose a variable is.

A *part* is an element of an index (`broker-a`; `Broker 0` where the model gives its elements no names) or a single one with a name
(`name server`). An action says who acts; where it does not, the element acts that its first parameter over an index names, or else the
part that plays its role, or `system`.
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
    """Who acts in a step, whom it sends something to, and whose message it takes, by name."""

    by: str
    to: str | None = None
    source: str | None = None


def part_name(of: IndexType, code: int) -> str:
    """What an element of an index is called where it acts."""
    return of.names[code] if of.names else f"{of.name} {code}"


def acting(instance: Instance, state: State, action: Action, args: Sequence[int]) -> Acting:
    """Who is involved in an action instance that is taken in this state."""
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
        return None  # such as the broker of a request that there is not


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
    """Another part among the parameters, in a model that does not say who is involved."""
    known = kinds(model)
    parts = (_acting(known, type_, code) for type_, code in zip(action.parameters.values(), args, strict=True))
    return next((part for part in parts if part and part != by), None)


def _acting(known: Collection[IndexType | str], of: Type, code: int) -> str:
    """The part that an element is or belongs to, "" if there is none."""
    if not isinstance(of, IndexType):
        return ""
    if of in known:
        return part_name(of, code)
    return _acting(known, of.owner, code // of.block) if of.owner else ""


def kinds(model: Model) -> list[IndexType | str]:
    """What acts, in the order of the lanes: as the model declares it, else the indices that name who acts, in the order of the actions.

    Where all actions start with one index, every index that an action takes counts, so that partners show.
    """
    if model.parts:
        return list(model.parts)
    found: dict[IndexType | str, None] = {}
    for action in model.actions:
        first = next((t for t in action.parameters.values() if isinstance(t, IndexType)), None)
        for part in (action.by if action.by is not None else first, action.to, action.source):
            kind = _kind(part.type) if isinstance(part, Expr) else part
            if kind is not None:
                found[kind] = None
    if len(found) == 1:
        for action in model.actions:
            found.update({t: None for t in action.parameters.values() if isinstance(t, IndexType)})
    return list(found)


def _kind(type_: Type) -> IndexType | None:
    of = type_.of if isinstance(type_, MaybeType) else type_
    return of if isinstance(of, IndexType) else None


def owner(known: Collection[IndexType | str], variable: Variable, at: Sequence[int]) -> str:
    """The part that an element of a variable belongs to, "" if it belongs to none; `known` are the model's `kinds`."""
    if variable.part:
        return variable.part
    return next(filter(None, (_acting(known, axis, k) for axis, k in zip(variable.over, at, strict=True))), "")


def concerned(model: Model, claim: Property) -> set[str]:
    """The parts that a property speaks of: those whose variables it reads, whether they do anything or not."""
    return set[str]().union(*(owners(model, term) for term in claim.terms))


def owners(model: Model, term: Expr) -> set[str]:
    """The parts whose variables a term reads."""
    found, known = set(), kinds(model)
    for e in walk(term):
        if e.op in ("ref", "after"):
            variable: Variable = e.args[0]
            fixed = all(i.op == "const" for i in e.args[1:])
            places = [tuple(i.args[0] for i in e.args[1:])] if fixed else variable.elements()
            found |= {owner(known, variable, at) for at in places}
    return found - {""}


def in_order(model: Model, names: set[str]) -> list[str]:
    """Parts as their lanes stand: by kind and by element; roles and `system`, which no index and no declaration has, come first."""
    order: dict[str, int] = {}
    for kind in kinds(model):
        for name in [kind] if isinstance(kind, str) else [part_name(kind, code) for code in kind.codes()]:
            order.setdefault(name, len(order))
    return sorted(names, key=lambda name: (order.get(name, -1), name))


__all__ = ["SYSTEM", "Acting", "acting", "concerned", "in_order", "kinds", "owner", "owners", "part_name"]
