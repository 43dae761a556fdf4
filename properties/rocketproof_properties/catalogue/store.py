"""The store: what is acknowledged is there, once, at its offset (INV-06, INV-07, INV-34 to INV-36, INV-38, ACT-03)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rocketproof_model import Expr, after, all_of, any_of, exists, forall, implies
from rocketproof_model.specification import Specification
from rocketproof_model.specification.arithmetic import counted, proper_position
from rocketproof_model.specification.store import written_position

from .claim import ERRORS, Case, Claim, answered, append_now, cases, condition, effect, moves, second, wide


def _log(s: Specification) -> bool:
    return s.scope.store


def _cells(s: Specification, body: Callable[[Expr, Expr, Expr], Expr]) -> Expr:
    return forall(s.Broker, lambda b: forall(s.Topic, lambda t: forall(s.Queue, lambda q: body(b, t, q))))


def _next_offset(s: Specification) -> Expr:
    """A counted record is answered with the number of counted records before it in its queue."""
    assert s.offset is not None and s.records is not None
    records = s.records

    def one(p: Expr) -> Expr:
        row = s.job[p]
        return _cells(
            s,
            lambda b, t, q: implies(
                append_now(s, p) & counted(row.kind) & (row.broker == b) & (row.topic == t) & (after(row.queue) == q),
                (after(row.offset) == records[b, t, q]) & (after(records[b, t, q]) == records[b, t, q] + 1),
            ),
        )

    return forall(s.Producer, one)


def _prepared(s: Specification) -> Expr:
    assert s.offset is not None
    table = s.offset
    return forall(
        s.Producer,
        lambda p: implies(
            append_now(s, p) & ~counted(s.job[p].kind),
            (after(s.job[p].offset) == 0) & _cells(s, lambda b, t, q: after(table[b, t, q]) == table[b, t, q]),
        ),
    )


def _table(s: Specification) -> Expr:
    assert s.offset is not None and s.records is not None
    offset, records = s.offset, s.records
    return _cells(s, lambda b, t, q: offset[b, t, q] == records[b, t, q])


def _entries(s: Specification) -> Expr:
    assert s.offset is not None and s.records is not None and s.entries is not None
    offset, records, entries = s.offset, s.records, s.entries
    return _cells(
        s,
        lambda b, t, q: (
            (entries[b, t, q] <= records[b, t, q]) & implies(entries[b, t, q] == records[b, t, q], entries[b, t, q] == offset[b, t, q])
        ),
    )


def _positions(s: Specification) -> Expr:
    assert s.flushed is not None
    flushed = s.flushed

    def one(b: Expr) -> Expr:
        written = written_position(s, b)
        forward: Expr = (after(written) >= written) & (flushed[b] <= written) & (after(flushed[b]) >= flushed[b])
        return forward

    return forall(s.Broker, one)


def _behind(s: Specification) -> Expr:
    assert s.flushed is not None
    flushed = s.flushed
    return forall(s.Broker, lambda b: flushed[b] <= written_position(s, b))


def _free(s: Specification) -> Expr:
    assert s.filled is not None
    filled = s.filled
    return forall(s.Broker, lambda b: proper_position(filled[b], s.given("file_size"), s.given("blank")))


def _free_all(s: Specification) -> Expr:
    """From a proper position each of the three appends leads to a proper one, for all sizes in Java's ints."""
    assert s.filled is not None
    store, roll, lost = (s.model.named(name) for name in ("store", "roll", "acknowledge_lost"))
    p = Expr("par", ("p",), s.Producer)
    filled, size, blank = (wide(x) for x in (s.filled[s.job[p].broker.get], s.given("file_size"), s.given("blank")))
    record = wide(s.job[p].size)
    before = proper_position(filled, size, blank) & (blank >= 1) & (size >= blank) & (filled >= 0) & (record >= 1)
    outcomes = [(store, ("fits",)), (roll, ("too large", "fits the next")), (lost, ("too large", "fits no file"))]
    return implies(
        before,
        all_of(
            implies(all_of(wide(condition(action, g)) for g in guards), proper_position(wide(effect(action, "filled")), size, blank))
            for action, guards in outcomes
        ),
    )


def _written_once(s: Specification) -> Expr:
    """The step that answers SUCCESS makes the log longer by the record: in its file, or at the start of the next one."""
    assert s.filled is not None and s.segment is not None
    filled, segment = s.filled, s.segment

    def at(p: Expr, b: Expr) -> Expr:
        row = s.job[p]
        acknowledged = moves(row, "append", "answered") & (row.broker == b) & (after(row.answer) == "SUCCESS")
        behind = (after(segment[b]) == segment[b]) & (after(filled[b]) == filled[b] + row.size)
        first = (after(segment[b]) == segment[b] + 1) & (after(filled[b]) == row.size)
        return implies(acknowledged, behind | first)

    return forall(s.Producer, lambda p: forall(s.Broker, lambda b: at(p, b)))


def _written_not(s: Specification) -> Expr:
    """The step that answers an error leaves the log as it is."""
    assert s.filled is not None and s.segment is not None
    filled, segment = s.filled, s.segment

    def at(p: Expr, b: Expr) -> Expr:
        row = s.job[p]
        refused = (row.phase != "answered") & (after(row.phase) == "answered") & any_of(after(row.answer) == code for code in ERRORS)
        return implies(refused & (row.broker == b), (after(segment[b]) == segment[b]) & (after(filled[b]) == filled[b]))

    return forall(s.Producer, lambda p: forall(s.Broker, lambda b: at(p, b)))


def _rolled(s: Specification, *, flushed: bool) -> Expr:
    assert s.segment is not None and s.flushed is not None
    segment, position = s.segment, s.flushed
    return exists(s.Broker, lambda b: (segment[b] > 0) & ((position[b] == written_position(s, b)) | (not flushed)))


STORED = Claim(
    "INV-06",
    "SUCCESS means that exactly one record was appended",
    "step",
    _written_once,
    _log,
)
NOTHING = Claim(
    "INV-07",
    "an error answer means that no record was appended",
    "always",
    lambda s: forall(s.Producer, lambda p: implies(answered(s.job[p], *ERRORS), s.job[p].appended == 0)),
    lambda s: not _log(s),
)
NOTHING_WRITTEN = Claim("INV-07.log", NOTHING.sentence, "step", _written_not, _log)
TABLE = Claim("INV-34", "the queue offset table counts the NOT and COMMIT records of each queue", "always", _table, _log)
NEXT = Claim(
    "INV-34.next", "queue offsets of NOT and COMMIT records are 0, 1, 2 and so on, without gap or repetition", "step", _next_offset, _log
)
ZERO = Claim("INV-35", "PREPARED and ROLLBACK records have queue offset 0 and leave the table as it is", "step", _prepared, _log)
DISPATCHED = Claim("INV-36", "a consume queue that has caught up has as many entries as the table counts", "always", _entries, _log)
ROOM = Claim("INV-38", "the free space of a file is 0 or at least a smallest blank", "always", _free, _log)
ROOM_ALL = Claim("INV-38.lemma", ROOM.sentence, "lemma", _free_all, _log)
FORWARD = Claim("ACT-03", "the written and the flushed position never go back, and flushed never passes written", "step", _positions, _log)
ROLLED = Claim("REA-20", "a record rolls into the next file", "reachable", lambda s: _rolled(s, flushed=False), _log)
FLUSHED = Claim("REA-21", "the whole log is flushed after a roll", "reachable", lambda s: _rolled(s, flushed=True), _log)

PLACED = Claim(
    "AUX-01",
    "a request under way is at a broker, and only an answered one has stored anything",
    "always",
    lambda s: forall(
        s.Producer,
        lambda p: ((s.job[p].phase == "idle") | s.job[p].broker.is_some) & ((s.job[p].phase == "answered") | (s.job[p].appended == 0)),
    ),
)
BEHIND = Claim("AUX-02", "the flushed position does not pass the written one", "always", _behind, _log)

CLAIMS = [PLACED, BEHIND, STORED, NOTHING, NOTHING_WRITTEN, TABLE, NEXT, ZERO, DISPATCHED, ROOM, ROOM_ALL, FORWARD, ROLLED, FLUSHED]
_LARGE = {"condition": "a message larger than a file"}
_FIT = {"condition": "every message fits a file", "given": {"size_limit": 4, "existing": True}}
_FAR = 2**61
_OFFSETS = tuple((name, _FAR) for name in ("offset", "records", "entries", "job.offset"))
_OFFSET_PROOF: dict[str, Any] = {
    "engines": ("symbolic",),
    "method": "induction:1",
    "widen": _OFFSETS,
    "lemmas": ("AUX-01", "INV-34"),
    "condition": "all offsets below 2^61",
}
_POSITION_PROOF: dict[str, Any] = {
    "engines": ("symbolic",),
    "method": "induction:1",
    "lemmas": ("AUX-01", "AUX-02", "INV-34", "INV-38"),
    "condition": "all files below 2^40",
    "widen": (("segment", 2**40), ("flushed", 2**44)),
}

CASES: list[Case] = [
    *[c for claim in (PLACED, BEHIND) for c in cases(claim, "store", "holds", **_FIT)],
    *cases(STORED, "store", "violated", given={"existing": True}, **_LARGE, reason="HAZ-22"),
    *second(STORED, "store", 4, given={"existing": True}, **_LARGE),
    *cases(STORED, "store", "holds", **_FIT),
    *cases(NOTHING, "creation", "holds", condition="auto-create on"),
    *cases(
        NOTHING_WRITTEN,
        "names",
        "holds",
        condition="every class of name, auto-create off",
        given={"auto_create": False, "template_in_file": True},
    ),
    *[c for claim in (TABLE, NEXT, ZERO, DISPATCHED, ROOM, FORWARD, ROLLED, FLUSHED) for c in cases(claim, "store", "holds", **_FIT)],
    *cases(ROOM, "store", "holds", given={"existing": True}, **_LARGE),
    *cases(ROOM_ALL, "store", "holds", engines=("symbolic",), method="lemma", condition="all 32-bit ints"),
    *[c for claim in (TABLE, NEXT, ZERO, DISPATCHED) for c in cases(claim, "store", "holds", **_OFFSET_PROOF)],
    *cases(FORWARD, "store", "holds", **_POSITION_PROOF),
]
