"""A consumer's progress through a queue: its pulls, the offset that it commits, and the progress that a crash or power loss undoes.

All values count the queue's records. One message is `marked`, as an example of any message. The model assumes that a written offset
file is on the device; `persistence` models that file. It also assumes that the log that a restart has read is on the device; see `device`.
"""

from __future__ import annotations

from rocketproof_model.language import Body, Bool, Expr, Int, ite, maximum

from .actors import ADMINISTRATOR, CLIENT, ENVIRONMENT, HANDLER, SERVICE
from .part import Part


class ConsumerProgress(Part):
    """A queue of at most `records` records, with up to `faults` crashes or power losses."""

    switches = ("dispatches_flushed",)

    def __init__(self, name: str, *, records: int = 2, faults: int = 2) -> None:
        super().__init__(name)
        self.records = records
        m, count, budget = self.model, Int(0, records), Int(0, faults)
        m.acting(
            "consumer",
            "broker",
            "disk",
            client="consumer",
            handler="broker",
            service="broker",
            environment="broker",
            administrator="broker",
        )
        self.dispatches_flushed = m.constant(
            "dispatches_flushed", Bool, False, "with synchronous flush only flushed records are dispatched"
        )
        self.sync = m.constant("sync", Bool, True, "the flush is synchronous")
        self.crash_budget = m.constant("crash_budget", budget, 0, "the number of faults after which the broker no longer crashes")
        self.power_budget = m.constant("power_budget", budget, 0, "the number of faults after which the power no longer fails")
        self.stop_budget = m.constant("stop_budget", budget, 0, "the number of faults after which the consumer no longer stops")
        self.resets = m.constant("resets", Bool, False, "an administrator may set the offset")
        self.written = m.var("written", count, init=0, sentence="how many records the log has", part="disk")
        self.flushed = m.var("flushed", count, init=0, sentence="how many of them are on the device", part="disk")
        self.entries = m.var("entries", count, init=0, sentence="how many entries the consume queue has: its maximum offset", part="broker")
        self.committed = m.var(
            "committed", count, init=0, sentence="the group's offset in the broker's memory; 0 also if there is none", part="broker"
        )
        self.saved = m.var("saved", count, init=0, sentence="the group's offset in the broker's file", part="disk")
        self.running = m.var("running", Bool, init=False, sentence="whether the consumer runs", part="consumer")
        self.place = m.var("place", count, init=0, sentence="the offset that it pulls from next", part="consumer")
        self.delivered = m.var("delivered", count, init=0, sentence="the last record that it received", part="consumer")
        self.marked = m.var("marked", count, init=0, sentence="the record of the marked message, 0 for none")
        self.got = m.var("got", Bool, init=False, sentence="whether the consumer received the marked message", part="consumer")
        self.moved = m.var(
            "moved", Bool, init=False, sentence="whether the offset was set, and no consumer has queried it since", part="broker"
        )
        self.faults = m.var("faults", budget, init=0, sentence="how many crashes and power losses there were")
        _broker(self)
        _consumer(self)
        _faults(self)


def _require_consumer(p: ConsumerProgress, a: Body) -> None:
    a.sends_to("broker")
    a.guard("consumer runs", p.running, "the consumer runs")


def _broker(p: ConsumerProgress) -> None:
    @p.action(actor=HANDLER, rules="APP-03 APP-10", marks=Bool)
    def append(a: Body, marks: Expr) -> None:
        """A message is stored. It may be the marked message."""
        a.bound("records left", p.written < p.records, "the scope's log has room")
        a.guard("mark", ~marks | (p.marked == 0), "no other message is marked")
        a.set(p.written, p.written + 1)
        a.set(p.marked, p.written + 1, when=marks)

    @p.action(actor=SERVICE, rules="FLU-03 FLU-05", fair="weak")
    def flush(a: Body) -> None:
        """The log is forced to the device."""
        a.guard("unflushed", p.flushed < p.written, "a record is written and not flushed")
        a.set(p.flushed, p.written)

    @p.action(actor=SERVICE, rules="REC-04", fair="weak")
    def dispatch(a: Body) -> None:
        """The next record gets its entry and becomes readable. Up to 5.2 this can happen before it is flushed."""
        end = ite(p.dispatches_flushed & p.sync, p.flushed, p.written)
        a.guard("behind", p.entries < end, "a record that may be dispatched has no entry yet")
        a.set(p.entries, p.entries + 1)

    @p.action(actor=SERVICE, rules="PER-01", fair="weak")
    def persist(a: Body) -> None:
        """Every 5 s the offsets are written to their file."""
        a.guard("news", p.saved != p.committed, "the file has another offset")
        a.set(p.saved, p.committed)

    @p.action(actor=ADMINISTRATOR, offset=p.committed.type)
    def reset(a: Body, offset: Expr) -> None:
        """An administrator sets the group's offset (request 15), independent of the queue's content and of running consumers."""
        a.bound("allowed", p.resets & ~p.moved, "the condition allows one change of the offset before a consumer queries it")
        a.bound("another", offset != p.committed, "the offset changes")
        a.update(p, committed=offset, moved=True)


def _consumer(p: ConsumerProgress) -> None:
    @p.action(actor=CLIENT, sends_to="broker", fair="weak")
    def begin(a: Body) -> None:
        """The consumer starts at its group's offset (request 14)."""
        a.guard("consumer stopped", ~p.running, "the consumer does not run")
        a.update(p, running=True, place=p.committed, moved=False)

    @p.action(actor=CLIENT, rules="REC-01", fair="weak")
    def pull(a: Body) -> None:
        """The consumer pulls the next record (request 11), which the broker reads at the position in its entry."""
        _require_consumer(p, a)
        a.guard("found", p.place < p.entries, "the queue has an entry at the offset")
        a.update(p, place=p.place + 1, delivered=maximum(p.delivered, p.place + 1), got=p.got | (p.marked == p.place + 1))

    @p.action(actor=CLIENT, fair="weak")
    def go_back(a: Body) -> None:
        """The consumer pulls beyond the queue's end. It receives the end (PULL_OFFSET_MOVED), and continues and commits there."""
        _require_consumer(p, a)
        a.guard("beyond", p.place > p.entries, "the queue ends before the offset")
        a.update(p, place=p.entries, committed=p.entries)

    @p.action(actor=CLIENT, fair="weak")
    def commit(a: Body) -> None:
        """The consumer commits its offset (request 15). The last commit counts, even if it is smaller."""
        _require_consumer(p, a)
        a.guard("news", p.committed != p.place, "the consumer has not committed its offset")
        a.set(p.committed, p.place)

    @p.action(actor=ENVIRONMENT, part="consumer", weight=0.3)
    def stop(a: Body) -> None:
        """The consumer's process ends before it commits."""
        a.guard("consumer runs", p.running, "the consumer runs")
        a.bound("faults left", p.faults < p.stop_budget, "the condition allows another fault")
        a.update(p, faults=p.faults + 1, running=False, place=0)


def _faults(p: ConsumerProgress) -> None:
    def ends(a: Body, left: Expr, budget: Expr) -> None:
        """Keep only the offsets in the file. The restart takes the remaining log as flushed, and dispatches it. The consumer keeps
        running."""
        a.bound("faults left", p.faults < budget, "the condition allows another fault")
        a.set(p.faults, p.faults + 1)
        for count in (p.written, p.flushed, p.entries):
            a.set(count, left)
        a.update(p, committed=p.saved, moved=False)

    @p.action(actor=ENVIRONMENT, rules="REC-02 REC-04", weight=0.3)
    def crash(a: Body) -> None:
        """The broker crashes and restarts: the log has all written records."""
        ends(a, p.written, p.crash_budget)

    @p.action(actor=ENVIRONMENT, rules="REC-02 REC-04", weight=0.3, kept=p.written.type)
    def power_loss(a: Body, kept: Expr) -> None:
        """The power fails and the broker restarts: the log has all flushed records, and perhaps more."""
        a.guard("kept", (p.flushed <= kept) & (kept <= p.written), "all flushed records are left, and at most the written ones")
        ends(a, kept, p.power_budget)
        a.update(p, when=p.marked > kept, marked=0, got=False)
