"""What two differences have in common: the same field of the same kind of answer, with the same values but for names and numbers."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from ...brokers.runs.parsed import ParsedHistory
from ...judging.reference.comparison import FieldDifference
from ...judging.reference.decided import rules_of
from ...judging.reference.readback import NEXT_OFFSET

_NUMBER = re.compile(r"-?[0-9]+")
_INSIDE = re.compile(r"\[[^\]\[]*\]")
_ID = re.compile(r"\b[0-9A-F]{16,}\b")
_PORT = re.compile(r"[0-9]+(\.[0-9]+){3}:[0-9]+")
MOST = 80
"""Characters of a text that tell causes apart."""


class Cause(NamedTuple):
    """`about` is what differs, such as `send.code` or `record.property CLUSTER`; the values are without names and numbers of a program.
    `rules` decide it: of several, the value alone does not tell which."""

    about: str
    one: str
    other: str
    rules: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.about} is {self.one} and not {self.other}"


def cause_of(found: FieldDifference, history: ParsedHistory) -> Cause:
    """What a difference is about, whichever program shows it."""
    op = next((one.op for one in history.exchanges if one.seq == found.seq), found.where.split()[0])
    about = {"the": "record"}.get(op, op)
    one, other = (_plain(value, history) for value in (found.recorded, found.found))
    if found.field == NEXT_OFFSET:
        one, other = "more", "less"
        if isinstance(found.recorded, int) and found.recorded < found.found:
            one, other = other, one
    return Cause(f"{about}.{found.field}", one, other, rules_of(found, history))


def _plain(value: Any, history: ParsedHistory) -> str:
    """A value without what another program would have otherwise: its names, numbers, and what stands in brackets."""
    if isinstance(value, list) and len(value) == 2 and isinstance(value[0], int):
        return f"{value[0]}: {_plain(value[1], history)}"  # an answer's code, with its remark
    if isinstance(value, dict):
        return "an entry"
    if not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False, default=lambda one: f"{len(one)} bytes")
    prefix = history.names.prefix
    text = re.sub(re.escape(prefix) + r"[^,\]]*", "*", value) if prefix else value
    return _NUMBER.sub("#", _INSIDE.sub("[…]", _ID.sub("#", _PORT.sub("#", text))))[:MOST]
