"""`assert_shows`: take given steps on the model, or on the implementation, and assert that they show a property's witness."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from rocketproof_model import Action, EvaluationError, Instance, Property
from rocketproof_model.interpreter import State, effect, initial, refusing, successors
from rocketproof_model.language import LASTING
from rocketproof_model.result import Move, Outcome, Witness
from rocketproof_traces.common.refusal import refusal_of
from rocketproof_traces.witness.choices import scope_of
from rocketproof_traces.witness.explain import parse
from rocketproof_traces.witness.show import SHOWN
from rocketproof_traces.witness.truth import NOT_YET, WAITING, truths

from ...catalogue.source import ModelSource
from ...reports.choices import InputError
from .asserting import Refuted, shown
from .subjects import Chosen, ModelLike, chosen

IMPLEMENTATION = "implementation"


def assert_shows(
    model: ModelLike,
    property: str | Property,
    steps: Sequence[str],
    *,
    loop: int | None = None,
    on: str | None = None,
    scope: str | None = None,
    profile: str | None = None,
    **values: Any,
) -> Witness:
    """Assert that steps such as `"look(p=0)"` are enabled from the initial state and show that the property is violated.

    A `reachable` property is shown by its state, any other property by its violation. A violation that only an infinite path shows needs
    `loop`, the number of the state to which the last state returns. `model`, `scope`, `profile` and `values` are the same as for `check`.
    For the specification (`None`), the steps can also be performed `on="implementation"`, or on brokers that are started:
    `on="apache:4.9.4"`, `"served"`, a TOML file.

    Returns the witness. Raises Refuted, an AssertionError, for a step that a guard refuses, with its sentence and values. Refuted is also
    raised for steps that do not show the property, and for an implementation that deviates. Raises RocketproofError for an invalid step,
    property or model.
    """
    __tracebackhide__ = True
    selection = chosen(model, values, scope=scope, profile=profile)
    claim = next((stated for stated in selection.claims(property) if stated.kind != "lemma"), None)
    if claim is None:
        raise InputError(f"{property} is a lemma, which no steps show; assert_violated decides it")
    witness = _walked(selection, claim, steps, loop)
    missing = unshown(witness)
    if missing:
        raise Refuted(f"the steps do not show {claim.id!r} of {selection.name}: {missing}\n\n{shown(witness)}", _outcome(witness))
    if on is not None:
        _perform(selection, witness, on)
    return witness


def _walked(selection: Chosen, claim: Property, steps: Sequence[str], loop: int | None) -> Witness:
    __tracebackhide__ = True
    instance = selection.subject.instance
    if loop is not None and not 0 <= loop <= len(steps):
        raise InputError(f"loop={loop} is the number of no state; give 0 to {len(steps)}")
    walked = Witness(instance, claim, (), (initial(instance),))
    for number, label in enumerate(steps, 1):
        action, args = parse(label, instance.model)
        state = walked.states[-1]
        try:
            guard = refusing(instance, state, action, args)
            next_state = state if guard is not None else effect(instance, state, action, args)
        except EvaluationError as error:
            raise Refuted(f"step {number} of {selection.name}, {action.label(args)}, has no meaning: {error}", _outcome(walked)) from None
        if guard is not None:
            why = refusal_of(guard, instance, scope_of(instance, state, action, args), action.label(args))
            values = ", ".join(f"{name} = {value}" for name, value in why.values.items())
            refusal = f"step {number} of {selection.name}, {action.label(args)}, is refused by guard {guard.name!r} ({guard.sentence})"
            raise Refuted(f"{refusal}{f' with {values}' if values else ''}", _outcome(walked))
        walked = replace(walked, moves=(*walked.moves, Move(action.name, tuple(args))), states=(*walked.states, next_state))
    return replace(walked, loop=loop)


def unshown(witness: Witness) -> str:
    """Return why a path from the initial state is no witness of its property; "" if it is a witness."""
    claim, words = witness.property, [truth.word for truth in truths(witness)]
    if claim.kind not in LASTING or (claim.kind == "until" and witness.loop is None):
        return "" if words[-1] == SHOWN[claim.kind] else f"at the end it {words[-1] or 'is not asked'}"
    if witness.loop is None:
        return "a loop is missing in which it is waited for ever; give loop=, the number of the state that the last one returns to"
    if claim.kind == "eventually_always":
        if NOT_YET not in words[witness.loop :]:
            return "it holds all along the loop"
    elif any(word != WAITING for word in words[witness.loop :]):
        return "in the loop it is not always waited for"
    moves = _taken(witness, witness.loop)
    if moves is None:
        return f"no step leads from the last state back to state {witness.loop}"
    return _excluding_fairness(witness.instance, witness.states[witness.loop :], moves)


def _taken(witness: Witness, loop: int) -> set[Move] | None:
    """Return the state-changing steps of the loop, including those that close it; None if no step closes it."""
    path = witness.states[loop:]
    taken = {move for move, (before, after) in zip(witness.moves[loop:], pairwise(path), strict=True) if before != after}
    last, first = path[-1], path[0]
    if last == first:
        return taken
    closing = {Move(step.action.name, tuple(step.args)) for step in successors(witness.instance, last) if step.state == first}
    return taken | closing if closing else None


def _excluding_fairness(instance: Instance, cycle: Sequence[State], taken: set[Move]) -> str:
    """Return the fairness assumption that excludes the loop; "" if none does.

    As in TLA+, a step that changes nothing does not count for fairness.
    """
    for action in instance.model.actions:
        if action.fair is None:
            continue
        for args in action.instances:
            if Move(action.name, tuple(args)) in taken:
                continue
            demanded = (_changes(instance, state, action, args) for state in cycle)
            if all(demanded) if action.fair == "weak" else any(demanded):
                return f"{action.label(args)} is {action.fair}ly fair, and never happens in the loop"
    return ""


def _changes(instance: Instance, state: State, action: Action, args: Sequence[int]) -> bool:
    """Return whether the action is enabled and leads to another state."""
    return refusing(instance, state, action, args) is None and effect(instance, state, action, args) != state


def _perform(selection: Chosen, witness: Witness, on: str) -> None:
    __tracebackhide__ = True
    source = selection.source
    if source is None or source.file is not None:
        raise InputError(f"on={on!r} with a model of your own; only the specification has an implementation: leave it out")
    if on == IMPLEMENTATION:
        problem = _implementation(source, witness)
    else:
        from ...brokers.choose import choose
        from ...conformance.witnesses.smallmodels import perform_file
        from ...validation.validate import mark

        problem = perform_file(choose(None, on, source.profile, configure=False), source, witness, mark()).problem
    if problem:
        raise Refuted(f"{on} does otherwise than the specification: {problem}", _outcome(witness))


def _implementation(source: ModelSource, witness: Witness) -> str:
    """Return how the implementation deviates on the simulated cluster; "" if it does not."""
    from ...conformance.stateful.replay import replay_witness

    done = replay_witness(source, witness)
    if done.finding is not None:
        return f"step {done.done + 1}: {done.finding.text}"
    return "" if done.shown else f"its states do not show {witness.property.id}"


def _outcome(witness: Witness) -> Outcome:
    """Return the path so far as an outcome without verdict."""
    return Outcome(witness.property, "explicit", "unknown", "", witness, depth=len(witness))
