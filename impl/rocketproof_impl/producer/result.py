"""The result of a send, and its conversion from a response (CLI-29)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from rocketproof_protocol.codes import FLUSH_DISK_TIMEOUT, FLUSH_SLAVE_TIMEOUT, SLAVE_NOT_AVAILABLE, SUCCESS
from rocketproof_protocol.numbers import whole_number
from rocketproof_protocol.properties import MSG_REGION, TRACE_ON

from ..remoting.command import Command
from .errors import BrokerError
from .publish import MessageQueue


class SendStatus(Enum):
    SEND_OK = "SEND_OK"
    FLUSH_DISK_TIMEOUT = "FLUSH_DISK_TIMEOUT"
    FLUSH_SLAVE_TIMEOUT = "FLUSH_SLAVE_TIMEOUT"
    SLAVE_NOT_AVAILABLE = "SLAVE_NOT_AVAILABLE"


STATUS = {
    SUCCESS: SendStatus.SEND_OK,
    FLUSH_DISK_TIMEOUT: SendStatus.FLUSH_DISK_TIMEOUT,
    FLUSH_SLAVE_TIMEOUT: SendStatus.FLUSH_SLAVE_TIMEOUT,
    SLAVE_NOT_AVAILABLE: SendStatus.SLAVE_NOT_AVAILABLE,
}
"""Response codes that are results. The message is stored in all of these cases (CLI-29)."""


@dataclass(slots=True)
class SendResult:
    """`queue` is the message's queue according to the broker.

    `msg_id` is the client's UNIQ_KEY, equal in all attempts. `offset_msg_id` is the broker's id: its address and the position in its log.
    """

    status: SendStatus
    msg_id: str
    queue: MessageQueue
    queue_offset: int
    region: str
    trace_on: bool
    offset_msg_id: str


def send_result(answer: Command, topic: str, broker_name: str, msg_id: str) -> SendResult:
    """Return the result in a response. Raises BrokerError for any other code (CLI-29)."""
    status = STATUS.get(answer.code)
    if status is None:
        raise BrokerError(answer.code, answer.remark)
    fields = answer.ext_fields or {}
    return SendResult(
        status,
        msg_id,
        MessageQueue(topic, broker_name, whole_number(fields["queueId"])),
        whole_number(fields["queueOffset"]),
        fields.get(MSG_REGION) or "DefaultRegion",
        fields.get(TRACE_ON) != "false",
        fields["msgId"],
    )
