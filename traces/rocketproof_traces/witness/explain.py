"""Explain why an action can or cannot happen in a state of a witness: the guard that refuses it, its sentence and its values.

`explain` returns the data, `lines` the text, `render` prints it to a console's width. An action instance is written as it is printed,
`refresh(p=1)`, or shorter: `refresh(1)`, `refresh(p1)`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from textwrap import wrap

from rich.console import Console
from rich.text import Text

from rocketproof_model import Action, Instance, Model
from rocketproof_model.interpreter import State
from rocketproof_model.language import BoolType, EnumType, IndexType, MaybeType, SetType, Type
from rocketproof_model.result import Witness
from rocketproof_protocol.numbers import whole_number

from ..common.errors import TraceError
from ..common.refusal import Refusal, refusal_of
from .choices import choice, choices, scope_of
from .words import ElementChange, changes, code_of, value_text

Codes = tuple[int, ...]


_MANY = 12  # an action with more enabled instances is listed by their number


@dataclass(frozen=True)
class GuardView:
    """The result of one guard. `passed` is None if an earlier guard refused."""

    name: str
    sentence: str
    passed: bool | None


@dataclass(frozen=True)
class ActionExplanation:
    """Why one action instance is enabled or not. `would` is what it changes if enabled; `error` is why its effect has no value."""

    label: str
    sentence: str
    enabled: bool
    guards: tuple[GuardView, ...]
    refusal: Refusal | None
    would: tuple[ElementChange, ...]
    error: str


@dataclass(frozen=True)
class StepExplanation:
    """The actions that can happen in the state before a step. `taken` is the witness's next action, empty at its end."""

    step: int
    steps: int
    taken: str
    enabled: tuple[str, ...]
    asked: ActionExplanation | None


def explain(witness: Witness, step: int, why_not: str | None = None) -> StepExplanation:
    """Explain the state before `step` (1-based). One more than the last step is the state at the end, and 0 is the first state.

    Raises TraceError for a step outside the witness and for an action that does not fit the model.
    """
    last = len(witness.states)
    if not 0 <= step <= last or not last:
        remedy = f"give 1 to {last}, where {last} is the state at the end" if last else "it is a statement about values"
        raise TraceError(f"step {step}", f"the witness has {len(witness.moves)} steps", remedy)
    state = witness.states[max(step, 1) - 1]
    instance = witness.instance
    taken = witness.labels()[max(step, 1) - 1] if max(step, 1) <= len(witness.moves) else ""
    explanation = None
    if why_not is not None:
        action, args = parse(why_not, instance.model)
        explanation = answer(instance, state, action, args)
    return StepExplanation(max(step, 1), len(witness.moves), taken, tuple(enabled(instance, state)), explanation)


def enabled(instance: Instance, state: State) -> list[str]:
    """Return labels of the action instances that can happen, in the order of the model, and of those with an error."""
    labels = []
    for each in choices(instance, state):
        if each.refused is None:
            labels.append(each.label)
        elif each.error:
            labels.append(f"{each.label} has no meaning: guard {each.refused.name!r}: {each.error}")
    return labels


def answer(instance: Instance, state: State, action: Action, args: Codes) -> ActionExplanation:
    """Evaluate the guards of one action instance in order."""
    result = choice(instance, state, action, args)
    views, passed = [], True
    for guard in action.guards:
        if guard is result.refused:
            views.append(GuardView(guard.name, guard.sentence, False))
            passed = False
        else:
            views.append(GuardView(guard.name, guard.sentence, True if passed else None))
    label, guards = result.label, tuple(views)
    if result.refused is not None:
        why = refusal_of(result.refused, instance, scope_of(instance, state, action, args), label, error=result.error)
        return ActionExplanation(label, action.sentence, False, guards, why, (), "")
    would = changes(instance, state, result.after) if result.after is not None else ()
    return ActionExplanation(label, action.sentence, True, guards, None, would, result.error)


# Questions


def parse(text: str, model: Model) -> tuple[Action, Codes]:
    """Return the action instance that `text` names. Raises TraceError with what is wrong and what would be right."""
    match = re.fullmatch(r"\s*([^\s()]+)\s*(?:\((.*)\))?\s*", text, re.DOTALL)
    if match is None:
        raise TraceError(f"'{text}'", "is not an action", f"write it like {_example(model.actions[0])}")
    name, inside = match[1], match[2] or ""
    action = next((a for a in model.actions if a.name == name), None)
    if action is None:
        known = ", ".join(a.name for a in model.actions)
        raise TraceError(f"'{text}'", f"no action {name!r} in model {model.name}", f"its actions are {known}")
    given = [p.strip() for p in re.split(r",(?![^{]*\})", inside)] if inside.strip() else []
    needs = f"write it like {_example(action)}"
    if len(given) != len(action.parameters):
        raise TraceError(f"'{text}'", f"{name} has {len(action.parameters)} parameters, not {len(given)}", needs)
    values: dict[str, str] = {}
    for part, default in zip(given, action.parameters, strict=True):
        key, sign, value = part.partition("=")
        key = key.strip() if sign else default
        if key not in action.parameters or key in values:
            raise TraceError(f"'{text}'", f"{name} has no parameter {key!r}" if key not in values else f"{key} is given twice", needs)
        values[key] = value.strip() if sign else part
    return action, tuple(_argument(text, key, type_, values[key]) for key, type_ in action.parameters.items())


def _example(action: Action) -> str:
    return action.label(type_.lo for type_ in action.parameters.values())


def _argument(text: str, name: str, type_: Type, word: str) -> int:
    try:
        return code_of(type_, _value(type_, name, word))
    except ValueError:
        raise TraceError(f"'{text}'", f"{name} = {word} is not a value of {type_}", f"use one of {type_.describe()}") from None


def _value(type_: Type, name: str, word: str) -> object:
    if isinstance(type_, EnumType):
        return word.strip("'\"")
    if isinstance(type_, BoolType):
        return {"true": True, "false": False}.get(word.lower(), word)
    if isinstance(type_, MaybeType) and word.lower() == "none":
        return None
    if isinstance(type_, SetType):
        inside = word.removeprefix("frozenset(").rstrip(")").strip("{}")  # in the form that labels had
        return frozenset(_value(type_.of, name, element.strip()) for element in inside.split(",") if element.strip())
    of = type_.of if isinstance(type_, MaybeType) else type_
    if isinstance(of, MaybeType):
        return (_value(of, name, word.removeprefix("some(").removesuffix(")")),)
    if isinstance(type_, MaybeType) and not isinstance(of, IndexType):
        return _value(of, name, word)
    if isinstance(of, IndexType) and (word in of.names or word.strip("'\"") in of.names):
        return word.strip("'\"")
    return whole_number(word.removeprefix(name) if re.fullmatch(rf"{re.escape(name)}[0-9]+", word) else word)


# Text


def lines(explanation: StepExplanation) -> list[str]:
    """Return the explanation as lines of text, not wrapped."""
    step, end = explanation.step, explanation.step > explanation.steps
    at = f"Before step {step}"
    if end:
        at = f"At the end, after step {explanation.steps}" if explanation.steps else "In the only state"
    marked = "; the witness takes the one marked *" if explanation.taken else ""
    text = []
    if explanation.asked is not None:
        text += [*_asked(explanation.asked, at), ""]
    text.append(f"{at}, {_count(len(explanation.enabled))} can happen{marked}")
    return [*text, *(f"  {'*' if label == explanation.taken else ' '} {label}" for label in _grouped(explanation))]


def _grouped(explanation: StepExplanation) -> list[str]:
    """Return the labels. An action with many instances has one line, next to the taken instance."""
    by_action: dict[str, list[str]] = {}
    for label in explanation.enabled:
        by_action.setdefault(label.partition("(")[0], []).append(label)
    shown = []
    for action, labels in by_action.items():
        if len(labels) <= _MANY:
            shown += labels
        else:
            taken = [label for label in labels if label == explanation.taken]
            shown += [*taken, f"{action}(...): {len(labels) - len(taken)} {'other ' if taken else ''}instances"]
    return shown


def render(explanation: StepExplanation, console: Console, more: str = "") -> None:
    """Print an explanation. `more` is the command that shows more, as the last line."""
    for line in lines(explanation):
        for part in wrap(line, console.width, subsequent_indent=" " * min(15, console.width // 4)) or [""]:
            console.print(Text(part), soft_wrap=True)
    if more:
        console.print(Text(more, style="dim"), soft_wrap=True)


def _count(n: int) -> str:
    return "nothing" if n == 0 else "1 action" if n == 1 else f"{n} actions"


def _asked(explanation: ActionExplanation, at: str) -> list[str]:
    verdict = "is enabled" if explanation.enabled else "cannot happen"
    text = [f"{at}, {explanation.label} {verdict}.", f"  {explanation.sentence}"]
    marks = {True: "yes", False: "NO", None: "-"}
    width = max((len(g.name) for g in explanation.guards), default=0)
    text += [f"  {marks[g.passed]:<4}{g.name:<{width}}  {g.sentence}" for g in explanation.guards]
    if explanation.refusal is not None:
        text += _refused(explanation.refusal)
    elif explanation.error:
        text.append(f"  but its effect has no meaning: {explanation.error}")
    else:
        text.append("  it would change" + ("" if explanation.would else " nothing"))
        text += [f"    {c.name}: {c.before} -> {c.after}" for c in explanation.would]
    return text


def _refused(refusal: Refusal) -> list[str]:
    why = "has no value" if refusal.error else "does not hold"
    scope = " (a bound of the scope, no rule of the system)" if refusal.bound else ""
    text = [f"  guard '{refusal.guard}' {why}{scope}: {refusal.sentence}", f"    condition  {refusal.condition}"]
    if refusal.error:
        text.append(f"    error      {refusal.error}")
    if refusal.part:
        text.append(f"    false part {refusal.part}")
    width = max(map(len, refusal.values), default=0)
    meant = {name: f"  ({sentence})" for name, sentence in refusal.meanings.items()}
    values = [f"{name:<{width}} = {value_text(value)}{meant.get(name, '')}" for name, value in refusal.values.items()]
    return [*text, *(f"    {'where' if k == 0 else '':<10} {value}" for k, value in enumerate(values))]
