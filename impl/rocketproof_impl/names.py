"""Names of topics: what a broker accepts, and which names are its own (CHK-02)."""

from __future__ import annotations

import re

from .java import length

LEGAL = re.compile(r"[%|a-zA-Z0-9_-]+", re.ASCII)
BLANK = "The specified topic is blank."
ILLEGAL = "The specified topic contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$"
LONG = "The specified topic is longer than topic max length."

SYSTEM_TOPICS = frozenset(
    {
        "TBW102",
        "SCHEDULE_TOPIC_XXXX",
        "BenchmarkTest",
        "RMQ_SYS_TRANS_HALF_TOPIC",
        "RMQ_SYS_TRACE_TOPIC",
        "RMQ_SYS_TRANS_OP_HALF_TOPIC",
        "TRANS_CHECK_MAX_TIME_TOPIC",
        "SELF_TEST_TOPIC",
        "OFFSET_MOVED_EVENT",
    }
)
SYSTEM_PREFIX = "rmq_sys_"

_NOT_JAVA_WHITESPACE = "\x85\xa0\u2007\u202f"


def is_blank(text: str | None) -> bool:
    """StringUtils.isBlank: None, empty, or nothing but what Java calls whitespace."""
    return not text or (text.isspace() and not any(char in _NOT_JAVA_WHITESPACE for char in text))


def topic_problem(topic: str, limit: int) -> str | None:
    """Why a name is no topic's: blank, characters, length, in this order (CHK-02). The whole name has to match."""
    if is_blank(topic):
        return BLANK
    if LEGAL.fullmatch(topic) is None:
        return ILLEGAL
    if length(topic) > limit:
        return LONG
    return None
