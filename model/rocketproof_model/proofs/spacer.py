"""Proofs and counterexamples by z3's Spacer (IC3, property-directed reachability), over the bits of the states.

Spacer searches an inductive invariant backwards from the claim and needs no hint. Induction, in contrast, needs a nearly inductive claim,
and `invariants` needs reached states. Spacer is not trusted. An invariant counts only if `certificate.refusal` accepts it, and a
counterexample only if the interpreter takes each of its steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .. import interpreter, interrupts
from ..errors import LimitReached, RocketproofError
from ..faults import fault_at_end
from ..formulas.bits import Bits
from ..formulas.relation import Relation, relation_of
from ..formulas.smt import z3
from ..formulas.solver import EnginesDisagree
from ..formulas.values import Value, conjunction, formula
from ..interpreter import State
from ..language import Expr, Instance, Property
from ..result import GAVE_UP, INTERRUPTED, MEMORY, TIME, Limits, Move, Outcome, Verdict, Watch, Witness
from . import certificate
from .inductive import InductionStep
from .obligations import KINDS

PROOF = "spacer"


def prove(instance: Instance, claim: Property, *, limits: Limits | None = None) -> Outcome:
    """Decide an `always`, `reachable`, `step` or `deadlock_free` claim for all reachable states.

    A proof (of a `reachable` claim: that it never holds) has its invariant in `details["invariants"]`, terms about a state that
    `certificate.refusal` has accepted. Any other decision has a witness, which need not be a shortest one. `unknown` has a limit's reason.
    Raises ModelFault, with its path, if an error of the model is reached, and RocketproofError for other kinds of property.
    """
    if claim.kind not in KINDS:
        raise RocketproofError(f"spacer for {claim.id}: it is of kind {claim.declared}; it decides {', '.join(KINDS)}")
    watch = Watch(limits or Limits())
    try:
        interpreter.initial(instance)  # raises if there is no initial state
        return _decide(instance, claim, watch)
    except LimitReached as stop:
        reason = stop.reason
    except KeyboardInterrupt:
        interrupts.heard()
        reason = INTERRUPTED
    return Outcome(claim, "symbolic", "unknown", reason, seconds=watch.seconds)


def _decide(instance: Instance, claim: Property, watch: Watch) -> Outcome:
    bits = Bits(relation_of(instance, watch))
    engine, reached = _Rules(bits, watch), "violated" if claim.kind != "reachable" else "holds"
    proved: Verdict = "holds" if claim.kind != "reachable" else "violated"
    path = engine.ask(_bad(bits.relation, claim))
    if path is None:
        invariant = [term for term in map(bits.term, engine.invariant()) if term.op != "const" or not term.args[0]]
        invariant = _least(instance, claim, invariant, watch)
        wrong = certificate.refusal(instance, claim, invariant, limits=Limits(watch.left))
        if wrong:
            raise EnginesDisagree(f"the invariant that spacer found for {claim.id} is none: {wrong}")
        return Outcome(claim, "symbolic", proved, PROOF, seconds=watch.seconds, details={"invariants": tuple(invariant)})
    moves, states = _replayed(instance, claim, path)
    fault = fault_at_end(instance, moves, states, [claim])
    if fault is not None:
        raise fault
    verdict: Verdict = "violated" if reached == "violated" else "holds"
    return Outcome(claim, "symbolic", verdict, witness=Witness(instance, claim, moves, states), depth=len(moves), seconds=watch.seconds)


def _least(instance: Instance, claim: Property, terms: Sequence[Expr], watch: Watch) -> list[Expr]:
    """Return as few of the terms as prove the claim."""
    step = InductionStep(instance, [claim], watch)
    for term in terms:
        step.assume(term)
    least = step.least(claim)
    return list(terms) if least is None else least


def _bad(relation: Relation, claim: Property) -> list[Value]:
    """Return what no reachable state, or step from one, may satisfy: formulas over a state before and after."""
    truth = relation.translate.truth
    (goal,) = certificate.parts(claim, []) or [claim.formula]
    broken = z3.Not(formula(truth(goal)))
    if claim.kind == "step":
        broken = conjunction(relation.step, broken)
    elif claim.kind == "deadlock_free":
        broken = conjunction(relation.stuck, broken)
    return [broken, relation.fault]


class _Rules:
    """Horn clauses over the bits of a state: the reached states, and the forbidden ones."""

    def __init__(self, bits: Bits, watch: Watch) -> None:
        self.bits, self.watch = bits, watch
        relation, truth = bits.relation, z3.BoolSort()
        self.engine = z3.Fixedpoint()
        # Spacer must not transform the rules, so that its answers are about the original bits.
        self.engine.set("engine", "spacer", "xform.slice", False, "xform.inline_linear", False, "xform.inline_eager", False)
        self.reached = z3.Function("reached", *(truth for _ in bits.before), truth)
        self.bad = z3.Function("bad", truth)
        self.engine.register_relation(self.reached, self.bad)
        for constant in (*bits.before, *bits.after, *bits.chosen):
            self.engine.declare_var(constant)
        here, there = self.reached(*bits.before), self.reached(*bits.after)
        self.engine.rule(here, [bits.of(relation.begin)])
        self.engine.rule(there, [here, bits.of(relation.step)])

    def ask(self, bad: Sequence[Value]) -> list[State] | None:
        """Return a path of states to a bad state, or None if there is none. Raises LimitReached."""
        for term in bad:
            if term is not False:
                self.engine.rule(self.bad(), [self.reached(*self.bits.before), self.bits.of(term)])
        self.watch.check()
        left = self.watch.left
        if left is not None:
            self.engine.set("timeout", max(1, int(left * 1000)))
        if self.watch.limits.memory is not None:
            z3.set_param("memory_max_size", self.watch.limits.memory >> 20)
        try:
            answer = self.engine.query(self.bad)
        except z3.Z3Exception as stop:
            raise LimitReached(self._reason(str(stop))) from None
        finally:
            z3.set_param("memory_max_size", 0)  # this limit is global to the process: other solvers have their own limits
        if answer == z3.unknown:
            raise LimitReached(self._reason(self.engine.reason_unknown()))
        return None if answer == z3.unsat else [self.bits.codes(truths) for truths in self._facts(self.engine.get_answer())]

    def _reason(self, reason: str) -> str:
        left = self.watch.left
        if "memory" in reason:
            return MEMORY
        if left is not None and left < 0.05:
            return TIME
        return INTERRUPTED if "cancel" in reason or "interrupt" in reason else GAVE_UP

    def invariant(self) -> list[Value]:
        """Return the conjuncts of the invariant, over the numbers of the bits."""
        cover = self.engine.get_cover_delta(-1, self.reached)
        return list(cover.children()) if z3.is_and(cover) else [cover]

    def _facts(self, proof: Any) -> Iterator[list[bool]]:
        """Yield the states on the proof's path to a bad state, in order: each step's premise comes before it."""
        waiting = [proof]
        states: list[list[bool]] = []
        while waiting:
            step = waiting.pop()
            *premises, conclusion = step.children() or [step]
            if step.decl().name() != "asserted" and z3.is_app(conclusion) and conclusion.decl().eq(self.reached):
                states.append([z3.is_true(truth) for truth in conclusion.children()])
            waiting += premises
        return reversed(states)


def _replayed(instance: Instance, claim: Property, path: Sequence[State]) -> tuple[tuple[Move, ...], tuple[State, ...]]:
    """Return the path as the interpreter takes it, with one more step if a step violates the claim."""
    states, moves = [path[0]], list[Move]()
    if not interpreter.starts_in(instance, path[0]):
        raise EnginesDisagree(f"spacer's path for {claim.id} begins in no initial state")
    for state in path[1:]:
        step = next((step for step in interpreter.successors(instance, states[-1]) if step.state == state), None)
        if step is None:
            raise EnginesDisagree(f"spacer's path for {claim.id} takes a step that the interpreter does not")
        moves.append(Move(step.action.name, step.args))
        states.append(state)
    return tuple(moves), tuple(states)
