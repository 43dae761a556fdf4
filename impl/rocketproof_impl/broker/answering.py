"""From the result of a put to the response: codes, remarks, statistics, and where it is written (SEND-40 to SEND-46)."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass

from rocketproof_profiles import Profile
from rocketproof_protocol.codes import (
    FLUSH_DISK_TIMEOUT,
    FLUSH_SLAVE_TIMEOUT,
    MESSAGE_ILLEGAL,
    SEND_BATCH_MESSAGE,
    SERVICE_NOT_AVAILABLE,
    SLAVE_NOT_AVAILABLE,
    SUCCESS,
    SYSTEM_ERROR,
)
from rocketproof_protocol.properties import REAL_TOPIC, TIMER_OUT_MS, UNIQ_KEY
from rocketproof_protocol.topics import RETRY_PREFIX, SCHEDULE

from ..java import parse_long, utf8
from ..message import Message
from ..remoting.command import RESPONSE, Command
from ..remoting.dispatch import write
from ..remoting.ports import Channel
from ..store.result import AppendResult, PutMessageStatus, PutResult
from ..store.settings import StoreSettings
from .checking import refuse
from .hooks import SendMessageContext, note_failure, note_success
from .parts import BrokerParts

SENT = {
    PutMessageStatus.PUT_OK: SUCCESS,
    PutMessageStatus.FLUSH_DISK_TIMEOUT: FLUSH_DISK_TIMEOUT,
    PutMessageStatus.FLUSH_SLAVE_TIMEOUT: FLUSH_SLAVE_TIMEOUT,
    PutMessageStatus.SLAVE_NOT_AVAILABLE: SLAVE_NOT_AVAILABLE,
}
"""The statuses of messages that are in the log, and their response codes (SEND-41)."""

DISK_USE = "CL: -1.00 CQ: -1.00 INDEX: -1.00"  # -1 is RocketMQ's own text for "not known"


@dataclass(slots=True)
class CompletedPut:
    """A finished put with the data for its response. `queue_id` is the queue of SEND-22, which may differ from the record's queue."""

    channel: Channel
    request: Command
    response: Command
    message: Message
    queue_id: int
    context: SendMessageContext | None
    result: PutResult | None


def failure(status: PutMessageStatus, profile: Profile, settings: StoreSettings) -> tuple[int, str]:
    """Return the response code and remark for a status whose message is not in the log (SEND-41)."""
    status_of = PutMessageStatus
    if status is status_of.CREATE_MAPEDFILE_FAILED:
        return SYSTEM_ERROR, "create mapped file failed, server is busy or broken."
    if status in (status_of.MESSAGE_ILLEGAL, status_of.PROPERTIES_SIZE_EXCEEDED):
        return MESSAGE_ILLEGAL, f"the {illegal_remark(profile, settings.max_message_size)}"
    if status is status_of.WHEEL_TIMER_MSG_ILLEGAL:
        return MESSAGE_ILLEGAL, (
            f"timer message illegal, the delay time should not be bigger than the max delay {settings.timer_max_delay_sec * 1000}ms; "
            "or if set del msg, the delay time should be bigger than the current time"
        )
    if status is status_of.WHEEL_TIMER_NOT_ENABLE and profile.names_no_wheel:
        return SYSTEM_ERROR, "accurate timer message is not enabled, timerWheelEnable is false"
    if status is status_of.SERVICE_NOT_AVAILABLE or status is status_of.WHEEL_TIMER_NOT_ENABLE:
        return SERVICE_NOT_AVAILABLE, service_remark(profile)
    if status is status_of.OS_PAGECACHE_BUSY:
        return SYSTEM_ERROR, "[PC_SYNCHRONIZED]broker busy, start flow control for a while"
    if status is status_of.LMQ_CONSUME_QUEUE_NUM_EXCEEDED and profile.queue_statistics:
        return SYSTEM_ERROR, (
            "[LMQ_CONSUME_QUEUE_NUM_EXCEEDED]broker config enableLmq and enableMultiDispatch, "
            "lmq consumeQueue num exceed maxLmqConsumeQueueNum config num, default limit 2w."
        )
    if status is status_of.UNKNOWN_ERROR:
        return SYSTEM_ERROR, "UNKNOWN_ERROR"
    return SYSTEM_ERROR, "UNKNOWN_ERROR DEFAULT"


def illegal_remark(profile: Profile, max_message_size: int) -> str:
    """Return the remark of MESSAGE_ILLEGAL without its first word, whose case differs between callers."""
    limits = profile.size_remark.format(limit=max_message_size)
    return f"message is illegal, maybe msg body or properties length not matched. {limits}"


def service_remark(profile: Profile) -> str:
    if profile.short_disk_remark:
        return f"service not available now, maybe disk full, {DISK_USE}, maybe your broker machine memory too small."
    return (
        "service not available now. It may be caused by one of the following reasons: "
        f"the broker's disk is full [{DISK_USE}], messages are put to the slave, message store has been shut down, etc."
    )


def handle_put_message_result(broker: BrokerParts, sent: CompletedPut) -> Command | None:
    """Return the response to write, None if it is written already (SEND-40 to SEND-44).

    Raises JavaError if hooks are registered and the request has no body (HAZ-24).
    """
    response, result, context = sent.response, sent.result, sent.context
    if result is None:
        refuse(response, SYSTEM_ERROR, "store putMessage return null")  # SEND-40
        return response
    code = SENT.get(result.status)
    if code is None:
        refuse(response, *failure(result.status, broker.profile, broker.settings))
        if context is not None and broker.hooks.send:
            note_failure(context, sent.request)
        return response
    append = result.append
    assert append is not None, "a message in the log has a position there"
    count_sent(broker, sent.message, append)
    unique_key = sent.message.properties.get(UNIQ_KEY) if broker.profile.makes_unique_key else None
    fill_success(response, code, append, sent.queue_id, unique_key)
    if broker.profile.tells_recall_handle and sent.request.code != SEND_BATCH_MESSAGE:
        note_recall(response, sent.message.properties, broker.settings.broker_name)
    do_response(sent.channel, sent.request, response)
    if context is not None:
        note_success(context, sent.request, append, sent.queue_id, broker.settings.commercial_base_count)
    return None  # do_response has written it (SEND-42)


def count_sent(broker: BrokerParts, message: Message, append: AppendResult) -> None:
    """Count the message under its current topic, which the store may have changed (SEND-42, HAZ-14)."""
    statistics, nums, size = broker.statistics, append.msg_num, append.wrote_bytes
    if message.topic == SCHEDULE and broker.profile.queue_statistics:
        statistics.count_queue(message.topic, message.queue_id, nums, size)
    statistics.count_topic(message.topic, nums, size)
    statistics.broker_put_nums += nums


def fill_success(response: Command, code: int, append: AppendResult, queue_id: int, unique_key: str | None) -> None:
    """Fill a success response. Its queue is the requested one, its offset belongs to the queue that was used (SEND-42, DLQ-06, HAZ-13,
    HAZ-15)."""
    response.code, response.remark = code, None
    assert response.ext_fields is not None, "set by pre_send"
    response.ext_fields["msgId"] = append.msg_id
    response.ext_fields["queueId"] = str(queue_id)
    response.ext_fields["queueOffset"] = str(append.queue_offset)
    if unique_key is not None:
        response.ext_fields["transactionId"] = unique_key


def note_recall(response: Command, properties: Mapping[str, str], broker_name: str) -> None:
    """Add the handle to recall a timer message: its topic, a time within its second, and its id. Messages of retry topics get none."""
    due, topic = properties.get(TIMER_OUT_MS), properties.get(REAL_TOPIC)
    if due is None or topic is None or topic.startswith(RETRY_PREFIX):
        return
    assert response.ext_fields is not None, "set by pre_send"
    handle = f"v1 {topic} {broker_name} {parse_long(due) + 1} {properties.get(UNIQ_KEY)}"
    response.ext_fields["recallHandle"] = urlsafe_b64encode(utf8(handle)).decode()


def do_response(channel: Channel, request: Command, response: Command) -> None:
    """Write a success immediately, unless the request is one-way (SEND-42)."""
    if not request.is_one_way:
        response.opaque = request.opaque
        response.flag |= RESPONSE
        write(channel, response)
