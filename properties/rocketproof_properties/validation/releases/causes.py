"""The cause of a difference: the same field of the same kind of response, with equal values except for names and numbers."""

from __future__ import annotations

from typing import NamedTuple

from ...brokers.runs.parsed import ParsedHistory
from ...judging.reference.comparison import FieldDifference
from ...judging.reference.findings import property_of
from ...judging.reference.readback import NEXT_OFFSET
from ...judging.reference.rules import rules_of_difference
from ..plain import plain


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
    one, other = (plain(value, history) for value in (difference.recorded, difference.found))
    if difference.field == NEXT_OFFSET:
        one, other = "more", "less"
        if isinstance(difference.recorded, int) and difference.recorded < difference.found:
            one, other = other, one
    return Cause(property_of(difference, history), one, other, rules_of_difference(difference, history))
