"""Symmetry reduction of the specification: the catalogue distinguishes no producer or broker, and its verdicts are unchanged."""

from dataclasses import replace

import pytest

from rocketproof_model import ModelError
from rocketproof_model.explicit.canonical import reducible
from rocketproof_model.search import explore
from rocketproof_properties.catalogue.table import properties
from rocketproof_spec import SCOPES, Scope, constants, specify

CASES = {
    # orbits, states that they represent, indices
    "small": (82951, 331124, ("Broker", "Producer")),
    "restart": (26024, 51842, ("Producer",)),
}


@pytest.mark.parametrize("scope", SCOPES.values(), ids=str)
def test_no_claim_distinguishes_producers_or_brokers(scope: Scope) -> None:
    made = specify(replace(scope, symmetric=True))
    indices, told = reducible(made.model, properties(made))
    assert told == ""
    assert {index.name for index in indices} == {i.name for i in (made.Broker, made.Producer) if i.size > 1}


@pytest.mark.parametrize("name", CASES)
def test_symmetry_keeps_verdicts_and_witness_lengths(name: str) -> None:
    made = specify(replace(SCOPES[name], symmetric=True))
    claims, instance = properties(made), made.model.given(**constants("P49"))
    whole, found = explore(instance, claims, symmetry=False), explore(instance, claims)
    assert (found.states, found.represented(), found.symmetric) == CASES[name]
    assert whole.states == found.represented()
    assert found.depth == whole.depth
    answers = [[(o.property.id, o.verdict, o.witness and len(o.witness)) for o in run.outcomes] for run in (whole, found)]
    assert answers[0] == answers[1]
    assert found.coverage.guards == whole.coverage.guards


def test_queues_in_turn_need_order_of_brokers() -> None:
    made = specify(replace(SCOPES["small"], symmetric=True))
    with pytest.raises(ModelError, match="no constant 'round_robin'"):
        made.model.given(round_robin=True)
