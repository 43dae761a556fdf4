"""The checks of a send request in their order; a refusal changes only what an earlier check changed."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from marks import ALL_PROFILES, behaviour, every, later
from sending import Stand, batch_request, send_request
from simulated import fields_of

from nonempty import nonempty
from rocketproof_impl.broker.checking import topic_sys_flag
from rocketproof_impl.remoting.command import Command
from rocketproof_impl.tasks import Pause
from rocketproof_impl.topic import MULTI_TAG, TopicConfig
from rocketproof_protocol.codes import MESSAGE_ILLEGAL, NO_PERMISSION, SUBSCRIPTION_GROUP_NOT_EXIST, SUCCESS, SYSTEM_ERROR, TOPIC_NOT_EXIST
from rocketproof_protocol.flags import MULTI_TAGS, READ, WRITE
from rocketproof_protocol.topics import HALF_TOPIC, OP_HALF_TOPIC, SCHEDULE

EARLIER, LATER = ("P40", "P45"), ("P49", "P494")
EXTENDED = {"MSG_REGION": "DefaultRegion", "TRACE_ON": "true"}
ILLEGAL = "The specified topic contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$"
FORBIDDEN = "the broker[127.0.0.1] sending message is forbidden"
FAQ = "\nSee http://rocketmq.apache.org/docs/faq/ for further details."
MISSING = "topic[{}] not exist, apply first please!" + FAQ
READ_ONLY, WITHOUT_TEMPLATE = {"broker_permission": READ}, {"auto_create_topic_enable": False}
BY_ZERO = "java.lang.ArithmeticException: / by zero, ..."


@dataclass(frozen=True)
class Case:
    """One send to a broker with these settings and this topic T: its code, its remark (may end with dots), and the created topics."""

    code: int
    remark: str | None
    settings: dict[str, Any]
    topic: dict[str, Any] | None
    makes: str
    request: dict[str, Any] = field(default_factory=dict)


def case(
    sentence: str, shows: pytest.MarkDecorator, code: int = SUCCESS, remark: str | None = None, profiles: Sequence[str] = ALL_PROFILES,
    settings: dict[str, Any] | None = None, topic: dict[str, Any] | None = None, makes: str = "", **request: Any,
) -> list[Any]:  # fmt: skip
    made = Case(code, remark, settings or {}, topic, makes, request)
    return [pytest.param(profile, made, id=f"{sentence}-{profile}", marks=shows) for profile in profiles]


CASES = [
    case("a broker that may not write takes messages to a topic without order", behaviour("CHK-01"), settings=READ_ONLY, topic={}),
    case("a broker that may not write makes an unknown topic", behaviour("CHK-01", "HAZ-06"), settings=READ_ONLY, makes="T"),
    case(
        "a broker that may not write takes messages to a retry topic", behaviour("CHK-01", "BACK-04"),
        settings=READ_ONLY, name="%RETRY%G", max_reconsume_times=9, makes="%RETRY%G",
    ),
    case(
        "the broker is asked before the name", behaviour("CHK-01", "CHK-02", "M-10"), code=NO_PERMISSION, remark=FORBIDDEN,
        settings=READ_ONLY, topic={"name": "a b", "order": True}, name="a b",
    ),
    case(
        "a broker that may not write looks a missing name up", behaviour("CHK-01"), code=SYSTEM_ERROR,
        remark="java.lang.NullPointerException...", profiles=("P494",), settings=READ_ONLY, name=None,
    ),
    case(
        "the broker that may write calls it blank", behaviour("CHK-02"), code=SYSTEM_ERROR, remark="The specified topic is blank.",
        profiles=("P494",), name=None,
    ),
    case(
        "a long name is made first and refused by the store", behaviour("CHK-04", "STO-01", "INV-09"),
        profiles=EARLIER, code=MESSAGE_ILLEGAL, remark="the message is illegal, ...", name="x" * 128, makes="x" * 128,
    ),
    case("earlier brokers look at no characters", behaviour("CHK-04"), profiles=EARLIER, name="a b", makes="a b"),
    case(
        "earlier brokers refuse the template by its name", behaviour("CHK-04"),
        profiles=EARLIER, code=SYSTEM_ERROR, remark="the topic[TBW102] is conflict with system reserved words.", name="TBW102",
    ),
    *(
        case("other spellings of it are not reserved", behaviour("CHK-04"), profiles=EARLIER, name=name, max_reconsume_times=1, makes=name)
        for name in ("tbw102", "TBW102 ", "%RETRY%TBW102")
    ),
    case("later brokers take the template", behaviour("CHK-03", "M-18"), profiles=LATER, name="TBW102"),
    case(
        "a forbidden topic is refused before its queue is looked at", behaviour("CHK-03", "CHK-10", "M-17", "INV-46"),
        profiles=LATER, code=NO_PERMISSION, remark=f"Sending message to topic[{SCHEDULE}] is forbidden.", name=SCHEDULE, queue_id=99,
    ),
    *(
        case(
            "the recorded broker refuses five more system topics", behaviour("CHK-03", "HAZ-42"),
            profiles=("P494",), code=NO_PERMISSION, remark=f"Sending message to topic[{name}] is forbidden.", name=name,
        )
        for name in (HALF_TOPIC, OP_HALF_TOPIC, "TRANS_CHECK_MAX_TIME_TOPIC", "SELF_TEST_TOPIC", "OFFSET_MOVED_EVENT")
    ),
    *(
        case("the release before takes system topics", behaviour("CHK-03", "HAZ-42"), profiles=("P49",), name=name, makes=makes)
        for name, makes in ((HALF_TOPIC, HALF_TOPIC), ("SELF_TEST_TOPIC", ""), ("OFFSET_MOVED_EVENT", ""))
    ),
    case("a known topic needs no template", behaviour("CHK-05"), settings=WITHOUT_TEMPLATE, topic={}, default_topic="nosuch"),
    case(
        "a topic without a template does not exist", behaviour("CHK-08", "CHK-09", "INV-15", "M-21", "M-23"),
        code=TOPIC_NOT_EXIST, remark=MISSING.format("new"), settings=WITHOUT_TEMPLATE, name="new",
    ),
    case(
        "a topic of an unknown template does not exist", behaviour("CHK-09", "TCM-12"),
        code=TOPIC_NOT_EXIST, remark=MISSING.format("T"), default_topic="nosuch",
    ),
    case(
        "an illegal queue is named with the topic that was made for it", behaviour("CHK-10", "INV-09"), code=SYSTEM_ERROR,
        remark="request queueId[4] is illegal, TopicConfig [topicName=T, readQueueNums=4, writeQueueNums=4, perm=RW-, "
        "topicFilterType=SINGLE_TAG, topicSysFlag=1, order=false] Producer: 127.0.0.1:50001",
        queue_id=4, unit_mode=True, makes="T",
    ),
    case(
        "a client that sees more queues than the broker makes is refused", behaviour("HAZ-16", "CHK-10", "INV-09"), code=SYSTEM_ERROR,
        remark="request queueId[3] is illegal, TopicConfig [topicName=T, readQueueNums=2, writeQueueNums=2, ...",
        topic={"name": "TBW102", "write": 2, "read": 8, "perm": 7}, queue_id=3, makes="T",
    ),
    *(
        case(
            "a remark shows three permissions and the order", behaviour("CHK-10"), code=SYSTEM_ERROR,
            remark="request queueId[4] is illegal, TopicConfig [topicName=T, readQueueNums=4, writeQueueNums=4, "
            f"perm={shown}, topicFilterType=SINGLE_TAG, topicSysFlag=0, order=true] Producer: ...",
            topic={"perm": perm, "order": True}, queue_id=4,
        )
        for perm, shown in ((15, "RWX"), (8, "---"), (9, "--X"), (4, "R--"))
    ),
    *(case("the topic's own permission is not asked", behaviour("CHK-11", "INV-53"), topic={"perm": perm}) for perm in (0, 1, READ, WRITE)),
    *(
        case(
            "a topic without queues takes no message", behaviour("HAZ-07", "CHK-10"),
            code=SYSTEM_ERROR, remark=remark, queue_id=queue_id, default_topic_queue_nums=0, makes="T",
        )
        for queue_id, remark in ((0, "request queueId[0] is illegal, ..."), (-1, BY_ZERO))
    ),
    case(
        "the queue is one of the retry topic's though the message is dead", behaviour("CHK-10", "DLQ-04"), code=SYSTEM_ERROR,
        remark="request queueId[1] is illegal, TopicConfig [topicName=%RETRY%G, ...",
        topic={"name": "%RETRY%G", "write": 1, "read": 1}, name="%RETRY%G", queue_id=1, reconsume_times=16, max_reconsume_times=16,
    ),
    case(
        "the queue is drawn before the group is asked", behaviour("SEND-22", "SEND-23", "DLQ-02"), code=SYSTEM_ERROR, remark=BY_ZERO,
        settings={"auto_create_subscription_group": False}, topic={"name": "%RETRY%G", "write": 0}, name="%RETRY%G", queue_id=-1,
    ),
    case(
        "a group that may not be made is reported before the limit that is missing", behaviour("DLQ-02", "DLQ-03", "SEND-23"),
        code=SUBSCRIPTION_GROUP_NOT_EXIST, remark=f"subscription group not exist, G {FAQ}",
        settings={"auto_create_subscription_group": False}, name="%RETRY%G", queue_id=3, makes="%RETRY%G",
    ),
    case(
        "the queue is drawn before a transaction is refused", behaviour("SEND-22", "TRX-03"), code=SYSTEM_ERROR, remark=BY_ZERO,
        settings={"reject_transaction_message": True}, topic={"write": 0, "read": 1}, queue_id=-1, properties={"TRAN_MSG": "true"},
    ),
]  # fmt: skip


@pytest.mark.parametrize(("profile", "case"), [each for group in CASES for each in group])
def test_a_send_is_checked(profile: str, case: Case) -> None:
    stand = Stand(profile, **case.settings)
    if case.topic is not None:
        stand.topic(**case.topic)
    known, request = stand.known(), dict(case.request)
    answer = stand.send(request.pop("name", "T"), **request)
    remark = str(answer.remark)
    assert answer.code == case.code
    assert remark.startswith(case.remark[:-3]) if case.remark and case.remark.endswith("...") else answer.remark == case.remark
    if answer.code != SUCCESS:
        assert answer.ext_fields == (None if remark.startswith("java.lang.") else EXTENDED)
    assert stand.known() - known == ({case.makes} if case.makes else set())
    assert len(stand.stored()) == (answer.code == SUCCESS)


# preSend


@every
@behaviour("SEND-11", "SEND-46", "M-13")
def test_each_answer_names_region_and_trace_switch(profile: str) -> None:
    stand = Stand(profile, region_id="R1", trace_on=False)
    expected = {"MSG_REGION": "R1", "TRACE_ON": "false"}
    assert expected.items() <= fields_of(stand.send()).items()
    bad = stand.send(queue_id=99)
    assert (bad.code, bad.ext_fields) == (SYSTEM_ERROR, expected)


@behaviour("SEND-10", "INV-04", "SEND-13", "INV-05")
def test_answer_has_its_requests_opaque_and_no_marker_code() -> None:
    stand = Stand()
    requests = [send_request(), send_request(queue_id=9), send_request("a b"), send_request(code=10), batch_request()]
    for opaque, request in nonempty(enumerate(requests, 4711)):
        request.opaque = opaque
        answer = stand.ask(request)
        assert answer.opaque == opaque
        assert answer.code >= 0


@pytest.mark.parametrize(("early", "code"), [(-1, SUCCESS), (0, SUCCESS), (1, SYSTEM_ERROR)])
@behaviour("SEND-12", "M-11")
def test_broker_accepts_sends_from_its_start_time_on(early: int, code: int) -> None:
    stand = Stand()
    stand.settings.start_accept_send_request_timestamp = stand.clock.now() + early
    assert stand.send().code == code


@every
@behaviour("SEND-12", "INV-08", "M-12", "BAT-01", "SEND-11", "REM-08")
def test_before_its_start_time_a_broker_creates_no_topic(profile: str) -> None:
    stand = Stand(profile, region_id="R", trace_on=False)
    starts = stand.clock.now() + 60_007
    stand.settings.start_accept_send_request_timestamp = starts
    local = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(starts // 1000))
    for request in (send_request("new"), batch_request("new")):
        answer = stand.ask(request)
        assert (answer.code, answer.remark) == (SYSTEM_ERROR, f"broker unable to service, until {local},{starts % 1000:03d}")
        assert answer.ext_fields == {"MSG_REGION": "R", "TRACE_ON": "false"}
    starts += 20_000  # both requests took their time
    stand.settings.start_accept_send_request_timestamp = starts
    assert stand.request(send_request("new", one_way=True)) is None
    assert (stand.stored(), "new" in stand.known()) == ([], False)


# msgCheck


@pytest.mark.parametrize("make", [send_request, batch_request])
@pytest.mark.parametrize(("perm", "order", "code"), [(4, True, 16), (4, False, 0), (6, True, 0), (2, True, 0), (0, True, 16)])
@every
@behaviour("CHK-01", "BAT-01", "M-08", "M-09")
def test_read_only_broker_refuses_only_order_topics(profile: str, perm: int, order: bool, code: int, make: Callable[[], Command]) -> None:
    stand = Stand(profile, broker_permission=perm, broker_ip1="10.0.0.1")
    stand.topic(order=order)
    answer = stand.ask(make())
    assert answer.code == code
    if code:
        assert (answer.remark, answer.ext_fields) == ("the broker[10.0.0.1] sending message is forbidden", EXTENDED)


@pytest.fixture
def stand(profile: str) -> Stand:
    return Stand(profile)


@pytest.mark.parametrize(
    ("name", "remark"),
    [
        *((blank, "The specified topic is blank.") for blank in ("", " \t", "\u3000", "\x1c\x1f", " " * 200)),  # whitespace for Java
        *((name, ILLEGAL) for name in ("a b", "a.b", "T\n", "Té", "中文", "a$b", "\xa0", "\u2007", "\x85", "." * 200)),
        ("x" * 128, "The specified topic is longer than topic max length."),
    ],
)
@later
@behaviour("CHK-02", "INV-08", "M-14", "M-15", "M-16")
def test_name_checks_are_blank_then_characters_then_length(stand: Stand, name: str, remark: str) -> None:
    before = stand.known()
    answer = stand.send(name)
    assert (answer.code, answer.remark, answer.ext_fields) == (SYSTEM_ERROR, remark, EXTENDED)
    assert stand.known() == before


@pytest.mark.parametrize("name", ["x" * 127, "a%b|c_d-e9", "%RETRY%g", "BenchmarkTest"])
@later
@behaviour("CHK-02", "M-14")
def test_legal_names_are_served(profile: str, name: str) -> None:
    assert Stand(profile).send(name).code == SUCCESS


@pytest.mark.parametrize("profile", EARLIER)
@behaviour("CHK-04", "INV-46")
def test_earlier_brokers_create_the_schedule_topic_like_any_other(stand: Stand) -> None:
    assert stand.send(SCHEDULE, queue_id=3).code == SUCCESS
    assert stand.broker.topics.table[SCHEDULE] == TopicConfig(SCHEDULE, 4, 4)
    assert stand.last().topic == SCHEDULE


# Topics that a send makes


@pytest.mark.parametrize(
    ("name", "unit", "flag"), [("T", False, 0), ("T", True, 1), ("%RETRY%g", True, 2), ("%RETRY%g", False, 0), ("%DLQ%g", True, 1)]
)
@every
@behaviour("CHK-06", "M-19", "M-32")
def test_unit_mode_marks_only_the_created_topic(stand: Stand, name: str, unit: bool, flag: int) -> None:
    stand.topic("there")
    for each in (name, "there"):
        stand.send(each, unit_mode=unit, max_reconsume_times=1)
    assert stand.broker.topics.table[name].topic_sys_flag == flag == topic_sys_flag(name, unit)
    assert stand.broker.topics.table["there"].topic_sys_flag == 0


@every
@behaviour("CHK-07", "HAZ-41", "M-20")
def test_retry_topic_gets_the_templates_queues_if_allowed(stand: Stand) -> None:
    assert stand.send("%RETRY%g", queue_id=3, max_reconsume_times=16).code == SUCCESS
    assert stand.broker.topics.table["%RETRY%g"] == TopicConfig("%RETRY%g", 4, 4)


@every
@behaviour("CHK-08", "M-22", "CHK-06", "TCM-13", "HAZ-02")
def test_retry_topic_without_template_gets_one_queue(stand: Stand) -> None:
    group = stand.broker.groups.find("g")
    assert group is not None
    group.retry_queue_nums = 5
    stand.settings.auto_create_topic_enable = False
    version = stand.broker.topics.data_version.counter
    assert stand.send("%RETRY%g", default_topic_queue_nums=8, unit_mode=True, max_reconsume_times=16).code == SUCCESS
    assert stand.broker.topics.table["%RETRY%g"] == TopicConfig("%RETRY%g", 1, 1, topic_sys_flag=2)
    assert stand.broker.topics.table["TBW102"].perm == 6
    assert stand.broker.topics.data_version.counter == version + 1


@pytest.mark.parametrize("request_", [{"default_topic": "nosuch"}, {"topic": "K"}])
@every
@behaviour("TCM-13", "TCM-11")
def test_unused_template_keeps_its_inheritance(stand: Stand, request_: dict[str, Any]) -> None:
    stand.topic("K")
    stand.settings.auto_create_topic_enable = False
    stand.send(**request_)
    assert stand.broker.topics.table["TBW102"].perm == 7


@every
@behaviour("HAZ-04", "TCM-14", "TCM-15")
def test_topic_with_inherit_is_a_template_for_filter_type_only(profile: str) -> None:
    stand = Stand(profile, auto_create_topic_enable=False)
    stand.topic("mother", write=2, read=9, perm=15, topic_filter_type=MULTI_TAG, topic_sys_flag=3, order=True)
    assert stand.send(default_topic="mother", queue_id=1).code == SUCCESS
    assert stand.broker.topics.table["T"] == TopicConfig("T", 2, 2, 14, MULTI_TAG)
    assert stand.last().sys_flag == MULTI_TAGS


@behaviour("CHK-09", "M-40")
def test_lock_timeout_is_reported_as_a_missing_topic() -> None:
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
def test_queue_id_is_legal_below_larger_count(stand: Stand, write: int, read: int, queue_id: int, code: int) -> None:
    stand.topic(write=write, read=read)
    assert stand.send(queue_id=queue_id).code == code


# Pauses at which other threads can run


def pauses(stand: Stand, request: Command) -> list[str]:
    seen: list[str] = []

    def note(_: object, pause: Pause) -> bool:
        seen.append(pause.name)
        return False

    stand.scheduler.stops = note
    stand.request(request)
    return seen


CREATION = ["missing", "locked", "template", "inherit", "built", "put", "versioned", "persisted", "unlocked", "registration wanted"]


@pytest.mark.parametrize("make", [send_request, batch_request])
@behaviour("CHK-05", "CHK-07")
def test_pauses_of_a_send(make: Callable[..., Command]) -> None:
    stand = Stand()
    assert pauses(stand, make("new")) == ["arrived", *CREATION, "checked", "append", "appends"]
    assert pauses(stand, make("new")) == ["arrived", "checked", "append", "appends"]
    assert pauses(stand, make("new", queue_id=99)) == ["arrived", "checked"]
    assert pauses(stand, make("a b")) == ["arrived"]


@behaviour("CHK-08", "CHK-09")
def test_pauses_of_a_failed_creation() -> None:
    stand = Stand(auto_create_topic_enable=False)
    assert pauses(stand, send_request("new")) == ["arrived", "missing", "locked", "template", "refused", "failed"]
    second = ["missing", "locked", "template", "built", "put", "versioned", "persisted", "unlocked", "registration wanted"]
    expected = ["arrived", "missing", "locked", "template", "refused", "failed", *second, "checked", "append", "placed", "appends"]
    assert pauses(stand, send_request("%RETRY%g")) == expected
    stand.broker.topics.lock.held = True
    assert pauses(stand, send_request("%RETRY%h")) == ["arrived", "missing", "failed", "missing", "failed"]


@pytest.mark.parametrize("profile", ["P430", "P432"])
@pytest.mark.parametrize(("named", "makes"), [("TBW102", "P432"), ("AUTO_CREATE_TOPIC_KEY", "P430")])
@behaviour("TCM-03", "TCM-13", "CHK-04")
def test_4_3_0_creates_topics_from_a_differently_named_template(stand: Stand, profile: str, named: str, makes: str) -> None:
    assert (named in stand.broker.topics.table) == (profile == makes)
    assert stand.send(default_topic=named).code == (SUCCESS if profile == makes else TOPIC_NOT_EXIST)
    assert (stand.send(named, default_topic="nowhere").code == SYSTEM_ERROR) == (profile == makes)


@behaviour("TCM-13", "HAZ-02")
def test_template_of_4_3_0_loses_its_inheritance() -> None:
    stand = Stand("P430")
    stand.settings.auto_create_topic_enable = False
    assert stand.send(default_topic="AUTO_CREATE_TOPIC_KEY").code == TOPIC_NOT_EXIST
    assert stand.broker.topics.table["AUTO_CREATE_TOPIC_KEY"].perm == 6
