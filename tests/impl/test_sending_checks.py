"""What a send request has to pass, in its order, and that a refusal changes nothing before it."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from marks import behaviour, earlier, every, later
from sending import Stand, batch_request, send_request
from simulated import present

from rocketproof_impl.broker.checking import topic_sys_flag
from rocketproof_impl.remoting.command import Command
from rocketproof_impl.tasks import Pause
from rocketproof_protocol.codes import NO_PERMISSION, SUCCESS, SYSTEM_ERROR, TOPIC_NOT_EXIST
from rocketproof_protocol.flags import READ, WRITE

FAQ = "\nSee http://rocketmq.apache.org/docs/faq/ for further details."
ILLEGAL = "The specified topic contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$"


def refusal(answer: Command) -> tuple[int, str | None]:
    """Code and remark of a refusal, which carries region and trace switch and nothing else."""
    assert answer.ext_fields == {"MSG_REGION": "DefaultRegion", "TRACE_ON": "true"}
    return answer.code, answer.remark


def names_created(stand: Stand, request: Command) -> set[str]:
    """What a request adds to the topic table."""
    before = stand.known()
    stand.request(request)
    return stand.known() - before


# preSend


@every
@behaviour("SEND-11", "SEND-46", "M-13")
def test_each_answer_names_region_and_trace_switch(profile: str) -> None:
    stand = Stand(profile, region_id="R1", trace_on=False)
    expected = {"MSG_REGION": "R1", "TRACE_ON": "false"}
    good = present(stand.send().ext_fields)
    assert expected.items() <= good.items()
    bad = stand.send(queue_id=99)
    assert bad.code == SYSTEM_ERROR
    assert bad.ext_fields == expected


@behaviour("SEND-10", "INV-04")
def test_an_answer_has_the_opaque_of_its_request() -> None:
    stand = Stand()
    assert stand.send(opaque=4711).opaque == 4711
    assert stand.send(opaque=4712, queue_id=99).opaque == 4712


@pytest.mark.parametrize(("early", "code"), [(-1, SUCCESS), (0, SUCCESS), (1, SYSTEM_ERROR)])
@behaviour("SEND-12", "M-11")
def test_a_broker_serves_from_its_time_on(early: int, code: int) -> None:
    stand = Stand()
    stand.settings.start_accept_send_request_timestamp = stand.clock.now() + early
    assert stand.send().code == code


@behaviour("SEND-12", "INV-08", "M-12")
def test_before_its_time_a_broker_makes_no_topic_and_says_when() -> None:
    stand = Stand()
    starts = stand.clock.now() + 60_007
    stand.settings.start_accept_send_request_timestamp = starts
    answer = stand.send("new")
    local = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(starts // 1000))
    assert refusal(answer) == (SYSTEM_ERROR, f"broker unable to service, until {local},{starts % 1000:03d}")
    assert "new" not in stand.known()


@behaviour("SEND-13", "INV-05")
def test_no_answer_has_the_marker_as_its_code() -> None:
    stand = Stand()
    requests = [send_request(), send_request(queue_id=9), send_request("a b"), send_request(code=10), batch_request()]
    assert all(stand.ask(request).code >= 0 for request in requests)


# msgCheck


@pytest.mark.parametrize(("perm", "order", "code"), [(4, True, 16), (4, False, 0), (6, True, 0), (2, True, 0), (0, True, 16)])
@every
@behaviour("CHK-01", "M-08", "M-09")
def test_only_order_topics_are_refused_by_a_broker_that_may_not_write(profile: str, perm: int, order: bool, code: int) -> None:
    stand = Stand(profile, broker_permission=perm, broker_ip1="10.0.0.1")
    stand.topic(order=order)
    answer = stand.send()
    assert answer.code == code
    if code:
        assert refusal(answer) == (NO_PERMISSION, "the broker[10.0.0.1] sending message is forbidden")


@behaviour("CHK-01", "HAZ-06")
def test_a_read_only_broker_makes_an_unknown_topic_and_stores() -> None:
    stand = Stand(broker_permission=READ)
    assert stand.send("new").code == SUCCESS
    assert "new" in stand.known()
    assert stand.last().topic == "new"


@behaviour("CHK-01", "CHK-02", "M-10")
def test_the_broker_is_asked_before_the_name() -> None:
    stand = Stand(broker_permission=READ)
    stand.topic("a b", order=True)
    assert stand.send("a b").code == NO_PERMISSION


@pytest.mark.parametrize(
    ("name", "remark"),
    [
        ("", "The specified topic is blank."),
        (" \t", "The specified topic is blank."),
        ("a b", ILLEGAL),
        ("a.b", ILLEGAL),
        ("T\n", ILLEGAL),
        ("Té", ILLEGAL),
        ("中文", ILLEGAL),
        ("a$b", ILLEGAL),
        ("\xa0", ILLEGAL),
        ("x" * 128, "The specified topic is longer than topic max length."),
        (" " * 200, "The specified topic is blank."),
        ("." * 200, ILLEGAL),
    ],
)
@later
@behaviour("CHK-02", "INV-08", "M-14", "M-15", "M-16")
def test_a_name_is_refused_for_blank_then_characters_then_length(profile: str, name: str, remark: str) -> None:
    stand = Stand(profile)
    before = stand.known()
    assert refusal(stand.send(name)) == (SYSTEM_ERROR, remark)
    assert stand.known() == before


@pytest.mark.parametrize("name", ["x" * 127, "a%b|c_d-e9", "%RETRY%g", "BenchmarkTest"])
@later
@behaviour("CHK-02", "M-14")
def test_legal_names_are_served(profile: str, name: str) -> None:
    assert Stand(profile).send(name).code == SUCCESS


@earlier
@behaviour("CHK-04")
def test_earlier_brokers_look_at_no_characters(profile: str) -> None:
    stand = Stand(profile)
    assert stand.send("a b").code == SUCCESS
    assert stand.send("SCHEDULE_TOPIC_XXXX").code == SUCCESS


@earlier
@behaviour("CHK-04")
def test_earlier_brokers_refuse_the_template(profile: str) -> None:
    assert refusal(Stand(profile).send("TBW102")) == (SYSTEM_ERROR, "the topic[TBW102] is conflict with system reserved words.")


@later
@behaviour("CHK-03", "M-17", "M-18", "INV-46")
def test_later_brokers_refuse_the_schedule_topic_and_take_the_template(profile: str) -> None:
    stand = Stand(profile)
    remark = "Sending message to topic[SCHEDULE_TOPIC_XXXX] is forbidden."
    assert refusal(stand.send("SCHEDULE_TOPIC_XXXX")) == (NO_PERMISSION, remark)
    assert stand.send("TBW102").code == SUCCESS


@pytest.mark.parametrize(
    "name",
    ["RMQ_SYS_TRANS_HALF_TOPIC", "RMQ_SYS_TRANS_OP_HALF_TOPIC", "TRANS_CHECK_MAX_TIME_TOPIC", "SELF_TEST_TOPIC", "OFFSET_MOVED_EVENT"],
)
@behaviour("CHK-03", "HAZ-42")
def test_the_recorded_broker_refuses_five_more_system_topics(name: str) -> None:
    assert Stand("P494").send(name).code == NO_PERMISSION
    assert Stand("P49").send(name).code == SUCCESS


@behaviour("CHK-05")
def test_a_known_topic_needs_no_template() -> None:
    stand = Stand(auto_create_topic_enable=False)
    stand.topic()
    assert stand.send(default_topic="nosuch").code == SUCCESS


@pytest.mark.parametrize(("name", "unit", "flag"), [("T", False, 0), ("T", True, 1), ("%RETRY%g", True, 2), ("%RETRY%g", False, 0)])
@behaviour("CHK-06", "M-19", "M-32")
def test_unit_mode_marks_the_topic_it_creates(name: str, unit: bool, flag: int) -> None:
    stand = Stand()
    stand.send(name, unit_mode=unit)
    assert stand.broker.topics.table[name].topic_sys_flag == flag == topic_sys_flag(name, unit)


@every
@behaviour("CHK-07", "HAZ-41", "M-20")
def test_a_retry_topic_gets_the_templates_queues_where_it_may(profile: str) -> None:
    stand = Stand(profile)
    assert stand.send("%RETRY%g", queue_id=3, max_reconsume_times=16).code == SUCCESS
    config = stand.broker.topics.table["%RETRY%g"]
    assert (config.read_queue_nums, config.write_queue_nums, config.perm) == (4, 4, READ | WRITE)


@every
@behaviour("CHK-08", "M-22")
def test_a_retry_topic_without_a_template_gets_one_queue(profile: str) -> None:
    stand = Stand(profile, auto_create_topic_enable=False)
    stand.broker.groups.find("g").retry_queue_nums = 5  # type: ignore[union-attr]
    assert stand.send("%RETRY%g", unit_mode=True, max_reconsume_times=16).code == SUCCESS
    config = stand.broker.topics.table["%RETRY%g"]
    assert (config.read_queue_nums, config.write_queue_nums, config.perm, config.topic_sys_flag) == (1, 1, READ | WRITE, 2)


@every
@behaviour("CHK-08", "CHK-09", "INV-15", "M-21", "M-23")
def test_other_topics_without_a_template_do_not_exist(profile: str) -> None:
    stand = Stand(profile, auto_create_topic_enable=False)
    assert refusal(stand.send("new")) == (TOPIC_NOT_EXIST, f"topic[new] not exist, apply first please!{FAQ}")
    assert "new" not in stand.known()


@behaviour("CHK-09", "M-40")
def test_a_lock_that_is_not_got_is_reported_as_a_missing_topic() -> None:
    stand = Stand()
    stand.broker.topics.lock.held = True
    assert stand.send("new").code == TOPIC_NOT_EXIST


LIMITS = [
    (4, 8, 7, SUCCESS),  # write, read, queueId
    (4, 8, 8, SYSTEM_ERROR),
    (8, 4, 6, SUCCESS),
    (8, 4, 8, SYSTEM_ERROR),
    (4, 4, 3, SUCCESS),
    (4, 4, 4, SYSTEM_ERROR),
    (4, 4, 2**31 - 1, SYSTEM_ERROR),
    (0, 0, 0, SYSTEM_ERROR),
    (4, 4, -(2**31), SUCCESS),
    (4, 4, -1, SUCCESS),
]


@pytest.mark.parametrize(("write", "read", "queue_id", "code"), LIMITS)
@every
@behaviour("CHK-10", "INV-30", "INV-31", "INV-32", "HAZ-16", "SEND-22", "M-01", "M-02", "M-03", "M-04")
def test_a_queue_is_legal_below_the_larger_count(profile: str, write: int, read: int, queue_id: int, code: int) -> None:
    stand = Stand(profile)
    stand.topic(write=write, read=read)
    assert stand.send(queue_id=queue_id).code == code


@behaviour("CHK-10", "INV-09")
def test_an_illegal_queue_is_named_with_the_topic_that_was_made_for_it() -> None:
    stand = Stand()
    remark = (
        "request queueId[4] is illegal, TopicConfig [topicName=new, readQueueNums=4, writeQueueNums=4, perm=RW-, "
        "topicFilterType=SINGLE_TAG, topicSysFlag=0, order=false] Producer: 127.0.0.1:50001"
    )
    assert refusal(stand.send("new", queue_id=4)) == (SYSTEM_ERROR, remark)
    assert "new" in stand.known()


@pytest.mark.parametrize("perm", [0, 1, READ, WRITE])
@every
@behaviour("CHK-11", "INV-53")
def test_the_topics_own_permission_is_not_asked(profile: str, perm: int) -> None:
    stand = Stand(profile)
    stand.topic(perm=perm)
    assert stand.send().code == SUCCESS


@behaviour("HAZ-07", "CHK-10")
def test_a_topic_without_queues_takes_no_message() -> None:
    stand = Stand()
    assert stand.send("new", default_topic_queue_nums=0).code == SYSTEM_ERROR
    answer = stand.send("new", queue_id=-1)
    assert (answer.code, answer.ext_fields) == (SYSTEM_ERROR, None)
    assert answer.remark is not None
    assert answer.remark.startswith("java.lang.ArithmeticException: / by zero, ")


# Where other threads can come between


def pauses(stand: Stand, request: Command) -> list[str]:
    seen: list[str] = []

    def note(_: object, pause: Pause) -> bool:
        seen.append(pause.name)
        return False

    stand.scheduler.stops = note
    stand.request(request)
    return seen


CREATION = ["missing", "locked", "template", "inherit", "built", "put", "versioned", "persisted", "unlocked"]


@pytest.mark.parametrize("make", [send_request, batch_request])
@behaviour("CHK-05", "CHK-07")
def test_the_pauses_of_a_send(make: Callable[..., Command]) -> None:
    stand = Stand()
    assert pauses(stand, make("new")) == ["arrived", *CREATION, "checked", "append", "appends"]
    assert pauses(stand, make("new")) == ["arrived", "checked", "append", "appends"]
    assert pauses(stand, make("new", queue_id=99)) == ["arrived", "checked"]
    assert pauses(stand, make("a b")) == ["arrived"]


@behaviour("CHK-08", "CHK-09")
def test_the_pauses_where_creation_fails() -> None:
    stand = Stand(auto_create_topic_enable=False)
    assert pauses(stand, send_request("new")) == ["arrived", "missing", "locked", "template", "refused", "failed"]
    second = ["missing", "locked", "template", "built", "put", "versioned", "persisted", "unlocked"]
    expected = ["arrived", "missing", "locked", "template", "refused", "failed", *second, "checked", "append", "appends"]
    assert pauses(stand, send_request("%RETRY%g")) == expected
    stand.broker.topics.lock.held = True
    assert pauses(stand, send_request("%RETRY%h")) == ["arrived", "missing", "failed", "missing", "failed"]
