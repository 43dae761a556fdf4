"""The broker: msgCheck in order, topic creation in its steps, the queue id check, registration, crash and restart.

Each action is one thing that the broker's thread does between two points at which another thread can be seen.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ..language import Body, Expr, Row, const, ite
from .actors import ENVIRONMENT, HANDLER, SERVICE
from .arithmetic import clamped, has_bit, legal_queue, random_queue, stripped
from .vocabulary import Phase, Specification, inherits


def answer(s: Specification, a: Body, p: Expr, code: str, *, checks: bool = False) -> None:
    """The request ends with this code; `checks` marks a refusal by the validity checks."""
    job = s.job[p]
    a.set(job.phase, "answered")
    a.set(job.answer, code)
    if checks:
        a.set(job.checks, True)


def _writable(s: Specification) -> Expr:
    return has_bit(s.permission, 2)


def checks(s: Specification) -> None:
    """msgCheck (CHK-01 to CHK-05): the refusals in the broker's order, then the look-up without lock."""
    job, config = s.job, s.config
    check = s.given("check_names")
    refusals: list[tuple[str, str, str, str, str, Any]] = [
        (
            "refuse_order_topic",
            "CHK-01",
            "NO_PERMISSION",
            "order topic on a read-only broker",
            "the broker may not write and the topic is an order topic",
            lambda b, t: ~_writable(s) & s.config[b, t].known & s.config[b, t].order,
        ),
        ("refuse_blank", "CHK-02", "SYSTEM_ERROR", "blank name", "the name is blank", lambda b, t: check & s.of_class(t, "blank")),
        (
            "refuse_characters",
            "CHK-02",
            "SYSTEM_ERROR",
            "illegal characters",
            "the name has an illegal character",
            lambda b, t: check & s.of_class(t, "illegal"),
        ),
        (
            "refuse_length",
            "CHK-02",
            "SYSTEM_ERROR",
            "name too long",
            "the name is longer than 127",
            lambda b, t: check & s.of_class(t, "long"),
        ),
        (
            "refuse_forbidden",
            "CHK-03",
            "NO_PERMISSION",
            "forbidden topic",
            "clients may not send to this topic",
            lambda b, t: check & s.of_class(t, "forbidden"),
        ),
        (
            "refuse_template",
            "CHK-04",
            "SYSTEM_ERROR",
            "reserved name",
            "the name is the template's",
            lambda b, t: ~check & s.of_class(t, "template"),
        ),
    ]

    def arrived(a: Body, p: Expr) -> tuple[Expr, Expr]:
        row = job[p]
        a.guard("arrived", s.at(row, "arrived"), "a request has arrived at the broker")
        a.guard("broker runs", s.up[row.broker.get], "the broker runs")
        return row.broker.get, row.topic

    def earlier(a: Body, b: Expr, t: Expr, upto: int) -> None:
        for _, _, _, name, sentence, test in refusals[:upto]:
            a.guard(f"not: {name}", ~test(b, t), f"it is not so that {sentence}")

    for place, (action, rule, code, name, sentence, test) in enumerate(refusals):

        def refuse(
            a: Body, p: Expr, place: int = place, code: str = code, name: str = name, sentence: str = sentence, test: Any = test
        ) -> None:
            b, t = arrived(a, p)
            earlier(a, b, t, place)
            a.guard(name, test(b, t), sentence)
            answer(s, a, p, code, checks=True)

        refuse.__doc__ = f"The broker refuses the request: {sentence}."
        s.model.action(name=action, actor=HANDLER, rules=rule, fair="weak", p=s.Producer)(refuse)

    @s.model.action(actor=HANDLER, rules="CHK-05", fair="weak", p=s.Producer)
    def look_up(a: Body, p: Expr) -> None:
        """The broker finds the topic in its table, without the lock."""
        b, t = arrived(a, p)
        earlier(a, b, t, len(refusals))
        a.guard("known", config[b, t].known, "the broker has the topic")
        a.set(job[p].phase, "checked")

    @s.model.action(actor=HANDLER, rules="CHK-05 CHK-07", fair="weak", p=s.Producer)
    def look_up_missing(a: Body, p: Expr) -> None:
        """The broker does not find the topic and tries to create it."""
        b, t = arrived(a, p)
        earlier(a, b, t, len(refusals))
        a.guard("unknown", ~config[b, t].known, "the broker does not have the topic")
        a.set(job[p].phase, "missing")


def _in_phase(s: Specification, a: Body, p: Expr, name: str, sentence: str) -> tuple[Row, Expr]:
    """Guard that the request is in this phase at a running broker; its row and that broker."""
    row = s.job[p]
    a.guard(name, s.at(row, name), sentence)
    a.guard("broker runs", s.up[row.broker.get], "the broker runs")
    return row, row.broker.get


def creation(s: Specification) -> None:
    """Topic creation under the broker lock (TCM-10 to TCM-17), and for retry topics the second way (TCM-20 to TCM-23)."""
    m, config, template_of = s.model, s.config, s.of_class

    phase = partial(_in_phase, s)

    @m.action(actor=HANDLER, rules="TCM-10 TCM-21", fair="weak", p=s.Producer)
    def acquire_lock(a: Body, p: Expr) -> None:
        """The request gets the broker lock."""
        row, b = phase(a, p, "missing", "creation is about to be tried")
        a.guard("lock free", s.lock[b].is_none, "no request holds the broker lock")
        a.set(s.lock[b], p)
        a.set(row.phase, "locked")

    @m.action(actor=HANDLER, rules="TCM-10 TCM-21", p=s.Producer, weight=0.1)
    def lock_timeout(a: Body, p: Expr) -> None:
        """The request waits 3000 ms for the broker lock in vain and goes on without a topic."""
        row, b = phase(a, p, "missing", "creation is about to be tried")
        a.guard("lock held", s.lock[b].is_some, "another request holds the broker lock")
        a.set(row.phase, "failed")

    @m.action(actor=HANDLER, rules="TCM-11", fair="weak", p=s.Producer)
    def look_again_found(a: Body, p: Expr) -> None:
        """Under the lock the topic is there: another request was faster."""
        row, b = phase(a, p, "locked", "the request holds the broker lock")
        a.guard("known", config[b, row.topic].known, "the broker has the topic")
        a.set(row.phase, "found")

    @m.action(actor=HANDLER, rules="TCM-11 TCM-22", fair="weak", p=s.Producer)
    def look_again_missing(a: Body, p: Expr) -> None:
        """Under the lock the topic is still unknown; the second way for retry topics needs no template."""
        row, b = phase(a, p, "locked", "the request holds the broker lock")
        a.guard("unknown", ~config[b, row.topic].known, "the broker does not have the topic")
        a.set(row.phase, "template")

    @m.action(actor=HANDLER, rules="TCM-12", fair="weak", p=s.Producer)
    def template_absent(a: Body, p: Expr) -> None:
        """The default topic that the request names does not exist."""
        row, b = phase(a, p, "template", "the topic is still unknown under the lock")
        a.guard("by template", ~row.fallback, "the topic is to be made from a template")
        a.guard("template unknown", ~config[b, row.default].known, "the broker does not have the default topic")
        a.set(row.phase, "refused")

    @m.action(actor=HANDLER, rules="TCM-13", fair="weak", p=s.Producer)
    def template_found(a: Body, p: Expr) -> None:
        """The default topic exists; with auto-creation off, TBW102 itself loses INHERIT: its permission becomes 6 in the table."""
        row, b = phase(a, p, "template", "the topic is still unknown under the lock")
        a.guard("by template", ~row.fallback, "the topic is to be made from a template")
        a.guard("template known", config[b, row.default].known, "the broker has the default topic")
        reduced = template_of(row.default, "template") & ~s.given("auto_create")
        a.set(config[b, row.default].perm, 6, when=reduced)
        a.set(row.touched, True, when=reduced & (config[b, row.default].perm != 6))
        a.set(row.phase, "inherit")

    @m.action(actor=HANDLER, rules="TCM-14", fair="weak", p=s.Producer)
    def template_not_inherited(a: Body, p: Expr) -> None:
        """The template's permission has no INHERIT: nothing is created."""
        row, b = phase(a, p, "inherit", "the template's permission is to be asked")
        a.guard("may not inherit", ~inherits(config[b, row.default]), "the template's permission lacks INHERIT")
        a.set(row.phase, "refused")

    @m.action(actor=HANDLER, rules="TCM-14 TCM-15 PERM-01", fair="weak", p=s.Producer)
    def build(a: Body, p: Expr) -> None:
        """The new configuration: the clamped queue count twice, the template's permission without INHERIT."""
        row, b = phase(a, p, "inherit", "the template's permission is to be asked")
        template = config[b, row.default]
        a.guard("may inherit", inherits(template), "the template's permission has INHERIT")
        a.set(row.read, clamped(row.numbers, template.write))
        a.set(row.write, clamped(row.numbers, template.write))
        a.set(row.perm, stripped(template.perm))
        a.set(row.phase, "built")

    if s.scope.named("retry"):

        @m.action(actor=HANDLER, rules="TCM-22 CHK-08", fair="weak", p=s.Producer)
        def build_retry(a: Body, p: Expr) -> None:
            """The second way: one queue, permission 6, whatever the template and the switch say."""
            row, _ = phase(a, p, "template", "the topic is still unknown under the lock")
            a.guard("second way", row.fallback, "the template gave nothing")
            a.set(row.read, 1)
            a.set(row.write, 1)
            a.set(row.perm, 6)
            a.set(row.phase, "built")

    @m.action(actor=HANDLER, rules="TCM-16 TCM-04", fair="weak", p=s.Producer)
    def put(a: Body, p: Expr) -> None:
        """The topic enters the table: from now on every thread sees it."""
        row, b = phase(a, p, "built", "the new configuration is made")
        t = row.topic
        a.set(config[b, t], s.Config(known=True, read=row.read, write=row.write, perm=row.perm, order=False))
        a.set(s.creations[b, t], ite(s.creations[b, t] < 2, s.creations[b, t] + 1, 2))
        a.set(row.touched, True)
        a.set(row.created, True)
        a.set(row.phase, "put")

    @m.action(actor=HANDLER, rules="TCM-16 TCM-02", fair="weak", p=s.Producer)
    def next_version(a: Body, p: Expr) -> None:
        """The data version of the table is counted up."""
        row, b = phase(a, p, "put", "the topic is in the table")
        a.bound("versions left", s.version[b] < s.scope.versions, "the scope counts that far")
        a.set(s.version[b], s.version[b] + 1)
        a.set(row.phase, "versioned")

    @m.action(actor=HANDLER, rules="TCM-16 PER-01", fair="weak", p=s.Producer)
    def persist(a: Body, p: Expr) -> None:
        """The whole table is written to its file, still under the lock."""
        row, b = phase(a, p, "versioned", "the version is counted up")
        write_file(s, a, b)
        a.set(row.phase, "persisted")

    @m.action(actor=HANDLER, rules="TCM-17", fair="weak", p=s.Producer)
    def unlock(a: Body, p: Expr) -> None:
        """The creator releases the broker lock."""
        row, b = phase(a, p, "persisted", "the table is persisted")
        a.set(s.lock[b], None)
        a.set(row.phase, "unlocked")

    @m.action(actor=HANDLER, rules="TCM-11 TCM-17", fair="weak", p=s.Producer)
    def unlock_found(a: Body, p: Expr) -> None:
        """The loser of the race releases the lock and uses the topic: no version, no persist, no registration by it."""
        row, b = phase(a, p, "found", "the second look-up found the topic")
        a.set(s.lock[b], None)
        a.set(row.phase, "checked")

    @m.action(actor=HANDLER, rules="TCM-12 TCM-14", fair="weak", p=s.Producer)
    def unlock_refused(a: Body, p: Expr) -> None:
        """Without a usable template the lock is released and nothing was created."""
        row, b = phase(a, p, "refused", "the template gave nothing")
        a.set(s.lock[b], None)
        a.set(row.phase, "failed")

    @m.action(actor=HANDLER, rules="TCM-17 NS-10", fair="weak", p=s.Producer)
    def announce(a: Body, p: Expr) -> None:
        """The creator sends the one-way registration, without the lock and without waiting for an answer."""
        row, b = phase(a, p, "unlocked", "the topic is created and the lock released")
        a.bound("wire free", ~s.letter_sent[b], "no registration of this broker is on the wire")
        send_letter(s, a, b)
        count = s.announcements[b, row.topic]
        a.set(count, ite(count < 2, count + 1, 2))
        a.set(row.phase, "checked")

    if s.scope.named("retry"):

        @m.action(actor=HANDLER, rules="CHK-08 TCM-20", fair="weak", p=s.Producer)
        def second_way(a: Body, p: Expr) -> None:
            """A retry topic that the template did not give is tried once more, with one queue."""
            row, b = phase(a, p, "failed", "creation gave nothing")
            a.guard("retry topic", s.of_class(row.topic, "retry"), "the topic is a retry topic")
            a.guard("first time", ~row.fallback, "the second way is still to be tried")
            a.set(row.fallback, True)
            a.set(row.phase, ite(config[b, row.topic].known, const(Phase.encode("checked"), Phase), "missing"))

    @m.action(actor=HANDLER, rules="CHK-09", fair="weak", p=s.Producer)
    def topic_not_exist(a: Body, p: Expr) -> None:
        """The topic does not exist and could not be created."""
        row, _ = phase(a, p, "failed", "creation gave nothing")
        a.guard("no second way", ~s.of_class(row.topic, "retry") | row.fallback, "there is no second way to try")
        answer(s, a, p, "TOPIC_NOT_EXIST")


def queue_check(s: Specification) -> None:
    """CHK-10 and SEND-22: the queue id."""
    job, config = s.job, s.config

    @s.model.action(actor=HANDLER, rules="CHK-10 CHK-11", fair="weak", p=s.Producer)
    def accept_queue(a: Body, p: Expr) -> None:
        """The queue id is below the larger of the two counts, or negative; the topic's own permission is not asked."""
        row, b = _in_phase(s, a, p, "checked", "a configuration of the topic is at hand")
        chosen = config[b, row.topic]
        a.guard("legal queue id", legal_queue(row.queue, chosen.read, chosen.write), "the queue id is below the larger count")
        a.set(row.phase, "append")

    @s.model.action(actor=HANDLER, rules="CHK-10", fair="weak", p=s.Producer)
    def refuse_queue(a: Body, p: Expr) -> None:
        """The queue id is not below either count."""
        row, b = _in_phase(s, a, p, "checked", "a configuration of the topic is at hand")
        chosen = config[b, row.topic]
        a.guard("illegal queue id", ~legal_queue(row.queue, chosen.read, chosen.write), "the queue id is not below either count")
        answer(s, a, p, "SYSTEM_ERROR")

    @s.model.action(actor=HANDLER, rules="SEND-22", fair="weak", p=s.Producer)
    def divide_by_zero(a: Body, p: Expr) -> None:
        """A negative queue id on a topic without writable queues: the remainder by zero is answered as an error."""
        row = job[p]
        a.guard("accepted", s.at(row, "append"), "the request is accepted")
        a.guard("broker runs", s.up[row.broker.get], "the broker runs")
        a.guard("negative", row.queue < 0, "the queue id is negative")
        a.guard("no writable queue", config[row.broker.get, row.topic].write == 0, "the topic has no queue to write to")
        answer(s, a, p, "SYSTEM_ERROR")


def drawn(s: Specification, row: Row, draw: Expr) -> Expr:
    """SEND-22: the queue of an accepted request: its own, or a random one for a negative id."""
    write = s.config[row.broker.get, row.topic].write
    term: Expr = ite(row.queue < 0, random_queue(s.given("signed_random"), draw, write), row.queue)
    return term


Table = Callable[[Expr], Row]


def write_file(s: Specification, a: Body, b: Expr, table: Table | None = None, version: Expr | None = None) -> None:
    """Write the table (as it is, or as given) to the broker's file (PER-01)."""
    for t in s.Topic:
        a.set(s.file[b, t], table(t) if table else s.config[b, t])
    a.set(s.file_version[b], s.version[b] if version is None else version)


def send_letter(s: Specification, a: Body, b: Expr, table: Table | None = None, version: Expr | None = None) -> None:
    """Put the table (as it is, or as given) on the wire (NS-11)."""
    for t in s.Topic:
        a.set(s.letter[b, t], s.published(table(t) if table else s.config[b, t]))
    a.set(s.letter_version[b], s.version[b] if version is None else version)
    a.set(s.letter_sent[b], True)


def registration(s: Specification) -> None:
    """The periodic registration (NS-10)."""

    @s.model.action(actor=SERVICE, rules="NS-09 NS-10", fair="weak", b=s.Broker)
    def register(a: Body, b: Expr) -> None:
        """The 30 s timer: the broker asks whether its version is known and, if not, sends its table."""
        a.guard("broker runs", s.up[b], "the broker runs")
        a.guard("version unknown", ~s.live[b] | (s.live_version[b] != s.version[b]), "the name server has another version")
        a.bound("wire free", ~s.letter_sent[b], "no registration of this broker is on the wire")
        send_letter(s, a, b)


def failures(s: Specification) -> None:
    """A broker process that ends and comes back."""

    @s.model.action(actor=ENVIRONMENT, b=s.Broker, weight=0.05)
    def crash(a: Body, b: Expr) -> None:
        """The broker's process ends: memory is gone, the file and the log stay, its requests get no answer."""
        a.guard("broker runs", s.up[b], "the broker runs")
        a.bound("crashes left", s.crashes < s.given("crash_budget"), "the scope allows another crash")
        a.set(s.crashes, s.crashes + 1)
        a.set(s.up[b], False)
        a.set(s.lock[b], None)
        a.set(s.version[b], 0)
        a.set(s.letter_sent[b], False)
        a.set(s.letter_version[b], 0)
        for t in s.Topic:
            a.set(s.config[b, t], s.absent)
            a.set(s.letter[b, t], s.absent)
            a.set(s.creations[b, t], 0)
            a.set(s.announcements[b, t], 0)
        for p in s.Producer:
            row = s.job[p]
            here = (row.broker == b) & (row.phase != "answered") & (row.phase != "idle")
            a.set(row.phase, "answered", when=here)
            a.set(row.answer, "lost", when=here)

    @s.model.action(actor=ENVIRONMENT, rules="PER-03 PER-04 TCM-03", fair="weak", b=s.Broker)
    def restart(a: Body, b: Expr) -> None:
        """The broker starts: constructor's entries, the file's entries over them, the file's version."""
        a.guard("broker down", ~s.up[b], "the broker does not run")
        a.set(s.up[b], True)
        a.set(s.version[b], s.file_version[b])
        for t in s.Topic:
            code = t.args[0]
            made = s.file[b, t]
            if s.scope.topics[code] == "template":
                own = s.Config(
                    known=s.given("auto_create"),
                    read=s.given("template_read"),
                    write=s.given("template_write"),
                    perm=s.given("template_perm"),
                    order=False,
                )
                made = ite(made.known | ~s.given("auto_create"), made, own)
            elif s.scope.topics[code] == "cluster":
                own = s.Config(known=True, read=s.scope.counts.hi, write=s.scope.counts.hi, perm=s.given("cluster_perm"), order=False)
                made = ite(made.known, made, own)
            a.set(s.config[b, t], made)
