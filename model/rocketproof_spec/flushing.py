"""Synchronous flush: puts under one lock, and the group commit that flushes and answers them (FLU-02, FLU-03).

The log is a sequence of files. A record takes one unit, and so does the blank that ends a file. The blank is written with the first record
of the next file. A flush ends at the end of the file that contains the flushed position. `age` is the time of the put lock. A put that
leaves the lock with an exception may leave that time set, and the page cache then seems busy (CL-05, STO-03). A lock time of more than
10 000 s no longer counts in the broker; the model omits that.
"""

from __future__ import annotations

from rocketproof_model.language import Body, Bool, Enum, Expr, Field, Int, Record, Row, any_of, count, exists, forall, ite, minimum

from .actors import ENVIRONMENT, HANDLER, SERVICE
from .part import Part

Step = Enum("idle", "locks", "requested", "read", "answered")
Answer = Enum("none", "PUT_OK", "not awaited", "denied", "too late", "UNKNOWN_ERROR", "OS_PAGECACHE_BUSY")
"""FLUSH_DISK_TIMEOUT is the answer for both "denied" (by the group commit) and "too late" (after 5 s). PUT_OK is the answer for both
"PUT_OK" and "not awaited" (a message that does not wait for its flush)."""

Age = Enum("none", "fresh", "busy")


class Flushing(Part):
    """`puts` threads that put, over `files` files with `file_size` records each; with the blank a file has `file_size` + 1 units.

    A put is "requested" in the list for new requests, and "read" in the list that the service processes.
    """

    switches = ("resets_lock_time", "rechecks_after_flush")

    def __init__(self, name: str, *, puts: int = 2, file_size: int = 2, files: int = 3) -> None:
        super().__init__(name)
        self.file_size, self.units, self.files = file_size, file_size + 1, files
        m, log = self.model, Int(0, self.units * files - 1)
        self.Put = m.index("Put", [f"put {p}" for p in range(puts)])
        m.acting(self.Put, "group commit", "clock", service="group commit", environment="clock")
        self.resets_lock_time = m.constant("resets_lock_time", Bool, True, "an exception in the put lock resets its time")
        self.rechecks_after_flush = m.constant("rechecks_after_flush", Bool, True, "the group commit checks again after its second flush")
        self.throws = m.constant("throws", Bool, False, "an append may throw")
        self.serves = m.constant("serves", Bool, True, "the group commit's thread runs")
        put = Record(
            step=Field(Step, "idle", "its stage"),
            next=Field(log, 0, "the flushed position that it waits for"),
            answer=Field(Answer, "none", "its answer"),
        )
        self.idle = put.start
        self.put = m.var("put", put, over=self.Put, sentence="the put")
        self.written = m.var("written", log, init=0, sentence="the position up to which the log is written")
        self.flushed = m.var("flushed", log, init=0, sentence="the position up to which the log is flushed", part="group commit")
        self.passes = m.var(
            "passes", Int(0, 2), init=0, sentence="how many flushes were made for the service's current request", part="group commit"
        )
        self.age = m.var("age", Age, init="none", sentence="the age of the put lock's time")
        _puts(self)
        _service(self)


def in_lock(f: Flushing) -> Expr:
    """Some put has the put lock."""
    return exists(f.Put, lambda p: f.put[p].step == "locks")


def _puts(f: Flushing) -> None:
    def at(a: Body, p: Expr, step: str, sentence: str) -> Row:
        row = f.put[p]
        a.guard(step, row.step == step, sentence)
        return row

    @f.action(actor=HANDLER, rules="CL-04 CL-05", p=f.Put)
    def lock(a: Body, p: Expr) -> None:
        """A put takes the lock and sets its time."""
        row = at(a, p, "idle", "the thread has no put")
        a.guard("not busy", f.age != "busy", "the page cache is not busy")
        a.guard("lock free", ~in_lock(f), "no put has the lock")
        a.bound("room left", f.written < f.units * f.files - 1, "the scope's log has room")
        a.set(row.step, "locks")
        a.set(f.age, "fresh")

    @f.action(actor=HANDLER, rules="STO-03", p=f.Put)
    def refuse(a: Body, p: Expr) -> None:
        """The page cache is busy: the put is refused."""
        row = at(a, p, "idle", "the thread has no put")
        a.guard("busy", f.age == "busy", "the page cache is busy")
        a.update(row, step="answered", answer="OS_PAGECACHE_BUSY")

    def appends(a: Body, p: Expr) -> tuple[Row, Expr]:
        row = at(a, p, "locks", "the put has the lock")
        end = f.written + ite(_file_is_full(f), 2, 1)
        a.update(f, written=end, age="none")
        return row, end

    @f.action(actor=HANDLER, rules="APP-07 APP-10 FLU-02", fair="weak", p=f.Put)
    def append(a: Body, p: Expr) -> None:
        """The record is appended, the lock is released, and the group commit gets a request."""
        row, end = appends(a, p)
        a.update(row, next=end, step="requested")

    @f.action(actor=HANDLER, rules="FLU-04", p=f.Put)
    def append_only(a: Body, p: Expr) -> None:
        """The message does not wait for a flush: it is appended and answered at once."""
        row, _ = appends(a, p)
        a.update(row, step="answered", answer="not awaited")

    @f.action(actor=HANDLER, rules="CL-05", p=f.Put)
    def throw(a: Body, p: Expr) -> None:
        """The append throws. The lock is released, but its time is reset only if the release does that in a finally block."""
        row = at(a, p, "locks", "the put has the lock")
        a.guard("may throw", f.throws, "the condition lets an append throw")
        a.update(row, step="answered", answer="UNKNOWN_ERROR")
        a.set(f.age, "none", when=f.resets_lock_time)

    @f.action(actor=ENVIRONMENT, rules="STO-03", fair="weak")
    def grow_old(a: Body) -> None:
        """The lock's time is a second old: the page cache counts as busy."""
        a.guard("set", f.age == "fresh", "the lock's time is set")
        a.set(f.age, "busy")

    @f.action(actor=HANDLER, rules="FLU-02", fair="weak", p=f.Put)
    def time_out(a: Body, p: Expr) -> None:
        """The put has waited 5 s and is answered FLUSH_DISK_TIMEOUT. The result of its request is ignored."""
        row = f.put[p]
        a.guard("waits", (row.step == "requested") | (row.step == "read"), "the put waits for the group commit")
        a.update(row, step="answered", answer="too late")
        a.set(f.passes, 0, when=_is_current(f, p))

    @f.action(actor=HANDLER, rules="SEND-41", p=f.Put)
    def finish(a: Body, p: Expr) -> None:
        """The caller has its answer and may put again."""
        a.set(at(a, p, "answered", "the put is answered"), f.idle)


def _file_is_full(f: Flushing) -> Expr:
    """The file has all its records, so the next record also writes its blank."""
    return any_of(f.written == file * f.units + f.file_size for file in range(f.files - 1))


def _has_read_requests(f: Flushing) -> Expr:
    return exists(f.Put, lambda p: f.put[p].step == "read")


def _is_current(f: Flushing, p: Expr) -> Expr:
    """Whether the put's request is the service's current one: the first of those it has read."""
    row = f.put[p]
    first = forall(f.Put, lambda q: (q == p) | (f.put[q].step != "read") | (f.put[q].next > row.next))
    return (row.step == "read") & first


def _flush(f: Flushing, a: Body) -> None:
    """FLU-05: flush the file that contains the flushed position, up to its written end."""
    end = f.written
    for file in reversed(range(1, f.files)):
        border = file * f.units
        end = ite(f.flushed < border, minimum(f.written, border), end)
    a.set(f.flushed, end)


def _service(f: Flushing) -> None:
    """GroupCommitService (FLU-03)."""

    def serves(a: Body) -> None:
        a.guard("service runs", f.serves, "the group commit's thread is not stuck")

    @f.action(actor=SERVICE, rules="FLU-03", fair="weak")
    def exchange(a: Body) -> None:
        """The service takes the list of new requests."""
        serves(a)
        a.guard("all answered", ~_has_read_requests(f), "the service has answered all requests that it had read")
        a.guard("something requested", count(f.Put, lambda p: f.put[p].step == "requested") > 0, "a put has requested a flush")
        for p in f.Put:
            a.set(f.put[p].step, "read", when=f.put[p].step == "requested")
        a.set(f.passes, 0)

    @f.action(actor=SERVICE, rules="FLU-03 FLU-04")
    def flush_unasked(a: Body) -> None:
        """One file is flushed without a waiting put: there is no request, or the put of the current request has timed out."""
        serves(a)
        a.guard("none begun", f.passes == 0, "no flush was made for a put that waits")
        a.guard("not on the device", f.flushed < f.written, "a record is not on the device")
        _flush(f, a)

    def serve_current(a: Body, p: Expr) -> Row:
        a.by("group commit")
        serves(a)
        a.guard("its turn", _is_current(f, p), "the request is the first of those that the service has read")
        return f.put[p]

    @f.action(actor=SERVICE, rules="FLU-03", fair="weak", p=f.Put)
    def confirm(a: Body, p: Expr) -> None:
        """The log is flushed up to the record's end: the put is answered."""
        a.sends_to(p)
        row = serve_current(a, p)
        a.guard(
            "a look is due",
            (f.passes < 2) | f.rechecks_after_flush,
            "fewer than two flushes were made, or the release checks again after the second",
        )
        a.guard("on the device", f.flushed >= row.next, "the flushed position has reached the record's end")
        a.update(row, step="answered", answer="PUT_OK")
        a.set(f.passes, 0)

    @f.action(actor=SERVICE, rules="FLU-03 FLU-05", fair="weak", p=f.Put)
    def flush(a: Body, p: Expr) -> None:
        """The log is not flushed up to the record's end: one file is flushed, at most twice per request."""
        row = serve_current(a, p)
        a.guard("not on the device", f.flushed < row.next, "the flushed position has not reached the record's end")
        a.guard("passes left", f.passes < 2, "fewer than two flushes were made for the request")
        _flush(f, a)
        a.set(f.passes, f.passes + 1)

    @f.action(actor=SERVICE, rules="FLU-03", fair="weak", p=f.Put)
    def deny(a: Body, p: Expr) -> None:
        """After two flushes the put is answered FLUSH_DISK_TIMEOUT. Releases that do not check again do so even if its record is flushed
        (HAZ-21)."""
        a.sends_to(p)
        row = serve_current(a, p)
        a.guard("two flushes", f.passes == 2, "two flushes were made for the request")
        seen_flushed = f.rechecks_after_flush & (f.flushed >= row.next)
        a.guard("not seen on the device", ~seen_flushed, "the release does not check again, or the record is still not on the device")
        a.update(row, step="answered", answer="denied")
        a.set(f.passes, 0)
