"""The known bugs, from `bugs.toml`."""

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
    from ...judging.verdicts import ProgramFinding

HAZARD: Final = "HAZ-"


@dataclass(frozen=True)
class Bug:
    """A known bug.

    - `bad` and `good`: releases with and without the bug that can be started, "" if there is none.
    - `breaks`: the properties and rules that it violates.
    - `shows`: patterns of the properties of a validation's findings that may show it. A hazard among them is shown by its witness, which a
      validation replays.
    - `says`: a regular expression that the finding's text or condition must match. Other findings are not this bug.
    - `profile`: the profile that shows it, if it differs from the profile of `good`.
    - `faults`: the kinds of machine faults that it needs.
    - `against`: no profile describes the two releases, so they are compared, and a finding is a difference.
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
        """A: on one machine, within a minute. B: needs a fault of the machine, or the disk state after a power loss. C: needs a slave."""
        return self.id[0]

    @property
    def how(self) -> str:
        """How the bug is found.

        - `search`: the programs of a validation.
        - `against`: the programs of a validation, compared with the release without the bug.
        - `faults`: machine faults under load.
        - `witness`: a witness of the model that a validation replays.
        - `script`: only a script.
        """
        if not self.shows:
            return "script"
        if self.against:
            return "against"
        if self.faults:
            return "faults"
        return "witness" if all(pattern.startswith(HAZARD) for pattern in self.shows) else "search"

    def fits(self, finding: ProgramFinding) -> bool:
        """Return whether a finding may be the bug."""
        return self.matches(finding.property, f"{finding.text} {finding.condition}")

    def matches(self, name: str, text: str) -> bool:
        """Return whether a finding with this property and text may be the bug."""
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
    """Return all bugs, in the order of their ids."""
    rows = tomllib.loads(resources.files("rocketproof_properties.validation.knownbugs").joinpath("bugs.toml").read_text("utf-8"))["bugs"]
    return tuple(
        Bug(**{**row, "breaks": tuple(row["breaks"].split()), "shows": tuple(row["shows"].split()), "faults": tuple(row.get("faults", ()))})
        for row in rows
    )


def chosen(ids: Sequence[str]) -> tuple[Bug, ...]:
    """Return the bugs with these ids, all for none. Raises InputError for an unknown id."""
    by_id = {bug.id: bug for bug in bugs()}
    return tuple(by_id[known("bug", id_, by_id)] for id_ in ids) or bugs()
