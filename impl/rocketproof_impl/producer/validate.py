"""The client's checks before anything is sent: names of groups and topics, and bodies (CLI-04, CLI-08 to CLI-12)."""

from __future__ import annotations

from rocketproof_protocol.codes import MESSAGE_ILLEGAL
from rocketproof_protocol.topics import LEGAL, SYSTEM_TOPICS

from ..java import length
from ..message import Message
from ..names import is_blank
from .errors import ClientError

GROUP_MAX_LENGTH = 255
TOPIC_MAX_LENGTH = 127
DEFAULT_PRODUCER = "DEFAULT_PRODUCER"
CLIENT_INNER_PRODUCER = "CLIENT_INNER_PRODUCER"
ALLOWED = "^[%|a-zA-Z0-9_-]+$"


def is_legal(name: str) -> bool:
    """Return whether all characters of the name are allowed (CLI-11)."""
    return LEGAL.fullmatch(name) is not None


def check_group(group: str | None) -> None:
    """Raise ClientError for an illegal producer group (CLI-04)."""
    if group is None or is_blank(group):
        raise ClientError("the specified group is blank")
    if length(group) > GROUP_MAX_LENGTH:
        raise ClientError(f"the specified group is longer than group max length {GROUP_MAX_LENGTH}.")
    if not is_legal(group):
        raise ClientError(f"the specified group[{group}] contains illegal characters, allowing only {ALLOWED}")
    for name in (DEFAULT_PRODUCER, CLIENT_INNER_PRODUCER):
        if group == name:
            raise ClientError(f"producerGroup can not equal {name}, please specify another one.")


def check_topic(topic: str | None) -> None:
    """Raise ClientError for an illegal topic (CLI-09). System topics are illegal; the comparison is case-sensitive (CLI-10)."""
    if topic is None or is_blank(topic):
        raise ClientError("The specified topic is blank")
    if not is_legal(topic):
        raise ClientError(f"The specified topic[{topic}] contains illegal characters, allowing only {ALLOWED}")
    if length(topic) > TOPIC_MAX_LENGTH:
        raise ClientError(f"The specified topic is longer than topic max length {TOPIC_MAX_LENGTH}.")
    if topic in SYSTEM_TOPICS:
        raise ClientError(f"The topic[{topic}] is conflict with system topic.")


def check_message(message: Message | None, max_message_size: int) -> Message:
    """Return the message. Raises ClientError, with code MESSAGE_ILLEGAL unless the topic is illegal (CLI-12)."""
    if message is None:
        raise ClientError("the message is null", MESSAGE_ILLEGAL)
    check_topic(message.topic)
    body = message.body
    if body is None:
        raise ClientError("the message body is null", MESSAGE_ILLEGAL)
    if len(body) == 0:
        raise ClientError("the message body length is zero", MESSAGE_ILLEGAL)
    if len(body) > max_message_size:
        raise ClientError(f"the message body size over max value, MAX: {max_message_size}", MESSAGE_ILLEGAL)
    return message
