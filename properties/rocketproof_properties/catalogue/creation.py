"""Topic creation: what a first message makes, and what it may never touch (INV-08 to INV-19, INV-21, INV-23, INV-24, ACT)."""

from __future__ import annotations

from collections.abc import Callable

from rocketproof_model import Expr, Row, after, all_of, exists, forall, implies, ite, maximum, minimum, total
from rocketproof_model.specification import Specification
from rocketproof_model.specification.arithmetic import INHERIT

from .claim import ERRORS, Case, Claim, answered, cases, condition, effect, moves, runs_on, same, second, wide


def _jobs(s: Specification, body: Callable[[Row], Expr]) -> Expr:
    return forall(s.Producer, lambda p: body(s.job[p]))


def _built(s: Specification) -> tuple[Expr, Expr, Expr, Expr, Expr, Expr]:
    """(the template may be inherited, its permission, its write count, the client's wish, new perm, new count), all 32-bit."""
    build = s.model.named("build")
    p = Expr("par", ("p",), s.Producer)
    row = s.job[p]
    template = s.config[row.broker.get, row.default]
    return (
        wide(condition(build, "may inherit")),
        wide(template.perm),
        wide(template.write),
        wide(row.numbers),
        wide(effect(build, "job.perm")),
        wide(effect(build, "job.write")),
    )


def _same_counts(s: Specification) -> Expr:
    _, _, write, client, _, made = _built(s)
    read = wide(effect(s.model.named("build"), "job.read"))
    floor = ite((client < 0) | (write < 0), 0, ite(client <= write, client, write))
    equal: Expr = (made == read) & (made == floor)
    return equal


def _subset(s: Specification) -> Expr:
    _, perm, _, _, made, _ = _built(s)
    whole: Expr = made + (perm & INHERIT) == perm
    return whole


def _clean(s: Specification) -> Expr:
    return (_built(s)[4] & INHERIT) == 0


def _some_queue(s: Specification) -> Expr:
    may, *_, made = _built(s)
    return implies(may, made >= 1)


def _template(s: Specification, row: Row) -> Expr:
    """The template's row as the request's default topic, at its broker."""
    return s.config[row.broker.get, row.default].perm


def _at(s: Specification, phase: str, claim: Callable[[Row, Expr], Expr]) -> Expr:
    """`claim(row, b)` for every request in the phase at broker b."""
    return forall(
        s.Producer, lambda p: forall(s.Broker, lambda b: implies((s.job[p].phase == phase) & (s.job[p].broker == b), claim(s.job[p], b)))
    )


def _table_kept(s: Specification, *, others: bool) -> Expr:
    topics = [t for t in s.Topic if not (others and s.scope.topics[t.args[0]] == "template")]
    return forall(
        s.Broker,
        lambda b: all_of(
            implies(runs_on(s, b) & s.config[b, t].known & (after(s.updates) == s.updates), same(s.config[b, t])) for t in topics
        ),
    )


def _version(s: Specification) -> Expr:
    """The version's step equals the number of creators that count it up, plus the administrator's."""

    def one(b: Expr) -> Expr:
        counted = total(s.Producer, lambda p: ite(moves(s.job[p], "put", "versioned") & (s.job[p].broker == b), 1, 0))
        pending = total(s.Producer, lambda p: ite((s.job[p].phase == "put") & (s.job[p].broker == b), 1, 0))
        made = total(s.Topic, lambda t: s.creations[b, t])
        exact = implies(s.crashes == 0, s.version[b] + pending == made + s.updates)
        return exact & implies(runs_on(s, b), after(s.version[b]) - s.version[b] == counted + after(s.updates) - s.updates)

    return forall(s.Broker, one)


def _content_versioned(s: Specification) -> Expr:
    def one(b: Expr) -> Expr:
        creating = exists(s.Producer, lambda p: moves(s.job[p], "built", "put") & (s.job[p].broker == b))
        kept = all_of(same(s.config[b, t]) for t in s.Topic)
        return implies(runs_on(s, b) & ~kept, creating | (after(s.version[b]) != s.version[b]))

    return forall(s.Broker, one)


def _lock(s: Specification) -> Expr:
    def one(b: Expr) -> Expr:
        return forall(s.Producer, lambda p: (s.lock[b] == p) == s.creates(s.job[p], b))

    return forall(s.Broker, one)


def _created_by_send(s: Specification, ordinary: bool) -> Expr:
    """No request creates: any ordinary topic (INV-14), or one from TBW102 as its default (INV-15)."""

    def one(p: Expr) -> Expr:
        row = s.job[p]
        made = row.phase == "put"
        if ordinary:
            return ~(made & s.of_class(row.topic, "ordinary"))
        return ~(made & s.of_class(row.default, "template") & ~s.of_class(row.topic, "retry"))

    return implies(~s.given("auto_create"), forall(s.Producer, one))


def _template_perm(s: Specification) -> Expr:
    def one(b: Expr) -> Expr:
        perm = s.config[b, 0].perm
        return implies(runs_on(s, b), (after(perm) == perm) | ((perm == 7) & (after(perm) == 6)))

    return forall(s.Broker, one)


def _refused(s: Specification) -> Expr:
    """The request has touched nothing, and no topic that the checks refuse is in a table: the templates alone are there at the start."""
    untouched = _jobs(s, lambda r: implies(answered(r, *ERRORS) & r.checks, ~r.touched))
    names = s.scope.named("blank", "illegal", "long", "forbidden")
    if not names:
        return untouched
    return untouched & implies(s.given("check_names"), all_of(~s.config[b, t].known for b in s.Broker for t in names))


REFUSED = Claim(
    "INV-08",
    "a request that the validity checks refuse leaves the topic table unchanged, and no name that they refuse is ever in it",
    "always",
    _refused,
)
ERROR = Claim(
    "INV-09",
    "any error answer leaves the topic table unchanged",
    "always",
    lambda s: _jobs(s, lambda r: implies(answered(r, *ERRORS), ~r.touched)),
)
CLEAN = Claim(
    "INV-10",
    "a topic created by a send does not have INHERIT",
    "always",
    lambda s: _at(s, "put", lambda r, b: (s.config[b, r.topic].perm & INHERIT) == 0),
)
CLEAN_ALL = Claim("INV-10.lemma", CLEAN.sentence, "lemma", _clean)
SUBSET = Claim(
    "INV-11",
    "the created permission is the template's without INHERIT",
    "always",
    lambda s: _at(s, "built", lambda r, b: r.fallback | (r.perm + (_template(s, r) & INHERIT) == _template(s, r))),
)
SUBSET_ALL = Claim("INV-11.lemma", SUBSET.sentence, "lemma", _subset)
COUNTS = Claim(
    "INV-12",
    "both queue counts of an auto-created topic are max(0, min(client, template's write count))",
    "always",
    lambda s: _at(
        s,
        "built",
        lambda r, b: r.fallback | ((r.read == r.write) & (r.write == minimum(maximum(r.numbers, 0), s.config[b, r.default].write))),
    ),
)
COUNTS_ALL = Claim("INV-12.lemma", COUNTS.sentence, "lemma", _same_counts)
SOME = Claim(
    "INV-13",
    "an auto-created topic has at least one queue",
    "always",
    lambda s: _at(s, "put", lambda r, b: s.config[b, r.topic].write >= 1),
)
SOME_ALL = Claim("INV-13.lemma", SOME.sentence, "lemma", _some_queue)
NONE = Claim("INV-14", "with autoCreateTopicEnable=false no send creates an ordinary topic", "always", lambda s: _created_by_send(s, True))
NOT_TEMPLATE = Claim(
    "INV-15",
    "with autoCreateTopicEnable=false nothing but a retry topic is created from TBW102",
    "always",
    lambda s: _created_by_send(s, False),
)
KEPT = Claim("INV-16", "a request never changes the configuration of an existing topic", "step", lambda s: _table_kept(s, others=False))
KEPT_OTHERS = Claim(
    "INV-16.others",
    "a request never changes the configuration of an existing topic other than TBW102",
    "step",
    lambda s: _table_kept(s, others=True),
)
VERSION = Claim(
    "INV-17", "the data version counts exactly one step for each created topic and never goes back in one run", "step", _version
)
CONTENT = Claim("INV-18", "when the content of the topic table changes, its version changes", "step", _content_versioned)
ONCE = Claim(
    "INV-19",
    "concurrent first sends make one topic and one registration from creation",
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
DOWN = Claim("ACT-01", "the permission of TBW102 only ever goes from 7 to 6 in one run", "step", _template_perm)
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
    "a first message creates its topic and is answered SUCCESS",
    "reachable",
    lambda s: exists(s.Producer, lambda p: answered(s.job[p], "SUCCESS") & s.job[p].created),
)
SAW = Claim(
    "REA-02",
    "a request waits for the lock that another one's creation holds",
    "reachable",
    lambda s: exists(
        s.Producer, lambda p: exists(s.Broker, lambda b: (s.job[p].phase == "missing") & (s.job[p].broker == b) & s.lock[b].is_some)
    ),
)
LATE = Claim(
    "REA-03",
    "a lock timeout is answered as a missing topic although auto-creation is on (HAZ-08)",
    "reachable",
    lambda s: (
        s.given("auto_create")
        & exists(s.Producer, lambda p: answered(s.job[p], "TOPIC_NOT_EXIST") & s.of_class(s.job[p].default, "template"))
    ),
)
VISIBLE = Claim(
    "REA-04",
    "a message is stored to a topic that is not yet in the file (HAZ-10)",
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
    "a send is refused with NO_PERMISSION",
    "reachable",
    lambda s: exists(s.Producer, lambda p: answered(s.job[p], "NO_PERMISSION")),
)
FORGOTTEN = Claim(
    "REA-06",
    "after a restart the broker has lost a topic that it had acknowledged a message to",
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

ENDS = Claim(
    "END-01",
    "nothing stops before every client has its answers",
    "deadlock_free",
    lambda s: all_of((s.job[p].phase == "idle") & (s.sent[p] >= s.given("sends")) for p in s.Producer),
)
ZERO = Claim(
    "REA-07",
    "a negative queue id on a topic without writable queues is answered as an error (HAZ-07)",
    "reachable",
    lambda s: exists(s.Producer, lambda p: answered(s.job[p], "SYSTEM_ERROR") & (s.job[p].queue < 0)),
)

_SAFE = [CLEAN, SUBSET, COUNTS, VERSION, ONCE, PERSISTED, LOCK, UNLOCKED, DOWN, GROWS, KEPT_OTHERS]
CLAIMS = [
    *_SAFE,
    REFUSED,
    ERROR,
    CLEAN_ALL,
    SUBSET_ALL,
    COUNTS_ALL,
    SOME,
    SOME_ALL,
    NONE,
    NOT_TEMPLATE,
    KEPT,
    CONTENT,
    CREATED,
    SAW,
    LATE,
    VISIBLE,
    FORBIDDEN,
    FORGOTTEN,
    ENDS,
    ZERO,
]

_OFF = {"given": {"auto_create": False, "template_in_file": True}, "condition": "auto-create off, TBW102 from the file"}
_ON = {"condition": "auto-create on"}
_UPDATE = {"condition": "an administrator's update", "given": {"update_budget": 1, "sends": 1}}
_LEMMA = {"engines": ("symbolic",), "method": "lemma", "condition": "all 32-bit ints"}

CASES: list[Case] = [
    *[c for claim in _SAFE for c in cases(claim, "creation", "holds", **_ON)],
    *[c for claim in _SAFE for c in cases(claim, "creation", "holds", **_OFF)],
    *[
        c
        for claim in (VERSION, ONCE, PERSISTED, LOCK, UNLOCKED, GROWS)
        for c in cases(claim, "restart", "holds", condition="crash and restart")
    ],
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
    *cases(ERROR, "creation", "violated", **_ON, reason="CHK-10 comes after the creation"),
    *cases(ERROR, "creation", "violated", **_OFF, reason="HAZ-02: TCM-13 changes TBW102, and the send is answered TOPIC_NOT_EXIST"),
    *cases(SOME, "creation", "violated", **_ON, reason="HAZ-07"),
    *cases(NONE, "creation", "violated", **_OFF, reason="HAZ-04: the cluster topic has INHERIT"),
    *cases(NOT_TEMPLATE, "creation", "holds", **_OFF),
    *cases(KEPT, "creation", "holds", **_ON, reason="TCM-13 needs auto-create off"),
    *cases(KEPT, "creation", "violated", **_OFF, reason="HAZ-02: TCM-13 changes TBW102"),
    *second(KEPT, "creation", 5, **_OFF),
    *second(CONTENT, "creation", 5, **_OFF),
    *second(SOME, "creation", 7, **_ON),
    *cases(CONTENT, "creation", "holds", **_ON, reason="TCM-13 needs auto-create off"),
    *cases(CONTENT, "creation", "violated", **_OFF, reason="HAZ-02"),
    *cases(CLEAN_ALL, "creation", "holds", **_LEMMA),
    *cases(SUBSET_ALL, "creation", "holds", **_LEMMA),
    *cases(COUNTS_ALL, "creation", "holds", **_LEMMA),
    *cases(SOME_ALL, "creation", "violated", **_LEMMA, reason="HAZ-07"),
    *[c for claim in (CREATED, SAW, LATE, VISIBLE) for c in cases(claim, "creation", "holds", **_ON)],
    *cases(
        FORBIDDEN,
        "names",
        {"P40": "violated", "P45": "violated", "P49": "holds"},
        condition="every class of name, auto-create off",
        given={"auto_create": False, "template_in_file": True},
        reason="CHK-03 is P49's; CHK-04 answers SYSTEM_ERROR",
    ),
    *cases(ENDS, "creation", "holds", **_ON),
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
    *[c for claim in (VERSION, PERSISTED, GROWS) for c in cases(claim, "names", "holds", **_UPDATE)],
    *cases(
        KEPT_OTHERS,
        "names",
        "violated",
        **_UPDATE,
        reason="TCM-30 takes no lock: a creation that has looked puts its topic over the administrator's",
    ),
    *cases(FORGOTTEN, "restart", "holds", condition="crash and restart", reason="HAZ-10"),
]
