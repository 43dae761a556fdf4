"""Lemmas: z3 proves them over all values of their unknowns, whatever the state. The interpreter confirms each counterexample."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from . import interpreter, interrupts
from .errors import EvaluationError, LimitReached
from .formulas.relation import code_of
from .formulas.solver import EnginesDisagree, solved
from .formulas.terms import Elements, Translation, Unknowns
from .formulas.values import negation
from .interpreter import Environment
from .language import Expr, Instance, Model, Property, Type, premises, show
from .result import INTERRUPTED, Limits, Outcome, Watch

VACUOUS = "vacuous premise"


def prove(target: Instance | Model, lemma: Property, *, limits: Limits | None = None) -> Outcome:
    """Prove a lemma for all values of its unknowns: `free` terms, parameters, the state, and, given a Model, its constants.

    Verdicts:

    - `holds`, reason `proof`.
    - `violated`, with `details["values"]`, name to readable value, for which the formula is false or has no value (see the reason).
    - `unknown`, reason `vacuous premise`, if the lemma is an implication, or a conjunction of implications, whose premises no values
      satisfy; or with a limit's reason.
    """
    watch = Watch(limits or Limits())
    model = target if isinstance(target, Model) else target.model
    constants = {} if isinstance(target, Model) else target.constants
    try:
        return _prove(model, constants, lemma, watch)
    except LimitReached as stop:
        reason = stop.reason
    except KeyboardInterrupt:
        interrupts.heard()
        reason = INTERRUPTED
    return Outcome(lemma, "symbolic", "unknown", reason, seconds=watch.seconds)


def _prove(model: Model, constants: Mapping[str, int], lemma: Property, watch: Watch) -> Outcome:
    asked = premises(lemma.formula)
    if asked and not any(_values(model, constants, premise, True, watch) for premise in asked):
        return Outcome(lemma, "symbolic", "unknown", VACUOUS, seconds=watch.seconds)
    counterexample = _values(model, constants, lemma.formula, False, watch)
    if counterexample is None:
        return Outcome(lemma, "symbolic", "holds", "proof", seconds=watch.seconds)
    reason = "" if counterexample.error is None else f"it has no value there: {counterexample.error}"
    return Outcome(lemma, "symbolic", "violated", reason, seconds=watch.seconds, details={"values": counterexample.readable()})


@dataclass(frozen=True, eq=False)
class _Values:
    """Codes of a formula's unknowns by kind and name, and the interpreter's result for them: a truth value or an error."""

    codes: dict[tuple[str, str], tuple[Type, int]]
    truth: bool
    error: EvaluationError | None

    def readable(self) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for (kind, name), (type_, code) in self.codes.items():
            shown = name + "'" if kind == "after" else name
            result[f"{kind} {shown}" if shown in result else shown] = type_.decode(code)
        return result


def _values(model: Model, constants: Mapping[str, int], e: Expr, truth: bool, watch: Watch) -> _Values | None:
    """Return values that make the formula true, or (`truth` False) false or without value; None if there are none."""
    guess = _solve(model, constants, e, truth, watch, rough=True)
    if guess is None or guess.truth == truth:
        return guess
    values = _solve(model, constants, e, truth, watch, rough=False)
    if values is None or values.truth == truth:
        return values
    raise EnginesDisagree(f"z3 and the interpreter differ about {show(e)} for {values.readable()}")


def _solve(model: Model, constants: Mapping[str, int], e: Expr, truth: bool, watch: Watch, *, rough: bool) -> _Values | None:
    unknowns = Unknowns()
    states = [Elements(unknowns, kind, model.variables) for kind in ("ref", "after")]
    translate = Translation(*states, constants=constants, unknowns=unknowns, rough=rough)
    wanted = translate.truth(e) if truth else negation(translate.truth(e))
    answer = solved(watch, unknowns.limits(), *translate.facts, wanted)
    if answer is None:
        return None
    codes = {key: (type_, code_of(answer, value)) for key, (type_, value) in unknowns.constants.items()}
    return _interpreted(model, constants, e, codes)


def _interpreted(model: Model, constants: Mapping[str, int], e: Expr, codes: dict[tuple[str, str], tuple[Type, int]]) -> _Values:
    def named(wanted: str) -> dict[str, int]:
        return {name: code for (kind, name), (_, code) in codes.items() if kind == wanted}

    # Elements that the formula does not read may have any value.
    slots = [(v.name_at(at), v.type.lo) for v in model.variables for at in v.elements()]
    before, after = named("ref"), named("after")
    states = [tuple(known.get(name, lo) for name, lo in slots) for known in (before, after)]
    scope = Environment(states[0], named("par"), {**constants, **named("given")}, states[1], named("free"))
    try:
        return _Values(codes, bool(interpreter.evaluate(e, scope)), None)
    except EvaluationError as error:
        return _Values(codes, False, error)
