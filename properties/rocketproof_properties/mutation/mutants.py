"""Mutants of the specification: each a one-place change of a rule, and the property that notices it.

A mutant is found if the named property's verdict is no longer the expected one: a rule that held is violated, or a known
violation of the described system vanishes. Ids without M are ours; M ids are the behaviour's list.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

from rocketproof_model import Expr, ite, java_abs, maximum, minimum, rem
from rocketproof_model.language import const
from rocketproof_model.mutation import dropped, negated, with_mutants
from rocketproof_model.specification import FAULTS, Part, Specification, part
from rocketproof_model.specification.arithmetic import clamped

from .faultmutants import fault_kills
from .killer import Killer, makers

_OFF = {"auto_create": False, "template_in_file": True}
_FIT = {"size_limit": 4, "existing": True}
_READ_MORE = {"existing": True, "existing_read": 2, "existing_write": 1}


def _row(s: Specification) -> Any:
    return s.job[Expr("par", ("p",), s.Producer)]


def _kills(s: Specification) -> list[Killer]:
    """All mutants that this scope of sending can state."""
    name = s.scope.name
    row = _row(s)
    here = row.broker.get
    topic = s.config[here, row.topic]
    template = s.config[here, row.default]
    b, t, q = Expr("par", ("b",), s.Broker), Expr("par", ("t",), s.Topic), Expr("par", ("q",), s.Queue)

    guard, sets = makers(name)

    if name == "creation":
        return [
            guard(
                "M-01",
                "the queue id check uses > instead of >=",
                "accept_queue",
                "legal queue id",
                lambda c: row.queue <= maximum(topic.read, topic.write),
                "INV-30",
            ),
            guard(
                "M-01.lemma",
                "the queue id check uses > instead of >=, for all ints",
                "accept_queue",
                "legal queue id",
                lambda c: row.queue <= maximum(topic.read, topic.write),
                "INV-30.lemma",
            ),
            guard(
                "M-02",
                "the queue id check knows the write count only",
                "accept_queue",
                "legal queue id",
                lambda c: row.queue < topic.write,
                "INV-31",
                usual="violated",
                given=_READ_MORE,
            ),
            guard(
                "M-02.lemma",
                "the queue id check knows the write count only, for all ints",
                "accept_queue",
                "legal queue id",
                lambda c: row.queue < topic.write,
                "INV-31.lemma",
                usual="violated",
            ),
            guard(
                "M-03.lemma",
                "the queue id check takes the smaller count and no negative id, for all ints",
                "accept_queue",
                "legal queue id",
                lambda c: (row.queue >= 0) & (row.queue < minimum(topic.read, topic.write)),
                "INV-32.lemma",
                usual="violated",
            ),
            sets(
                "M-05",
                "the random queue is drawn below the larger count",
                "store",
                "job.queue",
                lambda v: _drawn(s, lambda draw: rem(draw, maximum(topic.read, topic.write))),
                "INV-33.lemma",
            ),
            sets(
                "M-06",
                "the random queue is abs(r) % write",
                "store",
                "job.queue",
                lambda v: _drawn(s, lambda draw: rem(java_abs(draw), topic.write)),
                "INV-33.lemma",
                profile="P40",
            ),
            sets("M-24", "INHERIT is not cleared", "build", "job.perm", lambda v: template.perm, "INV-10"),
            sets("M-24.lemma", "INHERIT is not cleared, for all ints", "build", "job.perm", lambda v: template.perm, "INV-10.lemma"),
            sets(
                "M-25",
                "the permission is reduced by 1 instead of clearing the bit",
                "build",
                "job.perm",
                lambda v: template.perm - 1,
                "INV-11.lemma",
            ),
            sets("M-26", "the created permission is always 6", "build", "job.perm", lambda v: 6, "INV-11.lemma"),
            sets(
                "M-27", "the larger of the counts is taken", "build", "job.write", lambda v: maximum(row.numbers, template.write), "INV-12"
            ),
            sets(
                "M-28",
                "the template's read count is taken",
                "build",
                "job.write",
                lambda v: clamped(row.numbers, template.read),
                "INV-12.lemma",
            ),
            sets(
                "M-29",
                "a negative count becomes 1",
                "build",
                "job.read",
                lambda v: maximum(minimum(row.numbers, template.write), 1),
                "INV-12",
            ),
            sets(
                "C-13",
                "the count is at least 1",
                "build",
                "job.write",
                lambda v: maximum(minimum(row.numbers, template.write), 1),
                "INV-13.lemma",
                usual="violated",
            ),
            sets(
                "M-33",
                "the template is copied before its permission is set",
                "template_found",
                "config.perm",
                lambda v: template.perm,
                "INV-16",
                usual="violated",
                given=_OFF,
            ),
            sets(
                "M-35",
                "auto-create off refuses every template",
                "template_found",
                "job.phase",
                lambda v: _phase(s, "refused", when=~s.given("auto_create"), otherwise=v),
                "INV-14",
                usual="violated",
                given=_OFF,
            ),
            sets(
                "M-36",
                "the auto-create switch is read the wrong way round",
                "template_found",
                "config.perm",
                lambda v: ite(s.given("auto_create") & s.of_class(row.default, "template"), 6, template.perm),
                "INV-16",
            ),
            guard("M-37", "there is no second look-up under the lock", "look_again_missing", "unknown", dropped, "INV-19"),
            sets(
                "M-38",
                "the lock is kept when the template gives nothing",
                "unlock_refused",
                "lock",
                lambda v: s.lock[here],
                "INV-23",
                given=_OFF,
            ),
            guard("C-10", "the lock is given to a second request", "acquire_lock", "lock free", dropped, "INV-23"),
            guard("C-11", "the lock is only given while it is held", "acquire_lock", "lock free", negated, "REA-01"),
            sets("M-41", "persist writes nothing", "persist", "file.known", lambda v: False, "INV-21"),
            sets(
                "M-44",
                "the registration comes before persist",
                "next_version",
                "job.phase",
                lambda v: _phase(s, "persisted", otherwise=v),
                "INV-21",
            ),
            sets("M-45", "the registration is sent while the lock is held", "unlock", "lock", lambda v: s.lock[here], "INV-24"),
            sets(
                "M-46",
                "the loser of the race registers too",
                "unlock_found",
                "job.phase",
                lambda v: _phase(s, "unlocked", otherwise=v),
                "INV-19",
            ),
            sets("M-48", "the version is not counted up", "next_version", "version", lambda v: s.version[here], "INV-17"),
            sets("M-49", "the version is counted up twice", "next_version", "version", lambda v: s.version[here] + 2, "INV-17"),
            sets(
                "C-16",
                "creation overwrites the topic's permission a second time",
                "unlock_found",
                "job.phase",
                lambda v: _phase(s, "built", otherwise=v),
                "INV-16.others",
            ),
            sets(
                "C-07",
                "a refused request has been stored all the same",
                "store",
                "job.answer",
                lambda v: _answer(s, "SYSTEM_ERROR"),
                "INV-07",
            ),
            guard(
                "C-52",
                "a broker without write permission accepts nothing",
                "accept_queue",
                "checked",
                lambda c: c & s.given("broker_writable"),
                "INV-52",
                usual="violated",
                given={"broker_writable": False},
            ),
            guard(
                "C-53",
                "a topic without write permission is refused",
                "accept_queue",
                "legal queue id",
                lambda c: c & ((topic.perm & 2) == 2),
                "INV-53",
                usual="violated",
                given={"existing": True, "existing_perm": 4},
            ),
        ]
    if name == "names":
        return [
            guard("C-08", "a blank name is not refused", "look_up_missing", "not: blank name", dropped, "INV-08", given={"sends": 1}),
            guard("M-21", "every topic gets the second way", "second_way", "retry topic", dropped, "INV-15", given=_OFF),
            sets(
                "M-18",
                "a forbidden topic is refused with another code",
                "refuse_forbidden",
                "job.answer",
                lambda v: _answer(s, "SYSTEM_ERROR"),
                "REA-05",
                given=_OFF,
            ),
        ]
    if name == "small":
        return [
            sets(
                "M-116",
                "the name server appends queue data instead of replacing them",
                "accept_registration",
                "route.entries",
                lambda v: minimum(v + 1, 2),
                "INV-59",
            ),
        ]
    if name == "restart":
        return [
            sets("M-118", "a dead broker's queue data stay", "expire", "route.entries", lambda v: 1, "INV-58"),
            sets("C-23", "a crash leaves the lock taken", "crash", "lock", lambda v: s.lock[b], "INV-23"),
        ]
    if name == "store":
        assert s.offset is not None and s.filled is not None and s.entries is not None and s.flushed is not None and s.records is not None
        filled, records, entries = s.filled, s.records, s.entries
        key = s.offset[here, row.topic, row.queue]
        size, blank = s.given("file_size"), s.given("blank")
        return [
            sets("M-78", "PREPARED takes a queue offset", "store", "offset", lambda v: key + 1, "INV-35", given=_FIT),
            sets(
                "M-79", "COMMIT takes no queue offset", "store", "offset", lambda v: ite(row.kind == "commit", key, v), "INV-34", given=_FIT
            ),
            sets("M-80", "PREPARED is answered with the table's value", "store", "job.offset", lambda v: key, "INV-35", given=_FIT),
            sets(
                "M-81",
                "the queue offset is counted up before the roll",
                "roll",
                "offset",
                lambda v: minimum(v + 1, 3),
                "INV-34",
                given=_FIT,
            ),
            guard(
                "M-83", "the smallest blank is forgotten", "store", "fits", lambda c: filled[here] + row.size <= size, "INV-38", given=_FIT
            ),
            guard(
                "M-83.lemma",
                "the smallest blank is forgotten, for all sizes",
                "store",
                "fits",
                lambda c: filled[here] + row.size <= size,
                "INV-38.lemma",
                given=_FIT,
            ),
            sets(
                "M-84",
                "the end of a file adds only the blank",
                "acknowledge_lost",
                "filled",
                lambda v: minimum(filled[here] + blank, size),
                "INV-38.lemma",
                given=_FIT,
            ),
            sets("C-04", "nothing is written", "store", "filled", lambda v: filled[here], "INV-06", given=_FIT),
            sets(
                "C-05",
                "the record is written twice",
                "store",
                "filled",
                lambda v: minimum(filled[here] + row.size + row.size, size),
                "INV-06",
                given=_FIT,
            ),
            sets(
                "C-06",
                "a lost message is answered as an error",
                "acknowledge_lost",
                "job.answer",
                lambda v: _answer(s, "SYSTEM_ERROR"),
                "INV-06",
                usual="violated",
                given={"existing": True},
            ),
            guard(
                "C-36",
                "the dispatcher writes an entry too many",
                "dispatch",
                "behind",
                lambda c: entries[b, t, q] < minimum(records[b, t, q] + 1, s.scope.offsets),
                "INV-36",
                given=_FIT,
            ),
            sets(
                "C-03",
                "the flushed position passes the written one",
                "flush",
                "flushed",
                lambda v: minimum(v + 1, s.scope.file_size * s.scope.files),
                "ACT-03",
                given=_FIT,
            ),
        ]
    return []


def _drawn(s: Specification, formula: Any) -> Expr:
    row = _row(s)
    draw = Expr("par", ("draw",), s.scope.draws)
    return ite(row.queue < 0, formula(draw), row.queue)  # type: ignore[no-any-return]


def _phase(s: Specification, name: str, *, otherwise: Expr, when: Any = True) -> Expr:
    return ite(when, _code(otherwise, name), otherwise)  # type: ignore[no-any-return]


def _code(like: Expr, name: str) -> Expr:
    return const(like.type.encode(name), like.type)


def _answer(s: Specification, name: str) -> Expr:
    return _code(_row(s).answer, name)


@cache
def mutated(scope: str) -> tuple[Part, tuple[Killer, ...]]:
    """The specification of a scope with all its mutants, and who kills each: mutant number k is the k-th, from 1."""
    s = part(scope)
    killers = tuple(_kills(s) if isinstance(s, Specification) else fault_kills(s))
    return replace(s, model=with_mutants(s.model, [k.mutant for k in killers])), killers


SCOPES = ("creation", "names", "small", "restart", "store", *FAULTS)
