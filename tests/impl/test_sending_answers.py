"""The answer and the statistics for each status of a put, and exactly one write."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import pytest
from marks import behaviour, every
from sending import Stand, batch_request, send_request
from simulated import fields_of

from nonempty import nonempty
from rocketproof_impl.java import JavaError
from rocketproof_impl.remoting.command import Command
from rocketproof_impl.store.result import AppendMessageStatus, AppendResult, PutMessageStatus, PutResult
from rocketproof_impl.store.service import DISK_FULL

Status = PutMessageStatus
EXTENDED = {"MSG_REGION": "DefaultRegion", "TRACE_ON": "true"}
ILLEGAL = "the message is illegal, maybe msg body or properties length not matched. "
LATE = (
    "service not available now. It may be caused by one of the following reasons: the broker's disk is full "
    "[CL: -1.00 CQ: -1.00 INDEX: -1.00], messages are put to the slave, message store has been shut down, etc."
)

LIGHT_QUEUES = (
    "[LMQ_CONSUME_QUEUE_NUM_EXCEEDED]broker config enableLmq and enableMultiDispatch, "
    "lmq consumeQueue num exceed maxLmqConsumeQueueNum config num, default limit 2w."
)

SENT = [(Status.PUT_OK, 0), (Status.FLUSH_DISK_TIMEOUT, 10), (Status.SLAVE_NOT_AVAILABLE, 11), (Status.FLUSH_SLAVE_TIMEOUT, 12)]
NOT_SENT = [
    (Status.CREATE_MAPEDFILE_FAILED, 1, "create mapped file failed, server is busy or broken."),
    (Status.MESSAGE_ILLEGAL, 13, f"{ILLEGAL}msg body length limit 128k, msg properties length limit 32k."),
    (Status.PROPERTIES_SIZE_EXCEEDED, 13, f"{ILLEGAL}msg body length limit 128k, msg properties length limit 32k."),
    (Status.SERVICE_NOT_AVAILABLE, 14, LATE),
    (Status.OS_PAGECACHE_BUSY, 1, "[PC_SYNCHRONIZED]broker busy, start flow control for a while"),
    (Status.LMQ_CONSUME_QUEUE_NUM_EXCEEDED, 1, LIGHT_QUEUES),
    (Status.UNKNOWN_ERROR, 1, "UNKNOWN_ERROR"),
]


def good(status: PutMessageStatus, wrote_bytes: int = 200) -> PutResult:
    return PutResult(status, AppendResult(AppendMessageStatus.PUT_OK, 1000, wrote_bytes, "ID", 0, 42))


@pytest.fixture
def stand(profile: str) -> Stand:
    return Stand(profile)


@pytest.mark.parametrize(("status", "code"), SENT)
@every
@behaviour("SEND-41", "SEND-42", "M-62", "M-63")
def test_appended_messages_count_as_sent(stand: Stand, status: PutMessageStatus, code: int) -> None:
    stand.put_gives(good(status))
    answer = stand.send(queue_id=2)
    assert (answer.code, answer.remark) == (code, None)
    assert answer.ext_fields == EXTENDED | {"msgId": "ID", "queueId": "2", "queueOffset": "42"}
    assert stand.broker.statistics.broker_put_nums == 1


@pytest.mark.parametrize(("status", "code", "remark"), NOT_SENT)
@behaviour("SEND-41", "SEND-46", "M-64", "M-65")
def test_messages_not_appended_are_refused(status: PutMessageStatus, code: int, remark: str) -> None:
    stand = Stand()
    stand.put_gives(PutResult(status))
    answer = stand.send()
    assert (answer.code, answer.remark, answer.ext_fields) == (code, remark, EXTENDED)
    assert stand.broker.statistics.broker_put_nums == 0
    assert not stand.broker.statistics.topic_put_nums


@behaviour("SEND-41")
def test_remarks_that_differ_between_profiles() -> None:
    def remark(profile: str, status: PutMessageStatus) -> str | None:
        stand = Stand(profile)
        stand.put_gives(PutResult(status))
        return stand.send().remark

    short = "service not available now, maybe disk full, CL: -1.00 CQ: -1.00 INDEX: -1.00, maybe your broker machine memory too small."
    assert remark("P40", Status.SERVICE_NOT_AVAILABLE) == short
    assert remark("P45", Status.SERVICE_NOT_AVAILABLE) == LATE
    assert remark("P494", Status.MESSAGE_ILLEGAL) == f"{ILLEGAL}msg body length limit 4194304B, msg properties length limit 32KB."
    assert remark("P45", Status.LMQ_CONSUME_QUEUE_NUM_EXCEEDED) == "UNKNOWN_ERROR DEFAULT"


@every
@behaviour("SEND-40")
def test_no_result_is_an_error_without_statistics(stand: Stand) -> None:
    stand.put_gives(None)
    answer = stand.send()
    assert (answer.code, answer.remark, answer.ext_fields) == (1, "store putMessage return null", EXTENDED)
    assert stand.broker.statistics.broker_put_nums == 0


@pytest.mark.parametrize("make", [send_request, batch_request])
@every
@behaviour("SEND-42", "INV-01", "INV-02", "M-66")
def test_every_request_gets_exactly_one_answer(profile: str, make: Callable[[], Command]) -> None:
    for status in nonempty(Status):
        stand = Stand(profile)
        stand.put_gives(good(status) if status in dict(SENT) else PutResult(status))
        stand.request(make())
        assert len(stand.channel.written) == 1
        assert stand.channel.written[0].is_response


@every
@behaviour("SEND-42", "INV-03", "M-67")
def test_one_way_requests_get_no_answer_and_are_served(stand: Stand) -> None:
    assert stand.request(send_request(one_way=True)) is None
    assert len(stand.stored()) == 1
    assert stand.request(send_request(one_way=True, queue_id=99)) is None
    stand.topic("Z", write=0)
    assert stand.request(send_request("Z", one_way=True, queue_id=-1)) is None


@every
@behaviour("SEND-42", "REM-08")
def test_an_answer_that_cannot_be_written_is_only_logged(stand: Stand) -> None:
    stand.channel.broken = True
    assert stand.request(send_request()) is None
    assert stand.request(send_request(queue_id=99)) is None
    assert len(stand.stored()) == 1


# Statistics


@every
@behaviour("SEND-42", "INV-54", "M-69")
def test_a_message_is_counted_with_its_record(stand: Stand) -> None:
    stand.send()
    stand.send()
    statistics, size = stand.broker.statistics, sum(message.store_size for message in stand.stored())
    assert (statistics.topic_put_nums, statistics.topic_put_size, statistics.broker_put_nums) == ({"T": 2}, {"T": size}, 2)
    assert not statistics.queue_put_nums


@pytest.mark.parametrize(
    ("fields", "stored"),
    [
        ({"properties": {"DELAY": "3"}}, "SCHEDULE_TOPIC_XXXX"),
        ({"properties": {"TRAN_MSG": "true"}}, "RMQ_SYS_TRANS_HALF_TOPIC"),
        ({"topic": "%RETRY%g", "reconsume_times": 16}, "%DLQ%g"),
    ],
)
@behaviour("SEND-42", "HAZ-14", "INV-55", "M-69")
def test_message_is_counted_for_its_stored_topic(fields: dict[str, Any], stored: str) -> None:
    stand = Stand()
    stand.ask(send_request(**fields))
    assert stand.broker.statistics.topic_put_nums == {stored: 1}


@pytest.mark.parametrize(("profile", "counted"), [("P40", False), ("P45", False), ("P49", True), ("P494", True)])
@behaviour("SEND-42", "M-70")
def test_queues_are_counted_for_delayed_messages_of_later_brokers(stand: Stand, counted: bool) -> None:
    stand.send(properties={"DELAY": "3"}, queue_id=1)
    stand.send(queue_id=1)
    size = stand.stored()[0].store_size
    key = ("SCHEDULE_TOPIC_XXXX", 2)
    assert stand.broker.statistics.queue_put_nums == ({key: 1} if counted else {})
    assert stand.broker.statistics.queue_put_size == ({key: size} if counted else {})


@behaviour("SEND-42", "HAZ-13", "M-68")
def test_a_delayed_message_is_answered_with_the_requested_queue() -> None:
    stand = Stand()
    stand.send(properties={"DELAY": "3"})
    answer = stand.send(properties={"DELAY": "3"}, queue_id=2)
    assert (fields_of(answer)["queueId"], fields_of(answer)["queueOffset"]) == ("2", "1")
    stand.send(properties={"DELAY": "4"}, queue_id=1)
    assert stand.last().queue_id == 3


# The future of an asynchronous broker


def throwing(stand: Stand) -> None:
    """Make the result mapping throw."""

    class Broken:
        def __getattr__(self, name: str) -> object:
            raise JavaError("java.lang.IllegalStateException", "statistics")

    stand.broker.statistics = Broken()  # type: ignore[assignment]  # a double


@pytest.mark.parametrize(("profile", "answered"), [("P40", True), ("P45", True), ("P49", False), ("P494", False)])
@behaviour("SEND-07", "REM-09", "HAZ-24", "INV-01")
def test_errors_of_the_mapping_are_answered_by_synchronous_brokers_only(stand: Stand, answered: bool) -> None:
    throwing(stand)
    answer = stand.request(send_request())
    assert len(stand.stored()) == 1
    if answered:
        assert answer is not None
        assert str(answer.remark).startswith("java.lang.IllegalStateException: statistics, ")
    else:
        assert answer is None


@every
@behaviour("REM-08", "REM-09")
def test_errors_of_the_put_are_answered_by_every_broker(profile: str) -> None:
    answer = Stand(profile).send(properties={"DELAY": "abc"})
    assert (answer.code, answer.ext_fields) == (1, None)
    assert str(answer.remark).startswith('java.lang.NumberFormatException: For input string: "abc", ')


def saturated(stand: Stand, request: Command) -> list[Command]:
    """Serve a request while the send executor's only thread is busy and its queue is full at the end."""
    stand.scheduler.stops = lambda _, pause: pause.name == "arrived"
    stand.request(request)
    blocker = send_request(opaque=2)
    stand.broker.receive(stand.channel, blocker)  # fills the queue's only slot
    stand.scheduler.stops = None
    stand.scheduler.resume(stand.executors["send"].running[0])
    return [answer for answer in stand.channel.written if answer.opaque == request.opaque]


@behaviour("HAZ-25", "SEND-07", "INV-01")
def test_a_full_executor_loses_failures_and_no_successes() -> None:
    assert saturated(Stand(threads=1, capacity=1), send_request(opaque=5, queue_id=99)) == []
    (answer,) = saturated(Stand(threads=1, capacity=1), send_request(opaque=5))
    assert answer.code == 0
    (answer,) = saturated(Stand("P45", threads=1, capacity=1), send_request(opaque=5, queue_id=99))
    assert answer.code == 1


# Sizes


@pytest.mark.parametrize(
    ("profile", "size", "refused"),
    [
        ("P494", 500, None),  # the recorded broker limits the body, the others the record
        ("P494", 501, "500B, msg properties length limit 32KB."),
        ("P49", 500, "128k, msg properties length limit 32k."),
    ],
)
@behaviour("APP-06", "SEND-41")
def test_only_the_recorded_broker_names_its_limit_of_the_body(profile: str, size: int, refused: str | None) -> None:
    answer = Stand(profile, max_message_size=500).send(body=b"x" * size)
    assert (answer.code, answer.remark) == ((13, f"{ILLEGAL}msg body length limit {refused}") if refused else (0, None))


@behaviour("APP-06", "HAZ-22", "CL-08")
def test_recorded_broker_loses_maximal_bodies_with_small_files() -> None:
    stand = Stand("P494", mapped_file_size_commit_log=2**20)
    answer = stand.send(body=bytes(4 * 2**20))
    assert (answer.code, fields_of(answer)["msgId"]) == (0, "7F00000100002A9F0000000000100000")
    assert stand.stored() == []
    assert stand.broker.statistics.topic_put_size["T"] == 2**20
    assert stand.broker.statistics.broker_put_nums == 1
    assert stand.send(body=bytes(4 * 2**20 + 1)).code == 13
    assert fields_of(stand.send())["queueOffset"] == "0"


@every
@behaviour("SEND-41", "SEND-44", "STO-04")
def test_full_disk_keeps_a_new_topic(stand: Stand) -> None:
    stand.broker.store.flags.bits = DISK_FULL
    answer = stand.send()
    assert (answer.code, answer.ext_fields) == (14, EXTENDED)
    assert "T" in stand.known()


@pytest.mark.parametrize(("profile", "handed"), [("P494", False), ("P510", False), ("P520", False), ("P533", True)])
def test_timer_message_is_answered_with_a_recall_handle(stand: Stand, handed: bool) -> None:
    """A message due at a whole second waits for the second before it, and the handle has a millisecond more."""
    due = stand.clock.now() // 1000 * 1000 + 3000
    answer = stand.send(properties={"UNIQ_KEY": "U", "TIMER_DELIVER_MS": str(due)})
    handle = fields_of(answer).get("recallHandle")
    told = None if handle is None else base64.urlsafe_b64decode(handle).decode().split(" ")
    assert told == (["v1", "T", stand.settings.broker_name, str(due - 999), "U"] if handed else None)
    assert "recallHandle" not in fields_of(stand.send())
