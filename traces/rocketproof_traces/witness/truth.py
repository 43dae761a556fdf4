"""The truth of a property along a path: a word for each state, and the part of the formula that decides it, with its values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from rocketproof_model import EvaluationError, Instance, Property
from rocketproof_model.interpreter import Scope, State, holds, successors
from rocketproof_model.language import Expr, show
from rocketproof_model.result import Witness

from ..refusal import false_part, values_of

WAITING: Final = "waiting"
NO_VALUE: Final = "no value"


@dataclass(frozen=True)
class Truth:
    """What is said of a property in one state.

    `word` is `holds`, `fails`; `not yet`, `reached`; `not asked`, `waiting`, `reached`; `goes on`, `may end`, `stuck`; `no value`; or empty
    where there is nothing to say. `part` is the conjunct that is false, of an implication that of its conclusion, "" if no single
    one is; `values` are the leaves of that part, or of the whole formula.
    """

    word: str
    part: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)


def truths(witness: Witness) -> list[Truth]:
    """What is said in each state, in order: for a property over steps it speaks of the step that leads there."""
    found: list[Truth] = []
    pending = False
    for k, state in enumerate(witness.states):
        found.append(truth(witness.instance, witness.property, witness.states[k - 1] if k else None, state, pending))
        said = found[-1].word
        pending = said == WAITING or (said == NO_VALUE and pending)
    return found


def _word(instance: Instance, claim: Property, before: State | None, state: State, pending: bool) -> str:
    if claim.kind == "lemma" or (claim.kind == "step" and before is None):
        return ""
    if claim.kind == "step" and before is not None:
        return "holds" if holds(instance, claim.formula, before, state) else "fails"
    if claim.kind == "deadlock_free":
        if next(successors(instance, state), None) is not None:
            return "goes on"
        return "may end" if holds(instance, claim.formula, state) else "stuck"
    now = holds(instance, claim.formula, state)
    if claim.kind == "always":
        return "holds" if now else "fails"
    if claim.goal is None:
        return "reached" if now else "not yet"
    asked = now or pending
    if holds(instance, claim.goal, state):
        return "reached" if asked else "not asked"
    return WAITING if asked else "not asked"


def truth(instance: Instance, claim: Property, before: State | None, state: State, pending: bool) -> Truth:
    """What is said in a state that was reached from `before`; `pending` if something was waited for there."""
    try:
        said = _word(instance, claim, before, state, pending)
    except EvaluationError:
        said = NO_VALUE
    term = claim.goal if said in (WAITING, "reached") and claim.goal is not None else claim.formula
    if not said or said == "goes on":
        return Truth(said)
    after = state if claim.kind == "step" else None
    scope = Scope(before if after is not None and before is not None else state, {}, instance.constants, after)
    false = term if said in ("holds", "reached", "may end", NO_VALUE) else _deciding(term, scope)
    return Truth(said, show(false) if false is not term else "", values_of(false, scope))


def _deciding(term: Expr, scope: Scope) -> Expr:
    """What makes a term false: the false conjunct, however deep, and of an implication `~a | b`, whose premise holds, that of `b`."""
    term = false_part(term, scope)
    while term.op == "or" and (term.args[0].op == "not") != (term.args[1].op == "not"):
        term = false_part(term.args[1] if term.args[0].op == "not" else term.args[0], scope)
    return term


__all__ = ["NO_VALUE", "WAITING", "Truth", "truth", "truths"]
