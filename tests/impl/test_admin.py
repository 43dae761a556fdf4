"""Requests of administrators: topics, groups, settings, offsets, records."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from marks import behaviour
from sending import Stand, batch_request
from simulated import fields_of

from rocketproof_impl.broker.groups import SubscriptionGroupConfig
from rocketproof_impl.broker.settings import BrokerSettings
from rocketproof_impl.broker.settingstext import FIELDS, properties_of
from rocketproof_impl.remoting.command import NOT_SET, Command
from rocketproof_impl.store import record
from rocketproof_impl.topic import TopicConfig

TOPIC = {
    "topic": "new",
    "defaultTopic": "TBW102",
    "readQueueNums": 8,
    "writeQueueNums": 4,
    "perm": 7,
    "topicFilterType": "MULTI_TAG",
    "topicSysFlag": 1,
    "order": False,
}


def registrations(stand: Stand) -> list[tuple[bool, bool, bool] | str]:
    """Record the requested registrations from here on; an updated topic by its name."""
    asked: list[tuple[bool, bool, bool] | str] = []

    async def register_all(check_order_config: bool, oneway: bool, force: bool) -> None:
        asked.append((check_order_config, oneway, force))

    async def register_updated(config: TopicConfig) -> None:
        asked.append(config.topic_name)

    double = SimpleNamespace(register_all=register_all, register_updated=register_updated)
    stand.broker.registration = double  # type: ignore[assignment]
    return asked


@behaviour("TCM-30")
def test_a_topic_is_put_persisted_and_registered() -> None:
    stand = Stand("P494")
    asked, version = registrations(stand), stand.broker.topics.data_version.counter
    answer = stand.call(17, None, **TOPIC)
    assert (answer.code, answer.remark, answer.ext_fields) == (0, NOT_SET, None)
    assert stand.broker.topics.table["new"] == TopicConfig("new", 8, 4, 7, "MULTI_TAG", 1)
    assert stand.broker.topics.data_version.counter == version + 1
    assert b'"new"' in stand.disk.files["store/config/topics.json"]
    assert asked == ["new"]


@pytest.fixture
def stand() -> Stand:
    return Stand()


@pytest.mark.parametrize("name", ["rmq_sys_x", "DefaultCluster_REPLY_TOPIC", "RMQ_SYS_TRACE_TOPIC", "BenchmarkTest"])
def test_system_topics_cannot_be_changed(stand: Stand, name: str) -> None:
    for code in (17, 215):
        answer = stand.call(code, None, **TOPIC | {"topic": name})
        assert (answer.code, answer.remark) == (1, f"The topic[{name}] is conflict with system topic.")


@behaviour("TCM-31")
def test_a_topic_is_deleted(stand: Stand) -> None:
    stand.topic()
    answer = stand.call(215, None, topic="T")
    assert (answer.code, answer.remark) == (0, None)
    assert "T" not in stand.known()
    version = stand.broker.topics.data_version.counter
    assert stand.call(215, None, topic="T").code == 0, "deleting a missing topic makes no new version"
    assert stand.broker.topics.data_version.counter == version
    assert stand.call(215, None, topic=" ").remark == "The specified topic is blank."


@pytest.mark.parametrize(
    ("name", "remark"),
    [
        ("a b", "The specified topic contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$"),
        ("x" * 128, "The specified topic is longer than topic max length."),
        ("rmq_sys_x", "The topic[rmq_sys_x] is conflict with system topic."),
    ],
)
@behaviour("TCM-31")
def test_a_name_without_a_topic_is_not_deleted(name: str, remark: str) -> None:
    stand = Stand("P494")
    stand.topic(name)
    answer = stand.call(215, None, topic=name)
    assert (answer.code, answer.remark) == (1, remark)
    assert name in stand.known()


@behaviour("TCM-33", "CHK-01", "NS-12")
def test_administrator_cannot_make_an_order_topic() -> None:
    stand = Stand("P494")
    assert stand.call(17, None, **TOPIC | {"topic": "T", "order": True}).code == 0
    assert stand.call(25, b"brokerPermission=4").code == 0
    assert stand.send().code == 0


def test_a_group_is_put(stand: Stand) -> None:
    body = json.dumps({"groupName": "G", "retryQueueNums": 3, "retryMaxTimes": 2, "consumeEnable": False}).encode()
    assert stand.call(200, body).remark is None
    expected = SubscriptionGroupConfig("G", consume_enable=False, retry_queue_nums=3, retry_max_times=2)
    assert stand.broker.groups.find("G") == expected


@pytest.mark.parametrize("code", [17, 200, 215])
def test_a_slave_changes_nothing(code: int) -> None:
    stand = Stand(broker_role="SLAVE")
    stand.topic()
    answer = stand.call(code, b'{"groupName":"G"}', **TOPIC | {"topic": "T"})
    remark = "Can't modify topic or subscription group from slave broker, please execute it from master broker."
    assert (answer.code, answer.remark) == (1, remark)
    assert stand.broker.topics.table["T"] == TopicConfig("T", 4, 4)
    assert "G" not in stand.broker.groups.table


# Settings


def test_settings_have_rocketmqs_names() -> None:
    expected = {
        "brokerIP1": "broker_ip1",
        "brokerPermission": "broker_permission",
        "autoCreateTopicEnable": "auto_create_topic_enable",
        "rejectTransactionMessage": "reject_transaction_message",
        "flushDiskType": "flush_disk_type",
        "startAcceptSendRequestTimeStamp": "start_accept_send_request_timestamp",
        "defaultTopicQueueNums": "default_topic_queue_nums",
    }
    assert {name: FIELDS[name] for name in expected} == expected
    assert set(FIELDS.values()) == set(BrokerSettings.__dataclass_fields__)


def test_settings_change_at_run_time(stand: Stand) -> None:
    asked = registrations(stand)
    body = b"# comment\nautoCreateTopicEnable = false\n\nflushDiskType=SYNC_FLUSH\nmaxMessageSize=x\nnosuch=1\nslaveTimeout=7\n"
    answer = stand.call(25, body)
    assert (answer.code, answer.remark) == (0, None)
    settings = stand.settings
    assert (settings.auto_create_topic_enable, settings.flush_disk_type, settings.slave_timeout) == (False, "SYNC_FLUSH", 7)
    assert settings.max_message_size == BrokerSettings().max_message_size
    assert asked == []
    assert stand.send("new").code == 17
    assert stand.call(25).code == 0


def test_name_servers_are_separated_by_semicolons(stand: Stand) -> None:
    assert stand.call(25, b"namesrvAddr=h:1;i:2;;j:3;").code == 0
    assert stand.settings.name_servers == ("h:1", "i:2", "j:3")
    assert properties_of((stand.call(26).body or b"").decode())["namesrvAddr"] == "h:1;i:2;j:3"


def test_settings_that_are_not_utf_8_are_ignored(stand: Stand) -> None:
    assert stand.call(25, b"\xff=1\nslaveTimeout=8\n").code == 0
    assert stand.settings.slave_timeout == 8


@behaviour("NS-11")
def test_a_changed_permission_is_registered_under_a_new_version(stand: Stand) -> None:
    asked, version = registrations(stand), stand.broker.topics.data_version.counter
    stand.call(25, b"brokerPermission=4")
    assert stand.settings.broker_permission == 4
    assert stand.broker.topics.data_version.counter == version + 1
    assert asked == [(False, False, True)]


def test_lines_of_properties() -> None:
    assert properties_of("a=1\n b = x=y \n!no=1\n\nc\nnamesrvAddr=h:1;i:2") == {"a": "1", "b": "x=y", "c": "", "namesrvAddr": "h:1;i:2"}


@behaviour("HAZ-02", "TCM-13", "INV-15", "ACT-01")
def test_auto_creation_switched_off_for_a_send_stays_off() -> None:
    stand = Stand("P494")
    stand.call(25, b"autoCreateTopicEnable=false")
    assert stand.broker.topics.table["TBW102"].perm == 7
    assert stand.send().code == 17
    stand.call(25, b"autoCreateTopicEnable=true")
    assert stand.send().code == 17


@behaviour("TRX-01", "TRX-05")
def test_transactions_can_be_refused_at_run_time() -> None:
    stand = Stand("P494")
    stand.call(25, b"# comment\nnosuch=1\nrejectTransactionMessage=TRUE\n")
    assert stand.send(properties={"TRAN_MSG": "true"}).code == 16
    assert stand.send(sys_flag=4).code == 0
    assert stand.ask(batch_request(properties="TRAN_MSG\x01true\x02")).code == 0


@behaviour("BACK-06", "BACK-05")
def test_changed_group_settings_apply_to_the_next_send_back() -> None:
    stand = Stand("P494")
    stand.send()
    stand.call(200, json.dumps({"groupName": "G", "retryQueueNums": 2}).encode())
    stand.random.feed(3)
    stand.send_back()
    assert stand.broker.topics.table["%RETRY%G"] == TopicConfig("%RETRY%G", 2, 2)
    assert stand.last().properties["REAL_QID"] == "1"
    stand.call(200, json.dumps({"groupName": "G", "retryQueueNums": 0}).encode())
    assert stand.send_back().code == 0
    assert len(stand.stored()) == 2


# Queries


def test_the_largest_offset_of_a_queue(stand: Stand) -> None:
    stand.send(queue_id=1)
    stand.send(queue_id=1)
    stand.broker.store.dispatch()
    answer = stand.call(30, None, topic="T", queueId=1)
    assert (answer.code, answer.remark, answer.ext_fields) == (0, None, {"offset": "2"})
    assert stand.call(30, None, topic="nosuch", queueId=0).ext_fields == {"offset": "0"}


def test_the_time_of_a_queues_first_message(stand: Stand) -> None:
    stand.send(queue_id=1)
    stand.clock.jump(50)
    stand.send(queue_id=1)
    assert stand.call(32, None, topic="T", queueId=1).ext_fields == {"timestamp": "-1"}, "nothing is dispatched"
    stand.broker.store.dispatch()
    answer = stand.call(32, None, topic="T", queueId=1)
    first = next(iter(stand.stored()))
    assert (answer.code, answer.remark, answer.ext_fields) == (0, None, {"timestamp": str(first.store_timestamp)})
    for topic, queue in (("T", 0), ("T", -1), ("nosuch", 0)):
        assert stand.call(32, None, topic=topic, queueId=queue).ext_fields == {"timestamp": "-1"}


def test_a_record_by_its_offset(stand: Stand) -> None:
    stand.send()
    stand.send(properties={"K": "v"}, flag=3, body=None)
    for message in stand.stored():
        answer = stand.call(33, None, offset=message.physical_offset)
        assert (answer.code, answer.remark) == (0, None)
        log = bytes(stand.disk.files["store/commitlog/00000000000000000000"])
        assert answer.body == log[message.physical_offset : message.physical_offset + message.store_size]
        assert record.decode(answer.body or b"", exact=False) == message
    answer = stand.call(33, None, offset=99_999)
    assert (answer.code, answer.remark) == (1, "can not find message by the offset, 99999")


@pytest.mark.parametrize("code", [16, 203, 105, 4711])
@behaviour("REM-05")
def test_other_codes_are_not_supported(stand: Stand, code: int) -> None:
    answer = stand.ask(Command(code, opaque=2))
    assert (answer.code, answer.remark) == (3, f" request type {code} not supported")


@behaviour("TCM-31")
def test_queues_of_a_deleted_topic_restart_at_offset_0(stand: Stand) -> None:
    """As recorded: after the topic is created again, its next message has queue offset 0."""
    stand.send("topic", queue_id=1)
    stand.send("kept", queue_id=1)
    stand.broker.store.dispatch()
    stand.call(215, None, topic="topic")
    again, kept = stand.send("topic", queue_id=1), stand.send("kept", queue_id=1)
    assert (fields_of(again)["queueOffset"], fields_of(kept)["queueOffset"]) == ("0", "1")
