"""Why something did not happen, or cannot: the guard that refuses, its sentence and its values, in one form for witnesses and histories.

Values have the names that users know: where the elements of an index have names (topics, brokers) these stand in the place of numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rocketproof_model import EvaluationError, Expr, Guard
from rocketproof_model.interpreter import Scope, evaluate
from rocketproof_model.language import IndexType, MaybeType, Type, Variable, show, walk

Names = Mapping[str, Sequence[str]]
"""The names of an index's elements, by the index's name. An element with an empty name is not named at all."""


@dataclass(frozen=True)
class Refusal:
    """The guard that refuses; where no single guard does, `sentence` says which rule differs.

    `specified` is what the specification does instead of what was recorded, nothing where nothing was. `condition` is the guard's,
    `part` the conjunct of it that is false ("" if it is the whole); `values` are the leaves of that part. `bound`: it is a bound of the
    scope and not a rule. `error` is there if the guard has no value in the state.
    """

    specified: str = ""
    action: str = ""
    guard: str = ""
    sentence: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)
    condition: str = ""
    part: str = ""
    bound: bool = False
    error: str = ""

    def __str__(self) -> str:
        text = f"the specification {self.specified}"
        if not self.sentence:
            return text
        why = f"{self.action} is refused by guard '{self.guard}' ({self.sentence})" if self.guard else self.sentence
        values = ", ".join(f"{name} = {value}" for name, value in self.values.items())
        return f"{text}; {why}{f' with {values}' if values else ''}"

    def data(self) -> dict[str, Any]:
        """The refusal of a recorded event as JSON values."""
        return {name: getattr(self, name) for name in ("specified", "action", "guard", "sentence", "values")}


def refusal_of(guard: Guard, scope: Scope, action: str, names: Names | None = None, *, specified: str = "", error: str = "") -> Refusal:
    """That a guard of an action refuses in this state and with these arguments; `error` says why it has no value there."""
    part = guard.condition if error else false_part(guard.condition, scope)
    shown = "" if part is guard.condition else show(part)
    values = values_of(part, scope, names or {})
    return Refusal(specified, action, guard.name, guard.sentence, values, show(guard.condition), shown, guard.bound, error)


def false_part(term: Expr, scope: Scope) -> Expr:
    """The first conjunct that is false, however deep in conjunctions; the term itself if it is not a conjunction."""
    while term.op == "and":
        term = term.args[0] if not evaluate(term.args[0], scope) else term.args[1]
    return term


def values_of(term: Expr, scope: Scope, names: Names | None = None) -> dict[str, Any]:
    """The variables and constants in a term with their values, indices filled in: `cached[1]` and `{0}`.

    Parameters stand there only where they are not an index of a variable. A leaf without a value says why.
    """
    known: Names = names or {}
    found: dict[str, Any] = {}
    inner = {a for e in walk(term) if e.op in ("ref", "after") for a in e.args[1:] if a.op in ("par", "const")}
    for e in walk(term):
        if e.op not in ("ref", "after", "par", "given", "free") or (e in inner and e.op == "par"):
            continue
        try:
            found[_filled(e, scope, known)] = _named(e.type, evaluate(e, scope), known)
        except EvaluationError as error:
            found[show(e)] = f"no value ({error})"
    return found


def _filled(e: Expr, scope: Scope, names: Names) -> str:
    if e.op not in ("ref", "after"):
        return show(e)
    variable: Variable = e.args[0]
    at = [str(_named(axis, evaluate(i, scope), names)) for axis, i in zip(variable.over, e.args[1:], strict=True)]
    inside = ",".join(element for element in at if element)
    return variable.name + (f"[{inside}]" if inside else "") + ("'" if e.op == "after" else "")


def _named(type_: Type, code: int, names: Names) -> Any:
    if isinstance(type_, MaybeType) and code and type_.of.name in names:
        return names[type_.of.name][code - 1]
    if isinstance(type_, IndexType) and type_.name in names:
        return names[type_.name][code]
    return type_.decode(code)


__all__ = ["Names", "Refusal", "false_part", "refusal_of", "values_of"]
