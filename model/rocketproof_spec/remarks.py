"""The remarks with which the specification's refusals of a send are answered: they tell apart what has one code."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from rocketproof_protocol import remarks

REMARKS: Final[Mapping[str, str]] = {
    "refuse_order_topic": remarks.NO_WRITING,
    "refuse_blank": remarks.BLANK,
    "refuse_characters": remarks.ILLEGAL,
    "refuse_length": remarks.LONG,
    "refuse_forbidden": remarks.FORBIDDEN,
    "refuse_template": remarks.RESERVED,
    "refuse_queue": remarks.QUEUE_ILLEGAL,
    "divide_by_zero": remarks.BY_ZERO,
    "topic_not_exist": remarks.NOT_EXIST,
}
"""By the action that refuses, how its remark begins; `{}` stands for any text. Other refusals have no remark of their own."""

_PATTERNS: Final = {action: re.compile(".*".join(map(re.escape, text.split("{}"))), re.DOTALL) for action, text in REMARKS.items()}


def remarked(remark: str) -> frozenset[str]:
    """The actions that are answered with a remark like this, none where it is no refusal's own."""
    return frozenset(action for action, pattern in _PATTERNS.items() if pattern.match(remark))


__all__ = ["REMARKS", "remarked"]
