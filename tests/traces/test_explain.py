"""Explanations: which guard refuses, in which words, with which values; and questions that do not fit."""

import io
import re
from collections.abc import Callable

import pytest
from rich.console import Console

from rocketproof_model import Bool, Int, Model
from rocketproof_model.result import Witness
from rocketproof_traces.common.errors import TraceError
from rocketproof_traces.witness import explain


def text_of(witness: Witness, step: int, why_not: str | None = None, width: int = 100) -> str:
    out = io.StringIO()
    explain.render(explain.explain(witness, step, why_not), Console(file=out, width=width, no_color=True, force_terminal=False), "more")
    return out.getvalue()


@pytest.mark.parametrize(
    ("name", "step", "why_not"),
    [
        ("refused", 4, "refresh(p0)"),
        ("part", 2, "fetch_route(0)"),
        ("bound", 4, "send(p=0, q=6)"),
        ("enabled", 6, "refresh(0)"),
        ("end", 7, None),
    ],
)
def test_printed_explanation(name: str, step: int, why_not: str | None, skew: Witness, snapshot: Callable[[str, str], None]) -> None:
    text = text_of(skew, step, why_not)
    for width in (60, 80, 100):
        assert max(map(len, text_of(skew, step, why_not, width).splitlines())) <= width
    snapshot(f"explain-{name}.txt", text)


def test_first_guard_that_refuses_has_its_sentence_and_values(skew: Witness) -> None:
    asked = explain.explain(skew, 4, "refresh(p=0)").asked
    assert asked is not None and asked.refusal is not None
    assert not asked.enabled
    assert [(g.name, g.passed) for g in asked.guards] == [("has route", True), ("advertised", False), ("differs", None)]
    assert (asked.refusal.guard, asked.refusal.sentence) == ("advertised", "the name server knows the topic")
    assert (asked.refusal.condition, asked.refusal.values) == ("(route != {})", {"route": frozenset()})


def test_indices_are_filled_in_and_constants_named(through: Callable[..., Witness]) -> None:
    witness = through("calm", "take(c=0, i=2)")
    refusal = explain.explain(witness, 2, "take(c=1, i=2)").asked.refusal  # type: ignore[union-attr]
    assert refusal is not None
    assert refusal.values == {"shelf[2].left": 0, "rush": False}
    assert "holding[0] = 2" in text_of(witness, 2, "take(0, 1)")


def test_explain_states_effect_of_enabled_action(skew: Witness) -> None:
    asked = explain.explain(skew, 1, "crash(b=1)").asked
    assert asked is not None
    assert asked.enabled and asked.refusal is None
    assert [(c.name, c.before, c.after) for c in asked.would] == [("registered[1]", "True", "False"), ("crashes", "0", "1")]


def test_enabled_actions_are_ordered_and_taken_one_marked(skew: Witness) -> None:
    first = explain.explain(skew, 1)
    assert first.enabled[:3] == ("fetch_route(p=0)", "fetch_route(p=1)", "crash(b=0)")
    assert first.taken == "fetch_route(p=0)"
    assert "  * fetch_route(p=0)\n    fetch_route(p=1)" in text_of(skew, 1)
    assert explain.explain(skew, 0) == first
    assert explain.explain(skew, 7).taken == ""


def test_conditions_and_effects_without_value_are_reported() -> None:
    m = Model("odd")
    x = m.var("x", Int(0, 3), init=0)
    row = m.var("row", Bool, over=m.index("I", 2), init=False)
    m.always("p", x == 1, "x is 1")

    @m.action()
    def far(a):
        """Reads too far."""
        a.guard("there", row[x + 1], "it is there")

    @m.action()
    def out(a):
        """Leaves the range."""
        a.set(x, x + 3)

    instance = m.given()
    witness = Witness(instance, m.property("p"), (), ((1, 0, 0),))
    text = text_of(witness, 1, "far()")
    assert "guard 'there' has no value" in text
    assert "index 2 is outside I(0..1)" in text
    assert re.search(r"where +x +", text)
    assert "its effect has no meaning: x becomes 4" in text_of(witness, 1, "out")
    assert "In the only state" in text


@pytest.mark.parametrize(
    ("text", "action", "args"),
    [
        ("take(c=1, i=2)", "take", (1, 2)),
        ("take(1,2)", "take", (1, 2)),
        (" take( c1 , i2 ) ", "take", (1, 2)),
        ("take(i=2, c=1)", "take", (1, 2)),
        ("put(0, true)", "put", (0, 1)),
        ("put(c=0, loudly=False)", "put", (0, 0)),
        ("audit({0, 2})", "audit", (5,)),
        ("audit(i={1})", "audit", (2,)),
        ("audit({})", "audit", (0,)),
        ("rest", "rest", ()),
        ("rest()", "rest", ()),
    ],
)
def test_action_instances_are_read(text: str, action: str, args: tuple[int, ...], loud: Witness) -> None:
    found, codes = explain.parse(text, loud.instance.model)
    assert (found.name, codes) == (action, args)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("fly(1)", "no action 'fly' in model shop; its actions are take, put, audit, rest"),
        ("take", "take has 2 parameters, not 0; write it like take(c=0, i=0)"),
        ("take(1)", "take has 2 parameters, not 1; write it like take(c=0, i=0)"),
        ("take(1, 7)", "i = 7 is not a value of Item(0..2); use one of 0..2"),
        ("take(1, x)", "i = x is not a value of Item(0..2)"),
        ("take(c=1, c=2)", "c is given twice"),
        ("take(c=1, j=2)", "take has no parameter 'j'"),
        ("put(0, maybe)", "loudly = maybe is not a value of Bool; use one of True, False"),
        ("audit({9})", "i = {9} is not a value of SetOf(Item(0..2))"),
        ("take(1", "is not an action; write it like take(c=0, i=0)"),
        ("", "is not an action"),
    ],
)
def test_wrong_questions_are_one_line(text: str, expected: str, loud: Witness) -> None:
    with pytest.raises(TraceError, match=re.escape(expected)) as caught:
        explain.explain(loud, 1, text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("step", [-1, 9])
def test_step_outside_witness_is_one_line(step: int, loud: Witness) -> None:
    with pytest.raises(TraceError, match=rf"step {step}: the witness has 2 steps; give 1 to 3, where 3 is the state at the end"):
        explain.explain(loud, step)
