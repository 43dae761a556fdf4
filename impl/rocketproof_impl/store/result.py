"""The result of a put: the status of the append, the status of the put, and the record's position (CL-10)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class _Status(Enum):
    """Members are hashed by identity, which is faster than by the hash of their names."""

    __hash__ = object.__hash__


class AppendMessageStatus(_Status):
    """The result of an append to a mapped file."""

    PUT_OK = "PUT_OK"
    END_OF_FILE = "END_OF_FILE"
    MESSAGE_SIZE_EXCEEDED = "MESSAGE_SIZE_EXCEEDED"
    PROPERTIES_SIZE_EXCEEDED = "PROPERTIES_SIZE_EXCEEDED"
    UNKNOWN_ERROR = "UNKNOWN_ERROR"


class PutMessageStatus(_Status):
    """The result of a put."""

    PUT_OK = "PUT_OK"
    FLUSH_DISK_TIMEOUT = "FLUSH_DISK_TIMEOUT"
    FLUSH_SLAVE_TIMEOUT = "FLUSH_SLAVE_TIMEOUT"
    SLAVE_NOT_AVAILABLE = "SLAVE_NOT_AVAILABLE"
    SERVICE_NOT_AVAILABLE = "SERVICE_NOT_AVAILABLE"
    CREATE_MAPEDFILE_FAILED = "CREATE_MAPEDFILE_FAILED"
    MESSAGE_ILLEGAL = "MESSAGE_ILLEGAL"
    PROPERTIES_SIZE_EXCEEDED = "PROPERTIES_SIZE_EXCEEDED"
    OS_PAGECACHE_BUSY = "OS_PAGECACHE_BUSY"
    UNKNOWN_ERROR = "UNKNOWN_ERROR"
    LMQ_CONSUME_QUEUE_NUM_EXCEEDED = "LMQ_CONSUME_QUEUE_NUM_EXCEEDED"
    WHEEL_TIMER_MSG_ILLEGAL = "WHEEL_TIMER_MSG_ILLEGAL"
    WHEEL_TIMER_NOT_ENABLE = "WHEEL_TIMER_NOT_ENABLE"


@dataclass(slots=True)
class AppendResult:
    """The position of the record. Offsets and sizes are bytes, the time is milliseconds.

    `queue_offset` is the position in the queue, of a batch the first one. `msg_id` of a batch is a list joined with commas.
    """

    status: AppendMessageStatus
    wrote_offset: int = 0
    wrote_bytes: int = 0
    msg_id: str = ""
    store_timestamp: int = 0
    queue_offset: int = 0
    msg_num: int = 1


@dataclass(slots=True)
class PutResult:
    """The result of a put. `ok` is about the append only: a message that was not flushed in time is in the log (CL-10)."""

    status: PutMessageStatus
    append: AppendResult | None = None

    @property
    def ok(self) -> bool:
        return self.append is not None and self.append.status is AppendMessageStatus.PUT_OK
