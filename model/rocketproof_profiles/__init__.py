"""Profiles: which release is described, as named switches and their values. This package imports nothing of ours.

P40, P45 and P49 follow the articles that describe RocketMQ 4.0-4.2, 4.3-4.6 and 4.9; P494 is P49 plus what a recorded
4.9.4 does otherwise, each switch with the recorded case that is its reason.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Literal

NameClass = Literal["ordinary", "template", "cluster", "retry", "forbidden", "blank", "illegal", "long"]

TEMPLATE = "TBW102"
RETRY_PREFIX = "%RETRY%"
SCHEDULE = "SCHEDULE_TOPIC_XXXX"


@dataclass(frozen=True)
class Profile:
    """The switches of one release.

    `check_names`: the broker tests blank, characters and length, then `forbidden` (CHK-02, CHK-03); otherwise it refuses
    the template's name and nothing else (CHK-04). `signed_random`: a negative queue id becomes abs(r % 99999999) % write
    with r any int, otherwise u % write with u in 0..99999998 (SEND-22). `reasons`: switch to the case that shows it.
    """

    name: str
    about: str
    check_names: bool
    signed_random: bool
    forbidden: frozenset[str] = frozenset()
    topic_limit: int = 127
    reasons: dict[str, str] = field(default_factory=dict)


_P49 = Profile("P49", "RocketMQ 4.7 to 4.9 as described", True, False, frozenset({SCHEDULE}))

PROFILES: dict[str, Profile] = {
    "P40": Profile("P40", "RocketMQ 4.0 to 4.2 as described", False, True),
    "P45": Profile("P45", "RocketMQ 4.3 to 4.6 as described", False, True),
    "P49": _P49,
    "P494": replace(
        _P49,
        name="P494",
        about="RocketMQ 4.9.4 as recorded",
        forbidden=frozenset(
            {
                SCHEDULE,
                "RMQ_SYS_TRANS_HALF_TOPIC",
                "RMQ_SYS_TRANS_OP_HALF_TOPIC",
                "TRANS_CHECK_MAX_TIME_TOPIC",
                "SELF_TEST_TOPIC",
                "OFFSET_MOVED_EVENT",
            }
        ),
        reasons={"forbidden": "A-136, A-137, A-139, A-140 and A-141: five more system topics are refused with 16"},
    ),
}

_LEGAL = re.compile(r"[%|a-zA-Z0-9_-]+", re.ASCII)


def java_length(text: str) -> int:
    """Length in UTF-16 units, as Java's String.length()."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def classify(name: str | None, profile: Profile) -> NameClass:
    """The class of a topic's name: what the specification knows instead of the text (CHK-02, CHK-03, CHK-04, CHK-06).

    The order is the broker's: blank, characters, length, forbidden. Profiles without name checks know only the template
    and retry names. "cluster" is a role in a scope, never a result.
    """
    if profile.check_names:
        if name is None or not name.strip():
            return "blank"
        if not _LEGAL.fullmatch(name):
            return "illegal"
        if java_length(name) > profile.topic_limit:
            return "long"
        if name in profile.forbidden:
            return "forbidden"
    if name == TEMPLATE:
        return "template"
    if name is not None and name.startswith(RETRY_PREFIX):
        return "retry"
    return "ordinary"
