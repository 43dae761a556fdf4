"""Names of topics and groups: what a broker accepts (CHK-02, DLQ-02)."""

from __future__ import annotations

from rocketproof_profiles import Profile
from rocketproof_protocol.remarks import BLANK, GROUP_BLANK, GROUP_ILLEGAL, GROUP_LONG, ILLEGAL, ILLEGAL_NAMED, LONG, LONG_NAMED
from rocketproof_protocol.topics import LEGAL

from .java import length

_NOT_JAVA_WHITESPACE = "\x85\xa0\u2007\u202f"


def is_blank(text: str | None) -> bool:
    """StringUtils.isBlank: None, empty, or nothing but what Java calls whitespace."""
    return not text or (text.isspace() and not any(char in _NOT_JAVA_WHITESPACE for char in text))


def is_group_illegal(group: str, limit: int) -> bool:
    """Whether later profiles refuse to make a consumer group of this name: a look-up takes an empty one, unlike an administrator."""
    return group != "" and group_problem(group, limit) is not None


def group_problem(group: str, limit: int) -> str | None:
    """Why a name is not legal for a group that an administrator makes: blank, characters, length, in this order (DLQ-02)."""
    if is_blank(group):
        return GROUP_BLANK
    if LEGAL.fullmatch(group) is None:
        return GROUP_ILLEGAL.format(group)
    return GROUP_LONG.format(group, limit) if length(group) > limit else None


def topic_problem(topic: str, profile: Profile) -> str | None:
    """Why a name is not legal for a topic: blank, characters, length, in this order (CHK-02). The whole name has to match."""
    if is_blank(topic):
        return BLANK
    if LEGAL.fullmatch(topic) is None:
        return ILLEGAL_NAMED.format(topic) if profile.names_illegal_topic else ILLEGAL
    if length(topic) > profile.longest(topic):
        return LONG_NAMED.format(topic, profile.longest(topic)) if profile.names_illegal_topic else LONG
    return None
