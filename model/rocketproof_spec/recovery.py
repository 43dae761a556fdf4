"""The log and a consume queue over crashes and power losses, and their recovery at the next start (REC-02 to REC-04).

All records of the queue are counted, so a record's place in the log should be its queue offset. A flush forces the log or the queue to
the device. A crash keeps all written data. A power loss keeps all forced data and perhaps more, with a torn record at the end.
"""

from __future__ import annotations

from rocketproof_model.language import Body, Bool, Expr, Int, ite, maximum, minimum

from .actors import ENVIRONMENT, HANDLER, SERVICE
from .part import Part


class Recovery(Part):
    """A log of at most `records` records, with up to `faults` crashes and up to `faults` power losses.

    All values count records. Puts before `turn` are answered, or no longer wait.
    """

    def __init__(self, name: str, *, records: int = 4, faults: int = 2) -> None:
        super().__init__(name)
        self.records = records
        m, count, budget = self.model, Int(0, records), Int(0, faults)
        m.acting("client", "broker", "disk", handler="broker", service="broker", environment="broker")
        self.sync = m.constant("sync", Bool, True, "the flush is synchronous")
        self.rebuilds = m.constant("rebuilds", Bool, True, "a restart writes missing entries before it computes the next offset")
        self.crash_budget = m.constant("crash_budget", budget, 0, "how many crashes the run may have")
        self.power_budget = m.constant("power_budget", budget, 0, "how many losses of power the run may have")
        self.up = m.var("up", Bool, init=True, sentence="whether the broker runs", part="broker")
        self.written = m.var("written", count, init=0, sentence="how many records the log has", part="disk")
        self.flushed = m.var("flushed", count, init=0, sentence="how many records of the log are on the device", part="disk")
        self.torn = m.var("torn", Bool, init=False, sentence="whether the log ends with a part of another record", part="disk")
        self.entries = m.var("entries", count, init=0, sentence="how many entries the consume queue has", part="disk")
        self.forced = m.var("forced", count, init=0, sentence="how many entries of the consume queue are on the device", part="disk")
        self.acknowledged = m.var("acknowledged", count, init=0, sentence="the last record whose put was answered PUT_OK", part="client")
        self.turn = m.var("turn", count, init=0, sentence="the record whose put is answered next", part="broker")
        self.offset = m.var("offset", count, init=0, sentence="the queue offset of the next record", part="broker")
        self.odd = m.var("odd", Bool, init=False, sentence="whether a record has a queue offset that is not its place")
        self.crashes = m.var("crashes", budget, init=0, sentence="how many crashes there were")
        self.powers = m.var("powers", budget, init=0, sentence="how many losses of power there were")
        _running(self)
        _faults(self)
        _start(self)


def _require_running(r: Recovery, a: Body) -> None:
    a.guard("broker runs", r.up, "the broker runs")


def _running(r: Recovery) -> None:
    @r.action(actor=HANDLER, rules="APP-03 APP-10")
    def append(a: Body) -> None:
        """A record is appended with the next queue offset."""
        _require_running(r, a)
        a.bound("records left", r.written < r.records, "the scope's log has room")
        a.bound("offsets left", r.offset < r.records, "the scope counts that far")
        a.update(r, odd=r.odd | (r.offset != r.written), written=r.written + 1, offset=r.offset + 1)

    @r.action(actor=HANDLER, sends_to="client", rules="FLU-02 FLU-04", fair="weak")
    def acknowledge(a: Body) -> None:
        """The next record's put is answered PUT_OK. With synchronous flush this requires that the record is on the device."""
        _require_running(r, a)
        a.guard("not answered", r.turn < r.written, "a record's put waits for its answer")
        a.guard("flushed", ~r.sync | (r.turn < r.flushed), "the flush is asynchronous, or the record is on the device")
        a.update(r, turn=r.turn + 1, acknowledged=maximum(r.acknowledged, r.turn + 1))

    @r.action(actor=SERVICE, rules="FLU-03 FLU-05", fair="weak")
    def flush(a: Body) -> None:
        """The log is forced to the device."""
        _require_running(r, a)
        a.guard("unflushed", r.flushed < r.written, "a record is written and not flushed")
        a.set(r.flushed, r.written)

    @r.action(actor=SERVICE, rules="REC-04", fair="weak")
    def dispatch(a: Body) -> None:
        """The dispatcher writes the next entry of the consume queue."""
        _require_running(r, a)
        a.guard("behind", r.entries < r.written, "a record has no consume queue entry yet")
        a.set(r.entries, r.entries + 1)

    @r.action(actor=SERVICE, rules="FLU-05", fair="weak")
    def flush_queue(a: Body) -> None:
        """The consume queue is forced to the device."""
        _require_running(r, a)
        a.guard("unflushed", r.forced < r.entries, "an entry is written and not flushed")
        a.set(r.forced, r.entries)


def _faults(r: Recovery) -> None:
    def ends(a: Body) -> None:
        """Lose the memory and the waiting puts."""
        _require_running(r, a)
        a.update(r, up=False, turn=0, offset=0)

    @r.action(actor=ENVIRONMENT, rules="REC-02", weight=0.3)
    def crash(a: Body) -> None:
        """The process crashes: all written data is in the files."""
        ends(a)
        a.bound("crashes left", r.crashes < r.crash_budget, "the scope allows another crash")
        a.set(r.crashes, r.crashes + 1)

    @r.action(actor=ENVIRONMENT, rules="REC-02", weight=0.3, records=Int(0, r.records), entries=Int(0, r.records), torn=Bool)
    def power_loss(a: Body, records: Expr, entries: Expr, torn: Expr) -> None:
        """The power fails: forced data stays, and so do a prefix of the other data and perhaps a part of a record."""
        ends(a)
        a.bound("losses left", r.powers < r.power_budget, "the scope allows another loss of power")
        a.guard("records", (r.flushed <= records) & (records <= r.written), "the log has all forced records, and at most the written ones")
        a.guard("entries", (r.forced <= entries) & (entries <= r.entries), "the queue has all forced entries, and at most the written ones")
        a.guard("torn", ~torn | (records < r.written), "a torn record is one that was written but is lost")
        a.update(r, powers=r.powers + 1, written=records, entries=entries, torn=torn)


def _start(r: Recovery) -> None:
    @r.action(actor=ENVIRONMENT, rules="REC-02 REC-03 REC-04", fair="weak")
    def start(a: Body) -> None:
        """The start truncates the log at its last whole record and the queue at the log's end. The next offset is the queue's length, taken
        after or before the dispatcher writes the missing entries."""
        a.guard("broker down", ~r.up, "the broker does not run")
        remaining = minimum(r.entries, r.written)
        entries = ite(r.rebuilds, r.written, remaining)
        a.update(
            r, up=True, torn=False, turn=r.written, flushed=r.written, forced=minimum(r.forced, remaining), entries=entries, offset=entries
        )
