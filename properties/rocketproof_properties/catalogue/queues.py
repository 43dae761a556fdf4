"""Queue ids: the accepted ids, the drawn ids, and whether a consumer reads the queue (INV-30 to INV-33)."""

from __future__ import annotations

from collections.abc import Callable

from rocketproof_model import Expr, after, forall, implies
from rocketproof_spec import Specification
from rocketproof_spec.arithmetic import legal_queue, queue_bound
from rocketproof_traces.audit.rules import Rule, rule
from rocketproof_traces.audit.vocabulary import accepted, sends, vocabulary

from . import conditions as about
from .claim import Case, Claim, HistoryClaim, append_now, cases, condition, effect, history_cases, second, wide
from .claim import about as claim_about


def _accepted(s: Specification, limit: Callable[[Expr, Expr], Expr]) -> Expr:
    """Every stored message's queue id is at least 0 and below the limit of (read, write) of its topic."""

    def holds_for(p: Expr) -> Expr:
        row = s.job[p]

        def at(b: Expr, t: Expr) -> Expr:
            config = s.config[b, t]
            mine = append_now(s, p) & (row.broker == b) & (row.topic == t)
            return implies(mine, (after(row.queue) >= 0) & (after(row.queue) < limit(config.read, config.write)))

        return forall(s.Broker, lambda b: forall(s.Topic, lambda t: at(b, t)))

    return forall(s.Producer, holds_for)


def _random(s: Specification) -> tuple[Expr, Expr, Expr, Expr]:
    """Return (premise, read, write, stored queue) over all 32-bit ints, from the guard and the effect of the specification.

    Premise: CHK-10 accepts, the counts are not negative, SEND-22 has a queue to draw, and the profile can make the draw.
    """
    store, accept = s.model.named("store"), s.model.named("accept_queue")
    draw = wide(Expr("par", ("draw",), store.parameters["draw"]))
    queue = wide(effect(store, "job.queue"))
    legal = wide(condition(accept, "legal queue id"))
    row = s.job[_p(s)]
    config = s.config[row.broker.get, row.topic]
    read, write, requested = wide(config.read), wide(config.write), wide(row.queue)
    in_range = s.given("signed_random") | ((draw >= 0) & (draw < 99999999))
    sane = (read >= 0) & (write >= 0) & ((requested >= 0) | (write >= 1))
    return in_range & sane & legal, read, write, queue


def _p(s: Specification) -> Expr:
    return Expr("par", ("p",), s.Producer)


def _lemma(limit: Callable[[Expr, Expr], Expr]) -> Callable[[Specification], Expr]:
    def formula(s: Specification) -> Expr:
        premise, read, write, queue = _random(s)
        return implies(premise, (queue >= 0) & (queue < limit(read, write)))

    return formula


def _drawn(s: Specification) -> Expr:
    premise, _, write, queue = _random(s)
    requested = wide(s.job[_p(s)].queue)
    return implies(premise & (requested < 0), (queue >= 0) & (queue < write))


BOUND = Claim(
    "INV-30",
    "an accepted queue id is at least 0 and below the larger of the read and write counts",
    "step",
    lambda s: _accepted(s, queue_bound),
)
WRITTEN = Claim("INV-31", "an accepted queue id is below the write count", "step", lambda s: _accepted(s, lambda read, write: write))
READABLE = Claim(
    "INV-32",
    "an accepted queue id is below the read count, so that some consumer reads it",
    "step",
    lambda s: _accepted(s, lambda read, write: read),
)
BOUND_ALL = Claim("INV-30.lemma", BOUND.sentence, "lemma", _lemma(queue_bound))
WRITTEN_ALL = Claim("INV-31.lemma", WRITTEN.sentence, "lemma", _lemma(lambda read, write: write))
READABLE_ALL = Claim("INV-32.lemma", READABLE.sentence, "lemma", _lemma(lambda read, write: read))
RANDOM = Claim("INV-33.lemma", "the queue drawn for a negative id is at least 0 and below the write count, for every draw", "lemma", _drawn)


def _stored() -> list[Rule]:
    """The queue ids of stored records."""
    q = vocabulary()["queue"].row
    bound = queue_bound(q.readQueueNums, q.writeQueueNums)
    # Such a release draws a queue as the remainder of a signed number, and gives it a consume queue that no consumer reads. No file shows
    # the divisor, because the topic may have been changed since.
    drawn = vocabulary()["queue"].given["below_zero"]
    return [
        rule(
            "INV-30.sign",
            "a stored queue id is not negative, unless a release that draws such ids has drawn it",
            "queue", "error",
            (q.queueId >= 0) | drawn, 0, q.queueId,
        ),
        rule(
            "INV-30.drawn",
            "no release has drawn a queue below 0, which no consumer reads",
            "queue", "warning",
            (q.queueId >= 0) | ~drawn, 0, q.queueId,
        ),
        rule(
            "INV-30.stored",
            "a stored queue id is below the larger of its topic's read and write counts",
            "queue", "warning",
            implies(q.known, legal_queue(q.queueId, q.readQueueNums, q.writeQueueNums)), bound, q.queueId,
        ),
        rule(
            "INV-31.stored",
            "a stored queue id is below its topic's write count",
            "queue", "warning",
            implies(q.known, q.queueId < q.writeQueueNums), q.writeQueueNums, q.queueId,
        ),
        rule(
            "INV-32.stored",
            "a stored queue id is below its topic's read count, so that some consumer reads it",
            "queue", "warning",
            implies(q.known, q.queueId < q.readQueueNums), q.readQueueNums, q.queueId,
        ),
    ]  # fmt: skip


RULES = _stored()


def _answered() -> list[HistoryClaim]:
    e = vocabulary()["exchange"].row
    queue, bound = e.answeredQueue, queue_bound(e.readQueueNums, e.writeQueueNums)
    return [
        claim_about(
            "INV-30.records",
            "the queue id in a response is from 0 to below the larger queue count of the topic",
            "exchange",
            implies(accepted(e) & sends(e) & e.topicKnown, (queue >= 0) & legal_queue(queue, e.readQueueNums, e.writeQueueNums)),
            bound, queue,
        ),
    ]  # fmt: skip


HISTORY = _answered()

CLAIMS = [BOUND, WRITTEN, READABLE, BOUND_ALL, WRITTEN_ALL, READABLE_ALL, RANDOM]

_MORE_READ = {"given": {"existing": True, "existing_read": 2, "existing_write": 1}, "condition": "topic with read 2, write 1"}
_MORE_WRITE = {"given": {"existing": True, "existing_read": 1, "existing_write": 2}, "condition": "topic with read 1, write 2"}

CASES: list[Case] = [
    *cases(BOUND, "creation", "holds", condition="auto-created topic"),
    *cases(BOUND, "creation", "holds", **_MORE_READ),
    *cases(BOUND, "creation", "holds", **_MORE_WRITE),
    *cases(
        BOUND,
        "names",
        "violated",
        condition="an administrator's update",
        given={"update_budget": 1, "sends": 1},
        reason="CHK-10 asks before the update, the store puts after it",
    ),
    *cases(WRITTEN, "creation", "holds", condition="auto-created topic", reason="TCM-15 makes both counts equal"),
    *cases(WRITTEN, "creation", "violated", **_MORE_READ, reason="HAZ-16"),
    *second(WRITTEN, "creation", 4, **_MORE_READ),
    *second(READABLE, "creation", 4, **_MORE_WRITE),
    *cases(READABLE, "creation", "holds", condition="auto-created topic", reason="TCM-15 makes both counts equal"),
    *cases(READABLE, "creation", "violated", **_MORE_WRITE, reason="HAZ-16"),
    *cases(BOUND_ALL, "creation", "holds", engines=("symbolic",), method="lemma", condition="any topic, all 32-bit ints"),
    *cases(WRITTEN_ALL, "creation", "violated", engines=("symbolic",), method="lemma", condition="any topic, all 32-bit ints"),
    *cases(READABLE_ALL, "creation", "violated", engines=("symbolic",), method="lemma", condition="any topic, all 32-bit ints"),
    *cases(RANDOM, "creation", "holds", engines=("symbolic",), method="lemma", condition="all 32-bit ints"),
]

HISTORY_CASES: list[Case] = [
    *[case for claim in HISTORY for case in history_cases(claim, about.ANYTHING, "holds")],
    *history_cases(HISTORY[0], about.DRAWN, {"P491": "violated"}, reason="SEND-22: 4.7.0 to 4.9.1 keep the sign of what they draw"),
    *history_cases(HISTORY[0], about.DRAWN, {"P461": "holds"}, reason="SEND-22: 4.6.1 takes the absolute value of what it draws"),
]
