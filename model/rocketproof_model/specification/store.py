"""The store: append with queue offsets, transaction types, file end and roll, dispatch, flush.

Sizes are units of a scope; the smallest blank at a file's end is `blank` units (8 bytes on disk). A scope without a log
answers an accepted request at once.
"""

from __future__ import annotations

from ..language import Body, Expr, Row, Variable, ite
from .actors import SERVICE
from .arithmetic import counted, fits
from .broker import drawn
from .handling import answer
from .vocabulary import Specification


def _accepted(s: Specification, a: Body, p: Expr) -> tuple[Row, Expr]:
    row = s.job[p]
    a.guard("accepted", s.at(row, "append"), "the request is accepted")
    a.guard("broker runs", s.up[row.broker.get], "the broker runs")
    a.guard("has a queue", _has_queue(s, row), "the queue id is given, or the topic has one to draw")
    if s.scope.named("long"):
        a.guard("name fits the store", ~_overlong(s, row), "the broker checks names, or this one is not too long")
    return row, row.broker.get


def _overlong(s: Specification, row: Row) -> Expr:
    """A broker that does not check names leaves the length to its store."""
    return ~s.given("check_names") & s.of_class(row.topic, "long")


def _has_queue(s: Specification, row: Row) -> Expr:
    has: Expr = (row.queue >= 0) | (s.config[row.broker.get, row.topic].write != 0)
    return has


def _some(variable: Variable | None) -> Variable:
    assert variable is not None, "the scope keeps a log"
    return variable


def written_position(s: Specification, b: Expr) -> Expr:
    """The physical position up to which the log is written."""
    return _some(s.segment)[b] * s.given("file_size") + _some(s.filled)[b]


def limits(s: Specification) -> None:
    """What the store refuses before the log."""

    @s.handler(rules="STO-01 CL-08 SEND-41")
    def refuse_in_store(a: Body, p: Expr) -> None:
        """The store refuses the message: its topic's name is longer than 127."""
        row = s.job[p]
        a.guard("accepted", s.at(row, "append"), "the request is accepted")
        a.guard("broker runs", s.up[row.broker.get], "the broker runs")
        a.guard("has a queue", _has_queue(s, row), "the queue id is given, or the topic has one to draw")
        a.guard("name too long for the store", _overlong(s, row), "the broker does not check names, and this one is too long")
        answer(s, a, p, "MESSAGE_ILLEGAL")


def memory(s: Specification) -> None:
    """Scopes without a log: the put always succeeds."""

    @s.handler(rules="SEND-22 SEND-42", draw=s.scope.draws)
    def store(a: Body, p: Expr, draw: Expr) -> None:
        """The message is stored and answered with its queue."""
        row, _ = _accepted(s, a, p)
        a.guard("one draw", (row.queue < 0) | (draw == 0), "a random number is drawn for a negative queue id only")
        a.set(row.queue, drawn(s, row, draw))
        a.set(row.appended, 1)
        a.set(row.phase, "answered")
        a.set(row.answer, "SUCCESS")


def log(s: Specification) -> None:
    """Scopes with a log."""
    scope, m = s.scope, s.model
    filled, segment, flushed = _some(s.filled), _some(s.segment), _some(s.flushed)
    offset, records, entries = _some(s.offset), _some(s.records), _some(s.entries)
    size, blank = s.given("file_size"), s.given("blank")

    def append(a: Body, p: Expr, draw: Expr) -> tuple[Row, Expr]:
        """APP-03, APP-04, APP-10: what a stored record does to the queue offset table and to the answer."""
        row, b = _accepted(s, a, p)
        a.guard("one draw", (row.queue < 0) | (draw == 0), "a random number is drawn for a negative queue id only")
        queue = drawn(s, row, draw)
        a.bound("queue in scope", queue < scope.queues, "the scope has a counter for the queue")
        key = offset[b, row.topic, queue]
        a.bound("offsets left", key < scope.offsets, "the scope counts that far")
        a.set(offset[b, row.topic, queue], key + 1, when=counted(row.kind))
        tally = records[b, row.topic, queue]
        a.set(records[b, row.topic, queue], tally + 1, when=counted(row.kind))
        a.set(row.offset, ite(counted(row.kind), key, 0))
        a.set(row.queue, queue)
        a.set(row.appended, 1)
        a.set(row.phase, "answered")
        a.set(row.answer, "SUCCESS")
        return row, b

    @s.handler(rules="APP-01 APP-03 APP-04 APP-10 APP-11 SEND-22", draw=scope.draws)
    def store(a: Body, p: Expr, draw: Expr) -> None:
        """The record fits: it is appended, gets the next queue offset and is answered with it."""
        row, b = append(a, p, draw)
        a.guard("fits", fits(row.size, filled[b], size, blank), "the record and the smallest blank fit into the file")
        a.set(filled[b], filled[b] + row.size)

    @s.handler(rules="APP-07 CL-07 CL-08 X7", draw=scope.draws)
    def roll(a: Body, p: Expr, draw: Expr) -> None:
        """The record does not fit: the file's rest becomes a blank, and the next file takes the record."""
        row, b = append(a, p, draw)
        a.guard("too large", ~fits(row.size, filled[b], size, blank), "the record and the smallest blank do not fit")
        a.guard("fits the next", fits(row.size, 0, size, blank), "an empty file has room for the record")
        a.bound("files left", segment[b] < scope.files - 1, "the scope has another file")
        a.set(segment[b], segment[b] + 1)
        a.set(filled[b], row.size)

    @s.handler(rules="CL-08")
    def acknowledge_lost(a: Body, p: Expr) -> None:
        """The record fits no file: both appends end in a blank, and SUCCESS is answered with the next queue offset (HAZ-22)."""
        row, b = _accepted(s, a, p)
        a.guard("queue id given", row.queue >= 0, "the queue id is given")
        a.guard("too large", ~fits(row.size, filled[b], size, blank), "the record and the smallest blank do not fit")
        a.guard("fits no file", ~fits(row.size, 0, size, blank), "not even an empty file has room")
        a.bound("queue in scope", row.queue < scope.queues, "the scope has a counter for the queue")
        a.bound("files left", segment[b] < scope.files - 1, "the scope has another file")
        a.set(segment[b], segment[b] + 1)
        a.set(filled[b], size)
        a.set(row.offset, ite(counted(row.kind), offset[b, row.topic, row.queue], 0))
        a.set(row.phase, "answered")
        a.set(row.answer, "SUCCESS")

    @m.action(actor=SERVICE, rules="REC-04", fair="weak", b=s.Broker, t=s.Topic, q=s.Queue)
    def dispatch(a: Body, b: Expr, t: Expr, q: Expr) -> None:
        """The dispatcher writes the next entry of a consume queue; prepared and rolled back records get none."""
        a.guard("broker runs", s.up[b], "the broker runs")
        a.guard("behind", entries[b, t, q] < records[b, t, q], "a record has no consume queue entry yet")
        a.set(entries[b, t, q], entries[b, t, q] + 1)

    @m.action(actor=SERVICE, rules="FLU-04 FLU-05", fair="weak", b=s.Broker)
    def flush(a: Body, b: Expr) -> None:
        """The flush service brings the flushed position up to the written one."""
        written = written_position(s, b)
        a.guard("broker runs", s.up[b], "the broker runs")
        a.guard("unflushed", flushed[b] < written, "something is written and not flushed")
        a.set(flushed[b], written)
