"""Where delays and transactions meet: half messages with a delay, and a transaction's message that is sent to be retried.

Both models are in it, and have two queues in common: what a transaction puts into the schedule topic are the entries of the delayed
queue, and what is delivered into the half topic are copies that the check looks at. A retry has TRAN_MSG as the committed message has
it, and a delay level: for the gate it is a transactional message with a delay, unless the release knows retries (HAZ-47).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from ..language import Body, Bool, Expr, Model, ite
from ..language.composition import include
from . import delays, transactions
from .actors import HANDLER
from .delays import HALF, Delays, DelaysScope
from .transactions import Transactions, TransactionsScope

SHARED = {"log.scheduled": "delay_queue.length", "log.written": "delay_halves"}


@dataclass(frozen=True, eq=False)
class Meeting:
    """The model, its two parts, and what a term of each is in it."""

    model: Model
    delays: Delays
    transactions: Transactions
    delay: Callable[[Expr], Expr]
    half: Callable[[Expr], Expr]
    switches: ClassVar[tuple[str, ...]] = (*Delays.switches, *Transactions.switches, "retries_are_ordinary")


def specify(name: str, checks: int = 1, copies: int = 3) -> Meeting:
    """The model with so many checks, and room for so many copies in either queue."""
    m = Model(f"specification/{name}")
    m.acting(
        "producer", "broker", "delivery", "check", "clock", client="producer", handler="broker", service="delivery", environment="clock"
    )
    d = delays.specify(DelaysScope("delays", entries=copies, sends=False))
    t = transactions.specify(TransactionsScope("transactions", checks, copies))
    meeting = Meeting(m, d, t, include(m, d.model, "delay"), include(m, t.model, "half", SHARED))
    ordinary = m.constant("retries_are_ordinary", Bool, False, "a retry with TRAN_MSG and a delay is no half message")

    @m.action(actor=HANDLER, rules="TRX-01 CL-02", e=d.Entry)
    def retry(a: Body, e: Expr) -> None:
        """The message that was committed before it was asked for is sent to the retry topic, with TRAN_MSG and a delay level."""
        delay, half, log, length = meeting.delay, meeting.half, t.log, meeting.delay(d.queue.length)
        committed = half((t.half[0] != "open") & (t.message.decided == "commit"))
        a.guard("committed", committed, "a consumer can have the message, by its first copy")
        a.guard("once", ~half(t.message.delayed), "it was not sent to be retried yet")
        a.guard("checked", half(log.looked) == half(log.written), "the check is through with its half message")
        a.guard("next place", e == length, "the entry is the schedule queue's next")
        a.set(half(t.message.delayed), True)
        a.set(half(log.asked), 0)
        a.set(delay(d.entry[e].asked), ite(ordinary, 0, HALF))
        a.set(length, length + 1)

    return meeting
