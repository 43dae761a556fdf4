"""The z3 engine for runs: bounded checking and k-induction.

Bounded checking proceeds depth by depth, so a witness is a shortest one. It refutes; it never answers `holds` for an `always`. Induction
proves without bound. Its counterexample is a verdict of its own, `not inductive`, because the state where it starts may be unreachable.

The interpreter replays every witness and every counterexample before it is returned. z3 may find an error of the model: a value outside its
type, or a term without value. It is raised as ModelFault with the path that leads to it.
"""

from __future__ import annotations

from collections.abc import Sequence

from . import interpreter, interrupts
from .errors import EvaluationError, LimitReached, RocketproofError
from .faults import fault_at_end
from .formulas.relation import Relation, code_of, relation_of
from .formulas.smt import z3
from .formulas.solver import EnginesDisagree, Solver
from .formulas.values import Value, conjunction, negation
from .interpreter import State
from .language import Expr, Instance, Property, show
from .result import BOUND, INTERRUPTED, MODEL_ERROR, Limits, Move, Outcome, Progress, Report, Verdict, Watch, Witness

BOUNDED_KINDS = ("always", "reachable", "step", "deadlock_free")


class _Aim:
    """The search goal for one property: `decisive` decides it, `without` is where its formula has no value."""

    def __init__(self, relation: Relation, claim: Property) -> None:
        meaning = relation.translate(claim.formula)
        self.claim = claim
        self.without = negation(meaning.defined)
        self.holds = conjunction(meaning.defined, meaning.value)
        if claim.kind == "reachable":
            self.decisive = self.holds
        else:
            self.decisive = conjunction(meaning.defined, negation(meaning.value))
        if claim.kind == "deadlock_free":
            self.decisive = conjunction(relation.stuck, self.decisive)
            # As in the other engines, the formula is evaluated only where no action is enabled.
            self.without = conjunction(relation.stuck, self.without)

    @property
    def verdict(self) -> Verdict:
        return "holds" if self.claim.kind == "reachable" else "violated"

    @property
    def back(self) -> int:
        """A step property is searched one state before the depth, because it also reads the state after."""
        return 1 if self.claim.kind == "step" else 0


def bounded(
    instance: Instance,
    properties: Sequence[Property] | None = None,
    *,
    depth: int,
    limits: Limits | None = None,
    report: Report | None = None,
) -> list[Outcome]:
    """Search all paths of at most `depth` steps and return one outcome per property, in the order given.

    A violation (for `reachable`: the state searched for) has a shortest witness. All other properties are `unknown`, with the reason `bound
    reached` or the limit that ended the run, and `depth` is the depth searched. By default it takes the model's properties of the kinds
    always, reachable, step and deadlock_free.

    Raises ModelFault, an EvaluationError with its path, for a value outside its type or a term without value within the depth. Raises
    RocketproofError for other kinds of property.
    """
    if properties is None:
        properties = [p for p in instance.model.properties if p.kind in BOUNDED_KINDS]
    for claim in properties:
        if claim.kind not in BOUNDED_KINDS:
            raise RocketproofError(
                f"bounded checking of {claim.id}: it is of kind {claim.declared}; give one of {', '.join(BOUNDED_KINDS)}"
            )
    if depth < 0:
        raise RocketproofError(f"bounded checking to depth {depth}: a depth is at least 0; give the number of steps")
    watch = Watch(limits or Limits())
    search = _Bounded(instance, properties, watch)
    try:
        search.run(depth, report)
        reason = BOUND
    except LimitReached as stop:
        reason = stop.reason
    except KeyboardInterrupt:
        interrupts.heard()
        reason = INTERRUPTED
    return [search.outcome(claim, reason) for claim in properties]


class _Bounded:
    """The progress of one bounded run: decided properties, and the depth searched for the others."""

    def __init__(self, instance: Instance, properties: Sequence[Property], watch: Watch) -> None:
        self.instance, self.properties, self.watch = instance, properties, watch
        self.decided: dict[Property, tuple[Verdict, Witness, float]] = {}
        self.depth = -1

    def run(self, depth: int, report: Report | None) -> None:
        relation = relation_of(self.instance, self.watch)
        solver = Solver(self.watch)
        aims = [_Aim(relation, claim) for claim in self.properties]
        interpreter.initial(self.instance)  # raises if there is no initial state
        solver.add(relation.at(relation.begin, 0))
        for at in range(depth + 1):
            solver.add(relation.at(relation.facts, at))
            self._decide_at(relation, solver, aims, at, last=at == depth)
            self.depth = at
            aims = [aim for aim in aims if aim.claim not in self.decided]
            if not aims or at == depth:
                break
            if report is not None:
                report(Progress("symbolic", at, 0, 0, self.watch.seconds))
            solver.add(relation.at(relation.step, at))

    def _decide_at(self, relation: Relation, solver: Solver, aims: list[_Aim], at: int, *, last: bool) -> None:
        """Decide what can be decided at this depth, and add what is impossible there to the solver, which speeds up the next depth."""
        aims = [aim for aim in aims if at >= aim.back]
        goals = {aim: relation.at(aim.decisive, at - aim.back) for aim in aims}
        errors = [relation.at(aim.without, at - aim.back) for aim in aims if aim.without is not False]
        if not last and relation.fault is not False:
            errors.append(relation.at(relation.fault, at))
        faulty: Value | None = None
        while goals or errors:
            literal = z3.Bool(f"look {at} {len(goals)}")
            terms = [*goals.values(), *errors]
            solver.add(z3.Implies(literal, z3.Or(*terms)))
            model = solver.check(literal)
            if model is None:
                if faulty is not None:
                    self._raise(relation, faulty, at)
                solver.add(*(z3.Not(term) for term in terms))
                return
            if any(code_of(model, term) for term in errors):
                faulty, errors = model, []  # raised after the other decisions of this depth
            reached = [aim for aim, term in goals.items() if code_of(model, term)]
            if not reached and faulty is not model:
                raise EnginesDisagree(f"z3 found something at depth {at} of {self.instance.model.name} that it cannot show")
            for aim in reached:
                path = _path(relation, model, range(at))
                _confirm(self.instance, aim.claim, path)
                witness = Witness(self.instance, aim.claim, *path)
                self.decided[aim.claim] = (aim.verdict, witness, self.watch.seconds)
                del goals[aim]
        if faulty is not None:
            self._raise(relation, faulty, at)

    def _raise(self, relation: Relation, model: Value, at: int) -> None:
        """Raise the interpreter's own error about this path."""
        path = _path(relation, model, range(at))
        outcomes = [self.outcome(claim, MODEL_ERROR) for claim in self.properties]
        fault = fault_at_end(self.instance, *path, self.properties, outcomes)
        if fault is None:
            raise EnginesDisagree(f"z3 sees a model error after {at} steps of {self.instance.model.name}, the interpreter none")
        raise fault

    def outcome(self, claim: Property, reason: str) -> Outcome:
        if claim in self.decided:
            verdict, witness, seconds = self.decided[claim]
            return Outcome(claim, "symbolic", verdict, witness=witness, depth=len(witness), seconds=seconds)
        return Outcome(claim, "symbolic", "unknown", reason, depth=max(self.depth, 0), seconds=self.watch.seconds)


def _path(relation: Relation, model: Value, depths: range) -> tuple[tuple[Move, ...], tuple[State, ...]]:
    """Return the moves and states of a z3 model, replayed by the interpreter from the first state on."""
    instance = relation.instance
    state = relation.read(model, depths.start)
    moves, states = [], [state]
    for depth in depths:
        move = relation.move(model, depth)
        action = instance.model.named(move.action)
        refused = interpreter.refusing(instance, state, action, move.args)
        if refused is not None:
            raise EnginesDisagree(f"z3 takes {action.label(move.args)}, which the interpreter's guard {refused.name!r} refuses")
        state = interpreter.effect(instance, state, action, move.args)
        if state != relation.read(model, depth + 1):
            raise EnginesDisagree(f"z3 and the interpreter differ about the state after {action.label(move.args)}")
        moves.append(move)
        states.append(state)
    return tuple(moves), tuple(states)


def _judge(instance: Instance, claim: Property, moves: Sequence[Move], states: Sequence[State]) -> bool:
    """Return whether the path's end decides the property, by the interpreter."""
    if claim.kind == "step":
        return bool(moves) and not interpreter.holds(instance, claim.formula, states[-2], states[-1])
    if claim.kind == "deadlock_free" and next(interpreter.successors(instance, states[-1]), None) is not None:
        return False
    return interpreter.holds(instance, claim.formula, states[-1]) == (claim.kind == "reachable")


def _confirm(instance: Instance, claim: Property, path: tuple[tuple[Move, ...], tuple[State, ...]]) -> None:
    if not _judge(instance, claim, *path):
        raise EnginesDisagree(f"z3 decides {claim.id} after {len(path[0])} steps, the interpreter does not")


def induction(
    instance: Instance,
    claim: Property,
    *,
    k: int = 1,
    lemmas: Sequence[Expr | Property] = (),
    limits: Limits | None = None,
) -> Outcome:
    """Prove an `always` or `step` property by k-induction, together with auxiliary formulas about a state.

    Base: the property and the lemmas hold in the first k states (for a step property: k - 1 steps) of every run. Step: from any k different
    consecutive states in which all of them hold, the next step keeps them all and has no fault. No value leaves its type and every term has
    a value, so nothing is silently excluded. A fault that the lemmas do not exclude is a counterexample too.

    Verdicts:

    - `holds`, reason `induction k=...`.
    - `violated`, with a shortest witness.
    - `not inductive`, with a path of k steps (k - 1 if a step then faults) whose first state may be unreachable; `details["failed"]` names
      what fails.
    - `unknown`, with a limit's reason, or a reason that names a false lemma.

    Raises ModelFault as `bounded` does.
    """
    refuse_other_kinds(claim)
    if k < 1:
        raise RocketproofError(f"induction for {claim.id} with k={k}: k is at least 1; give the number of states assumed")
    watch = Watch(limits or Limits())
    claims = [claim, *(_auxiliary(instance, number, lemma) for number, lemma in enumerate(lemmas, 1))]
    base = _Bounded(instance, claims, watch)
    try:
        base.run(k - 1, None)
        if base.decided:
            return _base_case(base, claims)
        return _step_case(instance, claims, k, watch)
    except LimitReached as stop:
        reason = stop.reason
    except KeyboardInterrupt:
        interrupts.heard()
        reason = INTERRUPTED
    return Outcome(claim, "symbolic", "unknown", reason, seconds=watch.seconds)


def refuse_other_kinds(claim: Property) -> None:
    """Raise RocketproofError for a claim that no induction decides."""
    if claim.kind not in ("always", "step"):
        raise RocketproofError(f"induction for {claim.id}: it is of kind {claim.declared}; induction decides always and step")


def _auxiliary(instance: Instance, number: int, lemma: Expr | Property) -> Property:
    if isinstance(lemma, Property):
        if lemma.kind != "always":
            raise RocketproofError(f"auxiliary {lemma.id}: it is of kind {lemma.declared}; give an always property or a state formula")
        return lemma
    return instance.model.claim(f"lemma {number}", show(lemma), "always", lemma)


def _base_case(base: _Bounded, claims: list[Property]) -> Outcome:
    if claims[0] in base.decided:
        return base.outcome(claims[0], "")
    false = next(lemma for lemma in claims if lemma in base.decided)
    witness = base.decided[false][1]
    reason = f"{false.id} is false after {len(witness)} steps"
    return Outcome(claims[0], "symbolic", "unknown", reason, witness, depth=len(witness), seconds=base.watch.seconds)


def _step_case(instance: Instance, claims: list[Property], k: int, watch: Watch) -> Outcome:
    relation = relation_of(instance, watch)
    solver = Solver(watch)
    aims = [_Aim(relation, claim) for claim in claims]
    last = k - 1
    solver.add(relation.typed(0), relation.at(relation.facts, k))
    for at in range(k):
        solver.add(relation.at(relation.facts, at))
        solver.add(*(relation.at(aim.holds, at) for aim in aims if aim.back == 0 or at < last))
        if at < last:
            solver.add(relation.at(relation.step, at), z3.Not(relation.at(relation.fault, at)))
        solver.add(*(relation.differ(other, at) for other in range(at)))
    fault = relation.at(relation.fault, last)
    breaks = [(aim.claim.id, z3.Not(relation.at(aim.holds, k - aim.back))) for aim in aims]
    solver.add(z3.Or(fault, z3.And(relation.at(relation.step, last), z3.Or(*(term for _, term in breaks)))))
    model = solver.check()
    claim = claims[0]
    if model is None:
        stands_on = {"invariants": tuple(lemma.formula for lemma in claims[1:])} if k == 1 else {}
        return Outcome(claim, "symbolic", "holds", f"induction k={k}", depth=k, seconds=watch.seconds, details=stands_on)
    faulty = code_of(model, fault)
    moves, states = _path(relation, model, range(last if faulty else k))
    if faulty:
        failed, what = "fault", f"there is a model error: {_fault_of(instance, states[-1])}"
    else:
        failed = next(name for name, term in breaks if code_of(model, term))
        what = f"{failed} fails in the last {'step' if claim.kind == 'step' and failed == claim.id else 'state'}"
    note = f"a counterexample to induction: its first state may be unreachable; {what}"
    witness = Witness(instance, claim, moves, states, note=note)
    details = {"failed": failed}
    return Outcome(claim, "symbolic", "not inductive", what, witness, depth=k, seconds=watch.seconds, details=details)


def _fault_of(instance: Instance, state: State) -> str:
    try:
        for _ in interpreter.successors(instance, state):
            pass
    except EvaluationError as error:
        return str(error)
    raise EnginesDisagree("z3 sees a model error in a counterexample to induction, the interpreter none")
