"""The topic table: the content of a topic, and that requests do not change it (INV-10 to INV-13, INV-16 to INV-18, PERM-01, TCM)."""

from __future__ import annotations

from collections.abc import Callable

from rocketproof_model import Expr, Row, after, all_of, exists, forall, implies, ite, maximum, minimum, total, without_bits
from rocketproof_spec import Specification
from rocketproof_spec.arithmetic import INHERIT, READ, WRITE, has_bit
from rocketproof_traces.audit.rules import Rule, rule
from rocketproof_traces.audit.vocabulary import is_, vocabulary

from .claim import Case, Claim, cases, condition, effect, moves, runs_on, same, second, wide
from .creation import OFF, ON, UPDATE


def _built(s: Specification) -> tuple[Expr, Expr, Expr, Expr, Expr, Expr]:
    """Return, for all 32-bit ints: whether the template is inheritable, its permission and write count, the client's count, the new perm
    and count."""
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
    _, _, write, client, _, count = _built(s)
    read = wide(effect(s.model.named("build"), "job.read"))
    floor = ite((client < 0) | (write < 0), 0, ite(client <= write, client, write))
    equal: Expr = (count == read) & (count == floor)
    return equal


def _subset(s: Specification) -> Expr:
    _, perm, _, _, created, _ = _built(s)
    whole: Expr = created + (perm & INHERIT) == perm
    return whole


def _clean(s: Specification) -> Expr:
    return (_built(s)[4] & INHERIT) == 0


def _some_queue(s: Specification) -> Expr:
    may, *_, count = _built(s)
    return implies(may, count >= 1)


def _template(s: Specification, row: Row) -> Expr:
    """The permission of the request's default topic at its broker."""
    return s.config[row.broker.get, row.default].perm


def _at(s: Specification, phase: str, claim: Callable[[Row, Expr], Expr]) -> Expr:
    """A formula `claim(row, b)` for every request in the phase at broker b."""
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
    """The version changes by the number of creators that increment it, plus the administrator's updates."""

    def holds_for(b: Expr) -> Expr:
        counted = total(s.Producer, lambda p: ite(moves(s.job[p], "put", "versioned") & (s.job[p].broker == b), 1, 0))
        pending = total(s.Producer, lambda p: ite((s.job[p].phase == "put") & (s.job[p].broker == b), 1, 0))
        made = total(s.Topic, lambda t: s.creations[b, t])
        exact = implies(s.crashes == 0, s.version[b] + pending == made + s.updates)
        return exact & implies(runs_on(s, b), after(s.version[b]) - s.version[b] == counted + after(s.updates) - s.updates)

    return forall(s.Broker, holds_for)


def _content_versioned(s: Specification) -> Expr:
    def holds_for(b: Expr) -> Expr:
        creating = exists(s.Producer, lambda p: moves(s.job[p], "built", "put") & (s.job[p].broker == b))
        unchanged = all_of(same(s.config[b, t]) for t in s.Topic)
        return implies(runs_on(s, b) & ~unchanged, creating | (after(s.version[b]) != s.version[b]))

    return forall(s.Broker, holds_for)


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
KEPT = Claim("INV-16", "a request never changes the configuration of an existing topic", "step", lambda s: _table_kept(s, others=False))
KEPT_OTHERS = Claim(
    "INV-16.others",
    "a request never changes the configuration of an existing topic other than TBW102",
    "step",
    lambda s: _table_kept(s, others=True),
)
VERSION = Claim(
    "INV-17", "during one run, the data version grows by exactly one for each created topic and never decreases", "step", _version
)
CONTENT = Claim("INV-18", "when the content of the topic table changes, its version changes", "step", _content_versioned)

_SAFE = [CLEAN, SUBSET, COUNTS, VERSION, KEPT_OTHERS]
CLAIMS = [*_SAFE, CLEAN_ALL, SUBSET_ALL, COUNTS_ALL, SOME, SOME_ALL, KEPT, CONTENT]


def _names() -> list[Rule]:
    q, given = vocabulary()["queue"].row, vocabulary()["queue"].given
    return [
        rule(
            "CHK-02.stored",
            "the name of a stored topic has only the characters that a broker allows",
            "queue", "warning",
            implies(given["check_names"], q.legalName), True, q.legalName,
        ),
    ]  # fmt: skip


def _topics() -> list[Rule]:
    """Entries of topics.json."""
    t = vocabulary()["topic"].row
    inherits = has_bit(t.perm, INHERIT)
    return [
        rule(
            "INV-10.stored",
            "a topic that the broker does not make by itself is no template for others: its permission lacks INHERIT",
            "topic", "warning",
            implies(~is_(t.topicClass, "template", "own"), ~inherits), without_bits(t.perm, INHERIT), t.perm,
        ),
        rule(
            "INV-16.stored",
            "the template's permission has INHERIT: no request has taken it away",
            "topic", "warning",
            implies(t.topicClass == "template", inherits), t.perm | INHERIT, t.perm,
        ),
        rule(
            "INV-13.stored",
            "a topic has a queue to read and one to write",
            "topic", "warning",
            minimum(t.readQueueNums, t.writeQueueNums) >= 1, 1, minimum(t.readQueueNums, t.writeQueueNums),
        ),
        rule(
            "INV-12.stored",
            "a topic has as many queues to read as to write",
            "topic", "note",
            t.readQueueNums == t.writeQueueNums, t.writeQueueNums, t.readQueueNums,
        ),
        rule(
            "PERM-01.stored",
            "a topic's permission has known bits only",
            "topic", "error",
            (t.perm >= 0) & (t.perm <= 15), t.perm & 15, t.perm,
        ),
        rule(
            "HAZ-05.stored",
            "a topic that the broker does not make by itself may be read or written",
            "topic", "note",
            (t.topicClass == "own") | has_bit(t.perm, READ) | has_bit(t.perm, WRITE), t.perm | READ | WRITE, t.perm,
        ),
        rule(
            "TCM-01.sysFlag",
            "a topic's flags are those of units",
            "topic", "error",
            (t.topicSysFlag >= 0) & (t.topicSysFlag <= 3), t.topicSysFlag & 3, t.topicSysFlag,
        ),
        rule("TCM-01.name", "an entry of topics.json has the name of its key", "topic", "error", t.sameName, True, t.sameName),
    ]  # fmt: skip


def _table() -> list[Rule]:
    t = vocabulary()["table"].row
    return [
        rule(
            "INV-17.stored",
            "the data version of topics.json has counted every topic that was created",
            "table", "warning",
            implies(t.there, t.counter >= t.created), t.created, t.counter,
        ),
        rule(
            "TCM-02.stored",
            "the data version of topics.json has a time",
            "table", "warning",
            implies(t.there, t.timestamp > 0), 1, t.timestamp,
        ),
    ]  # fmt: skip


RULES = [*_names(), *_topics(), *_table()]

_LEMMA = {"engines": ("symbolic",), "method": "lemma", "condition": "all 32-bit ints"}

CASES: list[Case] = [
    *[c for claim in _SAFE for on in (ON, OFF) for c in cases(claim, "creation", "holds", **on)],
    *cases(VERSION, "restart", "holds", condition="crash and restart"),
    *cases(VERSION, "names", "holds", **UPDATE),
    *cases(SOME, "creation", "violated", **ON, reason="HAZ-07"),
    *cases(KEPT, "creation", "holds", **ON, reason="TCM-13 needs auto-create off"),
    *cases(KEPT, "creation", "violated", **OFF, reason="HAZ-02: TCM-13 changes TBW102"),
    *second(KEPT, "creation", 5, **OFF),
    *second(CONTENT, "creation", 5, **OFF),
    *second(SOME, "creation", 7, **ON),
    *cases(CONTENT, "creation", "holds", **ON, reason="TCM-13 needs auto-create off"),
    *cases(CONTENT, "creation", "violated", **OFF, reason="HAZ-02"),
    *cases(CLEAN_ALL, "creation", "holds", **_LEMMA),
    *cases(SUBSET_ALL, "creation", "holds", **_LEMMA),
    *cases(COUNTS_ALL, "creation", "holds", **_LEMMA),
    *cases(SOME_ALL, "creation", "violated", **_LEMMA, reason="HAZ-07"),
    *cases(
        KEPT_OTHERS,
        "names",
        "violated",
        **UPDATE,
        reason="TCM-30 takes no lock: a creation that has looked puts its topic over the administrator's",
    ),
]
