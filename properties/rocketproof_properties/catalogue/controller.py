"""A broker set under a controller: elections, the replicas' logs, and confirmed records.

The claims INV-06, INV-34 and ACT-03 about it are in `log` and `offsets`.
"""

from __future__ import annotations

from typing import Any

from rocketproof_model import Expr, after, all_of, exists, forall, implies, ite, minimum, single, total
from rocketproof_spec.controller import Controller

from .claim import Case, Claim, cases

CONTROLLED: dict[str, Any] = {"profiles": ("P533",)}
REPLICAS: dict[str, Any] = {"condition": "a controller, processes end up to twice", "given": {"crash_budget": 2}, **CONTROLLED}
POWER: dict[str, Any] = {"condition": "a controller, the power fails", "given": {"power_budget": 1}, **CONTROLLED}


def _elected(c: Controller) -> Expr:
    """Whether the step is an election."""
    new: Expr = after(c.epoch) != c.epoch
    return new


def _whole(c: Controller) -> Expr:
    return forall((c.Replica, c.Place), lambda r, k: (c.log[r, k] != 0) == (k < c.length[r]))


def _in_office(c: Controller) -> Expr:
    asked = c.asked.is_none | (c.master.is_some & ~c.in_sync.has(c.asked.get))
    down = forall(c.Replica, lambda r: c.up[r] | (~c.leads(r) & (c.asked != r) & (c.offset[r] == 0)))
    return asked & down & (c.master.is_none | c.in_sync.has(c.master.get))


def _elections(c: Controller) -> Expr:
    begun = (after(c.epoch) == c.epoch + 1) & after(c.master).is_some & after(c.asked).is_none
    alone = after(c.in_sync) == single(after(c.master).get)
    leaves = forall(c.Replica, lambda r: implies(c.leads(r) & after(c.up[r]), after(c.master) == r))
    drops = forall(c.Replica, lambda r: implies(c.in_sync.has(r) & ~after(c.in_sync).has(r), _elected(c) | ~c.up[r]))
    taken = implies(after(c.master).is_some & (after(c.master) != c.master), _elected(c))
    return implies(_elected(c), begun & alone) & taken & leaves & drops


def _copies(c: Controller) -> Expr:
    """A slave appends the next record of its master's log, which its own log has followed so far."""

    def copied(r: Expr) -> Expr:
        same = forall(c.Place, lambda k: (k > c.length[r]) | (after(c.log[r, k]) == c.log[c.master.get, k]))
        confirmed = after(c.confirmed[r]) == minimum(after(c.length[r]), c.confirmed[c.master.get])
        next_record: Expr = (after(c.length[r]) == c.length[r] + 1) & c.up[r]
        return implies(after(c.length[r]) > c.length[r], next_record & (c.leads(r) | (c.master.is_some & same & confirmed)))

    return forall(c.Replica, copied)


def _cuts(c: Controller) -> Expr:
    """Without a power loss, a log is truncated only at its first difference from the master's, and keeps everything before that."""

    def cut(r: Expr) -> Expr:
        def same(k: Expr) -> Expr:
            equal: Expr = c.log[r, k] == c.log[c.master.get, k]
            return equal

        common = forall(c.Place, lambda k: (k >= after(c.length[r])) | same(k))
        parted = exists(c.Place, lambda k: (k == after(c.length[r])) & ~same(k) & (c.log[r, k] != 0))
        return implies(after(c.length[r]) < c.length[r], (after(c.powers) != c.powers) | (c.up[r] & c.master.is_some & common & parted))

    return forall(c.Replica, cut)


def _entries(c: Controller) -> Expr:
    def moved(r: Expr) -> Expr:
        more = (after(c.entries[r]) == c.entries[r] + 1) & c.up[r] & (c.entries[r] < c.confirmed[r])
        fewer = (after(c.entries[r]) == after(c.length[r])) | (after(c.entries[r]) == c.entries[r])
        appended = after(c.length[r]) > c.length[r]
        keeps_confirmed: Expr = appended | (after(c.confirmed[r]) >= minimum(c.confirmed[r], after(c.length[r])))
        moves: Expr = implies(after(c.entries[r]) > c.entries[r], more) & implies(after(c.entries[r]) <= c.entries[r], fewer)
        return moves & keeps_confirmed

    return forall(c.Replica, moved)


def _faults(c: Controller) -> Expr:
    running = total(c.Replica, lambda r: ite(c.up[r], 1, 0))
    faults = c.crashes + c.powers
    ended = (after(faults) == faults + 1) & (after(c.crashes) >= c.crashes) & (after(c.powers) >= c.powers)
    left = all_of(after(c.length[r]) == c.length[r] for r in c.Replica)
    one_fault = implies(after(running) < running, ended) & implies(after(faults) != faults, after(running) == running - 1)
    lost = exists(c.Replica, lambda r: c.up[r] & ~after(c.up[r]) & (after(c.length[r]) < c.length[r]))
    return one_fault & implies(after(c.crashes) != c.crashes, left) & implies(after(c.powers) != c.powers, lost)


def _behind(c: Controller) -> Expr:
    return exists(c.Replica, lambda r: c.leads(r) & (c.confirmed[r] < c.length[r]))


def _parted(c: Controller) -> Expr:
    return exists(c.Replica, lambda r: c.master.is_some & c.up[r] & ~c.follows(r))


IN_SYNC = Claim(
    "AUX-70",
    "the log of a replica in the SyncStateSet is a prefix of its master's and has all records that are confirmed for the master",
    "always",
    lambda c: forall(
        c.Replica,
        lambda r: implies(c.master.is_some & c.in_sync.has(r), c.follows(r) & (c.length[r] >= c.confirmed[c.master.get])),
    ),
    part=Controller,
)
LAST_GONE = Claim(
    "REA-94",
    "a power loss has removed only the last record of a full log, which was confirmed",
    "reachable",
    lambda c: exists(c.Replica, lambda r: ~c.up[r] & (c.length[r] == c.records - 1) & (c.confirmed[r] == c.records)),
    part=Controller,
)
CLAIMS = [
    IN_SYNC,
    LAST_GONE,
    Claim("AUX-71", "the records of a log occupy its first places without gaps", "always", _whole, part=Controller),
    Claim(
        "AUX-72",
        "a master runs and is in the SyncStateSet; a replica that it asks to add runs and is not in it; stopped replicas have offset 0",
        "always",
        _in_office,
        part=Controller,
    ),
    Claim(
        "AUX-73",
        "an election starts the next epoch with its master alone in the SyncStateSet; a running master stays master; "
        "without an election only stopped replicas leave the SyncStateSet",
        "step",
        _elections,
        part=Controller,
    ),
    Claim(
        "AUX-74",
        "a log grows by one record; a slave whose log is a prefix of its master's gets its next record",
        "step",
        _copies,
        part=Controller,
    ),
    Claim(
        "AUX-75", "a log is truncated only at its first difference from the master's, or by a power loss", "step", _cuts, part=Controller
    ),
    Claim(
        "AUX-76",
        "confirmed records are dispatched one at a time; entries, and confirmed positions unless logs grow, shrink only to the log's end",
        "step",
        _entries,
        part=Controller,
    ),
    Claim(
        "AUX-77", "each fault stops one process; a crash removes no records, a power loss removes some", "step", _faults, part=Controller
    ),
    Claim(
        "AUX-90",
        "a replica's confirmed position grows only when it copies a record, or while it is the master",
        "step",
        lambda c: forall(
            c.Replica,
            lambda r: implies(after(c.confirmed[r]) > c.confirmed[r], (after(c.length[r]) > c.length[r]) | c.leads(r)),
        ),
        part=Controller,
    ),
    Claim(
        "AUX-91",
        "the SyncStateSet is never empty, so a new master can be elected",
        "always",
        lambda c: exists(c.Replica, lambda r: c.in_sync.has(r)),
        part=Controller,
    ),
    Claim(
        "AUX-78",
        "the records that a master appends are eventually confirmed, unless the master stops",
        "leads_to",
        lambda c: (_behind(c), ~_behind(c)),
        part=Controller,
    ),
    Claim(
        "AUX-79",
        "the records that replicas know to be confirmed are eventually dispatched, unless a replica stops",
        "leads_to",
        lambda c: (
            exists(c.Replica, lambda r: c.up[r] & (c.entries[r] < c.confirmed[r])),
            exists(c.Replica, lambda r: ~c.up[r]) | forall(c.Replica, lambda r: c.entries[r] >= c.confirmed[r]),
        ),
        part=Controller,
    ),
    Claim(
        "AUX-80",
        "a slave whose log diverges from its master's eventually has a prefix of it again, unless one of them stops",
        "leads_to",
        lambda c: (_parted(c), ~_parted(c)),
        part=Controller,
    ),
    Claim(
        "REA-163",
        "every record of a full log is acknowledged",
        "reachable",
        lambda c: forall(c.Place, lambda k: c.acknowledged[k] != 0),
        part=Controller,
    ),
    Claim(
        "REA-160",
        "a later master has a record that was acknowledged in the first epoch",
        "reachable",
        lambda c: (c.epoch > 1) & c.master.is_some & exists(c.Place, lambda k: (c.acknowledged[k] == 1) & (c.log[c.master.get, k] == 1)),
        part=Controller,
    ),
    Claim(
        "REA-161",
        "a running slave's log has a record that its master's log does not have at this place",
        "reachable",
        _parted,
        part=Controller,
    ),
    Claim(
        "REA-162",
        "after an election all replicas are in the SyncStateSet again, each with a record",
        "reachable",
        lambda c: (c.epoch > 1) & c.master.is_some & forall(c.Replica, lambda r: c.in_sync.has(r) & (c.length[r] > 0)),
        part=Controller,
    ),
]

CASES: list[Case] = [
    *[c for claim in CLAIMS if claim is not LAST_GONE for c in cases(claim, "controller", "holds", **REPLICAS)],
    *cases(LAST_GONE, "controller", "holds", **POWER),
    *[
        c
        for claim in CLAIMS
        if claim.kind in ("always", "step") and claim is not IN_SYNC
        for c in cases(claim, "controller", "holds", **POWER)
    ],
    *cases(
        IN_SYNC, "controller", "violated", **POWER, reason="a replica loses records that it has not flushed, and stays in the SyncStateSet"
    ),
]
