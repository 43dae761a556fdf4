"""The remarks of a broker that refuses a send: one text per reason, with `{}` for a name or a number."""

from __future__ import annotations

from typing import Final

BLANK: Final = "The specified topic is blank."
ILLEGAL: Final = "The specified topic contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$"
ILLEGAL_NAMED: Final = "The specified topic: {}, contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$"
LONG: Final = "The specified topic is longer than topic max length."
LONG_NAMED: Final = "The specified topic: {}, is longer than topic max length: {}"
GROUP_BLANK: Final = "The specified group is blank."
GROUP_ILLEGAL: Final = "The specified group: {}, contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$"
GROUP_LONG: Final = "The specified group: {}, is longer than group max length: {}"
CONFLICTING: Final = "The specified topic is conflict with AUTO_CREATE_TOPIC_KEY_TOPIC."
RESERVED: Final = "the topic[{}] is conflict with system reserved words."
FORBIDDEN: Final = "Sending message to topic[{}] is forbidden."
NO_WRITING: Final = "the broker[{}] sending message is forbidden"
NOT_EXIST: Final = "topic[{}] not exist, apply first please!"
QUEUE_ILLEGAL: Final = "request queueId[{}] is illegal"
BY_ZERO: Final = "java.lang.ArithmeticException: / by zero"
