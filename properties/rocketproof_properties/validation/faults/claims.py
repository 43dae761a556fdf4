"""The claims that must hold after a fault of the machine, and the releases that are known to violate them.

A claim is named like the findings of a campaign. `broken` maps a kind of fault and a profile to the reason why the claim does not hold from
this profile on. An empty reason means that it holds again. A profile that is not listed inherits from the profile that it refines.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from rocketproof_profiles import inherited

from ...judging.known import KNOWN, STARTS_UNSIZED, UNSIZED
from .kinds import DISK, KINDS, POWER, SLAVE, THREADS

_UNFORCED: Final = {
    "P40": "PER-05, PER-06: a file of settings and its backup are written one behind the other, and none of both is forced",
    "P540": "",
}
_AHEAD: Final = {
    "P40": "REC-02: the forced checkpoint says more of the queues than is on the device, and a start scans too little of the log",
    "P540": "",
}
_SWALLOWED: Final = {"P40": "PER-01: an error of the disk is logged, and the answer is as if there were none"}


@dataclass(frozen=True)
class FaultClaim:
    """A property of a broker after a fault. `ids` are the properties and rules of the description that it consists of."""

    name: str
    ids: str
    sentence: str
    broken: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def why_not(self, kind: str, profile: str) -> str:
        """Return why it is known not to hold after this kind of fault, "" if it must hold."""
        return inherited(self.broken.get(kind, {}), profile)


FAULT_CLAIMS: Final[Mapping[str, FaultClaim]] = {
    one.name: one
    for one in (
        FaultClaim(
            "start",
            "INV-29",
            "a broker starts on whatever the fault leaves",
            {POWER: {**_UNFORCED, "P540": "zoo B3: a last file of a queue without an entry ends the start", "P550": ""}},
        ),
        FaultClaim("unsized", "REC-02", STARTS_UNSIZED, dict.fromkeys(KINDS, UNSIZED)),
        FaultClaim("refused", "INV-09", "a broker without a fault takes what is sent to it"),
        FaultClaim(
            "answered",
            "INV-01",
            "a request is answered, whatever becomes of the machine",
            {THREADS: {"P494": "zoo B13: an answer that finds no thread is given up, and its message stays"}},
        ),
        FaultClaim("place", "INV-34", "an answer names a place in the log, and each another one"),
        FaultClaim("lost", "INV-06", "a message that was acknowledged is in the log, at the place that its answer named"),
        FaultClaim("log", "INV-34 INV-42", "the log is whole"),
        FaultClaim(
            "consume queue",
            "INV-36",
            "a queue leads to the records of the log, and to nothing else",
            {POWER: {**_AHEAD, "P540": "REC-02: behind a loss with ASYNC_FLUSH a queue lacks its first entries", "P550": ""}},
        ),
        FaultClaim(
            "phantom",
            "INV-34 INV-36",
            "a queue begins with a message",
            {POWER: {"P40": "REC-02: a start that ends a queue behind the log does not ask its first entry for a size"}},
        ),
        FaultClaim(
            "topic lost",
            "INV-27",
            "a topic that was acknowledged is in the broker's table",
            {
                POWER: _UNFORCED,
                DISK: _SWALLOWED,
                SLAVE: {"P533": "zoo C5: a slave takes out all topics each time it asks for them", "P520": "", "P550": ""},
            },
        ),
        FaultClaim("group lost", "INV-27", "a group that was acknowledged is in the broker's table", {POWER: _UNFORCED, DISK: _SWALLOWED}),
        FaultClaim("next offset", "REC-03", "the next message of a queue has the offset behind its last one", {POWER: _AHEAD}),
        FaultClaim(
            "delayed",
            "REC-05 LIV-07",
            "a message that is delayed is delivered, once",
            {
                POWER: {"P40": "zoo B8: how far a level is may be newer than its queue", "P492": "zoo B8", "P494": ""},
                DISK: {"P40": "zoo B7: a delivery that fails is left out", "P520": "zoo B7", "P533": ""},
            },
        ),
        FaultClaim(
            "confirmed",
            "FLU-03 LIV-09",
            "with synchronous flush a message is acknowledged only when it is on the device",
            {DISK: {"P40": "zoo B6: a flush that fails counts as done", "P540": ""}},
        ),
        FaultClaim(
            "delivered",
            "FLU-05",
            "with synchronous flush a message is delivered only when it is on the device",
            {DISK: {"P40": "zoo B5: dispatch goes to the end of the log, whatever is flushed", "P520": "zoo B5", "P533": ""}},
        ),
        FaultClaim(
            "repeated",
            "REC-05",
            "a delivery is not repeated by a kill that comes when it has long been recorded",
        ),
        FaultClaim(
            "back",
            "FLU-03 INV-36",
            "a broker takes, keeps and dispatches messages again as soon as the machine is well",
            {THREADS: {"P40": "zoo B12: an Error ends dispatch for good", "P520": "zoo B12", "P533": ""}},
        ),
        FaultClaim("copied", "FLU-07 INV-06", "what a SYNC_MASTER acknowledges with 0 is on its slave, at the same place of the log"),
        FaultClaim("without", "FLU-07", "a SYNC_MASTER that has no slave answers otherwise than one whose slave is late"),
        FaultClaim("prefix", "FLU-07 AUX-55", "the log of a slave is the beginning of its master's, byte for byte"),
        FaultClaim("follows", "FLU-07", "a slave that is connected has the whole log of its master in the end"),
        FaultClaim("pulled", "INV-36", "a slave gives out the same messages at the same offsets as its master"),
        FaultClaim(
            "offset lost",
            "INV-27",
            "a slave takes over what groups have committed",
            {SLAVE: KNOWN["slave.offsets"]},
        ),
        FaultClaim("delay offset", "REC-05", "a slave takes over how far delayed messages are delivered, and keeps it"),
        FaultClaim("takes none", "STO-01 REA-127", "a slave stores nothing that is sent to it"),
        FaultClaim("route", "NS-08 HAZ-43", "name servers list those of a master and its slave that run"),
    )
}
"""All claims by name."""
