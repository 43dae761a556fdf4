"""From the result of a put to the answer: codes, remarks, statistics, and who writes (SEND-40 to SEND-46)."""

from __future__ import annotations

from dataclasses import dataclass

from rocketproof_profiles import Profile
from rocketproof_protocol.codes import (
    FLUSH_DISK_TIMEOUT,
    FLUSH_SLAVE_TIMEOUT,
    MESSAGE_ILLEGAL,
    SERVICE_NOT_AVAILABLE,
    SLAVE_NOT_AVAILABLE,
    SUCCESS,
    SYSTEM_ERROR,
)
from rocketproof_protocol.properties import UNIQ_KEY
from rocketproof_protocol.topics import SCHEDULE

from ..message import Message
from ..remoting.command import RESPONSE, Command
from ..remoting.dispatch import write
from ..remoting.ports import Channel
from ..store.result import AppendResult, PutMessageStatus, PutResult
from .checking import refuse
from .hooks import SendMessageContext, note_failure, note_success
from .parts import BrokerParts

SENT = {
    PutMessageStatus.PUT_OK: SUCCESS,
    PutMessageStatus.FLUSH_DISK_TIMEOUT: FLUSH_DISK_TIMEOUT,
    PutMessageStatus.FLUSH_SLAVE_TIMEOUT: FLUSH_SLAVE_TIMEOUT,
    PutMessageStatus.SLAVE_NOT_AVAILABLE: SLAVE_NOT_AVAILABLE,
}
"""The statuses of a message that is in the log, and their codes (SEND-41)."""

DISK_USE = "CL: -1.00 CQ: -1.00 INDEX: -1.00"  # -1 is RocketMQ's own text for "not known"


@dataclass(slots=True)
class Sent:
    """A put that is done, and what the answer needs. `queue_id` is the one of SEND-22, not where the record is."""

    channel: Channel
    request: Command
    response: Command
    message: Message
    queue_id: int
    context: SendMessageContext | None
    result: PutResult | None


def failure(status: PutMessageStatus, profile: Profile, max_message_size: int) -> tuple[int, str]:
    """Code and remark of a status whose message is not in the log (SEND-41)."""
    status_of = PutMessageStatus
    if status is status_of.CREATE_MAPEDFILE_FAILED:
        return SYSTEM_ERROR, "create mapped file failed, server is busy or broken."
    if status in (status_of.MESSAGE_ILLEGAL, status_of.PROPERTIES_SIZE_EXCEEDED):
        return MESSAGE_ILLEGAL, f"the {illegal_remark(profile, max_message_size)}"
    if status is status_of.SERVICE_NOT_AVAILABLE:
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
    """The remark of MESSAGE_ILLEGAL behind its first word, which may have a capital."""
    limits = profile.size_remark.format(limit=max_message_size)
    return f"message is illegal, maybe msg body or properties length not matched. {limits}"


def service_remark(profile: Profile) -> str:
    if profile.short_disk_remark:
        return f"service not available now, maybe disk full, {DISK_USE}, maybe your broker machine memory too small."
    return (
        "service not available now. It may be caused by one of the following reasons: "
        f"the broker's disk is full [{DISK_USE}], messages are put to the slave, message store has been shut down, etc."
    )


def handle_put_message_result(broker: BrokerParts, sent: Sent) -> Command | None:
    """The answer still to be written, None if it is written already (SEND-40 to SEND-44).

    Raises JavaError where hooks meet a request without a body (HAZ-24).
    """
    response, result, context = sent.response, sent.result, sent.context
    if result is None:
        refuse(response, SYSTEM_ERROR, "store putMessage return null")  # SEND-40
        return response
    code = SENT.get(result.status)
    if code is None:
        refuse(response, *failure(result.status, broker.profile, broker.settings.max_message_size))
        if context is not None:
            note_failure(context, sent.request)
        return response
    append = result.append
    assert append is not None, "a message in the log has a place there"
    count_sent(broker, sent.message, append)
    unique_key = sent.message.properties.get(UNIQ_KEY) if broker.profile.makes_unique_key else None
    fill_success(response, code, append, sent.queue_id, unique_key)
    do_response(sent.channel, sent.request, response)
    if context is not None:
        note_success(context, sent.request, append, sent.queue_id, broker.settings.commercial_base_count)
    return None  # it is written: the caller writes nothing more (SEND-42)


def count_sent(broker: BrokerParts, message: Message, append: AppendResult) -> None:
    """Count the message under the topic it has now, which the store may have changed (SEND-42, HAZ-14)."""
    statistics, nums, size = broker.statistics, append.msg_num, append.wrote_bytes
    if message.topic == SCHEDULE and broker.profile.queue_statistics:
        statistics.count_queue(message.topic, message.queue_id, nums, size)
    statistics.count_topic(message.topic, nums, size)
    statistics.broker_put_nums += nums


def fill_success(response: Command, code: int, append: AppendResult, queue_id: int, unique_key: str | None) -> None:
    """The queue that was asked for, beside the offset in the queue that was used (SEND-42, DLQ-06, HAZ-13, HAZ-15)."""
    response.code, response.remark = code, None
    assert response.ext_fields is not None, "pre_send made them"
    response.ext_fields["msgId"] = append.msg_id
    response.ext_fields["queueId"] = str(queue_id)
    response.ext_fields["queueOffset"] = str(append.queue_offset)
    if unique_key is not None:
        response.ext_fields["transactionId"] = unique_key


def do_response(channel: Channel, request: Command, response: Command) -> None:
    """Write a success at once, unless nobody waits for it (SEND-42)."""
    if not request.is_one_way:
        response.opaque = request.opaque
        response.flag |= RESPONSE
        write(channel, response)
