"""Routes: the answers of name servers, and the skew that auto-creation leaves behind (INV-52, INV-53, INV-58 to INV-60, LIV-03, LIV-08)."""

from __future__ import annotations

from rocketproof_model import Expr, all_of, any_of, exists, forall, implies
from rocketproof_model.specification import Specification
from rocketproof_model.specification.arithmetic import READ, WRITE, has_bit
from rocketproof_traces.audit.rules import Rule, rule
from rocketproof_traces.audit.vocabulary import vocabulary

from . import conditions as about
from .claim import Case, Claim, HistoryClaim, append_now, cases, history_cases, second
from .claim import about as claim_about


def _somewhere(s: Specification) -> Expr:
    return any_of(s.config[b, s.scope.subject].known for b in s.Broker)


def _everywhere(s: Specification) -> Expr:
    return all_of(s.config[b, s.scope.subject].known for b in s.Broker)


def _skew(s: Specification) -> Expr:
    """One broker has the topic, its route and every producer's list; no request is elsewhere: the others never get it."""
    t = s.scope.subject

    def alone(b: Expr) -> Expr:
        brokers = all_of(
            (s.config[c, t].known == (c == b)) & ((s.route[c, t].entries > 0) == (c == b)) & ~s.registration_in_flight[c] for c in s.Broker
        )
        lists = all_of(s.known_route[p] & all_of((s.queues[p, c] > 0) == (c == b) for c in s.Broker) for p in s.Producer)
        idle = all_of((s.job[p].phase == "idle") | (s.job[p].broker == b) for p in s.Producer)
        return brokers & lists & idle

    return exists(s.Broker, alone)


def _writable(s: Specification) -> Expr:
    def one(p: Expr) -> Expr:
        return forall(
            s.Broker,
            lambda b: forall(
                s.Topic,
                lambda t: implies(append_now(s, p) & (s.job[p].broker == b) & (s.job[p].topic == t), has_bit(s.config[b, t].perm, WRITE)),
            ),
        )

    return forall(s.Producer, one)


READ_ONLY = Claim(
    "INV-52",
    "a broker without write permission stores nothing from producers",
    "always",
    lambda s: implies(~s.given("broker_writable"), forall(s.Producer, lambda p: s.job[p].appended == 0)),
)
NO_WRITE = Claim("INV-53", "a topic without write permission stores nothing", "step", _writable)
KNOWN = Claim(
    "INV-58",
    "every queue data in a route belongs to a broker that the name server knows",
    "always",
    lambda s: forall(s.Broker, lambda b: forall(s.Topic, lambda t: implies(s.route[b, t].entries > 0, s.live[b]))),
)
SINGLE = Claim(
    "INV-59",
    "a route has at most one queue data for a topic and broker",
    "always",
    lambda s: forall(s.Broker, lambda b: forall(s.Topic, lambda t: s.route[b, t].entries <= 1)),
)
SKEW = Claim(
    "LIV-03",
    "once the topic exists, every broker gets it, however long messages are sent",
    "leads_to",
    lambda s: (_somewhere(s), _everywhere(s)),
    lambda s: s.scope.brokers > 1 and s.scope.routes,
)
TEMPLATE = Claim(
    "LIV-08",
    "with auto-create off the route of TBW102 becomes unavailable",
    "leads_to",
    lambda s: (~s.given("auto_create"), all_of(s.route[b, 0].entries == 0 for b in s.Broker)),
)
ABSORBED = Claim(
    "REA-10",
    "the auto-create skew is reached: one broker alone has the topic and every producer's list",
    "reachable",
    _skew,
    lambda s: s.scope.brokers > 1 and s.scope.routes,
)
BALANCED = Claim("REA-11", "every broker gets the topic", "reachable", _everywhere, lambda s: s.scope.routes)


def _stored() -> list[Rule]:
    q = vocabulary()["queue"].row
    return [
        rule(
            "INV-53.stored",
            "a topic that may not be written to has no records",
            "queue", "note",
            implies(q.known, has_bit(q.perm, WRITE)), q.perm | WRITE, q.perm,
        ),
        rule(
            "HAZ-31.stored",
            "a topic with records may be read",
            "queue", "note",
            implies(q.known, has_bit(q.perm, READ)), q.perm | READ, q.perm,
        ),
    ]  # fmt: skip


RULES = _stored()


def _tables() -> list[HistoryClaim]:
    r = vocabulary()["route"].row
    once = r.times <= 1
    return [
        claim_about(
            "INV-59.tables", "the name server has one queue data of a broker for a topic", "route", implies(~r.isAddress, once), 1, r.times
        ),
        claim_about(
            "INV-60", "the name server has an address under one id of a broker's name", "route", implies(r.isAddress, once), 1, r.times
        ),
    ]  # fmt: skip


HISTORY = _tables()

CLAIMS = [READ_ONLY, NO_WRITE, KNOWN, SINGLE, SKEW, TEMPLATE, ABSORBED, BALANCED]
_ENDLESS = {"sends": 0}

CASES: list[Case] = [
    *cases(READ_ONLY, "creation", "violated", given={"broker_writable": False}, condition="read-only broker", reason="HAZ-06"),
    *second(READ_ONLY, "creation", 4, given={"broker_writable": False}, condition="read-only broker"),
    *second(NO_WRITE, "creation", 4, given={"existing": True, "existing_perm": 4}, condition="topic with permission 4"),
    *cases(
        NO_WRITE, "creation", "violated", given={"existing": True, "existing_perm": 4}, condition="topic with permission 4", reason="CHK-11"
    ),
    *cases(SINGLE, "small", "holds", condition="auto-create on"),
    *cases(
        SINGLE,
        "small",
        "holds",
        condition="a registration lost, one retry",
        given={"loss_budget": 1, "retries": 1, "template_write": 1, "sends": 1},
    ),
    *cases(KNOWN, "restart", "holds", condition="crash and restart"),
    *cases(SINGLE, "restart", "holds", condition="crash and restart"),
    *cases(SKEW, "small", "violated", given=_ENDLESS, condition="endless sends", reason="HAZ-01"),
    *cases(
        SKEW,
        "skew",
        "violated",
        given={"round_robin": True, "burst": 1, "sends": 9},
        condition="queues in turn, the refresh after 1 message",
        reason="HAZ-01: the first message reaches one broker",
    ),
    *cases(
        SKEW,
        "skew",
        "holds",
        given={"round_robin": True, "burst": 5, "sends": 13},
        condition="queues in turn, the refresh after 5 messages",
        reason="five messages in turn reach both brokers' four queues",
    ),
    *cases(
        TEMPLATE,
        "small",
        "violated",
        given={"auto_create": False, "template_in_file": True, "sends": 0},
        condition="auto-create off, TBW102 from the file",
        reason="HAZ-03",
    ),
    *cases(ABSORBED, "small", "holds", given=_ENDLESS, condition="endless sends", reason="HAZ-01"),
    *cases(
        ABSORBED,
        "skew",
        "holds",
        engines=("explicit", "simulate"),
        given={"round_robin": True, "burst": 1, "sends": 9},
        condition="queues in turn, the refresh after 1 message",
        reason="HAZ-01",
    ),
    *cases(
        BALANCED,
        "skew",
        "holds",
        engines=("explicit", "simulate"),
        given={"round_robin": True, "burst": 4, "sends": 12},
        condition="queues in turn, the refresh after 4 messages",
    ),
    *cases(BALANCED, "small", "holds", condition="auto-create on"),
]

HISTORY_CASES: list[Case] = [
    *[case for claim in HISTORY for case in history_cases(claim, about.REGISTERED, "holds")],
]
