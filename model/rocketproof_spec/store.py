"""The store: append with queue offsets, transaction types, end and roll of files, dispatch, flush.

Sizes are in units of a scope. The smallest blank at a file's end is `blank` units (8 bytes on disk). A scope without a log answers an
accepted request at once.
"""

from __future__ import annotations

from rocketproof_model.language import Body, Expr, Row, ite

from .actors import SERVICE
from .arithmetic import counted, fits
from .broker import drawn
from .handling import answer, in_phase, require_running, write_queues
from .placement import destination, require_admitted
from .vocabulary import Specification


def _accepted(s: Specification, a: Body, p: Expr) -> tuple[Row, Expr]:
    row, b = _with_queue(s, a, p)
    if s.scope.named("long"):
        a.guard("name fits the store", ~_overlong(s, row), "the broker checks names, or the name is not too long")
    require_admitted(s, a, p)
    return row, b


def _with_queue(s: Specification, a: Body, p: Expr) -> tuple[Row, Expr]:
    row, b = in_phase(s, a, p, "append", "the request is accepted", name="accepted")
    has_queue = (row.queue >= 0) | (write_queues(s, b, row) != 0)
    a.guard("has a queue", has_queue, "the queue id is given, or the topic has one to draw")
    return row, b


def _stores(s: Specification, a: Body, row: Row, draw: Expr) -> Expr:
    """Store the message in the queue that it names, or in a random one, and return that queue."""
    a.guard("one draw", (row.queue < 0) | (draw == 0), "a random number is drawn for a negative queue id only")
    queue = drawn(s, row, draw)
    a.update(row, queue=queue, appended=1)
    return queue


def _overlong(s: Specification, row: Row) -> Expr:
    """Whether the name is too long, and a broker that does not check names leaves that to its store."""
    return ~s.given("check_names") & s.of_class(row.topic, "long")


def written_position(s: Specification, b: Expr) -> Expr:
    """The physical position up to which the log is written."""
    return s.log.segment[b] * s.given("file_size") + s.log.filled[b]


def limits(s: Specification) -> None:
    """The refusals of the store before it writes to the log."""

    @s.handler(rules="STO-01 CL-08 SEND-41")
    def refuse_in_store(a: Body, p: Expr) -> None:
        """The store refuses the message because its topic's name is longer than 127."""
        row, _ = _with_queue(s, a, p)
        a.guard("name too long for the store", _overlong(s, row), "the broker does not check names, and the name is too long")
        answer(s, a, p, "MESSAGE_ILLEGAL")
        a.says("{by} rejects the message: the name of {topic} is too long for its store", topic=row.topic)


def memory(s: Specification) -> None:
    """Scopes without a log: the put always succeeds."""

    @s.handler(rules="SEND-22 SEND-42", draw=s.scope.draws)
    def store(a: Body, p: Expr, draw: Expr) -> None:
        """The message is stored and answered with its queue."""
        row, _ = _accepted(s, a, p)
        _stores(s, a, row, draw)
        answer(s, a, p, "SUCCESS")
        a.says("{by} stores the message in queue {queue} of {topic}", queue=drawn(s, row, draw), topic=row.topic)


def log(s: Specification) -> None:
    """Scopes with a log."""
    scope, m = s.scope, s.model
    filled, segment, flushed = s.log.filled, s.log.segment, s.log.flushed
    offset, records, entries = s.log.offset, s.log.records, s.log.entries
    size, blank = s.given("file_size"), s.given("blank")

    def append(a: Body, p: Expr, draw: Expr) -> tuple[Row, Expr]:
        """Append the record: update the queue offset and the answer (APP-03, APP-04, APP-10)."""
        row, b = _accepted(s, a, p)
        queue = _stores(s, a, row, draw)
        place = (b, *destination(s, p, queue))
        a.bound("queue in scope", place[2] < scope.queues, "the scope has a counter for the queue")
        key = offset[place]
        a.bound("offsets left", key < scope.offsets, "the scope counts that far")
        a.set(offset[place], key + 1, when=counted(row.kind))
        a.set(records[place], records[place] + 1, when=counted(row.kind))
        a.set(row.offset, ite(counted(row.kind), key, 0))
        answer(s, a, p, "SUCCESS")
        return row, b

    @s.handler(rules="APP-01 APP-03 APP-04 APP-10 APP-11 SEND-22", draw=scope.draws)
    def store(a: Body, p: Expr, draw: Expr) -> None:
        """The record fits: it is appended, gets the next queue offset, and is answered with it."""
        row, b = append(a, p, draw)
        a.guard("fits", fits(row.size, filled[b], size, blank), "the record and the smallest blank fit into the file")
        a.set(filled[b], filled[b] + row.size)
        a.says("{by} stores the message in queue {queue} of {topic}", queue=drawn(s, row, draw), topic=row.topic)

    @s.handler(rules="APP-07 CL-07 CL-08 X7", draw=scope.draws)
    def roll(a: Body, p: Expr, draw: Expr) -> None:
        """The record does not fit: the rest of the file becomes a blank, and the record goes to the next file."""
        row, b = append(a, p, draw)
        a.guard("too large", ~fits(row.size, filled[b], size, blank), "the record and the smallest blank do not fit")
        a.guard("fits the next", fits(row.size, 0, size, blank), "an empty file has room for the record")
        a.bound("files left", segment[b] < scope.files - 1, "the scope has another file")
        a.set(segment[b], segment[b] + 1)
        a.set(filled[b], row.size)
        a.says("{by} stores the message for {topic} in the next file", topic=row.topic)

    @s.handler(rules="CL-08")
    def acknowledge_lost(a: Body, p: Expr) -> None:
        """The record fits into no file: both appends end in a blank, and the answer is SUCCESS with the next queue offset (HAZ-22)."""
        row, b = _accepted(s, a, p)
        a.guard("queue id given", row.queue >= 0, "the queue id is given")
        a.guard("too large", ~fits(row.size, filled[b], size, blank), "the record and the smallest blank do not fit")
        a.guard("fits no file", ~fits(row.size, 0, size, blank), "an empty file has no room either")
        a.bound("queue in scope", row.queue < scope.queues, "the scope has a counter for the queue")
        a.bound("files left", segment[b] < scope.files - 1, "the scope has another file")
        a.set(segment[b], segment[b] + 1)
        a.set(filled[b], size)
        a.set(row.offset, ite(counted(row.kind), offset[b, row.topic, row.queue], 0))
        answer(s, a, p, "SUCCESS")
        a.says("{by} answers SUCCESS for {topic}, but the record fits into no file", topic=row.topic)

    @m.action(actor=SERVICE, rules="REC-04", fair="weak", b=s.Broker, t=s.Topic, q=s.Queue)
    def dispatch(a: Body, b: Expr, t: Expr, q: Expr) -> None:
        """The dispatcher writes the next entry of a consume queue. Prepared and rolled back records get none."""
        require_running(s, a, b)
        a.guard("behind", entries[b, t, q] < records[b, t, q], "a record has no consume queue entry yet")
        a.set(entries[b, t, q], entries[b, t, q] + 1)
        a.says("{b} writes entry {entry} of queue {q} of {t}", entry=entries[b, t, q])

    @m.action(actor=SERVICE, rules="FLU-04 FLU-05", fair="weak", b=s.Broker)
    def flush(a: Body, b: Expr) -> None:
        """The flush service moves the flushed position to the written position."""
        written = written_position(s, b)
        require_running(s, a, b)
        a.guard("unflushed", flushed[b] < written, "some data is written and not flushed")
        a.set(flushed[b], written)
        a.says("{b} flushes its log up to {written}", written=written)
