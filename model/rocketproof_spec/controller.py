"""A broker set of 5.x under a controller: who may be master, what is confirmed, and which queue offset a new master goes on with.

The controller elects a master among the replicas that it has down as in sync (SyncStateSet). What all of these have is confirmed
(confirmOffset), and only confirmed records are dispatched and acknowledged. All records are of one queue and counted, so that a
record's place in the log is the queue offset that it should have; a record is known by its place and the epoch of its master. Four
constants are mistakes that releases have made. Replicas that leave the SyncStateSet because they are slow are left out.
"""

from __future__ import annotations

from rocketproof_model.language import Body, Bool, Expr, Int, Maybe, SetOf, forall, implies, ite, minimum, single

from .actors import ENVIRONMENT, HANDLER, SERVICE
from .part import Part


class Controller(Part):
    """So many `replicas` of a broker, interchangeable if `symmetric`; logs of up to so many `records`; at most so many `epochs`: elections.

    `confirmed`, `entries` and `offset` count records."""

    def __init__(self, name: str, *, replicas: int = 2, records: int = 2, epochs: int = 3, faults: int = 2, symmetric: bool = True) -> None:
        super().__init__(name)
        self.records, self.epochs = records, epochs
        m, count, epoch, budget = self.model, Int(0, records), Int(0, epochs), Int(0, faults)
        self.Replica = replica = m.index("Replica", [f"broker-a/{r}" for r in range(replicas)], symmetric=symmetric)
        self.Place = place = Int(0, records - 1)
        m.acting(replica, "controller", "client", service="controller", environment="controller")
        self.widens = m.constant("widens", Bool, True, "a replica that is being added counts for what is confirmed")
        self.counts_log = m.constant("counts_log", Bool, True, "a new master's next offset counts what is not dispatched yet")
        self.keeps_offset = m.constant("keeps_offset", Bool, True, "a master that is elected again keeps its next offset")
        self.cuts_confirmed = m.constant("cuts_confirmed", Bool, True, "after a start no more is confirmed than the log has")
        self.waits = m.constant("waits", Bool, True, "a client is answered once its record is confirmed")
        self.crash_budget = m.constant("crash_budget", budget, 0, "how many ends of a process the run may have")
        self.power_budget = m.constant("power_budget", budget, 0, "how many losses of power the run may have")
        self.up = m.var("up", Bool, over=replica, init=True, sentence="whether the replica runs")
        self.log = m.var("log", epoch, over=(replica, place), init=0, sentence="the epoch of the record at a place, 0 for none")
        self.length = m.var("length", count, over=replica, init=0, sentence="how many records the log has")
        self.confirmed = m.var(
            "confirmed", count, over=replica, init=0, sentence="up to where records are confirmed, as the replica has it"
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
        """The replica's log is the beginning of the master's."""
        m = self.master.get
        return forall(self.Place, lambda k: (self.log[r, k] == 0) | (self.log[r, k] == self.log[m, k]))


def _leads(c: Controller, a: Body, r: Expr) -> None:
    a.by(r)
    a.guard("master", c.leads(r), "the replica is the master")


def _master(c: Controller) -> None:
    @c.action(actor=HANDLER, rules="APP-03 APP-10", r=c.Replica)
    def append(a: Body, r: Expr) -> None:
        """The master appends a record, with the next queue offset."""
        _leads(c, a, r)
        a.bound("records left", c.length[r] < c.records, "the scope's log has room")
        a.bound("offsets left", c.offset[r] < c.records, "the scope counts that far")
        a.set(c.odd, c.odd | (c.offset[r] != c.length[r]))
        a.set(c.log[r, minimum(c.length[r], c.records - 1)], c.epoch)
        a.set(c.length[r], c.length[r] + 1)
        a.set(c.offset[r], c.offset[r] + 1)

    @c.action(actor=SERVICE, fair="weak", r=c.Replica, upto=Int(1, c.records))
    def confirm(a: Body, r: Expr, upto: Expr) -> None:
        """What every replica in sync has is confirmed; one that is being added counts, or it does not."""
        _leads(c, a, r)

        def has(s: Expr) -> Expr:
            counts: Expr = c.in_sync.has(s) | (c.widens & (c.asked == s))
            return implies(counts, c.length[s] >= upto)

        a.guard("had by all", forall(c.Replica, has), "all that are in sync have the records")
        a.guard("news", upto > c.confirmed[r], "they were not confirmed before")
        a.set(c.confirmed[r], upto)

    @c.action(actor=SERVICE, rules="REC-04", fair="weak", r=c.Replica)
    def dispatch(a: Body, r: Expr) -> None:
        """The next confirmed record gets its entry in the consume queue."""
        a.by(r)
        a.guard("runs", c.up[r], "the replica runs")
        a.guard("confirmed", c.entries[r] < minimum(c.confirmed[r], c.length[r]), "the next record is confirmed, and in the log")
        a.set(c.entries[r], c.entries[r] + 1)

    @c.action(actor=HANDLER, sends_to="client", rules="FLU-07 SEND-41", fair="weak", r=c.Replica, k=c.Place)
    def acknowledge(a: Body, r: Expr, k: Expr) -> None:
        """The client of a record is answered SUCCESS."""
        _leads(c, a, r)
        a.guard("appended", c.log[r, k] == c.epoch, "the master has appended the record")
        a.guard("confirmed", ~c.waits | (k < c.confirmed[r]), "nothing is waited for, or the record is confirmed")
        a.guard("not answered", c.acknowledged[k] != c.epoch, "the client has no answer yet")
        a.set(c.acknowledged[k], c.epoch)


def _copies(c: Controller) -> None:
    def slave(a: Body, r: Expr) -> None:
        a.by(r)
        a.guard("has a master", c.master.is_some, "there is a master")
        a.guard("slave", ~c.leads(r) & c.up[r], "the replica is not the master, and runs")

    @c.action(actor=SERVICE, rules="FLU-07", fair="weak", r=c.Replica)
    def cut(a: Body, r: Expr) -> None:
        """A slave whose log goes another way than the master's cuts it off where they part."""
        slave(a, r)
        a.guard("parts", ~c.follows(r), "its log is not the beginning of the master's")
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
        """A slave appends the master's next record, and learns up to where records are confirmed."""
        slave(a, r)
        a.guard("follows", c.follows(r), "its log is the beginning of the master's")
        a.guard("next", (k == c.length[r]) & (k < c.length[c.master.get]), "the record is the next one")
        a.set(c.log[r, k], c.log[c.master.get, k])
        a.set(c.length[r], k + 1)
        a.set(c.confirmed[r], minimum(k + 1, c.confirmed[c.master.get]))

    @c.action(actor=SERVICE, fair="weak", r=c.Replica)
    def ask(a: Body, r: Expr) -> None:
        """The master asks the controller to add a slave that has all that is confirmed."""
        slave(a, r)
        a.guard("nothing asked", c.asked.is_none, "the master has asked for nobody else")
        a.guard("not in sync", ~c.in_sync.has(r), "the slave is not in the SyncStateSet")
        a.guard("caught up", c.follows(r) & (c.length[r] >= c.confirmed[c.master.get]), "the slave has all that is confirmed")
        a.set(c.asked, r)


def _elections(c: Controller) -> None:
    @c.action(actor=SERVICE, fair="weak", r=c.Replica)
    def expand(a: Body, r: Expr) -> None:
        """The controller adds the slave."""
        a.guard("asked for", c.asked.is_some & (c.asked == r), "the master has asked for it")
        a.update(c, in_sync=c.in_sync.including(r), asked=None)

    def becomes(a: Body, r: Expr, offset: Expr) -> None:
        a.bound("epochs left", c.epoch < c.epochs, "the scope allows another election")
        a.update(c, master=r, epoch=c.epoch + 1, in_sync=single(r), asked=None)
        a.set(c.offset[r], offset)

    @c.action(actor=SERVICE, rules="REC-03", fair="weak", r=c.Replica)
    def elect(a: Body, r: Expr) -> None:
        """A replica in sync becomes master; its next queue offset counts its log, or only what is dispatched."""
        a.sends_to(r)
        a.guard("no master", c.master.is_none, "there is no master")
        a.guard("in sync", c.in_sync.has(r), "the replica is in the SyncStateSet")
        a.guard("runs", c.up[r], "the replica runs")
        becomes(a, r, ite(c.counts_log, c.length[r], c.entries[r]))

    @c.action(actor=SERVICE, rules="REC-03", weight=0.3, r=c.Replica)
    def elect_again(a: Body, r: Expr) -> None:
        """The master is elected once more while it runs: it keeps its next offset, or goes back to what is dispatched."""
        a.sends_to(r)
        a.guard("master", c.leads(r), "the replica is the master")
        becomes(a, r, ite(c.keeps_offset, c.offset[r], c.entries[r]))


def _faults(c: Controller) -> None:
    def ends(a: Body, r: Expr) -> None:
        """The controller takes who no longer answers for no master, and what the process had on its way is lost."""
        a.by(r)
        a.guard("runs", c.up[r], "the replica runs")
        a.set(c.up[r], False)
        a.set(c.offset[r], 0)
        a.set(c.master, None, when=c.leads(r))
        a.set(c.asked, None, when=c.leads(r) | (c.asked == r))

    @c.action(actor=ENVIRONMENT, rules="REC-02", weight=0.3, r=c.Replica)
    def crash(a: Body, r: Expr) -> None:
        """The process ends: log, queue and what the checkpoint says is confirmed stay."""
        ends(a, r)
        a.bound("crashes left", c.crashes < c.crash_budget, "the scope allows another end of a process")
        a.set(c.crashes, c.crashes + 1)

    @c.action(actor=ENVIRONMENT, rules="REC-02", weight=0.3, r=c.Replica, kept=Int(0, c.records - 1))
    def power_loss(a: Body, r: Expr, kept: Expr) -> None:
        """The power fails: the log loses its end, which was not flushed."""
        ends(a, r)
        a.bound("losses left", c.powers < c.power_budget, "the scope allows another loss of power")
        a.guard("less", kept < c.length[r], "something is lost")
        a.set(c.powers, c.powers + 1)
        a.set(c.length[r], kept)
        for k in range(c.records):
            a.set(c.log[r, k], 0, when=k >= kept)

    @c.action(actor=ENVIRONMENT, rules="REC-02", r=c.Replica)
    def start(a: Body, r: Expr) -> None:
        """Entries beyond the log are cut off; what the checkpoint says is confirmed is cut off too, or it is not."""
        a.by(r)
        a.guard("down", ~c.up[r], "the replica does not run")
        a.set(c.up[r], True)
        a.set(c.entries[r], minimum(c.entries[r], c.length[r]))
        a.set(c.confirmed[r], ite(c.cuts_confirmed, minimum(c.confirmed[r], c.length[r]), c.confirmed[r]))

    @c.action(actor=SERVICE, fair="weak", r=c.Replica)
    def shrink(a: Body, r: Expr) -> None:
        """A slave that does not answer leaves the SyncStateSet."""
        a.guard("has a master", c.master.is_some, "there is a master")
        a.guard("down", c.in_sync.has(r) & ~c.up[r], "the replica is in the SyncStateSet, and does not run")
        a.set(c.in_sync, c.in_sync.excluding(r))
