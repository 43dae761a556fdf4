"""What groups tell of queues and ask (requests 15 and 14), as their headers say it."""

from __future__ import annotations

from collections.abc import Mapping

from rocketproof_profiles import Profile
from rocketproof_protocol.flags import PULL_COMMITS_OFFSET
from rocketproof_protocol.numbers import java_boolean, java_int, java_long
from rocketproof_spec.scope import LARGEST_OFFSET

from ..history.exchange import Exchange
from ..history.exchanges import JUDGED, PROGRESS
from .ways import PLACING

_READING = ("min_offset", "search", "earliest", "find", "view", "topics", "groups", "settings", "stats")
HEARD = frozenset((*JUDGED, *PLACING, *PROGRESS, *_READING, "heartbeat", "consumer", "leave"))
"""Requests by which no group's offset changes but as the specification says."""


def named(one: Exchange, name: str) -> str:
    """A name in a header as brokers join it with others."""
    value = one.fields.get(name)
    return "null" if value is None else str(value)


def place_of(one: Exchange) -> tuple[str, int]:
    """What a group tells of a queue, as its broker keeps it: by topic and group in one name, and queue."""
    return f"{named(one, 'topic')}@{named(one, 'consumerGroup')}", one.number("queueId")


def is_of(place: tuple[str, int], group: str) -> bool:
    """Whether a broker that forgets a group's offsets takes this for one of them."""
    return place[0].split("@")[1:] == [group]


def is_in(place: tuple[str, int], topic: str) -> bool:
    """Whether a broker that forgets what it was told of a topic takes this for told of it."""
    return place[0].split("@")[:-1] == [topic]


def numbers(one: Exchange) -> list[object]:
    """What the header has where a request tells numbers, None where it has nothing."""
    return [one.fields.get(name) for name in ("queueId", "commitOffset")[: 2 if one.op == "commit" else 1]]


def are_read(told: list[object]) -> bool:
    """Whether these are numbers, as far as they are there, and none that is too large."""
    found = ((java_long(str(each)), limit) for each, limit in zip(told, (1 << 31, LARGEST_OFFSET), strict=False) if each is not None)
    return all(number is not None and -limit <= number < limit for number, limit in found)


TOLD_BY_FIELDS = ("pull", "delete_group", *PROGRESS)
"""Requests whose header says whether they do."""


def forgets(one: Exchange, profile: Profile) -> bool:
    """Whether a request deletes a group and its offsets."""
    return one.op == "delete_group" and java_boolean(str(one.fields.get(profile.clean_offsets, "")))


def tells_unheard(op: str, fields: Mapping[str, str]) -> bool:
    """Whether a request may change offsets of groups though no part of a concurrent history is judged with it: a pull that tells one, a
    group that is deleted with its offsets, whatever nobody knows, and what is kept under a name that may be another's, too."""
    if op == "pull":
        flags = java_int(str(fields.get("sysFlag", "")))
        return flags is None or bool(flags & PULL_COMMITS_OFFSET)
    if op == "delete_group":
        return any(java_boolean(str(fields.get(name, ""))) for name in ("removeOffset", "cleanOffset"))
    if op in PROGRESS:
        return "@" in f"{fields.get('topic')}{fields.get('consumerGroup')}"
    return op not in HEARD


__all__ = ["PROGRESS", "TOLD_BY_FIELDS", "are_read", "forgets", "is_in", "is_of", "named", "numbers", "place_of", "tells_unheard"]
