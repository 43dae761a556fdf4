"""Delayed messages: stored in the queue of their level, and delivered when due, across crashes and power losses (CL-02, REC-04, REC-05).

The model has one queue of the schedule topic, for the last level. Its entries have the same delay, so they become due in order. The
delivered position is stored in three places: in the scan, in the service's table, and in delayOffset.json, which is written periodically.
A delivery does not wait for a flush. A power loss removes unflushed entries and deliveries from the log, but leaves the small file.
"""

from __future__ import annotations

from rocketproof_model.language import Body, Bool, Expr, Field, Int, Record, Row, ite, maximum, minimum

from .actors import CLIENT, ENVIRONMENT, SERVICE
from .bounds import capped_level, level_queue
from .part import Part

NOWHERE = HALF = -1


class Delays(Part):
    """A queue of `entries` entries, for the last of `levels` levels, with at most `ends` crashes or power losses.

    If it `sends`, clients fill the queue. Otherwise the including model fills it with half messages. Of the `out` deliveries of
    an entry, `kept` are on the device.
    """

    switches = ("records_each_delivery", "corrects_delay_offsets", "discards_delayed_halves")

    def __init__(self, name: str, *, entries: int = 2, levels: int = 2, sends: bool = True, ends: int = 1) -> None:
        super().__init__(name)
        self.entries, self.levels, self.sends = entries, levels, sends
        m, count, few = self.model, Int(0, entries), Int(0, 2)
        m.acting("client", "delivery", "clock", client="client", service="delivery", environment="clock")
        self.Entry = m.index("Entry", entries)
        self.records_each_delivery = m.constant("records_each_delivery", Bool, True, "the offset is stored after each delivery")
        self.corrects_delay_offsets = m.constant("corrects_delay_offsets", Bool, True, "a restart limits the file's offset to the queue")
        self.discards_delayed_halves = m.constant("discards_delayed_halves", Bool, True, "a delayed half message is not delivered")
        self.transactional = m.constant("transactional", Bool, False, "delayed messages may be half messages")
        self.passes_over = m.constant("passes_over", Bool, False, "a failed delivery is skipped, as in 5.0 to 5.3.2")
        self.fails = m.constant("fails", Bool, False, "the store may reject a delivery")
        self.sync = m.constant("sync", Bool, False, "the flush is synchronous")
        self.set_back = m.constant("set_back", Bool, False, "the clock may be set back")
        self.power = m.constant("power", Bool, False, "the power may fail")
        self.end_budget = m.constant("end_budget", Int(0, ends), 0, "how many crashes or power losses the run may have")
        entry = Record(
            level=Field(Int(0, levels + 1), 0 if sends else levels, "its property DELAY"),
            asked=Field(Int(HALF, 1), 0 if sends else HALF, "its property REAL_QID, -1 if REAL_TOPIC is the half topic"),
            place=Field(Int(NOWHERE, 1), NOWHERE, "the queue of its own topic to which it was delivered, -1 if none"),
            out=Field(few, 0, "how often it was delivered"),
            kept=Field(few, 0, "how many of its deliveries are on the device"),
        )
        queue = Record(
            length=Field(count, 0, "how many entries it has"),
            flushed=Field(count, 0, "how many of them are on the device"),
            come=Field(count, 0, "how many have waited for their delay"),
            due=Field(count, 0, "how many count as due"),
            next=Field(count, 0, "the next entry of the scan"),
            offset=Field(count, 0, "the delivered position in the service's table"),
            stored=Field(count, 0, "the delivered position in delayOffset.json"),
        )
        self.entry = m.var("entry", entry, over=self.Entry, sentence="an entry of the queue")
        self.queue = m.var("queue", queue, sentence="the schedule topic's queue")
        self.up = m.var("up", Bool, init=True, sentence="whether the broker runs")
        self.scanning = m.var("scanning", Bool, init=False, sentence="whether a scan delivers its next entry")
        self.halves = m.var("halves", count, init=0, sentence="how many half messages were delivered to the half topic")
        self.ended = m.var("ended", Int(0, ends), init=0, sentence="how many crashes or power losses there were")
        if sends:
            _sending(self)
        _delivery(self)
        _time_and_ends(self)


def _require_running(d: Delays, a: Body) -> None:
    a.guard("broker runs", d.up, "the broker runs")


def _flushes(d: Delays, a: Body, length: Expr, when: Expr | bool = True) -> None:
    a.set(d.queue.flushed, length, when=when)
    for e in d.Entry:
        a.set(d.entry[e].kept, d.entry[e].out, when=when)


def _sending(d: Delays) -> None:
    top, q = d.levels, d.queue

    @d.action(actor=CLIENT, rules="CL-02", level=Int(-1, top + 1), asked=Int(HALF, 1), e=d.Entry)
    def send(a: Body, level: Expr, asked: Expr, e: Expr) -> None:
        """A message with a delay level is stored in the schedule topic. The capped level selects the queue. Topic and queue become
        properties; for a half message the topic is the half topic."""
        _require_running(d, a)
        capped, row = capped_level(level, top), d.entry[e]
        a.guard("delayed", level > 0, "the level is positive")
        a.guard("this queue", level_queue(capped) == top - 1, "its queue is the one in the model")
        a.guard("next place", e == q.length, "the entry is the queue's next")
        a.guard("may be half", (asked != HALF) | d.transactional, "the condition allows half messages, or this is not one")
        a.update(row, level=capped, asked=asked)
        a.set(q.length, q.length + 1)
        _flushes(d, a, q.length + 1, when=d.sync)


def _delivery(d: Delays) -> None:
    """The delivery from the queue (ScheduleMessageService)."""
    q = d.queue

    def begins(a: Body, e: Expr) -> Row:
        _require_running(d, a)
        a.guard("at the scan", e == q.next, "the entry is the scan's next")
        a.guard("an entry", e < q.length, "the queue has this entry")
        a.guard("due", e < q.due, "the entry counts as due")
        return d.entry[e]

    @d.action(actor=SERVICE, rules="REC-05", fair="weak", e=d.Entry)
    def deliver(a: Body, e: Expr) -> None:
        """A due message is stored under its own topic and queue. A half message is stored in the half topic, or discarded."""
        row, more = begins(a, e), q.next + 1 < minimum(q.due, q.length)
        half = row.asked == HALF
        keeps = ~half | ~d.discards_delayed_halves
        a.bound("copies left", row.out < 2, "the scope counts that many deliveries")
        a.bound("room for halves", ~(half & keeps) | (d.halves < d.entries), "the scope's half topic has room")
        a.set(row.out, row.out + 1, when=keeps)
        a.set(row.place, row.asked)
        a.set(d.halves, d.halves + 1, when=keeps & half)
        a.set(q.next, q.next + 1)
        a.set(d.scanning, more)
        a.set(q.offset, q.next + 1, when=d.records_each_delivery | ~more)

    @d.action(actor=SERVICE, rules="REC-05", e=d.Entry)
    def fail(a: Body, e: Expr) -> None:
        """The store rejects the delivery: the scan ends. The next scan begins at the same entry, in some releases after it."""
        begins(a, e)
        a.guard("may fail", d.fails, "the condition lets a delivery fail")
        then = q.next + ite(d.passes_over, 1, 0)
        a.update(q, next=then, offset=then)
        a.set(d.scanning, False)

    @d.action(actor=SERVICE, rules="REC-05", fair="weak")
    def persist(a: Body) -> None:
        """The table is written to delayOffset.json."""
        _require_running(d, a)
        a.set(q.stored, q.offset)

    @d.action(actor=SERVICE, rules="FLU-05", fair="weak")
    def flush(a: Body) -> None:
        """The log is forced to the device."""
        _require_running(d, a)
        _flushes(d, a, q.length)


def _time_and_ends(d: Delays) -> None:
    q = d.queue

    @d.action(actor=ENVIRONMENT, rules="REC-04", fair="weak")
    def elapse(a: Body) -> None:
        """The level's delay has passed since the next entry was stored."""
        a.guard("waits", q.come < q.length, "an entry waits for its time")
        a.update(q, come=q.come + 1, due=maximum(q.due, q.come + 1))

    @d.action(actor=ENVIRONMENT, rules="REC-05")
    def set_clock_back(a: Body) -> None:
        """The clock is set back: every entry is further ahead than its delay, and counts as due."""
        a.guard("may be set back", d.set_back, "the condition lets the clock be set back")
        a.set(q.due, q.length)

    @d.action(actor=ENVIRONMENT, rules="REC-02", weight=0.3, power=Bool)
    def end(a: Body, power: Expr) -> None:
        """The process ends, and written data stay in the files; or the power fails, and unflushed data are lost."""
        _require_running(d, a)
        a.guard("may fail", ~power | d.power, "the power does not fail, or the condition allows that")
        a.bound("ends left", d.ended < d.end_budget, "the scope allows another crash or power loss")
        a.update(d, ended=d.ended + 1, up=False, scanning=False)
        a.update(q, next=0, offset=0)
        for number in (q.length, q.come, q.due):
            a.set(number, minimum(number, q.flushed), when=power)
        for e in d.Entry:
            row = d.entry[e]
            a.set(row.out, row.kept, when=power)
            a.set(row.place, NOWHERE, when=power & (row.kept == 0))
            for gone in (row.level, row.asked):
                a.set(gone, 0, when=power & (e >= q.flushed))

    @d.action(actor=ENVIRONMENT, rules="REC-02 REC-05", fair="weak")
    def start(a: Body) -> None:
        """The broker starts. Delivery resumes at the offset in the file, in some releases limited to the queue's end."""
        a.guard("broker down", ~d.up, "the broker does not run")
        resumed = ite(d.corrects_delay_offsets, minimum(q.stored, q.length), q.stored)
        a.set(d.up, True)
        a.update(q, next=resumed, offset=resumed)
