"""What two differences have in common: the same field of the same kind of answer, with the same values but for names and numbers."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from ..replay.comparison import Difference
from ..replay.decided import rules_of
from ..runs.parsed import ParsedHistory

_NUMBER = re.compile(r"-?\d{3,}")
_LONG = re.compile(r"(\S)\1{19,}")
_ID = re.compile(r"\b[0-9A-F]{16,}\b")
MOST = 160
"""Characters of a value that tell causes apart."""


class Cause(NamedTuple):
    """`about` is what differs, such as `send.code` or `record.property CLUSTER`; the values are without names and numbers of a program.
    `rules` decide it: of several, the value alone does not tell which."""

    about: str
    one: str
    other: str
    rules: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.about} is {self.one} and not {self.other}"


def cause_of(found: Difference, history: ParsedHistory) -> Cause:
    """What a difference is about, whichever program shows it."""
    op = next((one.op for one in history.asked if one.seq == found.seq), found.where.split()[0])
    about = {"the": "record"}.get(op, op)
    one, other = (_plain(value, history) for value in (found.recorded, found.found))
    return Cause(f"{about}.{found.field}", one, other, rules_of(found, history))


def _plain(value: Any, history: ParsedHistory) -> str:
    """A value without what another program would have otherwise: its names, long numbers, the length of what is long."""
    if isinstance(value, dict):
        value = "an entry"
    text = json.dumps(value, ensure_ascii=False, default=lambda one: f"{len(one)} bytes" if isinstance(one, bytes) else str(one))
    prefix = history.names.prefix
    text = re.sub(re.escape(prefix) + r"[^,\]\"\\]*", "*", text) if prefix else text
    text = _LONG.sub(r"\1…", _ID.sub("#", text))
    return _NUMBER.sub("#", text)[:MOST]
