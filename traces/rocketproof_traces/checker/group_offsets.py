"""Group offsets as requests name them in their headers: commits and queries of offsets (requests 15 and 14)."""

from __future__ import annotations

from collections.abc import Mapping

from rocketproof_profiles import Profile
from rocketproof_protocol.flags import PULL_COMMITS_OFFSET
from rocketproof_protocol.numbers import java_boolean, java_int, java_long
from rocketproof_spec.scope import LARGEST_OFFSET

from ..history.exchange import Exchange
from ..history.exchanges import JUDGED, PROGRESS, QUERIES
from .placement import PLACEMENT_OPS

MODELLED = frozenset((*JUDGED, *PLACEMENT_OPS, *PROGRESS, *QUERIES, "heartbeat", "leave", "lock", "unlock"))
"""Requests that change no group's offset except as the specification describes."""


def named(exchange: Exchange, name: str) -> str:
    """Return a name in a header, as brokers combine it with others."""
    value = exchange.fields.get(name)
    return "null" if value is None else str(value)


def offset_key(exchange: Exchange) -> tuple[str, int]:
    """Return the key under which a broker stores a group's offset: topic and group in one name, and the queue."""
    return f"{named(exchange, 'topic')}@{named(exchange, 'consumerGroup')}", exchange.number("queueId")


def belongs_to_group(key: tuple[str, int], group: str) -> bool:
    """Whether a broker that deletes a group's offsets regards this key as one of the group's."""
    return key[0].split("@")[1:] == [group]


def belongs_to_topic(key: tuple[str, int], topic: str) -> bool:
    """Whether a broker that deletes a topic's offsets regards this key as one of the topic's."""
    return key[0].split("@")[:-1] == [topic]


def numbers(exchange: Exchange) -> list[object]:
    """Return the header's queue and, for a commit, its offset; None for a missing field."""
    return [exchange.fields.get(name) for name in ("queueId", "commitOffset")[: 2 if exchange.op == "commit" else 1]]


def are_readable(values: list[object]) -> bool:
    """Whether the numbers that are present decode and none is too large."""
    decoded = ((java_long(str(each)), limit) for each, limit in zip(values, (1 << 31, LARGEST_OFFSET), strict=False) if each is not None)
    return all(number is not None and -limit <= number < limit for number, limit in decoded)


DECIDED_BY_FIELDS = ("pull", "delete_group", *PROGRESS)
"""Requests for which the header decides whether they change offsets."""


def forgets(exchange: Exchange, profile: Profile) -> bool:
    """Whether a request deletes a group and its offsets."""
    return exchange.op == "delete_group" and java_boolean(str(exchange.fields.get(profile.clean_offsets, "")))


def changes_offsets_unseen(op: str, fields: Mapping[str, str]) -> bool:
    """Whether a request may change offsets of groups although no partition of a concurrent history includes it.

    - A pull that commits an offset, or the deletion of a group with its offsets.
    - A request that the specification does not cover.
    - A commit under a name that may belong to another group.
    """
    if op == "pull":
        flags = java_int(str(fields.get("sysFlag", "")))
        return flags is None or bool(flags & PULL_COMMITS_OFFSET)
    if op == "delete_group":
        return any(java_boolean(str(fields.get(name, ""))) for name in ("removeOffset", "cleanOffset"))
    if op in PROGRESS:
        return "@" in f"{fields.get('topic')}{fields.get('consumerGroup')}"
    return op not in MODELLED


__all__ = [
    "PROGRESS",
    "DECIDED_BY_FIELDS",
    "are_readable",
    "forgets",
    "belongs_to_topic",
    "belongs_to_group",
    "named",
    "numbers",
    "offset_key",
    "changes_offsets_unseen",
]
