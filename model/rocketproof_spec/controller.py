"""A 5.x broker set under a controller: elections, confirmed records, and the queue offset with which a new master continues.

The controller elects a master among the replicas in its SyncStateSet. Records that all of these have are confirmed (confirmOffset). Only
confirmed records are dispatched and acknowledged. All records belong to one queue and are counted, so a record's place in the log should
be its queue offset. A record is identified by its place and the epoch of its master. Four constants are known mistakes of releases.
Replicas that leave the SyncStateSet because they are slow are not modelled.
"""

from __future__ import annotations

from rocketproof_model.language import Body, Bool, Expr, Int, Maybe, SetOf, forall, implies, ite, minimum, single

from .actors import ENVIRONMENT, HANDLER, SERVICE
from .part import Part


class Controller(Part):
    """`replicas` of a broker, interchangeable if `symmetric`, with logs of up to `records` records and at most `epochs` elections.

    `confirmed`, `entries` and `offset` count records.
    """

    def __init__(self, name: str, *, replicas: int = 2, records: int = 2, epochs: int = 3, faults: int = 2, symmetric: bool = True) -> None:
        super().__init__(name)
        self.records, self.epochs = records, epochs
        m, count, epoch, budget = self.model, Int(0, records), Int(0, epochs), Int(0, faults)
        self.Replica = replica = m.index("Replica", [f"broker-a/{r}" for r in range(replicas)], symmetric=symmetric)
        self.Place = place = Int(0, records - 1)
        m.acting(replica, "controller", "client", service="controller", environment="controller")
        self.widens = m.constant("widens", Bool, True, "a record is confirmed only once a replica that is being added has it")
        self.counts_log = m.constant("counts_log", Bool, True, "a new master's next offset counts records that are not dispatched yet")
        self.keeps_offset = m.constant("keeps_offset", Bool, True, "a master that is elected again keeps its next offset")
        self.cuts_confirmed = m.constant("cuts_confirmed", Bool, True, "a restart limits the confirmed records to those in the log")
        self.waits = m.constant("waits", Bool, True, "a client is answered only once its record is confirmed")
        self.crash_budget = m.constant("crash_budget", budget, 0, "how many crashes of a process the run may have")
        self.power_budget = m.constant("power_budget", budget, 0, "how many losses of power the run may have")
        self.up = m.var("up", Bool, over=replica, init=True, sentence="whether the replica runs")
        self.log = m.var("log", epoch, over=(replica, place), init=0, sentence="the epoch of the record at a place, 0 for none")
        self.length = m.var("length", count, over=replica, init=0, sentence="how many records the log has")
        self.confirmed = m.var(
            "confirmed", count, over=replica, init=0, sentence="the position up to which records are confirmed, as the replica knows it"
        )
        self.entries = m.var("entries", count, over=replica, init=0, sentence="how many entries the consume queue has")
        self.offset = m.var("offset", count, over=replica, init=0, sentence="the queue offset of the master's next record")
        self.master = m.var("master", Maybe(replica), init=None, sentence="the elected master", part="controller")
        self.epoch = m.var("epoch", epoch, init=0, sentence="the master's epoch", part="controller")
        self.in_sync = m.var("in_sync", SetOf(replica), init=tuple(range(replicas)), sentence="the SyncStateSet", part="controller")
        self.asked = m.var("asked", Maybe(replica), init=None, sentence="the replica that the master has asked the controller to add")
        self.acknowledged = m.var(
            "acknowledged", epoch, over=place, init=0, sentence="the epoch of the record that was acknowledged, 0 for none", part="client"
        )
        self.odd = m.var("odd", Bool, init=False, sentence="whether a record has a queue offset that is not its place")
        self.crashes = m.var("crashes", budget, init=0, sentence="how many processes have ended")
        self.powers = m.var("powers", budget, init=0, sentence="how many losses of power there were")
        _master(self)
        _copies(self)
        _elections(self)
        _faults(self)

    def leads(self, r: Expr) -> Expr:
        return self.master.is_some & (self.master == r)

    def follows(self, r: Expr) -> Expr:
        """The replica's log is a prefix of the master's."""
        m = self.master.get
        return forall(self.Place, lambda k: (self.log[r, k] == 0) | (self.log[r, k] == self.log[m, k]))


def _require_master(c: Controller, a: Body, r: Expr) -> None:
    a.by(r)
    a.guard("master", c.leads(r), "the replica is the master")


def _master(c: Controller) -> None:
    @c.action(actor=HANDLER, rules="APP-03 APP-10", r=c.Replica)
    def append(a: Body, r: Expr) -> None:
        """The master appends a record, with the next queue offset."""
        _require_master(c, a, r)
        a.bound("records left", c.length[r] < c.records, "the scope's log has room")
        a.bound("offsets left", c.offset[r] < c.records, "the scope counts that far")
        a.set(c.odd, c.odd | (c.offset[r] != c.length[r]))
        a.set(c.log[r, minimum(c.length[r], c.records - 1)], c.epoch)
        a.set(c.length[r], c.length[r] + 1)
        a.set(c.offset[r], c.offset[r] + 1)

    @c.action(actor=SERVICE, fair="weak", r=c.Replica, upto=Int(1, c.records))
    def confirm(a: Body, r: Expr, upto: Expr) -> None:
        """A record is confirmed once all replicas in sync have it. A replica that is being added counts in some releases."""
        _require_master(c, a, r)

        def has(s: Expr) -> Expr:
            counts: Expr = c.in_sync.has(s) | (c.widens & (c.asked == s))
            return implies(counts, c.length[s] >= upto)

        a.guard("had by all", forall(c.Replica, has), "all replicas in sync have the records")
        a.guard("news", upto > c.confirmed[r], "the records were not confirmed before")
        a.set(c.confirmed[r], upto)

    @c.action(actor=SERVICE, rules="REC-04", fair="weak", r=c.Replica)
    def dispatch(a: Body, r: Expr) -> None:
        """The next confirmed record gets its entry in the consume queue."""
        a.by(r)
        a.guard("runs", c.up[r], "the replica runs")
        a.guard("confirmed", c.entries[r] < minimum(c.confirmed[r], c.length[r]), "the next record is confirmed and in the log")
        a.set(c.entries[r], c.entries[r] + 1)

    @c.action(actor=HANDLER, sends_to="client", rules="FLU-07 SEND-41", fair="weak", r=c.Replica, k=c.Place)
    def acknowledge(a: Body, r: Expr, k: Expr) -> None:
        """The master answers SUCCESS to the client of a record."""
        _require_master(c, a, r)
        a.guard("appended", c.log[r, k] == c.epoch, "the master has appended the record")
        a.guard("confirmed", ~c.waits | (k < c.confirmed[r]), "the record is confirmed, or the master does not wait for that")
        a.guard("not answered", c.acknowledged[k] != c.epoch, "the client has no answer yet")
        a.set(c.acknowledged[k], c.epoch)


def _copies(c: Controller) -> None:
    def slave(a: Body, r: Expr) -> None:
        a.by(r)
        a.guard("has a master", c.master.is_some, "there is a master")
        a.guard("slave", ~c.leads(r) & c.up[r], "the replica is not the master, and runs")

    @c.action(actor=SERVICE, rules="FLU-07", fair="weak", r=c.Replica)
    def cut(a: Body, r: Expr) -> None:
        """A slave whose log diverges from the master's truncates it at the first difference."""
        slave(a, r)
        a.guard("parts", ~c.follows(r), "its log is not a prefix of the master's")
        kept: Expr = c.length[r]
        for k in reversed(range(c.records)):
            kept = ite((c.log[r, k] != 0) & (c.log[r, k] != c.log[c.master.get, k]), k, kept)
        for k in range(c.records):
            a.set(c.log[r, k], 0, when=k >= kept)
        a.set(c.length[r], kept)
        a.set(c.entries[r], minimum(c.entries[r], kept))
        a.set(c.confirmed[r], minimum(c.confirmed[r], kept))

    @c.action(actor=SERVICE, rules="FLU-07", fair="weak", r=c.Replica, k=c.Place)
    def copy(a: Body, r: Expr, k: Expr) -> None:
        """A slave appends the master's next record, and updates the position up to which records are confirmed."""
        slave(a, r)
        a.guard("follows", c.follows(r), "its log is a prefix of the master's")
        a.guard("next", (k == c.length[r]) & (k < c.length[c.master.get]), "the record is the master's next record")
        a.set(c.log[r, k], c.log[c.master.get, k])
        a.set(c.length[r], k + 1)
        a.set(c.confirmed[r], minimum(k + 1, c.confirmed[c.master.get]))

    @c.action(actor=SERVICE, fair="weak", r=c.Replica)
    def ask(a: Body, r: Expr) -> None:
        """The master asks the controller to add a slave that has all confirmed records."""
        slave(a, r)
        a.guard("nothing asked", c.asked.is_none, "the master has no other request pending")
        a.guard("not in sync", ~c.in_sync.has(r), "the slave is not in the SyncStateSet")
        a.guard("caught up", c.follows(r) & (c.length[r] >= c.confirmed[c.master.get]), "the slave has all confirmed records")
        a.set(c.asked, r)


def _elections(c: Controller) -> None:
    @c.action(actor=SERVICE, fair="weak", r=c.Replica)
    def expand(a: Body, r: Expr) -> None:
        """The controller adds the slave to the SyncStateSet."""
        a.guard("asked for", c.asked.is_some & (c.asked == r), "the master has asked for it")
        a.update(c, in_sync=c.in_sync.including(r), asked=None)

    def becomes(a: Body, r: Expr, offset: Expr) -> None:
        a.bound("epochs left", c.epoch < c.epochs, "the scope allows another election")
        a.update(c, master=r, epoch=c.epoch + 1, in_sync=single(r), asked=None)
        a.set(c.offset[r], offset)

    @c.action(actor=SERVICE, rules="REC-03", fair="weak", r=c.Replica)
    def elect(a: Body, r: Expr) -> None:
        """A replica in sync becomes master. Its next queue offset counts its whole log, or only the dispatched records."""
        a.sends_to(r)
        a.guard("no master", c.master.is_none, "there is no master")
        a.guard("in sync", c.in_sync.has(r), "the replica is in the SyncStateSet")
        a.guard("runs", c.up[r], "the replica runs")
        becomes(a, r, ite(c.counts_log, c.length[r], c.entries[r]))

    @c.action(actor=SERVICE, rules="REC-03", weight=0.3, r=c.Replica)
    def elect_again(a: Body, r: Expr) -> None:
        """The running master is elected again. It keeps its next offset, or falls back to the dispatched records."""
        a.sends_to(r)
        a.guard("master", c.leads(r), "the replica is the master")
        becomes(a, r, ite(c.keeps_offset, c.offset[r], c.entries[r]))


def _faults(c: Controller) -> None:
    def ends(a: Body, r: Expr) -> None:
        """The process ends. If it was the master, there is no master until the next election, and its pending request is lost."""
        a.by(r)
        a.guard("runs", c.up[r], "the replica runs")
        a.set(c.up[r], False)
        a.set(c.offset[r], 0)
        a.set(c.master, None, when=c.leads(r))
        a.set(c.asked, None, when=c.leads(r) | (c.asked == r))

    @c.action(actor=ENVIRONMENT, rules="REC-02", weight=0.3, r=c.Replica)
    def crash(a: Body, r: Expr) -> None:
        """The process crashes. The log, the queue and the confirmed position in the checkpoint stay."""
        ends(a, r)
        a.bound("crashes left", c.crashes < c.crash_budget, "the scope allows another crash")
        a.set(c.crashes, c.crashes + 1)

    @c.action(actor=ENVIRONMENT, rules="REC-02", weight=0.3, r=c.Replica, kept=Int(0, c.records - 1))
    def power_loss(a: Body, r: Expr, kept: Expr) -> None:
        """The power fails: the log loses its records that were not flushed."""
        ends(a, r)
        a.bound("losses left", c.powers < c.power_budget, "the scope allows another loss of power")
        a.guard("less", kept < c.length[r], "at least one record is lost")
        a.set(c.powers, c.powers + 1)
        a.set(c.length[r], kept)
        for k in range(c.records):
            a.set(c.log[r, k], 0, when=k >= kept)

    @c.action(actor=ENVIRONMENT, rules="REC-02", r=c.Replica)
    def start(a: Body, r: Expr) -> None:
        """The replica restarts. Entries beyond the log are removed; so is the confirmed position beyond the log, except in some
        releases."""
        a.by(r)
        a.guard("down", ~c.up[r], "the replica does not run")
        a.set(c.up[r], True)
        a.set(c.entries[r], minimum(c.entries[r], c.length[r]))
        a.set(c.confirmed[r], ite(c.cuts_confirmed, minimum(c.confirmed[r], c.length[r]), c.confirmed[r]))

    @c.action(actor=SERVICE, fair="weak", r=c.Replica)
    def shrink(a: Body, r: Expr) -> None:
        """A slave that does not answer leaves the SyncStateSet."""
        a.guard("has a master", c.master.is_some, "there is a master")
        a.guard("down", c.in_sync.has(r) & ~c.up[r], "the replica is in the SyncStateSet and does not run")
        a.set(c.in_sync, c.in_sync.excluding(r))
