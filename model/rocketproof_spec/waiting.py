"""Waiting for the broker lock, in whole seconds: the effect of a slow disk on the creation of other topics (HAZ-08, HAZ-09).

Each request creates a different topic, so it would succeed alone. The lock is held for the duration of one persist, and then goes to a
waiting request. A request that has waited 3 s must give up before more time passes.
"""

from __future__ import annotations

from rocketproof_model.language import Body, Bool, Enum, Expr, Field, Int, Record, Row, all_of, coerce, exists, forall, ite, minimum

from .actors import CLIENT, ENVIRONMENT, HANDLER
from .part import Part

LOCK_TIMEOUT = 3
"""Seconds that a request waits for the broker lock (TCM-10, TCM-21)."""

Step = Enum("new", "waits", "holds", "created", "missing")


class WaitingRequests(Part):
    """`requests` requests, and a persist that takes up to `slowest` seconds."""

    def __init__(self, name: str, *, requests: int = 3, slowest: int = 4) -> None:
        super().__init__(name)
        self.slowest = slowest
        m = self.model
        self.Request = m.index("Request", [f"request {r}" for r in range(requests)])
        m.acting(self.Request, "clock", environment="clock")
        self.slow = m.constant("slow", Int(0, slowest), slowest, "the longest persist, in seconds")
        self.retries = m.constant("retries", Bool, True, "there are retry topics")
        job = Record(
            step=Field(Step, "new", "its state"),
            retry=Field(Bool, False, "whether its topic is a retry topic"),
            second=Field(Bool, False, "whether it waits for the second time"),
            now=Field(Int(0, LOCK_TIMEOUT), 0, "how many seconds it has waited this time"),
            waited=Field(Int(0, 2 * LOCK_TIMEOUT + 1), 0, "how many seconds it has waited in total"),
        )
        self.job = m.var("job", job, over=self.Request, sentence="the request")
        self.held = m.var("held", Int(0, slowest), init=0, sentence="how many seconds the lock has been held")
        _locking(self)
        _time(self)


def _lock_is_free(w: WaitingRequests) -> Expr:
    return forall(w.Request, lambda r: w.job[r].step != "holds")


def _no_request_waits(w: WaitingRequests) -> Expr:
    return forall(w.Request, lambda r: w.job[r].step != "waits")


def _locking(w: WaitingRequests) -> None:
    @w.action(actor=CLIENT, rules="TCM-10 TCM-21", r=w.Request, retry=Bool)
    def arrive(a: Body, r: Expr, retry: Expr) -> None:
        """A first message to a new topic requests the lock, and gets it if it is free."""
        row = w.job[r]
        a.guard("new", row.step == "new", "the request has not arrived yet")
        a.guard("retry allowed", ~retry | w.retries, "the condition allows retry topics")
        a.update(row, step=ite(_lock_is_free(w), coerce("holds", Step), "waits"), retry=retry)

    @w.action(actor=HANDLER, rules="TCM-16 TCM-17", fair="weak", r=w.Request, heir=w.Request)
    def release(a: Body, r: Expr, heir: Expr) -> None:
        """The topic is created and written. The lock goes to a waiting request, or becomes free."""
        a.sends_to(heir)
        a.guard("holds", w.job[r].step == "holds", "the request holds the lock")
        waits = w.job[heir].step == "waits"
        a.guard("heir", waits | ((heir == r) & _no_request_waits(w)), "the next holder waits, or no request does")
        a.set(w.held, 0)
        for x in w.Request:
            row = w.job[x]
            a.set(row.step, ite(x == r, coerce("created", Step), ite(x == heir, coerce("holds", Step), row.step)))
            a.set(row.now, 0, when=x == heir)

    @w.action(actor=HANDLER, rules="TCM-10 TCM-21 CHK-08 CHK-09", fair="weak", r=w.Request)
    def give_up(a: Body, r: Expr) -> None:
        """The wait times out: TOPIC_NOT_EXIST, or for a retry topic a second wait."""
        row = w.job[r]
        a.guard("waits", row.step == "waits", "the request waits for the lock")
        a.guard("time is up", row.now >= LOCK_TIMEOUT, "the request has waited 3 s")
        again = row.retry & ~row.second
        a.set(row.step, ite(again, coerce("waits", Step), "missing"))
        a.update(row, second=again | row.second, now=0)


def _time(w: WaitingRequests) -> None:
    @w.action(actor=ENVIRONMENT, rules="TCM-10", fair="weak")
    def second(a: Body) -> None:
        """A second passes."""
        a.guard("somebody waits or holds", exists(w.Request, lambda r: _is_pending(w.job[r])), "a request is pending")
        patient = forall(w.Request, lambda r: (w.job[r].step != "waits") | (w.job[r].now < LOCK_TIMEOUT))
        a.guard("nobody has to give up", patient, "no request has waited for the whole timeout")
        a.guard("persist goes on", w.held < w.slow, "the holder's persist may take longer")
        most = 2 * LOCK_TIMEOUT + 1
        a.set(w.held, minimum(w.held + 1, w.slowest))
        for r in w.Request:
            row = w.job[r]
            a.update(row, when=row.step == "waits", now=minimum(row.now + 1, LOCK_TIMEOUT), waited=minimum(row.waited + 1, most))


def _is_pending(row: Row) -> Expr:
    return (row.step == "waits") | (row.step == "holds")


def all_over(w: WaitingRequests) -> Expr:
    """Whether no request is pending."""
    return all_of(~_is_pending(w.job[r]) for r in w.Request)
