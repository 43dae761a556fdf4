"""Delayed messages: their level, its queue, and where they are to be delivered (INV-45, INV-46, REC-05)."""

from __future__ import annotations

from rocketproof_model import implies
from rocketproof_model.specification.arithmetic import queue_bound
from rocketproof_traces.audit.rules import Rule, rule
from rocketproof_traces.audit.vocabulary import counted, is_, sends, vocabulary

from . import conditions as about
from .claim import Case, HistoryClaim, history_cases, named
from .claim import about as claim_about

LAG = 60_000  # milliseconds that a delivery may be behind its time


def _stored() -> list[Rule]:
    r, given = vocabulary()["record"].row, vocabulary()["record"].given
    schedule = r.topicClass == "schedule"
    delayed = schedule & (r.delayLevel > 0)
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
            "a delayed message is in the queue of its level",
            "record", "error",
            implies(delayed, r.queueId == r.delayLevel - 1), r.delayLevel - 1, r.queueId,
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
            implies(delayed, (r.realClass != "none") & (r.realQueueId >= 0)), True, (r.realClass != "none") & (r.realQueueId >= 0),
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
    """delayOffset.json beside the queues of the schedule topic."""
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
    said = "a delayed record is in the queue of its level and names the topic and queue asked for"
    by_name = (k.askedClass == "schedule") | (k.realClass == "none")
    placed = implies(send & schedule & k.realAsked & (k.askedQueue >= 0), k.realQueueId == k.askedQueue)
    return [
        HistoryClaim(
            "INV-45",
            said,
            (
                *named(RULES, "INV-46.stored", "INV-45.level", "INV-45.queue", "INV-45.topic"),
                rule(
                    "INV-45.elsewhere", said, "record", "error",
                    implies(r.topicClass == "schedule", r.realClass != "schedule"), False, r.realClass == "schedule",
                ),
                rule(
                    "INV-45.asked", said, "kept", "error",
                    implies(send & schedule, k.realAsked | k.realDead), True, k.realAsked | k.realDead,
                ),
                rule("INV-45.askedQueue", said, "kept", "error", placed, k.askedQueue, k.realQueueId),
                rule(
                    "INV-45.kept", said, "kept", "error",
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
]
