"""What the files of a store and a start are known not to show as they should, and of which releases.

The verdict matrix has the conditions of programs; what a broker leaves behind is of all its programs together, and so is what is known
of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rocketproof_profiles import PROFILES, inherited

_GAPS: Final = {"P510": "a message that the store refuses has taken an offset (APP-03)"}
_SHIFTED: Final = {"P510": "behind such a gap a queue has no entry with the record's number, and a start goes on at its entries' number"}
_STOPPED: Final = {"P514": "the store stops before the delay service, and a delivery that fails is left out (zoo B7)"}
_NOTED_LATE: Final = "a stop may come between a delivery and the end of the scan that notes it (REC-05)"
_AGAIN: Final = {name: inherited(_STOPPED, name) if profile.records_each_delivery else _NOTED_LATE for name, profile in PROFILES.items()}
STARTS_UNSIZED: Final = "a broker starts on a file that was made and has no length yet"
UNSIZED: Final = {
    name: "a start refuses a file that was made and has no length yet (HAZ-59)" if profile.wrong_length == "refused" else ""
    for name, profile in PROFILES.items()
}
"""Why a broker is known not to start behind a kill between the making of a file and its length, by each profile."""
KNOWN: Final[Mapping[str, Mapping[str, str]]] = {
    "INV-34.stored": _GAPS,
    "INV-34.first": _GAPS,
    "INV-44.back": _SHIFTED,
    "INV-44.queue": _SHIFTED,
    "restart.queues": _SHIFTED,
    "restart.delayed": _AGAIN,
    "restart.unsized": UNSIZED,
}
"""By the id of a rule: since which profile it does not hold, with the reason, or, with no reason, that it does again; a profile that is not
named is as the one that it refines."""


def why_not(id_: str, profile: str) -> str:
    """Why it is known not to hold, "" where it has to."""
    return inherited(KNOWN.get(id_, {}), profile)
