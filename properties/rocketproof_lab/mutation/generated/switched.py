"""Changes that releases have made: the implementation with one switch of its profile set to another release's value.

They were not chosen to be found. The judges use the original profile and therefore notice them as they would notice such a release.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from rocketproof_profiles import PROFILES, Profile
from rocketproof_profiles.differing import SwitchChange, changed, changes, distance, shown

from ..mutant import Mutant
from ..patch import Ready
from .sampling import GeneratedMutant

PART: Final = "releases"


@dataclass(frozen=True, kw_only=True)
class SwitchMutant(Mutant):
    """A switch of a profile with another value. Every program may notice it."""

    profile: str
    change: SwitchChange
    module = "profiles"
    lines = None

    def ready(self) -> Ready:
        return _Served(self.profile, changed(PROFILES[self.profile], [self.change]))


WireMutant = GeneratedMutant | SwitchMutant
"""A mutant that a validation must notice."""


def switch_mutant(profile: str, change: SwitchChange) -> SwitchMutant:
    """Return the mutant of a profile with this change."""
    before, after = shown(getattr(PROFILES[profile], change.switch)) or "none", shown(change.value) or "none"
    return SwitchMutant(
        id=f"{change.switch} {before} → {after}", source="generated", part=PART, place=change.switch, kind="switch",
        before=before, after=after, profile=profile, change=change,
    )  # fmt: skip


class _Served(Ready):
    """Replaces the profile with this name within the context."""

    def __init__(self, name: str, other: Profile) -> None:
        super().__init__()
        self._name, self._other = name, other

    @contextmanager
    def applied(self, reached: Callable[[str], None] = lambda name: None) -> Iterator[None]:
        del reached
        before = PROFILES[self._name]
        PROFILES[self._name] = self._other
        try:
            yield
        finally:
            PROFILES[self._name] = before


def sample(profile: str, count: int, seed: int) -> list[SwitchMutant]:
    """Return `count` switches of a profile chosen by the seed, each with the value of the nearest release that differs."""
    own, nearest = PROFILES[profile], dict[str, SwitchChange]()
    for switch_change in sorted(changes(own), key=lambda change: distance(own, change)):
        nearest.setdefault(switch_change.switch, switch_change)
    drawn = random.Random(seed).sample(sorted(nearest), min(count, len(nearest)))
    return [switch_mutant(profile, nearest[switch]) for switch in sorted(drawn)]
