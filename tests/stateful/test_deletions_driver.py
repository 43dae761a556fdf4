"""Deleted topics, performed on the implementation: the broker chooses where their queues continue, as the specification allows."""

from __future__ import annotations

from typing import Any

import pytest
from performed import found

from proportion import in_proportion
from rocketproof_impl.broker.topics import TopicConfigManager
from rocketproof_impl.store.service import MessageStore
from rocketproof_model import RocketproofError
from rocketproof_properties.conformance.drivers.sending import SendingDriver
from rocketproof_properties.conformance.stateful.follow import FollowedProgram
from rocketproof_properties.conformance.stateful.replay import replay

GIVEN: dict[str, Any] = {"existing": True, "update_budget": 1}
SENT = ["request(p=0, b=0, t=1, d=0, numbers=1, queue=0, kind=not, size=1)", "look_up(p=0)", "accept_queue(p=0)"]
DELETED = [*SENT, "store(p=0, draw=0)", "finish(p=0)", "delete_topic(b=0, t=1)"]
MADE = ["look_up_missing", "acquire_lock", "look_again_missing", "template_found", "build", "put", "next_version", "persist", "unlock"]
AGAIN = [SENT[0], *(f"{step}(p=0)" for step in (*MADE, "announce", "accept_queue"))]


def performed(steps: list[str]) -> FollowedProgram:
    return replay("deletions", "P49", steps, GIVEN)


def next_offset(followed: FollowedProgram) -> int:
    """Return the offset in the broker's response to the stored message."""
    assert isinstance(followed.driver, SendingDriver)
    return followed.driver.parts.jobs[0].offset


@pytest.mark.parametrize("given", [{}, {"existing": False}, {"auto_create": False, "template_in_file": True}], ids=str)
def test_implementation_follows_specification(given: dict[str, Any]) -> None:
    assert found("deletions", given=GIVEN | given, programs=in_proportion(60), seed=1) is None


@pytest.mark.behaviour("TCM-31")
def test_queue_without_entries_continues_at_its_offset() -> None:
    assert next_offset(performed([*DELETED, "outlive(b=0, t=1, q=0)", *AGAIN, "store(p=0, draw=0)"])) == 1
    with pytest.raises(RocketproofError, match="store"):
        performed([*DELETED, *AGAIN, "store(p=0, draw=0)"])


@pytest.mark.behaviour("TCM-31")
def test_queue_with_its_entries_begins_again() -> None:
    dispatched = [*DELETED[:-1], "dispatch(b=0, t=1, q=0)", DELETED[-1]]
    assert next_offset(performed([*dispatched, *AGAIN, "store(p=0, draw=0)"])) == 0
    with pytest.raises(RocketproofError, match="outlive"):
        performed([*dispatched, "outlive(b=0, t=1, q=0)"])


@pytest.mark.behaviour("SEND-21", "HAZ-18")
def test_message_of_deleted_topic_is_not_stored() -> None:
    gone = [*SENT, "delete_topic(b=0, t=1)"]
    assert performed([*gone, "miss_topic(p=0)"])
    with pytest.raises(RocketproofError, match="store"):
        performed([*gone, "store(p=0, draw=0)"])


def test_broker_that_keeps_queues_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MessageStore, "clean_unused_topics", lambda *_: None)
    monkeypatch.setattr(TopicConfigManager, "delete", lambda *_: None)
    finding = found("deletions", given=GIVEN, programs=60, seed=1)
    assert finding is not None and "delete_topic" in finding.steps[-1]
