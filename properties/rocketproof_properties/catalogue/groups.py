"""What groups tell of queues and ask (requests 15 and 14), while topics and groups come and go (`committing` of the specification)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rocketproof_model import Expr, Row, after, exists, forall, implies
from rocketproof_spec import Specification
from rocketproof_spec.committing import begins_at

from .claim import WITH_CASES, Case, Claim, cases


def _tells(s: Specification) -> bool:
    return s.scope.of_subject


def _told(s: Specification, body: Callable[[Expr, Expr, Row, Row], Expr], of: Any = forall) -> Expr:
    """Said of what was told on a broker, of how far the queue goes, and of its topic and group there."""
    assert s.places is not None and s.places.told is not None
    told, (retry,) = s.places.told, s.scope.named("retry")
    group, t = s.places.group, s.scope.subject
    found: Expr = of(s.Broker, lambda b: body(told[b, 0], s.log.offset[b, t, 0], s.config[b, t], group[b, retry]))
    return found


def _begins(s: Specification, told: Expr, end: Expr) -> Expr:
    return begins_at(told, s.given("begins_anywhere"), True, end > 0)


def _news(told: Expr) -> Expr:
    """The step brings an offset that counts."""
    news: Expr = (after(told) >= 0) & (after(told) != told)
    return news


LEFT = Claim(
    "AUX-104",
    "what a group has told of a topic is left when the topic is deleted",
    "step",
    lambda s: _told(s, lambda told, _, topic, __: implies(topic.known & ~after(topic.known), after(told) == told)),
    _tells,
)
KNOWN = Claim(
    "AUX-105",
    "a broker keeps offsets of topics that it has, and of no others",
    "always",
    lambda s: _told(s, lambda told, _, topic, __: implies(told >= 0, topic.known)),
    _tells,
)
LISTED = Claim(
    "AUX-106",
    "a group tells offsets only where the broker has it in its table",
    "step",
    lambda s: _told(s, lambda told, _, __, group: implies(_news(told), group.listed)),
    _tells,
)
WITHIN = Claim(
    "AUX-107",
    "a group that asks where it goes on is told no offset behind the queue's end",
    "always",
    lambda s: _told(s, lambda told, end, _, __: _begins(s, told, end) <= end),
    _tells,
)
BEHIND = Claim(
    "REA-169",
    "a group that asks where it goes on is told an offset behind the queue's end",
    "reachable",
    lambda s: _told(s, lambda told, end, _, __: _begins(s, told, end) > end, exists),
    _tells,
)
THERE = Claim(
    "REA-170",
    "a group in the broker's table has told an offset of a topic that the broker has, and is there again",
    "reachable",
    lambda s: _told(s, lambda told, end, topic, group: (told > 0) & (told == end) & topic.known & group.listed, exists),
    _tells,
)
CLAIMS = [LEFT, KNOWN, LISTED, WITHIN, BEHIND, THERE]

_ONE: dict[str, Any] = {"condition": "a topic is deleted", "given": {"update_budget": 1, "existing": True}}
_LATER = {**dict.fromkeys(WITH_CASES, "violated"), "P533": "holds"}
_EARLIER = {**dict.fromkeys(WITH_CASES, "holds"), "P533": "violated"}


def _cases(claim: Claim, expected: Any, reason: str) -> list[Case]:
    return cases(claim, "offsets", expected, profiles=WITH_CASES, **_ONE, reason=reason)


CASES: list[Case] = [
    *_cases(LEFT, _EARLIER, "TCM-31: from 5.0 on the offsets go with their topic"),
    *_cases(KNOWN, _LATER, "TCM-31: up to 4.9 request 15 asks for no topic, and the offsets of a topic that is deleted stay"),
    *_cases(LISTED, _LATER, "from 5.3 on request 15 asks for the group, which it asks nobody to make"),
    *_cases(WITHIN, "violated", "request 15 asks nothing of the queue"),
    *_cases(BEHIND, "holds", "request 15 asks nothing of the queue"),
    *_cases(THERE, "holds", ""),
]
