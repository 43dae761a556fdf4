"""Transactional messages: the gate, half messages and their ends (TRX-01 to TRX-07), and their combination with delays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rocketproof_model import Expr, after, count, exists, implies, maximum
from rocketproof_protocol.flags import COMMIT, PREPARED
from rocketproof_spec.delays import NOWHERE
from rocketproof_spec.meeting import Meeting
from rocketproof_spec.transactions import Transactions
from rocketproof_traces.audit.rules import Rule, rule
from rocketproof_traces.audit.vocabulary import counted, transaction, vocabulary

from . import conditions as about
from .claim import Case, Claim, HistoryClaim, cases, history_cases
from .history import History

TAG_OF_OPERATIONS = 100  # Java's hash of "d", the tag of the operation records that end half messages


def _stored() -> list[Rule]:
    r, given = vocabulary()["record"].row, vocabulary()["record"].given
    half, operations = (r.topicClass == "half") & given["half_messages"], r.topicClass == "operations"
    # If clients may send to the half topic, a half message is a record with another original topic.
    half &= ((r.realClass != "none") & (r.realClass != "half")) | ~given["plain_halves"]
    bits = transaction(r)
    named = (r.realClass != "none") & (r.realQueueId >= 0)
    origin = r.preparedTransactionOffset
    return [
        rule(
            "TRX-04.bits",
            "a half message has no transaction bits: it takes a queue offset of the half topic",
            "record", "error",
            implies(half, bits == 0), 0, bits,
        ),
        rule(
            "TRX-04.queue",
            "a half message is in queue 0 of the half topic",
            "record", "error",
            implies(half, r.queueId == 0), 0, r.queueId,
        ),
        rule(
            "TRX-04.topic",
            "a half message has its topic and queue id as properties",
            "record", "error",
            implies(half, named), True, named,
        ),
        rule(
            "TRX-05.stored",
            "no record outside the half topic is prepared or rolled back: nobody would ever consume or check it",
            "record", "warning",
            implies(given["half_messages"] & (r.topicClass != "half"), counted(r)), 0, bits,
        ),
        rule(
            "TRX-06.commit",
            "a committed message has the offset of its half message, which lies before it",
            "record", "note",
            implies(bits == COMMIT, (origin >= 0) & (origin < maximum(r.physicalOffset, 1)) & ((origin > 0) | named)),
            r.physicalOffset, origin,
        ),
        rule(
            "TRX-06.other",
            "a record that does not end a half message names none",
            "record", "error",
            implies((bits == 0) | (bits == PREPARED), origin == 0), 0, origin,
        ),
        rule(
            "TRX-07.operations",
            "a record that ends half messages has the tag d",
            "record", "warning",
            implies(operations, r.tagsHash == TAG_OF_OPERATIONS), TAG_OF_OPERATIONS, r.tagsHash,
        ),
    ]  # fmt: skip


def _ends() -> list[Rule]:
    """Operation records, which end half messages, and commits."""
    o, p, c = (vocabulary()[name].row for name in ("outcome", "operation", "commit"))
    return [
        rule(
            "TRX-06.half",
            "a record that ends a half message names the place of one",
            "outcome", "error",
            o.halfThere, True, o.halfThere,
        ),
        rule(
            "TRX-06.topic",
            "a record that ends a half message is for its topic",
            "outcome", "error",
            implies(o.halfThere, o.sameTopic), True, o.sameTopic,
        ),
        rule(
            "TRX-06.queue",
            "a record that ends a half message is for its queue",
            "outcome", "error",
            implies(o.halfThere & o.sameTopic, o.sameQueue), True, o.sameQueue,
        ),
        rule(
            "TRX-06.message",
            "a committed message has body, flag, time and host of birth of its half message",
            "outcome", "error",
            implies(o.halfThere & o.committed, o.sameMessage), True, o.sameMessage,
        ),
        rule(
            "TRX-07.body",
            "the body of a record that ends half messages is their queue offsets",
            "operation", "warning",
            p.readable, True, p.readable,
        ),
        rule(
            "TRX-07.half",
            "a record that ends half messages names entries of their queue",
            "operation", "warning",
            implies(p.halfKnown, p.halfThere), p.half, p.place,
        ),
        rule(
            "TRX-07.later",
            "it lies behind the half messages that it ends",
            "operation", "warning",
            implies(p.halfThere, p.place < p.physicalOffset), p.physicalOffset, p.place,
        ),
        rule(
            "TRX-07.commit",
            "the end of a half message that is committed is noted in the topic of ended transactions",
            "commit", "warning",
            implies(c.operationsKnown, c.named), True, c.named,
        ),
    ]  # fmt: skip


RULES = [*_stored(), *_ends()]


def _becomes(t: Transactions, place: str) -> Expr:
    becomes: Expr = (t.message.place != place) & (after(t.message.place) == place)
    return becomes


def _is_needless(t: Transactions) -> Expr:
    """Whether the step queries the producer about a copy whose outcome is known."""
    queries: Expr = after(t.log.asked) > t.log.asked
    return queries & exists(t.Copy, lambda c: (c == t.log.looked) & (t.half[c] != "open"))


def _met(body: Callable[[Transactions], Any], more: Callable[[Meeting], Any] = lambda f: True) -> Callable[[Meeting], Expr]:
    """A formula over the transaction, and a formula over delays and transactions, in the combined model."""
    return lambda f: f.half(body(f.transactions)) & more(f)


def _delivered(f: Meeting) -> Expr:
    """Whether a delayed message is in a queue of its own topic."""
    return exists(f.delays.Entry, lambda e: f.delay(f.delays.entry[e].place) != NOWHERE)


_half_delayed = _met(lambda t: (t.message.place == "half") & t.message.delayed & (t.log.stored == 0))
_given_up = _met(lambda t: t.message.given_up)
_retried = _met(lambda t: (t.log.stored > 0) & t.message.delayed)

UNCHANGED = Claim(
    "AUX-32.refused",
    "a rejected transactional message does not change the topic table",
    "step",
    lambda t: implies(_becomes(t, "refused"), after(t.message.topic) == t.message.topic),
    part=Transactions,
)
GATE = Claim(
    "AUX-32.gate",
    "only a message with TRAN_MSG true is rejected or becomes a half message",
    "always",
    lambda t: implies((t.message.place == "refused") | (t.message.place == "half"), t.message.tran == "true"),
    part=Transactions,
)
ALL_HALF = Claim(
    "AUX-32.half",
    "no message with TRAN_MSG true is stored in its own topic before it is committed",
    "always",
    lambda t: implies(t.message.place == "own", t.message.tran != "true"),
    part=Transactions,
)
UNCOUNTED = Claim(
    "AUX-32.uncounted",
    "a prepared message has offset 0 and does not change the next offset of its queue",
    "step",
    lambda t: implies(_becomes(t, "prepared"), (after(t.message.answered) == 0) & (after(t.log.counted) == t.log.counted)),
    part=Transactions,
)
FOUND = Claim(
    "AUX-32.answered",
    "the queue offset of a response is the message's offset in the queue of its own topic",
    "always",
    lambda t: implies(t.message.answered >= 0, t.message.place == "own"),
    part=Transactions,
)
SEEN = Claim(
    "AUX-32", "a stored message is in a queue or in the half queue", "always", lambda t: t.message.place != "prepared",
    part=Transactions,
)  # fmt: skip
DONE = Claim(
    "AUX-33",
    "a half message is ended, or is discarded after transactionCheckMax checks",
    "leads_to",
    lambda t: (t.message.place == "half", exists(t.Copy, lambda c: t.half[c] != "open") | t.message.given_up),
    part=Transactions,
)
COMMITTED = Claim(
    "AUX-33.commit",
    "a committed message is in the queue of its topic",
    "always",
    lambda t: implies(t.message.decided == "commit", t.log.stored > 0),
    part=Transactions,
)
ROLLED_BACK = Claim(
    "AUX-33.rollback",
    "a rolled-back message is in no queue of its topic",
    "always",
    lambda t: implies(t.message.decided == "rollback", t.log.stored == 0),
    part=Transactions,
)
ONCE = Claim("AUX-34", "a half message is committed once", "always", lambda t: t.log.stored <= 1, part=Transactions)
LEFT_ALONE = Claim(
    "AUX-34.asked",
    "no producer is asked about a copy for which it has given the outcome",
    "step",
    lambda t: ~_is_needless(t),
    part=Transactions,
)
FEW = Claim(
    "AUX-33.checks",
    "a half message is discarded after exactly transactionCheckMax checks",
    "always",
    lambda t: implies(t.message.given_up, t.log.asked == t.checks),
    part=Transactions,
)
GIVEN_UP = Claim("REA-76", "a half message is discarded", "reachable", lambda t: t.message.given_up, part=Transactions)
BOTH = Claim(
    "REA-77",
    "a half message and the copy that was checked with the producer are both committed",
    "reachable",
    lambda t: (t.log.stored == 2) & (count(t.Copy, lambda c: t.half[c] != "open") == 2),
    part=Transactions,
)
PASSED = Claim(
    "REA-78", "the check has passed a half message that has ended", "reachable",
    lambda t: exists(t.Copy, lambda c: (c < t.log.looked) & (t.half[c] == "ended")) & (t.log.asked == 0), part=Transactions,
)  # fmt: skip
BESIDE = Claim(
    "REA-79", "a prepared message is stored after another message of its queue", "reachable",
    lambda t: (t.message.place == "prepared") & (t.log.counted == 1), part=Transactions,
)  # fmt: skip

KEPT = Claim(
    "AUX-33.delayed",
    "a half message with a delay is eventually discarded, since nobody can end it",
    "leads_to",
    lambda f: (_half_delayed(f), _given_up(f)),
    part=Meeting,
)
RETRIED = Claim(
    "AUX-33.retry",
    "a transactional message that is sent to a retry topic is delivered to that topic",
    "leads_to",
    lambda f: (_retried(f), _delivered(f)),
    part=Meeting,
)
WANDERS = Claim(
    "REA-80",
    "the check sends a half message with a delay to the schedule topic a second time",
    "reachable",
    _met(lambda t: (t.log.asked == 1) & (t.log.scheduled == 2)),
    part=Meeting,
)
DISCARDED = Claim(
    "REA-81",
    "a delayed message was passed by the scan and is stored nowhere",
    "reachable",
    lambda f: exists(f.delays.Entry, lambda e: (e < f.delay(f.delays.queue.next)) & (f.delay(f.delays.entry[e].out) == 0)),
    part=Meeting,
)


def _left_out(history: History) -> str | None:
    """Return the first producer that was not queried. A failing check starts again at the same message, so later messages get no check."""
    for waited in history.waited:
        if waited.halves and not waited.asked:
            return f"{waited.client} was asked about none of its half messages for {', '.join(waited.halves)}"
    return None


# A query and the messages that it may concern are several events, so a rule over single rows cannot state this.
ASKED = HistoryClaim(
    "AUX-33.asked",
    "a producer that does not end its half messages is asked about them",
    program=_left_out,
    tests=lambda history: any(waited.halves for waited in history.waited),
)
HISTORY = [ASKED]

CLAIMS = [
    UNCHANGED, GATE, ALL_HALF, UNCOUNTED, FOUND, SEEN, DONE, COMMITTED, ROLLED_BACK, ONCE, LEFT_ALONE, FEW, GIVEN_UP, BOTH, PASSED, BESIDE,
    KEPT, RETRIED, WANDERS, DISCARDED,
]  # fmt: skip

_TAKES: dict[str, Any] = {"condition": "the producer always gives the same outcome"}
_WAVERS: dict[str, Any] = {"condition": "the producer gives one outcome and then another", "given": {"steady": False}}
_GONE: dict[str, Any] = {"condition": "the producer cannot be asked", "given": {"connected": False}}
_REJECTS: dict[str, Any] = {"condition": "the broker rejects transactions", "given": {"rejects": True}}
_DELAYED: dict[str, Any] = {"condition": "delayed half messages", "given": {"may_delay": True}}
_RETRIES: dict[str, Any] = {"condition": "transactions' messages sent to be retried"}
_HALVES = (*about.WITH_HALF, "P494", "P533")
_HOLDS, _VIOLATED = dict.fromkeys(_HALVES, "holds"), dict.fromkeys(_HALVES, "violated")
_BY_PRESENCE = {"P40": "violated", "P45": "holds", "P49": "holds"}
_NO_MEMORY = "the half message stays, and what ends it is not looked for when another end comes"


def _both(claim: Claim, expected: Any, given: dict[str, Any], reason: str = "", scope: str = "transactions") -> list[Case]:
    """Return the cases in all profiles with half messages."""
    return cases(claim, scope, expected, profiles=_HALVES, reason=reason, **given)


CASES: list[Case] = [
    *cases(UNCHANGED, "transactions", "violated", **_REJECTS, reason="TRX-03: the topic is created before the refusal (HAZ-40)"),
    *cases(GATE, "transactions", "holds", profiles=_HALVES, **_TAKES),
    *cases(GATE, "transactions", _BY_PRESENCE, **_REJECTS, reason="TRX-02: in P40 it is enough that TRAN_MSG is there"),
    *cases(ALL_HALF, "transactions", _BY_PRESENCE, **_TAKES, reason="TRX-02: P40 has no half messages"),
    *cases(ALL_HALF, "transactions", "holds", **_REJECTS),
    *[c for given in (_TAKES, _REJECTS) for c in cases(UNCOUNTED, "transactions", "holds", **given)],
    *cases(FOUND, "transactions", "violated", **_TAKES, reason="HAZ-13: it is that of the half queue, or 0"),
    *cases(SEEN, "transactions", "violated", **_TAKES, reason="HAZ-12: the gate does not look at the flag"),
    *[c for claim in (DONE, FEW, GIVEN_UP) for given in (_TAKES, _GONE) for c in _both(claim, "holds", given)],
    *[c for given in (_TAKES, _WAVERS) for c in _both(COMMITTED, "holds", given)],
    *_both(ROLLED_BACK, "holds", _TAKES),
    *_both(ROLLED_BACK, "violated", _WAVERS, _NO_MEMORY),
    *_both(ONCE, "violated", _TAKES, _NO_MEMORY),
    *_both(LEFT_ALONE, {**_HOLDS, "P533": "violated"}, _TAKES, "5.x writes operation records together, 3 s later, and asks meanwhile"),
    *[c for claim in (BOTH, PASSED) for c in _both(claim, "holds", _TAKES)],
    *cases(BESIDE, "transactions", "holds", **_TAKES),
    *_both(KEPT, {**_VIOLATED, "P45": "holds"}, _DELAYED, "HAZ-39: from 4.6.1 on it is discarded when its time comes, and lost", "meeting"),
    *_both(RETRIED, {**_VIOLATED, "P533": "holds"}, _RETRIES, "HAZ-47: it becomes a half message; 5.x knows retries", "meeting"),
    *cases(WANDERS, "meeting", "holds", profiles=("P45",), **_DELAYED),
    *cases(DISCARDED, "meeting", "holds", profiles=("P49", "P494"), **_RETRIES),
]

_FULL = "HAZ-61: a message without room for the count of its checks is not put back, and its check begins anew"
HISTORY_CASES: list[Case] = [
    *history_cases(ASKED, about.ANYTHING, "holds"),
    *history_cases(ASKED, about.UNCOUNTED, dict.fromkeys(about.WITH_HALF, "violated"), reason=_FULL),
]
