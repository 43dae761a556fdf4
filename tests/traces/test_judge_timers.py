"""Timed messages, which 5.x puts in a timer topic: where they are stored, and which are refused."""

from __future__ import annotations

from typing import Any

import pytest
from written_cases import Recorded, mutated, not_setting

from rocketproof_impl.message import Message
from rocketproof_impl.store.settings import StoreSettings
from rocketproof_impl.store.timers import to_timer_topic
from rocketproof_profiles import PROFILES
from rocketproof_protocol.topics import WHEEL_TIMER_TOPIC
from rocketproof_traces.checker.placement import timing_of
from rocketproof_traces.history.exchange import Exchange

NO_WHEEL = "accurate timer message is not enabled, timerWheelEnable is false"


def text(**properties: object) -> str:
    return "".join(f"{name}\x01{value}\x02" for name, value in properties.items())


def sent(code: int, offset: int | None = None, **properties: object) -> Recorded:
    return Recorded().update().send(code, offset, properties=text(**properties))


@pytest.mark.parametrize(
    "properties",
    [
        {"TIMER_DELAY_SEC": 3000},
        {"TIMER_DELAY_SEC": 259_200},
        {"TIMER_DELAY_MS": 1},
        {"TIMER_DELAY_SEC": 3000, "TIMER_DELAY_MS": "x"},
        {"TIMER_DELAY_SEC": 3000, "DELAY": "0"},
        {"TIMER_DELAY_SEC": 3000, "TRAN_MSG": "true"},
    ],
)
def test_message_with_future_time_takes_no_topic_offset(properties: dict[str, Any]) -> None:
    assert sent(0, 0, **properties).send(0, 0).verdict() == "ok"
    assert sent(0, 0, **properties).send(0, 2).verdict() == "illegal"  # 1 is immediately after its delivery
    assert sent(13, **properties).verdict() == "illegal"


@pytest.mark.parametrize(
    "properties",
    [{"TIMER_DELAY_SEC": 0}, {"TIMER_DELAY_MS": -5}, {"TIMER_DELAY_SEC": (1 << 63) - 1}, {"TIMER_DELAY_SEC": 3000, "TIMER_OUT_MS": 5}],
)
def test_message_with_past_time_is_in_its_topic(properties: dict[str, Any]) -> None:
    assert sent(0, 0, **properties).send(0, 1).verdict() == "ok"
    assert sent(0, 0, **properties).send(0, 0).verdict() == "illegal"


@pytest.mark.parametrize(
    "properties",
    [{"TIMER_DELAY_SEC": "x"}, {"TIMER_DELAY_SEC": 259_201}, {"TIMER_DEL_UNIQKEY": "k", "TIMER_DELAY_MS": 0}, {"TIMER_DELAY_MS": 10**20}],
)
def test_message_that_cannot_wait_is_refused(properties: dict[str, Any]) -> None:
    assert sent(13, **properties).send(0, 0).verdict() == "ok"
    assert sent(0, 0, **properties).verdict() == "illegal"


def test_without_wheel_all_are_refused() -> None:
    for remark, verdict in ((NO_WHEEL, "ok"), ("", "illegal")):
        refused = Recorded().update().send(1, properties=text(TIMER_DELAY_SEC=3), remark=remark)
        assert refused.send(0, 0).verdict() == verdict


def test_response_reveals_whether_time_is_past() -> None:
    for offset in (0, 1):
        assert sent(0, 0, TIMER_DELIVER_MS=1).send(0, offset).verdict() == "ok"
    assert sent(13, TIMER_DELIVER_MS=1).verdict() == "ok"


def test_earlier_releases_have_no_timers() -> None:
    assert sent(0, 0, TIMER_DELAY_SEC=3000).send(0, 1).verdict("P494") == "ok"


@pytest.mark.parametrize("unique", [False, True])
@pytest.mark.parametrize("name", ["TIMER_DELAY_SEC", "TIMER_DELAY_MS"])
@pytest.mark.parametrize("level", [None, "0", "1"])
@pytest.mark.parametrize(
    "value", ["-1", "0", "1", "+7", "259200", "259201", "259200000", "259200001", "x", str((1 << 63) - 1), str(1 << 63)]
)
def test_specification_and_implementation_classify_equally(name: str, value: str, level: str | None, unique: bool) -> None:
    properties = {name: value} | ({} if level is None else {"DELAY": level}) | ({"TIMER_DEL_UNIQKEY": "k"} if unique else {})
    message = Message("T", 0, b"x", properties=dict(properties))
    refused = to_timer_topic(message, StoreSettings(), 1_700_000_000_000, trailing=True) is not None
    asked = {"fields": {"topic": "T", "properties": text(**properties)}}
    operation = Exchange("client", "send", "broker-a", 0, asked)
    timed, flaw = timing_of(operation, PROFILES["P533"], int(level or 0), "not")
    assert (timed, flaw != "none") == (message.topic == WHEEL_TIMER_TOPIC, refused)


def test_mutant_of_action_changes_verdict() -> None:
    recorded = sent(0, 0, TIMER_DELAY_SEC=3000).send(0, 0)
    assert recorded.judged("P533").verdict == "ok"
    assert recorded.judged("P533", mutated("keep_in_wheel", not_setting("way.lane"))).verdict == "illegal"
