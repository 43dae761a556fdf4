"""Messages that come back: how often, under which names, and when they are dead (INV-47 to INV-51, LIV-06)."""

from __future__ import annotations

from rocketproof_model import implies
from rocketproof_model.specification.bounds import NAMES_LIMIT, is_dead, retry_limit
from rocketproof_protocol.topics import DLQ_PREFIX, HALF_TOPIC, OP_HALF_TOPIC, SCHEDULE
from rocketproof_traces.audit.rules import Rule, rule
from rocketproof_traces.audit.vocabulary import has, is_, vocabulary
from rocketproof_traces.stored.record import Record

from ..histories.history import History
from . import conditions as about
from .claim import Case, HistoryClaim, history_cases, named
from .claim import about as claim_about


def _stored() -> list[Rule]:
    r, given = vocabulary()["record"].row, vocabulary()["record"].given
    # HAZ-32: what goes to the dead letters at its first send-back.
    forgotten = given["before_49"] & (r.topicClass == "dead") & (r.reconsumeTimes <= 1)
    # What a consumer sends back by itself has the header's limit among its properties.
    limit = retry_limit(r.retryMaxTimes, NAMES_LIMIT, r.maxReconsumeTimes >= 0, r.maxReconsumeTimes)
    return [
        rule(
            "INV-47.stored",
            "a dead letter has been consumed again as often as its properties say or, where they say nothing, its group allows",
            "record", "note",
            implies(r.topicClass == "dead", is_dead(r.reconsumeTimes, limit, beyond=False)), limit, r.reconsumeTimes,
        ),
        rule(
            "INV-48.chain",
            "a message that was sent back has been consumed again more often than the first record of its chain",
            "record", "warning",
            implies(r.originKnown, r.reconsumeTimes > r.originTimes), r.originTimes + 1, r.reconsumeTimes,
        ),
        rule(
            "INV-49.chain",
            "a message that was sent back has the topic of the first record of its chain",
            "record", "warning",
            implies(r.originKnown, r.originSame), True, r.originSame,
        ),
        rule(
            "INV-49.stored",
            "a message that was sent back has the topic of its first record, which is none that the broker sends back to",
            "record", "note",
            ~is_(r.retryClass, "retry", "dead", "schedule", "half"), False, is_(r.retryClass, "retry", "dead", "schedule", "half"),
        ),
        rule(
            "INV-50.stored",
            "a message that was sent back has the id of its first record",
            "record", "warning",
            implies((r.retryClass != "none") & ~forgotten, has(r, "ORIGIN_MESSAGE_ID")), True, has(r, "ORIGIN_MESSAGE_ID"),
        ),
        rule(
            "INV-50.form",
            "the ORIGIN_MESSAGE_ID of a message that was sent back is an id",
            "record", "warning",
            r.originRead, True, r.originRead,
        ),
        rule(
            "INV-50.place",
            "where ORIGIN_MESSAGE_ID names a place of this log, a record lies there",
            "record", "warning",
            implies(r.originHere, r.originKnown), True, r.originKnown,
        ),
    ]  # fmt: skip


RULES = _stored()


def _given_up(history: History) -> str | None:
    """It relates all the records of a message to each other, so that it is no rule over single rows.

    Deliveries are the records that a consumer can see; the last one of a message sent back without end leads to the dead letter.
    """
    for name, log in history.logs.items():
        backs = {e.request.offset: e for e in history.exchanges if e.broker == name and e.request.kind == "send_back" and e.stored}
        chains: dict[int, list[Record]] = {}
        for record in log.records:
            chains.setdefault(record.born_timestamp, []).append(record)
        for chain in chains.values():
            seen = [r for r in chain if r.topic not in (SCHEDULE, HALF_TOPIC, OP_HALF_TOPIC) and not r.topic.startswith(DLQ_PREFIX)]
            first = backs.get(seen[0].at) if seen else None
            if first is None:
                continue
            times = first.limit + 1
            if any(r.at not in backs or backs[r.at].request.delay_level < 0 for r in seen[:times]):
                continue
            buried = any(r.topic.startswith(DLQ_PREFIX) for r in chain)
            if len(seen) > times or (buried and len(seen) < times):
                return f"{seen[0]} was delivered {len(seen)} times before it was dead, and {times} were expected"
            if len(seen) == times and not buried:
                return f"{seen[0]} failed {times} times and is in no dead-letter topic"
    return None


def _histories() -> list[HistoryClaim]:
    k, e = vocabulary()["kept"].row, vocabulary()["exchange"].row
    limit = retry_limit(k.retryMaxTimes, k.version, k.namesLimit, k.maxReconsumeTimes)
    dead = (k.finalClass == "dead") & (k.askedClass != "dead") & is_(k.kind, "send", "send_back")
    grows = "each send-back counts one retry more, and retries do not exceed the limit"
    back = k.kind == "send_back"
    return [
        claim_about(
            "INV-47",
            "a dead letter was retried to the limit, was given up by its consumer, or was sent as one",
            "kept",
            implies(dead & ~k.givenUp, is_dead(k.times, limit, beyond=False)), limit, k.times,
        ),
        HistoryClaim(
            "INV-48",
            grows,
            (
                *named(RULES, "INV-48.chain"),
                rule(
                    "INV-48.limit", grows, "kept", "error",
                    implies(back & (k.finalClass == "retry"), k.reconsumeTimes <= limit), limit, k.reconsumeTimes,
                ),
            ),
        ),
        HistoryClaim(
            "INV-49", "however often a message comes back, RETRY_TOPIC is the topic of its first record", named(RULES, "INV-49.chain")
        ),
        HistoryClaim("INV-50", "a record that was sent back names the id of its origin", named(RULES, "INV-50.stored")),
        claim_about(
            "INV-51",
            "a send-back that succeeds has appended a record",
            "exchange",
            implies((e.kind == "send_back") & (e.answers > 0) & (e.code == 0), e.stored == 1), 1, e.stored,
        ),
        HistoryClaim(
            "LIV-06",
            "a message that is never consumed is a dead letter after its retries, 16 unless the group says otherwise",
            program=_given_up,
        ),
    ]  # fmt: skip


HISTORY = _histories()
_DEAD, _GROWS, _FIRST, _ORIGIN, _TAKEN, _BURIED = HISTORY

HISTORY_CASES: list[Case] = [
    *[case for claim in (_DEAD, _GROWS, _FIRST, _TAKEN) for case in history_cases(claim, about.ANYTHING, "holds")],
    *history_cases(_DEAD, about.AT_LIMIT, "holds"),
    *history_cases(_DEAD, about.GIVEN_UP, "holds"),
    *history_cases(_GROWS, about.FAILING, "holds"),
    *history_cases(_FIRST, about.FAILING, "holds"),
    *history_cases(_ORIGIN, about.SENT_BACK, "holds", reason="a delayed message is serialised again, when it has its origin's id"),
    *history_cases(
        _ORIGIN, about.GIVEN_UP, about.LATER_GOOD, reason="HAZ-32: earlier releases serialise a dead letter before it has the id"
    ),
    *history_cases(_TAKEN, about.NO_RETRY, "violated", reason="HAZ-30: the message is given up and called a success"),
    *history_cases(_BURIED, about.FAILING, "holds"),
]
