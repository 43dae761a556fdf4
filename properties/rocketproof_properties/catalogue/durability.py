"""Flush and replication: the guarantee of an answer, and the loss at a power failure or of a master (INV-06, LIV-05, LIV-09).

`log` has the claims about restarts.
"""

from __future__ import annotations

from typing import Any

from rocketproof_model import Expr, after, exists, forall, implies
from rocketproof_spec.flushing import Flushing, in_lock
from rocketproof_spec.pairs import MasterAndSlave
from rocketproof_spec.recovery import Recovery

from .claim import SEEDS, Case, Claim, cases

BUSY_ENDS = Claim(
    "LIV-05",
    "a busy page cache becomes free when no put runs",
    "leads_to",
    lambda f: (f.age == "busy", (f.age != "busy") & ~in_lock(f)),
    part=Flushing,
)
ANSWERED = Claim(
    "LIV-09",
    "a put that waits for a synchronous flush eventually gets its response",
    "leads_to",
    lambda f: (_waits(f), ~_waits(f)),
    part=Flushing,
)
TRUE = Claim(
    "LIV-09.denied",
    "the group commit reports FLUSH_DISK_TIMEOUT only for a record that is not on the device",
    "step",
    lambda f: forall(f.Put, lambda p: implies(_denied(f, p), f.flushed < f.put[p].next)),
    part=Flushing,
)
ON_DEVICE = Claim(
    "LIV-09.confirmed",
    "a put gets PUT_OK only after its record is on the device",
    "always",
    lambda f: forall(f.Put, lambda p: implies(f.put[p].answer == "PUT_OK", f.flushed >= f.put[p].next)),
    part=Flushing,
)
FAR = Claim(
    "REA-55",
    "the group commit reports a timeout for a record that two flushes did not reach",
    "reachable",
    lambda f: exists(f.Put, lambda p: (f.put[p].answer == "denied") & (f.flushed > 0) & (f.flushed < f.put[p].next)),
    part=Flushing,
)


def _denied(f: Flushing, p: Expr) -> Expr:
    denied: Expr = (f.put[p].answer != "denied") & (after(f.put[p].answer) == "denied")
    return denied


def _waits(f: Flushing) -> Expr:
    return exists(f.Put, lambda p: (f.put[p].step == "requested") | (f.put[p].step == "read"))


TORN = Claim("REA-56", "a power loss leaves a torn record", "reachable", lambda r: r.torn, part=Recovery)
BEYOND = Claim(
    "REA-57",
    "a power loss leaves queue entries whose records are lost",
    "reachable",
    lambda r: ~r.up & (r.entries > r.written),
    part=Recovery,
)

SURVIVES = Claim(
    "INV-06.pair",
    "a message that waits for its slave and gets PUT_OK survives the loss of the master",
    "always",
    lambda p: p.acknowledged <= p.copied,
    part=MasterAndSlave,
)
TOLD = Claim(
    "LIV-09.pair",
    "a put that waits for the slave eventually gets its response",
    "leads_to",
    lambda p: (_waiting(p), ~_waiting(p)),
    part=MasterAndSlave,
)
HIDDEN = Claim(
    "AUX-54",
    "a put whose flush is late gets FLUSH_DISK_TIMEOUT",
    "always",
    lambda p: implies(p.late & ~_waiting(p), p.answer == "FLUSH_DISK_TIMEOUT"),
    part=MasterAndSlave,
)
BEHIND = Claim(
    "AUX-55",
    "the slave's log is no longer than the master's, and the slave reports only what it has",
    "always",
    lambda p: (p.pushed <= p.copied) & (p.copied <= p.written),
    part=MasterAndSlave,
)
TABLE = Claim(
    "AUX-56",
    "a slave that becomes the master has the master's topic",
    "always",
    lambda p: implies(p.promoted & p.topic, p.copied_topic),
    part=MasterAndSlave,
)
ROUTE = Claim(
    "AUX-57",
    "a topic with a route has a running master",
    "always",
    lambda p: implies(p.routed, p.alive | p.promoted),
    part=MasterAndSlave,
)
QUIET = Claim(
    "AUX-58",
    "a slave's registration brings no topic",
    "step",
    lambda p: implies(~p.listed & after(p.listed), after(p.routed) == p.routed),
    part=MasterAndSlave,
)
JUST = Claim(
    "AUX-59",
    "a waiting put gets a slave error only while the slave has not reported the record, and is then not acknowledged",
    "step",
    lambda p: implies(
        _waiting(p) & ~after(_waiting(p)) & (after(p.answer) != "PUT_OK"),
        (after(p.acknowledged) == p.acknowledged) & ((after(p.answer) == "FLUSH_DISK_TIMEOUT") | (p.pushed < p.written)),
    ),
    part=MasterAndSlave,
)
DENIED = Claim(
    "REA-124",
    "a message is on the slave although its put got FLUSH_SLAVE_TIMEOUT or SLAVE_NOT_AVAILABLE",
    "reachable",
    lambda p: (p.written > 0) & (p.copied == p.written) & ((p.answer == "FLUSH_SLAVE_TIMEOUT") | (p.answer == "SLAVE_NOT_AVAILABLE")),
    part=MasterAndSlave,
)
TOO_FAR = Claim(
    "REA-125",
    "a connected slave is too far behind to count",
    "reachable",
    lambda p: p.connected & (p.answer == "SLAVE_NOT_AVAILABLE"),
    part=MasterAndSlave,
)
TAKES_OVER = Claim(
    "REA-126",
    "a slave becomes the master with all records and the topic",
    "reachable",
    lambda p: p.promoted & p.copied_topic & (p.copied == p.records),
    part=MasterAndSlave,
)
REFUSED = Claim("REA-127", "a slave rejects a message", "reachable", lambda p: p.answer == "SERVICE_NOT_AVAILABLE", part=MasterAndSlave)


def _waiting(p: MasterAndSlave) -> Expr:
    waits: Expr = p.answer == "waits"
    return waits


CLAIMS = [
    BUSY_ENDS, ANSWERED, TRUE, ON_DEVICE, FAR, TORN, BEYOND, SURVIVES, TOLD, HIDDEN, BEHIND, TABLE, ROUTE, QUIET, DENIED, TOO_FAR,
    TAKES_OVER, REFUSED, JUST,
]  # fmt: skip

_OLDER = {"P40": "violated", "P45": "violated", "P49": "holds"}
_PUTS: dict[str, Any] = {"condition": "synchronous flush"}
_STUCK: dict[str, Any] = {"condition": "synchronous flush, the group commit stuck", "given": {"serves": False}}
_THROWS: dict[str, Any] = {"condition": "an append throws in the lock", "given": {"throws": True}}
ENDS: dict[str, Any] = {"condition": "asynchronous flush, the process ends up to twice", "given": {"sync": False, "crash_budget": 2}}
POWER: dict[str, Any] = {"condition": "synchronous flush, the power fails up to twice", "given": {"power_budget": 2}}

_RELEASES = (*SEEDS, "P494", "P533")
_HOLD: dict[str, str] = dict.fromkeys(_RELEASES, "holds")
_BREAK: dict[str, str] = dict.fromkeys(_RELEASES, "violated")
_ONE_COPY = "FLU-07: the master is its own inSyncReplicas = 1"
_SYNC: dict[str, Any] = {"condition": "a SYNC_MASTER and its slave"}
_LATE: dict[str, Any] = {"condition": "a SYNC_MASTER and its slave, flushes are late", "given": {"lags": True}}
_LOOSE: dict[str, Any] = {"condition": "an ASYNC_MASTER and its slave", "given": {"sync": False}}

CASES: list[Case] = [
    *cases(BUSY_ENDS, "flush", _OLDER, **_THROWS, reason="HAZ-23: P45 leaves the lock's time set"),
    *cases(BUSY_ENDS, "flush", "holds", **_PUTS),
    *cases(ANSWERED, "flush", "holds", **_PUTS),
    *cases(ANSWERED, "flush", "holds", **_STUCK),
    *cases(TRUE, "flush", _OLDER, **_PUTS, reason="HAZ-21: P45 does not look after its second flush"),
    *cases(ON_DEVICE, "flush", "holds", **_PUTS),
    *cases(FAR, "flush", "holds", **_PUTS),
    *[c for claim in (TORN, BEYOND) for c in cases(claim, "recovery", "holds", **POWER)],
    *[
        c
        for on in (_SYNC, _LATE)
        for c in cases(SURVIVES, "pair", {**_HOLD, "P533": "violated"}, profiles=_RELEASES, **on, reason=_ONE_COPY)
    ],
    *cases(SURVIVES, "pair", _BREAK, profiles=_RELEASES, **_LOOSE, reason="FLU-07: nobody waits"),
    *[c for claim in (TOLD, JUST) for c in cases(claim, "pair", "holds", **_LATE)],
    *cases(HIDDEN, "pair", {**_BREAK, "P533": "holds"}, profiles=_RELEASES, **_LATE, reason="FLU-08: the replica's status comes last"),
    *[c for on in (_LATE, _LOOSE) for c in cases(BEHIND, "pair", _HOLD, profiles=_RELEASES, **on)],
    *cases(TABLE, "pair", "violated", **_SYNC, reason="the slave asks for the table every 10 s"),
    *cases(ROUTE, "pair", "violated", **_SYNC, reason="HAZ-43: a slave keeps the route of its name"),
    *cases(QUIET, "pair", "holds", **_SYNC),
    *[c for claim in (DENIED, TOO_FAR, TAKES_OVER, REFUSED) for c in cases(claim, "pair", "holds", **_SYNC)],
]
