"""Topic creation: the state that a first message must not change, and the order of the steps; also what a restart restores.

The properties are INV-08, INV-09, INV-14, INV-15, INV-19, INV-21, INV-23, INV-24, ACT-01 and ACT-02. `topics` states what a created topic
contains.
"""

from __future__ import annotations

from collections.abc import Callable

from rocketproof_model import Expr, Row, after, all_of, exists, forall, implies
from rocketproof_spec import Specification

from .claim import ERRORS, Case, Claim, answered, cases, moves, runs_on


def _jobs(s: Specification, body: Callable[[Row], Expr]) -> Expr:
    return forall(s.Producer, lambda p: body(s.job[p]))


def _lock(s: Specification) -> Expr:
    def holds_for(b: Expr) -> Expr:
        return forall(s.Producer, lambda p: (s.lock[b] == p) == s.creates(s.job[p], b))

    return forall(s.Broker, holds_for)


def _created_by_send(s: Specification, ordinary: bool) -> Expr:
    """No request creates an ordinary topic (INV-14), or a topic with TBW102 as its default (INV-15)."""

    def holds_for(p: Expr) -> Expr:
        row = s.job[p]
        created = row.phase == "put"
        if ordinary:
            return ~(created & s.of_class(row.topic, "ordinary"))
        return ~(created & s.of_class(row.default, "template") & ~s.of_class(row.topic, "retry"))

    return implies(~s.given("auto_create"), forall(s.Producer, holds_for))


def _template_perm(s: Specification) -> Expr:
    def holds_for(b: Expr) -> Expr:
        perm = s.config[b, 0].perm
        return implies(runs_on(s, b), (after(perm) == perm) | ((perm == 7) & (after(perm) == 6)))

    return forall(s.Broker, holds_for)


def _refused(s: Specification) -> Expr:
    """A refused request has changed nothing, and no table has a topic that the checks refuse. At the start tables have only templates."""
    untouched = _jobs(s, lambda r: implies(answered(r, *ERRORS) & r.checks, ~r.touched))
    names = s.scope.named("blank", "illegal", "long", "forbidden")
    if not names:
        return untouched
    return untouched & implies(s.given("check_names"), all_of(~s.config[b, t].known for b in s.Broker for t in names))


REFUSED = Claim(
    "INV-08",
    "a request that the validity checks reject does not change the topic table, and no rejected name is ever in the table",
    "always",
    _refused,
)
ERROR = Claim(
    "INV-09",
    "a request with an error response does not change the topic table",
    "always",
    lambda s: _jobs(s, lambda r: implies(answered(r, *ERRORS), ~r.touched)),
)
NONE = Claim("INV-14", "with autoCreateTopicEnable=false no send creates an ordinary topic", "always", lambda s: _created_by_send(s, True))
NOT_TEMPLATE = Claim(
    "INV-15",
    "with autoCreateTopicEnable=false only retry topics are created from TBW102",
    "always",
    lambda s: _created_by_send(s, False),
)
ONCE = Claim(
    "INV-19",
    "concurrent first sends create one topic and cause one registration",
    "always",
    lambda s: forall(s.Broker, lambda b: forall(s.Topic, lambda t: (s.creations[b, t] <= 1) & (s.announcements[b, t] <= 1))),
)
PERSISTED = Claim(
    "INV-21",
    "a topic is registered from its creation only after the table was persisted",
    "step",
    lambda s: forall(
        s.Broker, lambda b: forall(s.Topic, lambda t: implies(after(s.announcements[b, t]) > s.announcements[b, t], s.file[b, t].known))
    ),
)
LOCK = Claim("INV-23", "the broker lock is held exactly by a request inside topic creation", "always", _lock)
UNLOCKED = Claim(
    "INV-24",
    "the registration from creation happens without the broker lock",
    "step",
    lambda s: forall(
        s.Producer,
        lambda p: forall(s.Broker, lambda b: implies(moves(s.job[p], "unlocked", "checked") & (s.job[p].broker == b), s.lock[b] != p)),
    ),
)
DOWN = Claim("ACT-01", "during one run, the permission of TBW102 changes at most once, from 7 to 6", "step", _template_perm)
GROWS = Claim(
    "ACT-02",
    "the topic table only grows in one run",
    "step",
    lambda s: forall(
        s.Broker, lambda b: forall(s.Topic, lambda t: implies(runs_on(s, b) & s.config[b, t].known, after(s.config[b, t].known)))
    ),
)

CREATED = Claim(
    "REA-01",
    "a first message creates its topic and gets the response SUCCESS",
    "reachable",
    lambda s: exists(s.Producer, lambda p: answered(s.job[p], "SUCCESS") & s.job[p].created),
)
SAW = Claim(
    "REA-02",
    "a request waits for the lock that the creation of another request holds",
    "reachable",
    lambda s: exists(
        s.Producer, lambda p: exists(s.Broker, lambda b: (s.job[p].phase == "missing") & (s.job[p].broker == b) & s.lock[b].is_some)
    ),
)
LATE = Claim(
    "REA-03",
    "a lock timeout is reported as a missing topic although auto-creation is on (HAZ-08)",
    "reachable",
    lambda s: (
        s.given("auto_create")
        & exists(s.Producer, lambda p: answered(s.job[p], "TOPIC_NOT_EXIST") & s.of_class(s.job[p].default, "template"))
    ),
)
VISIBLE = Claim(
    "REA-04",
    "a message is stored for a topic that is not yet in the file (HAZ-10)",
    "reachable",
    lambda s: exists(
        s.Producer,
        lambda p: exists(
            s.Broker,
            lambda b: exists(
                s.Topic,
                lambda t: (
                    answered(s.job[p], "SUCCESS")
                    & (s.job[p].broker == b)
                    & (s.job[p].topic == t)
                    & s.config[b, t].known
                    & ~s.file[b, t].known
                ),
            ),
        ),
    ),
)
FORBIDDEN = Claim(
    "REA-05",
    "a send is rejected with NO_PERMISSION",
    "reachable",
    lambda s: exists(s.Producer, lambda p: answered(s.job[p], "NO_PERMISSION")),
)
UNSERVED = Claim(
    "AUX-93",
    "a request to a stopped broker waits until the broker runs",
    "step",
    lambda s: forall(
        (s.Producer, s.Broker),
        lambda p, b: implies((s.job[p].broker == b) & ~s.up[b] & (s.job[p].phase == "arrived"), after(s.job[p].phase) == "arrived"),
    ),
    lambda s: s.scope.crashes,
)
ON_ITS_WAY = Claim(
    "AUX-94",
    "an announced creation is on its way to the name server, whether the name server knows the broker or not",
    "step",
    lambda s: forall(
        (s.Broker, s.Topic),
        lambda b, t: implies(after(s.announcements[b, t]) > s.announcements[b, t], after(s.registration_in_flight[b])),
    ),
)
FORGOTTEN = Claim(
    "REA-06",
    "after a restart, the broker has lost a topic for which it had acknowledged a message",
    "reachable",
    lambda s: (
        (s.crashes > 0)
        & exists(
            s.Producer,
            lambda p: exists(
                s.Broker,
                lambda b: exists(
                    s.Topic,
                    lambda t: (
                        s.up[b] & answered(s.job[p], "SUCCESS") & (s.job[p].broker == b) & (s.job[p].topic == t) & ~s.config[b, t].known
                    ),
                ),
            ),
        )
    ),
)

STARTED = Claim(
    "AUX-15",
    "a broker starts with the data version and the topics of its file",
    "step",
    lambda s: forall(
        s.Broker,
        lambda b: implies(
            ~s.up[b] & after(s.up[b]),
            (after(s.version[b]) == s.file_version[b])
            & forall(s.Topic, lambda t: implies(s.file[b, t].known, after(s.config[b, t]) == s.file[b, t])),
        ),
    ),
)
STARTED_LATER = Claim(
    "REA-58",
    "after a start, the data version is above 0, and no topic has been created since then",
    "reachable",
    lambda s: (
        (s.crashes > 0) & exists(s.Broker, lambda b: s.up[b] & (s.version[b] > 0) & forall(s.Topic, lambda t: s.creations[b, t] == 0))
    ),
)

ENDS = Claim(
    "END-01",
    "no deadlock: every client gets its responses",
    "deadlock_free",
    lambda s: all_of((s.job[p].phase == "idle") & (s.sent[p] >= s.given("sends")) for p in s.Producer),
)
ZERO = Claim(
    "REA-07",
    "a negative queue id for a topic without writable queues gets an error response (HAZ-07)",
    "reachable",
    lambda s: exists(s.Producer, lambda p: answered(s.job[p], "SYSTEM_ERROR") & (s.job[p].queue < 0)),
)

_SAFE = [ONCE, PERSISTED, LOCK, UNLOCKED, DOWN, GROWS]
CLAIMS = [
    *_SAFE,
    REFUSED,
    ERROR,
    NONE,
    NOT_TEMPLATE,
    CREATED,
    SAW,
    LATE,
    VISIBLE,
    FORBIDDEN,
    UNSERVED,
    ON_ITS_WAY,
    FORGOTTEN,
    STARTED,
    STARTED_LATER,
    ENDS,
    ZERO,
]

OFF = {"given": {"auto_create": False, "template_in_file": True}, "condition": "auto-create off, TBW102 from the file"}
ON = {"condition": "auto-create on"}
UPDATE = {"condition": "an administrator's update", "given": {"update_budget": 1, "sends": 1}}

CASES: list[Case] = [
    *[c for claim in _SAFE for c in cases(claim, "creation", "holds", **ON)],
    *[c for claim in _SAFE for c in cases(claim, "creation", "holds", **OFF)],
    *[c for claim in (ONCE, PERSISTED, LOCK, UNLOCKED, GROWS) for c in cases(claim, "restart", "holds", condition="crash and restart")],
    *[
        c
        for claim in (REFUSED, NOT_TEMPLATE)
        for c in cases(
            claim,
            "names",
            "holds",
            condition="every class of name, auto-create off",
            given={"auto_create": False, "template_in_file": True},
        )
    ],
    *cases(REFUSED, "names", "holds", condition="every class of name, auto-create on", given={"sends": 1}),
    *cases(ERROR, "creation", "violated", **ON, reason="CHK-10 comes after the creation"),
    *cases(ERROR, "creation", "violated", **OFF, reason="HAZ-02: TCM-13 changes TBW102, and the send is answered TOPIC_NOT_EXIST"),
    *cases(NONE, "creation", "violated", **OFF, reason="HAZ-04: the cluster topic has INHERIT"),
    *cases(NOT_TEMPLATE, "creation", "holds", **OFF),
    *[c for claim in (CREATED, SAW, LATE, VISIBLE) for c in cases(claim, "creation", "holds", **ON)],
    *cases(
        FORBIDDEN,
        "names",
        {"P40": "violated", "P45": "violated", "P49": "holds"},
        condition="every class of name, auto-create off",
        given={"auto_create": False, "template_in_file": True},
        reason="CHK-03 is P49's; CHK-04 answers SYSTEM_ERROR",
    ),
    *cases(ENDS, "creation", "holds", **ON),
    *cases(ZERO, "creation", "holds", condition="topic without writable queues", given={"existing": True, "existing_write": 0}),
    *cases(
        FORBIDDEN,
        "creation",
        "holds",
        condition="order topic on a read-only broker",
        given={"existing": True, "order_topic": True, "broker_writable": False},
        reason="CHK-01",
    ),
    *cases(LOCK, "creation", "holds", condition="auto-create off, no TBW102", given={"auto_create": False}),
    *[c for claim in (PERSISTED, GROWS) for c in cases(claim, "names", "holds", **UPDATE)],
    *[c for claim in (UNSERVED, ON_ITS_WAY) for c in cases(claim, "restart", "holds", condition="crash and restart")],
    *cases(FORGOTTEN, "restart", "holds", condition="crash and restart", reason="HAZ-10"),
    *cases(STARTED, "restart", "holds", condition="crash and restart", reason="PER-04"),
    *cases(STARTED_LATER, "restart", "holds", condition="crash and restart", reason="TCM-16: what is persisted has the next version"),
]
