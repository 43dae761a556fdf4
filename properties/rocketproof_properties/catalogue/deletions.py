"""Deletion of topics (TCM-31): stale routes of name servers (HAZ-36), the queues' next offsets, and accepted messages (HAZ-18)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rocketproof_model import Expr, Row, after, exists, forall, implies
from rocketproof_spec import Specification
from rocketproof_spec.arithmetic import counted

from .claim import WITH_CASES, Case, Claim, append_now, cases, moves, second
from .log import stores
from .offsets import NEXT, TABLE
from .topics import CONTENT


def _deletes(s: Specification) -> bool:
    return s.scope.deletes and stores(s)


def _topics(s: Specification, body: Callable[[Expr, Expr], Expr], of: Any = forall) -> Expr:
    claim: Expr = of(s.Broker, lambda b: of(s.Topic, lambda t: body(b, t)))
    return claim


def _queues(s: Specification, body: Callable[[Expr, Expr, Expr], Expr], of: Any = forall) -> Expr:
    return _topics(s, lambda b, t: of(s.Queue, lambda q: body(b, t, q)), of)


def _outlived(s: Specification, b: Expr, t: Expr, q: Expr) -> Expr:
    table = s.log.outlived
    assert table is not None, "scopes in which topics are deleted have it"
    outlived: Expr = table[b, t, q]
    return outlived


def _gone(s: Specification, row: Row) -> Expr:
    """Whether the broker lacks the topic of its request."""
    gone: Expr = ~s.config[row.broker.get, row.topic].known
    return gone


def _counts(s: Specification, b: Expr, t: Expr, q: Expr) -> Expr:
    """Only a record increases the queue's offset."""
    stored = exists(s.Producer, lambda p: append_now(s, p) & (s.job[p].broker == b) & (s.job[p].topic == t))
    return implies(after(s.log.offset[b, t, q]) > s.log.offset[b, t, q], stored)


def _once(s: Specification) -> Expr:
    def holds_for(p: Expr) -> Expr:
        row = s.job[p]

        def at(b: Expr, t: Expr, q: Expr) -> Expr:
            here = append_now(s, p) & counted(row.kind) & (row.broker == b) & (row.topic == t) & (after(row.queue) == q)
            return implies(here, after(row.offset) >= _outlived(s, b, t, q))

        return _queues(s, at)

    return forall(s.Producer, holds_for)


def _ends(row: Row) -> Expr:
    return moves(row, "append", "answered")


ROUTED = Claim(
    "AUX-95",
    "when nothing is in progress, a name server lists no topic for a running broker that the broker does not have",
    "always",
    lambda s: implies(s.quiet, _topics(s, lambda b, t: implies(s.up[b] & (s.route[b, t].entries > 0), s.config[b, t].known))),
    _deletes,
)
AGAIN = Claim(
    "AUX-96",
    "a queue of a deleted topic starts at 0 again: only records increase its offset",
    "step",
    lambda s: _queues(s, lambda b, t, q: _counts(s, b, t, q)),
    _deletes,
)
ONCE = Claim(
    "AUX-99",
    "no queue offset is assigned twice, although the topic is deleted and created again in between",
    "step",
    _once,
    _deletes,
)
STORED = Claim(
    "AUX-97",
    "an accepted message is stored although its topic is deleted",
    "step",
    lambda s: forall(s.Producer, lambda p: implies(_ends(s.job[p]), after(s.job[p].appended) == 1)),
    _deletes,
)
MISSED = Claim(
    "AUX-98",
    "an accepted message is rejected only if its topic was deleted",
    "step",
    lambda s: forall(s.Producer, lambda p: implies(_ends(s.job[p]) & ~_gone(s, s.job[p]), after(s.job[p].answer) == "SUCCESS")),
    _deletes,
)
SETTLED = Claim(
    "AUX-100",
    "a queue that started at 0 again never continues at its old offset",
    "step",
    lambda s: _queues(
        s,
        lambda b, t, q: implies((_outlived(s, b, t, q) > 0) & (after(_outlived(s, b, t, q)) == 0), s.log.offset[b, t, q] == 0),
    ),
    _deletes,
)
STALE = Claim(
    "REA-164",
    "a name server lists a deleted topic although it received the broker's table after the deletion",
    "reachable",
    lambda s: _topics(
        s,
        lambda b, t: (
            s.live[b] & (s.version[b] > 0) & (s.live_version[b] == s.version[b]) & (s.route[b, t].entries > 0) & ~s.config[b, t].known
        ),
        exists,
    ),
    _deletes,
)
MADE_AGAIN = Claim(
    "REA-165",
    "a topic with records is deleted and created again, and its queue has a record with offset 0",
    "reachable",
    lambda s: _queues(
        s,
        lambda b, t, q: s.config[b, t].known & (s.creations[b, t] == 1) & (_outlived(s, b, t, q) > 0) & (s.log.records[b, t, q] == 1),
        exists,
    ),
    _deletes,
)
GONE = Claim(
    "REA-166",
    "the topic of an accepted message is deleted before the message is stored",
    "reachable",
    lambda s: exists(s.Producer, lambda p: (s.job[p].phase == "append") & _gone(s, s.job[p])),
    _deletes,
)
CLAIMS = [ROUTED, AGAIN, ONCE, SETTLED, STORED, MISSED, STALE, MADE_AGAIN, GONE]

_NONE: dict[str, Any] = {"condition": "no topic is deleted"}
_ONE: dict[str, Any] = {"condition": "a topic is deleted", "given": {"update_budget": 1}}
_OFF: dict[str, Any] = {
    "condition": "a topic is deleted, auto-create off, TBW102 from the file",
    "given": {"update_budget": 1, "auto_create": False, "template_in_file": True, "existing": True},
}
_TABLE = "TCM-31: a queue that has an entry is taken away, and starts again at 0"
_NO_ENTRY = "TCM-31: a queue that has no entry yet is not found, and goes on where it was"


def _cases(claim: Claim, expected: str, on: dict[str, Any], **more: Any) -> list[Case]:
    """Later name servers refuse a broker's first registration if it has one topic alone. Their cases start with an existing topic."""
    later = {"condition": f"{on['condition']}, and the topic exists at the start", "given": {**on.get("given", {}), "existing": True}}
    earlier = cases(claim, "deletions", expected, profiles=WITH_CASES[:-1], **on, **more)
    return [*earlier, *cases(claim, "deletions", expected, profiles=WITH_CASES[-1:], **later, **more)]


CASES: list[Case] = [
    *_cases(CONTENT, "holds", _ONE, reason="TCM-31: a topic that is deleted is a new version; TCM-13 needs auto-create off"),
    *cases(CONTENT, "deletions", "violated", profiles=WITH_CASES, **_OFF, reason="HAZ-02"),
    *second(CONTENT, "deletions", 6, **_OFF),
    *[case for claim in (ROUTED, AGAIN, ONCE, STORED) for case in _cases(claim, "holds", _NONE)],
    *_cases(ROUTED, "violated", _ONE, reason="HAZ-36: a deletion is not registered, and a registration without the topic removes nothing"),
    *_cases(STALE, "holds", _ONE, reason="HAZ-36, NS-04"),
    *[case for claim in (TABLE, NEXT) for case in _cases(claim, "holds", _ONE, reason=_TABLE)],
    *_cases(AGAIN, "violated", _ONE, reason=_NO_ENTRY),
    *_cases(ONCE, "violated", _ONE, reason=_TABLE),
    *_cases(SETTLED, "holds", _ONE),
    *_cases(MADE_AGAIN, "holds", _ONE, reason=_TABLE),
    *_cases(STORED, "violated", _ONE, reason="HAZ-18"),
    *[case for claim in (MISSED, GONE) for case in _cases(claim, "holds", _ONE, reason="HAZ-18, SEND-21")],
]
