"""Scopes with placed requests, performed on the implementation: group offsets, and waiting messages."""

from __future__ import annotations

from typing import Any

import performed
import pytest

from proportion import in_proportion
from rocketproof_impl.broker import retry
from rocketproof_impl.broker.groups import SubscriptionGroupManager
from rocketproof_impl.broker.offsets import ConsumerOffsetManager
from rocketproof_impl.message import Message
from rocketproof_impl.store import commitlog, service
from rocketproof_properties.conformance.stateful.follow import ConformanceError
from rocketproof_properties.conformance.stateful.replay import replay

PROFILES = ("P45", "P49", "P533")
PROGRAMS = 40
FEW = in_proportion(PROGRAMS)  # where no finding is expected, so that all of them run
DELETES: dict[str, Any] = {"update_budget": 1}
TOLD = "commit_offset(b=0, g=1, t=2, named=True, whole=True, k=0, at={})"


def found(scope: str, profile: str, programs: int = PROGRAMS, **given: Any) -> ConformanceError | None:
    return performed.found(scope, profile, {"existing": True, **given}, programs, seed=1)


@pytest.mark.parametrize("profile", PROFILES)
def test_implementation_keeps_group_offsets_as_specified(profile: str) -> None:
    assert found("offsets", profile, FEW, **DELETES) is None


@pytest.mark.parametrize("profile", PROFILES)
def test_implementation_puts_waiting_messages_as_specified(profile: str) -> None:
    assert found("timers", profile, FEW) is None


def test_broker_that_makes_its_topics_first_keeps_both() -> None:
    assert found("offsets", "P49", FEW, existing=False, **DELETES) is None
    assert found("timers", "P45", FEW, existing=False) is None


def test_broker_that_keeps_largest_offset_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def commit(self: ConsumerOffsetManager, group: str, topic: str, queue_id: int, offset: int) -> None:
        queues = self.table.setdefault(f"{topic}@{group}", {})
        queues[queue_id] = max(offset, queues.get(queue_id, -1))

    monkeypatch.setattr(ConsumerOffsetManager, "commit", commit)
    finding = found("offsets", "P49", **DELETES)
    assert finding is not None and finding.steps[-1].startswith("commit_offset") and "told" in finding.text


def test_offsets_that_outlive_their_topic_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = [TOLD.format(1), "delete_topic(b=0, t=2)"]
    made = ["update_group(b=0, t=1, known=True, limit=1, queues=1, listed=True)", *steps]
    assert replay("offsets", "P533", made, {"existing": True, **DELETES})
    monkeypatch.setattr(ConsumerOffsetManager, "remove_topic", lambda *_: None)
    with pytest.raises(ConformanceError, match="told"):
        replay("offsets", "P533", made, {"existing": True, **DELETES})


def test_release_checking_groups_refuses_offset_of_unknown_group() -> None:
    with pytest.raises(ConformanceError, match="answered 26"):
        replay("offsets", "P533", [TOLD.format(1)], {"existing": True, **DELETES})
    assert replay("offsets", "P49", [TOLD.format(1)], {"existing": True, **DELETES})


@pytest.mark.behaviour("DLQ-02")
@pytest.mark.parametrize("profile", ["P540", "P550"])
def test_a_release_may_make_a_deleted_group_again(profile: str, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = ["update_group(b=0, t=1, known=True, limit=1, queues=1, listed=False)"]
    for known in (True, False):
        steps += [f"update_group(b=0, t=1, known={known}, limit=1, queues=1, listed={listed})" for listed in (True, False)]
    assert replay("offsets", profile, steps, {"existing": True})
    monkeypatch.setattr(SubscriptionGroupManager, "find", lambda *_: None)
    if profile == "P550":
        with pytest.raises(ConformanceError, match="listed"):
            replay("offsets", profile, steps, {"existing": True})


@pytest.mark.behaviour("DLQ-01", "DLQ-02")
def test_group_that_send_does_not_make_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def look(self: SubscriptionGroupManager, group: str) -> Any:
        return self.table.get(group) or retry.SubscriptionGroupConfig(group)

    monkeypatch.setattr(SubscriptionGroupManager, "find", look)
    finding = found("offsets", "P49", 200, **DELETES)
    assert finding is not None and finding.steps[-1].startswith("send_") and "group" in finding.text


@pytest.mark.behaviour("CL-02")
def test_ignored_delay_level_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commitlog, "to_schedule_topic", lambda *_, **__: None)
    finding = found("timers", "P49")
    assert finding is not None and finding.steps[-1].startswith("delay")


def test_time_before_delay_level_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    real = service.to_timer_topic

    def first(message: Message, *given: Any, **more: Any) -> Any:
        if "TIMER_DELAY_SEC" in message.properties:
            message.properties.pop("DELAY", None)
        return real(message, *given, **more)

    monkeypatch.setattr(service, "to_timer_topic", first)
    finding = found("timers", "P533", 150)  # runs of 25 programs show it in three of five seeds
    assert finding is not None and finding.steps[-1].startswith("delay") and "rmq_sys_wheel_timer was found" in finding.text
