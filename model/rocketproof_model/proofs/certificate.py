"""A proof as something that others check: an invariant in the language's own words, and whether it is inductive and proves the claim.

The check asks z3 about the three obligations (`obligations`), which it builds from the model alone: how the invariant was found does not
matter, and nothing of what finds proofs takes part. What z3 says against a certificate the interpreter confirms. As a script in SMT-LIB 2
the same obligations go to any other solver, which has to answer `unsat` to each.
"""

from __future__ import annotations

from collections.abc import Sequence

from .. import interpreter
from ..errors import EvaluationError
from ..formulas.smt import z3
from ..formulas.solver import EnginesDisagree, Solver
from ..interpreter import State
from ..language import Expr, Instance, Property, show
from ..result import Limits, Move, Watch
from .obligations import BEGINS, SOUND, WAITS, Obligation, ObligationCase, Obligations

INVARIANT = "; invariant: "


def parts(claim: Property, invariants: Sequence[Expr]) -> list[Expr]:
    """The conjuncts of the invariant: of an `always` claim also the claim, of a `reachable` one, which is refuted, its opposite."""
    own = {"always": [claim.formula], "reachable": [~claim.formula]}.get(claim.kind, [])
    return [*own, *invariants]


def refusal(instance: Instance, claim: Property, invariants: Sequence[Expr], *, limits: Limits | None = None) -> str:
    """Why the invariants do not prove that the claim holds (that a `reachable` one never does), in one line; "" where they do.

    Raises LimitReached where z3 does not decide in time, and RocketproofError for kinds of claims that no invariant proves and for a
    formula that is none about a state.
    """
    for number, term in enumerate(invariants, 1):
        instance.model.claim(f"invariant {number}", "holds in every state", "always", term)  # refuses what is no formula about a state
    made = Obligations(instance, claim, parts(claim, invariants))
    watch = Watch(limits or Limits())
    for obligation in made.all():
        solver = Solver(watch)
        solver.add(*obligation.assumed)
        for number, case in enumerate(obligation.cases):
            literal = z3.Bool(f"case {number}")
            solver.add(z3.Implies(literal, case.formula))
            if (model := solver.check(literal)) is not None:
                return _told(made, obligation, case, made.read(model, made.before))
    return ""


def smt2(instance: Instance, claim: Property, invariants: Sequence[Expr] = ()) -> str:
    """The obligations in SMT-LIB 2, a script of its own after the other; a solver that finds the proof right answers `unsat` to each.

    The lines `; invariant: ...` are terms of the model, which can be read again and asked of every reachable state.
    """
    whole = parts(claim, invariants)
    obligations = Obligations(instance, claim, whole).all()
    constants = ", ".join(f"{name}={value}" for name, value in instance.readable().items())
    head = [
        f"; model: {instance.model.name}" + (f" with {constants}" if constants else ""),
        f"; claim ({claim.kind}): {claim.id}: {claim.sentence}",
        *(INVARIANT + show(part) for part in whole),
        f"; a solver answers unsat {len(obligations)} times",
    ]
    return "\n".join(head) + "\n" + "(reset)\n".join(f"; {one.said}\n{_script(one)}" for one in obligations)


def _script(obligation: Obligation) -> str:
    solver = z3.Solver()
    solver.add(*obligation.assumed, z3.Or(*(case.formula for case in obligation.cases)))
    return str(solver.to_smt2())


def _told(made: Obligations, obligation: Obligation, case: ObligationCase, state: State) -> str:
    """What z3 found against an obligation, as the interpreter sees it. Raises EnginesDisagree where it sees nothing."""
    instance, claim = made.instance, made.claim
    at = _state(instance, state)
    if obligation.said == BEGINS:
        if interpreter.starts_in(instance, state) and (false := _false(made, state)):
            return f"the initial state {at} is not in the invariant: {false}"
    elif _false(made, state):
        pass
    elif obligation.said == WAITS:
        if next(interpreter.successors(instance, state), None) is None and not interpreter.holds(instance, claim.formula, state):
            return f"the invariant allows {at}, where nothing can happen any more"
    elif case.move is not None:
        label = instance.model.named(case.move.action).label(case.move.args)
        try:
            after = _taken(instance, state, case.move)
        except EvaluationError as error:
            if obligation.said == SOUND:
                return f"the invariant allows {at}, where {label} is an error of the model: {error}"
            after = None
        if after is not None and claim.kind == "step" and not interpreter.holds(instance, claim.formula, state, after):
            return f"the invariant allows {at}, from where {label} does not do what is claimed"
        if after is not None and (false := _false(made, after)):
            return f"{label} leads from {at} out of the invariant, to {_state(instance, after)}: {false}"
    raise EnginesDisagree(f"z3 finds that it is not so that {obligation.said}, for {at}, and the interpreter does not")


def _false(made: Obligations, state: State) -> str:
    """The part of the invariant that is not true in a state, in words; "" if all are."""
    for part in made.parts:
        try:
            if not interpreter.holds(made.instance, part, state):
                return f"{show(part)} is false there"
        except EvaluationError as error:
            return f"{show(part)} has no value there ({error})"
    return ""


def _taken(instance: Instance, state: State, move: Move) -> State | None:
    """The state after a step, None where a guard refuses it. Raises EvaluationError where the step is an error of the model."""
    action = instance.model.named(move.action)
    refused = interpreter.refusing(instance, state, action, move.args)
    return None if refused is not None else interpreter.effect(instance, state, action, move.args)


def _state(instance: Instance, state: State) -> str:
    return "{" + ", ".join(f"{name}={value}" for name, value in interpreter.labelled(instance, state).items()) + "}"
