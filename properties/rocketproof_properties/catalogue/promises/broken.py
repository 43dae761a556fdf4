"""Where which release breaks a promise: the documented violations, from `broken.toml` and from the cases of the catalogue.

A violation is known for the releases, and for programs with the condition, that an entry names. It is listed and printed all the same.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Final

from rocketproof_profiles import PAIR, lineage
from rocketproof_profiles.releases import LINES

_LINES: Final = {line.name: number for number, line in enumerate(LINES)}


@dataclass(frozen=True)
class KnownBreach:
    """A documented violation of a promise.

    - `first`, `last`: the release lines with the violation, inclusive.
    - `condition`: the condition of a program, as in the catalogue's cases; "" for any program.
    - `bug`: the known bug's id, "" without one. `reason`: the cause in one sentence.
    - `program`: the smallest program that shows it.
    - `measured`: the program of a bug report by which the range was measured, "" if it was not.
    """

    promise: str
    first: str
    last: str
    reason: str
    condition: str = ""
    bug: str = ""
    program: tuple[tuple[str, dict[str, Any]], ...] = ()
    measured: str = ""

    @property
    def lines(self) -> range:
        """The numbers of the release lines."""
        return range(_LINES[self.first], _LINES[self.last] + 1)


@cache
def breaches() -> tuple[KnownBreach, ...]:
    """Return the entries of `broken.toml`. Raises KeyError for an unknown release line."""
    text = resources.files("rocketproof_properties.catalogue.promises").joinpath("broken.toml").read_text("utf-8")
    rows = tomllib.loads(text)["broken"]
    return tuple(KnownBreach(**{**row, "program": tuple((name, args) for name, args in row.get("program", ()))}) for row in rows)


@cache
def line_number(profile: str) -> int:
    """Return the number of a profile's release line; for a profile without one, the number of the first line whose profile refines it."""
    name = profile.partition(PAIR)[0]
    own = [number for number, line in enumerate(LINES) if line.profile == name]
    return own[0] if own else next(number for number, line in enumerate(LINES) if name in lineage(line.profile)[1:])


def known_breach(promise: str, profile: str, conditions: Collection[str]) -> KnownBreach | None:
    """Return the entry that documents a violation by a program with these conditions, None if it is a finding."""
    number = line_number(profile)
    mine = (entry for entry in breaches() if entry.promise == promise and number in entry.lines)
    return next((entry for entry in mine if entry.condition in ("", *conditions)), None)
