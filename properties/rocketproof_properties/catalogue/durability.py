"""Flush: what an answer promises, and what a loss of power takes (LIV-05, LIV-09). What a start finds is in `log`."""

from __future__ import annotations

from typing import Any

from rocketproof_model import Expr, after, exists, forall, implies
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

CLAIMS = [BUSY_ENDS, ANSWERED, TRUE, ON_DEVICE, FAR, TORN, BEYOND]

_OLDER = {"P40": "violated", "P45": "violated", "P49": "holds"}
_PUTS: dict[str, Any] = {"condition": "synchronous flush"}
_STUCK: dict[str, Any] = {"condition": "synchronous flush, the group commit stuck", "given": {"serves": False}}
_THROWS: dict[str, Any] = {"condition": "an append throws in the lock", "given": {"throws": True}}
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
]
