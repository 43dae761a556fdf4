"""Generated mutants: every guard and every assignment of every action, changed in the ways in which people make mistakes.

A guard is dropped, negated, loses one part of an `and` or an `or`, or has a comparison moved by one. An assignment is left out, loses or
negates its condition, or has another value: the initial value, the first of the type, the next, one more or less, or a variable of the same
type. A change is no mutant if its term equals the original or another mutant. Bounds are not changed: they are no rules of the described
system, and a different bound is a different scope.

A mutant's id consists of its action and the changed element, in the model's names. The same change in two scopes therefore has the same id.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from itertools import count
from operator import and_, or_

from ..language import (
    Action,
    Assignment,
    Bool,
    EnumType,
    Expr,
    Guard,
    IndexType,
    Model,
    Variable,
    children,
    coerce,
    const,
    ite,
    joined,
    rewrite,
    show,
)
from .mutation import Change, ModelMutant

Variant = tuple[str, Expr]
"""A description of the change, and the changed term."""
_JOINS: dict[str, Callable[[Expr, Expr], Expr]] = {"and": and_, "or": or_}


def mutants(model: Model) -> tuple[ModelMutant, ...]:
    """Return all mutants of a model's guards and assignments, in the model's order, with distinct ids."""
    by_id: dict[str, ModelMutant] = {}
    for action in model.actions:
        for mutant in (*_of_guards(action), *_of_updates(model, action)):
            name = next(name for name in _names(mutant.id) if name not in by_id)
            by_id[name] = replace(mutant, id=name)
    return tuple(by_id.values())


def _names(id_: str) -> Iterator[str]:
    """Yield the id, and further ids for mutants whose shortened terms are equal."""
    yield id_
    yield from (f"{id_} ({number})" for number in count(2))


def _of_guards(action: Action) -> Iterator[ModelMutant]:
    for guard in action.guards:
        if guard.bound:
            continue
        seen = {guard.condition}
        for words, condition in _guard_variants(guard):
            if condition not in seen:
                seen.add(condition)
                yield _mutant(action, f"guard '{guard.name}' {words}", _always(condition), guard=guard.name)


def _guard_variants(guard: Guard) -> Iterator[Variant]:
    yield "dropped", const(1, Bool)
    yield "negated", ~guard.condition
    yield from _inside(guard.condition)


def _inside(term: Expr) -> Iterator[Variant]:
    """Yield variants of a condition: one part dropped, or one comparison moved."""
    for site in _sites(term):
        for words, changed in _site_variants(site):
            yield words, _replaced(term, site, changed)


def _replaced(term: Expr, site: Expr, by: Expr) -> Expr:
    return rewrite(term, lambda e: by if e is site else None)


def _sites(term: Expr) -> Iterator[Expr]:
    """Yield every distinct subterm, outer terms first; a chain of `and` or of `or` is one site."""
    seen: set[Expr] = set()
    stack = [term]
    while stack:
        e = stack.pop()
        if e not in seen:
            seen.add(e)
            yield e
            stack += reversed(joined(e.op, e) if e.op in _JOINS else children(e))


def _site_variants(site: Expr) -> Iterator[Variant]:
    if site.op in _JOINS:
        parts = joined(site.op, site)
        for k, part in enumerate(parts):
            yield f"without {_short(part)}", reduce(_JOINS[site.op], parts[:k] + parts[k + 1 :])
    elif site.op == "lt":
        x, y = site.args
        yield f"with {_short(site)} taken for <=", x <= y
        yield f"with {_short(site)} one earlier", x + 1 < y
    elif site.op == "le":
        x, y = site.args
        yield f"with {_short(site)} taken for <", x < y
        yield f"with {_short(site)} one later", x <= y + 1
    elif site.op == "eq":
        x, y = site.args
        if x.type.sort == "int" and not isinstance(x.type, IndexType):
            yield f"with {_short(site)} one more", x == y + 1
            yield f"with {_short(site)} one less", x == y - 1
        elif y.op == "const" and isinstance(y.type, EnumType | IndexType) and y.type.size > 2:
            other = _next(y)
            yield f"with {_short(site)} taken for {show(other)}", x == other
    elif site.op == "ite" and site.args[1].type.sort != "bool":
        test, x, y = site.args
        yield f"with {_short(test)} the other way round", ite(test, y, x)


def _next(value: Expr) -> Expr:
    """Return the next constant of the type; after the last comes the first."""
    type_ = value.type
    return const(type_.lo + (value.args[0] + 1 - type_.lo) % type_.size, type_)


def _of_updates(model: Model, action: Action) -> Iterator[ModelMutant]:
    """Yield mutants of assignments.

    Those to elements of one variable are changed together: a loop over an index is one line of the model.
    """
    groups: dict[Variable, list[Assignment]] = {}
    for update in action.updates:
        groups.setdefault(update.target.args[0], []).append(update)
    for variable, updates in groups.items():
        seen = {tuple(update.value for update in updates)}
        for words, values in _update_variants(model, variable, updates):
            if tuple(values) not in seen:
                seen.add(tuple(values))
                becomes = {(update.target, update.value): value for update, value in zip(updates, values, strict=True)}
                yield _mutant(action, f"{variable.name} {words}", _by_update(becomes), sets=variable.name)


def _always(condition: Expr) -> Change:
    return lambda _: condition


def _by_update(values: Mapping[tuple[Expr, Expr], Expr]) -> Change:
    return lambda update: values[update.target, update.value]


def _mutant(action: Action, words: str, change: Change, **place: str) -> ModelMutant:
    return ModelMutant(f"{action.name}: {words}", words, action.name, change, **place)


def _update_variants(model: Model, variable: Variable, updates: Sequence[Assignment]) -> Iterator[tuple[str, list[Expr]]]:
    def each(change: Callable[[Assignment], Expr]) -> list[Expr]:
        return [coerce(change(update), variable.type) for update in updates]

    yield "not set", each(lambda u: u.target)
    if all(_when(u) for u in updates):
        yield "set always", each(_value)
        yield "set when it should not be", each(_otherwise)
    starts = {start for element in variable.init for start in element}
    if len(starts) == 1:
        yield "set to its initial value", each(lambda u: _given(u, variable.init[0][0]))
    lowest = const(min(max(0, variable.type.lo), variable.type.hi), variable.type)
    yield f"set to {show(lowest)}", each(lambda u: _given(u, lowest))
    if variable.type.sort == "bool":
        yield "set to the opposite", each(lambda u: _given(u, ~_value(u)))
    elif variable.type.sort == "int" and not isinstance(variable.type, IndexType):
        yield "set to one more", each(lambda u: _given(u, _value(u) + 1))
        yield "set to one less", each(lambda u: _given(u, _value(u) - 1))
    elif all(_value(u).op == "const" for u in updates):
        yield "set to the next value", each(lambda u: _given(u, _next(_value(u))))
    other = _neighbour(model, variable)
    if other is not None:
        yield f"set to {other.name}", each(lambda u: _given(u, Expr("ref", (other, *u.target.args[1:]), other.type)))
    if len(updates) == 1:
        (update,) = updates
        value = _value(update)
        for words, changed in (*_inside(value), *_reads(model, value)):
            yield words, [coerce(_given(update, changed), variable.type)]


def _when(update: Assignment) -> tuple[Expr, Expr] | None:
    """Return the condition and the value of a conditional assignment; None for other assignments."""
    value = update.value
    if value.op == "ite" and value.args[2] is update.target:
        return value.args[0], value.args[1]
    return None


def _value(update: Assignment) -> Expr:
    conditional = _when(update)
    return update.value if conditional is None else conditional[1]


def _given(update: Assignment, value: Expr) -> Expr:
    """Return the assignment of another value under the same condition."""
    conditional = _when(update)
    return value if conditional is None else ite(conditional[0], value, update.target)


def _otherwise(update: Assignment) -> Expr:
    """Return the assignment of the same value where its condition does not hold."""
    conditional = _when(update)
    return update.value if conditional is None else ite(~conditional[0], conditional[1], update.target)


def _neighbour(model: Model, variable: Variable) -> Variable | None:
    """Return another variable of the same type over the same indices: the next one of the table if there is any, else of the model."""
    alike = [v for v in model.variables if v.type == variable.type and v.over == variable.over]
    table = [v for v in alike if v.name.partition(".")[0] == variable.name.partition(".")[0]]
    row = table if len(table) > 1 else alike
    following = row[(row.index(variable) + 1) % len(row)]
    return None if following is variable else following


def _reads(model: Model, value: Expr) -> Iterator[Variant]:
    """Yield variants that read another variable."""
    for site in _sites(value):
        other = _neighbour(model, site.args[0]) if site.op == "ref" else None
        if other is not None:
            instead = Expr("ref", (other, *site.args[1:]), other.type)
            yield f"with {instead} read for {_short(site)}", _replaced(value, site, instead)


_LONG = 60


def _short(term: Expr) -> str:
    """Return the text of the term, or its beginning and end."""
    text = show(term)
    return text if len(text) <= _LONG else f"{text[: _LONG // 2]} … {text[-_LONG // 2 :]}"
