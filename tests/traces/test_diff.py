"""Comparison of two witnesses: the shared prefix, the divergence and the guard that explains it, and different ends."""

import io
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

from rocketproof_model import Enum, Instance, Int, Model
from rocketproof_model.interpreter import effect, initial
from rocketproof_model.result import Move, Witness
from rocketproof_traces.common.errors import TraceError
from rocketproof_traces.witness.diff import compare, render


def till(shelf: int = 9) -> Model:
    m = Model("till")
    limit = m.constant("limit", Int(0, 9), 9)
    money = m.var("money", Int(0, 9), init=0)
    door = m.var("door", Enum("shut", "open"), init="shut")

    @m.action(n=Int(1, 3))
    def pay(a: Any, n: Any) -> None:
        """Somebody pays."""
        a.guard("room", money + n <= limit, "the till has room")
        a.set(money, money + n)

    @m.action()
    def unlock(a: Any) -> None:
        """The door opens."""
        a.guard("shut", door == "shut", "the door is shut")
        a.set(door, "open")

    m.always("poor", money < shelf, "there is never much money")
    return m


def path(instance: Instance, *steps: tuple[str, *tuple[int, ...]]) -> Witness:
    states = [initial(instance)]
    for name, *args in steps:
        states.append(effect(instance, states[-1], instance.model.named(name), args))
    moves = tuple(Move(name, tuple(args)) for name, *args in steps)
    return Witness(instance, instance.model.properties[0], moves, tuple(states))


ONE = path(till().given(), ("pay", 1), ("unlock",), ("pay", 3))
OTHER = path(till().given(), ("pay", 1), ("pay", 2), ("unlock",), ("pay", 3))


def printed(first: Witness, other: Witness, width: int = 100) -> str:
    text = io.StringIO()
    render(compare(first, other), "a.json", "b.json", Console(file=text, width=width, highlight=False, color_system=None))
    return text.getvalue()


def test_witness_equals_itself_in_other_instance_of_model() -> None:
    found = compare(ONE, path(till().given(), ("pay", 1), ("unlock",), ("pay", 3)))
    assert found.equal and found.common == 3 and found.first is None and found.end == ()
    assert printed(ONE, ONE).splitlines() == ["- a.json: 3 steps", "+ b.json: 3 steps", "they are the same"]


def test_diff_shows_changes_at_divergence_and_aligns_rest() -> None:
    assert printed(ONE, OTHER).splitlines() == [
        "- a.json: 3 steps",
        "+ b.json: 4 steps",
        "the first step is the same",
        "then the first: - step 2, unlock(): The door opens.",
        "    door: shut → open",
        "then the second: + step 2, pay(n=2): Somebody pays.",
        "    money: 1 → 3",
        "all steps:",
        "  =    1    1  pay(n=1)",
        "  +         2  pay(n=2)",
        "  =    2    3  unlock()",
        "  =    3    4  pay(n=3)",
        "the last states differ:",
        "    money: 4 in the first, 6 in the second",
    ]


def test_refusing_guard_explains_divergence() -> None:
    poor = path(till().given(limit=2), ("pay", 1), ("pay", 1))
    found = compare(path(till().given(), ("pay", 1), ("pay", 3)), poor)
    assert [(constant.name, constant.first, constant.second) for constant in found.constants] == [("limit", "9", "2")]
    assert found.first is not None and found.second is not None
    assert (found.first.guard, found.second.guard) == ("room", "")
    assert "    refused in the other one by guard 'room': the till has room (" in printed(
        path(till().given(), ("pay", 1), ("pay", 3)), poor
    )


def test_diff_reports_continuation_other_starts_loops_and_properties() -> None:
    short = path(till().given(), ("pay", 1))
    assert "then the first is at its end" in printed(short, ONE) and "then the second is at its end" in printed(ONE, short)
    looped = replace(short, loop=1)
    other = replace(short, property=replace(ONE.property, id="rich"))
    assert [fact.name for fact in compare(short, looped).facts] == ["loop"] and not compare(short, looped).equal
    assert [(fact.first, fact.second) for fact in compare(short, other).facts] == [("poor", "rich")]
    later = Witness(short.instance, short.property, (), (short.states[1],))
    start = compare(later, path(till().given()))
    assert (start.common, start.facts[0].first, start.facts[0].second) == (0, "money = 1", "money = 0")


def test_witnesses_of_two_models_are_refused() -> None:
    other = Model("safe")
    other.var("gold", Int(0, 1), init=0)
    witness = Witness(other.given(), ONE.property, (), ((0,),))
    with pytest.raises(TraceError, match="of models till and safe: their variables differ in money; give two of the same model and scope"):
        compare(ONE, witness)


@pytest.mark.parametrize("width", [1, 20, 40, 200])
def test_lines_fit_any_width(width: int) -> None:
    lines = printed(ONE, OTHER, width).splitlines()
    assert max(map(len, lines[2:])) <= max(width, 16)


def test_diff_json_has_everything() -> None:
    data = compare(ONE, OTHER).data()
    assert (data["schema"], data["equal"], data["common"], data["lengths"]) == (1, False, 1, [3, 4])
    assert data["second"] == {
        "step": 2,
        "label": "pay(n=2)",
        "changes": [{"name": "money", "before": "1", "after": "3"}],
        "guard": "",
        "refused": "",
    }
    assert [row["of"] for row in data["steps"]] == ["both", "second", "both", "both"]
