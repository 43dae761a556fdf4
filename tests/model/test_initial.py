"""Models with several initial states: every engine starts in each of them, and in no other."""

from __future__ import annotations

from typing import Any

import pytest
import z3

from rocketproof_model import ANY, Bool, Int, Model, ModelError, SeqOf, SetOf, ite, liveness, one_of, search, simulate, symbolic
from rocketproof_model.interpreter import initial, initials, labelled, starts_in
from rocketproof_model.language import walk
from rocketproof_model.proofs import certificate
from rocketproof_model.transforms.widening import widened


def counters() -> Model:
    """Build two counters that start at any values with the sum 3; the first wraps around."""
    m = Model("counters")
    x, y = m.var("x", Int(0, 3), init=ANY), m.var("y", Int(0, 3), init=one_of(0, 2, 3))
    up = m.var("up", Bool, init=True)
    m.initially(x + y == 3)

    @m.action(fair="weak")
    def turn(a: Any) -> None:
        """The first counter goes round."""
        a.guard("up", up, "it is up")
        a.set(x, ite(x == 3, 0, x + 1))

    m.always("small", ~((x == 1) & (y == 3)), "violated after a step from 0, 3")
    m.always("not two", ~((x == 1) & (y == 2)), "violated at once, in the second initial state")
    m.leads_to("three", x == 0, x == 3, "it comes to 3")
    m.leads_to("y falls", y == 2, y == 0, "it never does")
    return m


STARTS = [(0, 3, 1), (1, 2, 1), (3, 0, 1)]


def test_initial_states_satisfy_the_condition() -> None:
    instance = counters().given()
    assert list(initials(instance)) == STARTS
    assert initial(instance) == STARTS[0]
    assert [state for state in [*STARTS, (2, 3, 1), (2, 1, 1)] if starts_in(instance, state)] == STARTS


@pytest.mark.nightly
@pytest.mark.parametrize("workers", [1, 2])
def test_search_starts_in_all_initial_states(workers: int) -> None:
    exploration = search.explore(counters().given(), workers=workers)
    assert (exploration.states, exploration.transitions, exploration.depth) == (12, 12 + 3, 4)
    paths = {o.property.id: o.witness.states for o in exploration.outcomes if o.witness is not None}
    assert paths == {"small": ((0, 3, 1), (1, 3, 1)), "not two": ((1, 2, 1),)}
    verdicts = {o.property.id: (o.verdict, None if o.witness is None else o.witness.states[0]) for o in liveness.check(counters().given())}
    assert verdicts == {"three": ("holds", None), "y falls": ("violated", (1, 2, 1))}


def test_bounded_checking_starts_in_all_initial_states() -> None:
    outcomes = {o.property.id: o for o in symbolic.bounded(counters().given(), depth=1)}
    assert [outcomes[name].verdict for name in ("small", "not two")] == ["violated", "violated"]
    assert outcomes["not two"].witness is not None and outcomes["not two"].witness.states == ((1, 2, 1),)


def test_proof_starts_in_all_initial_states() -> None:
    """The claim is true in the first initial state and false in the second."""
    instance = counters().given()
    begins = certificate.smt2(instance, instance.model.property("not two")).partition("(reset)")[0]
    solver: Any = z3.Solver()
    solver.from_string(begins)
    assert solver.check() == z3.sat


def test_simulation_draws_an_initial_state_for_each_run() -> None:
    instance = counters().given()
    found = simulate.estimate(instance, {f"y is {k}": instance.model.variable("y")[()] == k for k in range(4)}, runs=3000, steps=0, seed=1)
    shares = [tally.count / found.runs for tally in found.tallies]
    assert shares[1] == 0 and all(0.25 < shares[k] < 0.42 for k in (0, 2, 3))
    walks = [next(simulate.walk(instance, seed=1, run=run, steps=0))[1] for run in range(3000)]
    assert [sum(state[1] == k for state in walks) for k in range(4)] == [tally.count for tally in found.tallies]


def test_set_can_start_as_any_subset() -> None:
    m = Model("subsets")
    m.var("s", SetOf((Bool, Int(0, 1))), init=ANY)
    m.var("t", SetOf(Int(4, 5)), init=ANY)
    assert len(list(initials(m.given()))) == 2**4 * 2**2


def many(m: Model) -> Any:
    m.var("x", Int(0, 2**20), init=ANY)


def none(m: Model) -> Any:
    x = m.var("x", Int(0, 3), init=ANY)
    m.initially(x > 3)
    initial(m.given())


def too_many(m: Model) -> Any:
    m.var("x", Int(0, 2**12), init=ANY, over=Bool)
    for _ in initials(m.given()):
        pass


def symmetric(m: Model) -> Any:
    return m.index("I", 2, symmetric=True)


def one_of_equals(m: Model) -> Any:
    index = symmetric(m)
    x = m.var("x", Bool, over=index, init=ANY)
    m.initially(x[0])


def test_variable_can_start_as_any_symmetric_element() -> None:
    m = Model("equals")
    index = symmetric(m)
    x = m.var("x", index, init=ANY)
    y = m.var("y", Bool, over=index, init=ANY)
    m.initially(y[x])
    full, folded = (search.explore(m.given(), [], symmetry=on) for on in (False, True))
    assert (full.states, folded.states) == (4, 2)


MISTAKES: dict[str, tuple[Any, str]] = {
    "no choice": (lambda m: one_of(), "of nothing"),
    "a choice of what is no value": (lambda m: m.var("x", Int(0, 3), init=one_of(1, 4)), "4 is not a value"),
    "any value of a wide type": (many, "any of 1,048,577 values"),
    "no initial state": (none, "has no initial state"),
    "too many initial states": (too_many, "more than 4,194,304 initial states"),
    "any sequence": (lambda m: m.var("q", SeqOf(Bool, 2), init=ANY), "is no sequence"),
    "a condition on one of equals": (one_of_equals, "about single elements of I"),
    "a start of one of equals": (lambda m: m.var("x", symmetric(m), init=one_of(0)), "about single elements of I"),
    "a condition that is no formula": (lambda m: m.initially(3), "is not a value of Bool"),
}


@pytest.mark.nightly
@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_refused(mistake: str) -> None:
    make, words = MISTAKES[mistake]
    with pytest.raises(ModelError, match=words):
        make(Model("mistakes"))


def test_wider_sequence_is_shown_as_a_sequence() -> None:
    m = Model("queue")
    m.var("q", SeqOf(Int(0, 3), 2), init=(3, 1))
    instance = widened(m, {"q": Int(0, 30)}).given()
    assert labelled(instance, initial(instance)) == {"q": "<3, 1>"}


def test_wider_model_starts_like_the_narrow_model() -> None:
    m = widened(counters(), {"x": Int(0, 30)})
    assert list(initials(m.given())) == STARTS
    assert next(e.type for e in walk(*m.starts) if e.op == "ref") == Int(0, 30)
