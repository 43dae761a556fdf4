"""Changes of a topic's attributes: the meaning of their text, which ones a release accepts, and what they leave (TCM-01, TCM-30)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from marks import behaviour
from sending import Stand

from rocketproof_impl.broker.attributes import MalformedChange, altered, parsed_change
from rocketproof_impl.java import JavaError
from rocketproof_impl.topic import TopicConfig
from rocketproof_profiles import PROFILES

LATEST = PROFILES["P533"]
SET = "value is not in set: "
NEW = {"topic": "T", "defaultTopic": "TBW102", "readQueueNums": 8, "writeQueueNums": 4, "perm": 6, "topicFilterType": "SINGLE_TAG"}


def message_of(text: str, current: dict[str, str] | None = None, profile: str = "P533") -> str | None:
    with pytest.raises(JavaError) as raised:
        altered(current, parsed_change(text), PROFILES[profile])
    return raised.value.message


@behaviour("TCM-30")
@pytest.mark.parametrize(
    ("current", "text", "after"),
    [
        (None, None, {}),
        (None, "+message.type=FIFO", {"message.type": "FIFO"}),
        (None, "+message.type=FIFO=x,", {"message.type": "FIFO"}),
        (None, "+queue.type=SimpleCQ,+reserve.time=-1", {"queue.type": "SimpleCQ", "reserve.time": "-1"}),
        ({"message.type": "FIFO"}, "", {"message.type": "FIFO"}),
        ({"message.type": "FIFO"}, ",", {"message.type": "FIFO"}),
        ({"message.type": "FIFO"}, "+message.type=DELAY", {"message.type": "DELAY"}),
        ({"message.type": "FIFO", "queue.type": "SimpleCQ"}, "-message.type", {"queue.type": "SimpleCQ"}),
        ({"message.type": "FIFO"}, "+reserve.time=5,-message.type", {"reserve.time": "5"}),
    ],
)
def test_accepted_change(current: dict[str, str] | None, text: str | None, after: dict[str, str]) -> None:
    assert altered(current, parsed_change(text), LATEST) == after


@behaviour("TCM-30")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("message.type=FIFO", "add/alter attribute format is wrong: message.type"),
        ("-message.type=FIFO", "add/alter attribute format is wrong: -message.type"),
        ("+message.type", "delete attribute format is wrong: +message.type"),
        (",-message.type", "delete attribute format is wrong: "),
        ("+message.type=", "Index 1 out of bounds for length 1"),
        ("=", "Index 0 out of bounds for length 0"),
        ("+message.type=FIFO,+message.type=DELAY", "key duplication: +message.type"),
    ],
)
def test_malformed_change(text: str, message: str) -> None:
    with pytest.raises(MalformedChange) as raised:
        parsed_change(text)
    assert raised.value.message == message


@behaviour("TCM-30")
@pytest.mark.parametrize(
    ("current", "text", "message"),
    [
        (None, "+=5", "kv string format wrong."),
        (None, "a+b=5", "kv string format wrong."),
        ({}, "+a-b=5", "kv string format wrong."),
        (None, "-message.type", "only add attribute is supported while creating topic. key: message.type"),
        ({}, "-message.type", "attempt to delete a nonexistent key: message.type"),
        ({"message.type": "FIFO"}, "+message.type=DELAY,-message.type", "alter duplication key. key: message.type"),
        (None, "+nowhere=1", "unsupported key: nowhere"),
        ({}, "+queue.type=SimpleCQ", "attempt to update an unchangeable attribute. key: queue.type"),
        ({"queue.type": "SimpleCQ"}, "-queue.type", "attempt to update an unchangeable attribute. key: queue.type"),
        (None, "+message.type=x", f"{SET}[UNSPECIFIED, TRANSACTION, FIFO, MIXED, DELAY, NORMAL]"),
        (None, "+queue.type=x", f"{SET}[SimpleCQ, BatchCQ]"),
        (None, "+cleanup.policy=x", f"{SET}[DELETE, COMPACTION]"),
        (None, "+reserve.time=-2", "value is not in range(-1, 9223372036854775807)"),
        (None, "+reserve.time=x", 'For input string: "x"'),
    ],
)
def test_rejected_change(current: dict[str, str] | None, text: str, message: str) -> None:
    assert message_of(text, current) == message


@behaviour("TCM-30")
@pytest.mark.parametrize(
    ("profile", "text", "message"),
    [
        ("P510", "+message.type=MIXED", f"{SET}[UNSPECIFIED, TRANSACTION, FIFO, DELAY, NORMAL]"),
        ("P520", "+reserve.time=5", "unsupported key: reserve.time"),
        ("P540", "+message.type=LITE", f"{SET}[UNSPECIFIED, MIXED, TRANSACTION, PRIORITY, FIFO, DELAY, NORMAL]"),
        ("P500", "+cleanup.policy=DELETE", "unsupported key: cleanup.policy"),
        ("P550", "+message.type=x", f"{SET}[UNSPECIFIED, MIXED, TRANSACTION, PRIORITY, FIFO, DELAY, LITE, NORMAL]"),
    ],
)
def test_releases_differ_in_names_and_values(profile: str, text: str, message: str) -> None:
    assert message_of(text, profile=profile) == message


@behaviour("CHK-10")
def test_remark_lists_attributes_by_slots() -> None:
    config = TopicConfig("T", attributes={"queue.type": "SimpleCQ", "message.type": "FIFO", "cleanup.policy": "DELETE"})
    assert str(config).endswith(", attributes={cleanup.policy=DELETE, message.type=FIFO, queue.type=SimpleCQ}]")
    assert str(replace(config, attributes=None)).endswith("order=false]")


@behaviour("TCM-30")
def test_update_changes_attributes_of_a_known_topic() -> None:
    """An update of a topic with attributes makes a new version, even without a change of them."""
    stand = Stand("P533")
    topics, counts = stand.broker.topics, []
    for text in ("+message.type=FIFO,+reserve.time=5", "+message.type=DELAY", None, "-reserve.time", "-nowhere", "-message.type", None):
        stand.call(17, None, **NEW, **({} if text is None else {"attributes": text}))
        counts.append((topics.table["T"].attributes, topics.data_version.counter))
    first = counts[0][1]
    assert counts == [
        ({"message.type": "FIFO", "reserve.time": "5"}, first),
        ({"message.type": "DELAY", "reserve.time": "5"}, first + 1),
        ({"message.type": "DELAY", "reserve.time": "5"}, first + 2),
        ({"message.type": "DELAY"}, first + 3),
        ({"message.type": "DELAY"}, first + 3),
        ({}, first + 4),
        ({}, first + 4),
    ]


@behaviour("TCM-30")
@pytest.mark.parametrize(
    ("profile", "text", "code", "remark"),
    [
        ("P494", "+x", 0, None),
        ("P520", "x", 1, "java.lang.RuntimeException: delete attribute format is wrong: x"),
        ("P533", "x", 1, "delete attribute format is wrong: x"),
        ("P520", "+x=1", 1, "unsupported key: x"),
        ("P520", "+message.type=MIXED", 0, None),
        ("P533", "+message.type=MIXED", 29, "MIXED message type is not supported."),
    ],
)
def test_response_to_a_change_of_attributes(profile: str, text: str, code: int, remark: str | None) -> None:
    stand = Stand(profile)
    answer = stand.call(17, None, **NEW, attributes=text)
    assert answer.code == code
    assert ("T" in stand.broker.topics.table) == (code == 0)
    assert remark is None or str(answer.remark).startswith(remark)
