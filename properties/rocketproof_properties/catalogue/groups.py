"""Consumer offsets of groups (requests 15 and 14), while topics and groups are created and deleted (`committing` of the specification)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rocketproof_model import Expr, Row, after, exists, forall, implies
from rocketproof_spec import Specification
from rocketproof_spec.committing import begins_at

from .claim import WITH_CASES, Case, Claim, cases


def _has_offsets(s: Specification) -> bool:
    return s.scope.of_subject


def _committed(s: Specification, body: Callable[[Expr, Expr, Row, Row], Expr], of: Any = forall) -> Expr:
    """A formula over a committed offset on a broker, its queue's end, and the broker's topic and group."""
    assert s.places is not None and s.places.told is not None
    committed, (retry,) = s.places.told, s.scope.named("retry")
    group, t = s.places.group, s.scope.subject
    claim: Expr = of(s.Broker, lambda b: body(committed[b, 0], s.log.offset[b, t, 0], s.config[b, t], group[b, retry]))
    return claim


def _begins(s: Specification, committed: Expr, end: Expr) -> Expr:
    return begins_at(committed, s.given("begins_anywhere"), s.given("heeds_set_zero"), True, end > 0)


def _commits(committed: Expr) -> Expr:
    """Whether the step commits another valid offset."""
    commits: Expr = (after(committed) >= 0) & (after(committed) != committed)
    return commits


LEFT = Claim(
    "AUX-104",
    "deleting a topic does not change the offsets that a group has committed for it",
    "step",
    lambda s: _committed(s, lambda committed, _, topic, __: implies(topic.known & ~after(topic.known), after(committed) == committed)),
    _has_offsets,
)
KNOWN = Claim(
    "AUX-105",
    "a broker has committed offsets only for topics that it has",
    "always",
    lambda s: _committed(s, lambda committed, _, topic, __: implies(committed >= 0, topic.known)),
    _has_offsets,
)
LISTED = Claim(
    "AUX-106",
    "a group commits offsets only on a broker that has the group in its table",
    "step",
    lambda s: _committed(s, lambda committed, _, __, group: implies(_commits(committed), group.listed)),
    _has_offsets,
)
WITHIN = Claim(
    "AUX-107",
    "an offset query never returns an offset beyond the end of the queue",
    "always",
    lambda s: _committed(s, lambda committed, end, _, __: _begins(s, committed, end) <= end),
    _has_offsets,
)
BEHIND = Claim(
    "REA-169",
    "an offset query returns an offset beyond the end of the queue",
    "reachable",
    lambda s: _committed(s, lambda committed, end, _, __: _begins(s, committed, end) > end, exists),
    _has_offsets,
)
THERE = Claim(
    "REA-170",
    "a known group has committed the end of a queue with messages of an existing topic",
    "reachable",
    lambda s: _committed(s, lambda committed, end, topic, group: (committed > 0) & (committed == end) & topic.known & group.listed, exists),
    _has_offsets,
)
CLAIMS = [LEFT, KNOWN, LISTED, WITHIN, BEHIND, THERE]

_ONE: dict[str, Any] = {"condition": "a topic is deleted", "given": {"update_budget": 1, "existing": True}}
_LATER = {**dict.fromkeys(WITH_CASES, "violated"), "P533": "holds"}
_EARLIER = {**dict.fromkeys(WITH_CASES, "holds"), "P533": "violated"}


def _cases(claim: Claim, expected: Any, reason: str) -> list[Case]:
    return cases(claim, "offsets", expected, profiles=WITH_CASES, **_ONE, reason=reason)


CASES: list[Case] = [
    *_cases(LEFT, _EARLIER, "TCM-31: from 5.0 on deleting a topic removes its offsets"),
    *_cases(KNOWN, _LATER, "TCM-31: up to 4.9 request 15 does not check the topic, and deleting a topic keeps its offsets"),
    *_cases(LISTED, _LATER, "from 5.3 on request 15 requires that the broker has the group, and does not create it"),
    *_cases(WITHIN, "violated", "request 15 does not check the offset against the queue"),
    *_cases(BEHIND, "holds", "request 15 does not check the offset against the queue"),
    *_cases(THERE, "holds", ""),
]
