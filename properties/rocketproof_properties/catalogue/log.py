"""The log: an acknowledged message is in it once; and the free space at the ends of its files (INV-06, INV-07, INV-38, ACT-03)."""

from __future__ import annotations

from typing import Any

from rocketproof_model import Expr, after, all_of, any_of, exists, forall, implies
from rocketproof_spec import Specification
from rocketproof_spec.arithmetic import has_room, proper_position
from rocketproof_spec.controller import Controller
from rocketproof_spec.recovery import Recovery
from rocketproof_spec.store import written_position
from rocketproof_traces.audit.rules import Rule, rule
from rocketproof_traces.audit.vocabulary import accepted, sends, vocabulary
from rocketproof_traces.audit.vocabulary import stores as code_stores
from rocketproof_traces.stored.layout import BLANK_SIZE

from . import conditions as about
from .claim import ERRORS, SEEDS, Case, Claim, HistoryClaim, answered, cases, condition, effect, history_cases, moves, named, second, wide
from .claim import about as claim_about
from .controller import CONTROLLED, REPLICAS
from .controller import POWER as FAILS
from .durability import ENDS, POWER


def stores(s: Specification) -> bool:
    """Whether the scope has a log."""
    return s.scope.store


def _positions(s: Specification) -> Expr:
    flushed = s.log.flushed

    def holds_for(b: Expr) -> Expr:
        written = written_position(s, b)
        forward: Expr = (after(written) >= written) & (flushed[b] <= written) & (after(flushed[b]) >= flushed[b])
        return forward

    return forall(s.Broker, holds_for)


def _behind(s: Specification) -> Expr:
    flushed = s.log.flushed
    return forall(s.Broker, lambda b: flushed[b] <= written_position(s, b))


def _free(s: Specification) -> Expr:
    filled = s.log.filled
    return forall(s.Broker, lambda b: proper_position(filled[b], s.given("file_size"), s.given("blank")))


def _free_all(s: Specification) -> Expr:
    """From a proper position each of the three appends leads to a proper position, for all sizes in Java's int range."""
    store, roll, lost = (s.model.named(name) for name in ("store", "roll", "acknowledge_lost"))
    p = Expr("par", ("p",), s.Producer)
    filled, size, blank = (wide(x) for x in (s.log.filled[s.job[p].broker.get], s.given("file_size"), s.given("blank")))
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
    """A step that answers SUCCESS extends the log by the record, in its file or at the start of the next file."""
    filled, segment = s.log.filled, s.log.segment

    def at(p: Expr, b: Expr) -> Expr:
        row = s.job[p]
        acknowledged = moves(row, "append", "answered") & (row.broker == b) & (after(row.answer) == "SUCCESS")
        behind = (after(segment[b]) == segment[b]) & (after(filled[b]) == filled[b] + row.size)
        first = (after(segment[b]) == segment[b] + 1) & (after(filled[b]) == row.size)
        return implies(acknowledged, behind | first)

    return forall(s.Producer, lambda p: forall(s.Broker, lambda b: at(p, b)))


def _written_not(s: Specification) -> Expr:
    """A step that answers an error leaves the log unchanged."""
    filled, segment = s.log.filled, s.log.segment

    def at(p: Expr, b: Expr) -> Expr:
        row = s.job[p]
        refused = (row.phase != "answered") & (after(row.phase) == "answered") & any_of(after(row.answer) == code for code in ERRORS)
        return implies(refused & (row.broker == b), (after(segment[b]) == segment[b]) & (after(filled[b]) == filled[b]))

    return forall(s.Producer, lambda p: forall(s.Broker, lambda b: at(p, b)))


def _rolled(s: Specification, *, flushed: bool) -> Expr:
    segment, position = s.log.segment, s.log.flushed
    return exists(s.Broker, lambda b: (segment[b] > 0) & ((position[b] == written_position(s, b)) | (not flushed)))


STORED = Claim(
    "INV-06",
    "SUCCESS means that exactly one record was appended",
    "step",
    _written_once,
    stores,
)
NOTHING = Claim(
    "INV-07",
    "an error response means that no record was appended",
    "always",
    lambda s: forall(s.Producer, lambda p: implies(answered(s.job[p], *ERRORS), s.job[p].appended == 0)),
    lambda s: not stores(s),
)
NOTHING_WRITTEN = Claim("INV-07.log", NOTHING.sentence, "step", _written_not, stores)
ROOM = Claim("INV-38", "the free space of a file is 0 or at least the smallest blank", "always", _free, stores)
ROOM_ALL = Claim("INV-38.lemma", ROOM.sentence, "lemma", _free_all, stores)
FORWARD = Claim(
    "ACT-03", "the written and the flushed position never decrease, and flushed never exceeds written", "step", _positions, stores
)
ROLLED = Claim("REA-20", "a record that does not fit goes to the next file", "reachable", lambda s: _rolled(s, flushed=False), stores)
FLUSHED = Claim("REA-21", "the whole log is flushed after a roll", "reachable", lambda s: _rolled(s, flushed=True), stores)

PLACED = Claim(
    "AUX-01",
    "a request in progress is at a broker, and only a request with a response has stored anything",
    "always",
    lambda s: forall(
        s.Producer,
        lambda p: ((s.job[p].phase == "idle") | s.job[p].broker.is_some) & ((s.job[p].phase == "answered") | (s.job[p].appended == 0)),
    ),
)
BEHIND = Claim("AUX-02", "the flushed position never exceeds the written position", "always", _behind, stores)


SURVIVES = Claim(
    "INV-06.start",
    "a record whose put was acknowledged exists after a restart",
    "always",
    lambda r: implies(r.up, r.acknowledged <= r.written),
    part=Recovery,
)
KEPT = Claim(
    "INV-06.controller",
    "a record that was acknowledged is in the log of every later master",
    "always",
    lambda c: implies(
        c.master.is_some,
        forall(c.Place, lambda k: (c.acknowledged[k] == 0) | (c.log[c.master.get, k] == c.acknowledged[k])),
    ),
    part=Controller,
)
CONFIRMED = Claim(
    "ACT-03.controller",
    "the confirmed and the dispatched position are within the log of a running replica",
    "always",
    lambda c: forall(c.Replica, lambda r: implies(c.up[r], (c.confirmed[r] <= c.length[r]) & (c.entries[r] <= c.length[r]))),
    part=Controller,
)
WITHIN = Claim(
    "ACT-03.start", "the consume queue and the flushed position are within the log of a running broker", "always",
    lambda r: implies(r.up, (r.entries <= r.written) & (r.forced <= r.entries) & (r.flushed <= r.written)), part=Recovery,
)  # fmt: skip


def _files() -> list[Rule]:
    f = vocabulary()["file"].row
    rest = f.size - f.end
    return [
        rule(
            "INV-38.stored",
            "what is left of a file behind its last record is nothing or at least 8 bytes",
            "file", "error",
            has_room(rest, BLANK_SIZE), BLANK_SIZE, rest,
        ),
        rule(
            "INV-06.stored",
            "a file of the log begins with a record: a message too large for any file was acknowledged, and left nothing but blanks",
            "file", "error",
            f.ledger | ~((f.end == 0) & (f.blank > 0)), 0, f.blank,
        ),
        rule(
            "INV-06.ledger",
            "a file of DLedger's log begins with an entry: a message too large for any file was refused, and left nothing but blanks",
            "file", "note",
            ~f.ledger | ~((f.end == 0) & (f.blank > 0)), 0, f.blank,
        ),
    ]  # fmt: skip


RULES = _files()


def _histories() -> list[HistoryClaim]:
    e = vocabulary()["exchange"].row
    stored = (e.stored == e.messages) & e.sameBodies
    refused = (sends(e) | (e.kind == "send_back")) & (e.answers > 0) & ~code_stores(e)
    return [
        claim_about(
            "INV-06.records",
            "an acknowledged message is stored as one record with the body that was sent",
            "exchange",
            implies(accepted(e) & sends(e), stored), e.messages, e.stored,
        ),
        claim_about(
            "INV-07.records",
            "a send or send-back with an error response appends no record",
            "exchange",
            implies(refused, e.stored == 0), 0, e.stored,
        ),
        HistoryClaim("INV-38.records", "after a record, its file is full or has space for a blank", named(RULES, "INV-38.stored")),
    ]  # fmt: skip


HISTORY = _histories()

CLAIMS = [PLACED, BEHIND, STORED, NOTHING, NOTHING_WRITTEN, ROOM, ROOM_ALL, FORWARD, ROLLED, FLUSHED, SURVIVES, WITHIN, KEPT, CONFIRMED]
_LARGE = {"condition": "a message larger than a file"}
FIT = {"condition": "every message fits a file", "given": {"size_limit": 4, "existing": True}}
_POSITION_PROOF: dict[str, Any] = {
    "engines": ("symbolic",),
    "method": "induction:1",
    "lemmas": ("AUX-01", "AUX-02", "INV-34", "INV-38"),
    "condition": "all files below 2^40",
    "widen": (("segment", 2**40), ("flushed", 2**44)),
}

_ASYNC: dict[str, Any] = {"condition": "asynchronous flush, the power fails", "given": {"sync": False, "power_budget": 1}}
_JOINING: dict[str, Any] = {
    "condition": "a controller, a replica that is being added does not count (5.1.0)",
    "given": {"crash_budget": 1, "widens": False},
    **CONTROLLED,
}
_AT_ONCE: dict[str, Any] = {
    "condition": "a controller, clients wait for nobody",
    "given": {"crash_budget": 1, "waits": False},
    **CONTROLLED,
}
_UNCUT: dict[str, Any] = {
    "condition": "a controller, the power fails, and what was confirmed is not cut off (5.1.0)",
    "given": {"power_budget": 1, "cuts_confirmed": False},
    **CONTROLLED,
}

CASES: list[Case] = [
    *[c for claim in (PLACED, BEHIND) for c in cases(claim, "store", "holds", **FIT)],
    *cases(STORED, "store", "violated", given={"existing": True}, **_LARGE, reason="HAZ-22"),
    *second(STORED, "store", 4, given={"existing": True}, **_LARGE),
    *cases(STORED, "store", "holds", **FIT),
    *[c for claim in (KEPT, CONFIRMED) for c in cases(claim, "controller", "holds", **REPLICAS)],
    *cases(KEPT, "controller", "violated", **_JOINING, reason="apache/rocketmq 5663: it does not count until the controller has added it"),
    *cases(KEPT, "controller", "violated", **_AT_ONCE, reason="nobody but the master needs to have the record"),
    *cases(KEPT, "controller", "violated", **FAILS, reason="a replica that is alone in sync loses what it has not flushed"),
    *cases(CONFIRMED, "controller", "holds", **FAILS),
    *cases(CONFIRMED, "controller", "violated", **_UNCUT, reason="apache/rocketmq 6703: the checkpoint says more than the log has"),
    *cases(NOTHING, "creation", "holds", condition="auto-create on"),
    *cases(
        NOTHING_WRITTEN,
        "names",
        "holds",
        condition="every class of name, auto-create off",
        given={"auto_create": False, "template_in_file": True},
    ),
    *[c for claim in (ROOM, FORWARD, ROLLED, FLUSHED) for c in cases(claim, "store", "holds", **FIT)],
    *cases(ROOM, "store", "holds", given={"existing": True}, **_LARGE),
    *cases(ROOM_ALL, "store", "holds", engines=("symbolic",), method="lemma", condition="all 32-bit ints"),
    *cases(FORWARD, "store", "holds", **_POSITION_PROOF),
    *cases(SURVIVES, "recovery", "holds", **ENDS),
    *cases(SURVIVES, "recovery", "holds", **POWER),
    *cases(SURVIVES, "recovery", "violated", **_ASYNC, reason="FLU-04: nothing is awaited"),
    *second(SURVIVES, "recovery", 4, **_ASYNC),
    *[c for on in (ENDS, POWER) for c in cases(WITHIN, "recovery", "holds", **on)],
]

_WHOLE, _REFUSED, _ = HISTORY

HISTORY_CASES: list[Case] = [
    *[case for claim in HISTORY for case in history_cases(claim, about.ANYTHING, "holds")],
    *history_cases(_REFUSED, about.BUSY, "holds"),
    *history_cases(_WHOLE, about.TOO_LARGE, "violated", reason="HAZ-22: what comes of the second append is not looked at"),
    *[case for condition in (about.CRASHED, about.WAITING) for case in history_cases(_WHOLE, condition, "holds")],
    *history_cases(
        _WHOLE,
        about.WIDE_NAMES,
        {**dict.fromkeys(SEEDS, "violated"), "P533": "holds"},
        reason="HAZ-49: a start ends the log at a name with so many bytes; P533 refuses such groups",
    ),
    *history_cases(
        _WHOLE,
        about.OWN_PROPERTIES,
        {"P40": "holds", "P45": "holds", "P49": "violated"},
        reason="HAZ-50: a batch gets CLUSTER behind the test",
    ),
    *history_cases(_WHOLE, about.LONGER_HOSTS, {"P49": "violated"}, reason="HAZ-51: a start ends the log at hosts that are not as long"),
    *history_cases(_WHOLE, about.HASTY, "violated", reason="what was answered was not forced, and the power took it"),
]
