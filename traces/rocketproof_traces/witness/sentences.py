"""The sentence of a step: who does what with which elements, such as `broker-a creates orders with 4 queues`.

An action's own template (`Action.says`) is filled in. Without one, the nouns of the action's sentence are replaced by the step's elements:
"The producer sends a message to a queue" becomes "producer 0 sends a message to queue 3".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rocketproof_model import Action, EvaluationError, Instance
from rocketproof_model.interpreter import Environment, State, evaluate
from rocketproof_model.language import IndexType, in_form
from rocketproof_protocol.numbers import is_digits

from .choices import scope_of
from .parts import SYSTEM, Acting, kinds, part_name


def step_sentence(instance: Instance, state: State, action: Action, args: Sequence[int], who: Acting) -> str:
    """Return what an action instance does in a state, without a full stop. `who`: its parts, as `acting` returns them."""
    if action.says is not None:
        try:
            return _filled(action, scope_of(instance, state, action, args), args, who)
        except EvaluationError:
            pass  # a term has no value here: the general sentence does
    return _general(instance, action, args, who)


def _filled(action: Action, scope: Environment, args: Sequence[int], who: Acting) -> str:
    assert action.says is not None
    roles = {"by": who.by, "to": who.to or "", "from": who.source or ""}
    values = {name: (type_, code) for (name, type_), code in zip(action.parameters.items(), args, strict=True)}
    text = []
    for literal, name, form in action.says.pieces():
        text.append(literal)
        if name in action.says.terms:
            term = action.says.terms[name]
            type_, code = term.type, evaluate(term, scope)
        elif name in values:
            type_, code = values[name]
        else:
            text.append(roles.get(name, ""))
            continue
        text.append(in_form(type_.text(code), form, truth=bool(code) if type_.sort == "bool" else None))
    return "".join(text)


def _general(instance: Instance, action: Action, args: Sequence[int], who: Acting) -> str:
    """Return the first sentence of the docstring with elements in the place of nouns, and the actor in front unless it is named."""
    text = re.split(r"(?<=[\w)])\.(?: |$)", action.sentence, maxsplit=1)[0].rstrip(".")
    for noun, name in dict(_elements(instance, action, args, who)).items():
        text = re.sub(rf"\b(?:the|an?) {re.escape(noun)}\b", lambda _, name=name: name, text, count=1, flags=re.IGNORECASE)
    first = text.partition(" ")[0]
    text = text if first[1:] != first[1:].lower() else text[:1].lower() + text[1:]
    return text if who.by == SYSTEM or who.by.lower() in text.lower() else f"{who.by}: {text}"


def _elements(instance: Instance, action: Action, args: Sequence[int], who: Acting) -> Iterator[tuple[str, str]]:
    """Yield nouns with the elements that they stand for: parameters first, the acting part last, so that it wins."""
    for type_, code in reversed([*zip(action.parameters.values(), args, strict=True)]):
        if isinstance(type_, IndexType):
            noun = type_.name.lower()
            name = part_name(type_, code)
            yield noun, f"{noun} {name}" if is_digits(name) else name if type_.names else name.lower()
    indices = [kind for kind in kinds(instance.model) if isinstance(kind, IndexType)]
    for part in (who.source, who.to, who.by):
        for of in indices:
            if part is not None and part in {part_name(of, code) for code in of.codes()}:
                yield of.name.lower(), part


__all__ = ["step_sentence"]
