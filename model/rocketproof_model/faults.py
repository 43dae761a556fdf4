"""Errors of a model that occur during a run, with the path that leads to them and the outcomes decided before.

The interpreter describes the error, so the text is the same for every engine. The path is a witness. Its property is the claim whose
formula has no value at the path's end. For an error of an action, it is the claim that the action gives its variables values of their
types.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from .errors import EvaluationError
from .interpreter import State, effect, holds, initial, labelled, refusing
from .language import Action, Expr, Instance, Model, Property, Type, all_of, const, implies, walk
from .result import Move, Outcome, Witness

PREFIX = "model error in "
"""Prefix of the id of a claim about an action; the action's label follows."""
_SHOWN = 16  # maximum of values of a state that is printed as a whole; of a larger state only the difference is printed


class ModelFault(EvaluationError):
    """An EvaluationError with the `witness` that leads to it, and the `outcomes` of the run that met it.

    Claims that were not decided before are `unknown` among the outcomes, with the reason `model error`.
    """

    def __init__(self, text: str, witness: Witness, outcomes: Sequence[Outcome] = ()) -> None:
        super().__init__(text)
        self.witness = witness
        self.outcomes = tuple(outcomes)

    def __reduce__(self) -> tuple[Any, ...]:
        return (ModelFault, (str(self), self.witness, self.outcomes))


def well_typed(model: Model, action: Action, args: Sequence[int]) -> Property:
    """Return the claim that the enabled action instance assigns values of the variables' types, one per element."""
    put = _substitution({name: const(code, type_) for (name, type_), code in zip(action.parameters.items(), args, strict=True)})
    guards = all_of(put(guard.condition) for guard in action.guards)
    inside: list[Expr] = []
    for update in action.updates:
        variable, *at = update.target.args
        sound: list[Expr] = []
        for term, type_ in ((update.assigned, variable.type), *zip(at, variable.over, strict=True)):
            if _may_leave(term, type_):
                sound += [put(term) >= type_.lo, put(term) <= type_.hi]
            elif any(map(_may_lack_value, walk(term))):
                sound.append(_has_value(put(term)))
        if any(map(_may_lack_value, walk(update.when))):
            inside.append(_has_value(put(update.when)))
        if sound:
            inside.append(implies(put(update.when), all_of(sound)))
    inside += [~put(clash) for clash in action.clashes]
    label = action.label(args)
    # A guard without value is an error too, so the guards stay if there is no other condition.
    formula = implies(guards, all_of(inside or [guards]))
    return Property(PREFIX + label, f"{label} gives the variables values of their types", "always", formula)


def _may_leave(term: Expr, type_: Type) -> bool:
    return term.type.lo < type_.lo or term.type.hi > type_.hi


def _may_lack_value(term: Expr) -> bool:
    """Return whether the operation itself has no value for some arguments."""
    if term.op == "ref":
        return any(map(_may_leave, term.args[1:], term.args[0].over))
    return term.op in ("rem", "get")


def _has_value(term: Expr) -> Expr:
    """Return a formula that is true where the term has a value, and has no value elsewhere."""
    asked: Expr = term == const(term.type.lo, term.type)
    return asked | ~asked


def _substitution(bound: Mapping[str, Expr]) -> Callable[[Expr], Expr]:
    """Return a change that replaces parameters by constants without simplifying: errors must occur in a state, not here."""
    done: dict[Expr, Expr] = {}

    def put(term: Expr) -> Expr:
        for e in walk(term, known=done):
            args = tuple(done[a] if isinstance(a, Expr) else a for a in e.args)
            done[e] = bound[e.args[0]] if e.op == "par" else Expr(e.op, args, e.type)
        return done[term]

    return put


def instances(instance: Instance) -> Iterator[tuple[Action, tuple[int, ...]]]:
    """Yield every action with the arguments of each of its instances."""
    for action in instance.model.actions:
        for args in action.instances:
            yield action, args


def fault_of_claims(
    instance: Instance, moves: Sequence[Move], states: Sequence[State], claims: Sequence[Property], outcomes: Sequence[Outcome] = ()
) -> ModelFault | None:
    """Return the interpreter's error in the claims' formulas at the end of a path and in its last step; None if there is none."""
    state = states[-1]
    for claim in claims:
        if claim.kind == "step" and moves:
            met = _error(instance, claim.formula, states[-2], state)
        elif claim.kind in ("always", "reachable", "leads_to", "eventually_always"):
            met = _error(instance, claim.formula, state) or (None if claim.goal is None else _error(instance, claim.goal, state))
        else:
            continue
        if met is not None:
            return _of_claim(instance, claim, (tuple(moves), tuple(states)), met, outcomes)
    return None


def fault_at_end(
    instance: Instance,
    moves: Sequence[Move],
    states: Sequence[State],
    claims: Sequence[Property],
    outcomes: Sequence[Outcome] = (),
    *,
    steps: Iterable[tuple[Action, tuple[int, ...]]] | None = None,
) -> ModelFault | None:
    """Return the interpreter's error at the end of a path, in the claims' formulas, an action or a step; None if there is none.

    An error in a claim over steps is in the path's last step or in a further step, which is then added to the witness. `steps` are all
    `instances` of actions, for a caller that bounds their time.
    """
    fault = fault_of_claims(instance, moves, states, claims, outcomes)
    if fault is not None:
        return fault
    path = (tuple(moves), tuple(states))
    state = states[-1]
    stuck = True
    for action, args in instances(instance) if steps is None else steps:
        label = action.label(args)
        try:
            if refusing(instance, state, action, args) is not None:
                continue
            stuck = False
            after = effect(instance, state, action, args)
        except EvaluationError as error:
            where = "" if label in str(error) else f", in {label}"
            witness = Witness(instance, well_typed(instance.model, action, args), *path, note=str(error))
            return ModelFault(f"{error}{where}, {_place(instance, states)}", witness, outcomes)
        for claim in claims:
            met = _error(instance, claim.formula, state, after) if claim.kind == "step" else None
            if met is not None:
                longer = ((*moves, Move(action.name, tuple(args))), (*states, after))
                return _of_claim(instance, claim, longer, met, outcomes)
    for claim in claims if stuck else ():
        met = _error(instance, claim.formula, state) if claim.kind == "deadlock_free" else None
        if met is not None:
            return _of_claim(instance, claim, path, met, outcomes)
    return None


def _error(instance: Instance, formula: Expr, state: State, after: State | None = None) -> EvaluationError | None:
    try:
        holds(instance, formula, state, after)
    except EvaluationError as error:
        return error
    return None


def _of_claim(
    instance: Instance,
    claim: Property,
    path: tuple[tuple[Move, ...], tuple[State, ...]],
    error: EvaluationError,
    outcomes: Sequence[Outcome],
) -> ModelFault:
    witness = Witness(instance, claim, *path, note=str(error))
    return ModelFault(f"{error}, in property {claim.id}, {_place(instance, path[1])}", witness, outcomes)


def _place(instance: Instance, states: Sequence[State]) -> str:
    """Return the text of the state; for a large state only the difference from the initial state."""
    steps = len(states) - 1
    values = labelled(instance, states[-1])
    start = labelled(instance, initial(instance))
    shown = [f"{name}={value}" for name, value in values.items() if len(values) <= _SHOWN or value != start[name]]
    rest = len(values) - len(shown)
    text = ", ".join(shown) + (f" (the other {rest} values are the initial ones)" if rest else "")
    return f"after {steps} {'step' if steps == 1 else 'steps'}, in state {text}"
