"""Every engine reports an error of a model with its path and keeps the verdicts decided before it."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest

from rocketproof_model import Bool, Int, Maybe, Model, after, interpreter, ite, rem, search, simulate, total
from rocketproof_model.faults import ModelFault, well_typed
from rocketproof_model.language import Instance
from rocketproof_model.liveness import check
from rocketproof_model.result import MODEL_ERROR, Witness
from rocketproof_model.symbolic import bounded, induction
from rocketproof_traces.witness.truth import truths


def counter() -> Model:
    """Build a counter that counts beyond its type."""
    m = Model("counter")
    x = m.var("x", Int(0, 3), init=0)

    @m.action()
    def inc(a):  # type: ignore[no-untyped-def]
        """One more."""
        a.set(x, x + 1)

    m.always("positive", x > 0, "x is positive")
    m.always("small", x < 9, "x is small")
    m.reachable("two", x == 2, "x can be 2")
    m.step("up", after(x) > x, "x grows")
    return m


def explored(instance: Instance) -> object:
    return search.explore(instance)


def bound(instance: Instance) -> object:
    return bounded(instance, depth=6)


def follows(witness: Witness) -> bool:
    """Return whether a witness is a path of the interpreter from the initial state."""
    assert witness.states[0] == interpreter.initial(witness.instance)
    for before, move, then in zip(witness.states, witness.moves, witness.states[1:], strict=False):
        action = witness.instance.model.named(move.action)
        assert interpreter.refusing(witness.instance, before, action, move.args) is None
        assert interpreter.effect(witness.instance, before, action, move.args) == then
    return len(witness.states) == len(witness.moves) + 1


@pytest.mark.parametrize("engine", [explored, bound])
def test_error_carries_the_verdicts_decided_before_it(engine: Callable[[Instance], object]) -> None:
    with pytest.raises(ModelFault, match=r"^x becomes 4 by inc\(\), outside Int\(0, 3\), after 3 steps, in state x=3$") as raised:
        engine(counter().given())
    fault = raised.value
    assert [(o.property.id, o.verdict, o.reason) for o in fault.outcomes] == [
        ("positive", "violated", ""),
        ("small", "unknown", MODEL_ERROR),
        ("two", "holds", ""),
        ("up", "unknown", MODEL_ERROR),
    ]
    assert [len(o.witness) for o in fault.outcomes if o.witness is not None] == [0, 2]
    assert fault.witness.labels() == ["inc()"] * 3
    assert follows(fault.witness)
    assert fault.witness.property.id == "model error in inc()"
    assert [one.word for one in truths(fault.witness)] == ["holds", "holds", "holds", "fails"]
    assert (truths(fault.witness)[-1].part, truths(fault.witness)[-1].values) == ("((x + 1) <= 3)", {"x": 3})
    again = pickle.loads(pickle.dumps(ModelFault("said", fault.witness)))
    assert str(again) == "said"


def test_error_in_a_random_walk_has_its_path() -> None:
    m = counter()
    with pytest.raises(ModelFault, match="x becomes 4") as raised:
        simulate.estimate(m.given(), m.properties, runs=3, steps=10, seed=1)
    assert follows(raised.value.witness)
    assert len(raised.value.witness) == 3


@pytest.mark.parametrize("step", [False, True])
@pytest.mark.parametrize("engine", [explored, bound])
def test_error_in_a_property_has_its_path(engine: Callable[[Instance], object], step: bool) -> None:
    m = counter()
    x = m.variable("x")[()]
    claim = (m.step if step else m.always)("divides", rem(6, (after(x) if step else x) - 2) == 0, "6 is divided")
    with pytest.raises(ModelFault, match="remainder by zero, in property divides, after 2 steps, in state x=2") as raised:
        engine(m.given())
    witness = raised.value.witness
    assert witness.property is claim and follows(witness) and len(witness) == 2 and witness.states[-1] == (2,)
    assert truths(witness)[-1].word == "no value"


def test_error_in_a_reachable_formula_has_its_path() -> None:
    m = Model("lane")
    Node = m.index("Node", 3)
    at = m.var("at", Maybe(Node), init=0)

    @m.action(n=Node)
    def go(a, n):  # type: ignore[no-untyped-def]
        """To the next, and out of the last."""
        a.guard("here", at == n, "it is here")
        first, second, third = Node
        a.set(at, ite(n == third, None, ite(n == first, second, third)))

    claim = m.leads_to("on", at.get == 0, at.get == 2, "it comes to the end")
    with pytest.raises(
        ModelFault, match=r"at is None where its element is asked, in property on, after 3 steps, in state at=None"
    ) as raised:
        check(m.given())
    assert raised.value.witness.labels() == ["go(n=0)", "go(n=1)", "go(n=2)"]
    assert follows(raised.value.witness)
    assert raised.value.witness.property is claim


def test_claim_about_an_action_is_evaluated_only_where_enabled() -> None:
    m = Model("table")
    Node = m.index("Node", 2)
    on = m.var("on", Bool, over=Node, init=False)
    n = m.var("n", Int(0, 5), init=0)

    @m.action(k=Int(0, 2))
    def flip(a, k):  # type: ignore[no-untyped-def]
        """The element at k + n."""
        a.guard("few", n < 2, "few were flipped")
        a.set(on[n + k], True)
        a.set(n, n + 1)

    (action,) = m.actions
    fits, leaves = (well_typed(m, action, (k,)) for k in (0, 1))
    instance = m.given()
    state = interpreter.initial(instance)
    assert interpreter.holds(instance, fits.formula, state)
    assert interpreter.holds(instance, leaves.formula, state)
    assert not interpreter.holds(instance, leaves.formula, (0, 0, 1))
    assert interpreter.holds(instance, leaves.formula, (0, 0, 5)), "not enabled"
    with pytest.raises(ModelFault, match=r"index 2 is outside Node\(0..1\), in flip\(k=2\), after 0 steps") as raised:
        search.explore(instance)
    assert raised.value.witness.property.id == "model error in flip(k=2)"


ERRORS: dict[str, tuple[Callable[..., Any], str]] = {
    "a remainder": (lambda a, n, x, at, y: a.set(x, rem(6, x)), "no value"),
    "an element of None": (lambda a, n, x, at, y: a.set(y[n], at.get), "no value"),
    "a place of None": (lambda a, n, x, at, y: a.set(y[at.get], n), "no value"),
    "a place out of range": (lambda a, n, x, at, y: a.set(x, y[x + 2 * n] + 1), "no value"),
    "a guard": (lambda a, n, x, at, y: (a.guard("there", at.get == n, "it is there"), a.set(x, 1)), "no value"),
    "two values": (lambda a, n, x, at, y: (a.set(y[n], 0), a.set(y[x], 1)), "fails"),
}


@pytest.mark.parametrize("error", ERRORS)
def test_claim_about_an_action_reports_the_final_error(error: str) -> None:
    m = Model("errors")
    Node = m.index("Node", 2)
    x, at, y = m.var("x", Int(0, 9), init=0), m.var("at", Maybe(Node), init=None), m.var("y", Node, over=Node, init=0)
    fill, word = ERRORS[error]

    @m.action(n=Node)
    def act(a, n):  # type: ignore[no-untyped-def]
        """It has an error."""
        fill(a, n, x, at, y)

    with pytest.raises(ModelFault) as raised:
        search.explore(m.given())
    assert [one.word for one in truths(raised.value.witness)] == [word]


def test_an_error_in_unreachable_states_is_a_counterexample_to_induction() -> None:
    m = Model("counter")
    x = m.var("x", Int(0, 3), init=0)

    @m.action()
    def turn(a):  # type: ignore[no-untyped-def]
        """Between 0 and 1."""
        a.set(x, ite(x == 0, 1, x + ite(x == 1, -1, 1)))

    claim = m.always("low", x <= 1, "x is low")
    assert induction(m.given(), claim).verdict == "holds"
    other = m.always("few", x <= 3, "x is small")
    outcome = induction(m.given(), other)
    assert (outcome.verdict, outcome.details["failed"]) == ("not inductive", "fault")
    assert outcome.witness is not None
    assert outcome.witness.states == ((3,),)


def test_error_path_under_symmetry_is_a_path_of_the_model() -> None:
    m = Model("ring")
    Node = m.index("Node", 3, symmetric=True)
    x = m.var("x", Int(0, 2), over=Node, init=0)

    @m.action(n=Node)
    def inc(a, n):  # type: ignore[no-untyped-def]
        """One more, at any node."""
        a.set(x[n], x[n] + 1)

    m.always("few", total(Node, lambda n: x[n]) < 2, "few in all")
    for symmetry in (True, False):
        with pytest.raises(ModelFault, match=r"x becomes 3 by inc\(n=\d\), outside Int\(0, 2\), after 2 steps") as raised:
            search.explore(m.given(), symmetry=symmetry)
        assert follows(raised.value.witness)
        assert raised.value.outcomes[0].verdict == "violated"
