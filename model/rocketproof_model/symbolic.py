"""The z3 engine: bounded checking, k-induction, and lemmas for all values.

Bounded checking goes depth by depth, so a witness is a shortest one; it refutes and never says `holds` for an `always`.
Induction proves without bound, and its counterexample is a verdict of its own, `not inductive`, because the state where
it starts may be unreachable. A lemma is proven over all values of its unknowns, whatever the state.

Every witness and every counterexample is replayed on the interpreter before it is returned. A model error that z3 comes upon
(a value outside its type, a term without value) is raised as EvaluationError with the path that leads to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import interpreter
from .errors import EvaluationError, LimitReached, RocketproofError
from .formulas.relation import Relation, code_of
from .formulas.terms import Elements, Translation, Unknowns, Value, conjunction, formula, negation, z3
from .interpreter import Scope, State
from .language import Expr, Instance, Model, Property, Type, show
from .result import (
    BOUND,
    GAVE_UP,
    INTERRUPTED,
    MEMORY,
    TIME,
    Limits,
    Move,
    Outcome,
    Progress,
    Report,
    Verdict,
    Watch,
    Witness,
)

BOUNDED_KINDS = ("always", "reachable", "step", "deadlock_free")
VACUOUS = "vacuous premise"


class EnginesDisagree(RuntimeError):
    """z3 and the interpreter differ about a path or a value: a mistake in rocketproof itself."""


class _Solver:
    """A z3 solver for bit-vectors under limits of time and memory; `check` raises LimitReached instead of giving no answer."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        # Measured: ten times faster on transition systems than z3's default solver.
        self._solver = z3.SolverFor("QF_BV")
        if watch.limits.memory is not None:
            self._solver.set("max_memory", max(1, watch.limits.memory >> 20))

    def add(self, *terms: Value) -> None:
        self._solver.add(*(formula(t) for t in terms))

    def check(self, *assumptions: Value) -> Value | None:
        """A z3 model of what was added and assumed (literals), or None if there is none."""
        left = self.watch.left
        if left is not None:
            if left <= 0:
                raise LimitReached(TIME)
            self._solver.set("timeout", max(1, int(left * 1000)))
        answer = self._solver.check(*assumptions)
        if answer == z3.sat:
            return self._solver.model()
        if answer == z3.unsat:
            return None
        raise LimitReached(self._reason())

    def _reason(self) -> str:
        said = self._solver.reason_unknown()
        if "memory" in said:
            return MEMORY
        left = self.watch.left
        if (left is not None and left < 0.05) or "timeout" in said:
            return TIME
        return INTERRUPTED if "interrupt" in said or "cancel" in said else GAVE_UP


class _Aim:
    """What to look for in a path about one property: `found` decides it, `without` says that its formula has no value."""

    def __init__(self, relation: Relation, claim: Property) -> None:
        meaning = relation.translate(claim.formula)
        self.claim = claim
        self.without = negation(meaning.defined)
        self.holds = conjunction(meaning.defined, meaning.value)
        if claim.kind == "reachable":
            self.found = self.holds
        else:
            self.found = conjunction(meaning.defined, negation(meaning.value))
        if claim.kind == "deadlock_free":
            self.found = conjunction(relation.stuck, self.found)
            # As in the other engines the formula is only asked where nothing is enabled.
            self.without = conjunction(relation.stuck, self.without)

    @property
    def verdict(self) -> Verdict:
        return "holds" if self.claim.kind == "reachable" else "violated"

    @property
    def back(self) -> int:
        """A step property is looked for one state before the depth, as it also reads the state after."""
        return 1 if self.claim.kind == "step" else 0


def bounded(
    instance: Instance,
    properties: Sequence[Property] | None = None,
    *,
    depth: int,
    limits: Limits | None = None,
    report: Report | None = None,
) -> list[Outcome]:
    """Look along all paths of at most `depth` steps; one outcome for each property, in the order given.

    A violation (for `reachable`: the state looked for) comes with a shortest witness. All else is `unknown`, with the
    reason `bound reached` or the limit that ended the run, and `depth` as far as was looked. By default the
    model's properties of the kinds always, reachable, step and deadlock_free. Raises EvaluationError if a path within the
    depth meets a value outside its type or a term without value, and RocketproofError for other kinds of property.
    """
    if properties is None:
        properties = [p for p in instance.model.properties if p.kind in BOUNDED_KINDS]
    for claim in properties:
        if claim.kind not in BOUNDED_KINDS:
            raise RocketproofError(f"bounded checking of {claim.id}: it is of kind {claim.kind}; give one of {', '.join(BOUNDED_KINDS)}")
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
        reason = INTERRUPTED
    return [search.outcome(claim, reason) for claim in properties]


class _Bounded:
    """State of one bounded run: what is decided, and the depth to which the rest was looked for."""

    def __init__(self, instance: Instance, properties: Sequence[Property], watch: Watch) -> None:
        self.instance, self.properties, self.watch = instance, properties, watch
        self.found: dict[Property, tuple[Verdict, Witness, float]] = {}
        self.depth = -1

    def run(self, depth: int, report: Report | None) -> None:
        relation = Relation(self.instance)
        solver = _Solver(self.watch)
        aims = [_Aim(relation, claim) for claim in self.properties]
        solver.add(relation.equals(0, interpreter.initial(self.instance)))
        for at in range(depth + 1):
            solver.add(relation.at(relation.facts, at))
            self._look(relation, solver, aims, at, last=at == depth)
            self.depth = at
            aims = [aim for aim in aims if aim.claim not in self.found]
            if not aims or at == depth:
                break
            if report is not None:
                report(Progress("symbolic", at, 0, 0, self.watch.seconds))
            solver.add(relation.at(relation.step, at))

    def _look(self, relation: Relation, solver: _Solver, aims: list[_Aim], at: int, *, last: bool) -> None:
        """Decide what can be decided at this depth, and tell the solver what cannot happen there: that speeds up the next."""
        aims = [aim for aim in aims if at >= aim.back]
        goals = {aim: relation.at(aim.found, at - aim.back) for aim in aims}
        errors = [relation.at(aim.without, at - aim.back) for aim in aims if aim.without is not False]
        if not last and relation.fault is not False:
            errors.append(relation.at(relation.fault, at))
        while goals or errors:
            literal = z3.Bool(f"look {at} {len(goals)}")
            terms = [*goals.values(), *errors]
            solver.add(z3.Implies(literal, z3.Or(*terms)))
            model = solver.check(literal)
            if model is None:
                solver.add(*(z3.Not(term) for term in terms))
                return
            if any(_true(model, term) for term in errors):
                self._raise(relation, model, at, aims)
            reached = [aim for aim, term in goals.items() if _true(model, term)]
            if not reached:
                raise EnginesDisagree(f"z3 found something at depth {at} of {self.instance.model.name} that it cannot show")
            for aim in reached:
                path = _path(relation, model, range(at))
                _confirm(self.instance, aim.claim, path)
                witness = Witness(self.instance, aim.claim, *path)
                self.found[aim.claim] = (aim.verdict, witness, self.watch.seconds)
                del goals[aim]

    def _raise(self, relation: Relation, model: Value, at: int, aims: list[_Aim]) -> None:
        """Raise the interpreter's own error about this path."""
        moves, states = _path(relation, model, range(at))
        labels = ", ".join(self.instance.model.named(m.action).label(m.args) for m in moves) or "the start"
        try:
            for aim in aims:
                _judge(self.instance, aim.claim, moves, states)
            for _ in interpreter.successors(self.instance, states[-1]):
                pass
        except EvaluationError as error:
            raise EvaluationError(f"after {labels}: {error}") from error
        raise EnginesDisagree(f"z3 sees a model error after {labels}, the interpreter none")

    def outcome(self, claim: Property, reason: str) -> Outcome:
        if claim in self.found:
            verdict, witness, seconds = self.found[claim]
            return Outcome(claim, "symbolic", verdict, witness=witness, depth=len(witness), seconds=seconds)
        return Outcome(claim, "symbolic", "unknown", reason, depth=max(self.depth, 0), seconds=self.watch.seconds)


def _true(model: Value, term: Value) -> bool:
    return bool(z3.is_true(model.eval(term, model_completion=True)))


def _path(relation: Relation, model: Value, depths: range) -> tuple[tuple[Move, ...], tuple[State, ...]]:
    """Moves and states of a z3 model, replayed on the interpreter from the first state on."""
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
    """Whether the path's end decides the property, by the interpreter."""
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

    Base: the property and the lemmas hold on the first k states (for a step property: k - 1 steps) of every run. Step: from any k
    different consecutive states where all of them hold, the next step keeps them all, and so is without fault: no value leaves
    its type, no term is without value, so that nothing is excluded in silence. A fault that the lemmas do not
    exclude is a counterexample too.

    Variables whose type reaches beyond 2**32 stand for unbounded counters: a step that would carry one of them above the
    upper end of its type does not exist. What is proven then is about all runs that stay below that end.

    Verdicts: `holds` (reason `induction k=...`), `violated` with a shortest witness, `not inductive` with a path of k steps whose
    first state may be unreachable (k - 1 if then a step faults; `details["failed"]` names what fails), `unknown` with a
    limit's reason, or with a reason that names a lemma that is false. Raises EvaluationError as `bounded` does.
    """
    if claim.kind not in ("always", "step"):
        raise RocketproofError(f"induction for {claim.id}: it is of kind {claim.kind}; induction decides always and step")
    if k < 1:
        raise RocketproofError(f"induction for {claim.id} with k={k}: k is at least 1; give the number of states assumed")
    watch = Watch(limits or Limits())
    claims = [claim, *(_auxiliary(instance, number, lemma) for number, lemma in enumerate(lemmas, 1))]
    base = _Bounded(instance, claims, watch)
    try:
        base.run(k - 1, None)
        if base.found:
            return _base_case(base, claims)
        return _step_case(instance, claims, k, watch)
    except LimitReached as stop:
        reason = stop.reason
    except KeyboardInterrupt:
        reason = INTERRUPTED
    return Outcome(claim, "symbolic", "unknown", reason, seconds=watch.seconds)


def _auxiliary(instance: Instance, number: int, lemma: Expr | Property) -> Property:
    if isinstance(lemma, Property):
        if lemma.kind != "always":
            raise RocketproofError(f"auxiliary {lemma.id}: it is of kind {lemma.kind}; give an always property or a state formula")
        return lemma
    return instance.model.claim(f"lemma {number}", show(lemma), "always", lemma)


def _base_case(base: _Bounded, claims: list[Property]) -> Outcome:
    if claims[0] in base.found:
        return base.outcome(claims[0], "")
    false = next(lemma for lemma in claims if lemma in base.found)
    witness = base.found[false][1]
    reason = f"{false.id} is false after {len(witness)} steps"
    return Outcome(claims[0], "symbolic", "unknown", reason, witness, depth=len(witness), seconds=base.watch.seconds)


def _step_case(instance: Instance, claims: list[Property], k: int, watch: Watch) -> Outcome:
    relation = Relation(instance)
    solver = _Solver(watch)
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
        return Outcome(claim, "symbolic", "holds", f"induction k={k}", depth=k, seconds=watch.seconds)
    faulty = _true(model, fault)
    moves, states = _path(relation, model, range(last if faulty else k))
    if faulty:
        failed, what = "fault", f"there is a model error: {_fault_of(instance, states[-1])}"
    else:
        failed = next(name for name, term in breaks if _true(model, term))
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


def prove(target: Instance | Model, lemma: Property, *, limits: Limits | None = None) -> Outcome:
    """Prove a lemma for all values of its unknowns: `free` terms, parameters, the state, and, given a Model, its constants.

    Verdicts: `holds` (reason `proof`); `violated` with `details["values"]`, name to readable value, where the formula is
    false or has no value (the reason says so); `unknown` with the reason `vacuous premise` if it is an implication, or a conjunction of
    implications, whose premises no values satisfy, or with a limit's reason.
    """
    watch = Watch(limits or Limits())
    model = target if isinstance(target, Model) else target.model
    constants = {} if isinstance(target, Model) else target.constants
    try:
        return _prove(model, constants, lemma, watch)
    except LimitReached as stop:
        reason = stop.reason
    except KeyboardInterrupt:
        reason = INTERRUPTED
    return Outcome(lemma, "symbolic", "unknown", reason, seconds=watch.seconds)


def _prove(model: Model, constants: Mapping[str, int], lemma: Property, watch: Watch) -> Outcome:
    premises = _premises(lemma.formula)
    if premises and not any(_values(model, constants, premise, True, watch) for premise in premises):
        return Outcome(lemma, "symbolic", "unknown", VACUOUS, seconds=watch.seconds)
    found = _values(model, constants, lemma.formula, False, watch)
    if found is None:
        return Outcome(lemma, "symbolic", "holds", "proof", seconds=watch.seconds)
    reason = "" if found.error is None else f"it has no value there: {found.error}"
    return Outcome(lemma, "symbolic", "violated", reason, seconds=watch.seconds, details={"values": found.readable()})


def _premises(e: Expr) -> list[Expr]:
    """The premises of an implication, or of a conjunction of nothing but implications."""
    if e.op == "and":
        parts = [_premises(a) for a in e.args]
        return parts[0] + parts[1] if all(parts) else []
    if e.op == "or" and e.args[0].op == "not":
        premise: Expr = e.args[0].args[0]
        inner = _premises(e.args[1]) if e.args[1].op == "or" else []
        return [premise & p for p in inner] or [premise]
    return []


@dataclass(frozen=True, eq=False)
class _Values:
    """Codes of a formula's unknowns, by kind and name, and the interpreter's answer about them: a truth value or an error."""

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
    """Values that make the formula true, or (`truth` False) that leave it false or without value; None if there are none."""
    guess = _solve(model, constants, e, truth, watch, rough=True)
    if guess is None or guess.truth == truth:
        return guess
    found = _solve(model, constants, e, truth, watch, rough=False)
    if found is None or found.truth == truth:
        return found
    raise EnginesDisagree(f"z3 and the interpreter differ about {show(e)} for {found.readable()}")


def _solve(model: Model, constants: Mapping[str, int], e: Expr, truth: bool, watch: Watch, *, rough: bool) -> _Values | None:
    unknowns = Unknowns()
    states = [Elements(unknowns, kind, model.variables) for kind in ("ref", "after")]
    translate = Translation(*states, constants=constants, unknowns=unknowns, rough=rough)
    wanted = translate.truth(e) if truth else negation(translate.truth(e))
    solver = _Solver(watch)
    solver.add(unknowns.limits(), *translate.facts, wanted)
    answer = solver.check()
    if answer is None:
        return None
    codes = {key: (type_, code_of(answer, value)) for key, (type_, value) in unknowns.found.items()}
    return _interpreted(model, constants, e, codes)


def _interpreted(model: Model, constants: Mapping[str, int], e: Expr, codes: dict[tuple[str, str], tuple[Type, int]]) -> _Values:
    def named(wanted: str) -> dict[str, int]:
        return {name: code for (kind, name), (_, code) in codes.items() if kind == wanted}

    # Elements that the formula does not ask for may have any value.
    slots = [(v.name_at(at), v.type.lo) for v in model.variables for at in v.elements()]
    before, after = named("ref"), named("after")
    states = [tuple(known.get(name, lo) for name, lo in slots) for known in (before, after)]
    scope = Scope(states[0], named("par"), {**constants, **named("given")}, states[1], named("free"))
    try:
        return _Values(codes, bool(interpreter.evaluate(e, scope)), None)
    except EvaluationError as error:
        return _Values(codes, False, error)
