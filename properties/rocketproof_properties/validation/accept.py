"""Deviations that somebody has accepted: a TOML file of patterns, each with a reason and the day until which it counts.

[[accept]]
property = "INV-44"            # a claim's id or a field of an answer; * stands for anything
match = "queue 0"              # optional: a regular expression that the finding's words have to hold
reason = "our queues begin at 1"
until = 2027-01-31
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

from ..choices import InputError, offer
from ..judging.judging import Verdict

_KEYS: Final = ("property", "match", "reason", "until")


@dataclass(frozen=True)
class Accepted:
    """An accepted deviation."""

    property: str
    reason: str
    until: date
    match: re.Pattern[str] | None = None

    def fits(self, verdict: Verdict) -> bool:
        return fnmatchcase(verdict.property, self.property) and (self.match is None or self.match.search(verdict.text) is not None)

    def __str__(self) -> str:
        return f"{self.property} ({self.reason}, until {self.until})"


def read(path: Path) -> tuple[Accepted, ...]:
    """The entries of a file. Raises InputError that names the entry."""
    try:
        data = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not a text"
        raise InputError(f"--accept {path}: cannot be read ({reason}); give a TOML file") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"--accept {path}: is not TOML: {error}; see the example in the documentation of validate") from None
    rows = data.get("accept")
    if set(data) - {"accept"} or not isinstance(rows, list):
        raise InputError(f"--accept {path}: has no [[accept]] entries, or something else; each deviation is an [[accept]] entry")
    return tuple(_entry(f"--accept {path}: entry {number}", row) for number, row in enumerate(rows, 1))


def _entry(where: str, row: Any) -> Accepted:
    if not isinstance(row, dict):
        raise InputError(f"{where}: is not a table; write [[accept]] above its keys")
    for key in row:
        if key not in _KEYS:
            raise InputError(f"{where}: unknown key {key!r}; {offer(key, _KEYS)}")
    for key in ("property", "reason"):
        if not isinstance(row.get(key), str) or not row[key].strip():
            raise InputError(f"{where}: {key} is missing or no text; say which finding is accepted and why")
    until = row.get("until")
    if type(until) is not date:
        raise InputError(f"{where}: until is missing or no date; give a day such as 2027-01-31, without quotation marks")
    match = row.get("match")
    try:
        pattern = None if match is None else re.compile(str(match))
    except re.error as error:
        raise InputError(f"{where}: match is not a regular expression ({error})") from None
    return Accepted(row["property"], row["reason"], until, pattern)


@dataclass(frozen=True)
class Sorted:
    """Findings that stay, those that are accepted each with its entry, and what is wrong with the entries."""

    left: tuple[Verdict, ...]
    taken: tuple[tuple[Verdict, Accepted], ...]
    notes: tuple[str, ...]


def sort(findings: Sequence[Verdict], entries: Sequence[Accepted], today: date) -> Sorted:
    """Take the accepted ones out. An entry that is over accepts nothing."""
    valid = [entry for entry in entries if entry.until >= today]
    left, taken = [], []
    for one in findings:
        entry = next((e for e in valid if e.fits(one)), None)
        if entry is None:
            left.append(one)
        else:
            taken.append((one, entry))
    used = {entry for _, entry in taken}
    notes = [f"accepted deviation {entry} is over" for entry in entries if entry not in valid]
    notes += [f"accepted deviation {entry} is not needed any more: no finding fits" for entry in valid if entry not in used]
    return Sorted(tuple(left), tuple(taken), tuple(notes))
