"""A proof that others can check: an invariant in the language's own terms, and whether it is inductive and proves the claim.

The check gives z3 the three obligations (`obligations`), which it builds from the model alone. It uses no code of the engines that find
proofs, and the origin of the invariant does not matter. The interpreter confirms every counterexample of z3 to a certificate. The same
obligations can be written as a script in SMT-LIB 2 for any other solver, which has to answer `unsat` to each.
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
    """Return the conjuncts of the invariant, including the claim itself for `always`, or its negation for a refuted `reachable`."""
    own = {"always": [claim.formula], "reachable": [~claim.formula]}.get(claim.kind, [])
    return [*own, *invariants]


def refusal(instance: Instance, claim: Property, invariants: Sequence[Expr], *, limits: Limits | None = None) -> str:
    """Return in one line why the invariants do not prove that the claim holds (that a `reachable` claim never does); "" if they do.

    Raises LimitReached if z3 does not decide in time. Raises RocketproofError for kinds of claims that no invariant proves, and for a
    formula that is not about a state.
    """
    for number, term in enumerate(invariants, 1):
        instance.model.claim(
            f"invariant {number}", "holds in every state", "always", term
        )  # raises for anything but a formula about a state
    obligations = Obligations(instance, claim, parts(claim, invariants))
    watch = Watch(limits or Limits())
    for obligation in obligations.all():
        solver = Solver(watch)
        solver.add(*obligation.assumed)
        for number, case in enumerate(obligation.cases):
            literal = z3.Bool(f"case {number}")
            solver.add(z3.Implies(literal, case.formula))
            if (model := solver.check(literal)) is not None:
                return _counterexample_text(obligations, obligation, case, obligations.read(model, obligations.before))
    return ""


def smt2(instance: Instance, claim: Property, invariants: Sequence[Expr] = ()) -> str:
    """Return the obligations in SMT-LIB 2, each as a separate script; a solver that confirms the proof answers `unsat` to each.

    The lines `; invariant: ...` are terms of the model, which can be parsed again and evaluated in every reachable state.
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
    return "\n".join(head) + "\n" + "(reset)\n".join(f"; {obligation.statement}\n{_script(obligation)}" for obligation in obligations)


def _script(obligation: Obligation) -> str:
    solver = z3.Solver()
    solver.add(*obligation.assumed, z3.Or(*(case.formula for case in obligation.cases)))
    return str(solver.to_smt2())


def _counterexample_text(obligations: Obligations, obligation: Obligation, case: ObligationCase, state: State) -> str:
    """Describe z3's counterexample to an obligation, as the interpreter evaluates it.

    Raises EnginesDisagree if the interpreter does not confirm it.
    """
    instance, claim = obligations.instance, obligations.claim
    at = _state(instance, state)
    if obligation.statement == BEGINS:
        if interpreter.starts_in(instance, state) and (false := _false(obligations, state)):
            return f"the initial state {at} is not in the invariant: {false}"
    elif _false(obligations, state):
        pass
    elif obligation.statement == WAITS:
        if next(interpreter.successors(instance, state), None) is None and not interpreter.holds(instance, claim.formula, state):
            return f"the invariant allows {at}, where nothing can happen any more"
    elif case.move is not None:
        label = instance.model.named(case.move.action).label(case.move.args)
        try:
            after = _taken(instance, state, case.move)
        except EvaluationError as error:
            if obligation.statement == SOUND:
                return f"the invariant allows {at}, where {label} is an error of the model: {error}"
            after = None
        if after is not None and claim.kind == "step" and not interpreter.holds(instance, claim.formula, state, after):
            return f"the invariant allows {at}, from where {label} does not do what is claimed"
        if after is not None and (false := _false(obligations, after)):
            return f"{label} leads from {at} out of the invariant, to {_state(instance, after)}: {false}"
    raise EnginesDisagree(f"z3 finds that it is not so that {obligation.statement}, for {at}, and the interpreter does not")


def _false(obligations: Obligations, state: State) -> str:
    """Return the text of the part of the invariant that is not true in a state; "" if all are true."""
    for part in obligations.parts:
        try:
            if not interpreter.holds(obligations.instance, part, state):
                return f"{show(part)} is false there"
        except EvaluationError as error:
            return f"{show(part)} has no value there ({error})"
    return ""


def _taken(instance: Instance, state: State, move: Move) -> State | None:
    """Return the state after a step, None if a guard refuses it. Raises EvaluationError if the step is an error of the model."""
    action = instance.model.named(move.action)
    refused = interpreter.refusing(instance, state, action, move.args)
    return None if refused is not None else interpreter.effect(instance, state, action, move.args)


def _state(instance: Instance, state: State) -> str:
    return "{" + ", ".join(f"{name}={value}" for name, value in interpreter.labelled(instance, state).items()) + "}"
