"""The rules that decide a difference in a program, and the rules that a program without differences followed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from rocketproof_properties.brokers.runs.parsed import ParsedHistory
from rocketproof_properties.catalogue.rules import rules
from rocketproof_properties.judging.reference.comparison import FieldDifference
from rocketproof_properties.judging.reference.rules import SHOWN, TOGETHER, deciding_alone, rules_of_difference
from rocketproof_protocol import codes
from rocketproof_traces.history import Event
from rocketproof_traces.history.exchange import Exchange
from rocketproof_traces.history.exchanges import RecordedExchanges

NO_PERMISSION = [codes.NO_PERMISSION, "the broker[127.0.0.1] sending message is forbidden"]
FORBIDDEN = [codes.NO_PERMISSION, "Sending message to topic[SCHEDULE_TOPIC_XXXX] is forbidden."]
GOOD = [codes.SUCCESS, None]


def asked(op: str, code: int, answer: int, fields: Mapping[str, str], seq: int = 0, **more: Any) -> Exchange:
    value = {"code": code, "fields": dict(fields), "oneWay": False}
    return Exchange("client 0", op, "broker-a", seq, value, "ok", {"code": answer, "fields": {}, **more}, end=seq + 1)


def send(answer: int = 0, seq: int = 0, **fields: str) -> Exchange:
    return asked("send", codes.SEND_MESSAGE_V2, answer, {"topic": "A", "queueId": "0", **fields}, seq)


def history(*items: Exchange, **states: Any) -> ParsedHistory:
    reports = tuple(Event(99 + number, "state", "broker-a", op, value) for number, (op, value) in enumerate(states.items()))
    return ParsedHistory(RecordedExchanges((), items, (), reports))


@pytest.mark.parametrize(
    ("recorded", "found", "rule"),
    [
        (GOOD, FORBIDDEN, "CHK-03"),
        ([codes.SYSTEM_ERROR, FORBIDDEN[1]], FORBIDDEN, "CHK-03"),
        (NO_PERMISSION, GOOD, "CHK-01"),  # it refused what is right: for the reason that it gave
        (GOOD, [codes.SYSTEM_ERROR, "request queueId[9] is illegal, TopicConfig"], "CHK-10"),
        (GOOD, [codes.TOPIC_NOT_EXIST, "topic[A] not exist"], "CHK-09"),
    ],
)
def test_code_that_differs_names_rule_of_refusal(recorded: list[Any], found: list[Any], rule: str) -> None:
    assert rules_of_difference(FieldDifference("code", recorded, found, "", 0), history(send())) == (rule,)


@pytest.mark.parametrize(
    ("difference", "found"),
    [
        (FieldDifference("queueOffset", "1", "0", "", 0), ("APP-10",)),
        (FieldDifference("remark", "a", "b", "", 0), ()),
        (FieldDifference("perm", 7, 6, "topic A"), ("TCM-15",)),
        (FieldDifference("the broker's entry", None, {}, "topic A"), ("CHK-07", "TCM-12", "TCM-14")),
        (FieldDifference("property WAIT", "TRUE", None, "the record at 7 (A, queue 0)"), ("SEND-25",)),
        (FieldDifference("topic", "A", "B", "the record at 7 (SCHEDULE_TOPIC_XXXX, queue 2)"), ("CL-02",)),
        (FieldDifference("next offset", 1, 2, "queue 0 of A"), ()),
    ],
)
def test_other_difference_names_deciding_rules(difference: FieldDifference, found: tuple[str, ...]) -> None:
    assert rules_of_difference(difference, history(send())) == found


def test_entry_belongs_to_its_creator() -> None:
    update = asked("update_topic", codes.UPDATE_AND_CREATE_TOPIC, 0, {"topic": "A"}, 2)
    assert rules_of_difference(FieldDifference("perm", 7, 6, "topic A"), history(send(), update)) == ("TCM-30",)
    back = asked("send_back", codes.CONSUMER_SEND_MSG_BACK, 0, {"group": "g", "delayLevel": "0"}, 2)
    record = "the record at 7 (%RETRY%g, queue 0)"
    assert rules_of_difference(FieldDifference("reconsumeTimes", 0, 1, record), history(send(), back)) == ("BACK-14",)
    either = history(send(topic="%RETRY%g"), back)
    assert rules_of_difference(FieldDifference("reconsumeTimes", 0, 1, record), either) == ()


def test_program_keeps_rules_of_its_responses() -> None:
    found = deciding_alone(history(send(), send(codes.TOPIC_NOT_EXIST, 2, topic="B")), {"A"})
    assert {"SEND-41", "APP-10", "CHK-09", "SEND-46", "CL-01"} <= found
    assert not found & {"CHK-03", "BACK-14", "TRX-04", "CL-02"}
    assert deciding_alone(history(), set()) == frozenset()


def test_every_rule_of_table_exists() -> None:
    assert SHOWN <= rules().keys() and TOGETHER <= rules().keys() and len(SHOWN) > 30
