"""Updates that a release rejects for a topic's attributes: they change nothing, and the judge explains what follows (TCM-30)."""

from __future__ import annotations

from typing import Any

import pytest

from rocketproof_traces.checker.histories import judge_history
from rocketproof_traces.common.outcomes import JudgingOutcome
from rocketproof_traces.history import Event, Header

BROKER, TEMPLATE = "broker-a", {"TBW102": (8, 8, 7)}
UPDATE = {"topic": "T", "readQueueNums": "2", "writeQueueNums": "2", "perm": "6"}


def state(seq: int, **table: tuple[int, int, int]) -> Event:
    named = ("readQueueNums", "writeQueueNums", "perm")
    topics = {name: {**dict(zip(named, counts, strict=True)), "order": False} for name, counts in (TEMPLATE | table).items()}
    return Event(seq, "state", BROKER, "topics", {"topics": topics})


def verdict(attributes: str, code: int, **table: tuple[int, int, int]) -> JudgingOutcome:
    fields: dict[str, Any] = UPDATE | {"attributes": attributes}
    events = [
        state(0),
        Event(1, "invoke", "a", "update_topic", {"to": BROKER, "code": 17, "fields": fields}),
        Event(2, "ok", "a", "update_topic", {"code": code, "fields": {}}),
        state(3, **table),
    ]
    return judge_history(Header({"settings": {"autoCreateTopicEnable": "true", "brokerPermission": 6}}), events, "P533").verdict


@pytest.mark.behaviour("TCM-30")
def test_rejected_attributes_leave_no_topic() -> None:
    assert verdict("+nowhere=1", 1) is JudgingOutcome.EXPLAINED
    assert verdict("+nowhere=1", 1, T=(2, 2, 6)) is JudgingOutcome.REFUSED


@pytest.mark.behaviour("TCM-30")
def test_message_type_makes_the_topic() -> None:
    assert verdict("+message.type=FIFO", 0, T=(2, 2, 6)) is JudgingOutcome.EXPLAINED
    assert verdict("+message.type=FIFO", 0) is JudgingOutcome.REFUSED


@pytest.mark.behaviour("TCM-30")
def test_other_accepted_attributes_end_the_partition() -> None:
    assert verdict("+reserve.time=5", 0) is not JudgingOutcome.REFUSED
