"""Where 4.6.1 and 4.7.0 differ from 4.7.1: names, administrators, properties, the topics of a new broker."""

from __future__ import annotations

import pytest
from marks import behaviour
from sending import Stand

from rocketproof_impl.remoting.command import Command
from rocketproof_impl.remoting.headers import SEND_V2, SendMessageRequestHeader, encode
from rocketproof_impl.simulator.cluster import Cluster
from rocketproof_protocol.codes import (
    DELETE_TOPIC_IN_BROKER,
    NO_PERMISSION,
    SEND_MESSAGE_V2,
    SUCCESS,
    SYSTEM_ERROR,
    UPDATE_AND_CREATE_TOPIC,
)
from rocketproof_protocol.topics import HALF_TOPIC, SCHEDULE, TEMPLATE

CLUSTER = "DefaultCluster"
CONFLICTING = "The specified topic is conflict with AUTO_CREATE_TOPIC_KEY_TOPIC."


def sent(profile: str, topic: str) -> Command:
    header = SendMessageRequestHeader("p", topic, TEMPLATE, 4, 0, 0, 0, 0, max_reconsume_times=16)
    return Cluster(1, profile=profile).call(Command(SEND_MESSAGE_V2, encode(header, SEND_V2), b"a"), "broker-a")


def administered(profile: str, code: int, topic: str) -> Command:
    fields = {"topic": topic, "defaultTopic": TEMPLATE, "readQueueNums": "4", "writeQueueNums": "4", "perm": "6", "order": "false"}
    fields |= {"topicFilterType": "SINGLE_TAG", "topicSysFlag": "0"}
    return Cluster(1, profile=profile).call(Command(code, fields), "broker-a")


@pytest.mark.parametrize(
    ("profile", "topic", "code", "remark"),
    [
        ("P460", TEMPLATE, SYSTEM_ERROR, f"the topic[{TEMPLATE}] is conflict with system reserved words."),
        ("P461", TEMPLATE, SYSTEM_ERROR, CONFLICTING),
        ("P452", TEMPLATE, SYSTEM_ERROR, f"the topic[{TEMPLATE}] is conflict with system reserved words."),
        ("P470", TEMPLATE, SYSTEM_ERROR, CONFLICTING),
        ("P471", TEMPLATE, SUCCESS, None),
        ("P461", "a b", SYSTEM_ERROR, "The specified topic contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$"),
        ("P452", "a b", SUCCESS, None),
        ("P460", "a b", SUCCESS, None),
        ("P461", SCHEDULE, SUCCESS, None),
        ("P470", SCHEDULE, SUCCESS, None),
        ("P471", SCHEDULE, NO_PERMISSION, f"Sending message to topic[{SCHEDULE}] is forbidden."),
    ],
)
@behaviour("CHK-02", "CHK-03", "CHK-04")
def test_topic_names_that_a_send_can_use(profile: str, topic: str, code: int, remark: str | None) -> None:
    answer = sent(profile, topic)
    assert (answer.code, answer.remark) == (code, remark)


@pytest.mark.parametrize(
    ("topic", "remark"),
    [
        ("a b", "The specified topic contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$"),
        ("x" * 128, "The specified topic is longer than topic max length."),
        ("  ", "The specified topic is blank."),
        (TEMPLATE, CONFLICTING),
        (CLUSTER, f"the topic[{CLUSTER}] is conflict with system reserved words."),
    ],
)
@pytest.mark.parametrize("profile", ["P461", "P470"])
@behaviour("TCM-30", "TCM-31")
def test_administrator_changes_only_legal_topics_and_deletes_any(profile: str, topic: str, remark: str) -> None:
    refused = administered(profile, UPDATE_AND_CREATE_TOPIC, topic)
    assert (refused.code, refused.remark) == (SYSTEM_ERROR, remark)
    assert administered(profile, DELETE_TOPIC_IN_BROKER, topic).code == SUCCESS


@behaviour("TCM-30")
def test_administrator_changes_system_topics_up_to_470() -> None:
    changed = administered("P461", UPDATE_AND_CREATE_TOPIC, HALF_TOPIC)
    assert (changed.code, changed.remark) == (SUCCESS, None)
    assert administered("P471", UPDATE_AND_CREATE_TOPIC, HALF_TOPIC).code == SYSTEM_ERROR


@pytest.mark.parametrize(
    ("profile", "schedule", "reply"),
    [("P452", False, False), ("P460", False, True), ("P461", False, True), ("P470", False, True), ("P471", True, True)],
)
@behaviour("TCM-03")
def test_topics_of_a_new_broker(profile: str, schedule: bool, reply: bool) -> None:
    table = Cluster(1, profile=profile).nodes["broker-a"].running.topics.table
    assert (SCHEDULE in table, f"{CLUSTER}_REPLY_TOPIC" in table) == (schedule, reply)


@pytest.mark.parametrize(("profile", "parsed"), [("P461", True), ("P470", False), ("P471", True)])
@behaviour("SEND-25")
def test_only_470_stores_the_properties_text_unchanged(profile: str, parsed: bool) -> None:
    stand = Stand(profile)
    stand.send(properties={"KEYS": "k"})
    assert ("CLUSTER" in stand.last().properties) == parsed


@pytest.mark.parametrize(
    ("profile", "codes"), [("P452", [SUCCESS, SYSTEM_ERROR]), ("P470", [SUCCESS, SYSTEM_ERROR]), ("P471", [SYSTEM_ERROR])]
)
@behaviour("TCM-30")
def test_earlier_administrators_get_an_answer_before_the_error(profile: str, codes: list[int]) -> None:
    stand = Stand(profile)
    fields = {"topic": "T", "defaultTopic": TEMPLATE, "perm": "6", "order": "false", "topicFilterType": "SINGLE_TAG", "topicSysFlag": "0"}
    stand.broker.receive(stand.channel, Command(UPDATE_AND_CREATE_TOPIC, fields))
    stand.scheduler.settle()
    assert [answer.code for answer in stand.channel.written] == codes
    assert "T" not in stand.known()


@pytest.mark.parametrize(("profile", "answered"), [("P460", True), ("P471", False)])
@behaviour("TCM-30", "HAZ-60")
def test_refused_change_is_answered_after_the_previous_change(profile: str, answered: bool) -> None:
    """In earlier releases an administrator is answered before the change ends, and can wait for it this way."""
    cluster = Cluster(1, profile=profile)
    cluster.scheduler.stops = lambda task, pause: pause.name == "registration wanted"
    fields = {"topic": "T", "defaultTopic": TEMPLATE, "readQueueNums": "4", "writeQueueNums": "4", "perm": "6", "order": "false"}
    fields |= {"topicFilterType": "SINGLE_TAG", "topicSysFlag": "0"}
    address, caller = cluster.nodes["broker-a"].settings.address, cluster.caller("client")
    change = cluster.scheduler.spawn(caller.call(address, Command(UPDATE_AND_CREATE_TOPIC, fields), 5000), "change")
    cluster.scheduler.settle()
    assert change.done.done is answered
    asked = cluster.scheduler.spawn(caller.call(address, Command(UPDATE_AND_CREATE_TOPIC), 5000), "asked")
    cluster.scheduler.settle()
    assert not asked.done.done
    cluster.scheduler.stops = None
    for pool in cluster.nodes["broker-a"].executors.values():
        for task in [task for task in pool.running if task.at is not None]:
            cluster.scheduler.resume(task)
    cluster.scheduler.settle()
    assert asked.result().code == SYSTEM_ERROR
    assert "T" in cluster.name_server.topic_queue_table
