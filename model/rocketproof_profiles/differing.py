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
    """A switch's value as a report has it."""
    return ", ".join(sorted(value)) or "none" if isinstance(value, frozenset) else str(value)


@cache
def values() -> dict[str, tuple[Any, ...]]:
    """Every switch with the values that some profile has; one that is true or false has both."""
    found = {}
    for name in SWITCHES:
        known = dict.fromkeys(getattr(profile, name) for profile in PROFILES.values())
        found[name] = (True, False) if set(known) <= {True, False} else tuple(known)
    return found


def changes(profile: Profile) -> list[SwitchChange]:
    """All switches with all values that the profile does not have."""
    return [SwitchChange(name, value) for name, all_ in values().items() for value in all_ if value != getattr(profile, name)]


def distance(profile: Profile, change: SwitchChange) -> int:
    """How far from the profile's the value is, in the order of the profiles that have them: releases beside each other are alike."""
    all_ = values()[change.switch]
    return abs(all_.index(change.value) - all_.index(getattr(profile, change.switch)))


def changed(profile: Profile, given: Sequence[SwitchChange]) -> Profile:
    """The profile with other values; without any it is the same one."""
    return replace(profile, **{one.switch: one.value for one in given}) if given else profile


def watched(profile: Profile) -> tuple[Profile, set[str]]:
    """The same profile, and the names of its switches that were read since: whoever reads no others does the same under any profile that
    agrees in these. What reads a profile's switches before, such as a cache, is not seen."""
    read: set[str] = set()

    class Watched(Profile):
        def __getattribute__(self, name: str) -> Any:
            if name in SWITCHES:
                read.add(name)
            return object.__getattribute__(self, name)

    found = object.__new__(Watched)
    found.__dict__.update(vars(profile))
    return found, read
