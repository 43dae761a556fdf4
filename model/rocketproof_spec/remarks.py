"""The remarks of the specification's refusals of a send. They distinguish refusals with the same code."""

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
"""The beginning of the remark of each refusing action. `{}` stands for any text. Other refusals have no specific remark."""

_PATTERNS: Final = {action: re.compile(".*".join(map(re.escape, text.split("{}"))), re.DOTALL) for action, text in REMARKS.items()}


def remarked(remark: str) -> frozenset[str]:
    """Return the actions whose remark matches, or an empty set if the remark belongs to no refusal."""
    return frozenset(action for action, pattern in _PATTERNS.items() if pattern.match(remark))


__all__ = ["REMARKS", "remarked"]
