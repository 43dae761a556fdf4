"""Recorded steps in bulk: inputs that an interpreter never gets, such as values outside their types. tests/agreement has the rest."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from rocketproof_model import Body, Expr, Instance, Int, Model, ModelError, after
from rocketproof_model.columns import RecordedSteps, StepProgram, check_steps, compile_steps
from rocketproof_model.result import Move


def lamps() -> Instance:
    """Build two lamps with a dimmer, and a switch that turns a lamp up by 1 to 3, below 10."""
    model = Model("lamps")
    lamp = model.index("Lamp", 2)
    light = model.var("light", Int(0, 9), over=lamp, init=0)
    uses = model.var("uses", Int(0, 100), init=0)

    @model.action(which=lamp, by=Int(1, 3))
    def turn(a: Body, which: Expr, by: Expr) -> None:
        """A lamp is turned up."""
        a.guard("not-bright", light[which] < 7, "it can be brighter")
        a.set(light[which], light[which] + by)
        a.set(uses, uses + 1)

    @model.action()
    def off(a: Body) -> None:
        """Both are turned off."""
        a.set(light[0], 0)
        a.set(light[1], 0)

    @model.action()
    def aim(a: Body) -> None:
        """The lamp of the number of uses is turned off."""
        a.set(light[uses], 0)

    model.always("one-dark", (light[0] < 9) | (light[1] < 9), "not both are as bright as can be")
    model.step("uses-grow", after(uses) >= uses, "uses are never forgotten")
    return model.given()


LAMPS = lamps()


def steps(*rows: tuple[tuple[int, ...], str, tuple[int, ...], tuple[int, ...]]) -> RecordedSteps:
    """Return rows of (lights and uses before, action, its parameters, lights and uses after)."""
    return RecordedSteps.of(LAMPS, [(before, Move(action, args), later) for before, action, args, later in rows])


def said(steps_: RecordedSteps, program: StepProgram | None = None) -> list[tuple[Any, ...]]:
    found = (program or compile_steps(LAMPS)).check(steps_)
    return sorted((row, v.kind, v.name, v.action, v.fault) for v in found for row in v.rows.tolist())


SOUND = ((0, 3, 5), "turn", (0, 2), (2, 3, 6))


def test_sound_steps() -> None:
    assert said(steps(SOUND, ((6, 3, 5), "off", (), (0, 0, 5)), ((6, 0, 5), "turn", (0, 3), (9, 0, 6)))) == []
    assert said(steps()) == []


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (((7, 3, 5), "turn", (0, 1), (8, 3, 6)), [("guard", "not-bright", "turn", False)]),
        (((0, 3, 5), "turn", (0, 2), (1, 3, 6)), [("effect", "light[0]", "turn", False)]),
        (((0, 3, 5), "turn", (0, 2), (2, 4, 6)), [("effect", "light[1]", "turn", False)]),
        (((0, 3, 100), "turn", (0, 2), (2, 3, 100)), [("effect", "uses", "turn", True)]),
        (((0, 3, 5), "off", (), (0, 0, 6)), [("frame", "uses", "off", False)]),
        (((0, 3, 5), "off", (), (0, 0, 4)), [("frame", "uses", "off", False), ("step", "uses-grow", "", False)]),
        (((4, 3, 1), "aim", (), (4, 0, 1)), []),
        (((4, 3, 0), "aim", (), (4, 0, 0)), [("effect", "light[0]", "aim", False), ("effect", "light[1]", "aim", False)]),
        (((4, 3, 2), "aim", (), (4, 3, 2)), [("effect", "light[uses]", "aim", True)]),
        (((9, 9, 5), "off", (), (0, 0, 5)), [("always", "one-dark", "", False)]),
        (((9, 6, 5), "turn", (1, 3), (9, 9, 6)), [("always", "one-dark'", "", False)]),
        (((0, 3, 5), "turn", (0, 4), (4, 3, 6)), [("effect", "light[which]", "turn", True), ("parameter", "by", "turn", False)]),
        (((0, 3, 5), "off", (), (0, 12, 5)), [("value", "light[1]'", "", False)]),
        (((0, 10, 5), "off", (), (0, 0, 5)), [("value", "light[1]", "", False)]),
        (
            ((0, 3, 101), "off", (), (0, 0, 102)),
            [("step", "uses-grow", "", True), ("value", "uses", "", False), ("value", "uses'", "", False)],
        ),
    ],
)
def test_invalid_step_is_reported(row: Any, expected: list[tuple[Any, ...]]) -> None:
    """The first and the last of three rows are sound; the report is about the row between."""
    found = said(steps(SOUND, row, SOUND))
    assert found == [(1, *each) for each in expected]


def test_an_action_that_the_model_does_not_have() -> None:
    table = steps(SOUND, SOUND, SOUND)
    table.action[:] = [3, 0, -1]
    assert said(table) == [(0, "action", "", "", False), (2, "action", "", "", False)]


def test_narrow_columns_and_columns_of_other_kinds() -> None:
    table = steps(SOUND, ((0, 3, 5), "turn", (1, 2), (2, 5, 6)), SOUND)
    narrow = RecordedSteps(
        table.action.astype(np.int8),
        {name: column.astype(np.uint8) for name, column in table.before.items()},
        {name: column.astype(np.uint64) for name, column in table.after.items()},
        {name: column.astype(np.int16) for name, column in table.parameters.items()},
    )
    assert said(narrow) == said(table) == [(1, "effect", "light[0]", "turn", False)]


def test_missing_columns() -> None:
    table = steps(SOUND)
    with pytest.raises(ModelError, match="parameter by of turn"):
        check_steps(LAMPS, RecordedSteps(table.action, table.before, table.after, {"which": table.parameters["which"]}))
    with pytest.raises(ModelError, match="no column light"):
        check_steps(LAMPS, RecordedSteps(table.action, table.before, {"uses": table.after["uses"]}, table.parameters))


def test_other_claims_and_other_processes() -> None:
    light = LAMPS.model.variable("light")
    program = compile_steps(LAMPS, [LAMPS.model.claim("dark", "it is dark", "always", light[0] == 0)])
    expected = [(0, "always", "dark'", "", False)]
    assert said(steps(SOUND), program) == expected
    assert said(steps(SOUND), pickle.loads(pickle.dumps(program))) == expected


def test_model_of_guards_alone() -> None:
    model = Model("nothing")

    @model.action(n=Int(0, 3))
    def small(a: Body, n: Expr) -> None:
        """A number is small."""
        a.guard("small", n < 2, "the number is small")

    found = check_steps(model.given(), RecordedSteps.of(model.given(), [((), Move("small", (k,)), ()) for k in range(4)]))
    assert [(v.name, v.rows.tolist(), str(v)) for v in found] == [("small", [2, 3], "guard small of small in 2 rows, first in row 2")]
