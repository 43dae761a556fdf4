"""The bugs, as `bugs.toml` has them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, Final

from ...reports.choices import known

if TYPE_CHECKING:
    from ...judging.judging import ProgramFinding

HAZARD: Final = "HAZ-"


@dataclass(frozen=True)
class Bug:
    """A bug. `bad` and `good` are releases that can be started, "" where there is none. `breaks`: the properties and rules that it breaks;
    `shows`: patterns of what a validation's finding is called where the bug is seen; `says` a regular expression that is found in its
    words or in its condition. Any finding else is not this bug. `profile`: by which it is seen, where that is not the one of `good`.
    `faults`: the kinds of faults of the machine that it takes. A hazard among the `shows` is that whose witness of the model shows it,
    which a validation replays. `against`: no profile describes the two releases, so that they are compared, and a finding is what differs.
    """

    id: str
    issue: str
    cause: str
    bad: str
    good: str
    breaks: tuple[str, ...]
    shows: tuple[str, ...]
    says: str = ""
    profile: str = ""
    faults: tuple[str, ...] = ()
    against: bool = False

    @property
    def category(self) -> str:
        """A: on one machine, within a minute; B: a fault of the machine, or what a loss of power leaves, is needed; C: a slave is."""
        return self.id[0]

    @property
    def how(self) -> str:
        """How it is found: by search, with the programs of a validation, or with these beside the release that has it not; by faults of the
        machine under load; by a witness, which the model's search has found and a validation replays; or by a script alone."""
        if not self.shows:
            return "script"
        if self.against:
            return "against"
        if self.faults:
            return "faults"
        return "witness" if all(pattern.startswith(HAZARD) for pattern in self.shows) else "search"

    def fits(self, found: ProgramFinding) -> bool:
        """Whether a finding may be the bug."""
        return self.matches(found.property, f"{found.text} {found.condition}")

    def matches(self, name: str, text: str) -> bool:
        """Whether what is called so, in these words, may be the bug."""
        return any(fnmatchcase(name, pattern) for pattern in self.shows) and re.search(self.says, text) is not None

    def record(self) -> dict[str, Any]:
        return {
            **vars(self),
            "breaks": list(self.breaks),
            "shows": list(self.shows),
            "faults": list(self.faults),
            "category": self.category,
            "how": self.how,
        }


@cache
def bugs() -> tuple[Bug, ...]:
    """All of them, in the order of their ids."""
    rows = tomllib.loads(resources.files("rocketproof_properties.validation.knownbugs").joinpath("bugs.toml").read_text("utf-8"))["bugs"]
    return tuple(
        Bug(**{**row, "breaks": tuple(row["breaks"].split()), "shows": tuple(row["shows"].split()), "faults": tuple(row.get("faults", ()))})
        for row in rows
    )


def chosen(ids: Sequence[str]) -> tuple[Bug, ...]:
    """The bugs with these ids, all for none. Raises InputError for one that there is not."""
    by = {one.id: one for one in bugs()}
    return tuple(by[known("bug", id_, by)] for id_ in ids) or bugs()
