"""The step-by-step truth of a property with memory: how long it has waited, and where it fails."""

from __future__ import annotations

from typing import Any

import pytest
from page_model import Page

from rocketproof_model import Bool, Instance, Int, Model, liveness, observing
from rocketproof_model.language import OBSERVED
from rocketproof_model.result import Witness
from rocketproof_traces.explorer.document import of_witness
from rocketproof_traces.witness.show import witness_view
from rocketproof_traces.witness.truth import truths


def lamp() -> Instance:
    m = Model("lamp")
    n, lit = m.var("n", Int(0, 4), init=0), m.var("lit", Bool, init=False)

    @m.action(fair="weak")
    def tick(a: Any) -> None:
        """Time passes."""
        a.guard("room", n < 4, "there is time left")
        a.set(n, n + 1)

    @m.action()
    def switch(a: Any) -> None:
        """Somebody switches."""
        a.guard("late", n >= 1, "time has passed")
        a.set(lit, ~lit)

    m.within("soon", n == 1, n == 4, "it is late soon", steps=3, clock="tick")
    m.within("at once", n == 1, n == 4, "it is late at once", steps=2)
    m.until("dark", ~lit, n == 2, "it stays dark until it is two")
    m.until("late", n == 4, lit, "light comes when it is late", when=n == 4)
    m.eventually_always("off", ~lit, "it goes off for good")
    return m.given()


SAID = {
    "at once": (["not asked", "waiting 0/2", "waiting 1/2", "fails"], "at once fails after step 3"),
    "dark": (["waiting", "waiting", "fails"], "dark fails after step 2"),
    "late": (["not asked", "not asked", "not asked", "not asked", "waiting"], "late waits for ever"),
    "off": ([*["holds"] * 5, "not yet", "holds"], "off fails again and again, for ever"),
}


def witness_of(instance: Instance, id_: str) -> Witness | None:
    claim = instance.model.property(id_)
    outcome = observing.check(instance, claim) if claim.kind in OBSERVED else liveness.check(instance, [claim])[0]
    return outcome.witness


@pytest.mark.parametrize("id_", SAID)
def test_each_step_states_how_long_it_waited(id_: str) -> None:
    witness = witness_of(lamp(), id_)
    assert witness is not None
    words = [said.word for said in truths(witness)]
    assert (words, witness_view(witness).end) == SAID[id_]


@pytest.mark.parametrize("id_", SAID)
def test_page_counts_on_as_python_does(id_: str) -> None:
    witness = witness_of(lamp(), id_)
    assert witness is not None
    document = of_witness(witness)
    with Page() as page:
        assert [said["word"] for said in page.ask(document)["truths"]] == SAID[id_][0]
    assert document["property"]["goal"] is None
    assert (
        document["property"]["formula"]
        == {
            "at once": "(n == 1) leads to (n == 4) within 2 steps",
            "dark": "~lit until (n == 2)",
            "late": "from (n == 4) on: (n == 4) until lit",
            "off": "~lit",
        }[id_]
    )


def test_timely_event_is_reported_as_reached() -> None:
    instance = lamp()
    assert witness_of(instance, "soon") is None
    states = tuple((n, 0) for n in range(5))
    moves = observing.check(instance, instance.model.property("at once")).witness
    assert moves is not None
    walk = Witness(instance, instance.model.property("soon"), (moves.moves[0],) * 4, states)
    assert [said.word for said in truths(walk)] == ["not asked", "waiting 0/3", "waiting 1/3", "waiting 2/3", "reached"]
