"""A store and its device: the data that is written, committed, flushed and really on the device, and the data that survives a fault.

Positions count units. A file consists of its records and a blank, which is written with the first record of the next file. With a transient
pool, a new file is written to a buffer, and a commit copies the buffer to the file. `flushed` is the position the store believes to be
flushed; `forced` is the position up to which the device has all data. Puts run one at a time. `flushing` models the checks of the group
commit; `recovery` models torn records and consume queues.
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
    """A log of `files` files with `units` units each, of which the last is the blank; at most `faults` crashes and power losses."""

    switches = ("trusts_failed_force", "counts_replicas")

    def __init__(self, name: str, *, units: int = 3, files: int = 2, faults: int = 2) -> None:
        super().__init__(name)
        self.units, self.files = units, files
        m, log, budget, buffers = self.model, Int(0, units * files - 1), Int(0, faults), Int(0, 2)
        m.acting("client", "broker", "disk", handler="broker", service="broker", environment="disk")
        self.trusts_failed_force = m.constant("trusts_failed_force", Bool, True, "a failed force moves the flushed position as well")
        self.counts_replicas = m.constant("counts_replicas", Bool, False, "the master itself counts as the replica that a put waits for")
        self.sync = m.constant("sync", Bool, True, "the flush is synchronous")
        self.buffers = m.constant("buffers", buffers, 0, "how many buffers the transient pool has; 0 is no pool")
        self.fails = m.constant("fails", Bool, False, "a force may fail")
        self.slave_missing = m.constant("slave_missing", Bool, False, "the broker is a SYNC_MASTER without a slave")
        self.closes = m.constant("closes", Bool, False, "the disk may fill up")
        self.crash_budget = m.constant("crash_budget", budget, 0, "the number of faults after which the process no longer crashes")
        self.power_budget = m.constant("power_budget", budget, 0, "the number of faults after which the power no longer fails")
        self.written = m.var("written", log, init=0, sentence="the position up to which the log is written", part="broker")
        self.committed = m.var("committed", log, init=0, sentence="the position up to which the log is in the files", part="disk")
        self.flushed = m.var("flushed", log, init=0, sentence="the position up to which the store believes it flushed", part="broker")
        self.forced = m.var("forced", log, init=0, sentence="the position up to which the device has the whole log", part="disk")
        self.free = m.var("free", buffers, init=self.buffers, sentence="how many buffers of the pool are free", part="broker")
        self.writable = m.var("writable", Bool, init=True, sentence="whether the running flags allow writes to the store", part="broker")
        self.waits = m.var("waits", Bool, init=False, sentence="whether the last record's put waits for the flush", part="broker")
        self.answer = m.var("answer", Answer, init="none", sentence="the client's last answer", part="client")
        self.acknowledged = m.var(
            "acknowledged", log, init=0, sentence="the end of the last record that was answered PUT_OK", part="client"
        )
        self.failed = m.var("failed", Int(0, 1), init=0, sentence="how many puts the store has counted as failed", part="broker")
        self.faults = m.var("faults", budget, init=0, sentence="how many crashes and power losses there were")
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
    """Return the end of one commit or flush from `position`: the end of its file, or `end` if that is earlier (FLU-05, FLU-06)."""
    for border in range((d.files - 1) * d.units, 0, -d.units):
        end = ite(position < border, minimum(end, border), end)
    return end


def _status(d: Device, flushed: str) -> Expr:
    """FLU-08: the result of the replica overrides the result of the flush."""
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
        a.guard("flags", d.writable == writable, f"the running flags {'allow' if writable else 'forbid'} writes to the store")

    @d.action(actor=HANDLER, rules="APP-07 FLU-01 FLU-04 FLU-07")
    def put(a: Body) -> None:
        """A record is written to the last file, or its buffer. With synchronous flush its put waits; otherwise it is answered at once."""
        enters(a, writable=True)
        a.bound("room left", d.written < units * d.files - 1, "the scope's log has room")
        a.bound("new files", ~has_pool(d) | (d.faults == 0), "the model omits the last file after a restart, which has no buffer")
        file_ends = any_of(d.written == border - 1 for border in range(units, units * d.files, units))
        end = d.written + ite(file_ends, 2, 1)
        a.set(d.written, end)
        a.set(d.committed, end, when=~has_pool(d))
        a.set(d.free, d.free - 1, when=has_pool(d) & (file_ends | (d.written == 0)))
        a.set(d.waits, sync)
        _answer(d, a, ite(sync, coerce("none", Answer), _status(d, "PUT_OK")), end)

    @d.action(actor=HANDLER, rules="STO-04")
    def refuse(a: Body) -> None:
        """The put is refused: a flag marks the disk as full, or a file cannot be written."""
        enters(a, writable=False)
        a.set(d.answer, CLOSED)

    @d.action(actor=HANDLER, rules="REM-06")
    def reject(a: Body) -> None:
        """No buffer is free: the send is rejected before its header is read."""
        a.bound("nobody waits", ~d.waits, "the scope has one request at a time")
        a.guard("no buffer", is_deficient(d), "all buffers of the pool are lent to files")
        a.set(d.answer, BUSY)

    @d.action(actor=HANDLER, rules="CL-08 STO-05")
    def put_too_large(a: Body) -> None:
        """A message exceeds the limit: nothing is written, and the store counts a failed put."""
        enters(a, writable=True)
        a.bound("count", (d.failed == 0) & (d.written > 0), "the log has a file, and the scope counts that far")
        a.update(d, failed=d.failed + 1, answer=ILLEGAL)

    @d.action(actor=CLIENT, sends_to="broker", rules="REC-01")
    def look(a: Body) -> None:
        """A client queries the last acknowledged message by its position in the log. The query cannot see data in a buffer."""
        a.bound("nobody waits", ~d.waits, "the scope has one request at a time")
        a.guard("acknowledged", (0 < d.acknowledged) & (d.acknowledged <= d.written), "a message was acknowledged and is not lost")
        a.set(d.answer, ite(d.acknowledged <= d.committed, coerce("found", Answer), "not found"))


def _answers(d: Device) -> None:
    def ends(a: Body, flushed: str) -> None:
        a.sends_to("client")
        a.guard("waits", d.waits, "a put waits for its flush")
        a.set(d.waits, False)
        _answer(d, a, _status(d, flushed), d.written)

    @d.action(actor=SERVICE, rules="FLU-02 FLU-08", fair="weak")
    def confirm(a: Body) -> None:
        """The flushed position has reached the record's end: its put is answered, with the slave's status."""
        a.guard("flushed", d.flushed >= d.written, "the flushed position has reached the record's end")
        ends(a, "PUT_OK")

    @d.action(actor=HANDLER, rules="FLU-02 FLU-08", fair="weak")
    def time_out(a: Body) -> None:
        """The put has waited 5 s and is answered as late. The status of a missing slave hides that."""
        ends(a, LATE)


def _services(d: Device) -> None:
    units = d.units
    flushed = _until(d, d.flushed, d.committed)

    @d.action(actor=SERVICE, rules="FLU-06", fair="weak")
    def commit(a: Body) -> None:
        """A buffer is written to its file, and the flush is triggered. A buffer that is committed to its end returns to the pool."""
        a.guard("in a buffer", d.committed < d.written, "some data is only in a buffer")
        end = _until(d, d.committed, d.written)
        a.set(d.committed, end)
        a.set(d.free, d.free + 1, when=any_of(end == file * units for file in range(1, d.files)))

    def flushes(a: Body) -> None:
        a.by("disk")
        a.guard("unflushed", d.flushed < d.committed, "some data in the files is not flushed")

    @d.action(actor=SERVICE, rules="FLU-01 FLU-05", fair="weak")
    def flush(a: Body) -> None:
        """The flush service forces one file. The forced position follows only if the device has all earlier files."""
        flushes(a)
        gap = any_of((d.flushed >= file * units) & (d.forced < file * units) for file in range(1, d.files))
        a.set(d.flushed, flushed)
        a.set(d.forced, flushed, when=~gap)

    @d.action(actor=ENVIRONMENT, rules="FLU-03 FLU-05")
    def flush_fails(a: Body) -> None:
        """The force fails. Before 5.4.0 the broker logs that, and the flushed position moves on."""
        flushes(a)
        a.guard("may fail", d.fails, "the condition lets the device fail")
        a.set(d.flushed, flushed, when=d.trusts_failed_force)


def _faults(d: Device) -> None:
    @d.action(actor=ENVIRONMENT, rules="STO-04", full=Bool)
    def set_flag(a: Body, full: Expr) -> None:
        """The disk becomes full, or has room again."""
        a.bound("may close", d.closes, "the condition lets the disk fill up")
        a.guard("changes", d.writable == full, "the flag changes")
        a.set(d.writable, ~full)

    def ends(a: Body, left: Expr, budget: Expr) -> None:
        """Lose the memory: buffers, flags and waiting puts. The restart ends the log at its last whole record, takes that position as
        flushed, and forces nothing."""
        a.bound("faults left", d.faults < budget, "the condition allows another fault")
        a.bound("begun", d.written > 0, "the log has a record")
        a.set(d.faults, d.faults + 1)
        for position in (d.written, d.committed, d.flushed):
            a.set(position, left)
        a.update(d, free=d.buffers, writable=True, waits=False, answer="none", failed=0)

    @d.action(actor=ENVIRONMENT, part="broker", rules="REC-02 FLU-06", weight=0.3)
    def crash(a: Body) -> None:
        """The process crashes and restarts. Committed data is in the files."""
        ends(a, d.committed, d.crash_budget)

    @d.action(actor=ENVIRONMENT, rules="REC-02", weight=0.3, kept=d.written.type)
    def power_loss(a: Body, kept: Expr) -> None:
        """The power fails, and the broker restarts. The device has all forced data, and perhaps some of the committed data."""
        a.guard("kept", (d.forced <= kept) & (kept <= d.committed), "all forced data is left, and at most the committed data")
        ends(a, kept, d.power_budget)
        a.set(d.forced, kept)
