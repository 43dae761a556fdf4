"""Profiles: the behaviour of a release as named switches and their values. Imports only the names of the wire.

P40, P45 and P49 follow articles about RocketMQ 4.0 to 4.2, 4.3 to 4.6 and 4.7 to 4.9. P494 and P533 add recordings of 4.9.4 and 5.3.3. The
others refine one of these with results of programs on further releases. P494+P533 (or any two names) describes a broker of the first
release with a name server of the second. Read `switches` first: it documents each switch, its values since which profile, and the reason.
`releases` maps releases to profiles.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from rocketproof_protocol.topics import LEGAL, RETRY_PREFIX

from .switches import PAIR, Profile, Profiles, profiles

__all__ = ["PAIR", "PROFILES", "NameClass", "Profile", "classify", "inherited", "java_length", "lineage", "profile_of"]

NameClass = Literal["ordinary", "template", "cluster", "retry", "forbidden", "blank", "illegal", "long"]

PROFILES: Profiles = profiles(
    {
        "P40": ("", "RocketMQ 4.0 to 4.2 as described"),
        "P45": ("P40", "RocketMQ 4.3 to 4.6 as described"),
        "P49": ("P45", "RocketMQ 4.7 to 4.9 as described"),
        "P494": ("P49", "RocketMQ 4.9.4 as recorded"),
        "P533": ("P494", "RocketMQ 5.3.3 as recorded"),
        "P493": ("P494", "RocketMQ 4.9.3, by programs: what it answers otherwise than 4.9.4"),
        "P492": ("P493", "RocketMQ 4.9.2, by programs: what it answers otherwise than 4.9.3"),
        "P452": ("P45", "RocketMQ 4.5.0 to 4.5.2, by programs: what they do otherwise than described"),
        "P440": ("P452", "RocketMQ 4.4.0, by programs: what it does otherwise than 4.5.0"),
        "P432": ("P440", "RocketMQ 4.3.1 and 4.3.2, by programs: what they do otherwise than 4.4.0"),
        "P430": ("P432", "RocketMQ 4.3.0, by programs: what it does otherwise than 4.3.1"),
        "P420": ("P432", "RocketMQ 4.2.0, by programs: what it does otherwise than 4.3.1"),
        "P410": ("P420", "RocketMQ 4.1.0, by programs: what it does otherwise than 4.2.0"),
        "P491": ("P492", "RocketMQ 4.9.1, by programs: what it does otherwise than 4.9.2"),
        "P490": ("P491", "RocketMQ 4.9.0, by programs: what it does otherwise than 4.9.1"),
        "P480": ("P490", "RocketMQ 4.8.0, by programs: what it does otherwise than 4.9.0"),
        "P471": ("P480", "RocketMQ 4.7.1, by programs: what it does otherwise than 4.8.0"),
        "P470": ("P471", "RocketMQ 4.7.0, by programs: what it does otherwise than 4.7.1"),
        "P461": ("P470", "RocketMQ 4.6.1, by programs: what it does otherwise than 4.7.0"),
        "P460": ("P461", "RocketMQ 4.6.0, by programs: what it does otherwise than 4.6.1"),
        "P520": ("P533", "RocketMQ 5.2.0, by programs: what it answers otherwise than 5.3.3"),
        "P514": ("P520", "RocketMQ 5.1.4, by programs: what it answers otherwise than 5.2.0"),
        "P511": ("P514", "RocketMQ 5.1.1, by programs: what it does otherwise than 5.1.4"),
        "P510": ("P511", "RocketMQ 5.1.0, by programs: what it does otherwise than 5.1.1"),
        "P500": ("P510", "RocketMQ 5.0.0, by programs: what it does otherwise than 5.1.0"),
        "P540": ("P533", "RocketMQ 5.4.0, by programs: what it answers otherwise than 5.3.3"),
        "P550": ("P540", "RocketMQ 5.5.0, by programs: what it does otherwise than 5.4.0"),
    }
)


def lineage(name: str) -> tuple[str, ...]:
    """Return the profile's name, followed by the names of the profiles that it refines, the nearest first."""
    base = PROFILES[name].base
    return (name, *(lineage(base) if base else ()))


def inherited(values: Mapping[str, str], name: str) -> str:
    """Return a profile's value in a table by profiles: its own, else the value of the nearest profile that it refines, else ""."""
    return next((values[profile] for profile in lineage(name) if profile in values), "")


def profile_of(named: Profile | str) -> Profile:
    """Return the profile with this name. A profile is returned as it is. Raises ValueError for an unknown name."""
    if isinstance(named, Profile):
        return named
    if named not in PROFILES:
        raise ValueError(f"unknown profile {named!r}: use {', '.join(PROFILES)}")
    return PROFILES[named]


def java_length(text: str) -> int:
    """Length in UTF-16 units, as Java's String.length()."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def classify(name: str | None, profile: Profile) -> NameClass:
    """Return the class of a topic's name, which is all that the specification knows of it (CHK-02, CHK-03, CHK-04, CHK-06).

    The order is the broker's: blank, characters, length, forbidden. Profiles without name checks distinguish only template and retry names.
    "cluster" is a role in a scope, and never returned.
    """
    if profile.check_names:
        if name is None or not name.strip():
            return "blank"
        if not LEGAL.fullmatch(name):
            return "illegal"
        if java_length(name) > profile.longest(name):
            return "long"
        if name in profile.forbidden:
            return "forbidden"
    if name == profile.template:
        return "template"
    if name is not None and name.startswith(RETRY_PREFIX):
        return "retry"
    return "ordinary"
