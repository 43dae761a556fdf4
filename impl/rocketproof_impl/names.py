"""Names of topics and groups: which ones a broker accepts (CHK-02, DLQ-02)."""

from __future__ import annotations

from rocketproof_profiles import Profile
from rocketproof_protocol.remarks import BLANK, GROUP_BLANK, GROUP_ILLEGAL, GROUP_LONG, ILLEGAL, ILLEGAL_NAMED, LONG, LONG_NAMED
from rocketproof_protocol.topics import LEGAL, SYSTEM_PREFIX, SYSTEM_TOPICS

from .java import length

_NOT_JAVA_WHITESPACE = "\x85\xa0\u2007\u202f"


def is_blank(text: str | None) -> bool:
    """StringUtils.isBlank: None, empty, or only characters that Java counts as whitespace."""
    return not text or (text.isspace() and not any(char in _NOT_JAVA_WHITESPACE for char in text))


def is_group_illegal(group: str, limit: int) -> bool:
    """Return whether later profiles refuse to create a consumer group with this name.

    An empty name is accepted here; `group_problem` rejects it for administrators.
    """
    return group != "" and group_problem(group, limit) is not None


def group_problem(group: str, limit: int) -> str | None:
    """Return the remark that rejects a name of a group created by an administrator, or None.

    Checked in this order: blank, illegal characters, length (DLQ-02).
    """
    if is_blank(group):
        return GROUP_BLANK
    if LEGAL.fullmatch(group) is None:
        return GROUP_ILLEGAL.format(group)
    return GROUP_LONG.format(group, limit) if length(group) > limit else None


def topic_problem(topic: str, profile: Profile) -> str | None:
    """Return the remark that rejects a topic name, or None if it is legal.

    Checked in this order: blank, illegal characters, length (CHK-02). The pattern must match the whole name.
    """
    if is_blank(topic):
        return BLANK
    if LEGAL.fullmatch(topic) is None:
        return ILLEGAL_NAMED.format(topic) if profile.names_illegal_topic else ILLEGAL
    if length(topic) > profile.longest(topic):
        return LONG_NAMED.format(topic, profile.longest(topic)) if profile.names_illegal_topic else LONG
    return None


def is_system_name(topic: str) -> bool:
    """Return whether the name of a topic, or its prefix, is reserved for brokers (TCM-31)."""
    return topic in SYSTEM_TOPICS or topic.startswith(SYSTEM_PREFIX)
