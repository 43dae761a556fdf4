"""The cause of a difference: the same field of the same kind of response, with equal values except for names and numbers."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from ...brokers.runs.parsed import ParsedHistory
from ...judging.reference.comparison import FieldDifference
from ...judging.reference.readback import NEXT_OFFSET
from ...judging.reference.rules import rules_of_difference

_NUMBER = re.compile(r"-?[0-9]+")
_INSIDE = re.compile(r"\[[^\]\[]*\]")
_ID = re.compile(r"\b[0-9A-F]{16,}\b")
_PORT = re.compile(r"[0-9]+(\.[0-9]+){3}:[0-9]+")
MOST = 80
"""Number of characters of a text that distinguish causes."""


class Cause(NamedTuple):
    """`about` is what differs, such as `send.code` or `record.property CLUSTER`.

    `one` and `other` are the values without a program's names and numbers. `rules` decide the value; if there are several, the value alone
    does not show which.
    """

    about: str
    one: str
    other: str
    rules: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.about} is {self.one} and not {self.other}"


def cause_of(difference: FieldDifference, history: ParsedHistory) -> Cause:
    """Return the cause of a difference, independent of the program that shows it."""
    op = next((one.op for one in history.exchanges if one.seq == difference.seq), difference.where.split()[0])
    about = {"the": "record"}.get(op, op)
    one, other = (plain(value, history) for value in (difference.recorded, difference.found))
    if difference.field == NEXT_OFFSET:
        one, other = "more", "less"
        if isinstance(difference.recorded, int) and difference.recorded < difference.found:
            one, other = other, one
    return Cause(f"{about}.{difference.field}", one, other, rules_of_difference(difference, history))


def plain(value: Any, history: ParsedHistory) -> str:
    """Return a value without what depends on the program: names, numbers, and text in brackets."""
    if isinstance(value, list) and len(value) == 2 and isinstance(value[0], int):
        return f"{value[0]}: {plain(value[1], history)}"  # a response's code, with its remark
    if isinstance(value, dict):
        return "an entry"
    if not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False, default=lambda data: f"{len(data)} bytes")
    prefix = history.names.prefix
    text = re.sub(re.escape(prefix) + r"[^,\]]*", "*", value) if prefix else value
    return _NUMBER.sub("#", _INSIDE.sub("[…]", _ID.sub("#", _PORT.sub("#", text))))[:MOST]
