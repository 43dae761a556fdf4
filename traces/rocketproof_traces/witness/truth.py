"""The truth of a property along a path: a word for each state, and the part of the formula that decides it, with its values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from rocketproof_model import EvaluationError, Instance, Property
from rocketproof_model.interpreter import Environment, State, evaluate, holds, successors
from rocketproof_model.language import OBSERVED, Bool, Expr, Int, Observer, const, show
from rocketproof_model.result import Move, Witness
from rocketproof_protocol.numbers import whole_number

from ..common.refusal import false_part, values_of

WAITING: Final = "waiting"
NO_VALUE: Final = "no value"
NOT_YET: Final = "not yet"


Before = tuple[State, Move]
"""The step that leads to a state: the state before it, and the move."""


@dataclass(frozen=True)
class Truth:
    """The truth of a property in one state.

    `word` depends on the kind of the property and is one of:

    - `holds`, `fails`
    - `not yet`, `reached`, or `not yet`, `holds`
    - `not asked`, `waiting` (for `within` with the counted steps: `waiting 1/3`), `reached`, `fails`
    - `goes on`, `may end`, `stuck`
    - `no value`, or empty if the property does not apply to the state

    `part` is the false conjunct, for an implication the false conjunct of its conclusion, empty if there is no single one. `values` are the
    leaves of that part, or of the whole formula.
    """

    word: str
    part: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)


def truths(witness: Witness) -> list[Truth]:
    """Return the truth in each state, in order. For a property over steps it is the truth of the step to that state."""
    truths_so_far: list[Truth] = []
    last = ""
    for k, state in enumerate(witness.states):
        before = (witness.states[k - 1], witness.moves[k - 1]) if k else None
        truths_so_far.append(_truth(witness.instance, witness.property, before, state, last))
        last = truths_so_far[-1].word if truths_so_far[-1].word != NO_VALUE else last
    return truths_so_far


def _word(instance: Instance, claim: Property, before: Before | None, state: State, last: str) -> str:
    if claim.kind == "lemma":
        return ""
    if claim.kind == "step":
        if before is None:
            return ""
        return "holds" if holds(instance, claim.formula, before[0], state) else "fails"
    if claim.kind == "deadlock_free":
        if next(successors(instance, state), None) is not None:
            return "goes on"
        return "may end" if holds(instance, claim.formula, state) else "stuck"
    if claim.kind in OBSERVED:
        return _observed(instance, claim, before, state, last)
    now = holds(instance, claim.formula, state)
    if claim.kind == "always":
        return "holds" if now else "fails"
    if claim.kind == "eventually_always":
        return "holds" if now else NOT_YET
    if claim.goal is None:
        return "reached" if now else NOT_YET
    required = now or waits(last)
    if holds(instance, claim.goal, state):
        return "reached" if required else "not asked"
    return WAITING if required else "not asked"


def waits(word: str) -> bool:
    """Whether a word is `waiting`, with or without counted steps (`waiting 1/3`)."""
    return word.startswith(WAITING)


def _observed(instance: Instance, claim: Property, before: Before | None, state: State, last: str) -> str:
    """Return the word of a property with an observer, from the observer's number in the state."""
    observer, scope = Observer(claim), Environment(state, {}, instance.constants)
    if before is None:
        old, number = 0, evaluate(observer.first(), scope)
    else:
        counted = const(_counts(instance, observer, *before), Bool)
        done = whole_number(last.partition(" ")[2].partition("/")[0] or 0) if waits(last) else -1
        old = observer.broken if last == "fails" else done + 1
        number = evaluate(observer.next(const(old, Int(0, observer.broken)), counted), scope)
    if number == observer.broken:
        return "fails"
    if number:
        return WAITING if claim.kind != "within" else f"{WAITING} {number - 1}/{claim.steps}"
    required = old or (not claim.once and holds(instance, claim.formula, state)) or (claim.once and before is None)
    return "reached" if required else "not asked"


def _counts(instance: Instance, observer: Observer, state: State, move: Move) -> bool:
    """Whether the observer counts the step that a move takes from a state."""
    action = instance.model.named(move.action)
    scope = Environment(state, dict(zip(action.parameters, move.args, strict=True)), instance.constants)
    return bool(evaluate(observer.counts(action), scope))


def _truth(instance: Instance, claim: Property, before: Before | None, state: State, last: str) -> Truth:
    """Return the truth in a state reached by the step `before`; `last` is the word in the state before."""
    try:
        word = _word(instance, claim, before, state, last)
    except EvaluationError:
        word = NO_VALUE
    term = claim.formula
    if claim.goal is not None and (waits(word) or word in ("reached", "fails")):
        term = claim.hold if word == "fails" and claim.hold is not None else claim.goal
    if not word or word == "goes on":
        return Truth(word)
    after = state if claim.kind == "step" else None
    scope = Environment(before[0] if after is not None and before is not None else state, {}, instance.constants, after)
    false = term if word in ("holds", "reached", "may end", NO_VALUE) else _deciding(term, scope)
    return Truth(word, show(false) if false is not term else "", values_of(false, scope))


def _deciding(term: Expr, scope: Environment) -> Expr:
    """Return the part that makes a term false: the false conjunct, at any depth. For an implication `~a | b` whose premise holds, it is
    the false conjunct of `b`."""
    term = false_part(term, scope)
    while term.op == "or" and (term.args[0].op == "not") != (term.args[1].op == "not"):
        term = false_part(term.args[1] if term.args[0].op == "not" else term.args[0], scope)
    return term


__all__ = ["NOT_YET", "NO_VALUE", "WAITING", "Truth", "truths", "waits"]
