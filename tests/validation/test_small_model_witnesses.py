"""Witnesses of small models over the wire, on brokers of the implementation; those on Apache's are in tests/real."""

from __future__ import annotations

import pytest

from rocketproof_impl.broker.transaction import EndTransactionProcessor
from rocketproof_model.result import Witness
from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.catalogue.source import ModelSource
from rocketproof_properties.conformance.witnesses.known import find
from rocketproof_properties.conformance.witnesses.smallmodels import SMALL_MODELS, course, perform_file, perform_small_model
from rocketproof_properties.reports.choices import InputError
from rocketproof_protocol import codes


def found(scope: str, claim: str, given: dict[str, object], profile: str = "P494") -> tuple[ModelSource, Witness]:
    source = ModelSource(scope, profile, tuple(sorted(given.items())))
    witness = find(source, claim)
    assert witness is not None
    return source, witness


@pytest.mark.parametrize(
    ("scope", "claim", "given"),
    [
        ("transactions", "AUX-34", {}),
        ("transactions", "AUX-33.rollback", {"steady": False}),
        ("transactions", "AUX-32.refused", {"rejects": True}),
        ("progress", "AUX-48.once", {"sync": False, "stop_budget": 2}),
        ("progress", "AUX-49.reset", {"resets": True}),
        ("times", "AUX-112.there", {}),
        ("backs", "INV-51.states", {"group_queues": 0}),
        ("backs", "LIV-06.states", {"writable": False}),
        ("backs", "INV-09.backs", {"in_log": False, "way": "either"}),
    ],
)
@pytest.mark.behaviour("BACK-04", "BACK-05", "BACK-09", "TRX-03", "TRX-05", "HAZ-30", "HAZ-40")
def test_broker_follows_them(scope: str, claim: str, given: dict[str, object]) -> None:
    source, witness = found(scope, claim, given)
    done = perform_small_model(InProcess("P494"), source, witness)
    assert done.agrees, done.problem
    outside = [move.action for move in witness.moves if move.action not in SMALL_MODELS[scope].own]
    assert [said.partition("(")[0] for said in done.said][: len(outside)] == outside


def test_differing_witness_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    source, witness = found("transactions", "AUX-34", {})
    monkeypatch.setattr("rocketproof_properties.conformance.witnesses.smallmodels.PATIENCE", 0.1)
    end = EndTransactionProcessor.process
    ended = 0

    async def once(self: EndTransactionProcessor, channel: object, request: object) -> object:
        nonlocal ended
        ended += 1
        answer = await end(self, channel, request)  # type: ignore[arg-type]  # what the dispatcher gives
        if ended > 1:
            assert answer is not None
            answer.code = codes.SYSTEM_ERROR
        return answer

    monkeypatch.setattr(EndTransactionProcessor, "process", once)
    done = perform_small_model(InProcess("P494"), source, witness)
    assert not done.agrees and "is answered 1" in done.problem
    assert done.said == ("put_half(tran=true, delayed=False)", "commit(c=0)")


def test_actions_beyond_outside_control_are_refused() -> None:
    source, witness = found("progress", "AUX-49", {"sync": False, "power_budget": 1})
    with pytest.raises(InputError, match=r"power_loss.* cannot be brought about from outside"):
        perform_file(InProcess("P494"), source, witness, "x")
    source, witness = found("backs", "LIV-06.states", {"flushes": False, "group_queues": 0})
    with pytest.raises(InputError, match="nobody outside can start a broker with flushes = False"):
        perform_file(InProcess("P494"), source, witness, "x")


def test_spontaneous_broker_actions_are_done_at_once() -> None:
    _, witness = found("progress", "AUX-49.flushed", {}, "P49")
    with pytest.raises(InputError, match="shown only while the broker waits"):
        course(witness, SMALL_MODELS["progress"].own)
    _, witness = found("progress", "AUX-48", {"resets": True})
    made = course(witness, SMALL_MODELS["progress"].own)
    assert [move.action for move in made.moves][:2] == ["append", "flush"]
