"""Changes of settings while a broker runs (request 25): immediate effects and permanent losses (HAZ-02, HAZ-03)."""

from __future__ import annotations

from typing import Any

from rocketproof_model import Expr, all_of, forall, implies
from rocketproof_spec import Specification
from rocketproof_spec.arithmetic import INHERIT, READ, has_bit

from .claim import SEEDS, Case, Claim, cases, second
from .creation import NONE, NOT_TEMPLATE
from .topics import CONTENT


def _configures(s: Specification) -> bool:
    return s.scope.configures


def _listed(s: Specification, *topics: int) -> Expr:
    """A name server with the version of the broker's table lists these topics with the permission that the broker registers now."""

    def holds_for(b: Expr, t: int) -> Expr:
        row = s.config[b, t]
        stored = s.live[b] & (s.live_version[b] == s.version[b]) & row.known
        return implies(stored, s.route[b, t].perm == s.published(row).perm)

    return implies(s.quiet, forall(s.Broker, lambda b: all_of(holds_for(b, t) for t in topics)))


def _inherits(s: Specification) -> Expr:
    return forall(s.Broker, lambda b: has_bit(s.config[b, 0].perm, INHERIT))


LOST = Claim(
    "AUX-101",
    "while autoCreateTopicEnable is true, topics can be created from TBW102, whatever the earlier value",
    "always",
    lambda s: implies(s.given("auto_create"), _inherits(s)),
    _configures,
)
LISTED = Claim(
    "AUX-102",
    "a name server with the version of the broker's table lists a topic with the permission that the broker's settings leave it",
    "always",
    lambda s: _listed(s, s.scope.subject),
    _configures,
)
TEMPLATE = Claim(
    "AUX-103",
    "a name server with the version of the broker's table lists TBW102 with the permission that the broker's settings leave it",
    "always",
    lambda s: _listed(s, 0),
    _configures,
)
IN_VAIN = Claim(
    "REA-167",
    "autoCreateTopicEnable is true again, nothing is in progress, and no topic can be created from TBW102",
    "reachable",
    lambda s: s.quiet & s.given("auto_create") & ~_inherits(s),
    _configures,
)
LIMITED = Claim(
    "REA-168",
    "a running broker without write permission lists a topic without write permission",
    "reachable",
    lambda s: s.quiet & ~s.given("broker_writable") & (s.route[0, s.scope.subject].perm == READ),
    _configures,
)
CLAIMS = [LOST, LISTED, TEMPLATE, IN_VAIN, LIMITED]

_SWITCHED: dict[str, Any] = {"condition": "settings are changed"}
_FOUND = "who has found the template goes on with it: its topic is made after the switch"
_LATER = (*SEEDS, "P494")


def _cases(claim: Claim, expected: str, reason: str = "") -> list[Case]:
    return cases(claim, "settings", expected, profiles=_LATER, **_SWITCHED, reason=reason)


CASES: list[Case] = [
    *_cases(CONTENT, "violated", "HAZ-02"),
    *second(CONTENT, "settings", 6, **_SWITCHED),
    *[case for claim in (NONE, NOT_TEMPLATE) for case in _cases(claim, "violated", _FOUND)],
    *_cases(LOST, "violated", "HAZ-02: a send that was refused while the switch was off has taken INHERIT from TBW102 (HAZ-03)"),
    *_cases(IN_VAIN, "holds", "HAZ-03"),
    *_cases(LISTED, "holds", "a changed permission is a new version of the table, and is registered"),
    *_cases(LIMITED, "holds", "NS-11"),
    *_cases(TEMPLATE, "violated", "HAZ-02: TCM-13 is no new version"),
]
