"""Mutants of the specification: each changes one place of a rule, and names the claims that detect it.

A mutant is detected if the named claim's verdict is no longer the expected one: a rule that held is violated, or a known violation of the
described system disappears. M ids are those of the behaviour's list; other ids are this project's.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import cache
from typing import Any

from fault_mutants import of_fault
from noticed import Noticed, guard, sets

from rocketproof_model import Bool, Expr, ite, java_abs, maximum, minimum, rem
from rocketproof_model.language import const
from rocketproof_model.transforms.mutation import ModelMutant, dropped, negated, with_mutants
from rocketproof_spec import FAULTS, Part, Specification, part
from rocketproof_spec.arithmetic import clamped, counted
from rocketproof_spec.committing import NO_OFFSET

_OFF = {"auto_create": False, "template_in_file": True}
_FIT = {"size_limit": 4, "existing": True}
_READ_MORE = {"existing": True, "existing_read": 2, "existing_write": 1}


class _Terms:
    """The terms of one request, its broker and its topics, used by mutants."""

    def __init__(self, s: Specification) -> None:
        self.s = s
        self.row: Any = s.job[Expr("par", ("p",), s.Producer)]
        self.here = self.row.broker.get
        self.topic = s.config[self.here, self.row.topic]
        self.template = s.config[self.here, self.row.default]
        self.b, self.t, self.q = Expr("par", ("b",), s.Broker), Expr("par", ("t",), s.Topic), Expr("par", ("q",), s.Queue)

    def drawn(self, formula: Callable[[Expr], Any]) -> Any:
        return ite(self.row.queue < 0, formula(Expr("par", ("draw",), self.s.scope.draws)), self.row.queue)

    def answers(self, code: str) -> Expr:
        return const(self.row.answer.type.encode(code), self.row.answer.type)

    def phase(self, name: str) -> Expr:
        return const(self.row.phase.type.encode(name), self.row.phase.type)


def _creation(s: Specification) -> list[Noticed]:
    x = _Terms(s)
    row, topic, template, here = x.row, x.topic, x.template, x.here
    legal, larger = "legal queue id", maximum(topic.read, topic.write)
    off_and_template = s.given("auto_create") & s.of_class(row.default, "template")
    refuses = ite(~s.given("auto_create"), x.phase("refused"), x.phase("inherit"))
    by_read = clamped(row.numbers, template.read)
    at_least_1 = maximum(minimum(row.numbers, template.write), 1)
    read_only = {"existing": True, "existing_perm": 4}
    violated: dict[str, Any] = {"usual": "violated"}
    off_and_violated, more_and_violated = ({**violated, "settings": settings} for settings in (_OFF, _READ_MORE))
    return [
        guard("M-01", "INV-30 INV-30.lemma", "accept_queue", legal, row.queue <= larger, "the queue id check uses > instead of >="),
        guard(
            "M-02",
            "INV-31 INV-31.lemma",
            "accept_queue",
            legal,
            row.queue < topic.write,
            "the queue id check knows the write count only",
            **more_and_violated,
        ),
        guard(
            "M-03.lemma",
            "INV-32.lemma",
            "accept_queue",
            legal,
            (row.queue >= 0) & (row.queue < minimum(topic.read, topic.write)),
            "the queue id check takes the smaller count and no negative id",
            usual="violated",
        ),
        sets("M-05", "INV-33.lemma", "store", "job.queue", x.drawn(lambda r: rem(r, larger)), "the queue is drawn below the larger count"),
        sets(
            "M-06",
            "INV-33.lemma",
            "store",
            "job.queue",
            x.drawn(lambda r: rem(java_abs(r), topic.write)),
            "the random queue is abs(r) % write",
            profile="P40",
        ),
        sets("M-24", "INV-10 INV-10.lemma", "build", "job.perm", template.perm, "INHERIT is not cleared"),
        sets("M-25", "INV-11.lemma", "build", "job.perm", template.perm - 1, "the permission is reduced by 1 instead of clearing the bit"),
        sets("M-26", "INV-11.lemma", "build", "job.perm", 6, "the created permission is always 6"),
        sets("M-27", "INV-12", "build", "job.write", maximum(row.numbers, template.write), "the larger of the counts is taken"),
        sets("M-28", "INV-12.lemma", "build", "job.write", by_read, "the template's read count is taken"),
        sets("M-29", "INV-12", "build", "job.read", at_least_1, "a negative count becomes 1"),
        sets("C-13", "INV-13.lemma", "build", "job.write", at_least_1, "the count is at least 1", usual="violated"),
        sets(
            "M-33",
            "INV-16",
            "template_found",
            "config.perm",
            template.perm,
            "the template is copied before its permission is set",
            **off_and_violated,
        ),
        sets("M-35", "INV-14", "template_found", "job.phase", refuses, "auto-create off refuses every template", **off_and_violated),
        sets(
            "M-36",
            "INV-16",
            "template_found",
            "config.perm",
            ite(off_and_template, 6, template.perm),
            "the auto-create switch is read the wrong way round",
        ),
        guard("M-37", "INV-19", "look_again_missing", "unknown", dropped, "there is no second look-up under the lock"),
        sets("M-38", "INV-23", "unlock_refused", "lock", s.lock[here], "the lock is kept when the template gives nothing", settings=_OFF),
        guard("C-10", "INV-23", "acquire_lock", "lock free", dropped, "the lock is given to a second request"),
        guard("C-11", "REA-01", "acquire_lock", "lock free", negated, "the lock is only given while it is held"),
        sets("M-41", "INV-21", "persist", "file.known", False, "persist writes nothing"),
        sets("M-44", "INV-21", "next_version", "job.phase", x.phase("persisted"), "the registration comes before persist"),
        sets("M-45", "INV-24", "unlock", "lock", s.lock[here], "the registration is sent while the lock is held"),
        sets("M-46", "INV-19", "unlock_found", "job.phase", x.phase("unlocked"), "the loser of the race registers too"),
        sets("M-48", "INV-17", "next_version", "version", s.version[here], "the version is not counted up"),
        sets("M-49", "INV-17", "next_version", "version", s.version[here] + 2, "the version is counted up twice"),
        sets("C-16", "INV-16.others", "unlock_found", "job.phase", x.phase("built"), "creation overwrites the permission a second time"),
        sets("C-07", "INV-07", "store", "job.answer", x.answers("SYSTEM_ERROR"), "a refused request has been stored all the same"),
        guard(
            "C-52",
            "INV-52",
            "accept_queue",
            "checked",
            lambda c: c & s.given("broker_writable"),
            "a broker without write permission accepts nothing",
            usual="violated",
            settings={"broker_writable": False},
        ),
        guard(
            "C-53",
            "INV-53",
            "accept_queue",
            legal,
            lambda c: c & ((topic.perm & 2) == 2),
            "a topic without write permission is refused",
            settings=read_only,
            **violated,
        ),
    ]


def _names(s: Specification) -> list[Noticed]:
    x = _Terms(s)
    code = x.answers("SYSTEM_ERROR")
    blank = "not: blank name"
    one: dict[str, Any] = {"settings": {"auto_create": False, "template_in_file": True, "sends": 1, "update_budget": 1}}
    guarded = s.of_class(x.t, "ordinary", "retry")
    return [
        guard("C-08", "INV-08", "look_up_missing", blank, dropped, "a blank name is not refused", settings={"sends": 1}),
        guard("M-21", "INV-15", "second_way", "retry topic", dropped, "every topic gets the second way", settings=_OFF),
        sets("M-18", "REA-05", "refuse_forbidden", "job.answer", code, "a forbidden topic is refused with another code", settings=_OFF),
        guard("C-787", "INV-08", "update_topic", "proper name", dropped, "an administrator makes topics of any name", **one),
        guard(
            "C-788", "ACT-01", "update_topic", "proper name", guarded, "4.5.2 guards its topics", usual="violated", profile="P452", **one
        ),
    ]


def _small(s: Specification) -> list[Noticed]:
    sentence = "the name server appends queue data instead of replacing them"
    retried: dict[str, Any] = {"settings": {"loss_budget": 1, "retries": 1, "template_write": 1, "sends": 1}}
    return [
        sets("M-116", "INV-59", "accept_registration", "route.entries", lambda v: minimum(v + 1, 2), sentence),
        guard("C-766", "AUX-92", "retry", "another broker", dropped, "a send is tried again at the same broker", **retried),
        guard("C-767", "AUX-92", "retry", "listed", dropped, "a send is tried again at a queue that the route has not", **retried),
    ]


def _restart(s: Specification) -> list[Noticed]:
    known = s.live[_Terms(s).here]
    return [
        sets("M-118", "INV-58", "expire", "route.entries", 1, "a dead broker's queue data stay"),
        sets("C-23", "INV-23", "crash", "lock", s.lock[_Terms(s).b], "a crash leaves the lock taken"),
        sets("C-772", "AUX-94", "announce", "registration_in_flight", known, "only a broker that is known announces a topic"),
        guard("C-768", "AUX-93", "look_up_missing", "broker runs", dropped, "a broker that is down looks up a topic"),
        sets("C-69", "AUX-15 REA-58", "restart", "version", 0, "a broker starts with the version 0"),
    ]


def _store(s: Specification) -> list[Noticed]:
    x = _Terms(s)
    row, b, t, q = x.row, x.b, x.t, x.q
    filled, key = s.log.filled[x.here], s.log.offset[x.here, row.topic, row.queue]
    size, blank, end = s.given("file_size"), s.given("blank"), s.scope.file_size * s.scope.files
    too_many = s.log.entries[b, t, q] < minimum(s.log.records[b, t, q] + 1, s.scope.offsets)
    fit = {"settings": _FIT}
    return [
        sets("M-78", "INV-35", "store", "offset", key + 1, "PREPARED takes a queue offset", **fit),
        sets("M-79", "INV-34", "store", "offset", lambda v: ite(row.kind == "commit", key, v), "COMMIT takes no queue offset", **fit),
        sets("M-80", "INV-35", "store", "job.offset", key, "PREPARED is answered with the table's value", **fit),
        sets("M-81", "INV-34", "roll", "offset", lambda v: minimum(v + 1, 3), "the queue offset is counted up before the roll", **fit),
        guard("M-83", "INV-38 INV-38.lemma", "store", "fits", filled + row.size <= size, "the smallest blank is forgotten", **fit),
        sets(
            "M-84",
            "INV-38.lemma",
            "acknowledge_lost",
            "filled",
            minimum(filled + blank, size),
            "the end of a file adds only the blank",
            **fit,
        ),
        sets("C-04", "INV-06", "store", "filled", filled, "nothing is written", **fit),
        sets("C-05", "INV-06", "store", "filled", minimum(filled + row.size + row.size, size), "the record is written twice", **fit),
        sets(
            "C-06",
            "INV-06",
            "acknowledge_lost",
            "job.answer",
            x.answers("SYSTEM_ERROR"),
            "a lost message is answered as an error",
            usual="violated",
            settings={"existing": True},
        ),
        guard("C-36", "INV-36", "dispatch", "behind", too_many, "the dispatcher writes an entry too many", **fit),
        sets("C-03", "ACT-03", "flush", "flushed", lambda v: minimum(v + 1, end), "the flushed position passes the written one", **fit),
    ]


def _deletions(s: Specification) -> list[Noticed]:
    x, never, there = _Terms(s), const(0, Bool), const(1, Bool)
    one: dict[str, Any] = {"settings": {"update_budget": 1}}
    known: dict[str, Any] = {"usual": "violated", **one}
    gone = "the name server takes away what a registration does not have"
    forgets = ModelMutant("M-115", gone, "accept_registration", lambda u: ite(u.value.args[0], u.value, 0), sets="route.entries")
    goes_on = ModelMutant("C-776", "every queue goes on where it was", "delete_topic", lambda u: u.target, sets="offset")
    return [
        Noticed(forgets, ("REA-164",), "holds", **one),
        sets("C-773", "INV-18", "delete_topic", "version", s.version[x.b], "a topic that is deleted is no new version", **one),
        sets("C-774", "AUX-95", "delete_topic", "config.known", there, "a topic that is deleted stays in the table", **known),
        guard("C-775", "AUX-96", "outlive", "outlived", never, "no queue outlives its topic", **known),
        Noticed(goes_on, ("AUX-99",), **known),
        sets("C-777", "REA-165", "delete_topic", "outlived", 0, "a queue whose topic is deleted had no records", **one),
        guard("C-778", "AUX-97", "miss_topic", "topic gone", never, "a topic that is gone is not missed", **known),
        guard("C-779", "AUX-98", "miss_topic", "topic gone", dropped, "a topic that is there is missed", **one),
        guard("C-781", "AUX-100", "outlive", "nothing since", dropped, "a queue goes on behind a new record too", **one),
        guard("C-780", "REA-166", "delete_topic", "proper name", never, "no topic is deleted", **one),
    ]


def _settings(s: Specification) -> list[Noticed]:
    x = _Terms(s)
    template, known = x.template.perm, {"usual": "violated"}
    row, there = s.config[x.b, s.scope.subject].perm, const(1, Bool)
    return [
        sets("C-782", "INV-18 AUX-101 AUX-103", "template_found", "config.perm", template, "TBW102 stays as it is", **known),
        sets("C-783", "REA-167", "template_found", "config.perm", template, "TBW102 keeps INHERIT"),
        sets("C-784", "AUX-102", "permit", "registration.perm", row, "a permission is registered as the topic has it"),
        sets("C-785", "REA-168", "permit", "broker_writable_now", there, "no broker stops to write"),
        sets("C-786", "INV-14 INV-15", "switch_creation", "auto_create_now", there, "auto-creation is never switched off", **known),
    ]


def _told(s: Specification) -> list[Noticed]:
    existing = {"existing": True, "existing_read": 1, "existing_write": 1}
    there: dict[str, Any] = {"settings": existing}
    listed = const(1, s.route[0, 0].entries.type)
    return [
        guard("C-808", "AUX-113.had AUX-113.same", "register_topic", "served", dropped, "each name server takes topics by hand", **there),
        sets("C-809", "AUX-113 AUX-114", "forget_topic", "route.entries", listed, "a topic stays listed", usual="violated", **there),
        sets("C-810", "REA-175", "register_topic", "route.perm", 6, "each topic is told to be writable", profile="P533", **there),
        sets("C-811", "REA-176", "forget_topic", "route.entries", listed, "a topic stays listed", **there),
    ]


def _offsets(s: Specification) -> list[Noticed]:
    x, last = _Terms(s), s.scope.subject
    later: dict[str, Any] = {"profile": "P533", "settings": {"update_budget": 1, "existing": True}}
    stays = ModelMutant("C-791", "what a group told of a topic outlives it", "delete_topic", lambda u: u.target, sets="told")
    return [
        guard("C-789", "AUX-105", "commit_offset", "topic known", dropped, "a group tells offsets of any topic", **later),
        guard("C-790", "AUX-106", "commit_offset", "group listed", dropped, "a group that the broker does not have tells offsets", **later),
        Noticed(stays, ("AUX-104",), "violated", **later),
        sets(
            "C-792", "AUX-107", "commit_offset", "told", lambda v: minimum(v, s.log.offset[x.b, last, 0]),
            "no offset is behind its queue's end", usual="violated", **later,
        ),
        sets("C-793", "REA-169 REA-170", "commit_offset", "told", NO_OFFSET, "what a group tells is not kept", **later),
    ]  # fmt: skip


def _timers(s: Specification) -> list[Noticed]:
    x, never = _Terms(s), const(0, Bool)
    assert s.places is not None
    there: dict[str, Any] = {"settings": {"existing": True}}
    timed = s.places.way[Expr("par", ("p",), s.Producer)].timed & counted(x.row.kind)
    return [
        guard("C-794", "AUX-108", "store", "does not wait", dropped, "a message that waits is stored in its topic", **there),
        guard("C-795", "AUX-109", "keep_in_wheel", "has a time", timed, "a time comes before a level", profile="P533", **there),
        guard("C-796", "AUX-110", "delay", "waits", never, "no message waits on a level", usual="violated", **there),
        guard("C-797", "REA-171", "keep_in_wheel", "has a time", never, "no message waits for its time", profile="P533", **there),
        guard("C-798", "REA-172", "delay", "waits", never, "no message is put on a level", **there),
    ]


_MADE: dict[str, Callable[[Specification], list[Noticed]]] = {
    "creation": _creation,
    "names": _names,
    "small": _small,
    "restart": _restart,
    "deletions": _deletions,
    "settings": _settings,
    "told": _told,
    "offsets": _offsets,
    "timers": _timers,
    "store": _store,
}
SCOPES = (*_MADE, *FAULTS)


@cache
def mutated(scope: str) -> tuple[Part, tuple[Noticed, ...]]:
    """Return the specification of a scope with all its mutants, and their detectors: mutant number k is the k-th, from 1."""
    s = part(scope)
    made = tuple(_MADE[scope](s) if isinstance(s, Specification) else of_fault(s))
    changed = copy(s)
    changed.model = with_mutants(s.model, [mutant.mutant for mutant in made])
    return changed, made
