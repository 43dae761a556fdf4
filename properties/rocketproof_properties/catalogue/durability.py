"""Flush: what an answer promises, and what a loss of power takes (LIV-05, LIV-09). What a start finds is in `log`."""

from __future__ import annotations

from typing import Any

from rocketproof_model import Expr, after, exists, forall, implies
from rocketproof_model.specification.controller import Controller
from rocketproof_model.specification.flushing import Flushing, in_lock
from rocketproof_model.specification.recovery import Recovery

from .claim import Case, Claim, cases

BUSY_ENDS = Claim(
    "LIV-05",
    "a page cache that is busy is free again when no put runs",
    "leads_to",
    lambda f: (f.age == "busy", (f.age != "busy") & ~in_lock(f)),
    part=Flushing,
)
ANSWERED = Claim(
    "LIV-09",
    "a put that waits for a synchronous flush is answered",
    "leads_to",
    lambda f: (_waits(f), ~_waits(f)),
    part=Flushing,
)
TRUE = Claim(
    "LIV-09.denied",
    "the group commit denies a flush, which is answered FLUSH_DISK_TIMEOUT, only for a record that is not on the device",
    "step",
    lambda f: forall(f.Put, lambda p: implies(_denied(f, p), f.flushed < f.put[p].next)),
    part=Flushing,
)
ON_DEVICE = Claim(
    "LIV-09.confirmed",
    "a put is answered PUT_OK only when its record is on the device",
    "always",
    lambda f: forall(f.Put, lambda p: implies(f.put[p].answer == "PUT_OK", f.flushed >= f.put[p].next)),
    part=Flushing,
)
FAR = Claim(
    "REA-55",
    "the group commit denies a record that two flushes did not reach",
    "reachable",
    lambda f: exists(f.Put, lambda p: (f.put[p].answer == "denied") & (f.flushed > 0) & (f.flushed < f.put[p].next)),
    part=Flushing,
)


def _denied(f: Flushing, p: Expr) -> Expr:
    denied: Expr = (f.put[p].answer != "denied") & (after(f.put[p].answer) == "denied")
    return denied


def _waits(f: Flushing) -> Expr:
    return exists(f.Put, lambda p: (f.put[p].step == "requested") | (f.put[p].step == "read"))


TORN = Claim("REA-56", "a loss of power leaves a torn record", "reachable", lambda r: r.torn, part=Recovery)
BEYOND = Claim(
    "REA-57", "a loss of power leaves entries whose records are lost", "reachable", lambda r: ~r.up & (r.entries > r.written), part=Recovery
)

PROMOTED = Claim(
    "REA-160",
    "a later master has a record that was acknowledged in an earlier epoch",
    "reachable",
    lambda c: (c.epoch > 1) & c.master.is_some & exists(c.Place, lambda k: (c.acknowledged[k] == 1) & (c.log[c.master.get, k] == 1)),
    part=Controller,
)
PARTED = Claim(
    "REA-161",
    "a slave has a record that its master has not, and will cut it off",
    "reachable",
    lambda c: c.master.is_some & exists(c.Replica, lambda r: ~c.follows(r)),
    part=Controller,
)
JOINED = Claim(
    "REA-162",
    "all replicas are in sync again after an election",
    "reachable",
    lambda c: (c.epoch > 1) & c.master.is_some & forall(c.Replica, lambda r: c.in_sync.has(r) & (c.length[r] > 0)),
    part=Controller,
)
IN_SYNC = Claim(
    "AUX-70",
    "a replica in sync has all that its master takes for confirmed",
    "always",
    lambda c: forall(
        c.Replica,
        lambda r: implies(c.master.is_some & c.in_sync.has(r), c.follows(r) & (c.length[r] >= c.confirmed[c.master.get])),
    ),
    part=Controller,
)

CLAIMS = [BUSY_ENDS, ANSWERED, TRUE, ON_DEVICE, FAR, TORN, BEYOND, PROMOTED, PARTED, JOINED, IN_SYNC]

_OLDER = {"P40": "violated", "P45": "violated", "P49": "holds"}
_PUTS: dict[str, Any] = {"condition": "synchronous flush"}
_STUCK: dict[str, Any] = {"condition": "synchronous flush, the group commit stuck", "given": {"serves": False}}
_THROWS: dict[str, Any] = {"condition": "an append throws in the lock", "given": {"throws": True}}
_LATEST: dict[str, Any] = {"profiles": ("P533",)}
REPLICAS: dict[str, Any] = {"condition": "a controller, processes end up to twice", "given": {"crash_budget": 2}, **_LATEST}
"""Of a broker set under a controller."""
ENDS: dict[str, Any] = {"condition": "asynchronous flush, the process ends up to twice", "given": {"sync": False, "crash_budget": 2}}
POWER: dict[str, Any] = {"condition": "synchronous flush, the power fails up to twice", "given": {"power_budget": 2}}

CASES: list[Case] = [
    *cases(BUSY_ENDS, "flush", _OLDER, **_THROWS, reason="HAZ-23: P45 leaves the lock's time set"),
    *cases(BUSY_ENDS, "flush", "holds", **_PUTS),
    *cases(ANSWERED, "flush", "holds", **_PUTS),
    *cases(ANSWERED, "flush", "holds", **_STUCK),
    *cases(TRUE, "flush", _OLDER, **_PUTS, reason="HAZ-21: P45 does not look after its second flush"),
    *cases(ON_DEVICE, "flush", "holds", **_PUTS),
    *cases(FAR, "flush", "holds", **_PUTS),
    *[c for claim in (TORN, BEYOND) for c in cases(claim, "recovery", "holds", **POWER)],
    *[c for claim in (PROMOTED, PARTED, JOINED, IN_SYNC) for c in cases(claim, "controller", "holds", **REPLICAS)],
]
