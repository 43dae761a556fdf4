"""The check of transactional sends, half messages, commit and rollback."""

from __future__ import annotations

import functools
from typing import Any

import pytest
from marks import behaviour, every
from sending import Stand, send_request
from simulated import fields_of, present
from storing import real_messages

from rocketproof_impl.broker.broker import Broker
from rocketproof_impl.broker.operations import INTERVAL_MILLIS, GatheredOperations
from rocketproof_impl.broker.transaction import committed, operation
from rocketproof_impl.message import Message, parse_properties
from rocketproof_impl.periodic import drive
from rocketproof_impl.remoting.command import NOT_SET, Command
from rocketproof_impl.remoting.headers import EndTransactionRequestHeader
from rocketproof_impl.store.result import PutMessageStatus, PutResult
from rocketproof_profiles import PROFILES
from rocketproof_protocol.codes import END_TRANSACTION, NO_PERMISSION, SUCCESS, SYSTEM_ERROR
from rocketproof_protocol.flags import COMMIT, NOT, PREPARED, ROLLBACK
from rocketproof_protocol.topics import HALF_TOPIC, OP_HALF_TOPIC

with_half = pytest.mark.parametrize("profile", ["P45", "P49", "P494"])
REMARK = "the broker[127.0.0.1] sending transaction message is forbidden"
VALUES = [("true", True), ("TRUE", True), ("True", True), ("false", False), ("1", False), ("yes", False), (" true", False)]


# The check of transactional sends


@pytest.mark.parametrize(("value", "half"), VALUES)
@with_half
@behaviour("TRX-01", "M-73")
def test_only_true_prepares_a_message_or_is_refused(profile: str, value: str, half: bool) -> None:
    stand = Stand(profile)
    assert stand.send(properties={"TRAN_MSG": value}).code == SUCCESS
    assert stand.last().topic == (HALF_TOPIC if half else "T")
    stand.settings.reject_transaction_message = True
    answer = stand.send(properties={"TRAN_MSG": value})
    assert (answer.code, answer.remark) == ((NO_PERMISSION, REMARK) if half else (SUCCESS, None))
    assert len(stand.stored()) == (1 if half else 2)


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        *((f"TRAN_MSG\x01{value}\x02", True) for value in ("true", "false", "x")),
        *((unparsed, False) for unparsed in ("TRAN_MSG\x01\x02", "TRAN_MSG\x02", "")),
    ],
)
@behaviour("TRX-02", "SEND-26")
def test_earliest_broker_refuses_any_parsable_transaction_property(text: str, refused: bool) -> None:
    answer = Stand("P40", reject_transaction_message=True).send(properties=text)
    assert (answer.code, answer.remark) == ((NO_PERMISSION, REMARK) if refused else (SUCCESS, None))


@pytest.mark.parametrize("profile", ["P40", "P420"])
@behaviour("TRX-02")
def test_the_earliest_broker_knows_no_half_messages(profile: str) -> None:
    stand = Stand(profile)
    stand.send(properties={"TRAN_MSG": "true"}, sys_flag=PREPARED, queue_id=2)
    message = stand.last()
    assert (message.topic, message.queue_id, message.sys_flag) == ("T", 2, PREPARED)
    answer = stand.call(END_TRANSACTION)
    assert answer.code == 3


@every
@behaviour("TRX-03", "HAZ-40", "INV-09", "M-74", "DLQ-04")
def test_refused_message_still_creates_its_topics(profile: str) -> None:
    stand = Stand(profile, reject_transaction_message=True)
    assert stand.send("new", properties={"TRAN_MSG": "true"}).code == NO_PERMISSION
    assert stand.send("new", properties={"TRAN_MSG": "true"}, queue_id=99).code == SYSTEM_ERROR
    assert stand.send("%RETRY%G", properties={"TRAN_MSG": "true"}, reconsume_times=3, max_reconsume_times=3).code == NO_PERMISSION
    assert {"new", "%RETRY%G", "%DLQ%G"} <= stand.known()
    assert stand.stored() == []


@with_half
@behaviour("TRX-04", "INV-36", "M-75")
def test_a_half_message_waits_in_the_half_topic(profile: str) -> None:
    stand = Stand(profile)
    for flag in (PREPARED, COMMIT):
        stand.send(properties={"TRAN_MSG": "true"}, sys_flag=flag)
    answer = stand.send(properties={"TRAN_MSG": "true", "WAIT": "false"}, sys_flag=ROLLBACK | 1, queue_id=2)
    message = stand.last()
    assert (message.topic, message.queue_id, message.sys_flag, message.queue_offset) == (HALF_TOPIC, 0, NOT | 1, 2)
    assert (message.properties["REAL_TOPIC"], message.properties["REAL_QID"], message.properties["WAIT"]) == ("T", "2", "false")
    assert (fields_of(answer)["queueId"], fields_of(answer)["queueOffset"]) == ("2", "2")
    stand.broker.store.dispatch()
    assert stand.broker.store.max_offset(HALF_TOPIC, 0) == 3


@pytest.mark.parametrize("flag", [PREPARED, ROLLBACK])
@every
@behaviour("TRX-05", "APP-04", "APP-10", "HAZ-12")
def test_flag_without_the_property_stores_an_unqueued_message(profile: str, flag: int) -> None:
    stand = Stand(profile, reject_transaction_message=True)
    stand.send(queue_id=1)
    answer = stand.send(queue_id=1, sys_flag=flag)
    assert (answer.code, fields_of(answer)["queueOffset"]) == (SUCCESS, "0")
    assert (stand.last().topic, stand.last().sys_flag) == ("T", flag)
    assert stand.broker.store.topic_queue_table["T-1"] == 1
    stand.broker.store.dispatch()
    assert stand.broker.store.max_offset("T", 1) == 1


@with_half
@behaviour("HAZ-39", "TRX-04", "INV-45")
def test_delayed_half_message_loses_its_topic(profile: str) -> None:
    stand = Stand(profile)
    stand.send(properties={"TRAN_MSG": "true", "DELAY": "2"})
    message = stand.last()
    assert (message.topic, message.properties["REAL_TOPIC"]) == ("SCHEDULE_TOPIC_XXXX", HALF_TOPIC)
    assert "T" not in message.properties.values()


@behaviour("TRX-01", "HAZ-47")
@pytest.mark.parametrize("profile", ["P45", "P49", "P494", "P533"])
def test_only_533_recognizes_the_retry_of_a_half_message(profile: str) -> None:
    stand = Stand(profile)
    text = {"TRAN_MSG": "true", "DELAY": "3"}
    for times, properties in ((1, text), (0, text), (1, {"TRAN_MSG": "true"})):
        stand.send("%RETRY%G", properties=properties, reconsume_times=times, max_reconsume_times=16)
    retry, delayed, transactional = stand.stored()
    assert retry.properties["REAL_TOPIC"] == ("%RETRY%G" if profile == "P533" else HALF_TOPIC)
    assert delayed.properties["REAL_TOPIC"] == HALF_TOPIC
    assert transactional.topic == HALF_TOPIC


@pytest.mark.parametrize(("text", "half"), [("TRAN_MSG\x01true\x02TRAN_MSG\x01n\x02", False), ("TRAN_MSG\x01no\x02TRAN_MSG\x01true", True)])
@with_half
@behaviour("TRX-01", "SEND-26")
def test_last_duplicate_property_decides_about_a_transaction(profile: str, text: str, half: bool) -> None:
    stand = Stand(profile)
    stand.send(properties=text)
    assert (stand.last().topic == HALF_TOPIC) is half


@pytest.mark.parametrize("bits", [PREPARED, COMMIT, ROLLBACK])
@with_half
@behaviour("TRX-04", "DLQ-06")
def test_half_message_of_a_dead_letter_has_its_topic(profile: str, bits: int) -> None:
    stand = Stand(profile)
    answer = stand.send(
        "%RETRY%G", queue_id=2, sys_flag=bits | 1, properties={"TRAN_MSG": "true"}, reconsume_times=4, max_reconsume_times=4
    )
    half = stand.last()
    assert (half.topic, half.queue_id, half.sys_flag, fields_of(answer)["queueId"]) == (HALF_TOPIC, 0, 1, "2")
    assert (half.properties["REAL_TOPIC"], half.properties["REAL_QID"]) == ("%DLQ%G", "0")


# Commit and rollback


def prepared(profile: str = "P49", **settings: Any) -> Stand:
    """Return a broker with a half message of T-3, at offset 0 of the log and of the half queue."""
    stand = Stand(profile, **settings)
    stand.send(queue_id=3, sys_flag=PREPARED, properties={"TRAN_MSG": "true", "PGROUP": "pg", "UNIQ_KEY": "U"}, body=b"t", flag=4)
    return stand


def end(stand: Stand, outcome: int = COMMIT, **changed: object) -> Command | None:
    fields = {
        "producerGroup": "pg",
        "tranStateTableOffset": 0,
        "commitLogOffset": 0,
        "commitOrRollback": outcome,
        "fromTransactionCheck": "false",
        "msgId": "U",
        "transactionId": "U",
    }
    return stand.request(Command(END_TRANSACTION, {name: str(value) for name, value in (fields | changed).items()}, opaque=3))


def answered(answer: Command | None) -> tuple[int, str | None]:
    assert answer is not None
    assert answer.ext_fields is None
    return answer.code, answer.remark


def op_record(stand: Stand, message: Message) -> None:
    assert (message.topic, message.queue_id, message.body, message.sys_flag) == (OP_HALF_TOPIC, 0, b"0", 0)
    assert parse_properties(message.properties_text, exact=False) == {"WAIT": "true", "TAGS": "d"}
    assert message.born_host == message.store_host == ("127.0.0.1", 10911)


@behaviour("TRX-04")
@pytest.mark.parametrize(("profile", "named"), [("P494", None), ("P533", "U")])
def test_later_releases_store_the_half_messages_id_as_property(profile: str, named: str | None) -> None:
    stored = parse_properties(prepared(profile).last().properties_text, exact=False)
    assert (stored["UNIQ_KEY"], stored.get("__transactionId__")) == ("U", named)


@behaviour("TRX-05")
def test_batched_ends_are_one_record_per_queue() -> None:
    """The record lists each offset once, in the order of the ends."""
    stand = Stand("P533")
    gathered = GatheredOperations(stand.broker)
    stand.scheduler.complete(gathered.write())
    assert stand.stored() == []
    for queue, offset in ((0, 2), (0, 1), (1, 5)):
        gathered.note(Message(HALF_TOPIC, queue, queue_offset=offset))
    stand.scheduler.complete(gathered.write())
    stand.scheduler.complete(gathered.write())
    assert [(one.topic, one.queue_id, one.body) for one in stand.stored()] == [(OP_HALF_TOPIC, 0, b"2,1,"), (OP_HALF_TOPIC, 1, b"5,")]
    assert {one.born_host for one in stand.stored()} == {("127.0.0.1", 10911)}


@behaviour("TRX-05")
def test_batched_ends_are_written_after_their_interval() -> None:
    stand = prepared("P533")
    assert answered(end(stand)) == (SUCCESS, None)
    drive(stand.scheduler, stand.broker, Broker.PERIODIC)
    stand.scheduler.advance(INTERVAL_MILLIS - 1)
    assert [one.topic for one in stand.stored()] == [HALF_TOPIC, "T"]
    stand.scheduler.advance(1)
    assert [one.topic for one in stand.stored()] == [HALF_TOPIC, "T", OP_HALF_TOPIC]


@with_half
@behaviour("TRX-04")
def test_commit_puts_the_message_and_its_operation_record(profile: str) -> None:
    stand = prepared(profile)
    assert answered(end(stand)) == (SUCCESS, None)
    half, message, operation = stand.stored()
    assert (message.topic, message.queue_id, message.body, message.flag) == ("T", 3, b"t", 4)
    assert (message.sys_flag, message.prepared_transaction_offset, message.queue_offset) == (COMMIT, half.physical_offset, 0)
    assert all(getattr(message, name) == getattr(half, name) for name in ("born_timestamp", "born_host", "properties_text"))
    op_record(stand, operation)


@behaviour("TRX-04")
def test_second_commit_puts_the_message_again() -> None:
    stand = prepared()
    end(stand)
    assert answered(end(stand)) == (SUCCESS, None)
    topics = [message.topic for message in stand.stored()]
    assert topics == [HALF_TOPIC, "T", OP_HALF_TOPIC, "T", OP_HALF_TOPIC]
    assert [message.queue_offset for message in stand.stored()] == [0, 0, 0, 1, 1]


@with_half
def test_rollback_puts_the_operation_record_alone(profile: str) -> None:
    stand = prepared(profile)
    assert answered(end(stand, ROLLBACK)) == (SUCCESS, NOT_SET)
    half, operation = stand.stored()
    assert half.topic == HALF_TOPIC
    op_record(stand, operation)


WRONG = [
    ({"producerGroup": "other"}, "The producer group wrong"),
    ({"tranStateTableOffset": 1}, "The transaction state table offset wrong"),
    ({"commitLogOffset": 99_999}, "Find prepared transaction message failed"),
]


@pytest.mark.parametrize(("changed", "remark"), WRONG)
@pytest.mark.parametrize("outcome", [COMMIT, ROLLBACK])
def test_end_that_does_not_match_the_half_message_is_refused(outcome: int, changed: dict[str, object], remark: str) -> None:
    stand = prepared()
    assert answered(end(stand, outcome, **changed)) == (SYSTEM_ERROR, remark)
    assert len(stand.stored()) == 1


def test_unknown_outcome_is_not_answered() -> None:
    stand = prepared()
    assert end(stand, NOT) is None
    assert len(stand.stored()) == 1
    answer = present(end(stand, 5))
    assert str(answer.remark).startswith("org.apache.rocketmq.remoting.exception.RemotingCommandException: commitOrRollback field wrong, ")


def test_a_message_without_a_group_is_a_null_pointer() -> None:
    stand = Stand()
    stand.ask(send_request())
    answer = present(end(stand))
    assert str(answer.remark).startswith("java.lang.NullPointerException, ")


def test_a_slave_ends_no_transaction() -> None:
    stand = prepared()
    stand.settings.broker_role = "SLAVE"
    assert answered(end(stand)) == (11, NOT_SET)


ILLEGAL = (
    "The message is illegal, maybe msg body or properties length not matched. msg body length limit 128k, msg properties length limit 32k."
)
FINAL = [
    (PutMessageStatus.FLUSH_DISK_TIMEOUT, 0, None),
    (PutMessageStatus.SLAVE_NOT_AVAILABLE, 0, None),
    (PutMessageStatus.CREATE_MAPEDFILE_FAILED, 1, "Create mapped file failed."),
    (PutMessageStatus.MESSAGE_ILLEGAL, 13, ILLEGAL),
    (PutMessageStatus.SERVICE_NOT_AVAILABLE, 14, "Service not available now."),
    (PutMessageStatus.OS_PAGECACHE_BUSY, 1, "OS page cache busy, please try another machine"),
    (PutMessageStatus.UNKNOWN_ERROR, 1, "UNKNOWN_ERROR"),
    (PutMessageStatus.LMQ_CONSUME_QUEUE_NUM_EXCEEDED, 1, "UNKNOWN_ERROR DEFAULT"),
]


@pytest.mark.parametrize(("status", "code", "remark"), FINAL)
def test_answer_has_the_status_of_the_final_put(status: PutMessageStatus, code: int, remark: str | None) -> None:
    stand = prepared()
    puts: list[str] = []

    async def put(message: Message) -> PutResult:
        puts.append(message.topic)
        return PutResult(status)

    stand.broker.store.put_message = put  # type: ignore[method-assign]  # a double of the method
    assert answered(end(stand)) == (code, remark)
    assert puts == (["T", OP_HALF_TOPIC] if code == 0 else ["T"])


# As recorded


@functools.cache
def recorded() -> dict[int, Message]:
    return {message.physical_offset: message for message in real_messages()}


@pytest.mark.parametrize("offset", [12472, 12788])
@behaviour("TRX-04")
def test_committed_message_equals_the_recorded_message(offset: int) -> None:
    half, real = recorded()[12110], recorded()[offset]
    header = EndTransactionRequestHeader("pg", 4, 12110, COMMIT, "")
    made = committed(half, header, PROFILES["P49"])
    names = "topic queue_id body flag sys_flag born_timestamp born_host store_host reconsume_times prepared_transaction_offset"
    assert all(getattr(made, name) == getattr(real, name) for name in (*names.split(), "properties_text"))
    assert set(made.properties) == {"UNIQ_KEY", "CLUSTER", "PGROUP"}


@pytest.mark.parametrize(("half", "offset"), [(12110, 12653), (12110, 12969), (13104, 13305)])
@behaviour("TRX-04")
def test_operation_record_equals_the_recorded_record(half: int, offset: int) -> None:
    real = recorded()[offset]
    made = operation(recorded()[half], real.born_timestamp, ("127.0.0.1", 10911), trailing=False)
    names = "topic queue_id body flag sys_flag born_timestamp born_host store_host properties_text prepared_transaction_offset"
    assert all(getattr(made, name) == getattr(real, name) for name in names.split())
    assert not made.waits


@pytest.mark.parametrize(("profile", "kept"), [("P45", False), ("P452", True), ("P460", True), ("P461", False), ("P494", False)])
@behaviour("TRX-01", "TRX-04")
def test_committed_record_keeps_the_transaction_flag_up_to_460(profile: str, kept: bool) -> None:
    half = Message(HALF_TOPIC, 0, b"x", properties={"REAL_TOPIC": "T", "REAL_QID": "1", "TRAN_MSG": "true", "DELAY": "3"})
    header = EndTransactionRequestHeader("p", 0, 0, COMMIT, "")
    made = committed(half, header, PROFILES[profile])
    assert ("TRAN_MSG" in made.properties, "TRAN_MSG\x01true" in (made.properties_text or "")) == (kept, True)
