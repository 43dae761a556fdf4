"""A model and a property as JSON data, so that an interpreter in another language can take steps without Python.

Terms are rows that name their subterms by position, so a shared subterm is written once. [The format](../docs/portable-models.md) is
versioned. The explorer's page has an interpreter of it in TypeScript, which is tested against `interpreter`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any, Final

from .errors import ModelError
from .language import (
    OBSERVED,
    Action,
    Bool,
    EnumType,
    Expr,
    HoldingType,
    IndexType,
    Instance,
    Int,
    Observer,
    Property,
    Type,
    Variable,
    free,
    walk,
)

VERSION: Final = 1
EXACT: Final = 2**53 - 1
"""The largest number that every JSON reader keeps exactly. A larger constant is written as a text."""


def portable(instance: Instance, claim: Property, parts: Iterable[IndexType | str] = ()) -> dict[str, Any]:
    """Return an instance and one of its claims as JSON data. `parts` are the kinds of parts that act.

    Raises ModelError if a code of a state or an argument can exceed `EXACT`, or if an action has too many instances to be tried.
    """
    model, rows = instance.model, _Rows(instance)
    for action in model.actions:
        _ = action.count  # raises ModelError if a page could not try all instances
        for name, type_ in action.parameters.items():
            _exact(type_, f"parameter {name} of action {action.name}", action.place)
    for variable in model.variables:
        _exact(variable.type, f"variable {variable.name}", variable.place)
    variables = [[rows.type(variable.type), *map(rows.type, variable.over)] for variable in model.variables]
    actions = [_action(action, rows) for action in model.actions]
    return {
        "version": VERSION,
        "variables": variables,
        "constants": [[rows.type(model.constants[name][0]), _number(code)] for name, code in instance.constants.items()],
        "sequences": sorted(rows.variables[c.variables[0]] for c in model.containers if c.variables[0].name == f"{c.name}.length"),
        "actions": actions,
        "property": _property(claim, rows, model.actions),
        "parts": [part if isinstance(part, str) else rows.type(part) for part in parts],
        "declared": bool(model.parts),
        "roles": dict(model.roles),
        "terms": rows.terms,
        "types": rows.types,
    }


def _exact(type_: Type, what: str, place: str) -> None:
    if max(abs(type_.lo), abs(type_.hi)) > EXACT:
        raise ModelError(f"{what} is {type_}, and a page keeps numbers up to 2**53 only", "give it a smaller type", place)


def _number(code: int) -> int | str:
    return code if abs(code) <= EXACT else str(code)


class _Rows:
    """The terms and types of a model by position. A term stands after its subterms."""

    def __init__(self, instance: Instance) -> None:
        self.variables = {variable: number for number, variable in enumerate(instance.model.variables)}
        self.terms: list[list[Any]] = []
        self.types: list[dict[str, Any]] = []
        self._terms: dict[Expr, int] = {}
        self._types: dict[Type, int] = {}

    def type(self, type_: Type) -> int:
        """Return the position of a type; it is added if it is new."""
        known = self._types.get(type_)
        if known is None:
            row = self._type_row(type_)
            known = self._types[type_] = len(self.types)
            self.types.append(row)
        return known

    def _type_row(self, type_: Type) -> dict[str, Any]:
        if isinstance(type_, EnumType):
            return {"sort": "enum", "names": list(type_.names)}
        if isinstance(type_, HoldingType):
            return {"sort": type_.sort, "of": self.type(type_.of)}
        if isinstance(type_, IndexType):
            owner = {} if type_.owner is None else {"owner": self.type(type_.owner)}
            return {"sort": "index", "name": type_.name, "size": type_.size, "names": list(type_.names), **owner}
        return {"sort": "bool"} if type_ == Bool else {"sort": "int", "lo": _number(type_.lo), "hi": _number(type_.hi)}

    def term(self, term: Expr) -> int:
        """Return the position of a term; it and its subterms are added if they are new."""
        for e in walk(term, known=self._terms):
            row = [e.op, self.type(e.type), *self._arguments(e)]
            self._terms[e] = len(self.terms)
            self.terms.append(row)
        return self._terms[term]

    def _arguments(self, e: Expr) -> Iterator[Any]:
        for argument in e.args:
            if isinstance(argument, Expr):
                yield self._terms[argument]
            elif isinstance(argument, Variable):
                yield self.variables[argument]
            else:
                yield _number(argument) if isinstance(argument, int) else argument


def _action(action: Action, rows: _Rows) -> dict[str, Any]:
    data: dict[str, Any] = {
        "parameters": [rows.type(type_) for type_ in action.parameters.values()],
        "guards": [rows.term(guard.condition) for guard in action.guards],
        "updates": [[rows.term(u.target), rows.term(u.assigned), rows.term(u.when), os.path.basename(u.place)] for u in action.updates],
    }
    for role, part in (("by", action.by), ("to", action.to), ("from", action.source)):
        if part is not None:
            data[role] = rows.term(part) if isinstance(part, Expr) else part
    if action.says is not None:
        terms = {name: rows.term(term) for name, term in action.says.terms.items()}
        data["says"] = {"pieces": [list(piece) for piece in action.says.pieces()], "terms": terms}
    return data


def _property(claim: Property, rows: _Rows, actions: Iterable[Action]) -> dict[str, Any]:
    data: dict[str, Any] = {"kind": claim.kind, "formula": rows.term(claim.formula), "once": claim.once, "steps": claim.steps}
    for name, term in (("goal", claim.goal), ("hold", claim.hold)):
        if term is not None:
            data[name] = rows.term(term)
    if claim.kind in OBSERVED:
        observer = Observer(claim)
        before = free("before", Int(0, observer.broken))
        data["observer"] = {
            "first": rows.term(observer.first()),
            "next": rows.term(observer.next(before, free("counts", Bool))),
            "broken": observer.broken,
            "counts": [rows.term(observer.counts(action)) for action in actions],
        }
    return data


__all__ = ["EXACT", "VERSION", "portable"]
