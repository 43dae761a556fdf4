"""Explain why an event did not happen, or cannot happen: the guard that refuses it, its sentence and its values, in one form for
witnesses and histories.

Values have user-facing names: elements of an index (topics, brokers) have the model's names, or the caller's names from a recording.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rocketproof_model import EvaluationError, Expr, Guard, Instance, Model
from rocketproof_model.interpreter import Environment, evaluate
from rocketproof_model.language import HoldingType, IndexType, MaybeType, Type, Variable, element_name, held, show, walk

Names = Mapping[str, Sequence[str]]
"""The names of an index's elements, by the index's name. An element with an empty name is not shown."""


@dataclass(frozen=True)
class Refusal:
    """The guard that refuses. If no single guard does, `sentence` states the rule that differs.

    * `specified`: what the specification does instead of the recorded event; empty without one.
    * `condition`: the guard's condition. `part`: its false conjunct, empty if that is the whole condition.
    * `values`: the leaves of that part. `meanings`: explanations of some of them.
    * `bound`: the guard is a bound of the scope and not a rule.
    * `error`: the reason why the guard has no value in the state.
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
    meanings: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        text = f"the specification {self.specified}"
        if not self.sentence:
            return text
        why = f"{self.action} is refused by guard '{self.guard}' ({self.sentence})" if self.guard else self.sentence
        meant = {name: f" ({sentence})" for name, sentence in self.meanings.items()}
        values = ", ".join(f"{name} = {value}{meant.get(name, '')}" for name, value in self.values.items())
        return f"{text}; {why}{f' with {values}' if values else ''}"

    def data(self) -> dict[str, Any]:
        """Return the refusal of a recorded event as JSON values."""
        return {name: getattr(self, name) for name in ("specified", "action", "guard", "sentence", "values", "meanings")}


def refusal_of(
    guard: Guard, instance: Instance, scope: Environment, action: str, names: Names | None = None, *, specified: str = "", error: str = ""
) -> Refusal:
    """Return the refusal by a guard of an action in this state with these arguments. `error` states why the guard has no value there."""
    part = guard.condition if error else false_part(guard.condition, scope)
    shown = "" if part is guard.condition else show(part)
    leaves = leaves_of(part, scope, names)
    values = {name: value for name, (value, _) in leaves.items()}
    meanings = {name: sentence for name, (_, e) in leaves.items() if (sentence := meaning(instance.model, e))}
    condition = show(guard.condition)
    return Refusal(specified, action, guard.name, guard.sentence, values, condition, shown, guard.bound, error, meanings)


def meaning(model: Model, leaf: Expr) -> str:
    """Return the explanation of a variable or constant, empty if the model has none."""
    if leaf.op in ("ref", "after"):
        return str(leaf.args[0].meaning)
    return model.sentences.get(leaf.args[0], "") if leaf.op == "given" else ""


def false_part(term: Expr, scope: Environment) -> Expr:
    """Return the first false conjunct, at any depth of conjunctions; the term itself if it is not a conjunction."""
    while term.op == "and":
        term = term.args[0] if not evaluate(term.args[0], scope) else term.args[1]
    return term


def leaves_of(term: Expr, scope: Environment, names: Names | None = None) -> dict[str, tuple[Any, Expr]]:
    """Return the variables and constants in a term by name, with indices filled in, each with its value: `cached[producer 1]` and
    `{broker-a}`.

    Parameters are included unless they are an index of a variable. The value of a leaf without a value is the reason.
    """
    known: Names = names or {}
    leaves: dict[str, tuple[Any, Expr]] = {}
    inner = {a for e in walk(term) if e.op in ("ref", "after") for a in e.args[1:] if a.op in ("par", "const")}
    for e in walk(term):
        if e.op not in ("ref", "after", "par", "given", "free") or (e in inner and e.op == "par"):
            continue
        try:
            leaves[_filled(e, scope, known)] = _named(e.type, evaluate(e, scope), known), e
        except EvaluationError as error:
            leaves[show(e)] = f"no value ({error})", e
    return leaves


def values_of(term: Expr, scope: Environment, names: Names | None = None) -> dict[str, Any]:
    """Return the values of `leaves_of`."""
    return {name: value for name, (value, _) in leaves_of(term, scope, names).items()}


def _filled(e: Expr, scope: Environment, names: Names) -> str:
    if e.op not in ("ref", "after"):
        return show(e)
    variable: Variable = e.args[0]
    at = [str(_named(axis, evaluate(i, scope), names)) for axis, i in zip(variable.over, e.args[1:], strict=True)]
    return element_name(variable.name, [element for element in at if element]) + ("'" if e.op == "after" else "")


def _named(type_: Type, code: int, names: Names) -> Any:
    """Return a value for users and for JSON: names for elements, texts for Maybes and sets in a value, other values unchanged."""
    if isinstance(type_, MaybeType) and code and isinstance(type_.of, IndexType) and type_.of.name in names:
        return names[type_.of.name][code - 1]
    if isinstance(type_, IndexType) and type_.name in names:
        return names[type_.name][code]
    of = held(type_)
    if isinstance(of, HoldingType):
        return type_.text(code)
    if isinstance(of, IndexType) and of.names and not (isinstance(type_, MaybeType) and not code):
        return type_.text(code)
    return type_.decode(code)


__all__ = ["Names", "Refusal", "false_part", "leaves_of", "meaning", "refusal_of", "values_of"]
