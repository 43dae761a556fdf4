"""Queue offsets, and the consume queue entry of each (INV-34 to INV-36)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rocketproof_model import Expr, after, forall, implies, ite, maximum
from rocketproof_protocol.flags import INNER_BATCH
from rocketproof_spec import Specification
from rocketproof_spec.arithmetic import counted
from rocketproof_spec.controller import Controller
from rocketproof_spec.recovery import Recovery
from rocketproof_traces.audit.rules import Rule, rule
from rocketproof_traces.audit.vocabulary import counted as takes_offset
from rocketproof_traces.audit.vocabulary import vocabulary

from . import conditions as about
from .claim import SEEDS, Case, Claim, HistoryClaim, append_now, cases, history_cases, named
from .claim import about as claim_about
from .controller import CONTROLLED, REPLICAS
from .durability import ENDS, POWER
from .log import FIT, stores


def _cells(s: Specification, body: Callable[[Expr, Expr, Expr], Expr]) -> Expr:
    return forall(s.Broker, lambda b: forall(s.Topic, lambda t: forall(s.Queue, lambda q: body(b, t, q))))


def _next_offset(s: Specification) -> Expr:
    """A counted record is answered with the number of counted records before it in its queue."""
    records = s.log.records

    def holds_for(p: Expr) -> Expr:
        row = s.job[p]
        return _cells(
            s,
            lambda b, t, q: implies(
                append_now(s, p) & counted(row.kind) & (row.broker == b) & (row.topic == t) & (after(row.queue) == q),
                (after(row.offset) == records[b, t, q]) & (after(records[b, t, q]) == records[b, t, q] + 1),
            ),
        )

    return forall(s.Producer, holds_for)


def _prepared(s: Specification) -> Expr:
    table = s.log.offset
    return forall(
        s.Producer,
        lambda p: implies(
            append_now(s, p) & ~counted(s.job[p].kind),
            (after(s.job[p].offset) == 0) & _cells(s, lambda b, t, q: after(table[b, t, q]) == table[b, t, q]),
        ),
    )


def _table(s: Specification) -> Expr:
    offset, records = s.log.offset, s.log.records
    return _cells(s, lambda b, t, q: offset[b, t, q] == records[b, t, q])


def _entries(s: Specification) -> Expr:
    offset, records, entries = s.log.offset, s.log.records, s.log.entries
    return _cells(
        s,
        lambda b, t, q: (
            (entries[b, t, q] <= records[b, t, q]) & implies(entries[b, t, q] == records[b, t, q], entries[b, t, q] == offset[b, t, q])
        ),
    )


TABLE = Claim("INV-34", "the queue offset table has the number of NOT and COMMIT records of each queue", "always", _table, stores)
NEXT = Claim(
    "INV-34.next", "queue offsets of NOT and COMMIT records are 0, 1, 2 and so on, without gap or repetition", "step", _next_offset, stores
)
ZERO = Claim("INV-35", "PREPARED and ROLLBACK records have queue offset 0 and do not change the offset table", "step", _prepared, stores)
DISPATCHED = Claim(
    "INV-36", "a consume queue that has caught up has as many entries as the offset table counts", "always", _entries, stores
)
OFFSETS = Claim(
    "INV-34.start", "queue offsets continue without gap or repetition after a restart", "always", lambda r: ~r.odd, part=Recovery
)
ENTRIES = Claim(
    "INV-36.start",
    "a consume queue that has caught up has as many entries as the offset table counts, also after a restart",
    "always",
    lambda r: implies(r.up & (r.entries == r.written), r.offset == r.entries),
    part=Recovery,
)
ELECTED = Claim(
    "INV-34.controller", "queue offsets continue without gap or repetition under a new master", "always", lambda c: ~c.odd, part=Controller
)
CLAIMS = [TABLE, NEXT, ZERO, DISPATCHED, OFFSETS, ENTRIES, ELECTED]


def _offsets() -> list[Rule]:
    """The queue offsets of records, and their entries."""
    records = vocabulary()["record"]
    r = records.row
    inner = records.given["refuses_inner"] & ((r.sysFlag & INNER_BATCH) != 0)
    following = r.queueOffset + ite(inner, maximum(r.innerNumber, 1), 1)
    return [
        rule(
            "INV-34.stored",
            "the queue offsets of a queue's records are consecutive in the order of the log",
            "line", "error",
            (after(r.queueOffset) == following) | (after(r.queueOffset) == 0), following, after(r.queueOffset),
        ),
        rule(
            "INV-34.again",
            "a queue's offsets do not begin again at 0, as they do where the topic or the consume queue has been deleted",
            "line", "warning",
            (after(r.queueOffset) == following) | (after(r.queueOffset) != 0), following, after(r.queueOffset),
        ),
        rule("INV-34.sign", "a queue offset is not negative", "record", "error", r.queueOffset >= 0, 0, r.queueOffset),
        rule(
            "INV-35.stored",
            "a record that is prepared or rolled back takes no queue offset: it has 0",
            "record", "error",
            implies(~takes_offset(r), r.queueOffset == 0), 0, r.queueOffset,
        ),
        rule(
            "INV-36.stored",
            "every record that takes a queue offset has its entry in the consume queue",
            "record", "warning",
            implies(takes_offset(r) & r.entryKnown, r.entryThere), True, r.entryThere,
        ),
    ]  # fmt: skip


def _first() -> list[Rule]:
    q = vocabulary()["queue"].row
    begins = (q.records > 0) & ((q.logStart == 0) | (q.entriesKnown & (q.entries > 0)))
    first = ite(q.logStart == 0, 0, q.firstEntry)
    return [
        rule(
            "INV-34.first",
            "a queue's first record has queue offset 0 or, in a log that has been cleaned, the least one of its consume queue",
            "queue", "error",
            implies(begins, q.firstQueueOffset == first), first, q.firstQueueOffset,
        ),
    ]  # fmt: skip


def _ledger() -> list[Rule]:
    """DLedger entries, which contain the records."""
    e = vocabulary()["ledger"].row
    return [
        rule(
            "INV-34.ledger",
            "the indices of DLedger's entries are consecutive",
            "ledgers", "error",
            after(e.index) == e.index + 1, e.index + 1, after(e.index),
        ),
        rule(
            "INV-36.ledger",
            "every DLedger entry is in the index beside the log",
            "ledger", "warning",
            implies(e.indexKnown, e.indexThere), True, e.indexThere,
        ),
    ]  # fmt: skip


RULES = [*_offsets(), *_first(), *_ledger()]


def _histories() -> list[HistoryClaim]:
    q = vocabulary()["counter"].row
    uncounted = "prepared and rolled-back records have queue offset 0 and count in no queue"
    return [
        HistoryClaim(
            "INV-34.records",
            "the counted records of a queue have the offsets 0, 1, 2, … in the order of the log",
            named(RULES, "INV-34.stored", "INV-34.again", "INV-34.first"),
        ),
        HistoryClaim(
            "INV-35.records",
            uncounted,
            (
                *named(RULES, "INV-35.stored"),
                rule("INV-35.next", uncounted, "counter", "error", implies(q.known, q.nextOffset == q.records), q.records, q.nextOffset),
            ),
        ),
        claim_about(
            "INV-36.records",
            "once everything is dispatched, a queue has as many entries as its next offset",
            "counter",
            q.entries == q.nextOffset, q.nextOffset, q.entries,
        ),
    ]  # fmt: skip


HISTORY = _histories()

_FAR = 2**61
_OFFSETS = tuple((name, _FAR) for name in ("offset", "records", "entries", "job.offset"))
_OFFSET_PROOF: dict[str, Any] = {
    "engines": ("symbolic",),
    "method": "induction:1",
    "widen": _OFFSETS,
    "lemmas": ("AUX-01", "INV-34"),
    "condition": "all offsets below 2^61",
}
_NOT_REBUILT: dict[str, Any] = {
    "condition": "synchronous flush, the power fails, the consume queue not rebuilt", "given": {"rebuilds": False, "power_budget": 1}
}  # fmt: skip

_SHORT = "REC-03: the next offset is the consume queue's length; the implementation always builds it anew"

_UNCOUNTED: dict[str, Any] = {
    "condition": "a controller, a new master counts what is dispatched (to 5.1.4)",
    "given": {"crash_budget": 1, "counts_log": False},
    **CONTROLLED,
}
_GOES_BACK: dict[str, Any] = {
    "condition": "a controller, a master elected again counts what is dispatched (5.1.0)",
    "given": {"keeps_offset": False},
    **CONTROLLED,
}

CASES: list[Case] = [
    *[c for claim in (TABLE, NEXT, ZERO, DISPATCHED) for c in cases(claim, "store", "holds", **FIT)],
    *[c for claim in (TABLE, NEXT, ZERO, DISPATCHED) for c in cases(claim, "store", "holds", **_OFFSET_PROOF)],
    *[c for claim in (OFFSETS, ENTRIES) for on in (ENDS, POWER) for c in cases(claim, "recovery", "holds", **on)],
    *cases(ELECTED, "controller", "holds", **REPLICAS),
    *cases(ELECTED, "controller", "violated", **_UNCOUNTED, reason="apache/rocketmq 7689: the table is made of what was dispatched"),
    *cases(ELECTED, "controller", "violated", **_GOES_BACK, reason="apache/rocketmq 6344: the table is made anew behind the records"),
    *cases(OFFSETS, "recovery", "violated", engines=("symbolic",), method="bounded:4", **_NOT_REBUILT, reason=_SHORT),
]

_IN_ORDER, _, _DISPATCHED = HISTORY

_COUNTED = {"P510": "violated"}
_GAP = "APP-03: 5.0 and 5.1.0 give a message its offset before they know whether they can store it"
HISTORY_CASES: list[Case] = [
    *[case for claim in HISTORY for case in history_cases(claim, about.ANYTHING, "holds")],
    *[case for condition in (about.CRASHED, about.WAITING) for case in history_cases(_IN_ORDER, condition, "holds")],
    *history_cases(_DISPATCHED, about.CRASHED, "holds"),
    *history_cases(_IN_ORDER, about.REFUSED, {**dict.fromkeys(SEEDS, "holds"), **_COUNTED}, reason=_GAP),
    *history_cases(_IN_ORDER, about.TOO_LARGE, _COUNTED, reason=_GAP),
]
