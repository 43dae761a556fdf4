"""Mutants of the specification's faults: the file, the answers, waits and deadlines, flush and recovery."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rocketproof_model import Expr, ite
from rocketproof_model.language import Bool, const, rewrite
from rocketproof_model.mutation import dropped
from rocketproof_model.specification import Part
from rocketproof_model.specification.answering import Answering, Stage
from rocketproof_model.specification.deadlines import EXPIRE, SCAN, Expiry, News, Patience
from rocketproof_model.specification.flushing import Flushing
from rocketproof_model.specification.persistence import Life, Persistence
from rocketproof_model.specification.recovery import Recovery
from rocketproof_model.specification.waiting import Step, Waiting

from .killer import Killer, makers

_TWICE = {"crash_budget": 2}
_FRESH = {"crash_budget": 2, "earlier": False}
_POWER = {"power_budget": 1, "crash_budget": 1}


def fault_kills(s: Part) -> list[Killer]:
    """All mutants of a fault's scope."""
    return _KILLS[type(s)](s)


def _persistence(p: Persistence) -> list[Killer]:
    guard, sets = makers("persistence")
    no_file = (p.main.text == "missing") & (p.bak.text == "missing")
    refused = const(Life.encode("refused"), Life)
    return [
        sets("M-54.file", "the backup gets the new text", "fill_bak", "bak.topics", lambda v: p.new, "AUX-10", given=_TWICE),
        guard(
            "M-55.file",
            "the main file is deleted without a backup",
            "delete_main",
            "its turn",
            lambda c: c | (p.phase == "tmp written"),
            "INV-26",
            given=_TWICE,
        ),
        sets(
            "M-57.file",
            "load is false when both files are missing",
            "start",
            "life",
            lambda v: ite(no_file, refused, v),
            "INV-28",
            usual="violated",
            given=_FRESH,
        ),
        guard(
            "M-59.file",
            "an empty file is not backed up",
            "truncate_bak",
            "previous content",
            lambda c: c & (p.main.text != "empty"),
            "REA-40",
            given=_POWER,
        ),
        sets("C-27", "the rename loses the file", "rename_tmp", "main.text", lambda v: _missing(v), "INV-27", given=_TWICE),
        sets("C-28", "load prefers the backup", "start", "memory", lambda v: p.bak.topics, "INV-27", given=_TWICE),
    ]


def _missing(like: Expr) -> Expr:
    return const(0, like.type)


def _answering(v: Answering) -> list[Killer]:
    guard, sets = makers("answers")
    served = {"refuses": False, "future_throws": False}
    return [
        sets("M-67.answers", "a one-way put is answered too", "put", "job.answers", _always_answered, "INV-03", given=served),
        sets("C-42", "the completion of an answered put answers again", "put", "job.stage", _answers_again, "INV-02", given=served),
        guard(
            "C-43",
            "a completion is dropped although there is room",
            "completion_rejected",
            "full",
            dropped,
            "INV-01",
            given={"future_throws": False, "capacity": 3},
        ),
        guard("C-44", "fast failure takes completions too", "clean", "a request", dropped, "INV-02", given={"future_throws": False}),
    ]


def _always_answered(term: Expr) -> Expr:
    def flagless(e: Expr) -> Expr | None:
        return const(1, Bool) if e.op == "not" and e.args[0].op == "ref" and e.args[0].args[0].name == "job.one_way" else None

    return rewrite(term, flagless)


def _answers_again(term: Expr) -> Expr:
    codes = {Stage.encode("end queued"): Stage.encode("reply queued"), Stage.encode("ends"): Stage.encode("replies")}

    def replies(e: Expr) -> Expr | None:
        return const(codes[e.args[0]], Stage) if e.op == "const" and e.type == Stage and e.args[0] in codes else None

    return rewrite(term, replies)


def _waiting(w: Waiting) -> list[Killer]:
    guard, sets = makers("locks")
    row = w.job[Expr("par", ("r",), w.Request)]
    ordinary = {"slow": 4, "retries": False}
    return [
        guard("M-39", "the lock is waited for without a limit", "second", "nobody has to give up", dropped, "INV-25", given=ordinary),
        sets(
            "C-25",
            "every topic is tried a second time",
            "give_up",
            "job.step",
            lambda v: ite(row.second, v, const(Step.encode("waits"), Step)),
            "INV-25",
            given=ordinary,
        ),
        guard("C-20", "a persist takes a second longer", "second", "persist goes on", dropped, "INV-20", given={"slow": 1}),
    ]


def _expiry(x: Expiry) -> list[Killer]:
    _, sets = makers("expiry")
    return [
        sets("C-54", "a broker expires only at the scan after", "look", "listed", lambda v: x.listed & (x.age <= EXPIRE + SCAN), "LIV-04"),
        sets("C-55", "a broker expires at 120 s sharp", "look", "listed", lambda v: x.listed & (x.age < EXPIRE), "REA-53"),
        sets("C-56", "a broker expires after 20 s", "look", "listed", lambda v: x.listed & (x.age <= 20), "AUX-14"),
    ]


def _news(n: News) -> list[Killer]:
    guard, sets = makers("news")
    return [
        guard("C-57", "the timer's registration is late", "second", "no registration due", dropped, "LIV-01"),
        sets("C-58", "the refresh leaves the cache as it is", "learn", "seen", lambda v: n.seen, "LIV-02"),
        guard("C-59", "an answer takes as long as it likes", "second", "no answer due", dropped, "LIV-02"),
    ]


def _patience(p: Patience) -> list[Killer]:
    guard, _ = makers("patience")
    return [
        guard("M-113.time", "an attempt takes as long as it likes", "second", "waits", lambda c: c | (p.doing == "attempt"), "LIV-07"),
        guard("C-60", "an attempt begins though the time is over", "attempt", "in time", dropped, "LIV-07"),
        guard("C-61", "attempts are made without end", "stop", "enough", lambda c: p.constant["timeout"] < p.cost, "LIV-07.fair"),
    ]


def _flushing(f: Flushing) -> list[Killer]:
    guard, sets = makers("flush")
    return [
        guard("C-62", "nobody looks after the second flush", "deny", "not seen on the device", dropped, "LIV-09.denied"),
        guard("C-63", "a put is confirmed before its flush", "confirm", "on the device", dropped, "LIV-09.confirmed"),
        guard(
            "C-64",
            "a put waits for the group commit without a limit",
            "time_out",
            "waits",
            lambda c: c & f.constant["serves"],
            "LIV-09",
            given={"serves": False},
        ),
        sets("C-65", "the lock's time stays after an exception", "throw", "age", lambda v: f.age, "LIV-05", given={"throws": True}),
    ]


def _recovery(r: Recovery) -> list[Killer]:
    guard, sets = makers("recovery")
    power = {"power_budget": 2}
    return [
        guard("C-66", "a put is answered before its flush", "acknowledge", "flushed", dropped, "INV-06.start", given=power),
        sets("C-67", "the next offset counts lost records", "start", "offset", lambda v: r.entries, "INV-34.start", given=power),
        sets("C-68", "entries whose records are lost stay", "start", "entries", lambda v: r.entries, "ACT-03.start", given=power),
    ]


_KILLS: dict[type, Callable[[Any], list[Killer]]] = {
    Persistence: _persistence,
    Answering: _answering,
    Waiting: _waiting,
    Expiry: _expiry,
    News: _news,
    Patience: _patience,
    Flushing: _flushing,
    Recovery: _recovery,
}
