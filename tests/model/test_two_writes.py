"""Two writes of one element: allowed if guards or conditions separate them, a model error if both are made."""

from __future__ import annotations

from typing import Any

import pytest

from rocketproof_model import Enum, EvaluationError, Instance, Int, Maybe, Model, ModelError, SeqOf, SetOf, search, symbolic
from rocketproof_model.columns import RecordedSteps, check_steps
from rocketproof_model.faults import ModelFault, well_typed
from rocketproof_model.functions import Functions
from rocketproof_model.interpreter import Environment, effect, evaluate, initial, successors
from rocketproof_model.result import Move


def swapping(*, guarded: bool) -> Model:
    """Two elements of an array change places."""
    m = Model("swap")
    Place = m.index("Place", 3)
    x = m.var("x", Int(0, 2), over=Place, init=lambda i: i)

    @m.action(i=Place, j=Place)
    def swap(a: Any, i: Any, j: Any) -> None:
        """The values of two elements are swapped."""
        if guarded:
            a.guard("apart", i < j, "the places are different ones")
        a.set(x[i], x[j])
        a.set(x[j], x[i])

    @m.action(i=Place, j=Place)
    def level(a: Any, i: Any, j: Any) -> None:
        """An element becomes equal to another, and that other becomes 2. Both writes agree if the two are the same element with a 2."""
        if guarded:
            a.guard("apart or same", (i != j) | (x[i] == 2), "the places are different, or hold a 2")
        a.set(x[i], x[j])
        a.set(x[j], 2)

    m.always("in range", x[0] <= 2, "true")
    return m


def test_guard_separates_the_elements() -> None:
    instance = swapping(guarded=True).given()
    states = {initial(instance)}
    while more := {step.state for state in states for step in successors(instance, state)} - states:
        states |= more
    exploration = search.explore(instance)
    assert exploration.states == len(states)
    functions = Functions(instance)
    for state in states:
        for step in successors(instance, state):
            assert functions[step.action.name].effect(state, step.args) == step.state
    (outcome,) = symbolic.bounded(instance, depth=2)
    assert outcome.verdict == "unknown"


def test_two_values_for_one_element_are_a_model_error() -> None:
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


# -- writes under a condition -----------------------------------------------------------------------------------------------


def caches(*, guarded: bool) -> Model:
    """Build caches: a cache that reads invalidates every modified copy and becomes shared."""
    m = Model("caches")
    Cache = m.index("Cache", ["one", "two"])
    x = m.var("x", Enum("M", "S", "I"), over=Cache, init=lambda c: "M" if c else "I")

    @m.action(c=Cache)
    def read(a: Any, c: Any) -> None:
        """A cache reads."""
        if guarded:
            a.guard("no copy", x[c] != "M", "it has no modified copy")
        for d in Cache:
            a.set(x[d], "I", when=x[d] == "M")
        a.set(x[c], "S")

    m.always("one", (x[0] != "M") | (x[1] != "M"), "at most one copy is modified")
    return m


def test_write_with_a_false_condition_never_conflicts() -> None:
    instance = caches(guarded=True).given()
    assert effect(instance, (2, 0), instance.model.named("read"), (0,)) == (1, 2)
    assert search.explore(instance).states == 3
    assert symbolic.bounded(instance, depth=3)[0].verdict == "unknown"


def test_error_of_two_writes_names_both() -> None:
    instance = caches(guarded=False).given()
    for find in (lambda: search.explore(instance), lambda: symbolic.bounded(instance, depth=1)):
        with pytest.raises(EvaluationError) as error:
            find()
        told = str(error.value)
        assert "x[two] gets two values by read(c=two): I by x[two] := I when (x[two] == M) (" in told, told
        assert " and S by x[c] := S (" in told and "in state x[one]=I, x[two]=M" in told, told
        assert told.count("test_two_writes.py:") == 2, told


def test_unconditional_second_write_is_refused_at_declaration() -> None:
    m = Model("twice")
    x = m.var("x", Int(0, 2), init=0)

    def act(a: Any) -> None:
        """Both are written."""
        a.set(x, 0, when=x == 1)
        a.set(x, 1)

    with pytest.raises(ModelError, match=r"x is written twice in act: when \(x == 1\) at .*:\d+, and here; write it once"):
        m.action()(act)


def reaching() -> Instance:
    """Build conditions that protect an index, a value that can be missing, and whole containers."""
    m = Model("reaching")
    Place = m.index("Place", 2)
    k = m.var("k", Int(0, 3), init=0)
    at = m.var("at", Maybe(Place), init=None)
    x = m.var("x", Int(0, 1), over=Place, init=0)
    q = m.var("q", SeqOf(Place, 1), init=())
    sent = m.var("sent", SetOf((Place, Place)), over=Place, init=())

    @m.action()
    def step(a: Any) -> None:
        """Something is written where there is a place for it."""
        a.set(x[k], 1, when=k < 2)
        a.set(x[at.get], 1 - x[at.get], when=at.is_some & (k > 1))
        a.set(q, q.append(at.get), when=q.is_empty & at.is_some)
        a.set(q, q.tail, when=~q.is_empty)
        a.add(sent[at.get], (at.get, q.head), when=at.is_some & ~q.is_empty)
        a.set(k, k + 1, when=k < 3)
        a.set(k, 0, when=k == 3)

    @m.action(p=Maybe(Place))
    def move(a: Any, p: Any) -> None:
        """Another place is chosen."""
        a.set(at, p)

    m.always("few", k <= 3, "true")
    return m.given()


def test_a_false_condition_protects_index_and_value_in_every_engine() -> None:
    instance = reaching()
    states = {initial(instance)}
    while more := {step.state for state in states for step in successors(instance, state)} - states:
        states |= more
    assert search.explore(instance).states == search.explore(instance, checked=False).states == len(states)
    functions = Functions(instance)
    for state in states:
        for step in successors(instance, state):
            assert functions[step.action.name].effect(state, step.args) == step.state
    assert symbolic.bounded(instance, depth=4)[0].reason == "bound reached"


@pytest.mark.parametrize("written", ["as it was", "a constant"])
def test_condition_without_a_value_is_an_error(written: str) -> None:
    """Also if the write would change nothing, or if only its condition can fail."""
    m = Model("conditional")
    Place = m.index("Place", 2)
    at = m.var("at", Maybe(Place), init=None)
    x = m.var("x", Int(0, 1), init=0)

    @m.action()
    def step(a: Any) -> None:
        """Something is written where a place is the first, even if there is no place."""
        a.set(x, x if written == "as it was" else 0, when=at.get == 0)

    m.always("few", x <= 1, "true")
    instance = m.given()
    state, action = initial(instance), m.named("step")
    for follow in (effect, lambda i, s, a, args: Functions(i)[a.name].effect(s, args)):
        with pytest.raises(EvaluationError):
            follow(instance, state, action, ())
    for engine in (search.explore, lambda i: symbolic.bounded(i, depth=2)):
        with pytest.raises(ModelFault):
            engine(instance)
    (wrong,) = check_steps(instance, RecordedSteps.of(instance, [(state, Move("step", ()), state)]), ())
    assert (wrong.kind, wrong.fault) == ("effect", True)
    with pytest.raises(EvaluationError):
        evaluate(well_typed(m, action, ()).formula, Environment(state, {}, instance.constants))
