"""A consumer sends a message back."""

from __future__ import annotations

from typing import Any

import pytest
from marks import behaviour, earlier, every, later
from sending import NULL_POINTER, Stand, send_request, thrown

from rocketproof_impl.broker.groups import SubscriptionGroupConfig
from rocketproof_impl.message import Message
from rocketproof_impl.remoting.command import Command
from rocketproof_impl.store.result import AppendMessageStatus, AppendResult, PutMessageStatus, PutResult
from rocketproof_impl.topic import TopicConfig
from rocketproof_protocol.codes import NO_PERMISSION, SLAVE_NOT_AVAILABLE, SUBSCRIPTION_GROUP_NOT_EXIST, SUCCESS, SYSTEM_ERROR
from rocketproof_protocol.flags import PREPARED, READ, WRITE

SCHEDULE = "SCHEDULE_TOPIC_XXXX"


def stand_with(profile: str = "P49", *, times: int = 0, **settings: Any) -> Stand:
    """Return a broker with one message of T in its log, at offset 0."""
    stand = Stand(profile, **settings)
    stand.send(queue_id=1, reconsume_times=times, properties={"TAGS": "a"}, flag=7, sys_flag=1)
    return stand


def back(stand: Stand, *, offset: int = 0, delay_level: int = 0, limit: int | None = 16, **fields: Any) -> Command:
    """Send the message back, with a limit that every profile accepts."""
    answer = stand.send_back(offset, delay_level=delay_level, max_reconsume_times=limit, **fields)
    assert answer.ext_fields is None
    return answer


@every
@behaviour("BACK-01", "BACK-14", "BACK-18")
def test_message_is_stored_again_and_the_old_record_stays(profile: str) -> None:
    stand = stand_with(profile, broker_ip1="10.0.0.1")
    answer = back(stand)
    assert (answer.code, answer.remark) == (SUCCESS, None)
    old, new = stand.stored()
    assert (new.body, new.flag, new.sys_flag, new.born_timestamp, new.born_host) == (b"hello", 7, 1, old.born_timestamp, old.born_host)
    assert (new.reconsume_times, new.store_host, new.properties["TAGS"]) == (1, ("10.0.0.1", 10911), "a")
    assert new.msg_id != old.msg_id
    back(stand)
    assert len(stand.stored()) == 3


@pytest.fixture
def stand(profile: str) -> Stand:
    return stand_with(profile)


@pytest.mark.parametrize(
    ("profile", "kept"), [("P40", False), ("P45", False), ("P461", False), ("P471", True), ("P49", True), ("P494", True)]
)
@behaviour("BACK-14")
def test_later_brokers_keep_the_store_host(stand: Stand, kept: bool) -> None:
    stand.broker.store_host = ("10.0.0.2", 10911)
    back(stand)
    assert stand.last().store_host[0] == ("127.0.0.1" if kept else "10.0.0.2")


@behaviour("BACK-01")
def test_required_header_fields() -> None:
    stand = stand_with()
    for name in ("offset", "group", "delayLevel"):
        fields = {"offset": "0", "group": "G", "delayLevel": "0"}
        del fields[name]
        answer = stand.call(36, None, **fields)
        expected = f"org.apache.rocketmq.remoting.exception.RemotingCommandException: the custom field <{name}> is null, "
        assert str(answer.remark).startswith(expected)


# Refusals, in their order


@every
@behaviour("BACK-03", "DLQ-02")
def test_an_unknown_group_is_refused(profile: str) -> None:
    stand = stand_with(profile, auto_create_subscription_group=False, broker_permission=READ)
    answer = back(stand)
    faq = "\nSee http://rocketmq.apache.org/docs/faq/ for further details."
    assert (answer.code, answer.remark) == (SUBSCRIPTION_GROUP_NOT_EXIST, f"subscription group not exist, G {faq}")
    assert "%RETRY%G" not in stand.known()


@pytest.mark.parametrize(("perm", "code"), [(READ, NO_PERMISSION), (WRITE, SUCCESS)])
@every
@behaviour("BACK-04", "M-100")
def test_read_only_broker_refuses_a_send_back(profile: str, perm: int, code: int) -> None:
    stand = stand_with(profile, broker_permission=perm)
    stand.broker.groups.update(SubscriptionGroupConfig("empty", retry_queue_nums=0))
    for group in ("G", "empty"):
        answer = back(stand, group=group)
        assert answer.code == code
        assert answer.remark == ("the broker[127.0.0.1] sending message is forbidden" if code else None)


@behaviour("BACK-04", "BACK-05", "BACK-03")
def test_checks_of_a_send_back_have_a_fixed_order() -> None:
    """The order: the group, the broker, the group's queues, the topic, the message."""
    stand = Stand(broker_permission=READ, auto_create_subscription_group=False)
    assert stand.send_back(999).code == SUBSCRIPTION_GROUP_NOT_EXIST
    stand.broker.groups.update(SubscriptionGroupConfig("G", retry_queue_nums=0))
    assert stand.send_back(999).code == NO_PERMISSION
    stand.settings.broker_permission = 6
    assert (stand.send_back(999).code, "%RETRY%G" in stand.known()) == (SUCCESS, False)
    stand.broker.groups.update(SubscriptionGroupConfig("G"))
    stand.topic("%RETRY%G", perm=READ)
    assert stand.send_back(999).remark == "the topic[%RETRY%G] sending message is forbidden"
    stand.topic("%RETRY%G")
    assert stand.send_back(999).remark == "look message by offset failed, 999"


@pytest.mark.parametrize("queues", [0, -1])
@every
@behaviour("BACK-05", "HAZ-30", "INV-51", "M-101")
def test_group_without_retry_queues_drops_the_message_with_success(stand: Stand, queues: int) -> None:
    stand.broker.groups.update(SubscriptionGroupConfig("G", retry_queue_nums=queues))
    answer = back(stand)
    assert (answer.code, answer.remark) == (SUCCESS, None)
    assert len(stand.stored()) == 1
    assert "%RETRY%G" not in stand.known()


@pytest.mark.parametrize(("unit", "flag"), [(False, 0), (True, 2)])
@every
@behaviour("BACK-06", "BACK-07")
def test_the_retry_topic_has_the_groups_queues(profile: str, unit: bool, flag: int) -> None:
    stand = stand_with(profile, auto_create_topic_enable=True)
    stand.broker.groups.update(SubscriptionGroupConfig("G", retry_queue_nums=3))
    stand.random.feed(5)
    back(stand, unit_mode=unit, delay_level=1)
    assert stand.broker.topics.table["%RETRY%G"] == TopicConfig("%RETRY%G", 3, 3, topic_sys_flag=flag)
    assert (stand.last().properties["REAL_TOPIC"], stand.last().properties["REAL_QID"]) == ("%RETRY%G", "2")


@behaviour("BACK-07")
def test_an_existing_retry_topic_may_have_fewer_queues() -> None:
    stand = stand_with()
    stand.topic("%RETRY%G", 1, 1)
    stand.broker.groups.update(SubscriptionGroupConfig("G", retry_queue_nums=3))
    stand.random.feed(2)
    assert back(stand).code == SUCCESS
    assert stand.last().properties["REAL_QID"] == "2"


@pytest.mark.parametrize(("level", "missing"), [(0, "%RETRY%G"), (-1, "%DLQ%G")])
@every
@behaviour("BACK-07", "BACK-12")
def test_failed_creation_of_the_retry_topic_is_refused(stand: Stand, level: int, missing: str) -> None:
    if level < 0:
        stand.topic("%RETRY%G")
    stand.broker.topics.lock.held = True
    answer = back(stand, delay_level=level)
    assert (answer.code, answer.remark) == (SYSTEM_ERROR, f"topic[{missing}] not exist")
    stand.topic("%RETRY%G")
    stand.topic("%DLQ%G", perm=0)
    assert back(stand, delay_level=level).code == SUCCESS


@pytest.mark.parametrize("perm", [0, READ, WRITE, READ | WRITE])
@every
@behaviour("BACK-08")
def test_retry_topics_own_permission_is_checked(stand: Stand, perm: int) -> None:
    stand.topic("%RETRY%G", perm=perm)
    answer = back(stand)
    if perm & WRITE:
        assert answer.code == SUCCESS
    else:
        assert (answer.code, answer.remark) == (NO_PERMISSION, "the topic[%RETRY%G] sending message is forbidden")


@every
@behaviour("BACK-09")
def test_missing_message_still_creates_the_retry_topic(stand: Stand) -> None:
    answer = back(stand, offset=100_000)
    assert (answer.code, answer.remark) == (SYSTEM_ERROR, "look message by offset failed, 100000")
    assert "%RETRY%G" in stand.known()


# The stored message


@every
@behaviour("BACK-10", "BACK-13", "INV-49", "INV-48", "LIV-06", "M-103", "M-104", "M-105")
def test_delay_grows_each_round_until_the_dead_letter_topic(stand: Stand) -> None:
    offset = 0
    for times in range(16):
        assert back(stand, offset=offset).code == SUCCESS
        new = stand.last()
        level = min(3 + times, 18)
        assert (new.topic, new.queue_id, new.reconsume_times) == (SCHEDULE, level - 1, times + 1)
        assert (new.properties["REAL_TOPIC"], new.properties["DELAY"]) == ("%RETRY%G", str(level))
        assert (new.properties["RETRY_TOPIC"], new.properties["WAIT"]) == ("T", "false")
        stand.scheduler.advance(7_200_000)
        stand.broker.store.dispatch()
        assert stand.scheduler.complete(stand.broker.store.deliver_delayed()) == 1
        offset = stand.last().physical_offset
        assert stand.last().topic == "%RETRY%G"
    back(stand, offset=offset)
    last = stand.last()
    dead = {message.topic for message in stand.stored() if message.topic.startswith("%DLQ%")}
    delayed_dead = last.topic == SCHEDULE and last.properties["REAL_TOPIC"] == "%DLQ%G"
    assert dead == {"%DLQ%G"} or delayed_dead
    assert (last.reconsume_times, last.properties["RETRY_TOPIC"]) == (17, "T")


@every
@behaviour("BACK-13", "BACK-12", "CL-02")
def test_growing_level_is_limited_to_the_last_level(profile: str) -> None:
    stand = Stand(profile)
    stand.send("%RETRY%G", reconsume_times=17, max_reconsume_times=99)
    assert stand.send_back(max_reconsume_times=99).code == SUCCESS
    found = stand.last()
    assert (found.topic, found.queue_id, found.properties["DELAY"], found.reconsume_times) == (SCHEDULE, 17, "18", 18)
    assert (found.properties["REAL_TOPIC"], found.properties["RETRY_TOPIC"]) == ("%RETRY%G", "%RETRY%G")
    stand.send_back(max_reconsume_times=17)
    assert (stand.last().topic, stand.last().reconsume_times) == ("%DLQ%G", 18)


@pytest.mark.parametrize(("level", "delay"), [(0, "3"), (1, "1"), (18, "18"), (25, "18")])
@every
@behaviour("BACK-13", "M-103")
def test_the_consumer_may_choose_the_level(stand: Stand, level: int, delay: str) -> None:
    back(stand, delay_level=level)
    assert (stand.last().topic, stand.last().properties["DELAY"]) == (SCHEDULE, delay)


LIMITS = [(15, None, 120, False), (16, None, 120, True), (2, 3, 121, False), (3, 3, 121, True), (3, 3, 120, False), (4, 3, 399, True)]


@pytest.mark.parametrize(("times", "limit", "version", "dead"), LIMITS)
@every
@behaviour("BACK-11", "BACK-12", "M-102", "INV-47")
def test_the_limit_is_the_callers_or_the_groups(profile: str, times: int, limit: int | None, version: int, dead: bool) -> None:
    stand = stand_with(profile, times=times)
    assert back(stand, limit=limit, version=version).code == SUCCESS
    assert stand.last().topic == ("%DLQ%G" if dead else SCHEDULE)


@pytest.mark.parametrize(("times", "dead"), [(15, False), (16, True)])
@later
@behaviour("BACK-11")
def test_later_brokers_default_to_the_groups_limit(profile: str, times: int, dead: bool) -> None:
    stand = stand_with(profile, times=times)
    assert back(stand, limit=None).code == SUCCESS
    assert stand.last().topic == ("%DLQ%G" if dead else SCHEDULE)


@earlier
@behaviour("BACK-11", "HAZ-33")
def test_earlier_brokers_fail_without_a_limit(stand: Stand) -> None:
    answer = back(stand, limit=None)
    assert thrown(answer, NULL_POINTER)
    assert "%RETRY%G" in stand.known()


@pytest.mark.parametrize(("profile", "perm"), [("P40", 2), ("P45", 2), ("P491", 2), ("P492", 6), ("P49", 6), ("P494", 6)])
@behaviour("BACK-12", "HAZ-31")
def test_negative_delay_level_sends_to_the_dead_letter_topic(stand: Stand, perm: int) -> None:
    stand.random.feed(1, 1)
    back(stand, delay_level=-1, unit_mode=True)
    new = stand.last()
    assert (new.topic, new.queue_id, new.reconsume_times) == ("%DLQ%G", 0, 1)
    assert stand.broker.topics.table["%DLQ%G"] == TopicConfig("%DLQ%G", 1, 1, perm)
    assert new.properties.get("DELAY") == ("0" if perm == 6 else None)


@pytest.mark.parametrize(
    ("profile", "delayed"), [("P40", True), ("P45", True), ("P490", True), ("P491", True), ("P492", False), ("P49", False), ("P494", False)]
)
@behaviour("BACK-12")
def test_earlier_brokers_delay_a_dead_message_that_has_a_level(profile: str, delayed: bool) -> None:
    stand = Stand(profile)
    half = {"TRAN_MSG": "true", "DELAY": "5"}
    stand.scheduler.complete(stand.broker.store.put_message(_kept(half)))
    back(stand, delay_level=-1)
    new = stand.last()
    assert new.sys_flag == 0
    assert (new.topic, new.properties["DELAY"]) == ((SCHEDULE, "5") if delayed else ("%DLQ%G", "0"))


def _kept(properties: dict[str, str]) -> Message:
    """Make the store keep a record whose properties text has a level that its map does not have."""
    text = "".join(f"{name}\x01{value}\x02" for name, value in properties.items())
    return Message("T", 0, b"x", properties_text=text)


@pytest.mark.parametrize(
    ("profile", "named"), [("P40", False), ("P45", False), ("P480", False), ("P490", True), ("P491", True), ("P49", True), ("P494", True)]
)
@behaviour("BACK-15", "HAZ-32", "INV-50")
def test_earlier_brokers_drop_the_origin_id_of_dead_messages(stand: Stand, named: bool) -> None:
    origin = stand.last().msg_id
    back(stand, delay_level=-1)
    assert stand.last().properties.get("ORIGIN_MESSAGE_ID") == (origin if named else None)
    back(stand, delay_level=2)
    assert stand.last().properties["ORIGIN_MESSAGE_ID"] == origin
    back(stand, offset=stand.last().physical_offset, delay_level=2)
    assert stand.last().properties["ORIGIN_MESSAGE_ID"] == origin


@every
@behaviour("BACK-10", "BACK-16", "FLU-07")
def test_send_back_waits_for_no_slave(profile: str) -> None:
    stand = Stand(profile, broker_role="SYNC_MASTER")
    assert stand.send(properties={"WAIT": "true", "RETRY_TOPIC": "first"}).code == SLAVE_NOT_AVAILABLE
    assert stand.send_back(max_reconsume_times=9, delay_level=-1).code == SUCCESS
    assert (stand.last().properties["WAIT"], stand.last().properties["RETRY_TOPIC"]) == ("false", "first")
    assert dict(stand.broker.statistics.send_back_nums) == {("G", "first"): 1}


@pytest.mark.parametrize("group", ["a b", "", "x" * 110])
@every
@behaviour("BACK-06", "BACK-07")
def test_any_group_name_can_send_back(profile: str, group: str) -> None:
    stand = Stand(profile)
    stand.send()
    assert stand.send_back(group=group, max_reconsume_times=9).code == SUCCESS
    assert stand.last().properties["REAL_TOPIC"] == f"%RETRY%{group}"


@earlier
@behaviour("BACK-15", "HAZ-32")
def test_blank_origin_id_counts_as_absent(profile: str) -> None:
    stand = Stand(profile)
    stand.send(properties={"ORIGIN_MESSAGE_ID": "  "})
    stand.send_back(max_reconsume_times=9)
    first, found = stand.stored()
    assert found.properties["ORIGIN_MESSAGE_ID"] == first.msg_id


@later
@behaviour("BACK-17")
def test_a_prepared_message_is_prepared_again(profile: str) -> None:
    stand = Stand(profile)
    stand.send(sys_flag=PREPARED)
    back(stand, delay_level=-1)
    assert stand.last().sys_flag == PREPARED


@behaviour("BACK-14")
def test_a_committed_message_loses_the_pointer_to_its_half_message() -> None:
    stand = Stand()
    stand.scheduler.complete(stand.broker.store.put_message(Message("T", 0, b"x", prepared_transaction_offset=77)))
    back(stand)
    assert stand.last().prepared_transaction_offset == 0


# Answers and statistics


@every
@behaviour("BACK-16", "INV-51", "M-107", "STO-01", "STO-02", "HAZ-22")
def test_every_put_status_except_put_ok_is_an_error(profile: str) -> None:
    for status in PutMessageStatus:
        stand = stand_with(profile)
        stand.put_gives(PutResult(status, AppendResult(AppendMessageStatus.END_OF_FILE)))
        answer = back(stand)
        good = status is PutMessageStatus.PUT_OK
        assert (answer.code, answer.remark) == ((SUCCESS, None) if good else (SYSTEM_ERROR, status.name))
        assert stand.broker.statistics.send_back_nums == ({("G", "T"): 1} if good else {})
    stand = stand_with(profile)
    stand.put_gives(None)
    assert back(stand).remark == "putMessageResult is null"
    stand = stand_with(profile)
    stand.broker.store.shutdown = True
    assert back(stand).remark == "SERVICE_NOT_AVAILABLE"


@pytest.mark.parametrize(("profile", "counted"), [("P40", False), ("P45", False), ("P49", True), ("P494", True)])
@behaviour("BACK-16", "M-106")
def test_a_returned_message_is_counted_for_its_first_topic(stand: Stand, counted: bool) -> None:
    stand.broker.statistics.topic_put_nums.clear()
    back(stand, delay_level=1)
    first = stand.last()
    stand.scheduler.advance(1000)
    stand.broker.store.dispatch()
    assert stand.scheduler.complete(stand.broker.store.deliver_delayed()) == 1
    assert stand.last().topic == "%RETRY%G"
    back(stand, offset=stand.last().physical_offset, delay_level=-1)
    statistics = stand.broker.statistics
    assert statistics.send_back_nums == {("G", "T"): 2}
    delayed = 2 if stand.last().topic == SCHEDULE else 1
    assert statistics.topic_put_nums == ({SCHEDULE: delayed} if counted else {})
    assert statistics.queue_put_size == ({(SCHEDULE, 0): first.store_size} if counted else {})


@pytest.mark.parametrize(
    ("size", "level", "code"), [(120, 0, SUCCESS), (121, 0, SYSTEM_ERROR), (122, -1, SUCCESS), (123, -1, SYSTEM_ERROR)]
)
@behaviour("HAZ-20", "BACK-07", "BACK-16", "INV-09")
def test_long_group_gets_topics_that_accept_no_message(size: int, level: int, code: int) -> None:
    stand, group = stand_with(), "g" * size
    answer = stand.send_back(0, group, level)
    assert (answer.code, answer.remark) == (code, "MESSAGE_ILLEGAL" if code else None)
    assert f"%RETRY%{group}" in stand.known()
    assert (f"%DLQ%{group}" in stand.known()) == (level < 0)


@every
@behaviour("SEND-01")
def test_send_hooks_do_not_see_a_send_back(stand: Stand) -> None:
    seen: list[object] = []

    class Hook:
        def send_message_before(self, context: object) -> None:
            seen.append(context)

        def send_message_after(self, context: object) -> None:
            seen.append(context)

    stand.broker.hooks.send.append(Hook())
    back(stand)
    assert seen == []
    stand.ask(send_request())
    assert seen
