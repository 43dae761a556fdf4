"""Delayed and transactional messages, and where they meet, on the simulated broker: each release in its way, and planted errors."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from performed import PROGRAMS, found

from rocketproof_impl.broker import sending, transaction
from rocketproof_impl.broker.topics import TopicConfigManager
from rocketproof_impl.broker.transaction import EndTransactionProcessor
from rocketproof_impl.broker.transactioncheck import HalfQueueRound
from rocketproof_impl.store import delay
from rocketproof_profiles import PROFILES
from rocketproof_profiles.switches import Profile
from rocketproof_properties.catalogue.source import ModelSource
from rocketproof_properties.conformance.drivers.delays import DelaysDriver
from rocketproof_properties.conformance.stateful.follow import ConformanceError
from rocketproof_properties.conformance.stateful.machine import Campaign
from rocketproof_properties.conformance.stateful.replay import replay
from rocketproof_protocol.properties import TRAN_MSG
from rocketproof_spec import part
from rocketproof_spec.delays import Delays
from rocketproof_traces.witness.explain import parse

behaviour = pytest.mark.behaviour
ONE = "send(level=3, asked=1, e=0)"
DUE = [ONE, "elapse()"]
HALF = "put_half(tran=true, delayed=False)"


@pytest.mark.nightly
@behaviour("REC-05", "HAZ-39", "HAZ-48", "AUX-25")
@pytest.mark.parametrize("profile", ["P45", "P494", "P533"])
@pytest.mark.parametrize(
    ("scope", "given"),
    [
        ("delays", {"end_budget": 1, "power": True, "sync": True}),
        ("delays", {"transactional": True}),
        ("transactions", {"steady": False}),
        ("meeting", {}),
    ],
    ids=["sync", "halves", "transactions", "meeting"],
)
def test_each_release_delays_and_ends_by_its_switches(scope: str, given: dict[str, Any], profile: str) -> None:
    assert found(scope, profile, given, PROGRAMS // 2) is None


@behaviour("CL-02", "INV-45")
def test_level_that_is_not_capped_is_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    replay("delays", "P49", [ONE])
    monkeypatch.setattr(delay, "LEVELS", (*delay.LEVELS, delay.LEVELS[-1]))
    monkeypatch.setattr(delay, "MAX_LEVEL", 19)
    with pytest.raises(ConformanceError):
        replay("delays", "P49", [ONE])


@behaviour("REC-05", "AUX-31")
def test_delivery_to_another_queue_is_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def to_the_first(delayed: Any, *, trailing: bool) -> Any:
        message = back(delayed, trailing=trailing)
        message.queue_id = 0
        return message

    back = delay.from_schedule_topic
    replay("delays", "P49", [*DUE, "deliver(e=0)"])
    monkeypatch.setattr(delay, "from_schedule_topic", to_the_first)
    with pytest.raises(ConformanceError, match="place"):
        replay("delays", "P49", [*DUE, "deliver(e=0)"])


@behaviour("REC-05", "AUX-28", "REC-04")
def test_level_that_waits_less_is_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delay, "LEVELS", (*delay.LEVELS[:-1], 0))
    with pytest.raises(ConformanceError, match="due"):
        replay("delays", "P49", [ONE])


@behaviour("REC-05", "AUX-30", "AUX-27")
@pytest.mark.parametrize(
    ("switch", "steps"),
    [
        ("records_each_delivery", [*DUE, ONE.replace("e=0", "e=1"), "elapse()", "deliver(e=0)"]),
        ("corrects_delay_offsets", [*DUE, "deliver(e=0)", "persist()", "end(power=True)", "start()"]),
    ],
)
def test_another_releases_way_to_keep_offsets_is_finding(switch: str, steps: list[str]) -> None:
    subject = ModelSource("delays", "P494", (("end_budget", 1), ("power", True))).subject()
    specification = part("delays")
    assert isinstance(specification, Delays)

    def perform(profile: Profile) -> None:
        followed = Campaign(subject.instance, lambda: DelaysDriver(specification, subject.instance, profile)).begin()
        for step in steps:
            followed.step(*parse(step, subject.instance.model))

    perform(PROFILES["P494"])
    with pytest.raises(ConformanceError, match=r"queue\.offset"):
        perform(replace(PROFILES["P494"], **{switch: False}))


@behaviour("TRX-01", "TRX-02")
def test_gate_checking_only_property_is_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    replay("transactions", "P49", ["put_own(tran=false)"])
    monkeypatch.setattr(sending, "is_transactional", lambda message, profile: TRAN_MSG in message.properties)
    with pytest.raises(ConformanceError, match="place"):
        replay("transactions", "P49", ["put_own(tran=false)"])


@behaviour("TRX-03", "INV-09")
def test_refusal_before_topic_creation_is_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = ["refuse(tran=true)"]
    replay("transactions", "P49", steps, {"rejects": True})
    monkeypatch.setattr(TopicConfigManager, "select", lambda self, topic: None)
    with pytest.raises(ConformanceError):
        replay("transactions", "P49", steps, {"rejects": True})


@behaviour("TRX-04", "REC-01", "REA-78")
def test_end_without_operation_record_is_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    async def nothing(self: Any, half: Any) -> None:
        """No record."""

    steps = [HALF, "roll_back(c=0)", "pass_over(c=0)"]
    replay("transactions", "P49", steps)
    monkeypatch.setattr(EndTransactionProcessor, "_delete", nothing)
    with pytest.raises(ConformanceError, match="half"):
        replay("transactions", "P49", steps)


@behaviour("AUX-33")
def test_check_that_never_gives_up_is_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = [HALF, "ask(c=0)", "ask(c=1)", "give_up(c=2)"]
    replay("transactions", "P49", steps)
    monkeypatch.setattr(HalfQueueRound, "_asked_often_enough", lambda self, message: False)
    with pytest.raises(ConformanceError):
        replay("transactions", "P49", steps)


@behaviour("TRX-01", "HAZ-47")
def test_retry_that_is_known_is_no_half_message(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = [f"half_{HALF}", "half_commit(c=0)", "half_pass_over(c=0)", "retry(e=0)", "delay_elapse()", "delay_deliver(e=0)"]
    for profile in ("P49", "P533"):
        replay("meeting", profile, steps if profile == "P49" else [*steps[:2], "half_write_operations()", *steps[2:]])
    monkeypatch.setattr(transaction, "delay_level", lambda message: 0)
    with pytest.raises(ConformanceError, match="asked"):
        replay("meeting", "P533", [*steps[:2], "half_write_operations()", *steps[2:]])
