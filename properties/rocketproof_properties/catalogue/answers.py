"""Answers: the number of answers to a request, their content, and the requests that get none (INV-01 to INV-05)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rocketproof_model import Expr, Row, count, exists, forall, implies
from rocketproof_spec.answering import RUNNING, WAITING, Answering, within
from rocketproof_spec.dispatching import HOOKS, Dispatching
from rocketproof_traces.audit.vocabulary import vocabulary

from . import conditions as about
from .claim import SEEDS, Case, Claim, HistoryClaim, cases, history_cases, second
from .claim import about as claim_about


def _each(body: Callable[[Row], Expr]) -> Callable[[Answering], Expr]:
    return lambda v: forall(v.Request, lambda r: body(v.job[r]))


def one_answer(over: Expr, one_way: Expr, answers: Expr) -> Expr:
    return implies(over & ~one_way, answers == 1)


def not_two_answers(answers: Expr) -> Expr:
    few: Expr = answers <= 1
    return few


def no_answer(one_way: Expr, answers: Expr) -> Expr:
    return implies(one_way, answers == 0)


def _is_pending(v: Answering) -> Expr:
    return exists(v.Request, lambda r: within(v.job[r], *WAITING, *RUNNING, "future"))


def _claim(id_: str, sentence: str, kind: Any, formula: Callable[[Answering], Any]) -> Claim:
    return Claim(id_, sentence, kind, formula, part=Answering)


def _queue_in_order(v: Answering) -> Expr:
    """The places in the queue have no gap and no duplicate, and only requests that wait for the busy thread have one."""

    def is_in_place(r: Expr) -> Expr:
        row = v.job[r]
        alone = forall(v.Request, lambda q: (q == r) | (v.job[q].place != row.place))
        return implies(row.place > 0, alone & within(row, *WAITING)) & implies(within(row, *WAITING), row.place > 0)

    threads = count(v.Request, lambda r: within(v.job[r], *RUNNING))
    queued = exists(v.Request, lambda r: v.job[r].place > 0)
    return forall(v.Request, is_in_place) & (threads <= 1) & implies(queued, threads == 1)


ONE = _claim(
    "INV-01",
    "a two-way request whose task ends gets exactly one response",
    "always",
    _each(lambda row: one_answer(row.stage == "over", row.one_way, row.answers)),
)
NOT_TWO = _claim("INV-02", "no request gets two responses", "always", _each(lambda row: not_two_answers(row.answers)))
NONE = _claim("INV-03", "a one-way request gets no response", "always", _each(lambda row: no_answer(row.one_way, row.answers)))
OVER = _claim(
    "AUX-12",
    "every request that an executor has accepted eventually ends",
    "leads_to",
    lambda v: (_is_pending(v), ~_is_pending(v)),
)
QUEUE = _claim("AUX-11", "the executor's queue has no gaps, and no request waits while the thread is free", "always", _queue_in_order)
LOST = _claim(
    "REA-50",
    "a request ends without a response: its put failed, and the executor's queue is full",
    "reachable",
    lambda v: _silent(v, ~v.future_throws),
)
LATE = _claim(
    "REA-51",
    "the error response of a put waits for a thread",
    "reachable",
    lambda v: exists(v.Request, lambda r: v.job[r].stage == "reply queued"),
)


def _silent(v: Answering, when: Expr) -> Expr:
    return when & exists(v.Request, lambda r: (v.job[r].stage == "over") & ~v.job[r].one_way & (v.job[r].answers == 0))


def _of_dispatch(id_: str, sentence: str, kind: Any, formula: Callable[[Dispatching], Any]) -> Claim:
    return Claim(id_, sentence, kind, formula, part=Dispatching)


def _read(d: Dispatching) -> Expr:
    """Whether the request is a send with a readable header that is answered."""
    unreadable = ~d.request.whole | (d.always_traced & ~d.request.body)
    return (d.request.kind == "send") & ~unreadable & (d.answer.written > 0)


OPAQUE = _of_dispatch("INV-04", "a response has the opaque of its request", "always", lambda d: implies(d.answer.written > 0, d.answer.own))
MARKER = _of_dispatch(
    "INV-05", "the code -1 of an undecided response is never sent", "always",
    lambda d: implies(d.answer.written > 0, d.answer.code != "undecided"),
)  # fmt: skip
NAMED = _of_dispatch(
    "AUX-69", "the response to a send with a readable header contains region and trace switch", "always",
    lambda d: implies(_read(d), d.answer.ext),
)  # fmt: skip
NAMED_REFUSAL = _of_dispatch(
    "AUX-69.decided", "a response of preSend contains region and trace switch, and a position exactly if its code is SUCCESS", "always",
    lambda d: implies(_read(d) & (d.answer.code != "exception"), d.answer.ext & (d.answer.place == (d.answer.code == "SUCCESS"))),
)  # fmt: skip
IN_TIME = _of_dispatch(
    "AUX-69.early", "a broker that does not accept requests yet neither validates nor stores a send", "always",
    lambda d: implies(
        d.early & (d.request.kind == "send"),
        (d.stored == "nothing") & (d.request.step != "checked") & (d.answer.code != "refused"),
    ),
)  # fmt: skip
ALL_HOOKS = _of_dispatch(
    "AUX-69.hooks", "all hooks are called before a send, even if one throws; after a send, in releases that do so", "always",
    lambda d: implies((d.seen.stats != "none") | (d.stored != "nothing"), (d.seen.before == HOOKS) == d.hooks)
    & implies(d.seen.stats != "none", (d.seen.after == HOOKS) == d.after_hooks),
)  # fmt: skip
SILENT = _of_dispatch(
    "REA-155", "a request whose code has no send header ends without a response", "reachable",
    lambda d: (d.request.kind == "no header") & (d.request.step == "over") & (d.answer.written == 0) & ~d.request.one_way,
)  # fmt: skip
FRESH = _of_dispatch(
    "REA-156", "a topic is deleted between check and use, and the request gets a response", "reachable",
    lambda d: (d.request.step == "over") & ~d.topic & (d.answer.written > 0),
)  # fmt: skip
ITEMS = _of_dispatch("REA-157", "a batch is stored as one record per item", "reachable", lambda d: d.stored == "items")
UNHEARD = _of_dispatch(
    "REA-158", "a two-way send ends without a response", "reachable",
    lambda d: (d.request.step == "over") & (d.request.kind == "send") & ~d.request.one_way & (d.answer.written == 0),
)  # fmt: skip
COUNTED = _of_dispatch("REA-159", "hooks are called with SEND_FAILURE", "reachable", lambda d: d.seen.stats == "SEND_FAILURE")


def _exchanged() -> list[HistoryClaim]:
    e = vocabulary()["exchange"].row
    return [
        claim_about("INV-01", ONE.sentence, "exchange", one_answer(e.ended, e.oneWay, e.answers), 1, e.answers),
        claim_about("INV-02", NOT_TWO.sentence, "exchange", not_two_answers(e.answers), 1, e.answers),
        claim_about("INV-03", "a one-way request gets no response", "exchange", no_answer(e.oneWay, e.answers), 0, e.answers),
        claim_about("INV-04", "a response has the opaque of its request", "exchange", e.sameOpaque, True, e.sameOpaque),
        claim_about("INV-05", "the code -1 of an undecided response is never sent", "exchange", ~e.undecided, False, e.undecided),
    ]  # fmt: skip


HISTORY = _exchanged()

CLAIMS = [
    ONE, NOT_TWO, NONE, OVER, QUEUE, LOST, LATE, OPAQUE, MARKER, NAMED, NAMED_REFUSAL, IN_TIME, ALL_HOOKS, SILENT, FRESH, ITEMS, UNHEARD,
    COUNTED,
]  # fmt: skip

_SOUND: dict[str, Any] = {
    "condition": "no exception in a future, room for every completion",
    "given": {"future_throws": False, "capacity": 3},
}
_THROWN: dict[str, Any] = {"condition": "an exception in a future", "given": {"capacity": 3}}
_FULL: dict[str, Any] = {"condition": "an executor with one place", "given": {"future_throws": False}}
_SERVED: dict[str, Any] = {"condition": "every request is served", "given": {"refuses": False, "future_throws": False}}
_SERVED_THROWN: dict[str, Any] = {"condition": "every request is served, futures may throw", "given": {"refuses": False}}
_LATER = {"P40": "holds", "P45": "holds", "P49": "violated"}

HOOKED: dict[str, Any] = {"condition": "two send hooks"}
PLAIN: dict[str, Any] = {"condition": "no hooks", "given": {"hooks": False}}
_EARLY: dict[str, Any] = {"condition": "the broker's time has not come", "given": {"early": True}}

CASES: list[Case] = [
    *cases(ONE, "answers", "holds", **_SOUND),
    *cases(ONE, "answers", _LATER, **_THROWN, reason="HAZ-24: in P49 an exception in a future is not caught"),
    *second(ONE, "answers", 4, **_THROWN),
    *cases(ONE, "answers", _LATER, **_FULL, reason="HAZ-25: in P49 the completion needs its own place in the queue"),
    *cases(NOT_TWO, "answers", "holds", **_THROWN),
    *cases(NOT_TWO, "answers", "holds", **_FULL),
    *cases(NONE, "answers", "violated", **_FULL, reason="HAZ-26: refusals ignore the one-way flag"),
    *second(NONE, "answers", 1, **_FULL),
    *cases(NONE, "answers", "holds", **_SERVED),
    *cases(OVER, "answers", "holds", **_SERVED),
    *cases(OVER, "answers", "holds", **_SERVED_THROWN),
    *cases(QUEUE, "answers", "holds", **_FULL),
    *cases(LOST, "answers", {"P49": "holds"}, profiles=("P49",), **_FULL, reason="HAZ-25"),
    *cases(LATE, "answers", {"P49": "holds"}, profiles=("P49",), **_FULL),
    *[c for claim in (OPAQUE, MARKER, NAMED_REFUSAL, ALL_HOOKS) for c in cases(claim, "dispatch", "holds", **HOOKED)],
    *[c for claim in (OPAQUE, MARKER, NAMED_REFUSAL, ALL_HOOKS) for c in cases(claim, "dispatch", "holds", **PLAIN)],
    *cases(NAMED, "dispatch", "violated", **PLAIN, reason="HAZ-18: an exception is answered by a new response without extFields"),
    *cases(IN_TIME, "dispatch", "holds", **_EARLY),
    *[c for claim in (SILENT, FRESH, ITEMS, COUNTED) for c in cases(claim, "dispatch", "holds", **HOOKED)],
    *cases(UNHEARD, "dispatch", "holds", profiles=("P49",), **HOOKED, reason="HAZ-24"),
    *cases(
        UNHEARD, "dispatch", "violated", profiles=SEEDS[:2], **HOOKED, reason="the task itself answers with the exception of its processor"
    ),
]

_ONE, _NOT_TWO, _NONE, _OPAQUE, _ = HISTORY
_IN_FUTURE = (
    "HAZ-24: with asynchronous answers an exception after the put leaves the request unanswered; without, the task answers; 5.x refuses a "
    "request without a body before the put"
)
_NO_ROOM = "HAZ-25: with asynchronous answers a failure is answered by a separate task; without, by the task itself"
_UNSERVED = "HAZ-26: a code without a processor is answered even if one-way; recorded releases have a processor for all codes"
_REFUSED = "HAZ-26: a busy processor rejects even one-way requests with an answer; 5.1 and later check the flag before each answer"
_REPEATED = "ROCKETMQ-234: 4.1.0 answers a batch when it is stored, and again afterwards"

HISTORY_CASES: list[Case] = [
    *[case for claim in HISTORY for case in history_cases(claim, about.ANYTHING, "holds")],
    *history_cases(_ONE, about.THROWN, {**about.LATER_FAULTY, "P533": "holds"}, reason=_IN_FUTURE),
    *history_cases(_ONE, about.FULL, about.LATER_FAULTY, reason=_NO_ROOM),
    *history_cases(_NONE, about.UNKNOWN, {**dict.fromkeys(SEEDS, "violated"), "P494": "holds", "P533": "holds"}, reason=_UNSERVED),
    *history_cases(_NONE, about.BUSY, {**dict.fromkeys(SEEDS, "violated"), "P494": "violated", "P533": "holds"}, reason=_REFUSED),
    *[case for claim in (_ONE, _NOT_TWO) for case in history_cases(claim, about.BATCHED, "violated", ("P410",), reason=_REPEATED)],
    *[case for claim in (_NOT_TWO, _OPAQUE) for case in history_cases(claim, about.BUSY, "holds")],
]
