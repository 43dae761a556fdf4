"""Witnesses and histories that were written when the specification's variables had other names are still read."""

import dataclasses
import json

import pytest

from rocketproof_model import search
from rocketproof_model.result import Witness
from rocketproof_spec import build, constants
from rocketproof_traces.history import Header
from rocketproof_traces.witness import as_history, itf
from rocketproof_traces.witness.restore import restore

FORMER = {"registration_in_flight": "letter_sent", "registration_version": "letter_version", "registration": "letter"}


@pytest.fixture(scope="module")
def witness() -> Witness:
    s = build("tiny")
    claim = s.model.claim("(sent)", "a registration is in flight", "reachable", s.registration_in_flight[0])
    (outcome,) = search.explore(s.model.given(**constants("P49")), [claim], workers=1).outcomes
    assert outcome.witness is not None
    return outcome.witness


def test_witness_with_former_names(witness: Witness) -> None:
    text = itf.dumps(witness, {})
    for name, former in FORMER.items():
        assert f'"{name}"' in text
        text = text.replace(f'"{name}"', f'"{former}"')
    again = restore(itf.loads(text), witness.instance, witness.property)
    assert (again.moves, again.states) == (witness.moves, witness.states)


def test_history_with_former_names(witness: Witness) -> None:
    def formerly(value: dict[str, object]) -> dict[str, object]:
        text = json.dumps(value)
        for name, former in FORMER.items():
            text = text.replace(f'"{name}[', f'"{former}[').replace(f'"{name}.', f'"{former}.')
        found: dict[str, object] = json.loads(text)
        return found

    header, events = as_history.from_witness(witness, {})
    odd = [dataclasses.replace(event, value=formerly(event.value)) for event in events]
    assert isinstance(header, Header) and odd[0].value.keys() != events[0].value.keys()
    assert any("letter_sent[0]" in event.value["changes"] for event in odd[1:])
    again = as_history.to_witness(header, odd, witness.instance, witness.property)
    assert (again.moves, again.states) == (witness.moves, witness.states)
