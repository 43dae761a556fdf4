"""Which offset of a queue belongs to a time: what a consumer is told that goes back to what was stored at some moment (request 29).

Later releases tell a bound; earlier ones halve the queue, and tell the first message of that time that they come upon, or the nearest one.
Every message has its entry, all entries are in one file, and no clock goes back; the messages of a batch have one time.
"""

from __future__ import annotations

from rocketproof_model.language import Body, Bool, Enum, Expr, Int, coerce, count, ite, maximum

from .actors import CLIENT, ENVIRONMENT, HANDLER
from .part import Part

Bounds = Enum("none", "lower", "both")
Bound = Enum("nothing", "lower", "upper")
BATCH = 3


class Times(Part):
    """A queue of at most so many `records`, stored within so many `moments` after the first."""

    switches = ("bounds_by_time",)

    def __init__(self, name: str, *, records: int = 4, moments: int = 3) -> None:
        super().__init__(name)
        self.most = records
        m, offset, time = self.model, Int(0, records), Int(0, moments)
        m.acting("client", "consumer", "broker", client="consumer", handler="broker", environment="broker")
        self.bounds_by_time = m.constant("bounds_by_time", Bounds, "none", "which bounds a search by time knows")
        self.past = m.constant("past", Bool, True, "only times that have passed are asked for")
        self.offsets = Int(0, records - 1)
        self.now = m.var("now", time, init=0, sentence="the broker's clock", part="broker")
        self.records = m.var("records", offset, init=0, sentence="how many records the queue has: its maximal offset", part="broker")
        self.stored = m.var("stored", time, over=self.offsets, init=0, sentence="when the record there was stored", part="broker")
        self.asked = m.var("asked", Bound, init="nothing", sentence="which bound the consumer asked for last", part="consumer")
        self.time = m.var("time", time, init=0, sentence="the time that it asked for", part="consumer")
        self.told = m.var("told", offset, init=0, sentence="the offset that it was told", part="consumer")
        _actions(self)


def _actions(t: Times) -> None:
    @t.action(actor=HANDLER, rules="CL-06 APP-10", messages=Int(1, BATCH))
    def append(a: Body, messages: Expr) -> None:
        """A message, or a batch, is stored: all of it at one time."""
        a.bound("records left", t.records + messages <= t.most, "the scope's queue has room")
        for offset in range(t.most):
            a.set(t.stored[offset], t.now, when=(t.records <= offset) & (t.records + messages > offset))
        a.set(t.records, t.records + messages)

    @t.action(actor=ENVIRONMENT)
    def tick(a: Body) -> None:
        """Time passes."""
        a.bound("moments left", t.now < t.now.type.hi, "the scope has another moment")
        a.set(t.now, t.now + 1)

    @t.action(actor=CLIENT, sends_to="broker", time=t.time.type, above=Bool)
    def look_up(a: Body, time: Expr, above: Expr) -> None:
        """A consumer asks for the offset of a time, by the bound `above` or by the lower one, which is meant where it says nothing."""
        a.bound("past", ~t.past | (time < t.now), "the condition lets that time be asked for")
        told = ite(
            t.bounds_by_time == "none",
            halved(t, time),
            ite(above & (t.bounds_by_time == "both"), maximum(within(t, time, True) - 1, 0), within(t, time, False)),
        )
        a.update(t, asked=ite(above, coerce("upper", Bound), "lower"), time=time, told=told)


def within(t: Times, time: Expr, also: bool) -> Expr:
    """How many records were stored before the time, or then `also`: as no clock goes back, what a search for a bound finds."""
    return count(t.offsets, lambda o: (o < t.records) & ((t.stored[o] <= time) if also else (t.stored[o] < time)))


def halved(t: Times, time: Expr) -> Expr:
    """The offset that halving comes upon: one stored at the time, else the nearer one of the two beside it, of two as near the
    earlier one. It is 0 for a queue without records."""
    found: Expr = coerce(0, t.told.type)
    for records in range(1, t.most + 1):
        found = ite(t.records == records, _halved(t, time, 0, records - 1, None, None), found)
    return found


def _halved(t: Times, time: Expr, low: int, high: int, earlier: int | None, later: int | None) -> Expr:
    """What is found from `low` to `high`, once the two offsets beside the time, if there are any, are known to be so."""
    if low > high:
        if earlier is None or later is None:
            return coerce(later if earlier is None else earlier, t.told.type)
        return ite(time - t.stored[earlier] <= t.stored[later] - time, coerce(earlier, t.told.type), later)
    middle = (low + high) // 2
    before, behind = _halved(t, time, low, middle - 1, earlier, middle), _halved(t, time, middle + 1, high, middle, later)
    return ite(t.stored[middle] == time, coerce(middle, t.told.type), ite(t.stored[middle] > time, before, behind))
