"""What a quick reading of the broker's rules gets wrong: order, boundaries, what stays after a failure, and which profile."""

from __future__ import annotations

import json

import pytest
from marks import ALL_PROFILES, behaviour, earlier, every, later
from sending import HEADER, Stand, batch_request, send_request
from simulated import fields_of
from table_bench import BACKUP, MAIN, TEMPORARY, TableBench

from rocketproof_impl.broker.groups import SubscriptionGroupConfig
from rocketproof_impl.broker.hooks import SendMessageContext
from rocketproof_impl.message import properties_text
from rocketproof_impl.remoting.command import Command
from rocketproof_impl.remoting.headers import encode_v1, encode_v2
from rocketproof_impl.store.result import AppendMessageStatus, AppendResult, PutMessageStatus, PutResult
from rocketproof_impl.store.service import DISK_FULL
from rocketproof_impl.topic import MULTI_TAG, TopicConfig
from rocketproof_protocol.codes import (
    MESSAGE_ILLEGAL,
    NO_PERMISSION,
    SEND_MESSAGE,
    SERVICE_NOT_AVAILABLE,
    SLAVE_NOT_AVAILABLE,
    SUBSCRIPTION_GROUP_NOT_EXIST,
    SUCCESS,
    SYSTEM_ERROR,
    TOPIC_NOT_EXIST,
)
from rocketproof_protocol.flags import COMMIT, MULTI_TAGS, PREPARED, READ, ROLLBACK
from rocketproof_protocol.topics import HALF_TOPIC

SCHEDULE = "SCHEDULE_TOPIC_XXXX"
EXTENDED = {"MSG_REGION": "DefaultRegion", "TRACE_ON": "true"}
NULL_POINTER = "java.lang.NullPointerException, "
BY_ZERO = "java.lang.ArithmeticException: / by zero, "


def thrown(answer: Command, start: str) -> bool:
    """Whether it is a fresh answer to an exception."""
    return answer.code == SYSTEM_ERROR and answer.ext_fields is None and str(answer.remark).startswith(start)


# The order of the checks


@every
@behaviour("SEND-12", "REM-08")
def test_a_broker_before_its_time_says_nothing_to_a_one_way_caller(profile: str) -> None:
    stand = Stand(profile, start_accept_send_request_timestamp=2**45)
    assert stand.request(send_request(one_way=True)) is None
    assert (stand.stored(), "T" in stand.known()) == ([], False)


@every
@behaviour("SEND-12", "BAT-01", "SEND-11")
def test_a_batch_before_the_brokers_time_is_refused_with_region_and_trace_switch(profile: str) -> None:
    stand = Stand(profile, start_accept_send_request_timestamp=2**45, region_id="R", trace_on=False)
    answer = stand.ask(batch_request())
    assert (answer.code, answer.ext_fields) == (SYSTEM_ERROR, {"MSG_REGION": "R", "TRACE_ON": "false"})


@every
@behaviour("CHK-01", "BAT-01")
def test_a_read_only_broker_refuses_batches_to_order_topics_by_its_address(profile: str) -> None:
    stand = Stand(profile, broker_permission=READ, broker_ip1="10.0.0.7")
    stand.topic(order=True)
    answer = stand.ask(batch_request())
    assert (answer.code, answer.remark) == (NO_PERMISSION, "the broker[10.0.0.7] sending message is forbidden")


@every
@behaviour("CHK-01", "BACK-04")
def test_a_read_only_broker_takes_sends_to_a_retry_topic_and_nothing_back(profile: str) -> None:
    stand = Stand(profile, broker_permission=READ)
    assert stand.send("%RETRY%G", max_reconsume_times=9).code == SUCCESS
    assert stand.send_back(max_reconsume_times=9).code == NO_PERMISSION


@later
@behaviour("CHK-03", "CHK-10")
def test_a_forbidden_topic_is_refused_before_its_queue_is_looked_at(profile: str) -> None:
    answer = Stand(profile).send(SCHEDULE, queue_id=99)
    assert (answer.code, answer.remark) == (NO_PERMISSION, f"Sending message to topic[{SCHEDULE}] is forbidden.")


@earlier
@behaviour("CHK-04", "INV-46")
def test_earlier_brokers_take_the_schedule_topic_and_make_it_like_any_other(profile: str) -> None:
    stand = Stand(profile)
    assert stand.send(SCHEDULE, queue_id=3).code == SUCCESS
    assert stand.broker.topics.table[SCHEDULE] == TopicConfig(SCHEDULE, 4, 4)
    assert stand.last().topic == SCHEDULE


@pytest.mark.parametrize("name", ["tbw102", "TBW102 ", "%RETRY%TBW102"])
@earlier
@behaviour("CHK-04")
def test_only_the_templates_exact_name_is_reserved(profile: str, name: str) -> None:
    assert Stand(profile).send(name, max_reconsume_times=1).code == SUCCESS


@earlier
@behaviour("CHK-04", "STO-01", "INV-09")
def test_a_long_name_is_made_first_and_refused_by_the_store(profile: str) -> None:
    stand = Stand(profile)
    answer = stand.send("x" * 128)
    assert (answer.code, answer.ext_fields) == (MESSAGE_ILLEGAL, EXTENDED)
    assert "x" * 128 in stand.known()


@pytest.mark.parametrize(
    ("name", "remark"), [("\u3000", "blank."), ("\x1c\x1f", "blank."), ("\u2007", "illegal characters"), ("\x85", "illegal")]
)
@later
@behaviour("CHK-02")
def test_blank_is_what_java_calls_whitespace(profile: str, name: str, remark: str) -> None:
    assert remark in str(Stand(profile).send(name).remark)


@every
@behaviour("CHK-10", "DLQ-04")
def test_the_queue_is_one_of_the_retry_topics_though_the_message_is_dead(profile: str) -> None:
    stand = Stand(profile)
    stand.topic("%RETRY%G", write=1, read=1)
    answer = stand.send("%RETRY%G", queue_id=1, reconsume_times=16, max_reconsume_times=16)
    assert str(answer.remark).startswith("request queueId[1] is illegal, TopicConfig [topicName=%RETRY%G, ")
    assert "%DLQ%G" not in stand.known()


@every
@behaviour("SEND-22", "SEND-23", "DLQ-02")
def test_the_queue_is_drawn_before_the_group_is_asked(profile: str) -> None:
    stand = Stand(profile, auto_create_subscription_group=False)
    stand.topic("%RETRY%G", write=0, read=4)
    assert thrown(stand.send("%RETRY%G", queue_id=-1), BY_ZERO)
    assert stand.send("%RETRY%G", queue_id=3).code == SUBSCRIPTION_GROUP_NOT_EXIST


@every
@behaviour("SEND-22", "TRX-03")
def test_the_queue_is_drawn_before_a_transaction_is_refused(profile: str) -> None:
    stand = Stand(profile, reject_transaction_message=True)
    stand.topic(write=0, read=1)
    assert thrown(stand.send(queue_id=-1, properties={"TRAN_MSG": "true"}), BY_ZERO)
    assert stand.send(properties={"TRAN_MSG": "true"}).code == NO_PERMISSION


@earlier
@behaviour("DLQ-02", "DLQ-03")
def test_a_missing_group_is_told_before_the_limit_that_is_not_given(profile: str) -> None:
    stand = Stand(profile, auto_create_subscription_group=False)
    assert stand.send("%RETRY%G").code == SUBSCRIPTION_GROUP_NOT_EXIST
    assert "%RETRY%G" in stand.known()


@earlier
@behaviour("DLQ-03", "HAZ-33")
def test_the_group_and_the_topic_are_made_before_the_limit_is_missed(profile: str) -> None:
    stand = Stand(profile)
    assert thrown(stand.send("%RETRY%G"), NULL_POINTER)
    assert "G" in stand.broker.groups.table
    assert "%RETRY%G" in stand.known()


@every
@behaviour("TRX-03", "DLQ-04", "HAZ-40")
def test_a_refused_transaction_leaves_a_dead_letter_topic(profile: str) -> None:
    stand = Stand(profile, reject_transaction_message=True)
    answer = stand.send("%RETRY%G", properties={"TRAN_MSG": "true"}, reconsume_times=3, max_reconsume_times=3)
    assert (answer.code, answer.ext_fields) == (NO_PERMISSION, EXTENDED)
    assert {"%RETRY%G", "%DLQ%G"} <= stand.known()
    assert stand.stored() == []


@behaviour("BAT-02", "SEND-22")
def test_the_earliest_broker_makes_the_retry_topic_of_a_batch_and_draws_its_queue_before_it_refuses() -> None:
    stand = Stand("P40")
    answer = stand.ask(batch_request("%RETRY%G"))
    assert (answer.code, answer.remark) == (MESSAGE_ILLEGAL, "batch request does not support retry group %RETRY%G")
    assert stand.broker.topics.table["%RETRY%G"].write_queue_nums == 4
    stand.topic("%RETRY%Z", write=0, read=1)
    assert thrown(stand.ask(batch_request("%RETRY%Z", queue_id=-1)), BY_ZERO)


@behaviour("BACK-04", "BACK-05", "BACK-03")
def test_what_is_asked_first_of_a_message_that_comes_back() -> None:
    """The group, the broker, the group's queues, the topic, and the message last."""
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


# Creation by a message


@every
@behaviour("CHK-06")
def test_unit_mode_marks_no_topic_that_is_there_and_a_dead_letter_topic_like_others(profile: str) -> None:
    stand = Stand(profile)
    stand.topic()
    stand.send(unit_mode=True)
    stand.send("%DLQ%G", unit_mode=True)
    assert [stand.broker.topics.table[name].topic_sys_flag for name in ("T", "%DLQ%G")] == [0, 1]


@every
@behaviour("CHK-08", "CHK-06", "TCM-13", "HAZ-02")
def test_a_retry_topic_takes_the_template_its_inheritance_before_it_is_made_without_one(profile: str) -> None:
    stand = Stand(profile)
    stand.settings.auto_create_topic_enable = False
    version = stand.broker.topics.data_version.counter
    stand.send("%RETRY%G", default_topic_queue_nums=8, unit_mode=True, max_reconsume_times=1)
    assert stand.broker.topics.table["TBW102"].perm == 6
    assert stand.broker.topics.table["%RETRY%G"] == TopicConfig("%RETRY%G", 1, 1, topic_sys_flag=2)
    assert stand.broker.topics.data_version.counter == version + 1


@pytest.mark.parametrize("given", [{"default_topic": "nosuch"}, {"topic": "K"}])
@every
@behaviour("TCM-13", "TCM-11")
def test_the_template_keeps_its_inheritance_if_nobody_asks_for_it(profile: str, given: dict[str, str]) -> None:
    stand = Stand(profile)
    stand.topic("K")
    stand.settings.auto_create_topic_enable = False
    stand.ask(send_request(**{"topic": "T", **given}))  # type: ignore[arg-type]
    assert stand.broker.topics.table["TBW102"].perm == 7


@every
@behaviour("HAZ-04", "TCM-14", "TCM-15")
def test_any_topic_with_inherit_is_a_template_and_gives_its_filter_type_alone(profile: str) -> None:
    stand = Stand(profile, auto_create_topic_enable=False)
    stand.topic("mother", write=2, read=9, perm=15, topic_filter_type=MULTI_TAG, topic_sys_flag=3, order=True)
    assert stand.send(default_topic="mother", queue_id=1).code == SUCCESS
    assert stand.broker.topics.table["T"] == TopicConfig("T", 2, 2, 14, MULTI_TAG)
    assert stand.last().sys_flag == MULTI_TAGS


@every
@behaviour("HAZ-16", "CHK-10", "INV-09")
def test_a_client_that_sees_more_queues_than_the_broker_makes_is_refused_with_the_new_topic(profile: str) -> None:
    stand = Stand(profile)
    stand.topic("TBW102", write=2, read=8, perm=7)
    answer = stand.send(queue_id=3, unit_mode=True)
    config = (
        "TopicConfig [topicName=T, readQueueNums=2, writeQueueNums=2, perm=RW-, topicFilterType=SINGLE_TAG, topicSysFlag=1, order=false]"
    )
    assert answer.remark == f"request queueId[3] is illegal, {config} Producer: 127.0.0.1:50001"


@pytest.mark.parametrize(("perm", "shown"), [(15, "RWX"), (8, "---"), (9, "--X"), (4, "R--")])
@behaviour("CHK-10")
def test_a_remark_shows_three_permissions_and_the_order(perm: int, shown: str) -> None:
    stand = Stand()
    stand.topic(perm=perm, order=True)
    remark = str(stand.send(queue_id=4).remark)
    assert f" perm={shown}, " in remark
    assert " order=true] Producer: " in remark


@every
@behaviour("CHK-09", "TCM-12")
def test_a_topic_that_cannot_be_made_is_named_with_the_address_of_help(profile: str) -> None:
    answer = Stand(profile).send(default_topic="nosuch")
    assert (answer.code, answer.ext_fields) == (TOPIC_NOT_EXIST, EXTENDED)
    assert str(answer.remark).startswith("topic[T] not exist, apply first please!\nSee ")


# Retry and dead letters


@pytest.mark.parametrize(("times", "limit", "topic"), [(None, 0, "%DLQ%G"), (0, -1, "%DLQ%G"), (None, 1, "%RETRY%G")])
@every
@behaviour("DLQ-04", "DLQ-03")
def test_times_that_are_not_given_are_none_and_a_limit_below_zero_is_one(profile: str, times: int | None, limit: int, topic: str) -> None:
    stand = Stand(profile)
    stand.send("%RETRY%G", reconsume_times=times, max_reconsume_times=limit)
    assert (stand.last().topic, stand.last().reconsume_times) == (topic, 0)


@every
@behaviour("DLQ-01", "DLQ-02")
def test_the_group_is_what_follows_the_prefix_even_if_that_is_nothing(profile: str) -> None:
    stand = Stand(profile)
    assert stand.send("%RETRY%", max_reconsume_times=0).code == SUCCESS
    assert stand.last().topic == "%DLQ%"
    assert "" in stand.broker.groups.table
    stand.send("x%RETRY%y", reconsume_times=99, max_reconsume_times=0)
    assert stand.last().topic == "x%RETRY%y"
    assert "y" not in stand.broker.groups.table


@every
@behaviour("DLQ-04", "TCM-20", "DLQ-05", "DLQ-06")
def test_a_dead_letter_topic_that_is_there_is_used_as_it_is(profile: str) -> None:
    stand = Stand(profile)
    dead = stand.topic("%DLQ%G", write=0, read=0, perm=0, topic_filter_type=MULTI_TAG)
    answer = stand.send("%RETRY%G", queue_id=3, sys_flag=1, reconsume_times=5, max_reconsume_times=5)
    assert (answer.code, fields_of(answer)["queueId"]) == (SUCCESS, "3")
    assert (stand.last().topic, stand.last().queue_id, stand.last().sys_flag) == ("%DLQ%G", 0, 1 | MULTI_TAGS)
    assert stand.broker.topics.table["%DLQ%G"] is dead


@behaviour("DLQ-02")
def test_groups_of_the_system_are_made_though_others_are_not() -> None:
    stand = Stand("P494", auto_create_subscription_group=False)
    assert stand.send("%RETRY%CID_RMQ_SYS_x").code == SUCCESS
    assert stand.send("%RETRY%CID_RMQ_SY").code == SUBSCRIPTION_GROUP_NOT_EXIST


# What is stored


@pytest.mark.parametrize(("wait", "code"), [("TRUE", SLAVE_NOT_AVAILABLE), ("yes", SUCCESS), ("1", SUCCESS), ("False", SUCCESS)])
@every
@behaviour("SEND-25", "FLU-02", "FLU-07")
def test_a_message_waits_if_it_says_true_in_any_case(profile: str, wait: str, code: int) -> None:
    assert Stand(profile, broker_role="SYNC_MASTER").send(properties={"WAIT": wait}).code == code


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ("A\x011\x02A\x012\x02CLUSTER\x01mine\x02", "A\x012\x02CLUSTER\x01DefaultCluster"),
        ("garbage\x02A\x01\x02\x01b\x02", "CLUSTER\x01DefaultCluster"),
        (None, "CLUSTER\x01DefaultCluster"),
    ],
)
@behaviour("SEND-25", "SEND-26", "SEND-27")
def test_earlier_brokers_store_what_they_do_not_understand_and_later_ones_their_own(given: str | None, stored: str) -> None:
    for profile in ALL_PROFILES:
        stand = Stand(profile)
        stand.send(properties=given)
        assert stand.last().properties_text == (stored if stand.profile.stores_parsed else given)


@pytest.mark.parametrize(("text", "refused"), [("TRAN_MSG\x01false\x02", True), ("TRAN_MSG\x01\x02", False), ("TRAN_MSG\x02", False)])
@behaviour("TRX-02", "SEND-26")
def test_the_earliest_broker_refuses_a_property_that_it_can_parse(text: str, refused: bool) -> None:
    answer = Stand("P40", reject_transaction_message=True).send(properties=text)
    assert answer.code == (NO_PERMISSION if refused else SUCCESS)


@pytest.mark.parametrize(("text", "half"), [("TRAN_MSG\x01true\x02TRAN_MSG\x01n\x02", False), ("TRAN_MSG\x01no\x02TRAN_MSG\x01true", True)])
@pytest.mark.parametrize("profile", ["P45", "P49", "P494"])
@behaviour("TRX-01", "SEND-26")
def test_the_last_of_two_equal_names_decides_about_a_transaction(profile: str, text: str, half: bool) -> None:
    stand = Stand(profile)
    stand.send(properties=text)
    assert (stand.last().topic == HALF_TOPIC) is half


@pytest.mark.parametrize("bits", [PREPARED, COMMIT, ROLLBACK])
@pytest.mark.parametrize("profile", ["P45", "P49", "P494"])
@behaviour("TRX-04", "DLQ-06")
def test_a_half_message_of_a_dead_one_knows_where_it_would_be_dead(profile: str, bits: int) -> None:
    stand = Stand(profile)
    answer = stand.send(
        "%RETRY%G", queue_id=2, sys_flag=bits | 1, properties={"TRAN_MSG": "true"}, reconsume_times=4, max_reconsume_times=4
    )
    half = stand.last()
    assert (half.topic, half.queue_id, half.sys_flag, fields_of(answer)["queueId"]) == (HALF_TOPIC, 0, 1, "2")
    assert (half.properties["REAL_TOPIC"], half.properties["REAL_QID"]) == ("%DLQ%G", "0")


@every
@behaviour("TRX-05", "APP-04", "APP-10", "HAZ-12")
def test_a_rolled_back_flag_without_the_property_is_a_success_that_no_queue_knows(profile: str) -> None:
    stand = Stand(profile, reject_transaction_message=True)
    stand.send(queue_id=1)
    answer = stand.send(queue_id=1, sys_flag=ROLLBACK)
    assert (answer.code, fields_of(answer)["queueOffset"], stand.last().sys_flag) == (SUCCESS, "0", ROLLBACK)
    assert stand.broker.store.topic_queue_table["T-1"] == 1
    stand.broker.store.dispatch()
    assert stand.broker.store.max_offset("T", 1) == 1


@earlier
@behaviour("SEND-03", "SEND-25", "HAZ-19")
def test_a_hook_gives_earlier_brokers_a_text_where_there_was_none(profile: str) -> None:
    stand = Stand(profile)
    seen: list[str | None] = []

    class Hook:
        def send_message_before(self, context: SendMessageContext) -> None:
            seen.append(context.msg_props)
            raise RuntimeError("hook")

        def send_message_after(self, context: SendMessageContext) -> None:
            seen.append(context.msg_id)

    stand.broker.hooks.send.append(Hook())
    stand.send(properties=None)
    assert seen == [None, stand.last().msg_id]
    assert stand.last().properties_text == properties_text(EXTENDED, trailing=True)


# Sizes and answers


@pytest.mark.parametrize(("size", "code"), [(500, SUCCESS), (501, MESSAGE_ILLEGAL)])
@behaviour("APP-06")
def test_the_recorded_broker_limits_the_body_and_not_the_record(size: int, code: int) -> None:
    assert Stand("P494", max_message_size=500).send(body=b"x" * size).code == code
    assert Stand("P49", max_message_size=500).send(body=b"x" * size).code == MESSAGE_ILLEGAL


@pytest.mark.parametrize(
    ("profile", "limits"), [("P49", "128k, msg properties length limit 32k."), ("P494", "500B, msg properties length limit 32KB.")]
)
@behaviour("SEND-41", "APP-06")
def test_only_the_recorded_broker_names_its_limit(profile: str, limits: str) -> None:
    remark = str(Stand(profile, max_message_size=500).send(body=b"x" * 501).remark)
    assert remark.endswith(f" msg body length limit {limits}")


@behaviour("APP-06", "HAZ-22", "CL-08")
def test_a_body_of_the_limit_is_lost_by_the_recorded_broker_where_files_are_small() -> None:
    stand = Stand("P494", mapped_file_size_commit_log=2**20)
    answer = stand.send(body=bytes(4 * 2**20))
    assert (answer.code, fields_of(answer)["msgId"]) == (SUCCESS, "7F00000100002A9F0000000000100000")
    assert stand.stored() == []
    assert stand.broker.statistics.topic_put_size["T"] == 2**20
    assert stand.broker.statistics.broker_put_nums == 1
    assert stand.send(body=bytes(4 * 2**20 + 1)).code == MESSAGE_ILLEGAL
    assert (stand.send().ext_fields or {})["queueOffset"] == "0"


@pytest.mark.parametrize(("profile", "served"), [("P45", False), ("P49", False), ("P494", True)])
@behaviour("BAT-04", "APP-06", "REM-08")
def test_the_records_of_a_batch_may_be_larger_than_the_limit_for_the_recorded_broker_alone(profile: str, served: bool) -> None:
    stand = Stand(profile, max_message_size=100)
    answer = stand.ask(batch_request(bodies=(b"x" * 28, b"x" * 28)))  # 100 bytes
    assert (answer.code == SUCCESS) if served else thrown(answer, "java.lang.RuntimeException: message size exceeded, ")
    assert len(stand.stored()) == (2 if served else 0)
    assert stand.ask(batch_request(bodies=(b"x" * 79,))).code == MESSAGE_ILLEGAL  # 101 bytes


@pytest.mark.parametrize(("profile", "cluster", "ids"), [("P45", 0, 2), ("P49", 22, 3)])
@behaviour("BAT-04", "HAZ-22", "APP-07")
def test_a_lost_batch_is_answered_with_the_places_of_what_would_have_fitted(profile: str, cluster: int, ids: int) -> None:
    """A file has room for two of the three messages; the third has place 0, or none."""
    size = 93 + cluster
    stand = Stand(profile, mapped_file_size_commit_log=2 * size + 14)
    answer = stand.ask(batch_request("T", (b"a", b"b", b"c")))
    start = stand.settings.mapped_file_size_commit_log
    places = [start, start + size, 0][:ids]
    assert fields_of(answer)["msgId"].split(",") == [f"7F00000100002A9F{place:016X}" for place in places]
    assert stand.stored() == []


@later
@behaviour("BAT-04")
def test_the_header_of_a_batch_has_the_properties_limit_to_itself(profile: str) -> None:
    stand = Stand(profile)
    answer = stand.ask(batch_request(properties="K\x01" + "v" * 32767))
    assert thrown(answer, "java.lang.RuntimeException: Properties size of messageExtBatch exceeded!, ")


@every
@behaviour("BAT-04", "CL-02")
def test_a_batch_with_a_level_that_is_no_number_is_an_exception_and_with_nought_is_stored(profile: str) -> None:
    stand = Stand(profile)
    assert thrown(stand.ask(batch_request(properties="DELAY\x01a\x02")), 'java.lang.NumberFormatException: For input string: "a", ')
    assert stand.ask(batch_request(properties="DELAY\x010\x02")).code == SUCCESS
    assert stand.ask(batch_request(properties="DELAY\x011\x02")).code == MESSAGE_ILLEGAL
    assert len(stand.stored()) == 2


@every
@behaviour("SEND-05", "BAT-03")
def test_a_batch_may_come_with_full_names(profile: str) -> None:
    stand = Stand(profile)
    request = batch_request()
    request.code, request.ext_fields = SEND_MESSAGE, encode_v1(HEADER) | {"batch": "TRUE"}
    answer = stand.ask(request)
    assert len(fields_of(answer)["msgId"].split(",")) == len(stand.stored()) == 2


@every
@behaviour("SEND-41", "SEND-44", "STO-04")
def test_a_full_disk_is_no_reason_to_throw_away_a_new_topic(profile: str) -> None:
    stand = Stand(profile)
    stand.broker.store.flags.bits = DISK_FULL
    answer = stand.send()
    assert (answer.code, answer.ext_fields) == (SERVICE_NOT_AVAILABLE, EXTENDED)
    assert "T" in stand.known()


# Messages that come back


@every
@behaviour("BACK-13", "BACK-12", "CL-02")
def test_the_growing_level_is_cut_at_the_last_one(profile: str) -> None:
    stand = Stand(profile)
    stand.send("%RETRY%G", reconsume_times=17, max_reconsume_times=99)
    assert stand.send_back(max_reconsume_times=99).code == SUCCESS
    found = stand.last()
    assert (found.topic, found.queue_id, found.properties["DELAY"], found.reconsume_times) == (SCHEDULE, 17, "18", 18)
    assert (found.properties["REAL_TOPIC"], found.properties["RETRY_TOPIC"]) == ("%RETRY%G", "%RETRY%G")
    stand.send_back(max_reconsume_times=17)
    assert (stand.last().topic, stand.last().reconsume_times) == ("%DLQ%G", 18)


@every
@behaviour("BACK-10", "BACK-16", "FLU-07")
def test_a_message_that_comes_back_waits_for_no_slave(profile: str) -> None:
    stand = Stand(profile, broker_role="SYNC_MASTER")
    assert stand.send(properties={"WAIT": "true", "RETRY_TOPIC": "first"}).code == SLAVE_NOT_AVAILABLE
    assert stand.send_back(max_reconsume_times=9, delay_level=-1).code == SUCCESS
    assert (stand.last().properties["WAIT"], stand.last().properties["RETRY_TOPIC"]) == ("false", "first")
    assert dict(stand.broker.statistics.send_back_nums) == {("G", "first"): 1}


@pytest.mark.parametrize("group", ["a b", "", "x" * 110])
@every
@behaviour("BACK-06", "BACK-07")
def test_no_group_has_a_name_that_is_too_strange_to_take_a_message_back(profile: str, group: str) -> None:
    stand = Stand(profile)
    stand.send()
    assert stand.send_back(group=group, max_reconsume_times=9).code == SUCCESS
    assert stand.last().properties["REAL_TOPIC"] == f"%RETRY%{group}"


@earlier
@behaviour("BACK-15", "HAZ-32")
def test_a_blank_first_id_counts_as_none(profile: str) -> None:
    stand = Stand(profile)
    stand.send(properties={"ORIGIN_MESSAGE_ID": "  "})
    stand.send_back(max_reconsume_times=9)
    first, found = stand.stored()
    assert found.properties["ORIGIN_MESSAGE_ID"] == first.msg_id


@every
@behaviour("BACK-16", "STO-02", "STO-01")
def test_a_store_that_refuses_is_named_in_the_answer_and_nothing_is_counted(profile: str) -> None:
    stand = Stand(profile)
    stand.send()
    stand.broker.store.shutdown = True
    answer = stand.send_back(max_reconsume_times=9)
    assert (answer.code, answer.remark, answer.ext_fields) == (SYSTEM_ERROR, "SERVICE_NOT_AVAILABLE", None)
    assert not stand.broker.statistics.send_back_nums


@every
@behaviour("BACK-16")
def test_a_lost_message_that_comes_back_is_a_success(profile: str) -> None:
    """The put is good whatever the append says (HAZ-22)."""
    stand = Stand(profile)
    stand.send()
    stand.put_gives(PutResult(PutMessageStatus.PUT_OK, AppendResult(AppendMessageStatus.END_OF_FILE)))
    assert stand.send_back(max_reconsume_times=9).code == SUCCESS


# Administration


@pytest.mark.parametrize(
    ("name", "remark"),
    [
        ("a b", "The specified topic contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$"),
        ("x" * 128, "The specified topic is longer than topic max length."),
        ("rmq_sys_x", "The topic[rmq_sys_x] is conflict with system topic."),
    ],
)
@behaviour("TCM-31")
def test_a_name_that_is_no_topics_is_not_deleted(name: str, remark: str) -> None:
    stand = Stand("P494")
    stand.topic(name)
    answer = stand.call(215, None, topic=name)
    assert (answer.code, answer.remark) == (SYSTEM_ERROR, remark)
    assert name in stand.known()


@behaviour("TCM-31")
def test_deleting_what_is_not_there_is_a_success_and_no_version() -> None:
    stand = Stand("P494")
    version = stand.broker.topics.data_version.counter
    assert stand.call(215, None, topic="T").code == SUCCESS
    assert stand.broker.topics.data_version.counter == version


@behaviour("TCM-33", "CHK-01", "NS-12")
def test_an_administrator_makes_no_order_topic() -> None:
    stand = Stand("P494")
    fields = {"topic": "T", "defaultTopic": "TBW102", "readQueueNums": 4, "writeQueueNums": 4, "perm": 6, "order": True}
    assert stand.call(17, None, topicFilterType="SINGLE_TAG", topicSysFlag=0, **fields).code == SUCCESS
    assert stand.call(25, b"brokerPermission=4").code == SUCCESS
    assert stand.send().code == SUCCESS


@behaviour("HAZ-02", "TCM-13")
def test_auto_creation_that_was_off_for_one_send_stays_off() -> None:
    stand = Stand("P494")
    stand.call(25, b"autoCreateTopicEnable=false")
    assert stand.broker.topics.table["TBW102"].perm == 7
    assert stand.send().code == TOPIC_NOT_EXIST
    stand.call(25, b"autoCreateTopicEnable=true")
    assert stand.send().code == TOPIC_NOT_EXIST


@behaviour("TRX-01", "TRX-05")
def test_transactions_can_be_refused_from_now_on() -> None:
    stand = Stand("P494")
    stand.call(25, b"# comment\nnosuch=1\nrejectTransactionMessage=TRUE\n")
    assert stand.send(properties={"TRAN_MSG": "true"}).code == NO_PERMISSION
    assert stand.send(sys_flag=PREPARED).code == SUCCESS
    assert stand.ask(batch_request(properties="TRAN_MSG\x01true\x02")).code == SUCCESS


@behaviour("BACK-06", "BACK-05")
def test_a_group_that_an_administrator_changes_is_asked_at_once() -> None:
    stand = Stand("P494")
    stand.send()
    stand.call(200, json.dumps({"groupName": "G", "retryQueueNums": 2}).encode())
    stand.random.feed(3)
    stand.send_back()
    assert stand.broker.topics.table["%RETRY%G"] == TopicConfig("%RETRY%G", 2, 2)
    assert stand.last().properties["REAL_QID"] == "1"
    stand.call(200, json.dumps({"groupName": "G", "retryQueueNums": 0}).encode())
    assert stand.send_back().code == SUCCESS
    assert len(stand.stored()) == 2


# Headers that are not complete


@pytest.mark.parametrize(
    ("missing", "known", "code", "start"),
    [
        ("a", True, SUCCESS, None),
        ("b", True, SYSTEM_ERROR, "The specified topic is blank."),
        ("c", True, SUCCESS, None),
        ("c", False, SYSTEM_ERROR, NULL_POINTER),
        ("d", True, SUCCESS, None),
        ("d", False, SYSTEM_ERROR, NULL_POINTER),
        ("e", True, SYSTEM_ERROR, NULL_POINTER),
        ("f", True, SYSTEM_ERROR, NULL_POINTER),
        ("g", True, SYSTEM_ERROR, NULL_POINTER),
        ("h", True, SYSTEM_ERROR, NULL_POINTER),
    ],
)
@behaviour("REM-04", "REM-08")
def test_the_recorded_broker_stumbles_over_a_missing_field_in_use(missing: str, known: bool, code: int, start: str | None) -> None:
    stand = Stand("P494")
    if known:
        stand.topic()
    request = send_request()
    del fields_of(request)[missing]
    answer = stand.ask(request)
    assert answer.code == code
    assert str(answer.remark).startswith(str(start))


@behaviour("REM-04", "CHK-10")
def test_a_topic_is_made_for_a_message_without_a_queue() -> None:
    stand = Stand("P494")
    fields = encode_v2(HEADER)
    del fields["e"]
    assert thrown(stand.ask(Command(310, fields)), NULL_POINTER)
    assert "T" in stand.known()


@behaviour("REM-04")
def test_a_number_that_is_none_is_told_with_short_names_only() -> None:
    stand = Stand("P494")
    assert thrown(stand.ask(Command(310, encode_v2(HEADER) | {"e": "x"})), 'java.lang.NumberFormatException: For input string: "x", ')
    assert thrown(stand.ask(Command(10, encode_v1(HEADER) | {"queueId": "x"})), NULL_POINTER)
    assert stand.ask(Command(10, encode_v1(HEADER) | {"reconsumeTimes": "x"})).code == SUCCESS


@pytest.mark.parametrize(("missing", "made"), [("group", False), ("offset", True), ("delayLevel", True)])
@behaviour("BACK-01", "REM-04")
def test_the_retry_topic_is_made_for_a_message_that_is_not_named(missing: str, made: bool) -> None:
    stand = Stand("P494")
    stand.send()
    fields = {"offset": "0", "group": "G", "delayLevel": "0"}
    del fields[missing]
    assert thrown(stand.ask(Command(36, fields)), NULL_POINTER)
    assert ("%RETRY%G" in stand.known()) is made
    assert len(stand.stored()) == 1


# The file


@pytest.mark.parametrize(("operation", "main", "left"), [("delete", True, False), ("rename", False, True)])
@behaviour("PER-02", "PER-03")
def test_whether_the_last_two_steps_worked_is_not_asked(operation: str, main: bool, left: bool, caplog: pytest.LogCaptureFixture) -> None:
    """A rename replaces a file that could not be deleted; without a rename the old table is in the backup alone."""
    bench = TableBench()
    bench.topics.update(TopicConfig("old"))
    with bench.failing(operation=operation):
        bench.topics.update(TopicConfig("new"))
    assert not caplog.records
    assert (bench.disk.read(MAIN) is not None, bench.disk.read(TEMPORARY) is not None) == (main, left)
    assert b'"new"' not in (bench.disk.read(BACKUP) or b"")
    again = bench.restarted()
    assert again.topics.load()
    assert ("new" in again.topics.table, "old" in again.topics.table) == (main, True)


@pytest.mark.parametrize(("content", "old"), [(b"null", False), (b"[]", True), (b"{", True)])
@behaviour("PER-03", "PER-04")
def test_a_file_that_says_nothing_is_not_a_broken_one(content: bytes, old: bool) -> None:
    bench = TableBench()
    bench.topics.update(TopicConfig("old"))
    bench.topics.update(TopicConfig("new"))
    bench.disk.write(MAIN, content)
    again = bench.restarted()
    assert again.topics.load()
    assert ("old" in again.topics.table) is old
