"""Custom headers: typed fields, and the texts that travel in a command's extFields (REM-04).

Every value is a text on the wire. The send header has two forms, with full names (request 10) and with one letter a field
(310 and 320). A header is a dataclass; a table says under which name each of its fields travels, how it is read, and whether
it must be there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from ..java import JavaError, boolean_text, parse_boolean, parse_int, parse_long
from ..message import COMMIT, NOT, ROLLBACK
from ..topic import MULTI_TAG, SINGLE_TAG
from .codes import SEND_BATCH_MESSAGE, SEND_MESSAGE, SEND_MESSAGE_V2

H = TypeVar("H")


class Field(NamedTuple):
    """One field of a header: its attribute, its name on the wire, how its text is read."""

    attribute: str
    name: str
    parse: Callable[[str], Any]
    required: bool = True


Layout = tuple[Field, ...]


def text(value: str) -> str:
    """A field that is a text already."""
    return value


def command_error(message: str) -> JavaError:
    """The exception of a header that cannot be read."""
    return JavaError("org.apache.rocketmq.remoting.exception.RemotingCommandException", message)


def decode(kind: Callable[..., H], layout: Layout, ext_fields: Mapping[str, str] | None) -> H:
    """The header from its texts; an absent optional field has its default.

    Raises JavaError for the first required field that is absent and for the first number that is none (REM-04).
    """
    found = ext_fields or {}
    values: dict[str, Any] = {}
    for attribute, name, parse, required in layout:
        value = found.get(name)
        if value is not None:
            values[attribute] = parse(value)
        elif required:
            raise command_error(f"the custom field <{name}> is null")
    return kind(**values)


def encode(header: object, layout: Layout) -> dict[str, str]:
    """The texts of a header; what is None does not travel."""
    values = ((field.name, getattr(header, field.attribute)) for field in layout)
    return {name: boolean_text(value) if isinstance(value, bool) else str(value) for name, value in values if value is not None}


# Send


@dataclass(slots=True)
class SendMessageRequestHeader:
    """What a producer says of a message. Times are milliseconds; a negative queue id lets the broker choose.

    `properties` is the text of SEND-26. `batch` tells how the body is to be read, whatever the request code is (SEND-05).
    """

    producer_group: str
    topic: str
    default_topic: str
    default_topic_queue_nums: int
    queue_id: int
    sys_flag: int
    born_timestamp: int
    flag: int
    properties: str | None = None
    reconsume_times: int | None = None
    unit_mode: bool = False
    max_reconsume_times: int | None = None
    batch: bool = False


SEND_V1: Layout = (
    Field("producer_group", "producerGroup", text),
    Field("topic", "topic", text),
    Field("default_topic", "defaultTopic", text),
    Field("default_topic_queue_nums", "defaultTopicQueueNums", parse_int),
    Field("queue_id", "queueId", parse_int),
    Field("sys_flag", "sysFlag", parse_int),
    Field("born_timestamp", "bornTimestamp", parse_long),
    Field("flag", "flag", parse_int),
    Field("properties", "properties", text, False),
    Field("reconsume_times", "reconsumeTimes", parse_int, False),
    Field("unit_mode", "unitMode", parse_boolean, False),
    Field("max_reconsume_times", "maxReconsumeTimes", parse_int, False),
    Field("batch", "batch", parse_boolean, False),
)

V2_LETTERS = {
    "producerGroup": "a",
    "topic": "b",
    "defaultTopic": "c",
    "defaultTopicQueueNums": "d",
    "queueId": "e",
    "sysFlag": "f",
    "bornTimestamp": "g",
    "flag": "h",
    "properties": "i",
    "reconsumeTimes": "j",
    "unitMode": "k",
    "maxReconsumeTimes": "l",
    "batch": "m",
}

SEND_V2: Layout = tuple(field._replace(name=V2_LETTERS[field.name]) for field in SEND_V1)


def parse_request_header(code: int, ext_fields: Mapping[str, str] | None) -> SendMessageRequestHeader | None:
    """The send header of a request; None if its code has none (REM-04). Raises JavaError as `decode` does."""
    if code in (SEND_MESSAGE_V2, SEND_BATCH_MESSAGE):
        return decode(SendMessageRequestHeader, SEND_V2, ext_fields)
    if code == SEND_MESSAGE:
        return decode(SendMessageRequestHeader, SEND_V1, ext_fields)
    return None


def encode_v1(header: SendMessageRequestHeader) -> dict[str, str]:
    """As request 10 carries it."""
    return encode(header, SEND_V1)


def encode_v2(header: SendMessageRequestHeader) -> dict[str, str]:
    """As requests 310 and 320 carry it."""
    return encode(header, SEND_V2)


# Send back


@dataclass(slots=True)
class SendMessageBackRequestHeader:
    """A consumer gives a message back: where it is in the log, whose consumption failed, and when to try again (BACK-01)."""

    offset: int
    group: str
    delay_level: int
    origin_msg_id: str | None = None
    origin_topic: str | None = None
    unit_mode: bool = False
    max_reconsume_times: int | None = None


SEND_BACK: Layout = (
    Field("offset", "offset", parse_long),
    Field("group", "group", text),
    Field("delay_level", "delayLevel", parse_int),
    Field("origin_msg_id", "originMsgId", text, False),
    Field("origin_topic", "originTopic", text, False),
    Field("unit_mode", "unitMode", parse_boolean, False),
    Field("max_reconsume_times", "maxReconsumeTimes", parse_int, False),
)


# Transactions


@dataclass(slots=True)
class EndTransactionRequestHeader:
    """The outcome of a local transaction, and where its half message is: place in the log, and offset in the half queue."""

    producer_group: str
    tran_state_table_offset: int
    commit_log_offset: int
    commit_or_rollback: int
    from_transaction_check: bool = False
    msg_id: str | None = None
    transaction_id: str | None = None

    def __post_init__(self) -> None:
        if self.commit_or_rollback not in (NOT, COMMIT, ROLLBACK):
            raise command_error("commitOrRollback field wrong")


END_TRANSACTION: Layout = (
    Field("producer_group", "producerGroup", text),
    Field("tran_state_table_offset", "tranStateTableOffset", parse_long),
    Field("commit_log_offset", "commitLogOffset", parse_long),
    Field("commit_or_rollback", "commitOrRollback", parse_int),
    Field("from_transaction_check", "fromTransactionCheck", parse_boolean, False),
    Field("msg_id", "msgId", text),
    Field("transaction_id", "transactionId", text, False),
)


# Administration


@dataclass(slots=True)
class CreateTopicRequestHeader:
    """A topic as an administrator wants it."""

    topic: str
    default_topic: str
    read_queue_nums: int
    write_queue_nums: int
    perm: int
    topic_filter_type: str
    topic_sys_flag: int = 0
    order: bool = False

    def __post_init__(self) -> None:
        if self.topic_filter_type not in (SINGLE_TAG, MULTI_TAG):
            raise command_error(f"topicFilterType = [{self.topic_filter_type}] value invalid")


CREATE_TOPIC: Layout = (
    Field("topic", "topic", text),
    Field("default_topic", "defaultTopic", text),
    Field("read_queue_nums", "readQueueNums", parse_int),
    Field("write_queue_nums", "writeQueueNums", parse_int),
    Field("perm", "perm", parse_int),
    Field("topic_filter_type", "topicFilterType", text),
    Field("topic_sys_flag", "topicSysFlag", parse_int, False),
    Field("order", "order", parse_boolean, False),
)


@dataclass(slots=True)
class GetMaxOffsetRequestHeader:
    topic: str
    queue_id: int


GET_MAX_OFFSET: Layout = (Field("topic", "topic", text), Field("queue_id", "queueId", parse_int))


@dataclass(slots=True)
class ViewMessageRequestHeader:
    offset: int


VIEW_MESSAGE: Layout = (Field("offset", "offset", parse_long),)


@dataclass(slots=True)
class DeleteTopicRequestHeader:
    topic: str


DELETE_TOPIC: Layout = (Field("topic", "topic", text),)
