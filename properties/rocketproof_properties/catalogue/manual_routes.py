"""Routes that an administrator sets at name servers (requests 216 and 217, TCM-34): routes without a topic, and topics without a route."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rocketproof_model import Expr, forall, implies
from rocketproof_spec import Specification

from .claim import WITH_CASES, Case, Claim, cases, second


def _has_manual_routes(s: Specification) -> bool:
    return s.scope.tells


def _routes(s: Specification, formula: Callable[[Expr, Expr], Any]) -> Expr:
    """A formula for each broker and topic while nothing is pending and the name server has the version of the broker's table."""

    def holds_for(b: Expr, t: Expr) -> Expr:
        return implies(s.quiet & s.live[b] & (s.live_version[b] == s.version[b]), formula(b, t))

    return forall(s.Broker, lambda b: forall(s.Topic, lambda t: holds_for(b, t)))


def _is_registered(s: Specification, b: Expr, t: Expr) -> Expr:
    """Whether the topic's queues are listed as the broker registers them."""
    route, published = s.route[b, t], s.published(s.config[b, t])
    same: Expr = (route.read == published.read) & (route.write == published.write) & (route.perm == published.perm)
    return same


LISTED = Claim(
    "AUX-113",
    "a name server with the version of the broker's table lists all its topics",
    "always",
    lambda s: _routes(s, lambda b, t: implies(s.config[b, t].known, s.route[b, t].entries > 0)),
    _has_manual_routes,
)
HAD = Claim(
    "AUX-113.had",
    "and it lists no topic that the broker does not have",
    "always",
    lambda s: _routes(s, lambda b, t: implies(s.route[b, t].entries > 0, s.config[b, t].known)),
    _has_manual_routes,
)
SAME = Claim(
    "AUX-113.same",
    "and it lists the topics with the broker's queue counts",
    "always",
    lambda s: _routes(s, lambda b, t: implies(s.config[b, t].known & (s.route[b, t].entries > 0), _is_registered(s, b, t))),
    _has_manual_routes,
)
BACK = Claim(
    "AUX-114",
    "a topic that a broker has and the name server has lost is eventually listed again",
    "leads_to",
    lambda s: (s.config[0, s.scope.subject].known & (s.route[0, s.scope.subject].entries == 0), s.route[0, s.scope.subject].entries > 0),
    _has_manual_routes,
)
CLOSED = Claim(
    "REA-175",
    "a topic for which the broker accepts messages is listed without write permission",
    "reachable",
    lambda s: s.quiet & (s.config[0, s.scope.subject].perm == 6) & (s.route[0, s.scope.subject].perm == 4),
    _has_manual_routes,
)
MADE = Claim(
    "REA-176",
    "a topic created by a message is listed, while an older topic is missing",
    "reachable",
    lambda s: s.quiet & (s.route[0, 1].entries > 0) & s.config[0, 1].known & (s.route[0, s.scope.subject].entries == 0),
    _has_manual_routes,
)
CLAIMS = [LISTED, HAD, SAME, BACK, CLOSED, MADE]

_GIVEN: dict[str, Any] = {
    "condition": "a topic that exists",
    "given": {"existing": True, "existing_read": 1, "existing_write": 1},
}
_FORGOTTEN = "request 216 takes it out, and a table of the same version is not looked at (NS-04)"
_BY_HAND = "request 217 asks no broker, and a table of the same version is not looked at (TCM-34)"
_TAKEN = {"P40": "holds", "P45": "holds", "P49": "holds", "P494": "holds", "P533": "violated"}

CASES: list[Case] = [
    *cases(LISTED, "told", "violated", profiles=WITH_CASES, **_GIVEN, reason=_FORGOTTEN),
    *second(LISTED, "told", 2, **_GIVEN),
    *cases(HAD, "told", _TAKEN, profiles=WITH_CASES, **_GIVEN, reason=_BY_HAND),
    *cases(SAME, "told", _TAKEN, profiles=WITH_CASES, **_GIVEN, reason=_BY_HAND),
    *cases(BACK, "told", "violated", profiles=("P49", "P494"), **_GIVEN, reason=_FORGOTTEN),
    *cases(CLOSED, "told", "holds", profiles=("P533",), **_GIVEN),
    *cases(MADE, "told", "holds", profiles=("P49", "P533"), **_GIVEN),
]
