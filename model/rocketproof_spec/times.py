"""The offset that belongs to a time: the answer to a consumer that seeks to a time (request 29).

Later releases return a bound. Earlier ones use binary search, and return the first message of that time that the search meets, or the
nearest one. Every message has its entry, all entries are in one file, and no clock is set back. The messages of a batch have the same time.
"""

from __future__ import annotations

from rocketproof_model.language import Body, Bool, Enum, Expr, Int, coerce, count, ite, maximum

from .actors import CLIENT, ENVIRONMENT, HANDLER
from .part import Part

Bounds = Enum("none", "lower", "both")
Bound = Enum("nothing", "lower", "upper")
BATCH = 3


class Times(Part):
    """A queue of at most `records` records, stored within `moments` moments after the first."""

    switches = ("bounds_by_time",)

    def __init__(self, name: str, *, records: int = 4, moments: int = 3) -> None:
        super().__init__(name)
        self.most = records
        m, offset, time = self.model, Int(0, records), Int(0, moments)
        m.acting("client", "consumer", "broker", client="consumer", handler="broker", environment="broker")
        self.bounds_by_time = m.constant("bounds_by_time", Bounds, "none", "which bounds a search by time supports")
        self.past = m.constant("past", Bool, True, "only times in the past are queried")
        self.offsets = Int(0, records - 1)
        self.now = m.var("now", time, init=0, sentence="the broker's clock", part="broker")
        self.records = m.var("records", offset, init=0, sentence="how many records the queue has: its maximum offset", part="broker")
        self.stored = m.var("stored", time, over=self.offsets, init=0, sentence="when the record was stored", part="broker")
        self.asked = m.var("asked", Bound, init="nothing", sentence="the bound in the consumer's last query", part="consumer")
        self.time = m.var("time", time, init=0, sentence="the time in the consumer's last query", part="consumer")
        self.told = m.var("told", offset, init=0, sentence="the offset in the answer", part="consumer")
        _actions(self)


def _actions(t: Times) -> None:
    @t.action(actor=HANDLER, rules="CL-06 APP-10", messages=Int(1, BATCH))
    def append(a: Body, messages: Expr) -> None:
        """A message or a batch is stored, all at one time."""
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
        """A consumer queries the offset of a time, by the bound `above` or by the lower bound, which is the default."""
        a.bound("past", ~t.past | (time < t.now), "the condition allows a query of that time")
        offset = ite(
            t.bounds_by_time == "none",
            binary_search(t, time),
            ite(above & (t.bounds_by_time == "both"), maximum(within(t, time, True) - 1, 0), within(t, time, False)),
        )
        a.update(t, asked=ite(above, coerce("upper", Bound), "lower"), time=time, told=offset)


def within(t: Times, time: Expr, inclusive: bool) -> Expr:
    """Return the number of records stored before the time, or, if `inclusive`, at it. A search for a bound returns this number."""
    return count(t.offsets, lambda o: (o < t.records) & ((t.stored[o] <= time) if inclusive else (t.stored[o] < time)))


def binary_search(t: Times, time: Expr) -> Expr:
    """Return the offset that a binary search meets: a record with this time, or else the nearer neighbour, on a tie the earlier one.

    It is 0 for a queue without records.
    """
    offset: Expr = coerce(0, t.told.type)
    for records in range(1, t.most + 1):
        offset = ite(t.records == records, _search(t, time, 0, records - 1, None, None), offset)
    return offset


def _search(t: Times, time: Expr, low: int, high: int, earlier: int | None, later: int | None) -> Expr:
    """Search from `low` to `high`. `earlier` and `later` are the neighbours of the time that the search has met so far, if any."""
    if low > high:
        if earlier is None or later is None:
            return coerce(later if earlier is None else earlier, t.told.type)
        return ite(time - t.stored[earlier] <= t.stored[later] - time, coerce(earlier, t.told.type), later)
    middle = (low + high) // 2
    before, after = _search(t, time, low, middle - 1, earlier, middle), _search(t, time, middle + 1, high, middle, later)
    return ite(t.stored[middle] == time, coerce(middle, t.told.type), ite(t.stored[middle] > time, before, after))
