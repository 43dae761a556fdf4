"""The content of a model does not depend on its lines, and changes with any change of its meaning."""

from __future__ import annotations

from typing import Any

import pytest

from rocketproof_model import Int, Model
from rocketproof_model.language.content import Contents
from rocketproof_spec import NAMES, part

TEXT = """
m = Model("counter")
most = m.constant("most", Int(0, 9), 3)
n = m.var("n", Int(0, 9), init=0, sentence="the count")

@m.action(fair="weak")
def up(a):
    "The counter goes up."
    a.guard("room", n < most, "there is room")
    a.set(n, n + 1)

m.always("small", n <= most, "the count stays small")
"""
CHANGES = {
    "a guard's condition": ("n < most,", "n <= most,"),
    "a guard's name": ('"room"', '"space"'),
    "a guard's sentence": ("there is room", "it has room"),
    "a guard that is a bound": ("a.guard", "a.bound"),
    "an assigned value": ("n + 1", "n + 2"),
    "an action's sentence": ("goes up.", "rises."),
    "an action's fairness": ('fair="weak"', 'fair="strong"'),
    "an initial value": ("init=0", "init=1"),
    "a variable's type": ('"n", Int(0, 9)', '"n", Int(0, 8)'),
    "a variable's name": ('"n"', '"count"'),
    "a constant's default": ("Int(0, 9), 3)", "Int(0, 9), 4)"),
    "the model's name": ('"counter"', '"clock"'),
}
CLAIMS = {
    "a claim's formula": ("n <= most, ", "n < most, "),
    "a claim's kind": ("m.always", "m.reachable"),
    "a claim's sentence": ("stays small", "remains small"),
    "a claim's id": ('"small"', '"few"'),
}


def built(text: str) -> Model:
    """Build the model from a text."""
    names: dict[str, Any] = {"Model": Model, "Int": Int}
    exec(compile(text, "model.py", "exec"), names)
    model: Model = names["m"]
    return model


def digests(text: str) -> tuple[str, str]:
    """Return the content of the model and of its claim, built from a text."""
    model = built(text)
    return Contents().model(model), Contents().claim(model.properties[0])


def test_the_lines_do_not_matter() -> None:
    assert digests(TEXT) == digests("\n\n" + TEXT.replace("a.set", "\n    a.set"))


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_the_model_changes_its_content(change: str) -> None:
    old, new = CHANGES[change]
    assert old in TEXT and digests(TEXT.replace(old, new))[0] != digests(TEXT)[0]


@pytest.mark.parametrize("change", CLAIMS)
def test_a_change_of_a_claim_changes_its_content_alone(change: str) -> None:
    old, new = CLAIMS[change]
    model, claim = digests(TEXT.replace(old, new))
    assert old in TEXT and model == digests(TEXT)[0] and claim != digests(TEXT)[1]


def test_values_of_constants_are_content_of_the_instance() -> None:
    model = built(TEXT)
    contents = Contents()
    assert contents.constants(model.given()) == contents.constants(model.given(most=3)) != contents.constants(model.given(most=4))


def test_every_scope_has_a_content_of_its_own() -> None:
    contents = Contents()
    assert (
        len({contents.model(part(name).model) for name in NAMES if name not in ("medium", "large", "three", "topics", "skew")})
        == len(NAMES) - 5
    )
