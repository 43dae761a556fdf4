"""Delayed messages: their level, the level's queue, and the place and time of delivery (INV-45, INV-46, REC-05)."""

from __future__ import annotations

from typing import Any

from rocketproof_model import Expr, exists, forall, implies, maximum, minimum, total
from rocketproof_spec.arithmetic import queue_bound
from rocketproof_spec.delays import HALF, NOWHERE, Delays
from rocketproof_traces.audit.rules import Rule, rule
from rocketproof_traces.audit.vocabulary import counted, is_, sends, vocabulary

from . import conditions as about
from .claim import SEEDS, Case, Claim, HistoryClaim, cases, condition, effect, history_cases, named, wide
from .claim import about as claim_about

LAG = 60_000  # the maximum delay of a delivery in milliseconds


def _stored() -> list[Rule]:
    r, given = vocabulary()["record"].row, vocabulary()["record"].given
    schedule = r.topicClass == "schedule"
    delayed = schedule & (r.delayLevel > 0)
    waiting = delayed & counted(r)  # half messages and rollbacks that a client has sent there by its name are stored as they were sent
    # Without name checks a topic's name may be "". The queue id then shows that there is a topic.
    named = ((r.realClass != "none") | ~given["check_names"]) & (given["below_zero"] | (r.realQueueId >= 0))
    # A delayed message whose original topic is the schedule topic is delivered to its original queue there.
    redelivered = given["plain_delays"] & (r.realClass == "schedule") & (r.queueId == r.realQueueId)
    moved = is_(r.topicClass, "ordinary", "own") & (r.realClass != "none") & (r.realQueueId >= 0)
    return [
        rule(
            "INV-46.stored",
            "a record of the schedule topic has a delay level: no client has sent it there",
            "record", "warning",
            implies(schedule, r.delayLevel > 0), 1, r.delayLevel,
        ),
        rule(
            "INV-45.queue",
            "a delayed message is in the queue of its level, or in one of the schedule topic's that it was sent to by its name",
            "record", "error",
            implies(waiting & ~redelivered, r.queueId == r.delayLevel - 1), r.delayLevel - 1, r.queueId,
        ),
        rule(
            "INV-45.level",
            "a delayed message is on a level that the broker has",
            "record", "warning",
            implies(schedule, r.delayLevel <= given["max_delay_level"]), given["max_delay_level"], r.delayLevel,
        ),
        rule(
            "INV-45.topic",
            "a delayed message has its topic and queue id as properties",
            "record", "error",
            implies(waiting, named), True, named,
        ),
        rule(
            "REC-05.topic",
            "a record that has REAL_TOPIC and REAL_QID, and has left schedule and half topic, is in that topic and queue",
            "record", "warning",
            implies(moved, r.realSame & (r.realQueueId == r.queueId)), r.realQueueId, r.queueId,
        ),
        rule(
            "REC-05.queue",
            "the queue that a record is to be put in later is one of its topic",
            "record", "warning",
            implies((r.realQueues > 0) & is_(r.topicClass, "schedule", "half"), r.realQueueId < r.realQueues),
            r.realQueues, r.realQueueId,
        ),
        rule(
            "INV-45.half",
            "a delayed message is no half message, which would have lost its topic",
            "record", "warning",
            implies(delayed, r.realClass != "half"), False, r.realClass == "half",
        ),
        rule(
            "INV-45.applied",
            "a message with a delay level has been in the schedule topic before it is in a queue of its own",
            "record", "note",
            implies((r.delayLevel > 0) & counted(r) & is_(r.topicClass, "ordinary", "own"), r.realClass != "none"),
            True, r.realClass != "none",
        ),
    ]  # fmt: skip


def _queues() -> list[Rule]:
    t, given = vocabulary()["topic"].row, vocabulary()["topic"].given
    larger = queue_bound(t.readQueueNums, t.writeQueueNums)
    return [
        rule(
            "REC-05.levels",
            "the schedule topic has a queue for each delay level",
            "topic", "warning",
            implies(t.topicClass == "schedule", larger >= given["max_delay_level"]), given["max_delay_level"], larger,
        ),
    ]  # fmt: skip


def _offsets() -> list[Rule]:
    """delayOffset.json and the queues of the schedule topic."""
    v = vocabulary()["level"].row
    given = vocabulary()["level"].given
    beyond = v.entriesKnown & (v.offset > v.entries)
    return [
        rule(
            "REC-05.level",
            "delayOffset.json speaks of levels that the broker has",
            "level", "warning",
            (v.level >= 1) & (v.level <= given["max_delay_level"]), given["max_delay_level"], v.level,
        ),
        rule(
            "REC-05.sign",
            "how far a delay level is delivered is no negative number",
            "level", "error",
            v.offset >= 0, 0, v.offset,
        ),
        rule(
            "REC-05.offset",
            "a broker that has stopped in order has delivered no more of a delay level than its queue has",
            "level", "error",
            implies(v.hasStopped, ~beyond), v.entries, v.offset,
        ),
        rule(
            "REC-05.ahead",
            "a broker that runs or was killed has delivered no more of a delay level than its queue has",
            "level", "warning",
            implies(~v.hasStopped, ~beyond), v.entries, v.offset,
        ),
        rule(
            "REC-05.early",
            "the last delayed message of a level that is taken for delivered was due when the last record was stored",
            "level", "warning",
            v.lastDue <= v.lastStored, v.lastStored, v.lastDue,
        ),
        rule(
            "REC-05.late",
            "a broker that has stopped in order has delivered what was due a minute before its last record",
            "level", "warning",
            implies(v.hasStopped & (v.nextDue > 0), v.nextDue + LAG >= v.lastStored), v.lastStored, v.nextDue,
        ),
    ]  # fmt: skip


RULES = [*_stored(), *_queues(), *_offsets()]


def _histories() -> list[HistoryClaim]:
    k, r = vocabulary()["kept"].row, vocabulary()["record"].row
    schedule, send = k.topicClass == "schedule", k.kind == "send"
    sentence = "a delayed record is in the queue of its level and names its target topic and queue"
    by_name = (k.askedClass == "schedule") | (k.realClass == "none")
    placed = implies(send & schedule & k.realAsked & (k.askedQueue >= 0), k.realQueueId == k.askedQueue)
    return [
        HistoryClaim(
            "INV-45",
            sentence,
            (
                *named(RULES, "INV-46.stored", "INV-45.level", "INV-45.queue", "INV-45.topic"),
                rule(
                    "INV-45.elsewhere", sentence, "record", "error",
                    implies(r.topicClass == "schedule", r.realClass != "schedule"), False, r.realClass == "schedule",
                ),
                rule(
                    "INV-45.asked", sentence, "kept", "error",
                    implies(send & schedule, k.realAsked | k.realDead), True, k.realAsked | k.realDead,
                ),
                rule("INV-45.askedQueue", sentence, "kept", "error", placed, k.askedQueue, k.realQueueId),
                rule(
                    "INV-45.kept", sentence, "kept", "error",
                    implies(send & ~schedule & counted(k), k.delayLevel <= 0), 0, k.delayLevel,
                ),
            ),
        ),
        claim_about(
            "INV-46",
            "no send puts a record into the schedule topic by the topic's name",
            "kept",
            ~(sends(k) & schedule & by_name), False, by_name,
        ),
    ]  # fmt: skip


HISTORY = _histories()
_PLACED, _BY_NAME = HISTORY

HISTORY_CASES: list[Case] = [
    *history_cases(_PLACED, about.DELAYED, "holds"),
    *history_cases(
        _PLACED,
        about.HALF_DELAYED,
        {"P40": "holds", "P45": "violated", "P49": "violated"},
        reason="HAZ-39: the half topic is kept instead of the one asked for; P40 knows no half messages",
    ),
    *history_cases(_BY_NAME, about.BY_NAME, about.LATER_GOOD, reason="HAZ-42: only later releases refuse the schedule topic"),
    *history_cases(
        _BY_NAME, about.BY_NAME, "violated", ("P470",), reason="HAZ-42: 4.6.1 and 4.7.0 look at names, but have no list of topics"
    ),
]


def _each(body: Any) -> Any:
    """A formula for each entry of the queue."""
    return lambda d: forall(d.Entry, lambda e: implies(e < d.queue.length, body(d, d.entry[e], e)))


def _waits(d: Delays) -> Expr:
    """Whether a due message is not delivered."""
    return exists(d.Entry, lambda e: (e < d.queue.come) & (d.entry[e].out == 0))


def _capped(d: Delays) -> Expr:
    send, top = d.model.named("send"), d.levels
    level, capped = wide(Expr("par", ("level",), send.parameters["level"])), wide(effect(send, "entry.level"))
    within = (capped >= 1) & (capped <= top) & implies(level <= top, capped == level)
    return implies(wide(condition(send, "delayed")), within & implies(wide(condition(send, "this queue")), capped == top))


def _within(d: Delays) -> Expr:
    length, stored, resumed = (wide(x) for x in (d.queue.length, d.queue.stored, effect(d.model.named("start"), "queue.next")))
    corrected = implies(d.corrects_delay_offsets, resumed == minimum(stored, length))
    return implies((length >= 0) & (stored >= 0), corrected & implies(~d.corrects_delay_offsets, resumed == stored))


PLACED = Claim(
    "INV-45.state",
    "a delayed message waits in the queue of its capped level and names its target topic and queue",
    "always",
    _each(lambda d, row, _: (row.level == d.levels) & (row.asked != HALF)),
    part=Delays,
)
CAPPED = Claim("INV-45.clamp", "a level above the last becomes the last; all others stay, for every level", "lemma", _capped, part=Delays)
DELIVERED = Claim(
    "AUX-25", "a delayed message whose time has come is eventually delivered", "leads_to", lambda d: (_waits(d), ~_waits(d)), part=Delays
)
CORRECTED = Claim(
    "AUX-26",
    "a start continues at the offset in delayOffset.json, at most at the end of the queue, for all numbers",
    "lemma",
    _within,
    part=Delays,
)
INSIDE = Claim("AUX-27", "a scan position is in its queue or at its end", "always", lambda d: d.queue.next <= d.queue.length, part=Delays)
IN_TIME = Claim(
    "AUX-28",
    "a delayed message is not delivered before its time",
    "always",
    _each(lambda d, row, e: implies(row.out > 0, e < d.queue.come)),
    part=Delays,
)
ONCE = Claim(
    "AUX-29",
    "each crash repeats at most one delivery",
    "always",
    lambda d: total(d.Entry, lambda e: maximum(d.entry[e].out - 1, 0)) <= d.ended,
    part=Delays,
)
NOTED = Claim(
    "AUX-30",
    "the written offset table contains everything that the scan has passed",
    "always",
    lambda d: d.queue.offset == d.queue.next,
    part=Delays,
)
OWN = Claim(
    "AUX-31",
    "a delayed message is delivered to its target topic and queue",
    "always",
    _each(lambda d, row, _: implies(row.out > 0, (row.place == row.asked) & (row.place != NOWHERE))),
    part=Delays,
)
TWICE = Claim("REA-70", "a message is delivered twice", "reachable", lambda d: exists(d.Entry, lambda e: d.entry[e].out == 2), part=Delays)
BEYOND = Claim(
    "REA-71",
    "after a power loss, messages are stored below the offset in delayOffset.json and count as delivered",
    "reachable",
    lambda d: d.up & exists(d.Entry, lambda e: (e < d.queue.length) & (e < d.queue.next) & (d.entry[e].out == 0) & (d.ended > 0)),
    part=Delays,
)
AHEAD = Claim(
    "REA-72",
    "a power loss leaves fewer messages than delayOffset.json counts",
    "reachable",
    lambda d: d.queue.stored > d.queue.length,
    part=Delays,
)
AMID = Claim(
    "REA-73", "a scan has delivered one message and is about to deliver the next", "reachable", lambda d: d.scanning & (d.queue.next == 1),
    part=Delays,
)  # fmt: skip
INTO_HALF = Claim("REA-74", "a delayed half message is delivered to the half topic", "reachable", lambda d: d.halves > 0, part=Delays)

CLAIMS = [PLACED, CAPPED, DELIVERED, CORRECTED, INSIDE, IN_TIME, ONCE, NOTED, OWN, TWICE, BEYOND, AHEAD, AMID, INTO_HALF]

_ALL = (*SEEDS, "P494", "P533")
_QUIET: dict[str, Any] = {"condition": "nothing fails"}
_END: dict[str, Any] = {"condition": "the process ends once", "given": {"end_budget": 1}}
_POWER: dict[str, Any] = {"condition": "the power fails once", "given": {"end_budget": 1, "power": True}}
_SYNC: dict[str, Any] = {
    "condition": "synchronous flush, the power fails once", "given": {"end_budget": 1, "power": True, "sync": True},
}  # fmt: skip
_FAILS: dict[str, Any] = {"condition": "a delivery fails", "given": {"fails": True}}
_PASSED: dict[str, Any] = {"condition": "a delivery fails, and is passed over", "given": {"fails": True, "passes_over": True}}
_BACK: dict[str, Any] = {"condition": "the clock is set back", "given": {"set_back": True}}
_HALVES: dict[str, Any] = {"condition": "delayed half messages", "given": {"transactional": True}}
_LATER = {"P40": "violated", "P45": "violated", "P49": "violated", "P494": "holds", "P533": "holds"}
_UNFLUSHED = "a delivery waits for no flush, so that a loss of power takes it although delayOffset.json has it"

CASES: list[Case] = [
    *cases(PLACED, "delays", "holds", **_END),
    *cases(
        PLACED, "delays", "violated", profiles=about.WITH_HALF, **_HALVES, reason="HAZ-39: the store writes the half topic over REAL_TOPIC"
    ),
    *cases(CAPPED, "delays", "holds", profiles=("P49",), engines=("symbolic",), method="lemma"),
    *cases(CORRECTED, "delays", "holds", profiles=("P49", "P494"), engines=("symbolic",), method="lemma"),
    *[c for given in (_QUIET, _END, _FAILS) for c in cases(DELIVERED, "delays", "holds", profiles=_ALL, **given)],
    *[c for given in (_POWER, _SYNC) for c in cases(DELIVERED, "delays", "violated", profiles=_ALL, **given, reason=_UNFLUSHED)],
    *cases(DELIVERED, "delays", "violated", profiles=("P533",), **_PASSED, reason="5.0 to 5.3.2 go on behind a delivery that failed"),
    *cases(INSIDE, "delays", _LATER, profiles=_ALL, **_POWER, reason="up to 4.9.1 delayOffset.json is read before the log, and believed"),
    *cases(INSIDE, "delays", "holds", profiles=_ALL, **_END),
    *cases(IN_TIME, "delays", "holds", profiles=_ALL, **_POWER),
    *cases(IN_TIME, "delays", "violated", **_BACK, reason="a time further ahead than the level's delay counts as come (HAZ-42)"),
    *cases(ONCE, "delays", "holds", profiles=_ALL, **_FAILS),
    *cases(ONCE, "delays", "violated", profiles=_ALL, **_END, reason="HAZ-48: delayOffset.json is written from time to time"),
    *cases(NOTED, "delays", _LATER, profiles=_ALL, **_END, reason="the releases before 4.9.3 note a scan's deliveries at its end"),
    *cases(OWN, "delays", "holds", profiles=_ALL, **_POWER),
    *cases(OWN, "delays", "violated", profiles=("P45",), **_HALVES, reason="HAZ-39: it is delivered into the half topic"),
    *cases(OWN, "delays", "holds", profiles=("P49",), **_HALVES, reason="HAZ-39: from 4.6.1 on it is discarded"),
    *cases(TWICE, "delays", "holds", **_END),
    *cases(BEYOND, "delays", "holds", **_POWER),
    *cases(AHEAD, "delays", "holds", **_POWER),
    *cases(AMID, "delays", "holds", **_QUIET),
    *cases(INTO_HALF, "delays", "holds", profiles=("P45",), **_HALVES),
]
