"""The premise of a property, and the meaning of its verdict."""

from typing import Any

import pytest

from rocketproof_model import Bool, Model, after, implies
from rocketproof_model.language import Expr, show
from rocketproof_properties.catalogue.premises import premise
from rocketproof_properties.commands.checks.vacuity import occurred, premises

m = Model("letters")
a, b, c = (m.var(name, Bool, init=False) for name in "abc")


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        (implies(a, b), "a"),
        (implies(a & b, c), "(a & b)"),
        (implies(a, implies(b, c)), "(a & b)"),
        (implies(a, b) & implies(b, c), "(a | b)"),
        (implies(a, b) & c, None),
        (a | b, None),
        (a, None),
        (implies(~a, b), None),
    ],
)
def test_premise_of_a_state_formula(formula: Expr, expected: str | None) -> None:
    found = premise(m.claim("X", "s", "always", formula))
    assert (found if found is None else show(found)) == expected


def test_a_premise_about_the_step_becomes_a_step_claim() -> None:
    claims: list[Any] = [
        m.claim("state", "s", "always", implies(a, b)),
        m.claim("step", "s", "step", implies(~a & after(a), b)),
        m.claim("leads", "s", "leads_to", a, b),
        m.claim("always leads", "s", "leads_to", True, b),
        m.claim("reach", "s", "reachable", implies(a, b)),
    ]
    assert {(p.id, p.kind) for p in premises(claims)} == {
        ("premise of state", "reachable"),
        ("premise of step", "step"),
        ("premise of leads", "reachable"),
    }


def test_verdicts_on_premises() -> None:
    assert occurred("reachable", "holds") is True
    assert occurred("reachable", "violated") is False
    assert occurred("step", "violated") is True
    assert occurred("step", "holds") is False
    assert occurred("step", "unknown") is None
