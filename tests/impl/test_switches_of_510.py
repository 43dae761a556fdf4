"""Where 5.1.0 and 5.0.0 differ from 5.1.1: refused messages, names in bytes, registrations."""

from __future__ import annotations

from dataclasses import replace

import pytest
from marks import behaviour
from sending import Stand
from simulated import fields_of

from rocketproof_impl.broker.registration import registered_table
from rocketproof_impl.nameserver import NameServer
from rocketproof_impl.registered import compressed, decompressed
from rocketproof_impl.simulator.cluster import Cluster
from rocketproof_impl.simulator.scheduler import SimulatedClock
from rocketproof_impl.topic import DataVersion, TopicConfig, table_to_data
from rocketproof_profiles import PROFILES
from rocketproof_properties.programs.vocabulary import plain
from rocketproof_protocol.codes import (
    HEART_BEAT,
    LITE_PULL_MESSAGE,
    MESSAGE_ILLEGAL,
    NO_PERMISSION,
    REQUEST_CODE_NOT_SUPPORTED,
    SERVICE_NOT_AVAILABLE,
    SUBSCRIPTION_GROUP_NOT_EXIST,
    SUCCESS,
    SYSTEM_ERROR,
)

TOO_MUCH = {"p": "v" * 40_000}


@pytest.mark.parametrize(("profile", "code"), [("P494", REQUEST_CODE_NOT_SUPPORTED), ("P500", SUCCESS), ("P533", SUCCESS)])
@behaviour("REM-05")
def test_lite_pulls_are_served_since_500(profile: str, code: int) -> None:
    """A consumer of 5.x that assigns itself queues got no message from a server of 4.x."""
    stand = Stand(profile)
    stand.send(queue_id=0, body=b"hello")
    stand.broker.store.dispatch()
    answer = stand.ask(replace(plain("pull", topic="T", queue=0), code=LITE_PULL_MESSAGE))
    assert answer.code == code and (b"hello" in (answer.body or b"")) == (code == SUCCESS)


@pytest.mark.parametrize(("profile", "offset"), [("P494", "1"), ("P511", "1"), ("P510", "2"), ("P500", "2")])
@behaviour("APP-03", "APP-06")
def test_a_refused_message_takes_an_offset(profile: str, offset: str) -> None:
    stand = Stand(profile)
    stand.send(queue_id=0)
    assert stand.send(queue_id=0, properties=TOO_MUCH).code == MESSAGE_ILLEGAL
    assert stand.send(queue_id=1, properties=TOO_MUCH | {"WAIT": "false"}, sys_flag=4).code == MESSAGE_ILLEGAL
    assert fields_of(stand.send(queue_id=0))["queueOffset"] == offset
    assert fields_of(stand.send(queue_id=1))["queueOffset"] == "0", "a prepared message has no offset"


@pytest.mark.parametrize(("profile", "offset"), [("P511", "0"), ("P510", "1")])
@behaviour("APP-03", "CL-08")
def test_message_that_fits_no_file_takes_an_offset(profile: str, offset: str) -> None:
    stand = Stand(profile, mapped_file_size_commit_log=1000)
    assert stand.send(queue_id=0, body=bytes(2000)).code == SUCCESS
    assert fields_of(stand.send(queue_id=0))["queueOffset"] == offset


@pytest.mark.parametrize(("size", "code"), [(40, SUCCESS), (41, SYSTEM_ERROR)])
@behaviour("STO-02", "BACK-16", "HAZ-49")
def test_store_limits_names_in_bytes(size: int, code: int) -> None:
    """%DLQ% has 5 bytes, and the group's characters have 3 bytes each except the first two."""
    stand = Stand("P510")
    stand.send(queue_id=0)
    assert stand.send_back(group="gg" + "値" * size, delay_level=-1, origin_topic="T").code == code
    assert Stand("P511").send_back(group="gg" + "値" * size, delay_level=-1).code == SUBSCRIPTION_GROUP_NOT_EXIST


@pytest.mark.parametrize(("profile", "known"), [("P533", True), ("P514", True), ("P511", False)])
@behaviour("REM-02")
def test_heartbeat_answer_announces_the_second_form_since_514(profile: str, known: bool) -> None:
    answer = Stand(profile).call(HEART_BEAT, b'{"clientID":"c"}')
    assert ("IS_SUPPORT_HEART_BEAT_V2" in (answer.ext_fields or {})) is known


@behaviour("NS-11", "HAZ-06")
def test_a_limited_broker_keeps_the_flag_of_a_topic() -> None:
    table = {"T": TopicConfig("T", perm=2, topic_sys_flag=3)}
    sent = registered_table(table, 4, flags=True)["T"]
    assert (sent.perm, sent.topic_sys_flag) == (4, 3)
    assert registered_table(table, 4)["T"].topic_sys_flag == 0
    said = {name: (one.masks_permission, one.masks_alone, one.registers_flag) for name, one in PROFILES.items()}
    assert said["P494"] == (False, False, False) and said["P514"] == (True, True, True)
    assert said["P510"] == said["P511"] == (True, False, True)


@pytest.mark.parametrize(("profile", "named", "code"), [("P510", "U", SUCCESS), ("P500", "U", SYSTEM_ERROR), ("P500", "T", SUCCESS)])
@behaviour("BACK-09")
def test_500_compares_a_send_backs_topic_with_the_record(profile: str, named: str, code: int) -> None:
    stand = Stand(profile)
    stand.send(queue_id=0)
    answer = stand.send_back(origin_topic=named, max_reconsume_times=16)
    assert answer.code == code
    assert code == SUCCESS or answer.remark == "look message by offset failed to check the topic name0"
    assert stand.send_back(max_reconsume_times=16).code == SUCCESS, "a send-back without a topic is not checked"


@pytest.mark.parametrize(("profile", "batch"), [("P500", False), ("P500", True)])
@behaviour("STO-02", "HAZ-24")
def test_a_message_without_a_body_is_refused_by_the_store(profile: str, batch: bool) -> None:
    answer = Stand(profile).send(body=None, batch=batch)
    assert (answer.code, fields_of(answer)["TRACE_ON"]) == (MESSAGE_ILLEGAL, "true")


@behaviour("NS-02")
def test_a_registration_has_to_end_with_its_mappings() -> None:
    body = {"topicConfigSerializeWrapper": table_to_data({}, DataVersion(0)), "filterServerList": list[str]()}
    assert decompressed(compressed(body))["filterServerList"] == []
    with pytest.raises(ValueError, match="ends too early"):
        decompressed(compressed(body), mappings=True)
    assert NameServer(SimulatedClock(), profile=PROFILES["P500"]).profile.wants_mappings
    assert PROFILES["P494+P500"].wants_mappings and not PROFILES["P500+P494"].wants_mappings


@pytest.mark.parametrize(("profile", "of_all", "alone"), [("P494", 4, 4), ("P511", 0, 4), ("P514", 0, 0)])
@behaviour("NS-11", "HAZ-06")
def test_read_only_broker_masks_registered_permissions_by_release(profile: str, of_all: int, alone: int) -> None:
    cluster = Cluster(profile=PROFILES[profile], broker_permission=4)
    broker, topic, seen = cluster.broker(), TopicConfig("W", perm=2), []
    for register in (broker.registration.register_periodically, lambda: broker.registration.register_updated(topic)):
        broker.topics.update(topic)  # a name server looks at a table of another version only
        cluster.scheduler.complete(register(), "registration")
        seen.append(cluster.name_server.topic_queue_table["W"][0].perm)
    assert seen == [of_all, alone]


@pytest.mark.parametrize(("profile", "alone", "behind"), [("P494", 2, 2), ("P511", 2, 0), ("P514", 0, 0)])
@behaviour("NS-11", "TCM-17")
def test_creation_registers_all_topics_up_to_5_1_1(profile: str, alone: int, behind: int) -> None:
    cluster = Cluster(profile=PROFILES[profile], broker_permission=2)
    registration, topics = cluster.broker().registration, cluster.broker().topics
    seen = []
    for topic, register in ((TopicConfig("R", perm=4), registration.register_updated), (TopicConfig("B"), registration.register_created)):
        topics.update(topic)
        cluster.scheduler.complete(register(topic), "registration")
        cluster.scheduler.settle()
        seen.append(cluster.name_server.topic_queue_table["R"][0].perm)
    assert seen == [alone, behind]


@pytest.mark.parametrize(("profile", "code"), [("P533", SUCCESS), ("P520", SUCCESS), ("P514", SYSTEM_ERROR), ("P510", SYSTEM_ERROR)])
@behaviour("TCM-31")
def test_names_under_which_topics_can_be_deleted(profile: str, code: int) -> None:
    stand = Stand(profile, timer_wheel_enable=True)
    assert [stand.call(215, topic=name).code for name in ("a b", "a" * 200, "a")] == [code, code, SUCCESS]


@pytest.mark.parametrize(("profile", "told"), [("P511", ["1", "3"]), ("P510", [None, "3"])])
def test_forbidden_pull_names_its_cause_since_511(profile: str, told: list[str | None]) -> None:
    found = []
    for permission, perm in ((2, 6), (6, 2)):
        stand = Stand(profile)
        stand.send("W")
        stand.broker.topics.table["W"].perm = perm
        stand.settings.broker_permission = permission
        asked = {"sysFlag": 0, "commitOffset": 0, "suspendTimeoutMillis": 0, "subVersion": 0, "subscription": "*"}
        answer = stand.call(11, consumerGroup="TOOLS_CONSUMER", topic="W", queueId=0, queueOffset=0, maxMsgNums=1, **asked)
        assert answer.code == NO_PERMISSION
        found.append((answer.ext_fields or {}).get("forbiddenType"))
    assert found == told


@pytest.mark.parametrize(("profile", "code"), [("P511", SYSTEM_ERROR), ("P510", SERVICE_NOT_AVAILABLE)])
@behaviour("SEND-41")
def test_timer_message_is_refused_without_a_wheel(profile: str, code: int) -> None:
    answer = Stand(profile, timer_wheel_enable=False).send(properties={"TIMER_DELAY_SEC": "100"})
    assert answer.code == code
    assert ("timerWheelEnable is false" in (answer.remark or "")) == (code == SYSTEM_ERROR)


@pytest.mark.parametrize(("profile", "code"), [("P510", SYSTEM_ERROR), ("P500", SUCCESS)])
@behaviour("BACK-12")
def test_dead_letter_without_a_topic_is_accepted_by_500(profile: str, code: int) -> None:
    stand = Stand(profile)
    stand.send(queue_id=0)
    assert stand.send_back(group="g", delay_level=-1).code == code
