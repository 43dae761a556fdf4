"""The states of a small scope and the steps between them, in breadth-first order. It uses Python functions, so no engine has to be
compiled."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from rocketproof_model import Action, EvaluationError, Instance, Property
from rocketproof_model.functions import Functions, term_function
from rocketproof_model.interpreter import State, initials

TICK = 500  # states between two calls


@dataclass(frozen=True)
class Edge:
    """A step between two states, by their numbers; `action` is the position of the action in the model."""

    source: int
    target: int
    action: int
    args: tuple[int, ...]


@dataclass
class ReachedStates:
    """States numbered from 0, the initial ones first, by distance and in the order of the actions. `complete`: there are no other
    states.

    It has the steps of all expanded states. In an incomplete result, steps to omitted states are missing.
    """

    states: list[State] = field(default_factory=list)
    depths: list[int] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    complete: bool = True


def reached(instance: Instance, limit: int, tick: Callable[[int], None] = lambda _: None) -> ReachedStates:
    """Return all reachable states, or the first `limit` of them. Raises EvaluationError if an action has no meaning in one of them."""
    functions = Functions(instance)
    actions: Sequence[Action] = instance.model.actions
    instances = [(number, functions[action.name], args) for number, action in enumerate(actions) for args in action.instances]
    first = list(itertools.islice(initials(instance), limit + 1))
    result = ReachedStates(first[:limit], [0] * len(first[:limit]), complete=len(first) <= limit)
    numbers = {state: number for number, state in enumerate(result.states)}
    at = 0
    while at < len(result.states):
        state, depth = result.states[at], result.depths[at]
        for number, function, args in instances:
            if not function.enabled(state, args):
                continue
            after = function.effect(state, args)
            target = numbers.get(after)
            if target is None and len(result.states) < limit:
                target = numbers[after] = len(result.states)
                result.states.append(after)
                result.depths.append(depth + 1)
            if target is None:
                result.complete = False
            else:
                result.edges.append(Edge(at, target, number, args))
        at += 1
        if at % TICK == 0:
            tick(at)
    return result


def truths_of(instance: Instance, claim: Property, states: Sequence[State]) -> list[bool | None]:
    """Return for each state whether the formula holds; None if it has no value."""
    holds = term_function(instance, claim.formula)
    values: list[bool | None] = []
    for state in states:
        try:
            values.append(bool(holds(state)))
        except EvaluationError:
            values.append(None)
    return values


__all__ = ["Edge", "ReachedStates", "reached", "truths_of"]
