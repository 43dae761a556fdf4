"""A producer's configuration, with RocketMQ's names and defaults."""

from __future__ import annotations

from dataclasses import dataclass

from rocketproof_protocol.codes import (
    NO_BUYER_ID,
    NO_PERMISSION,
    NOT_IN_CURRENT_UNIT,
    SERVICE_NOT_AVAILABLE,
    SYSTEM_ERROR,
    TOPIC_NOT_EXIST,
)
from rocketproof_protocol.topics import TEMPLATE

RETRY_RESPONSE_CODES = frozenset({TOPIC_NOT_EXIST, SERVICE_NOT_AVAILABLE, SYSTEM_ERROR, NO_PERMISSION, NO_BUYER_ID, NOT_IN_CURRENT_UNIT})
"""Error codes that are retried (CLI-30). SYSTEM_BUSY and MESSAGE_ILLEGAL are not among them."""


@dataclass(slots=True)
class ProducerSettings:
    """Mutable: a user may change it at any time. Times are milliseconds, sizes bytes."""

    create_topic_key: str = TEMPLATE
    default_topic_queue_nums: int = 4
    retry_times_when_send_failed: int = 2
    retry_times_when_send_async_failed: int = 2
    retry_another_broker_when_not_store_ok: bool = False
    retry_response_codes: frozenset[int] = RETRY_RESPONSE_CODES
    max_message_size: int = 4 * 1024 * 1024
    compress_msg_body_over_howmuch: int = 4096
    send_latency_fault_enable: bool = False
    send_smart_msg: bool = True
    unit_mode: bool = False
