"""A device that may fail: the guarantee of an answer, and the data that survives (INV-06, LIV-09)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rocketproof_model import Expr, after, implies
from rocketproof_spec.device import BUSY, CLOSED, ILLEGAL, LATE, NO_SLAVE, Device, is_deficient

from .claim import Case, Claim, cases, condition, effect, wide


def _reached(id_: str, sentence: str, formula: Callable[[Device], Expr]) -> Claim:
    return Claim(id_, sentence, "reachable", formula, part=Device)


ON_DEVICE = Claim(
    "INV-06.device",
    "with synchronous flush, a message with PUT_OK is on the device",
    "always",
    lambda d: implies(d.sync, d.acknowledged <= d.forced),
    part=Device,
)
KEPT = Claim("INV-06.kept", "a message with PUT_OK is never lost", "always", lambda d: d.acknowledged <= d.written, part=Device)
ANSWERED = Claim("LIV-09.device", "a put gets a response, whatever the device does", "leads_to", lambda d: (d.waits, ~d.waits), part=Device)
TAKEN = Claim(
    "AUX-40",
    "a store whose pool has lent all buffers eventually has a free buffer",
    "leads_to",
    lambda d: (is_deficient(d), ~is_deficient(d)),
    part=Device,
)
NAMED = Claim(
    "AUX-41",
    "a put whose message is not flushed in time gets FLUSH_DISK_TIMEOUT",
    "step",
    lambda d: implies(d.waits & ~after(d.waits) & (d.flushed < d.written) & (after(d.faults) == d.faults), after(d.answer) == LATE),
    part=Device,
)
FOUND = Claim("AUX-42", "an acknowledged message can be looked up", "always", lambda d: d.answer != "not found", part=Device)
CLOSED_STORE = Claim(
    "AUX-43", "a store that is not writable stores nothing", "step", lambda d: d.writable | (after(d.written) <= d.written), part=Device
)
COUNTED = Claim(
    "AUX-44",
    "a put counts as failed exactly if it stored nothing",
    "step",
    lambda d: implies(_becomes(d, ILLEGAL), after(d.failed) == d.failed + 1) & (_becomes(d, ILLEGAL) | (after(d.failed) <= d.failed)),
    part=Device,
)
WRITTEN_BACK = Claim(
    "AUX-45",
    "an acknowledged message is eventually on the device",
    "leads_to",
    lambda d: (d.acknowledged > d.forced, d.acknowledged <= d.forced),
    part=Device,
)
ORDERED = Claim(
    "AUX-46",
    "only written data is in the files, and only data in the files counts as flushed",
    "always",
    lambda d: (d.forced <= d.committed) & (d.flushed <= d.committed) & (d.committed <= d.written),
    part=Device,
)
COMMITS = Claim(
    "AUX-47",
    "a commit moves data to the files, and no more than was written, for all numbers",
    "lemma",
    lambda d: wide(implies(condition(d.model.named("commit"), "in a buffer") & (d.committed >= 0), _between(d))),
    part=Device,
)


def _between(d: Device) -> Expr:
    end = effect(d.model.named("commit"), "committed")
    between: Expr = (d.committed < end) & (end <= d.written)
    return between


def _becomes(d: Device, answer: str) -> Expr:
    becomes: Expr = (d.answer != answer) & (after(d.answer) == answer)
    return becomes


BUFFERED = _reached("REA-100", "an acknowledged message is in a buffer only", lambda d: d.acknowledged > d.committed)
REJECTED = _reached("REA-101", "a send is rejected because no buffer is free", lambda d: d.answer == BUSY)
LATE_AND_SAFE = _reached(
    "REA-102", "a put times out although its message is on the device", lambda d: (d.answer == LATE) & (d.forced >= d.written)
)
GAP = _reached(
    "REA-103",
    "a later file is flushed while the device has a gap before it",
    lambda d: (d.flushed > d.units) & (d.forced < d.units),
)
FOUND_ONE = _reached("REA-104", "an acknowledged message is looked up", lambda d: d.answer == "found")
REFUSED = _reached("REA-105", "a put fails because the disk is full", lambda d: d.answer == CLOSED)
FAILED = _reached("REA-106", "a put is counted as failed", lambda d: d.failed > 0)
FLUSHED_ALONE = _reached(
    "REA-107",
    "a message is on the device although its put reports a missing slave",
    lambda d: (d.answer == NO_SLAVE) & (d.forced >= d.written),
)

CLAIMS = [
    ON_DEVICE, KEPT, ANSWERED, TAKEN, NAMED, FOUND, CLOSED_STORE, COUNTED, WRITTEN_BACK, ORDERED, COMMITS,
    BUFFERED, REJECTED, LATE_AND_SAFE, GAP, FOUND_ONE, REFUSED, FAILED, FLUSHED_ALONE,
]  # fmt: skip

_ALL = ("P40", "P45", "P49", "P533")
_SYNC: dict[str, Any] = {"condition": "synchronous flush, a device that works"}
_POWER: dict[str, Any] = {"condition": "synchronous flush, the power fails up to twice", "given": {"power_budget": 2}}
_AGAIN: dict[str, Any] = {
    "condition": "synchronous flush, the process ends, then the power",
    "given": {"crash_budget": 1, "power_budget": 2},
}
_FAILS: dict[str, Any] = {
    "condition": "synchronous flush, a force may fail, and then the power",
    "given": {"fails": True, "power_budget": 1},
}
_NOTICED: dict[str, Any] = {
    "condition": "a force may fail, and then the power; the store notices",
    "given": {"fails": True, "power_budget": 1, "trusts_failed_force": False},
}
_LAZY_NOTICED: dict[str, Any] = {
    "condition": "asynchronous flush, a force may fail; the store notices",
    "given": {"sync": False, "fails": True, "trusts_failed_force": False},
}
_CLOSES: dict[str, Any] = {"condition": "synchronous flush, the disk may be full", "given": {"closes": True}}
_SLAVE: dict[str, Any] = {"condition": "synchronous flush, a SYNC_MASTER without a slave", "given": {"slave_missing": True}}
_ASYNC: dict[str, Any] = {"condition": "asynchronous flush, the process ends up to twice", "given": {"sync": False, "crash_budget": 2}}
_LAZY: dict[str, Any] = {"condition": "asynchronous flush, a device that works", "given": {"sync": False}}
_POOL: dict[str, Any] = {"condition": "a pool of two buffers", "given": {"sync": False, "buffers": 2}}
_ONE: dict[str, Any] = {"condition": "a pool of one buffer", "given": {"sync": False, "buffers": 1}}
_POOL_ENDS: dict[str, Any] = {
    "condition": "a pool of two buffers, the process ends",
    "given": {"sync": False, "buffers": 2, "crash_budget": 1},
}

_TRUSTED = "before 5.4.0 a force that failed moves the flushed position all the same"
_UNFORCED = "HAZ-53: a start takes what it has read for flushed, and no flush comes back to that file"
_BUFFER = "FLU-06: the buffer ends with the process"
_LENT = "REM-06: the one buffer is lent until its file is full, and the file is not filled by sends that are rejected"
_HIDDEN = "FLU-08: the slave's status overwrites FLUSH_DISK_TIMEOUT"
_OUTSIDE = "REC-01: what is in a buffer is outside the log until it is committed"
_LATER = {"P40": "violated", "P45": "violated", "P49": "violated", "P533": "holds"}

CASES: list[Case] = [
    *cases(ON_DEVICE, "device", "holds", **_POWER),
    *cases(ON_DEVICE, "device", "violated", profiles=_ALL, **_FAILS, reason=_TRUSTED),
    *cases(ON_DEVICE, "device", "holds", **_NOTICED),
    *cases(ON_DEVICE, "device", "violated", **_AGAIN, reason=_UNFORCED),
    *cases(KEPT, "device", "holds", **_POWER),
    *cases(KEPT, "device", "violated", profiles=_ALL, **_FAILS, reason=_TRUSTED),
    *cases(KEPT, "device", "holds", **_NOTICED),
    *cases(KEPT, "device", "violated", **_AGAIN, reason=_UNFORCED),
    *cases(KEPT, "device", "holds", **_ASYNC),
    *cases(KEPT, "device", "violated", **_POOL_ENDS, reason=_BUFFER),
    *cases(ANSWERED, "device", "holds", **_FAILS),
    *cases(TAKEN, "device", "holds", **_POOL),
    *cases(TAKEN, "device", "violated", **_ONE, reason=_LENT),
    *cases(NAMED, "device", _LATER, profiles=_ALL, **_SLAVE, reason=_HIDDEN),
    *cases(FOUND, "device", "violated", **_POOL, reason=_OUTSIDE),
    *cases(FOUND, "device", "holds", **_ASYNC),
    *[c for claim in (CLOSED_STORE, COUNTED, REFUSED, FAILED) for c in cases(claim, "device", "holds", **_CLOSES)],
    *[c for on in (_POOL, _LAZY) for c in cases(WRITTEN_BACK, "device", "holds", **on)],
    *cases(WRITTEN_BACK, "device", "violated", **_ASYNC, reason=_UNFORCED),
    *cases(WRITTEN_BACK, "device", "violated", **_FAILS, reason=_TRUSTED),
    *cases(WRITTEN_BACK, "device", "holds", **_LAZY_NOTICED),
    *[c for on in (_AGAIN, _POOL_ENDS, _FAILS) for c in cases(ORDERED, "device", "holds", **on)],
    *cases(COMMITS, "device", "holds", engines=("symbolic",), method="lemma"),
    *[c for claim in (BUFFERED, REJECTED, FOUND_ONE) for c in cases(claim, "device", "holds", **_POOL)],
    *cases(LATE_AND_SAFE, "device", "holds", **_SYNC),
    *cases(GAP, "device", "holds", **_FAILS),
    *cases(FLUSHED_ALONE, "device", "holds", **_SLAVE),
]
