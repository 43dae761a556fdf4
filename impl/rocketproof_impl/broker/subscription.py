"""A consumer's subscription to a topic: its tags and its version (FilterAPI, SubscriptionData)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rocketproof_protocol.numbers import whole_number

from ..java import string_hash, wrap

TAG = "TAG"
ALL = "*"


@dataclass(frozen=True, slots=True)
class SubscriptionData:
    """`code_set` contains the hashes of the tags, as consume queue entries do. The client compares the tags themselves."""

    topic: str
    sub_string: str = ALL
    code_set: frozenset[int] = frozenset()
    sub_version: int = 0
    expression_type: str = TAG

    @property
    def by_tag(self) -> bool:
        return self.expression_type == TAG

    def matches(self, tags_code: int | None) -> bool:
        """Return whether a consume queue entry may match; the code None always matches."""
        return tags_code is None or not self.by_tag or self.sub_string == ALL or wrap(tags_code) in self.code_set


def build(topic: str, sub_string: str | None, expression_type: str | None) -> SubscriptionData:
    """Return the subscription of an expression such as `TagA || TagB`. Raises ValueError for a malformed one."""
    if expression_type not in (None, TAG):
        if not sub_string:
            raise ValueError(f"Expression can't be null! {expression_type}")
        return SubscriptionData(topic, sub_string, expression_type=expression_type)
    if not sub_string or sub_string == ALL:
        return SubscriptionData(topic)
    parts = sub_string.split("||")
    if not any(parts):
        raise ValueError("subString split error")
    tags = (part.strip() for part in parts)
    return SubscriptionData(topic, sub_string, frozenset(string_hash(tag) for tag in tags if tag))


def subscription_from_data(data: Any) -> SubscriptionData:
    """Return a subscription of a heartbeat. Raises ValueError, TypeError, KeyError or AttributeError for other shapes."""
    return SubscriptionData(
        data["topic"],
        data.get("subString") or ALL,
        frozenset(whole_number(code) for code in data.get("codeSet") or ()),
        whole_number(data.get("subVersion", 0)),
        data.get("expressionType") or TAG,
    )
