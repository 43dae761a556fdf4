"""The broker: msgCheck in order, the queue id check, the periodic registration, crash and restart.

Each action is one thing that the broker's thread does between two points at which another thread can be seen.
"""

from __future__ import annotations

from typing import Any

from ..language import Body, Expr, Row, ite
from .actors import ENVIRONMENT, SERVICE
from .arithmetic import has_bit, legal_queue, random_queue
from .handling import answer, in_phase, send_registration
from .vocabulary import Specification


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
        s.handler(name=action, rules=rule)(refuse)

    @s.handler(rules="CHK-05")
    def look_up(a: Body, p: Expr) -> None:
        """The broker finds the topic in its table, without the lock."""
        b, t = arrived(a, p)
        earlier(a, b, t, len(refusals))
        a.guard("known", config[b, t].known, "the broker has the topic")
        a.set(job[p].phase, "checked")

    @s.handler(rules="CHK-05 CHK-07")
    def look_up_missing(a: Body, p: Expr) -> None:
        """The broker does not find the topic and tries to create it."""
        b, t = arrived(a, p)
        earlier(a, b, t, len(refusals))
        a.guard("unknown", ~config[b, t].known, "the broker does not have the topic")
        a.set(job[p].phase, "missing")


def queue_check(s: Specification) -> None:
    """CHK-10 and SEND-22: the queue id."""
    job, config = s.job, s.config

    @s.handler(rules="CHK-10 CHK-11")
    def accept_queue(a: Body, p: Expr) -> None:
        """The queue id is below the larger of the two counts, or negative; the topic's own permission is not asked."""
        row, b = in_phase(s, a, p, "checked", "a configuration of the topic is at hand")
        chosen = config[b, row.topic]
        a.guard("legal queue id", legal_queue(row.queue, chosen.read, chosen.write), "the queue id is below the larger count")
        a.set(row.phase, "append")

    @s.handler(rules="CHK-10")
    def refuse_queue(a: Body, p: Expr) -> None:
        """The queue id is not below either count."""
        row, b = in_phase(s, a, p, "checked", "a configuration of the topic is at hand")
        chosen = config[b, row.topic]
        a.guard("illegal queue id", ~legal_queue(row.queue, chosen.read, chosen.write), "the queue id is not below either count")
        answer(s, a, p, "SYSTEM_ERROR")

    @s.handler(rules="SEND-22")
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


def registration(s: Specification) -> None:
    """The periodic registration (NS-10)."""

    @s.model.action(actor=SERVICE, rules="NS-09 NS-10", fair="weak", b=s.Broker)
    def register(a: Body, b: Expr) -> None:
        """The 30 s timer: the broker asks whether its version is known and, if not, sends its table."""
        a.guard("broker runs", s.up[b], "the broker runs")
        a.guard("version unknown", ~s.live[b] | (s.live_version[b] != s.version[b]), "the name server has another version")
        a.bound("none in flight", ~s.registration_in_flight[b], "no registration of this broker is in flight")
        send_registration(s, a, b)


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
        a.set(s.registration_in_flight[b], False)
        a.set(s.registration_version[b], 0)
        for t in s.Topic:
            a.set(s.config[b, t], s.absent)
            a.set(s.registration[b, t], s.absent)
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
