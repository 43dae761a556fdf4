"""Accepted deviations: a TOML file of patterns, each with a reason and the last day on which it is valid.

[[accept]]
property = "INV-44"            # a claim's id or a field of a response; * matches anything
match = "queue 0"              # optional: a regular expression that the finding's text must match
reason = "our queues begin at 1"
until = 2027-01-31

An entry with `fixed = true` accepts the opposite: the target does not show a known violation of its profile, because it has fixed it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..reports.choices import TomlTable, read_toml

if TYPE_CHECKING:
    from ..judging.verdicts import ProgramFinding

_KEYS: Final = ("property", "match", "reason", "until", "fixed")
_WHY: Final = "say which finding is accepted and why"


@dataclass(frozen=True)
class Accepted:
    """An accepted deviation. `fixed`: what is accepted is that a known violation is not shown."""

    property: str
    reason: str
    until: date
    match: re.Pattern[str] | None = None
    fixed: bool = False

    def fits(self, verdict: ProgramFinding) -> bool:
        """Return whether it accepts a finding."""
        named = not self.fixed and fnmatchcase(verdict.property, self.property)
        return named and (self.match is None or self.match.search(verdict.text) is not None)

    def fits_fixed(self, name: str) -> bool:
        """Return whether it accepts that a known violation, named by a property or a hazard, is not shown."""
        return self.fixed and fnmatchcase(name, self.property)

    def record(self) -> dict[str, str]:
        """Return what a report says about an accepted deviation."""
        return {"reason": self.reason, "until": str(self.until)}

    def __str__(self) -> str:
        return f"{self.property} ({self.reason}, until {self.until})"


def read(path: Path, option: str = "--accept") -> tuple[Accepted, ...]:
    """Return the entries of the file that an option names. Raises InputError that names the entry."""
    shown = f"{option} {path}"
    _, data = read_toml(path, shown, "a TOML file as in the documentation of validate")
    top = TomlTable(data, lambda *_: shown, ("accept",))
    if "accept" not in top:
        top.refuse("", "has no [[accept]] entries; each deviation is an [[accept]] entry")
    rows = top.many("accept", dict, "a list of tables", "write [[accept]] above the keys of each")
    return tuple(_entry(f"{shown}: entry {number}", row) for number, row in enumerate(rows, 1))


def _entry(where: str, row: Mapping[str, Any]) -> Accepted:
    entry = TomlTable(row, lambda *_: where, _KEYS)
    fixed = entry.get("fixed", bool, "true or false", "write fixed = true if the target has fixed a known violation", default=False)
    if fixed and "match" in row:
        entry.refuse("match", "a violation that is not shown has no text that match could fit; remove match or fixed")
    return Accepted(
        entry.get("property", str, "a text with words", _WHY, fits=_has_words),
        entry.get("reason", str, "a text with words", _WHY, fits=_has_words),
        entry.get("until", date, "a date", "give a day such as 2027-01-31, without quotation marks"),
        entry.pattern("match"),
        fixed,
    )


def _has_words(text: str) -> bool:
    return bool(text.strip())


@dataclass(frozen=True)
class Sorted:
    """The findings, split by a file of accepted deviations.

    `left` are not accepted; `taken` are accepted, each with its entry. `fixed` has the entry of each known violation whose absence is
    accepted. `notes` are remarks on unused entries. `over` are messages on expired entries, which accept nothing and must be removed.
    """

    left: tuple[ProgramFinding, ...]
    taken: tuple[tuple[ProgramFinding, Accepted], ...]
    fixed: Mapping[str, Accepted]
    notes: tuple[str, ...]
    over: tuple[str, ...]


def sort(findings: Sequence[ProgramFinding], entries: Sequence[Accepted], today: date, not_shown: Sequence[str] = ()) -> Sorted:
    """Split the findings into accepted and other findings. An expired entry accepts nothing.

    `not_shown`: names of the known violations that the target did not show.
    """
    valid = [entry for entry in entries if entry.until >= today]
    remaining, accepted = [], []
    for finding in findings:
        entry = next((e for e in valid if e.fits(finding)), None)
        if entry is None:
            remaining.append(finding)
        else:
            accepted.append((finding, entry))
    fixed = {name: entry for name in not_shown for entry in valid if entry.fits_fixed(name)}
    used = {entry for _, entry in accepted} | set(fixed.values())
    notes = [f"accepted deviation {entry} is not needed any more: {_unused(entry)}" for entry in valid if entry not in used]
    over = [
        f"accepted deviation {entry} is over"
        + (
            ": fix it, or give the entry a later day"
            if any(map(entry.fits, remaining)) or any(map(entry.fits_fixed, not_shown))
            else f", and {_unused(entry)}: take it out"
        )
        for entry in entries
        if entry not in valid
    ]
    return Sorted(tuple(remaining), tuple(accepted), fixed, tuple(notes), tuple(over))


def _unused(entry: Accepted) -> str:
    return "no known violation of this name is missing" if entry.fixed else "no finding fits"
