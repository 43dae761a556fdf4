"""A transactional message: the gate, the half message, its end, and the check that queries its producer (TRX-01 to TRX-05).

The model has one message. A check appends the half message again at the end of the half queue, and queries its producer about that copy. An
operation record ends only the copy that it names, and nothing else stores an outcome. The model omits ages, because time may pass at any
moment. It also omits the losses of a crash: gathered operations, and the position of the check.
"""

from __future__ import annotations

from rocketproof_model.language import Body, Bool, Enum, Expr, Field, Int, Record, ite

from .actors import CLIENT, HANDLER, SERVICE
from .part import Part

Property = Enum("absent", "false", "true")
Place = Enum("none", "refused", "half", "own", "prepared")
"""The place of the message. "prepared": in the log under its own topic, but in no queue."""
Outcome = Enum("none", "commit", "rollback")
State = Enum("open", "noted", "ended")
"""The state of a copy: without outcome; with an outcome in memory, gathered with others; with an operation record."""


class Transactions(Part):
    """One message whose producer is queried up to `checks` times (transactionCheckMax). The half queue has room for `copies` copies.

    A delayed half message goes to the schedule topic instead (HAZ-39).
    """

    switches = ("half_messages", "gathers_operations")

    def __init__(self, name: str, *, checks: int = 2, copies: int = 3) -> None:
        super().__init__(name)
        self.checks, self.copies = checks, copies
        m, count = self.model, Int(0, copies)
        m.acting("producer", "broker", "check", client="producer", handler="broker", service="check")
        self.Copy = m.index("Copy", copies)
        self.half_messages = m.constant("half_messages", Bool, True, "transactional messages become half messages")
        self.gathers_operations = m.constant("gathers_operations", Bool, False, "operation records are written together, later")
        self.rejects = m.constant("rejects", Bool, False, "the broker rejects transactional messages")
        self.connected = m.constant("connected", Bool, True, "the producer can be queried")
        self.steady = m.constant("steady", Bool, True, "the producer always gives the same outcome")
        self.may_delay = m.constant("may_delay", Bool, False, "a transactional message may have a delay level")
        message = Record(
            place=Field(Place, "none", "its place"),
            tran=Field(Property, "absent", "its property TRAN_MSG"),
            delayed=Field(Bool, False, "whether it has a delay level"),
            topic=Field(Bool, False, "whether the broker knows its topic"),
            answered=Field(Int(-1, 1), -1, "the queue offset in the answer to its producer, -1 if none"),
            decided=Field(Outcome, "none", "the producer's last outcome"),
            given_up=Field(Bool, False, "whether it is in the topic of messages whose check was given up"),
        )
        log = Record(
            counted=Field(Int(0, 4), 0, "the next offset of the message's queue"),
            stored=Field(Int(0, 2), 0, "how often it was committed to its queue"),
            written=Field(count, 0, "how many copies the half queue has"),
            scheduled=Field(count, 0, "how many copies were stored in the schedule topic"),
            looked=Field(count, 0, "how many copies the check has processed"),
            asked=Field(Int(0, checks), 0, "how often its producer was queried"),
        )
        self.half = m.var("half", State, over=self.Copy, init="open", sentence="a copy in the half queue")
        self.message = m.var("message", message, sentence="the message")
        self.log = m.var("log", log, sentence="the broker's queues")
        _gate(self)
        _ends(self)
        _checks(self)


def _gate(t: Transactions) -> None:
    """The four results of a send. In each, the topic is created before the transaction is checked."""
    halves, rejects = t.half_messages, t.rejects

    def send(a: Body, tran: Expr, place: str, answered: Expr | int) -> None:
        a.guard("first", t.message.place == "none", "the message was not sent yet")
        a.update(t.message, topic=True, place=place, tran=tran, answered=answered)

    @t.action(actor=HANDLER, rules="APP-03")
    def put_other(a: Body) -> None:
        """Another message is stored first: it creates the topic and takes the queue's first offset."""
        a.guard("first", (t.message.place == "none") & (t.log.counted == 0), "no message was sent yet")
        a.set(t.message.topic, True)
        a.set(t.log.counted, 1)

    def is_transactional(tran: Expr) -> Expr:
        return ite(halves, tran == "true", tran != "absent")

    @t.action(actor=HANDLER, rules="TRX-01 TRX-02 TRX-03", tran=Property)
    def refuse(a: Body, tran: Expr) -> None:
        """A broker that rejects transactions refuses a message whose TRAN_MSG is true, in P40 with any TRAN_MSG."""
        a.guard("rejects", rejects, "the broker rejects transactions")
        a.guard("transactional", is_transactional(tran), "the message is transactional")
        send(a, tran, "refused", -1)

    @t.action(actor=HANDLER, rules="TRX-01 TRX-04 CL-02", tran=Property, delayed=Bool)
    def put_half(a: Body, tran: Expr, delayed: Expr) -> None:
        """The message becomes a half message: topic and queue become properties, and its transaction bits are cleared. It is stored in the
        half topic."""
        a.guard("accepts", ~rejects & halves, "the broker accepts half messages")
        a.guard("transactional", is_transactional(tran), "TRAN_MSG is true")
        a.guard("may be delayed", ~delayed | t.may_delay, "the condition allows a delay level, or the message has none")
        send(a, tran, "half", 0)
        a.set(t.message.delayed, delayed)
        _put(t, a, delayed)

    def passes(a: Body, tran: Expr) -> None:
        a.guard("passes", ~is_transactional(tran) | (~halves & ~rejects), "the gate passes the message unchanged")

    @t.action(actor=HANDLER, rules="TRX-01 TRX-02", tran=Property)
    def put_own(a: Body, tran: Expr) -> None:
        """An ordinary message takes the next offset of its queue."""
        passes(a, tran)
        send(a, tran, "own", t.log.counted)
        a.set(t.log.counted, t.log.counted + 1)

    @t.action(actor=HANDLER, rules="TRX-02 TRX-05 APP-04", tran=Property)
    def put_prepared(a: Body, tran: Expr) -> None:
        """The gate ignores the flag: a prepared message is stored with offset 0, but in no queue."""
        passes(a, tran)
        send(a, tran, "prepared", 0)


def _put(t: Transactions, a: Body, delayed: Expr) -> None:
    """Append a copy to the half queue, or to the schedule topic if it is `delayed`."""
    log = t.log
    a.bound("room left", ite(delayed, log.scheduled, log.written) < t.copies, "the scope has room for a copy")
    a.set(log.scheduled, log.scheduled + 1, when=delayed)
    a.set(log.written, log.written + 1, when=~delayed)


def _ends(t: Transactions) -> None:
    """EndTransactionProcessor. It does not check whether this copy or another one has ended before."""
    gathers, decided = t.gathers_operations, t.message.decided

    def ends(a: Body, c: Expr, outcome: str) -> None:
        a.guard("there", c < t.log.written, "the half queue has the copy")
        a.guard("known", ~t.message.delayed & ((c == 0) | t.connected), "the producer knows the copy's position")
        a.guard("the same", ~t.steady | (decided == "none") | (decided == outcome), "the producer has given no other outcome")
        a.set(decided, outcome)
        a.set(t.half[c], ite(gathers & (t.half[c] != "ended"), "noted", "ended"))

    @t.action(actor=CLIENT, rules="REC-01", c=t.Copy)
    def commit(a: Body, c: Expr) -> None:
        """The copy is found by its position in the log. The message is stored under its own topic, and the copy has ended."""
        ends(a, c, "commit")
        a.bound("commits left", t.log.stored < 2, "the scope counts that far")
        a.update(t.log, stored=t.log.stored + 1, counted=t.log.counted + 1)

    @t.action(actor=CLIENT, rules="REC-01", c=t.Copy)
    def roll_back(a: Body, c: Expr) -> None:
        """The copy is found by its position in the log, and has ended."""
        ends(a, c, "rollback")


def _checks(t: Transactions) -> None:
    """TransactionalMessageCheckService."""
    most = t.checks

    def process(a: Body, c: Expr, ended: Expr) -> None:
        a.guard("its turn", (c == t.log.looked) & (c < t.log.written), "the copy is the next to process")
        a.guard("its outcome", ended, "the copy has an operation record, or it has none")
        a.set(t.log.looked, c + 1)

    @t.action(actor=SERVICE, fair="weak", c=t.Copy)
    def pass_over(a: Body, c: Expr) -> None:
        """The check skips a copy that has ended."""
        process(a, c, t.half[c] == "ended")

    @t.action(actor=SERVICE, fair="weak", c=t.Copy)
    def ask(a: Body, c: Expr) -> None:
        """The check appends the copy again, and queries the producer about the new copy."""
        process(a, c, t.half[c] != "ended")
        a.guard("asks left", t.log.asked < most, "the producer was queried fewer than transactionCheckMax times")
        a.set(t.log.asked, t.log.asked + 1)
        _put(t, a, t.message.delayed)

    @t.action(actor=SERVICE, fair="weak", c=t.Copy)
    def give_up(a: Body, c: Expr) -> None:
        """The producer was queried too often: the message is moved to a separate topic, and the check ends."""
        process(a, c, t.half[c] != "ended")
        a.guard("no asks left", t.log.asked >= most, "the producer was queried transactionCheckMax times")
        a.set(t.message.given_up, True)

    @t.action(actor=SERVICE, fair="weak")
    def write_operations(a: Body) -> None:
        """An operation record is written for all gathered outcomes."""
        for c in t.Copy:
            a.set(t.half[c], "ended", when=t.half[c] == "noted")
