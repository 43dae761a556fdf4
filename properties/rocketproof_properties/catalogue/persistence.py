"""The topic table's file under faults: the result of a restart (INV-22, INV-26 to INV-29), and the reachable crash windows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from rocketproof_model import Expr, Row, after, all_of, implies
from rocketproof_spec.persistence import Persistence, loaded, loads
from rocketproof_traces.audit.rules import Rule, rule
from rocketproof_traces.audit.vocabulary import is_, vocabulary

from .claim import Case, Claim, cases, second

_EMPTY: frozenset[int] = frozenset()


def _starts(p: Persistence) -> Expr:
    """Whether the step is a start that load() allows."""
    start: Expr = (p.life == "down") & (after(p.life) == "runs")
    return start


def _tries(p: Persistence) -> Expr:
    start: Expr = (p.life == "down") & (after(p.life) != "down")
    return start


def _inside(p: Persistence) -> Expr:
    """Whether the process ended during a persist."""
    return p.phase != "idle"


def _has(table: Expr, topics: Expr) -> Expr:
    return (table & topics) == topics


def _in_file(p: Persistence) -> Expr:
    return _has(p.main.topics, p.registered)


def _recoverable(p: Persistence) -> Expr:
    return loads(p.main, p.bak) & _has(loaded(p.main, p.bak), p.registered)


def _old_or_new(p: Persistence) -> Expr:
    old = loaded(p.old, p.backup)
    filed = (p.old.text == "whole") | (p.backup.text == "whole")
    good = (after(p.life) == "runs") & ((after(p.memory) == p.new) | (filed & (after(p.memory) == old)))
    return implies(_tries(p) & _inside(p), good)


def _present(p: Persistence) -> Expr:
    return implies(_tries(p), (after(p.life) == "runs") & _has(after(p.memory), p.promised))


def _nothing(p: Persistence) -> Expr:
    return implies(_starts(p) & p.written, after(p.memory) != _EMPTY)


def _parsable(p: Persistence) -> Expr:
    return implies(p.promised != _EMPTY, (p.main.text == "whole") | (p.bak.text == "whole"))


def _whole(row: Row, topics: Expr) -> Expr:
    return (row.text == "whole") & (row.topics == topics)


def _broken(row: Row) -> Expr:
    return (row.text == "empty") | (row.text == "broken")


_ROWS: list[tuple[str, str, Callable[[Persistence], Expr], Callable[[Persistence], Expr]]] = [
    ("REA-30", "before the first step: main file and backup are unchanged", lambda p: p.phase == "begun", lambda p: _unchanged(p, p.bak)),
    (
        "REA-31",
        "while the temporary file is written: it is partial; main file and backup are unchanged",
        lambda p: (p.phase == "tmp truncated") | (p.phase == "tmp half"),
        lambda p: _unchanged(p, p.bak) & _broken(p.tmp),
    ),
    (
        "REA-32",
        "after the temporary file is written: it is complete; main file and backup are unchanged",
        lambda p: p.phase == "tmp written",
        lambda p: _unchanged(p, p.bak) & _whole(p.tmp, p.new),
    ),
    (
        "REA-33",
        "while the backup is written: it is partial, and only the main file is complete",
        lambda p: (p.phase == "bak truncated") | (p.phase == "bak half"),
        lambda p: (p.main == p.old) & _broken(p.bak) & _whole(p.tmp, p.new),
    ),
    (
        "REA-34",
        "after the backup is written: main file and backup are both the old file",
        lambda p: p.phase == "bak written",
        lambda p: (p.main == p.old) & (p.bak == p.old) & _whole(p.tmp, p.new),
    ),
    (
        "REA-35",
        "between delete and rename: no main file, an old backup, and the new table only in the temporary file",
        lambda p: (p.phase == "main deleted") & (p.old.text != "missing"),
        lambda p: (p.main.text == "missing") & (p.bak == p.old) & _whole(p.tmp, p.new),
    ),
    (
        "REA-36",
        "between delete and rename without an old file: no main file and no backup; a restart finds no topic",
        lambda p: (p.phase == "main deleted") & (p.old.text == "missing"),
        lambda p: (p.main.text == "missing") & (p.bak == p.backup) & _whole(p.tmp, p.new),
    ),
    (
        "REA-37",
        "after the rename: the main file is new, and there is no temporary file",
        lambda p: p.phase == "idle",
        lambda p: _whole(p.main, p.promised) & (p.tmp.text == "missing"),
    ),
]


def _unchanged(p: Persistence, bak: Row) -> Expr:
    return (p.main == p.old) & (bak == p.backup)


def _ended(p: Persistence) -> Expr:
    return p.life == "down"


def _windows(p: Persistence) -> Expr:
    """Every crash window of PER-05 inside a persist leaves the files that its row in the table describes."""
    return implies(_ended(p) & _inside(p), all_of(implies(at(p), left(p)) for _, _, at, left in _ROWS[:-1]))


def _row(p: Persistence, at: Callable[[Persistence], Expr], left: Callable[[Persistence], Expr]) -> Expr:
    return _ended(p) & at(p) & left(p)


def _copied(p: Persistence, text: str) -> Expr:
    """Whether the process ended between delete and rename, and the backup is a copy of a main file that a power loss had corrupted."""
    return _ended(p) & (p.phase == "main deleted") & (p.old.text == text) & (p.bak.text == text) & (p.promised != _EMPTY)


def _claim(id_: str, sentence: str, kind: Any, formula: Callable[[Persistence], Any]) -> Claim:
    return Claim(id_, sentence, kind, formula, part=Persistence)


IN_FILE = _claim("INV-22", "a registered topic is in the file", "always", _in_file)
RECOVERABLE = _claim("INV-22.start", "a restart would find every registered topic, in the file or in its backup", "always", _recoverable)
OLD_OR_NEW = _claim(
    "INV-26", "after a crash inside persist, a restart finds the table of the old file or of the new file", "step", _old_or_new
)
PRESENT = _claim("INV-27", "a restart finds every topic whose persist returned before the crash", "step", _present)
NOTHING = _claim("INV-28", "a restart finds no topic only if no complete table was ever on the disk", "step", _nothing)
PARSABLE = _claim("INV-29", "once persist has returned, the main file or the backup can be parsed", "always", _parsable)
WINDOWS = _claim("AUX-10", "a crash inside persist leaves the files in the state of its crash window", "always", _windows)
ROWS = [_claim(id_, f"crash {sentence}", "reachable", partial(_row, at=at, left=left)) for id_, sentence, at, left in _ROWS]
UNSYNCED = _claim(
    "REA-38",
    "power loss after the rename: the main file is empty or garbage, and a restart finds the older table of the backup",
    "reachable",
    lambda p: _ended(p) & (p.phase == "idle") & _broken(p.main) & (p.bak.text == "whole") & ~_has(p.bak.topics, p.promised),
)
GARBAGE_BACKUP = _claim(
    "REA-39",
    "a garbage main file is copied over the good backup; a crash before the rename; load() returns false",
    "reachable",
    lambda p: _copied(p, "broken"),
)
EMPTY_BACKUP = _claim(
    "REA-40",
    "an empty main file is copied over the good backup; a crash before the rename; load() finds no topic",
    "reachable",
    lambda p: _copied(p, "empty"),
)
SECOND_CRASH = _claim(
    "REA-41",
    "a second crash between delete and rename after a start from the backup: the backup is still from before the first crash",
    "reachable",
    lambda p: (
        _ended(p)
        & (p.crashes == 2)
        & (p.phase == "main deleted")
        & (p.old.text == "missing")
        & (p.bak == p.backup)
        & (p.bak.text == "whole")
    ),
)
STALE = _claim(
    "REA-42",
    "the name server has a topic that the broker has lost",
    "reachable",
    lambda p: (p.life == "runs") & (p.phase == "idle") & ~_has(p.memory, p.registered),
)


def _stored() -> list[Rule]:
    q, t = vocabulary()["queue"].row, vocabulary()["table"].row
    return [
        rule(
            "INV-27.stored",
            "the topic of every record is in topics.json",
            "queue", "warning",
            implies(q.tableThere & (~is_(q.topicClass, "schedule", "half", "operations")), q.known), True, q.known,
        ),
        rule(
            "INV-28.stored",
            "a store with records has a topic table",
            "table", "warning",
            implies(t.records > 0, t.there), True, t.there,
        ),
    ]  # fmt: skip


RULES = _stored()

CLAIMS = [
    IN_FILE, RECOVERABLE, OLD_OR_NEW, PRESENT, NOTHING, PARSABLE, WINDOWS,
    *ROWS, UNSYNCED, GARBAGE_BACKUP, EMPTY_BACKUP, SECOND_CRASH, STALE,
]  # fmt: skip

_ENDS: dict[str, Any] = {"condition": "the process ends up to twice, an earlier file", "given": {"crash_budget": 2}}
_ONCE: dict[str, Any] = {"condition": "the process ends once, an earlier file", "given": {"crash_budget": 1}}
_FIRST: dict[str, Any] = {"condition": "the process ends up to twice, no earlier file", "given": {"crash_budget": 2, "earlier": False}}
_QUIET: dict[str, Any] = {
    "condition": "the process ends up to twice, topics registered after persist only", "given": {"crash_budget": 2, "timer": False}
}  # fmt: skip
_FULL: dict[str, Any] = {"condition": "an input or output error, then the process ends", "given": {"error_budget": 1, "crash_budget": 1}}
_FULL_QUIET: dict[str, Any] = {
    "condition": "an input or output error, topics registered after persist only", "given": {"error_budget": 1, "timer": False}
}  # fmt: skip
_FULL_FIRST: dict[str, Any] = {"condition": "an input or output error, no earlier file", "given": {"error_budget": 1, "earlier": False}}
_POWER: dict[str, Any] = {"condition": "the power fails, then the process ends", "given": {"power_budget": 1, "crash_budget": 1}}
_POWER_QUIET: dict[str, Any] = {
    "condition": "the power fails, topics registered after persist only", "given": {"power_budget": 1, "timer": False}
}  # fmt: skip
_FRESH = "PER-05: before the first rename there is neither an old file nor a backup"
_SWALLOWED = "PER-01: persist returns normally after an error that it swallowed"
_LATE = "PER-05: the renamed file's bytes were not on the device"

_COPIED = "PER-10: a partial main file is copied over the backup before it is overwritten"
_OTHER_WAY = "PER-10: there is no temporary file, and no such window"
V, H = "violated", "holds"


def _rows(claim: Claim, on: dict[str, Any], seeds: str, latest: str, *, reason: str = "", instead: str = "") -> list[Case]:
    """Return cases with the verdict for the seeds' profiles and for P533, which overwrites in place. `instead` is P533's reason."""
    own = cases(claim, "persistence", latest, profiles=("P533",), **on, reason=instead or (_COPIED if seeds != latest else reason))
    return [*cases(claim, "persistence", seeds, **on, reason=reason), *own]


_HAZ_10 = "the timer registers a topic before it is in a file (HAZ-10)"

CASES: list[Case] = [
    *_rows(IN_FILE, _ENDS, V, V, reason=_HAZ_10),
    *_rows(IN_FILE, _QUIET, V, V, reason="PER-05: there is no file before the rename", instead="PER-10: a crash leaves a part of it"),
    *second(IN_FILE, "persistence", 2, **_ENDS),
    *_rows(RECOVERABLE, _ENDS, V, V, reason=_HAZ_10),
    *_rows(RECOVERABLE, _QUIET, H, V),
    *_rows(RECOVERABLE, _FULL_QUIET, V, V, reason=_SWALLOWED),
    *_rows(RECOVERABLE, _POWER_QUIET, V, V, reason=_LATE),
    *_rows(OLD_OR_NEW, _ENDS, H, V),
    *_rows(OLD_OR_NEW, _ONCE, H, H),
    *_rows(OLD_OR_NEW, _FIRST, V, V, reason=_FRESH),
    *second(OLD_OR_NEW, "persistence", 3, **_FIRST),
    *_rows(OLD_OR_NEW, _FULL, H, V),
    *_rows(OLD_OR_NEW, _POWER, V, V, reason="PER-06"),
    *_rows(PRESENT, _ENDS, H, V),
    *_rows(PRESENT, _ONCE, H, H),
    *_rows(PRESENT, _FIRST, H, V),
    *_rows(PRESENT, _FULL, V, V, reason=_SWALLOWED),
    *second(PRESENT, "persistence", 4, **_FULL),
    *_rows(PRESENT, _POWER, V, V, reason=_LATE),
    *_rows(NOTHING, _ENDS, H, V),
    *_rows(NOTHING, _FIRST, V, V, reason=_FRESH),
    *second(NOTHING, "persistence", 6, **_FIRST),
    *_rows(NOTHING, _POWER, V, V, reason="PER-06: an empty main file was copied over the backup"),
    *_rows(PARSABLE, _ENDS, H, V),
    *_rows(PARSABLE, _FIRST, H, V),
    *_rows(PARSABLE, _FULL_FIRST, V, V, reason=_SWALLOWED),
    *second(PARSABLE, "persistence", 2, **_FULL_FIRST),
    *_rows(PARSABLE, _POWER, V, V, reason="PER-06"),
    *[c for on in (_ENDS, _FIRST) for c in _rows(WINDOWS, on, H, V, instead=_OTHER_WAY)],
    *[c for row in (ROWS[0], ROWS[-1]) for c in _rows(row, _FIRST, H, H)],
    *[c for row in ROWS[1:-1] for c in _rows(row, _FIRST, H, V, instead=_OTHER_WAY)],
    *_rows(UNSYNCED, _POWER, H, H, reason="PER-05"),
    *[c for claim in (GARBAGE_BACKUP, EMPTY_BACKUP) for c in _rows(claim, _POWER, H, V, reason="PER-06", instead=_OTHER_WAY)],
    *_rows(SECOND_CRASH, _ENDS, H, V, reason="PER-07", instead=_OTHER_WAY),
    *_rows(STALE, _ENDS, H, H, reason="PER-08"),
]
