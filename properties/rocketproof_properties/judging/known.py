"""Known violations by the files of a store, by restarts and by slaves, with the releases that show them.

The verdict matrix is keyed by the conditions of single programs. Files, restarts and slaves reflect all programs of a broker, so
their known violations are listed here.
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
"""Why a broker is known to fail to start if it was killed between creating a file and setting its length, by profile."""
_PULLED: Final = {"P540": "zoo C11: a slave cannot read offsets among which are pulled ones"}
_ADDED: Final = {"P40": "a slave adds its master's offsets to its own, and deletes none (apache/rocketmq#7263)"}
_QUEUES: Final = {"P40": "a slave keeps the queues of a topic that was deleted on its master (apache/rocketmq#7264)"}
_ATTRIBUTES: Final = {
    "P533": "a slave takes the attributes of a topic for changes, refuses them, and copies no topic after it (apache/rocketmq#9499)",
    **dict.fromkeys(("P520", "P540"), ""),
}
KNOWN: Final[Mapping[str, Mapping[str, str]]] = {
    "INV-34.stored": _GAPS,
    "INV-34.first": _GAPS,
    "INV-44.back": _SHIFTED,
    "INV-44.queue": _SHIFTED,
    "restart.queues": _SHIFTED,
    "restart.delayed": _AGAIN,
    "restart.unsized": UNSIZED,
    "slave.recreated_queues": _QUEUES,
    "slave.topic_attributes": _ATTRIBUTES,
    "slave.deleted_offsets": _ADDED,
    "slave.offsets": _PULLED,
}
"""For each rule id: the profile from which the rule does not hold, with the reason. An empty reason: it holds again from that profile on. A
profile that is not listed behaves like the profile it refines."""


def why_not(id_: str, profile: str) -> str:
    """Return why a rule is known not to hold under a profile, "" if it must hold."""
    return inherited(KNOWN.get(id_, {}), profile)
