"""The log and a consume queue over ends of the process and losses of power, and what the next start makes of them (REC-02 to REC-04).

One queue whose records are all counted, so that a record's place in the log is the queue offset that it should have. A
flush forces the log or the queue to the device; a crash leaves what was written, a loss of power what was forced and
perhaps more, with a record torn at the end.
"""

from __future__ import annotations

from rocketproof_model.language import Body, Bool, Expr, Int, ite, maximum, minimum

from .actors import ENVIRONMENT, HANDLER, SERVICE
from .part import Part


class Recovery(Part):
    """A log of at most so many `records`, and up to so many `faults`: ends of the process and losses of power, each.

    All are counts of records. Those before `turn` have their answers, or nobody waits for them any more."""

    def __init__(self, name: str, *, records: int = 4, faults: int = 2) -> None:
        super().__init__(name)
        self.records = records
        m, count, budget = self.model, Int(0, records), Int(0, faults)
        m.acting("client", "broker", "disk", handler="broker", service="broker", environment="broker")
        self.sync = m.constant("sync", Bool, True, "the flush is synchronous")
        self.rebuilds = m.constant(
            "rebuilds", Bool, True, "entries that are missing at a start are written before the next offset is known"
        )
        self.crash_budget = m.constant("crash_budget", budget, 0, "how many crashes the run may have")
        self.power_budget = m.constant("power_budget", budget, 0, "how many losses of power the run may have")
        self.up = m.var("up", Bool, init=True, sentence="whether the broker runs", part="broker")
        self.written = m.var("written", count, init=0, sentence="how many records the log has", part="disk")
        self.flushed = m.var("flushed", count, init=0, sentence="how many records of the log are on the device", part="disk")
        self.torn = m.var("torn", Bool, init=False, sentence="whether a part of a further record is at the log's end", part="disk")
        self.entries = m.var("entries", count, init=0, sentence="how many entries the consume queue has", part="disk")
        self.forced = m.var("forced", count, init=0, sentence="how many entries of the consume queue are on the device", part="disk")
        self.acknowledged = m.var("acknowledged", count, init=0, sentence="up to which record clients were answered PUT_OK", part="client")
        self.turn = m.var("turn", count, init=0, sentence="the record whose put is answered next", part="broker")
        self.offset = m.var("offset", count, init=0, sentence="the queue offset of the next record", part="broker")
        self.odd = m.var("odd", Bool, init=False, sentence="whether a record has a queue offset that is not its place")
        self.crashes = m.var("crashes", budget, init=0, sentence="how many crashes there were")
        self.powers = m.var("powers", budget, init=0, sentence="how many losses of power there were")
        _running(self)
        _faults(self)
        _start(self)


def _runs(r: Recovery, a: Body) -> None:
    a.guard("broker runs", r.up, "the broker runs")


def _running(r: Recovery) -> None:
    @r.action(actor=HANDLER, rules="APP-03 APP-10")
    def append(a: Body) -> None:
        """A record is appended with the next queue offset."""
        _runs(r, a)
        a.bound("records left", r.written < r.records, "the scope's log has room")
        a.bound("offsets left", r.offset < r.records, "the scope counts that far")
        a.update(r, odd=r.odd | (r.offset != r.written), written=r.written + 1, offset=r.offset + 1)

    @r.action(actor=HANDLER, sends_to="client", rules="FLU-02 FLU-04", fair="weak")
    def acknowledge(a: Body) -> None:
        """The next record's put is answered PUT_OK: with synchronous flush only once it is on the device."""
        _runs(r, a)
        a.guard("not answered", r.turn < r.written, "a record's put waits for its answer")
        a.guard("flushed", ~r.sync | (r.turn < r.flushed), "the flush is asynchronous, or the record is on the device")
        a.update(r, turn=r.turn + 1, acknowledged=maximum(r.acknowledged, r.turn + 1))

    @r.action(actor=SERVICE, rules="FLU-03 FLU-05", fair="weak")
    def flush(a: Body) -> None:
        """The log is forced to the device."""
        _runs(r, a)
        a.guard("unflushed", r.flushed < r.written, "something is written and not flushed")
        a.set(r.flushed, r.written)

    @r.action(actor=SERVICE, rules="REC-04", fair="weak")
    def dispatch(a: Body) -> None:
        """The dispatcher writes the next entry of the consume queue."""
        _runs(r, a)
        a.guard("behind", r.entries < r.written, "a record has no consume queue entry yet")
        a.set(r.entries, r.entries + 1)

    @r.action(actor=SERVICE, rules="FLU-05", fair="weak")
    def flush_queue(a: Body) -> None:
        """The consume queue is forced to the device."""
        _runs(r, a)
        a.guard("unflushed", r.forced < r.entries, "an entry is written and not flushed")
        a.set(r.forced, r.entries)


def _faults(r: Recovery) -> None:
    def ends(a: Body) -> None:
        """Whoever waited for an answer has none, and the memory is gone."""
        _runs(r, a)
        a.update(r, up=False, turn=0, offset=0)

    @r.action(actor=ENVIRONMENT, rules="REC-02", weight=0.3)
    def crash(a: Body) -> None:
        """The process ends: what was written is in the files."""
        ends(a)
        a.bound("crashes left", r.crashes < r.crash_budget, "the scope allows another crash")
        a.set(r.crashes, r.crashes + 1)

    @r.action(actor=ENVIRONMENT, rules="REC-02", weight=0.3, records=Int(0, r.records), entries=Int(0, r.records), torn=Bool)
    def power_loss(a: Body, records: Expr, entries: Expr, torn: Expr) -> None:
        """The power fails: what was forced is there, of the rest some from the front, and perhaps a part of a record."""
        ends(a)
        a.bound("losses left", r.powers < r.power_budget, "the scope allows another loss of power")
        a.guard("records", (r.flushed <= records) & (records <= r.written), "the log has what was forced, and no more than was written")
        a.guard("entries", (r.forced <= entries) & (entries <= r.entries), "the queue has what was forced, and no more than was written")
        a.guard("torn", ~torn | (records < r.written), "a record that is not whole is torn")
        a.update(r, powers=r.powers + 1, written=records, entries=entries, torn=torn)


def _start(r: Recovery) -> None:
    @r.action(actor=ENVIRONMENT, rules="REC-02 REC-03 REC-04", fair="weak")
    def start(a: Body) -> None:
        """What is not whole is cut off the log, entries beyond it off the queue, and the next offset is the queue's length: before
        that the dispatcher has written the entries that were missing, or it has not."""
        a.guard("broker down", ~r.up, "the broker does not run")
        kept = minimum(r.entries, r.written)
        entries = ite(r.rebuilds, r.written, kept)
        a.update(r, up=True, torn=False, turn=r.written, flushed=r.written, forced=minimum(r.forced, kept), entries=entries, offset=entries)
