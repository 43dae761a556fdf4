"""A store and its device: what is written, committed, flushed and really on the device, and what a fault leaves of it.

Positions count units: a file has its records and a blank, which is written with the first record of the next file. With a transient pool a
new file is written to a buffer, and a commit brings that to the file. `flushed` is what the store believes, `forced` what the device has
without a gap. One put at a time; the looks of the group commit are in `flushing`, torn records and consume queues in `recovery`.
"""

from __future__ import annotations

from rocketproof_model.language import Body, Bool, Enum, Expr, Int, any_of, coerce, ite, maximum, minimum

from .actors import CLIENT, ENVIRONMENT, HANDLER, SERVICE
from .part import Part

LATE, NO_SLAVE, CLOSED, BUSY, ILLEGAL = (
    "FLUSH_DISK_TIMEOUT", "SLAVE_NOT_AVAILABLE", "SERVICE_NOT_AVAILABLE", "SYSTEM_BUSY", "MESSAGE_ILLEGAL",
)  # fmt: skip
Answer = Enum("none", "PUT_OK", LATE, NO_SLAVE, CLOSED, BUSY, ILLEGAL, "found", "not found")


class Device(Part):
    """A log of so many `files`, each of so many `units`, the last of which is the blank; at most `faults` ends of the process or losses of
    power."""

    switches = ("trusts_failed_force", "counts_replicas")

    def __init__(self, name: str, *, units: int = 3, files: int = 2, faults: int = 2) -> None:
        super().__init__(name)
        self.units, self.files = units, files
        m, log, budget, buffers = self.model, Int(0, units * files - 1), Int(0, faults), Int(0, 2)
        m.acting("client", "broker", "disk", handler="broker", service="broker", environment="disk")
        self.trusts_failed_force = m.constant(
            "trusts_failed_force", Bool, True, "a force that fails moves the flushed position all the same"
        )
        self.counts_replicas = m.constant("counts_replicas", Bool, False, "the master itself is the replica that is waited for")
        self.sync = m.constant("sync", Bool, True, "the flush is synchronous")
        self.buffers = m.constant("buffers", buffers, 0, "how many buffers the transient pool has; 0 is no pool")
        self.fails = m.constant("fails", Bool, False, "a force may fail")
        self.slave_missing = m.constant("slave_missing", Bool, False, "the broker is a SYNC_MASTER without a slave")
        self.closes = m.constant("closes", Bool, False, "the disk may fill up")
        self.crash_budget = m.constant("crash_budget", budget, 0, "after how many faults the process ends no more")
        self.power_budget = m.constant("power_budget", budget, 0, "after how many faults the power fails no more")
        self.written = m.var("written", log, init=0, sentence="the position up to which the log is written", part="broker")
        self.committed = m.var("committed", log, init=0, sentence="the position up to which it is in the files", part="disk")
        self.flushed = m.var("flushed", log, init=0, sentence="the position up to which the store believes it flushed", part="broker")
        self.forced = m.var("forced", log, init=0, sentence="the position up to which the device has all of it", part="disk")
        self.free = m.var("free", buffers, init=self.buffers, sentence="how many buffers of the pool nobody has", part="broker")
        self.writable = m.var("writable", Bool, init=True, sentence="whether the running flags let the store be written", part="broker")
        self.waits = m.var("waits", Bool, init=False, sentence="whether the last record's put waits for the flush", part="broker")
        self.answer = m.var("answer", Answer, init="none", sentence="the client's last answer", part="client")
        self.acknowledged = m.var(
            "acknowledged", log, init=0, sentence="where the last record ends that was answered PUT_OK", part="client"
        )
        self.failed = m.var("failed", Int(0, 1), init=0, sentence="how many puts the store has counted as failed", part="broker")
        self.faults = m.var("faults", budget, init=0, sentence="how often the process has ended, or the power failed")
        _requests(self)
        _answers(self)
        _services(self)
        _faults(self)


def has_pool(d: Device) -> Expr:
    """Only an asynchronous flush uses the transient pool."""
    return ~d.sync & (d.buffers > 0)


def is_deficient(d: Device) -> Expr:
    """The pool is used, and no buffer is free (REM-06)."""
    return has_pool(d) & (d.free == 0)


def _until(d: Device, position: Expr, end: Expr) -> Expr:
    """How far one commit or flush gets from a position: to its file's end, or to that of what there is (FLU-05, FLU-06)."""
    for border in range((d.files - 1) * d.units, 0, -d.units):
        end = ite(position < border, minimum(end, border), end)
    return end


def _status(d: Device, flushed: str) -> Expr:
    """FLU-08: the replica's failure overwrites what came of the flush."""
    missing = d.slave_missing & ~d.counts_replicas
    return ite(missing, coerce(NO_SLAVE, Answer), flushed)


def _answer(d: Device, a: Body, answer: Expr, end: Expr) -> None:
    a.set(d.answer, answer)
    a.set(d.acknowledged, maximum(d.acknowledged, end), when=answer == "PUT_OK")


def _requests(d: Device) -> None:
    units, sync = d.units, d.sync

    def enters(a: Body, *, writable: bool) -> None:
        a.bound("nobody waits", ~d.waits, "the scope has one request at a time")
        a.guard("buffers free", ~is_deficient(d), "no pool is used, or one of its buffers is free")
        a.guard("flags", d.writable == writable, f"the running flags {'let the store be written' if writable else 'forbid it'}")

    @d.action(actor=HANDLER, rules="APP-07 FLU-01 FLU-04 FLU-07")
    def put(a: Body) -> None:
        """A record is written to the last file, or its buffer; with synchronous flush its put waits, otherwise it is answered at once."""
        enters(a, writable=True)
        a.bound("room left", d.written < units * d.files - 1, "the scope's log has room")
        a.bound("new files", ~has_pool(d) | (d.faults == 0), "a start opens its last file without a buffer, which the scope leaves out")
        over = any_of(d.written == border - 1 for border in range(units, units * d.files, units))
        end = d.written + ite(over, 2, 1)
        a.set(d.written, end)
        a.set(d.committed, end, when=~has_pool(d))
        a.set(d.free, d.free - 1, when=has_pool(d) & (over | (d.written == 0)))
        a.set(d.waits, sync)
        _answer(d, a, ite(sync, coerce("none", Answer), _status(d, "PUT_OK")), end)

    @d.action(actor=HANDLER, rules="STO-04")
    def refuse(a: Body) -> None:
        """A flag says that the disk is full, or a file cannot be written: the put is refused."""
        enters(a, writable=False)
        a.set(d.answer, CLOSED)

    @d.action(actor=HANDLER, rules="REM-06")
    def reject(a: Body) -> None:
        """No buffer is free: the send is answered before anybody reads it."""
        a.bound("nobody waits", ~d.waits, "the scope has one request at a time")
        a.guard("no buffer", is_deficient(d), "all buffers of the pool are lent to files")
        a.set(d.answer, BUSY)

    @d.action(actor=HANDLER, rules="CL-08 STO-05")
    def put_too_large(a: Body) -> None:
        """A message beyond the limit: nothing is written, and the store counts a failed put."""
        enters(a, writable=True)
        a.bound("count", (d.failed == 0) & (d.written > 0), "the log has a file, and the scope counts that far")
        a.update(d, failed=d.failed + 1, answer=ILLEGAL)

    @d.action(actor=CLIENT, sends_to="broker", rules="REC-01")
    def look(a: Body) -> None:
        """A client asks for the last acknowledged message by its place in the log: what is in a buffer is outside of it."""
        a.bound("nobody waits", ~d.waits, "the scope has one request at a time")
        a.guard("acknowledged", (0 < d.acknowledged) & (d.acknowledged <= d.written), "a message was acknowledged, and is not lost")
        a.set(d.answer, ite(d.acknowledged <= d.committed, coerce("found", Answer), "not found"))


def _answers(d: Device) -> None:
    def ends(a: Body, flushed: str) -> None:
        a.sends_to("client")
        a.guard("waits", d.waits, "a put waits for its flush")
        a.set(d.waits, False)
        _answer(d, a, _status(d, flushed), d.written)

    @d.action(actor=SERVICE, rules="FLU-02 FLU-08", fair="weak")
    def confirm(a: Body) -> None:
        """The flushed position has reached the record's end: its put is answered, with the slave's part as well."""
        a.guard("flushed", d.flushed >= d.written, "the flushed position has reached it")
        ends(a, "PUT_OK")

    @d.action(actor=HANDLER, rules="FLU-02 FLU-08", fair="weak")
    def time_out(a: Body) -> None:
        """The put has waited 5 s: it is late, and a missing slave hides that."""
        ends(a, LATE)


def _services(d: Device) -> None:
    units = d.units
    flushed = _until(d, d.flushed, d.committed)

    @d.action(actor=SERVICE, rules="FLU-06", fair="weak")
    def commit(a: Body) -> None:
        """A buffer is written to its file, and the flush is woken; one that is committed to its end goes back to the pool."""
        a.guard("in a buffer", d.committed < d.written, "something is in a buffer only")
        end = _until(d, d.committed, d.written)
        a.set(d.committed, end)
        a.set(d.free, d.free + 1, when=any_of(end == file * units for file in range(1, d.files)))

    def flushes(a: Body) -> None:
        a.by("disk")
        a.guard("unflushed", d.flushed < d.committed, "something in the files is not flushed")

    @d.action(actor=SERVICE, rules="FLU-01 FLU-05", fair="weak")
    def flush(a: Body) -> None:
        """The service of this kind of flush forces one file. The device has no gap if it has all of the files before."""
        flushes(a)
        gap = any_of((d.flushed >= file * units) & (d.forced < file * units) for file in range(1, d.files))
        a.set(d.flushed, flushed)
        a.set(d.forced, flushed, when=~gap)

    @d.action(actor=ENVIRONMENT, rules="FLU-03 FLU-05")
    def flush_fails(a: Body) -> None:
        """The force fails. Before 5.4.0 that is logged, and the flushed position moves on."""
        flushes(a)
        a.guard("may fail", d.fails, "the condition lets the device fail")
        a.set(d.flushed, flushed, when=d.trusts_failed_force)


def _faults(d: Device) -> None:
    @d.action(actor=ENVIRONMENT, rules="STO-04", full=Bool)
    def set_flag(a: Body, full: Expr) -> None:
        """The disk is full, or has room again."""
        a.bound("may close", d.closes, "the condition lets the disk fill up")
        a.guard("changes", d.writable == full, "that is news")
        a.set(d.writable, ~full)

    def ends(a: Body, left: Expr, budget: Expr) -> None:
        """Memory is gone: buffers, flags, whoever waits. The start ends the log at its last whole record, takes it for flushed, and forces
        nothing."""
        a.bound("faults left", d.faults < budget, "the condition allows another one")
        a.bound("begun", d.written > 0, "the log has begun")
        a.set(d.faults, d.faults + 1)
        for position in (d.written, d.committed, d.flushed):
            a.set(position, left)
        a.update(d, free=d.buffers, writable=True, waits=False, answer="none", failed=0)

    @d.action(actor=ENVIRONMENT, part="broker", rules="REC-02 FLU-06", weight=0.3)
    def crash(a: Body) -> None:
        """The process ends, and starts again: what was committed is in the files."""
        ends(a, d.committed, d.crash_budget)

    @d.action(actor=ENVIRONMENT, rules="REC-02", weight=0.3, kept=d.written.type)
    def power_loss(a: Body, kept: Expr) -> None:
        """The power fails, and the broker starts again: the device has what was forced, and perhaps more of what was committed."""
        a.guard("kept", (d.forced <= kept) & (kept <= d.committed), "no less than was forced is left, and no more than was committed")
        ends(a, kept, d.power_budget)
        a.set(d.forced, kept)
