"""Profiles that differ in single switches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

from . import PROFILES, Profile
from .switches import SWITCHES


class SwitchChange(NamedTuple):
    """A switch with another value."""

    switch: str
    value: Any

    def __str__(self) -> str:
        return f"{self.switch} = {shown(self.value)}"


def shown(value: Any) -> str:
    """Return a switch's value as a report shows it."""
    return ", ".join(sorted(value)) or "none" if isinstance(value, frozenset) else str(value)


@cache
def values() -> dict[str, tuple[Any, ...]]:
    """Return every switch with the values of all profiles. A boolean switch has both values."""
    table = {}
    for name in SWITCHES:
        used = dict.fromkeys(getattr(profile, name) for profile in PROFILES.values())
        table[name] = (True, False) if set(used) <= {True, False} else tuple(used)
    return table


def changes(profile: Profile) -> list[SwitchChange]:
    """Return all switches with each value that the profile does not have."""
    return [SwitchChange(name, value) for name, known in values().items() for value in known if value != getattr(profile, name)]


def distance(profile: Profile, change: SwitchChange) -> int:
    """Return the distance of the new value from the profile's, in the order of `values()`: neighbouring releases are similar."""
    known = values()[change.switch]
    return abs(known.index(change.value) - known.index(getattr(profile, change.switch)))


def changed(profile: Profile, switch_changes: Sequence[SwitchChange]) -> Profile:
    """Return the profile with other values. Without changes it is the same object."""
    return replace(profile, **{change.switch: change.value for change in switch_changes}) if switch_changes else profile


def watched(profile: Profile) -> tuple[Profile, set[str]]:
    """Return a copy of the profile, and a set that collects the names of the switches that are read from the copy.

    A reader behaves the same under any profile that agrees in these switches. Earlier reads, for example by a cache, are not recorded.
    """
    read: set[str] = set()

    class WatchedProfile(Profile):
        def __getattribute__(self, name: str) -> Any:
            if name in SWITCHES:
                read.add(name)
            return object.__getattribute__(self, name)

    copy = object.__new__(WatchedProfile)
    copy.__dict__.update(vars(profile))
    return copy, read
