"""Routes: answers of name servers, lost registrations, and the auto-creation skew (INV-52, INV-53, INV-58 to INV-60, LIV-01, LIV-03,
LIV-08)."""

from __future__ import annotations

from typing import Any

from rocketproof_model import Expr, after, all_of, any_of, exists, forall, implies
from rocketproof_spec import Specification
from rocketproof_spec.arithmetic import READ, WRITE, has_bit
from rocketproof_spec.registering import Registrations
from rocketproof_traces.audit.rules import Rule, rule
from rocketproof_traces.audit.vocabulary import vocabulary

from . import conditions as about
from .claim import SEEDS, Case, Claim, HistoryClaim, append_now, cases, history_cases, second
from .claim import about as claim_about


def _somewhere(s: Specification) -> Expr:
    return any_of(s.config[b, s.scope.subject].known for b in s.Broker)


def _everywhere(s: Specification) -> Expr:
    return all_of(s.config[b, s.scope.subject].known for b in s.Broker)


def _repeated(s: Specification, p: Expr) -> Expr:
    """A retry goes to a queue that the producer knows, on another broker than the failed one if the producer knows one."""
    row, known = s.job[p], s.queues
    listed = all_of(implies(after(row.broker) == b, after(row.queue) < known[p, b]) for b in s.Broker)
    other = (after(row.broker) != row.broker) | all_of((known[p, b] == 0) | (row.broker == b) for b in s.Broker)
    return implies(after(row.tries) > row.tries, listed & other)


def _skew(s: Specification) -> Expr:
    """One broker has the topic, its route and every producer's list, and no other broker has a request, so no other broker gets the
    topic."""
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
    def holds_for(p: Expr) -> Expr:
        return forall(
            s.Broker,
            lambda b: forall(
                s.Topic,
                lambda t: implies(append_now(s, p) & (s.job[p].broker == b) & (s.job[p].topic == t), has_bit(s.config[b, t].perm, WRITE)),
            ),
        )

    return forall(s.Producer, holds_for)


READ_ONLY = Claim(
    "INV-52",
    "a broker without write permission stores nothing from producers",
    "always",
    lambda s: implies(~s.given("broker_writable"), forall(s.Producer, lambda p: s.job[p].appended == 0)),
)
NO_WRITE = Claim("INV-53", "a topic without write permission stores nothing", "step", _writable)
KNOWN = Claim(
    "INV-58",
    "every QueueData in a route belongs to a broker that the name server knows",
    "always",
    lambda s: forall(s.Broker, lambda b: forall(s.Topic, lambda t: implies(s.route[b, t].entries > 0, s.live[b]))),
)
SINGLE = Claim(
    "INV-59",
    "a route has at most one QueueData for each topic and broker",
    "always",
    lambda s: forall(s.Broker, lambda b: forall(s.Topic, lambda t: s.route[b, t].entries <= 1)),
)
REPEATED = Claim(
    "AUX-92",
    "a failed attempt is repeated on a known queue, of another broker if the producer knows one",
    "step",
    lambda s: forall(s.Producer, lambda p: _repeated(s, p)),
    lambda s: s.scope.routes,
)
SKEW = Claim(
    "LIV-03",
    "once the topic exists, every broker eventually gets it if messages are sent for ever",
    "leads_to",
    lambda s: (_somewhere(s), _everywhere(s)),
    lambda s: s.scope.brokers > 1 and s.scope.routes,
)
TEMPLATE = Claim(
    "LIV-08",
    "with auto-creation off, the route of TBW102 eventually disappears",
    "leads_to",
    lambda s: (~s.given("auto_create"), all_of(s.route[b, 0].entries == 0 for b in s.Broker)),
)
ABSORBED = Claim(
    "REA-10",
    "auto-creation skew: one broker alone has the topic and is in every producer's route",
    "reachable",
    _skew,
    lambda s: s.scope.brokers > 1 and s.scope.routes,
)
BALANCED = Claim("REA-11", "every broker gets the topic", "reachable", _everywhere, lambda s: s.scope.routes)


def _in_use(r: Registrations, n: Expr) -> Expr:
    in_use: Expr = (n == 0) | r.two
    return in_use


def _agrees(r: Registrations, n: Expr) -> Expr:
    """The name server has each topic of the broker with the broker's content, or with its permission wiped."""
    matches = forall(r.Topic, lambda t: any_of((r.config[t] == "none", r.route[n, t] == r.config[t], r.route[n, t] == "wiped")))
    return ~_in_use(r, n) | matches


def _knows(r: Registrations, n: Expr) -> Expr:
    return ~_in_use(r, n) | forall(r.Topic, lambda t: (r.config[t] == "none") | (r.route[n, t] != "none"))


def _servers(body: Any) -> Any:
    return lambda r: forall(r.Server, lambda n: body(r, n))


def _in_the_end(body: Any) -> Any:
    every = _servers(body)
    return lambda r: (~every(r), every(r))


def _given_back(r: Registrations, n: Expr) -> Expr:
    return exists(r.Topic, lambda t: (r.route[n, t] == "wiped") & (after(r.route[n, t]) != "wiped"))


def _adds(r: Registrations, n: Expr, s: Expr) -> Expr:
    """Whether the registration contains something that the name server lacks."""
    return exists(r.Topic, lambda t: (r.carried[n, s, t] != "none") & (r.carried[n, s, t] != r.route[n, t]))


def _arrives_bare(r: Registrations, n: Expr, s: Expr) -> Expr:
    row = r.letter[n, s]
    arrives: Expr = r.bare & r.live[n] & after(r.live[n]) & row.sent & row.alone & ~after(row.sent)
    return arrives


def _takes_bare(r: Registrations, n: Expr, s: Expr) -> Expr:
    taken = all_of((r.carried[n, s, t] == "none") | (after(r.route[n, t]) == r.carried[n, s, t]) for t in r.Topic)
    unchanged: Expr = taken & (after(r.stored[n]) == r.stored[n])
    return unchanged


def _arriving(body: Any) -> Any:
    """A formula: some registration in flight has the property `body`."""
    return lambda r: exists(r.Server, lambda n: exists(r.Sender, lambda s: r.letter[n, s].sent & body(r, n, s)))


SAME = Claim(
    "INV-18.stored",
    "a name server that has stored the version of the broker's table has exactly the table's topics",
    "always",
    _servers(lambda r, n: implies(r.live[n] & (r.stored[n] == r.version), _agrees(r, n))),
    part=Registrations,
)
ALL = Claim("LIV-01.all", "each name server eventually has the broker's topics", "leads_to", _in_the_end(_agrees), part=Registrations)
CREATED = Claim(
    "LIV-01.created",
    "a topic of the broker eventually has a route at each name server",
    "leads_to",
    _in_the_end(_knows),
    part=Registrations,
)
FIRST = Claim(
    "AUX-50",
    "a name server that does not know the broker learns all its topics with their version",
    "step",
    _servers(lambda r, n: implies(~r.live[n] & after(r.live[n]) & (after(r.stored[n]) == r.version), after(_knows(r, n)))),
    part=Registrations,
)
FORWARD = Claim(
    "AUX-51",
    "a name server that has no version stores an older version",
    "step",
    _servers(lambda r, n: implies(r.live[n] & after(r.live[n]), after(r.stored[n]) >= r.stored[n])),
    part=Registrations,
)
WIPED = Claim(
    "AUX-52",
    "a permission that a name server has wiped stays wiped",
    "step",
    _servers(lambda r, n: ~_given_back(r, n)),
    part=Registrations,
)
WIPED_SAME = Claim(
    "AUX-53",
    "a permission that a name server has wiped stays wiped while it is registered with the same version",
    "step",
    _servers(lambda r, n: implies(_given_back(r, n), ~after(r.live[n]) | (after(r.stored[n]) != r.stored[n]))),
    part=Registrations,
)
STRANGER = Claim(
    "AUX-81",
    "a name server that does not know the broker has none of its topics",
    "always",
    _servers(lambda r, n: r.live[n] | all_of(r.route[n, t] == "none" for t in r.Topic)),
    part=Registrations,
)
BARE = Claim(
    "AUX-82",
    "a topic that arrives without a version is stored, and the stored version stays unchanged",
    "step",
    lambda r: all_of(implies(_arrives_bare(r, n, s), _takes_bare(r, n, s)) for n in r.Server for s in r.Sender),
    part=Registrations,
)
IGNORED = Claim(
    "REA-120",
    "a registration with the stored version has a topic that differs from the name server's",
    "reachable",
    _arriving(lambda r, n, s: r.live[n] & (r.letter[n, s].version == r.stored[n]) & _adds(r, n, s)),
    part=Registrations,
)
LATE = Claim(
    "REA-121",
    "a registration with an older version than the stored one is in transit",
    "reachable",
    _arriving(lambda r, n, s: r.live[n] & (r.letter[n, s].version < r.stored[n])),
    part=Registrations,
)
FORGOTTEN = Claim(
    "REA-122",
    "a name server has a topic that the broker no longer has",
    "reachable",
    lambda r: exists(r.Server, lambda n: exists(r.Topic, lambda t: (r.config[t] == "none") & (r.route[n, t] != "none"))),
    part=Registrations,
)
UNKNOWN = Claim(
    "REA-123",
    "a registration is in transit to a name server that does not know the broker",
    "reachable",
    _arriving(lambda r, n, s: ~r.live[n]),
    part=Registrations,
)


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
            "INV-59.tables", "the name server has one QueueData per broker and topic", "route", implies(~r.isAddress, once), 1, r.times
        ),
        claim_about(
            "INV-60", "the name server has each address under one id of a broker name", "route", implies(r.isAddress, once), 1, r.times
        ),
    ]  # fmt: skip


HISTORY = _tables()

CLAIMS = [
    READ_ONLY, NO_WRITE, KNOWN, SINGLE, REPEATED, SKEW, TEMPLATE, ABSORBED, BALANCED, SAME, ALL, CREATED, FIRST, FORWARD, WIPED, WIPED_SAME,
    STRANGER, BARE, IGNORED, LATE, FORGOTTEN, UNKNOWN,
]  # fmt: skip
_ENDLESS = {"sends": 0}

_RELEASES = (*SEEDS, "P494", "P533")
_WHOLE = dict.fromkeys(SEEDS, "holds")
_ALONE = {**_WHOLE, "P494": "violated", "P533": "violated"}
_REPAIRED = {**_WHOLE, "P494": "violated", "P533": "holds"}
_HIDES = "HAZ-55: one topic alone is registered with the version of the whole table"
_RESTARTED = "HAZ-56: the first registration of a name server that was restarted has one topic; 5.x refuses it"
_OVERTAKEN = "HAZ-37: what names no version is taken whenever it arrives, also behind a later one, and nothing repairs that"
_SEPARATE = "what names no version hides no other change: the timer's registration has a version that is not stored"
_PLAIN: dict[str, Any] = {"condition": "two topics change"}
_ASKS: dict[str, Any] = {"condition": "two topics change, the timer asks first", "given": {"asks": True}}
_TWO: dict[str, Any] = {"condition": "two topics change, two name servers", "given": {"two": True}}
_LOSS: dict[str, Any] = {"condition": "two topics change, a registration is lost", "given": {"loss": True}}
_AGAIN: dict[str, Any] = {"condition": "two topics change, a name server is restarted", "given": {"restart": True}}
_WIPE: dict[str, Any] = {"condition": "two topics change, a permission is wiped", "given": {"wipe": True}}
_BARE: dict[str, dict[str, Any]] = {
    what: {"condition": f"two topics change, one alone names no version{also}", "given": {"bare": True} | given}
    for what, also, given in (
        ("plain", "", {}),
        ("two", ", two name servers", {"two": True}),
        ("loss", ", a registration is lost", {"loss": True}),
        ("again", ", a name server is restarted", {"restart": True}),
    )
}
"""The setting enableSingleTopicRegister of 5.x."""
_FIRST_TWO = {"P494": "holds", "P533": "holds"}

CASES: list[Case] = [
    *cases(READ_ONLY, "creation", "violated", given={"broker_writable": False}, condition="read-only broker", reason="HAZ-06"),
    *cases(READ_ONLY, "store", "violated", given={"broker_writable": False}, condition="read-only broker", reason="HAZ-06"),
    *second(READ_ONLY, "creation", 4, given={"broker_writable": False}, condition="read-only broker"),
    *second(NO_WRITE, "creation", 4, given={"existing": True, "existing_perm": 4}, condition="topic with permission 4"),
    *cases(
        NO_WRITE, "creation", "violated", given={"existing": True, "existing_perm": 4}, condition="topic with permission 4", reason="CHK-11"
    ),
    *cases(SINGLE, "small", "holds", condition="auto-create on"),
    *[
        case
        for claim in (SINGLE, REPEATED)
        for case in cases(
            claim,
            "small",
            "holds",
            condition="a registration lost, one retry",
            given={"loss_budget": 1, "retries": 1, "template_write": 1, "sends": 1},
        )
    ],
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
    *cases(
        TEMPLATE,
        "skew",
        "violated",
        given={"auto_create": False, "template_in_file": True, "sends": 1},
        condition="auto-create off, TBW102 from the file",
        reason="HAZ-03: one message is refused, and the route stays",
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
    *[
        case
        for claim in (SAME, ALL)
        for on in (_PLAIN, _ASKS, _TWO, _LOSS, _AGAIN)
        for case in cases(claim, "registrations", _ALONE, profiles=_RELEASES, **on, reason=_HIDES)
    ],
    *[
        case
        for on in (_PLAIN, _ASKS, _TWO, _LOSS)
        for case in cases(CREATED, "registrations", _REPAIRED, profiles=_RELEASES, **on, reason=_HIDES)
    ],
    *cases(CREATED, "registrations", _REPAIRED, profiles=_RELEASES, **_AGAIN, reason=_RESTARTED),
    *[
        case
        for claim, verdict, reason in ((SAME, "violated", _OVERTAKEN), (ALL, "violated", _OVERTAKEN), (CREATED, "holds", _SEPARATE))
        for on in _BARE.values()
        for case in cases(claim, "registrations", verdict, profiles=("P533",), **on, reason=reason)
    ],
    *cases(STRANGER, "registrations", "holds", profiles=_RELEASES, **_AGAIN, reason="NS-01, NS-02: it learns them with the broker"),
    *cases(STRANGER, "registrations", "holds", profiles=("P533",), **_BARE["again"], reason="R-12 of later-5.3.3"),
    *cases(BARE, "registrations", "holds", profiles=("P533",), **_BARE["again"], reason="R-8 to R-18 of later-5.3.3"),
    *cases(FIRST, "registrations", _REPAIRED, profiles=_RELEASES, **_AGAIN, reason=_RESTARTED),
    *cases(FORWARD, "registrations", dict.fromkeys(_RELEASES, "violated"), profiles=_RELEASES, **_PLAIN, reason="HAZ-37"),
    *cases(WIPED, "registrations", dict.fromkeys(_RELEASES, "violated"), profiles=_RELEASES, **_WIPE, reason="NS-04: any other version"),
    *cases(WIPED_SAME, "registrations", dict.fromkeys(_RELEASES, "holds"), profiles=_RELEASES, **_WIPE),
    *cases(IGNORED, "registrations", _FIRST_TWO, profiles=tuple(_FIRST_TWO), **_PLAIN, reason=_HIDES),
    *[
        case
        for claim, on in ((LATE, _PLAIN), (FORGOTTEN, _PLAIN), (UNKNOWN, _AGAIN))
        for case in cases(claim, "registrations", dict.fromkeys(_RELEASES, "holds"), profiles=_RELEASES, **on)
    ],
]

HISTORY_CASES: list[Case] = [
    *[case for claim in HISTORY for case in history_cases(claim, about.REGISTERED, "holds")],
    *history_cases(HISTORY[1], about.MOVED, {"P440": "violated"}, reason="NS-02: up to 4.4.0 an address keeps its earlier id"),
]
