"""From a message to its request: the unique key, the compressed body, the header (CLI-34, CLI-35)."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Sequence

from rocketproof_protocol.codes import SEND_BATCH_MESSAGE, SEND_MESSAGE, SEND_MESSAGE_V2
from rocketproof_protocol.flags import COMPRESSED, PREPARED
from rocketproof_protocol.properties import (
    DELAY,
    MAX_RECONSUME_TIMES,
    RECONSUME_TIME,
    TRAN_MSG,
    UNIQ_KEY,
    WAIT,
)
from rocketproof_protocol.topics import RETRY_PREFIX

from ..java import boolean_text, parse_boolean, parse_int, utf8
from ..message import Message, properties_text
from ..remoting.command import Command
from ..remoting.headers import SendMessageRequestHeader, encode_v1, encode_v2
from .errors import ClientError
from .settings import ProducerSettings

COMPRESS_LEVEL = 5

_BATCH_HEAD = struct.Struct(">5i")


class Draft:
    """A prepared message. All its attempts have the same body, unique key and header, except for queue and time.

    `trailing`: see `properties_text`.
    """

    __slots__ = ("body", "code", "header", "message")

    def __init__(
        self, message: Message, producer_group: str, settings: ProducerSettings, *, batch: bool = False, trailing: bool = False
    ) -> None:
        self.message = message
        self.code = request_code(settings, batch=batch)
        self.body, compressed = message.body, 0
        if not batch:
            self.body, compressed = compress(message.body, settings.compress_msg_body_over_howmuch)
        reconsume_times, max_reconsume_times, properties = move_reconsume_times(message)
        self.header = SendMessageRequestHeader(
            producer_group,
            message.topic,
            settings.create_topic_key,
            settings.default_topic_queue_nums,
            0,
            compressed | transaction_flag(message),
            0,
            message.flag,
            properties_text(properties, trailing=trailing),
            reconsume_times,
            settings.unit_mode,
            max_reconsume_times,
            batch,
        )

    def request(self, queue_id: int, now: int) -> Command:
        """Return the request of one attempt; `now` is its bornTimestamp (ms)."""
        header = self.header
        header.queue_id = queue_id
        header.born_timestamp = now
        return Command(self.code, encode_v1(header) if self.code == SEND_MESSAGE else encode_v2(header), self.body)


def request_code(settings: ProducerSettings, *, batch: bool) -> int:
    """Return 320 for a batch, 310 for a single message, 10 for one with full field names (CLI-35)."""
    if batch:
        return SEND_BATCH_MESSAGE
    return SEND_MESSAGE_V2 if settings.send_smart_msg else SEND_MESSAGE


def compress(body: bytes | None, at_least: int) -> tuple[bytes | None, int]:
    """Return the body to send, and COMPRESSED if it was long enough and became shorter (CLI-34)."""
    if body is not None and len(body) >= at_least:
        shorter = zlib.compress(body, COMPRESS_LEVEL)
        if len(shorter) < len(body):
            return shorter, COMPRESSED
    return body, 0


def transaction_flag(message: Message) -> int:
    """Return PREPARED for a half message, else 0 (CLI-34)."""
    return PREPARED if parse_boolean(message.properties.get(TRAN_MSG)) else 0


def move_reconsume_times(message: Message) -> tuple[int, int | None, dict[str, str]]:
    """Return both counts of a message to a retry topic, for the header, and the properties without them (CLI-34).

    For other topics, return 0, None and all properties. Raises JavaError for a malformed count.
    """
    if not message.topic.startswith(RETRY_PREFIX):
        return 0, None, message.properties
    others = dict(message.properties)
    times, limit = others.pop(RECONSUME_TIME, None), others.pop(MAX_RECONSUME_TIMES, None)
    return 0 if times is None else parse_int(times), None if limit is None else parse_int(limit), others


def batch_of(messages: Sequence[Message], unique_id: Callable[[], str], *, trailing: bool = False) -> Message:
    """Return one message whose body consists of these messages (CLI-35). `trailing`: see `properties_text`.

    Each message has a unique key, the batch has none. The batch contains only WAIT, which must be equal in all messages. Raises ClientError
    for messages that cannot be sent together, JavaError for a malformed delay level.
    """
    if not messages:
        raise ClientError("messages must not be null or empty")
    first = messages[0]
    for message in messages:
        if parse_int(message.properties.get(DELAY, "0")) > 0:
            raise ClientError("TimeDelayLevel is not supported for batching")
        if message.topic.startswith(RETRY_PREFIX):
            raise ClientError("Retry Group is not supported for batching")
        if message.topic != first.topic:
            raise ClientError("The topic of the messages in one batch should be the same")
        if message.waits != first.waits:
            raise ClientError("The waitStoreMsgOK of the messages in one batch should the same")
        message.properties.setdefault(UNIQ_KEY, unique_id())
    body = b"".join(_batch_entry(message, trailing=trailing) for message in messages)
    return Message(first.topic, body=body, properties={WAIT: boolean_text(first.waits)})


def _batch_entry(message: Message, *, trailing: bool) -> bytes:
    """Return total size, magic, CRC, flag, body with its size, properties with their size. Magic and CRC are 0."""
    body = message.body or b""
    properties = utf8(properties_text(message.properties, trailing=trailing))
    size = _BATCH_HEAD.size + len(body) + 2 + len(properties)
    return _BATCH_HEAD.pack(size, 0, 0, message.flag, len(body)) + body + struct.pack(">h", len(properties)) + properties
