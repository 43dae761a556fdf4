"""From an accepted request to the stored record: queue, properties, retry and dead-letter topics."""

from __future__ import annotations

import pytest
from marks import behaviour, every, later
from sending import NULL_POINTER, Stand, send_request, thrown
from simulated import fields_of

from rocketproof_impl.broker.queue_id import queue_id_of, random_queue_id
from rocketproof_impl.java import JavaError
from rocketproof_impl.remoting.command import Command
from rocketproof_impl.topic import MULTI_TAG, TopicConfig
from rocketproof_profiles import PROFILES
from rocketproof_protocol.codes import SLAVE_NOT_AVAILABLE, SUBSCRIPTION_GROUP_NOT_EXIST, SUCCESS, SYSTEM_ERROR
from rocketproof_protocol.flags import MULTI_TAGS
from rocketproof_protocol.properties import WAIT


def queue_of(answer: Command) -> int:
    return int(fields_of(answer)["queueId"])


# Queue selection


class Drawing:
    """Randomness that returns one value and records the requested range."""

    def __init__(self, value: int) -> None:
        self.value = value
        self.asked: list[object] = []

    def below(self, limit: int) -> int:
        self.asked.append(limit)
        return self.value

    def int32(self) -> int:
        self.asked.append("int")
        return self.value


SIGNED = [(0, 0), (5, 1), (-1, 1), (-5, 1), (99_999_999, 0), (-99_999_998, 2), (-(2**31), 1), (2**31 - 1, 0)]
DRAWN = [*((True, *row) for row in SIGNED), *((False, *row) for row in ((0, 0), (7, 3), (99_999_998, 2)))]


@pytest.mark.parametrize(("signed", "drawn", "queue_id"), DRAWN)
@behaviour("SEND-22", "INV-33", "HAZ-34", "M-06", "M-07")
def test_earlier_brokers_drop_the_sign_and_later_draw_none(signed: bool, drawn: int, queue_id: int) -> None:
    random = Drawing(drawn)
    assert random_queue_id(random, 4, signed=signed) == queue_id
    assert random.asked == (["int"] if signed else [99_999_999])


@pytest.mark.parametrize(("drawn", "queue_id"), [(5, 1), (-5, -1), (-99_999_998, -2), (-99_999_999, 0), (-(2**31), -1)])
@behaviour("SEND-22")
def test_queue_is_negative_where_the_sign_is_kept(drawn: int, queue_id: int) -> None:
    random, topic = Drawing(drawn), TopicConfig("T", 4, 4)
    assert queue_id_of(-1, topic, random, PROFILES["P491"]) == queue_id
    assert queue_id_of(-1, topic, random, PROFILES["P45"]) == abs(queue_id)
    assert queue_id_of(3, topic, random, PROFILES["P491"]) == 3


@pytest.mark.parametrize("signed", [True, False])
@behaviour("SEND-22", "HAZ-07")
def test_topic_without_queues_is_a_division_by_zero(signed: bool) -> None:
    with pytest.raises(JavaError, match="/ by zero"):
        random_queue_id(Drawing(3), 0, signed=signed)


@pytest.fixture
def stand(profile: str) -> Stand:
    return Stand(profile)


@pytest.mark.parametrize(("write", "read"), [(2, 8), (8, 2)])
@every
@behaviour("SEND-22", "INV-33", "M-05", "M-04")
def test_a_negative_queue_becomes_one_of_the_write_queues(stand: Stand, write: int, read: int) -> None:
    stand.topic(write=write, read=read)
    found = set()
    for drawn in range(8):
        stand.random.feed(drawn)
        answer = stand.send(queue_id=-1)
        found.add(queue_of(answer))
        assert stand.last().queue_id == queue_of(answer)
    assert found == set(range(write))


@every
@behaviour("SEND-20")
def test_a_message_without_a_body_is_stored(stand: Stand) -> None:
    assert stand.send(body=None).code == SUCCESS
    assert not stand.last().body


# Deleted between check and use


@pytest.mark.parametrize("queue_id", [0, -1])
@every
@behaviour("SEND-21", "HAZ-18", "REM-08")
def test_a_topic_deleted_after_the_check_is_a_null_pointer(stand: Stand, queue_id: int) -> None:
    stand.topic()
    stand.scheduler.stops = lambda _, pause: pause.name == "append"
    assert stand.request(send_request(queue_id=queue_id)) is None
    stand.broker.topics.delete("T")
    stand.scheduler.stops = None
    stand.scheduler.resume(stand.executors["send"].running[0])
    (answer,) = stand.channel.written
    assert thrown(answer, NULL_POINTER)
    assert stand.stored() == []


# What is stored


@every
@behaviour("SEND-24")
def test_record_has_the_senders_and_the_brokers_fields(profile: str) -> None:
    stand = Stand(profile, broker_ip1="10.1.2.3", listen_port=1234)
    stand.send(queue_id=2, flag=77, sys_flag=1, born_timestamp=5, reconsume_times=3)
    message = stand.last()
    assert (message.topic, message.queue_id, message.body, message.flag, message.sys_flag) == ("T", 2, b"hello", 77, 1)
    assert (message.born_timestamp, message.born_host) == (5, ("127.0.0.1", 50001))
    assert (message.store_host, message.reconsume_times) == (("10.1.2.3", 1234), 3)


RAW = "TAGS\x01a\x02WAIT\x01false\x02K\x01\x02CLUSTER\x01mine\x02"


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        (RAW, "CLUSTER\x01C1\x02TAGS\x01a"),
        ("A\x011\x02A\x012\x02CLUSTER\x01mine\x02", "A\x012\x02CLUSTER\x01C1"),
        ("garbage\x02A\x01\x02\x01b\x02", "CLUSTER\x01C1"),
        (None, "CLUSTER\x01C1"),
    ],
)
@every
@behaviour("SEND-25", "SEND-26", "SEND-27", "INV-57", "M-76")
def test_only_later_brokers_add_cluster_and_drop_wait(profile: str, sent: str | None, stored: str) -> None:
    stand = Stand(profile, broker_cluster_name="C1")
    stand.send(properties=sent)
    assert stand.last().properties_text == (stored if stand.profile.stores_parsed else sent)


WAITS = [(None, True), ("true", True), ("TRUE", True), ("false", False), ("False", False), ("yes", False), ("1", False)]


@pytest.mark.parametrize(("wait", "waits"), WAITS)
@every
@behaviour("SEND-25", "FLU-02", "FLU-07", "M-76", "M-77", "M-98")
def test_wait_property_applies_though_it_is_not_stored(profile: str, wait: str | None, waits: bool) -> None:
    stand = Stand(profile, broker_role="SYNC_MASTER")
    answer = stand.send(properties={} if wait is None else {WAIT: wait})
    assert answer.code == (SLAVE_NOT_AVAILABLE if waits else SUCCESS)


# Retry topics


@every
@behaviour("DLQ-01", "DLQ-02")
def test_group_of_a_retry_topic_follows_the_prefix(stand: Stand) -> None:
    assert stand.send("%RETRY%", max_reconsume_times=0).code == SUCCESS
    assert stand.last().topic == "%DLQ%"
    assert "" in stand.broker.groups.table
    for name in ("RETRY", "x%RETRY%y"):
        assert stand.send(name, reconsume_times=99, max_reconsume_times=0).code == SUCCESS
        assert stand.last().topic == name
    assert "y" not in stand.broker.groups.table


@behaviour("DLQ-02")
def test_system_groups_are_created_without_automatic_creation() -> None:
    stand = Stand("P494", auto_create_subscription_group=False)
    assert stand.send("%RETRY%CID_RMQ_SYS_x").code == SUCCESS
    assert stand.send("%RETRY%CID_RMQ_SY").code == SUBSCRIPTION_GROUP_NOT_EXIST
    assert len(stand.stored()) == 1


# given limit, caller's version, expected result: the retry topic, the dead-letter topic, or a null pointer
LIMIT_CASES = [
    (None, 120, 15, "%RETRY%g"),
    (None, 120, 16, "%DLQ%g"),
    (3, 120, 3, "%RETRY%g"),  # too old for the field
    (3, 121, 2, "%RETRY%g"),
    (3, 121, 3, "%DLQ%g"),
    (3, 121, 4, "%DLQ%g"),
    (0, 399, 0, "%DLQ%g"),
    (20, 399, 17, "%RETRY%g"),
    (0, 399, None, "%DLQ%g"),  # no retry yet
    (1, 399, None, "%RETRY%g"),
    (-1, 399, 0, "%DLQ%g"),
]


@pytest.mark.parametrize(("limit", "version", "times", "topic"), LIMIT_CASES)
@every
@behaviour("DLQ-03", "DLQ-04", "INV-47", "M-102")
def test_message_above_the_limit_goes_to_the_dead_letter_topic(
    stand: Stand, limit: int | None, version: int, times: int | None, topic: str
) -> None:
    answer = stand.send("%RETRY%g", reconsume_times=times, max_reconsume_times=limit, version=version)
    assert answer.code == SUCCESS
    assert stand.last().topic == topic
    assert stand.last().reconsume_times == (times or 0)


@pytest.mark.parametrize(
    ("profile", "times", "topic"),
    [("P49", 15, "%RETRY%g"), ("P49", 16, "%DLQ%g"), ("P40", 1, None), ("P45", 1, None), ("P492", 1, None)],
)
@behaviour("DLQ-02", "DLQ-03", "HAZ-33", "REM-08")
def test_missing_limit_is_the_groups_or_fails_earlier(stand: Stand, times: int, topic: str | None) -> None:
    answer = stand.send("%RETRY%g", reconsume_times=times)
    assert thrown(answer, NULL_POINTER) if topic is None else (answer.code, stand.last().topic) == (SUCCESS, topic)
    assert "g" in stand.broker.groups.table and "%RETRY%g" in stand.known()


@pytest.mark.parametrize(("profile", "perm"), [("P40", 2), ("P45", 2), ("P49", 6), ("P494", 6)])
@behaviour("DLQ-04", "HAZ-31")
def test_a_dead_letter_topic_is_made_with_one_queue(stand: Stand, perm: int) -> None:
    stand.send("%RETRY%g", queue_id=3, reconsume_times=16, max_reconsume_times=16, unit_mode=True)
    config = stand.broker.topics.table["%DLQ%g"]
    assert (config.read_queue_nums, config.write_queue_nums, config.perm, config.topic_sys_flag) == (1, 1, perm, 0)
    assert stand.last().queue_id == 0


@every
@behaviour("DLQ-04")
def test_a_dead_letter_topic_that_cannot_be_made_is_refused(stand: Stand) -> None:
    stand.topic("%RETRY%g")
    stand.broker.topics.lock.held = True
    answer = stand.send("%RETRY%g", reconsume_times=16, max_reconsume_times=16)
    assert (answer.code, answer.remark) == (SYSTEM_ERROR, "topic[%DLQ%g] not exist")


@every
@behaviour("DLQ-06", "HAZ-15", "INV-44", "M-68")
def test_the_answer_names_the_retry_topics_queue(stand: Stand) -> None:
    stand.send("%RETRY%g", reconsume_times=16, max_reconsume_times=16)
    answer = stand.send("%RETRY%g", queue_id=3, reconsume_times=16, max_reconsume_times=16)
    assert queue_of(answer) == 3
    assert fields_of(answer)["queueOffset"] == "1"
    assert stand.last().queue_id == 0


@every
@behaviour("DLQ-04", "TCM-20", "DLQ-05", "DLQ-06")
def test_existing_dead_letter_topic_is_used_unchanged(stand: Stand) -> None:
    dead = stand.topic("%DLQ%G", write=0, read=0, perm=0, topic_filter_type=MULTI_TAG)
    answer = stand.send("%RETRY%G", queue_id=3, sys_flag=1, reconsume_times=5, max_reconsume_times=5)
    assert (answer.code, queue_of(answer)) == (SUCCESS, 3)
    assert (stand.last().topic, stand.last().queue_id, stand.last().sys_flag) == ("%DLQ%G", 0, 1 | MULTI_TAGS)
    assert stand.broker.topics.table["%DLQ%G"] is dead


@later
@behaviour("HAZ-17", "SEND-24")
def test_dead_message_keeps_its_delay(stand: Stand) -> None:
    stand.send("%RETRY%g", reconsume_times=16, properties={"DELAY": "5"})
    message = stand.last()
    assert (message.topic, message.queue_id) == ("SCHEDULE_TOPIC_XXXX", 4)
    assert message.properties["REAL_TOPIC"] == "%DLQ%g"


@pytest.mark.parametrize(("name", "times"), [("T", 0), ("%RETRY%g", 0), ("%RETRY%g", 16)])
@every
@behaviour("DLQ-05", "M-31")
def test_the_topics_filter_type_marks_the_message(stand: Stand, name: str, times: int) -> None:
    stand.topic(name, topic_filter_type=MULTI_TAG)
    stand.topic("%DLQ%g")
    stand.send(name, sys_flag=1, reconsume_times=times, max_reconsume_times=16)
    assert stand.last().sys_flag == (1 if times == 16 else 3)
    stand.broker.topics.table["%DLQ%g"].topic_filter_type = MULTI_TAG
    stand.broker.topics.table[name].topic_filter_type = "SINGLE_TAG"
    stand.send(name, sys_flag=1, reconsume_times=times, max_reconsume_times=16)
    assert stand.last().sys_flag == (3 if times == 16 else 1)
