"""A consumer's progress: its deliveries, their time and number, and the loss of its offset (progress.py of the specification)."""

from __future__ import annotations

from typing import Any

from rocketproof_model import Expr, after, implies
from rocketproof_spec.progress import ConsumerProgress

from .claim import Case, Claim, cases, condition, effect, wide


def _marked(p: ConsumerProgress) -> Expr:
    """Whether the marked message is stored and on the device."""
    return (p.marked != 0) & (p.marked <= p.flushed)


DELIVERED = Claim(
    "AUX-48",
    "a message that is acknowledged and flushed is eventually delivered",
    "leads_to",
    lambda p: (_marked(p) & ~p.got, p.got),
    part=ConsumerProgress,
)
ONCE = Claim(
    "AUX-48.once",
    "no message is delivered twice",
    "step",
    lambda p: implies(p.running & after(p.running) & (after(p.place) == p.place + 1), p.place >= p.delivered),
    part=ConsumerProgress,
)
STAYS = Claim("AUX-49", "a delivered message stays in the log", "always", lambda p: p.delivered <= p.written, part=ConsumerProgress)
READABLE = Claim(
    "AUX-49.flushed",
    "with synchronous flush, only messages on the device can be read",
    "always",
    lambda p: implies(p.sync, p.entries <= p.flushed),
    part=ConsumerProgress,
)
WITHIN = Claim("AUX-49.offset", "a group's offset is within its queue", "always", lambda p: p.committed <= p.written, part=ConsumerProgress)
STANDS = Claim(
    "AUX-49.reset",
    "an offset that an administrator sets stays until a consumer queries it",
    "step",
    lambda p: implies(p.moved & after(p.moved), after(p.committed) == p.committed),
    part=ConsumerProgress,
)
DISPATCH = Claim(
    "AUX-49.dispatch",
    "a record gets its entry when it is written, or when it is flushed if release and flush mode require it, for all numbers",
    "lemma",
    lambda p: wide(implies(condition(p.model.named("dispatch"), "behind") & (p.flushed <= p.written), _dispatched(p))),
    part=ConsumerProgress,
)


def _dispatched(p: ConsumerProgress) -> Expr:
    end = effect(p.model.named("dispatch"), "entries")
    return (end <= p.written) & implies(p.sync & p.dispatches_flushed, end <= p.flushed)


GIVEN = Claim("REA-108", "the marked message is delivered", "reachable", lambda p: p.got, part=ConsumerProgress)
BEYOND = Claim(
    "REA-109",
    "a consumer's offset is beyond the end of its queue",
    "reachable",
    lambda p: p.running & (p.place > p.entries),
    part=ConsumerProgress,
)
SKIPPED = Claim(
    "REA-110",
    "a message is written below the offset at which a consumer continues",
    "reachable",
    lambda p: _marked(p) & ~p.got & p.running & (p.place >= p.marked),
    part=ConsumerProgress,
)
BEHIND = Claim(
    "REA-111", "the offset file is older than the offsets in memory", "reachable", lambda p: p.saved < p.committed, part=ConsumerProgress
)

CLAIMS = [DELIVERED, ONCE, STAYS, READABLE, WITHIN, STANDS, DISPATCH, GIVEN, BEYOND, SKIPPED, BEHIND]

_PROFILES = ("P40", "P45", "P49", "P533")
_LATER = {"P40": "violated", "P45": "violated", "P49": "violated", "P533": "holds"}
_WELL: dict[str, Any] = {"condition": "synchronous flush, nothing fails"}
_ENDS: dict[str, Any] = {
    "condition": "asynchronous flush, broker or consumer end up to twice",
    "given": {"sync": False, "crash_budget": 2, "stop_budget": 2},
}
_SYNC: dict[str, Any] = {
    "condition": "synchronous flush, the power fails, or broker or consumer end",
    "given": {"power_budget": 2, "crash_budget": 1, "stop_budget": 2},
}
_ASYNC: dict[str, Any] = {"condition": "asynchronous flush, the power fails", "given": {"sync": False, "power_budget": 1}}
_RESETS: dict[str, Any] = {"condition": "an administrator sets the offset", "given": {"resets": True}}

_BEFORE = "up to 5.2 a record is dispatched before it is flushed, whatever the flush"
_LOST = "a message was given to the consumer before it was flushed, and new ones take its offset"
_UNCOMMITTED = "at least once: what was not committed is delivered again"

CASES: list[Case] = [
    *cases(DELIVERED, "progress", "holds", **_WELL),
    *cases(DELIVERED, "progress", "holds", **_ENDS),
    *cases(DELIVERED, "progress", _LATER, profiles=_PROFILES, **_SYNC, reason=_LOST),
    *cases(DELIVERED, "progress", "violated", profiles=_PROFILES, **_ASYNC, reason=_LOST),
    *cases(DELIVERED, "progress", "violated", **_RESETS, reason="an offset beyond a message passes it over"),
    *cases(ONCE, "progress", "holds", **_WELL),
    *cases(ONCE, "progress", "violated", **_ENDS, reason=_UNCOMMITTED),
    *cases(STAYS, "progress", "holds", **_ENDS),
    *cases(STAYS, "progress", _LATER, profiles=_PROFILES, **_SYNC, reason=_BEFORE),
    *cases(STAYS, "progress", "violated", profiles=_PROFILES, **_ASYNC, reason="asynchronous flush dispatches what is written"),
    *cases(READABLE, "progress", _LATER, profiles=_PROFILES, **_WELL, reason=_BEFORE),
    *cases(WITHIN, "progress", "holds", **_ENDS),
    *cases(WITHIN, "progress", _LATER, profiles=_PROFILES, **_SYNC, reason=_BEFORE),
    *cases(WITHIN, "progress", "violated", **_RESETS, reason="request 15 asks nothing of the queue"),
    *cases(STANDS, "progress", "violated", **_RESETS, reason="a consumer that runs commits its own offset over it"),
    *cases(DISPATCH, "progress", "holds", engines=("symbolic",), method="lemma"),
    *cases(GIVEN, "progress", "holds", **_WELL),
    *[c for claim in (BEYOND, SKIPPED, BEHIND) for c in cases(claim, "progress", "holds", **_ASYNC)],
]
