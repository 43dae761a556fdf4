"""Models composed of models, and history variables."""

from __future__ import annotations

from typing import Any

import pytest

from rocketproof_model import Bool, Expr, Int, Model, ModelError, SetOf, after, history, include, maximum, search
from rocketproof_model.interpreter import initial, labelled


def counter(top: int = 2) -> tuple[Model, Expr]:
    m = Model("counter")
    x = m.var("x", Int(0, 3), init=0)
    busy = m.var("busy", Bool, init=False)
    seen = m.var("seen", SetOf((Bool, Int(0, 3))), init=())
    m.constant("top", Int(0, 3), top, "how far it counts")
    top_ = Expr("given", ("top",), Int(0, 3))

    @m.action()
    def take(a: Any) -> None:
        """The counter takes what only one may have."""
        a.guard("free", ~busy, "nobody has it")
        a.set(busy, True)

    @m.action()
    def count(a: Any) -> None:
        """It counts and gives it back."""
        a.guard("room", busy & (x < top_), "there is room")
        a.set(x, x + 1)
        a.set(busy, False)
        a.add(seen, (True, x))

    m.always("small", x <= top_, "it stays small")
    return m, x


def test_two_counters_have_the_product_of_their_states() -> None:
    single = search.explore(counter()[0].given(), []).states
    m = Model("pair")
    (left, x), (right, y) = counter(), counter()
    mine, its = include(m, left, "left"), include(m, right, "right")
    m.always("apart", ~((mine(x) == 2) & (its(y) == 2)), "they never both end")
    exploration = search.explore(m.given())
    assert exploration.states == single**2
    assert m.sentences == {"top": "how far it counts"}
    assert {o.property.id: o.verdict for o in exploration.outcomes} == {"left small": "holds", "right small": "holds", "apart": "violated"}
    assert labelled(m.given(), initial(m.given())) == {
        "left_x": "0",
        "left_busy": "False",
        "left_seen": "{}",
        "right_x": "0",
        "right_busy": "False",
        "right_seen": "{}",
    }


def test_shared_variable_exists_once() -> None:
    m = Model("pair")
    m.var("lock", Bool, init=False)
    for name in ("left", "right"):
        include(m, counter()[0], name, {"busy": "lock"})
    names = [v.name for v in m.variables]
    assert names == ["lock", "left_x", "left_seen", "right_x", "right_seen"]
    assert search.explore(m.given(), []).states == 3 * 3 * 2  # the counts, and the lock


def test_history_variable_changes_only_itself() -> None:
    m, x = counter()
    plain = search.explore(m.given(), []).states
    most = history(m, "most", Int(0, 3), init=0, becomes=lambda h: maximum(h, after(x)))
    steps = history(m, "steps", Int(0, 9), init=0, becomes=lambda h: h + 1)
    m.always("remembered", most == x, "the counter never falls")
    m.always("counted", steps <= 5, "there are five steps")
    exploration = search.explore(m.given())
    assert exploration.states == plain
    assert {o.property.id: o.verdict for o in exploration.outcomes} == {"small": "holds", "remembered": "holds", "counted": "holds"}


MISTAKES: dict[str, tuple[Any, str]] = {
    "twice under one prefix": (lambda m: [include(m, counter()[0], "a"), include(m, counter()[0], "a")], "left_x|a_x is declared twice"),
    "a prefix that is no name": (lambda m: include(m, counter()[0], "two words"), "under the name"),
    "a shared variable that is none": (lambda m: include(m, counter()[0], "a", {"y": "z"}), "y is shared and no variable"),
    "a shared variable that is not there": (lambda m: include(m, counter()[0], "a", {"x": "z"}), "no variable 'z'"),
    "a shared variable of another type": (
        lambda m: [m.var("z", Bool, init=False), include(m, counter()[0], "a", {"x": "z"})],
        "of another type",
    ),
    "a constant that is another one": (lambda m: [m.constant("top", Bool, True), include(m, counter()[0], "a")], "is another one here"),
    "a history before the actions": (lambda m: history(m, "h", Bool, init=False, becomes=lambda h: h), "before all actions"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_refused(mistake: str) -> None:
    make, words = MISTAKES[mistake]
    with pytest.raises(ModelError, match=words):
        make(Model("whole"))
