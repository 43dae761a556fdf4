"""Returned messages: the number of retries, their properties, and the dead letters (INV-47 to INV-51, LIV-06)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rocketproof_model import Expr, after, any_of, implies, ite
from rocketproof_model.language import Kind
from rocketproof_protocol.flags import READ
from rocketproof_protocol.topics import DLQ_PREFIX, HALF_TOPIC, OP_HALF_TOPIC, SCHEDULE
from rocketproof_spec.bounds import DELAY_LEVELS, NAMES_LIMIT, is_dead, retry_limit
from rocketproof_spec.returning import FIRST_LEVEL
from rocketproof_spec.sendbacks import UNIT_SUB, Sendbacks
from rocketproof_traces.audit.rules import Rule, rule
from rocketproof_traces.audit.vocabulary import has, is_, vocabulary
from rocketproof_traces.stored.record import StoredRecord

from . import conditions as about
from .claim import SEEDS, Case, Claim, HistoryClaim, cases, condition, effect, history_cases, named, second, wide
from .claim import about as claim_about
from .history import History


def _claim(id_: str, sentence: str, kind: Kind, formula: Callable[[Sendbacks], Any]) -> Claim:
    return Claim(id_, sentence, kind, formula, part=Sendbacks)


def _refused(s: Sendbacks) -> Expr:
    return any_of(s.last.answer == code for code in ("SYSTEM_ERROR", "NO_PERMISSION", "SUBSCRIPTION_GROUP_NOT_EXIST"))


def _is_dead_letter(s: Sendbacks) -> Expr:
    is_dead_letter: Expr = (s.message.place == "stored") & (s.message.topic == "dead")
    return is_dead_letter


def _appended(s: Sendbacks) -> Expr:
    """Whether the step is a request that appends the message again."""
    put: Expr = (s.message.place == "taken") & ((after(s.message.place) == "delayed") | (after(s.message.place) == "stored"))
    return put


def _answered_queue(s: Sendbacks) -> Expr:
    queue = s.last.queue
    return implies(queue.is_some, (s.message.topic == "retry") & (queue == s.message.queue))


def _once(term: Expr, number: int = 1) -> Expr:
    counted: Expr = ite(term, number, 0)
    return counted


def _level(s: Sendbacks) -> Expr:
    """The level of a retry, for every requested level and every number of retries that is a Java int and not negative."""
    back = s.model.named("back_retry")
    level, times = wide(Expr("par", ("level",), back.parameters["level"])), wide(s.message.times)
    stored = wide(effect(back, "message.delay"))
    by_broker = (stored == DELAY_LEVELS) | (stored == FIRST_LEVEL + times)
    return implies((level >= 0) & (times >= 0), (stored >= 1) & (stored <= DELAY_LEVELS) & implies(level == 0, by_broker))


def _last_round(s: Sendbacks, action: str) -> Expr:
    return wide(condition(s.model.named(action), "no retries left"))


def _not_given_up(s: Sendbacks) -> Expr:
    level: Expr = wide(Expr("par", ("level",), s.model.named("back_bury").parameters["level"])) >= 0
    return level


def _whose_limit(s: Sendbacks) -> Expr:
    """The limit is the group's for versions below 121 and for requests without a limit; otherwise it is the request's."""
    version, times = wide(s.constant["version"]), wide(s.message.times)
    old = (version < NAMES_LIMIT) | ~s.constant["names_limit"]
    last = _last_round(s, "back_bury") == (times >= wide(s.group.limit))
    named = _last_round(s, "back_bury") == (times >= wide(s.constant["limit"]))
    return implies(_not_given_up(s), (implies(old, last)) & implies(~old, named))


RIGHTLY = _claim(
    "INV-47.states",
    "a dead letter was retried up to the limit, or its consumer gave it up",
    "always",
    lambda s: implies(s.message.topic == "dead", s.message.given_up | is_dead(s.message.times, s.limit, beyond=False)),
)
GROWS = _claim(
    "INV-48.step",
    "each return of a message increases its number of retries by one",
    "step",
    lambda s: after(s.message.times) == s.message.times + _once(_appended(s)),
)
ROUNDS = _claim(
    "INV-48.rounds",
    "a message returns at most as often as the limit, and once more as a dead letter",
    "always",
    lambda s: (
        (s.message.times <= s.limit) | ((s.message.topic == "dead") & (s.message.place != "taken") & (s.message.times == s.limit + 1))
    ),
)
FIRST = _claim(
    "INV-49.states",
    "RETRY_TOPIC is the topic of a message's first record, however often it returns",
    "always",
    lambda s: (s.message.first == "orders") | ((s.message.first == "none") & (s.message.topic == "orders") & (s.message.times == 0)),
)
ORIGIN = _claim(
    "INV-50.states",
    "a returned record names the id of its original record",
    "always",
    lambda s: implies(s.message.times > 0, s.message.origin),
)
TAKEN = _claim(
    "INV-51.states",
    "a send-back that succeeds has appended a record",
    "always",
    lambda s: implies((s.last.asked == "back") & (s.last.answer == "SUCCESS"), s.last.appended == 1),
)
NOTHING = _claim(
    "INV-07.backs", "a rejected return of a message appends no record", "always",
    lambda s: implies(_refused(s), s.last.appended == 0),
)  # fmt: skip
UNTIMED = _claim(
    "INV-07.flush", "a send-back never gets FLUSH_DISK_TIMEOUT, because it does not wait for a flush", "always",
    lambda s: implies(s.last.asked == "back", s.last.answer != "FLUSH_DISK_TIMEOUT"),
)  # fmt: skip
CLEAN = _claim(
    "INV-09.backs", "a rejected return of a message does not change the topic table", "always",
    lambda s: implies(_refused(s), ~s.last.made),
)  # fmt: skip
PLACED = _claim(
    "INV-44.backs", "the queue in the response to a retried message is its queue, now or after its delay", "always",
    _answered_queue,
)  # fmt: skip
BURIED = _claim(
    "LIV-06.states", "a message that is never consumed eventually becomes a dead letter", "leads_to",
    lambda s: (s.message.place == "taken", _is_dead_letter(s)),
)  # fmt: skip
EXACTLY = _claim(
    "LIV-06.rounds",
    "a dead letter that no consumer gave up was delivered once more than the retry limit",
    "always",
    lambda s: implies((s.message.topic == "dead") & ~s.message.given_up, s.message.times == s.limit + 1),
)
AT_ONCE = _claim(
    "AUX-20", "a dead letter has no delay level", "always",
    lambda s: (s.message.topic != "dead") | (s.message.place == "stored"),
)  # fmt: skip
READABLE = _claim("AUX-21", "dead letters can be read", "always", lambda s: s.dead.is_none | ((s.dead.get & READ) == READ))
COUNTS = _claim(
    "AUX-22", "a retry topic has as many queues as its group's retryQueueNums", "always",
    lambda s: (s.retry.queues == 0) | (s.retry.queues == s.group.queues),
)  # fmt: skip
LISTED = _claim(
    "AUX-23", "a retried message is in an existing read queue of its topic", "always",
    lambda s: implies(s.message.topic == "retry", s.message.queue < s.retry.queues),
)  # fmt: skip
UNIT = _claim(
    "AUX-24", "a retry topic created by a consumer in unit mode has the unit flag", "always",
    lambda s: implies((s.constant["existing"] == 0) & (s.retry.queues > 0), s.retry.flag == _once(s.constant["unit_mode"], UNIT_SUB)),
)  # fmt: skip
LEVEL_ALL = _claim(
    "INV-45.lemma", "a send-back waits at a level from 1 to 18, which grows with each retry if the broker chooses it", "lemma", _level
)
LIMIT_ALL = _claim("INV-48.lemma", "only requests of version 121 and later name the limit", "lemma", _whose_limit)
AGREE_ALL = _claim(
    "LIV-06.lemma",
    "a send-back and a send make a message a dead letter in the same round",
    "lemma",
    lambda s: implies(_not_given_up(s), _last_round(s, "back_bury") == _last_round(s, "send_bury")),
)
_REACHED: list[tuple[str, str, Callable[[Sendbacks], Any]]] = [
    ("REA-60", "17 deliveries make a dead letter", lambda s: _is_dead_letter(s) & (s.message.times >= 17) & ~s.message.given_up),
    ("REA-61", "a consumer gets its message for the third time", lambda s: (s.message.place == "taken") & (s.message.times == 2)),
    ("REA-62", "a retry waits at the last delay level", lambda s: (s.message.topic == "retry") & (s.message.delay == DELAY_LEVELS)),
    ("REA-63", "a message that cannot be sent back is sent and stored", lambda s: (s.last.asked == "send") & (s.last.appended == 1)),
    ("REA-64", "a lookup creates the group", lambda s: s.group.known & ~s.constant["group_known"]),
    ("REA-65", "a dead letter has already waited for its delay", lambda s: _is_dead_letter(s) & (s.message.delay > 0)),
    ("REA-66", "a send is stored and gets a timeout response", lambda s: (s.last.appended == 1) & (s.last.answer == "FLUSH_DISK_TIMEOUT")),
    ("REA-67", "a rejected request has created the retry topic", lambda s: _refused(s) & s.last.made),
    ("REA-68", "a message is given up and is stored nowhere", lambda s: s.message.place == "given up"),
]  # fmt: skip
REACHED = {id_: _claim(id_, sentence, "reachable", formula) for id_, sentence, formula in _REACHED}

CLAIMS = [
    RIGHTLY, GROWS, ROUNDS, FIRST, ORIGIN, TAKEN, NOTHING, UNTIMED, CLEAN, PLACED, BURIED, EXACTLY, AT_ONCE, READABLE, COUNTS, LISTED, UNIT,
    LEVEL_ALL, LIMIT_ALL, AGREE_ALL, *REACHED.values(),
]  # fmt: skip

_BACK: dict[str, Any] = {"condition": "a consumer gives its message back"}
_SEND: dict[str, Any] = {"condition": "a consumer sends its message to the retry topic", "given": {"way": "sends"}}
_EITHER: dict[str, Any] = {"condition": "a consumer does either", "given": {"way": "either"}}
_DEFAULT: dict[str, Any] = {"condition": "a lookup creates the group", "given": {"group_known": False, "limit": 16}}
_NO_QUEUES: dict[str, Any] = {"condition": "a group without retry queues", "given": {"group_queues": 0}}
_NO_LIMIT: dict[str, Any] = {"condition": "requests name no limit", "given": {"names_limit": False, "way": "either"}}
_NO_GROUP: dict[str, Any] = {
    "condition": "no group, and none is made", "given": {"group_known": False, "makes_groups": False, "way": "either"}
}  # fmt: skip
_GONE: dict[str, Any] = {"condition": "the record is not in the log", "given": {"in_log": False, "way": "either"}}
_CLOSED: dict[str, Any] = {"condition": "a broker without permission to write", "given": {"writable": False}}
_CLOSED_EITHER: dict[str, Any] = {
    "condition": "a broker without permission to write, a consumer does either", "given": {"writable": False, "way": "either"}
}  # fmt: skip
_UNREADABLE: dict[str, Any] = {"condition": "a retry topic that may not be read", "given": {"existing": 1, "existing_perm": 2}}
_UNWRITABLE: dict[str, Any] = {
    "condition": "a retry topic that may not be written to", "given": {"existing": 1, "existing_perm": 4, "way": "either"}
}  # fmt: skip
_CHANGED: dict[str, Any] = {"condition": "retryQueueNums is changed once", "given": {"change_budget": 1}}
_TWO: dict[str, Any] = {
    "condition": "two retry queues, no template, a consumer does either", "given": {"group_queues": 2, "template": 0, "way": "either"}
}  # fmt: skip
_SEVERAL: dict[str, Any] = {
    "condition": "consumers do either, 16 retries, two changes", "given": {"way": "either", "limit": 16, "change_budget": 2}
}  # fmt: skip
_LOCKED: dict[str, Any] = {
    "condition": "a consumer of a group that holds a queue lock does either", "given": {"locked": True, "way": "either"}
}  # fmt: skip
_HALF: dict[str, Any] = {"condition": "a half message is given back", "given": {"prepared": True}}
_STUCK: dict[str, Any] = {"condition": "synchronous flush, the device stuck", "given": {"flushes": False, "way": "either"}}
_UNIT: dict[str, Any] = {"condition": "a consumer in unit mode does either", "given": {"unit_mode": True, "way": "either"}}
_LEMMA: dict[str, Any] = {"engines": ("symbolic",), "method": "lemma", "condition": "all 32-bit ints"}
_FAR = 2**31 - 1
_PROOF: dict[str, Any] = {
    "engines": ("symbolic",), "method": "induction:1", "lemmas": ("INV-48.rounds",), "condition": "all limits of Java's ints",
    "widen": (("message.times", _FAR + 2), ("group.limit", _FAR)),
}  # fmt: skip

_NOW = (*SEEDS, "P533")
_UNTIL_5 = {"P40": "violated", "P45": "violated", "P49": "violated", "P533": "holds"}
_FROM_49 = {"P40": "violated", "P45": "violated", "P49": "holds"}

CASES: list[Case] = [
    *[c for on in (_DEFAULT, _SEVERAL) for claim in (RIGHTLY, GROWS, FIRST) for c in cases(claim, "backs", "holds", **on)],
    *[c for claim in (RIGHTLY, GROWS, ROUNDS, FIRST) for c in cases(claim, "backs", "holds", profiles=_NOW, **_PROOF)],
    *[c for on in (_DEFAULT, _SEVERAL) for c in cases(ROUNDS, "backs", "holds", profiles=_NOW, **on)],
    *cases(
        ORIGIN, "backs", _FROM_49, **_BACK, reason="HAZ-32: a message that is given up the first time is serialised before it has the id"
    ),
    *cases(ORIGIN, "backs", "holds", **_SEND, reason="the client writes the id"),
    *cases(TAKEN, "backs", "holds", **_EITHER),
    *cases(TAKEN, "backs", "violated", **_NO_QUEUES, reason="HAZ-30: the message is given up and called a success"),
    *[c for on in (_NO_GROUP, _GONE, _CLOSED_EITHER) for c in cases(NOTHING, "backs", "holds", **on)],
    *cases(UNTIMED, "backs", "holds", **_STUCK),
    *cases(CLEAN, "backs", "holds", **_CLOSED_EITHER, reason="BACK-04 is asked before anything is made"),
    *cases(CLEAN, "backs", "violated", **_GONE, reason="BACK-09: the retry topic is made before the record is looked for"),
    *cases(CLEAN, "backs", "violated", **_NO_GROUP, reason="DLQ-02: a send makes the retry topic before its group is looked for"),
    *cases(
        CLEAN, "backs", "violated", profiles=("P40", "P45"), **_NO_LIMIT, reason="HAZ-33: the retry topic is made before the limit is asked"
    ),
    *cases(PLACED, "backs", "violated", **_SEND, reason="HAZ-15: the answer about a dead letter names a queue of the retry topic"),
    *[c for on in (_BACK, _SEND, _EITHER, _DEFAULT) for c in cases(BURIED, "backs", "holds", profiles=_NOW, **on)],
    *cases(BURIED, "backs", "violated", **_NO_QUEUES, reason="HAZ-30"),
    *cases(BURIED, "backs", _FROM_49, **_NO_LIMIT, reason="HAZ-33: whichever way, the consumer tries for ever"),
    *cases(BURIED, "backs", "violated", **_CLOSED, reason="BACK-04: the consumer tries for ever"),
    *cases(BURIED, "backs", "holds", **_CLOSED_EITHER, reason="CHK-01: a send to a retry topic is not refused"),
    *cases(BURIED, "backs", "holds", **_UNWRITABLE, reason="CHK-11: a send does not ask for its topic's permission"),
    *cases(BURIED, "backs", "violated", **_UNREADABLE, reason="nobody gets the message again"),
    *cases(BURIED, "backs", "holds", **_GONE, reason="the consumer has the message, and sends it"),
    *cases(BURIED, "backs", "violated", **_HALF, reason="BACK-17: the bits are copied, and no queue has a half message"),
    *cases(BURIED, "backs", "violated", **_CHANGED, reason="HAZ-30, HAZ-46"),
    *cases(BURIED, "backs", "violated", **_TWO, reason="HAZ-46: the retry topic has one queue, and the message is put into another"),
    *[c for on in (_BACK, _DEFAULT) for c in cases(EXACTLY, "backs", "holds", profiles=_NOW, **on)],
    *cases(EXACTLY, "backs", _UNTIL_5, **_EITHER, reason="HAZ-45: a send counts the retry that it asks for as one that has been"),
    *[
        c
        for claim in (RIGHTLY, EXACTLY)
        for c in cases(claim, "backs", "violated", profiles=("P533",), **_LOCKED, reason="DLQ-07: a message that is sent gets no retry")
    ],
    *cases(AT_ONCE, "backs", _FROM_49, **_BACK, reason="BACK-12: the record keeps the delay of its last retry"),
    *cases(AT_ONCE, "backs", _UNTIL_5, **_SEND, reason="HAZ-17: the properties that the client sent replace the broker's"),
    *cases(READABLE, "backs", _FROM_49, **_BACK, reason="HAZ-31: the topic is made write-only"),
    *cases(COUNTS, "backs", "holds", **_BACK),
    *cases(COUNTS, "backs", "violated", **_SEND, reason="HAZ-41: who sends first makes it like the template"),
    *cases(LISTED, "backs", "holds", **_EITHER),
    *[
        c
        for on in (_CHANGED, _TWO)
        for c in cases(LISTED, "backs", "violated", **on, reason="HAZ-46: the queue is drawn from as many as the group has")
    ],
    *second(LISTED, "backs", 5, **_TWO, reason="HAZ-46"),
    *[c for on in (_EITHER, _UNIT) for c in cases(UNIT, "backs", "holds", **on)],
    *[c for claim in (LEVEL_ALL, LIMIT_ALL) for c in cases(claim, "backs", "holds", **_LEMMA)],
    *cases(AGREE_ALL, "backs", _UNTIL_5, **_LEMMA, reason="HAZ-45: before 5.x a send is one retry ahead"),
    *[c for id_ in ("REA-60", "REA-62", "REA-64") for c in cases(REACHED[id_], "backs", "holds", **_DEFAULT)],
    *cases(REACHED["REA-61"], "backs", "holds", **_BACK),
    *cases(REACHED["REA-63"], "backs", "holds", **_CLOSED_EITHER),
    *cases(REACHED["REA-65"], "backs", "holds", **_SEND),
    *cases(REACHED["REA-66"], "backs", "holds", **_STUCK),
    *cases(REACHED["REA-67"], "backs", "holds", **_GONE),
    *cases(REACHED["REA-68"], "backs", "holds", **_NO_QUEUES),
]


def _stored() -> list[Rule]:
    r, given = vocabulary()["record"].row, vocabulary()["record"].given
    # HAZ-32: a message that becomes a dead letter at its first send-back.
    forgotten = given["before_49"] & (r.topicClass == "dead") & (r.reconsumeTimes <= 1)
    # A message that a consumer sends to its retry topic has the header's limit in its properties.
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
    """Check the dead letters of a history. A program is needed because the check relates all records of a message.

    Deliveries are the records that a consumer can see. The last delivery of a message that is always sent back leads to the dead letter.
    """
    for name, log in history.logs.items():
        backs = {e.request.offset: e for e in history.exchanges if e.broker == name and e.request.kind == "send_back" and e.stored}
        chains: dict[int, list[StoredRecord]] = {}
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
    grows = "each send-back increases the retries by one, and retries do not exceed the limit"
    back = k.kind == "send_back"
    return [
        claim_about(
            "INV-47",
            "a dead letter was retried up to the limit, was given up by its consumer, or was sent as a dead letter",
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
            "INV-49", "RETRY_TOPIC is the topic of a message's first record, however often it returns", named(RULES, "INV-49.chain")
        ),
        HistoryClaim("INV-50", "a returned record names the id of its original record", named(RULES, "INV-50.stored")),
        claim_about(
            "INV-51",
            "a send-back that succeeds has appended a record",
            "exchange",
            implies((e.kind == "send_back") & (e.answers > 0) & (e.code == 0), e.stored == 1), 1, e.stored,
        ),
        HistoryClaim(
            "LIV-06",
            "a message that is never consumed is a dead letter after its retries: 16, or the group's own limit",
            program=_given_up,
        ),
    ]  # fmt: skip


HISTORY = _histories()
_DEAD, _GROWS, _FIRST, _ORIGIN, _TAKEN, _BURIED = HISTORY

HISTORY_CASES: list[Case] = [
    *[case for claim in (_DEAD, _GROWS, _FIRST, _TAKEN) for case in history_cases(claim, about.ANYTHING, "holds")],
    *history_cases(_DEAD, about.AT_LIMIT, "holds"),
    *history_cases(_DEAD, about.GIVEN_UP, "holds"),
    *history_cases(
        _DEAD,
        about.LOCKED,
        {"P49": "holds", "P533": "violated", "P510": "holds"},
        reason="DLQ-07: from 5.1.1 on a group with a queue lock gets no retries",
    ),
    *history_cases(_GROWS, about.FAILING, "holds"),
    *history_cases(_FIRST, about.FAILING, "holds"),
    *history_cases(_ORIGIN, about.SENT_BACK, "holds", reason="a delayed message is serialised again, when it has its origin's id"),
    *history_cases(
        _ORIGIN, about.GIVEN_UP, about.LATER_GOOD, reason="HAZ-32: earlier releases serialise a dead letter before it has the id"
    ),
    *history_cases(_TAKEN, about.NO_RETRY, "violated", reason="HAZ-30: the message is given up and called a success"),
    *history_cases(_BURIED, about.FAILING, "holds"),
]
