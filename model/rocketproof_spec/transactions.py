"""A transactional message: the gate, the half message, its end, and the check that asks its producer (TRX-01 to TRX-05).

One message. A check puts the half message once more, at the end of the half queue, and asks its producer about that copy. What ends a
copy is an operation record, which names it and no other: nothing else remembers an outcome. Ages are left out, since time may pass
at any moment, and so is what a crash takes: operations that were gathered, and how far the check has looked.
"""

from __future__ import annotations

from rocketproof_model.language import Body, Bool, Enum, Expr, Field, Int, Record, ite

from .actors import CLIENT, HANDLER, SERVICE
from .part import Part

Property = Enum("absent", "false", "true")
Place = Enum("none", "refused", "half", "own", "prepared")
"""Where the message went: "prepared" is the log under its own topic, where no queue has it."""
Outcome = Enum("none", "commit", "rollback")
State = Enum("open", "noted", "ended")
"""Of a copy: no outcome is known; one is in memory, gathered with others; an operation record has it."""


class Transactions(Part):
    """One message that is asked for so many times: `checks` is transactionCheckMax. The half queue has room for so many `copies`.

    A delayed half message goes to the schedule topic instead (HAZ-39)."""

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
        self.connected = m.constant("connected", Bool, True, "the producer can be asked")
        self.steady = m.constant("steady", Bool, True, "the producer always gives the same outcome")
        self.may_delay = m.constant("may_delay", Bool, False, "a transactional message may have a delay level")
        message = Record(
            place=Field(Place, "none", "where it went"),
            tran=Field(Property, "absent", "its property TRAN_MSG"),
            delayed=Field(Bool, False, "whether it has a delay level"),
            topic=Field(Bool, False, "whether the broker knows its topic"),
            answered=Field(Int(-1, 1), -1, "the queue offset that its producer was answered, -1 if none"),
            decided=Field(Outcome, "none", "the outcome that its producer gave last"),
            given_up=Field(Bool, False, "whether it is in the topic of those that were asked for too often"),
        )
        log = Record(
            counted=Field(Int(0, 4), 0, "the next offset of the message's queue"),
            stored=Field(Int(0, 2), 0, "how often it was committed into it"),
            written=Field(count, 0, "how many copies the half queue has"),
            scheduled=Field(count, 0, "how many copies went to the schedule topic"),
            looked=Field(count, 0, "how many copies the check has looked at"),
            asked=Field(Int(0, checks), 0, "how often its producer was asked"),
        )
        self.half = m.var("half", State, over=self.Copy, init="open", sentence="a copy in the half queue")
        self.message = m.var("message", message, sentence="the message")
        self.log = m.var("log", log, sentence="the broker's queues")
        _gate(self)
        _ends(self)
        _checks(self)


def _gate(t: Transactions) -> None:
    """One send, in its four ways. In each the topic is made before anybody looks at the transaction."""
    halves, rejects = t.half_messages, t.rejects

    def arrives(a: Body, tran: Expr, place: str, answered: Expr | int) -> None:
        a.guard("first", t.message.place == "none", "nothing was sent yet")
        a.update(t.message, topic=True, place=place, tran=tran, answered=answered)

    @t.action(actor=HANDLER, rules="APP-03")
    def put_other(a: Body) -> None:
        """Before it another message makes the topic, and has the queue's first offset."""
        a.guard("first", (t.message.place == "none") & (t.log.counted == 0), "nothing was sent yet")
        a.set(t.message.topic, True)
        a.set(t.log.counted, 1)

    def asks(tran: Expr) -> Expr:
        return ite(halves, tran == "true", tran != "absent")

    @t.action(actor=HANDLER, rules="TRX-01 TRX-02 TRX-03", tran=Property)
    def refuse(a: Body, tran: Expr) -> None:
        """A broker that rejects transactions refuses a message whose TRAN_MSG is true, in P40 whatever it says."""
        a.guard("rejects", rejects, "the broker rejects transactions")
        a.guard("transactional", asks(tran), "the message asks for a transaction")
        arrives(a, tran, "refused", -1)

    @t.action(actor=HANDLER, rules="TRX-01 TRX-04 CL-02", tran=Property, delayed=Bool)
    def put_half(a: Body, tran: Expr, delayed: Expr) -> None:
        """It becomes a half message: topic and queue become properties, its transaction bits go, and the half topic gets it."""
        a.guard("accepts", ~rejects & halves, "the broker takes half messages")
        a.guard("transactional", asks(tran), "TRAN_MSG is true")
        a.guard("may be delayed", ~delayed | t.may_delay, "the condition lets it have a delay level, or it has none")
        arrives(a, tran, "half", 0)
        a.set(t.message.delayed, delayed)
        _put(t, a, delayed)

    def passes(a: Body, tran: Expr) -> None:
        a.guard("passes", ~asks(tran) | (~halves & ~rejects), "the gate lets it pass as it is")

    @t.action(actor=HANDLER, rules="TRX-01 TRX-02", tran=Property)
    def put_own(a: Body, tran: Expr) -> None:
        """An ordinary message takes the next offset of its queue."""
        passes(a, tran)
        arrives(a, tran, "own", t.log.counted)
        a.set(t.log.counted, t.log.counted + 1)

    @t.action(actor=HANDLER, rules="TRX-02 TRX-05 APP-04", tran=Property)
    def put_prepared(a: Body, tran: Expr) -> None:
        """The gate does not look at the flag: a prepared message is stored with offset 0, and no queue gets it."""
        passes(a, tran)
        arrives(a, tran, "prepared", 0)


def _put(t: Transactions, a: Body, delayed: Expr) -> None:
    """A copy goes to the end of the half queue, with a delay level to the schedule topic instead."""
    log = t.log
    a.bound("room left", ite(delayed, log.scheduled, log.written) < t.copies, "the scope has room for a copy")
    a.set(log.scheduled, log.scheduled + 1, when=delayed)
    a.set(log.written, log.written + 1, when=~delayed)


def _ends(t: Transactions) -> None:
    """EndTransactionProcessor. Nobody asks whether the copy, or another one, has ended before."""
    gathers, decided = t.gathers_operations, t.message.decided

    def ends(a: Body, c: Expr, outcome: str) -> None:
        a.guard("there", c < t.log.written, "the half queue has the copy")
        a.guard("known", ~t.message.delayed & ((c == 0) | t.connected), "its producer has heard of its place")
        a.guard("the same", ~t.steady | (decided == "none") | (decided == outcome), "the producer has said nothing else")
        a.set(decided, outcome)
        a.set(t.half[c], ite(gathers & (t.half[c] != "ended"), "noted", "ended"))

    @t.action(actor=CLIENT, rules="REC-01", c=t.Copy)
    def commit(a: Body, c: Expr) -> None:
        """The copy is found by its place in the log, the message is put under its own topic, and the copy has ended."""
        ends(a, c, "commit")
        a.bound("commits left", t.log.stored < 2, "the scope counts that many")
        a.update(t.log, stored=t.log.stored + 1, counted=t.log.counted + 1)

    @t.action(actor=CLIENT, rules="REC-01", c=t.Copy)
    def roll_back(a: Body, c: Expr) -> None:
        """The copy is found by its place in the log, and has ended."""
        ends(a, c, "rollback")


def _checks(t: Transactions) -> None:
    """TransactionalMessageCheckService."""
    most = t.checks

    def looks(a: Body, c: Expr, ended: Expr) -> None:
        a.guard("its turn", (c == t.log.looked) & (c < t.log.written), "it is the next copy")
        a.guard("its outcome", ended, "an operation record names it, or none does")
        a.set(t.log.looked, c + 1)

    @t.action(actor=SERVICE, fair="weak", c=t.Copy)
    def pass_over(a: Body, c: Expr) -> None:
        """It has ended."""
        looks(a, c, t.half[c] == "ended")

    @t.action(actor=SERVICE, fair="weak", c=t.Copy)
    def ask(a: Body, c: Expr) -> None:
        """It is put once more, and its producer is asked about the new copy."""
        looks(a, c, t.half[c] != "ended")
        a.guard("asks left", t.log.asked < most, "it was asked for less often than transactionCheckMax")
        a.set(t.log.asked, t.log.asked + 1)
        _put(t, a, t.message.delayed)

    @t.action(actor=SERVICE, fair="weak", c=t.Copy)
    def give_up(a: Body, c: Expr) -> None:
        """It was asked for too often: it goes to a topic of its own, where nobody asks any more."""
        looks(a, c, t.half[c] != "ended")
        a.guard("no asks left", t.log.asked >= most, "it was asked for transactionCheckMax times")
        a.set(t.message.given_up, True)

    @t.action(actor=SERVICE, fair="weak")
    def write_operations(a: Body) -> None:
        """An operation record is written for all that was gathered."""
        for c in t.Copy:
            a.set(t.half[c], "ended", when=t.half[c] == "noted")
