"""Two updates of one array: allowed where a guard keeps them apart, an error of the model where one element gets two values."""

from __future__ import annotations

from typing import Any

import pytest

from rocketproof_model import EvaluationError, Int, Model, search, symbolic
from rocketproof_model.functions import Functions
from rocketproof_model.interpreter import effect, initial, successors


def swapping(*, guarded: bool) -> Model:
    """Two elements of an array change places."""
    m = Model("swap")
    Place = m.index("Place", 3)
    x = m.var("x", Int(0, 2), over=Place, init=lambda i: i)

    @m.action(i=Place, j=Place)
    def swap(a: Any, i: Any, j: Any) -> None:
        """What lies at two places changes places."""
        if guarded:
            a.guard("apart", i < j, "the places are different ones")
        a.set(x[i], x[j])
        a.set(x[j], x[i])

    @m.action(i=Place, j=Place)
    def level(a: Any, i: Any, j: Any) -> None:
        """One element becomes as another, and that one 2, which is the same where they are one and hold a 2."""
        if guarded:
            a.guard("apart or same", (i != j) | (x[i] == 2), "the places are different, or hold a 2")
        a.set(x[i], x[j])
        a.set(x[j], 2)

    m.always("in range", x[0] <= 2, "true")
    return m


def test_a_guard_keeps_the_places_apart() -> None:
    instance = swapping(guarded=True).given()
    states = {initial(instance)}
    while more := {step.state for state in states for step in successors(instance, state)} - states:
        states |= more
    found = search.explore(instance)
    assert found.states == len(states)
    functions = Functions(instance)
    for state in states:
        for step in successors(instance, state):
            assert functions[step.action.name].effect(state, step.args) == step.state
    (outcome,) = symbolic.bounded(instance, depth=2)
    assert outcome.verdict == "unknown"


def test_two_values_for_one_element_are_an_error_of_the_model() -> None:
    instance = swapping(guarded=False).given()
    state, action = initial(instance), instance.model.named("level")
    assert effect(instance, state, action, (2, 2)) == state
    for follow in (effect, lambda i, s, a, args: Functions(i)[a.name].effect(s, args)):
        with pytest.raises(EvaluationError, match=r"x\[|two values"):
            follow(instance, state, action, (1, 1))
    with pytest.raises(EvaluationError):
        search.explore(instance)
    with pytest.raises(EvaluationError):
        symbolic.bounded(instance, depth=1)
