"""Witnesses to write, show and draw: the routing skew, and a small model that has every type and kind of property."""

import os
from collections import deque
from collections.abc import Callable
from pathlib import Path

import pytest

import routing
from rocketproof_model import Bool, Enum, Instance, Int, Maybe, Model, Record, SetOf, after
from rocketproof_model.interpreter import holds, initial, successors
from rocketproof_model.result import Move, Witness

SNAPSHOTS = Path(__file__).parent / "snapshots"


def shortest(instance: Instance, id_: str) -> Witness:
    """Return the shortest path that violates an `always`, or shows a `reachable`, without using an engine."""
    claim = instance.model.property(id_)
    first = initial(instance)
    parents: dict = {first: None}
    queue = deque([first])
    while queue:
        state = queue.popleft()
        if holds(instance, claim.formula, state) == (claim.kind == "reachable"):
            moves, states = [], [state]
            while parents[state] is not None:
                state, move = parents[state]
                moves.append(move)
                states.append(state)
            return Witness(instance, claim, tuple(reversed(moves)), tuple(reversed(states)))
        for step in successors(instance, state):
            if step.state not in parents:
                parents[step.state] = (state, Move(step.action.name, step.args))
                queue.append(step.state)
    raise AssertionError(f"{id_} has no witness")


def walk(instance: Instance, id_: str, *labels: str, loop: int | None = None, note: str = "") -> Witness:
    states, moves = [initial(instance)], []
    for label in labels:
        enabled = {step.label: step for step in successors(instance, states[-1])}
        assert label in enabled, f"{label} cannot happen, but {', '.join(enabled)} can"
        moves.append(Move(enabled[label].action.name, enabled[label].args))
        states.append(enabled[label].state)
    return Witness(instance, instance.model.property(id_), tuple(moves), tuple(states), loop, note)


def shop() -> Model:
    """A shop's orders: not realistic, but with a table, two axes, every type, a bool parameter and an action without one."""
    m = Model("shop")
    Clerk, Item = m.index("Clerk", 2), m.index("Item", 3)
    rush = m.constant("rush", Bool, False)
    shelf = m.var(
        "shelf", Record(left=Int(-1, 2), seen=Bool), over=Item, init=lambda i: Record(left=Int(-1, 2), seen=Bool)(left=1, seen=False)
    )
    count = m.var("count", Int(0, 3), over=(Clerk, Item), init=0)
    holding = m.var("holding", Maybe(Item), over=Clerk, init=None)
    ever = m.var("ever", SetOf(Item), init=())
    mood = m.var("mood", Enum("calm", '<busy> & "loud"'), init="calm")

    @m.action(c=Clerk, i=Item)
    def take(a, c, i):
        """A clerk takes an item from the shelf."""
        a.guard("free hand", holding[c].is_none, "the clerk holds nothing")
        a.guard("in stock", (shelf[i].left > 0) | rush, "the item is in stock")
        a.bound("few", count[c, i] < 2, "the scope counts that far")
        a.set(holding[c], i)
        a.set(shelf[i].left, shelf[i].left - 1)
        a.set(shelf[i].seen, True)
        a.set(count[c, i], count[c, i] + 1)

    @m.action(c=Clerk, loudly=Bool)
    def put(a, c, loudly):
        """The clerk puts the item back."""
        a.guard("holds", holding[c].is_some, "the clerk holds an item")
        a.set(holding[c], None)
        a.set(shelf[holding[c].get].left, shelf[holding[c].get].left + 1)
        a.set(mood, '<busy> & "loud"', when=loudly)

    @m.action(i=SetOf(Item))
    def audit(a, i):
        """Somebody looks at some items."""
        a.guard("unseen", ever != i, "they have not been looked at")
        a.set(ever, i)

    @m.action(fair="weak")
    def rest(a):
        """Everybody calms down."""
        a.set(mood, "calm")

    m.always("calm", mood == "calm", "nobody is loud")
    m.reachable("gone", shelf[2].left == 0, "item 2 can be taken")
    m.step("keep", after(shelf[0].left) >= shelf[0].left, "item 0 is never taken")
    m.deadlock_free("alive", "something can always happen")
    m.leads_to("served", holding[0].is_some, mood != "calm", "a clerk who holds something becomes loud")
    return m


@pytest.fixture
def skew() -> Witness:
    labels = ("fetch_route(p=0)", "send(p=0, q=0)", "handle(p=0)", "register(b=0)", "fetch_route(p=1)", "refresh(p=0)")
    return walk(routing.model(B=2, P=2, M=1, K=1, C=1).given(), "skew", *labels)


@pytest.fixture
def loud() -> Witness:
    return shortest(shop().given(), "calm")


@pytest.fixture
def lasso() -> Witness:
    # take counts, so only a rest leads back to a state
    labels = ("audit(i={1})", "take(c=0, i=1)", "rest()", "rest()")
    return walk(shop().given(), "served", *labels, loop=2, note="respects weak fairness of rest")


@pytest.fixture
def walked() -> Callable[..., Witness]:
    """Walk any model: the model, the property and labels to a Witness."""
    return lambda model, id_, *labels, loop=None: walk(model.given(), id_, *labels, loop=loop)


@pytest.fixture
def through() -> Callable[..., Witness]:
    """Walk the shop: labels to a Witness of the given property."""
    return lambda id_, *labels, loop=None, note="", **constants: walk(shop().given(**constants), id_, *labels, loop=loop, note=note)


@pytest.fixture
def snapshot() -> Callable[[str, str], None]:
    """Compare a text with a file; run with ROCKETPROOF_SNAPSHOTS=write to accept the new text."""

    def compare(name: str, text: str) -> None:
        path = SNAPSHOTS / name
        if os.environ.get("ROCKETPROOF_SNAPSHOTS") == "write":
            path.write_text(text, encoding="utf-8")
        assert path.exists(), f"no snapshot {name}; write it with ROCKETPROOF_SNAPSHOTS=write and read it"
        assert text == path.read_text(encoding="utf-8"), f"{name} differs; if it is better now, accept it with ROCKETPROOF_SNAPSHOTS=write"

    return compare
