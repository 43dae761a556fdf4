"""Delays and transactions combined: half messages with a delay, and a retry of a transaction's message.

The model includes both models, which share two queues. Messages that a transaction puts into the schedule topic are the entries of the
delayed queue. Messages that are delivered to the half topic are copies that the check reads. A retry keeps TRAN_MSG from the committed
message, and has a delay level. The broker treats it as a transactional message with a delay, unless the release recognizes retries
(HAZ-47).
"""

from __future__ import annotations

from rocketproof_model.language import Body, Bool, Expr, ite
from rocketproof_model.language.composition import include

from .actors import HANDLER
from .delays import HALF, Delays
from .part import Part
from .transactions import Transactions

SHARED = {"log.scheduled": "delay_queue.length", "log.written": "delay_halves"}


class Meeting(Part):
    """Both models, with `checks` checks and up to `copies` copies in either queue. `delay` and `half` map a term of each to this model."""

    switches = (*Delays.switches, *Transactions.switches, "retries_are_ordinary")

    def __init__(self, name: str, *, checks: int = 1, copies: int = 3) -> None:
        super().__init__(name)
        m = self.model
        m.acting(
            "producer", "broker", "delivery", "check", "clock", client="producer", handler="broker", service="delivery", environment="clock"
        )
        self.delays = Delays("delays", entries=copies, sends=False)
        self.transactions = Transactions("transactions", checks=checks, copies=copies)
        self.delay = include(m, self.delays.model, "delay")
        self.half = include(m, self.transactions.model, "half", SHARED)
        self.retries_are_ordinary = m.constant("retries_are_ordinary", Bool, False, "a retry with TRAN_MSG and a delay is no half message")
        _retries(self)


def _retries(meeting: Meeting) -> None:
    d, t = meeting.delays, meeting.transactions

    @meeting.action(actor=HANDLER, rules="TRX-01 CL-02", e=d.Entry)
    def retry(a: Body, e: Expr) -> None:
        """A message that was committed before its check is sent to the retry topic, with TRAN_MSG and a delay level."""
        delay, half, log, length = meeting.delay, meeting.half, t.log, meeting.delay(d.queue.length)
        committed = half((t.half[0] != "open") & (t.message.decided == "commit"))
        a.guard("committed", committed, "the message's first copy is committed, so a consumer can get it")
        a.guard("once", ~half(t.message.delayed), "the message was not sent to the retry topic yet")
        a.guard("checked", half(log.looked) == half(log.written), "the check has processed its half message")
        a.guard("next place", e == length, "the entry is the schedule queue's next")
        a.set(half(t.message.delayed), True)
        a.set(half(log.asked), 0)
        a.set(delay(d.entry[e].asked), ite(meeting.retries_are_ordinary, 0, HALF))
        a.set(length, length + 1)
