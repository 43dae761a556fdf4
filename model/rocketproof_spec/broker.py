"""The broker: msgCheck in order, the check of the queue id, the periodic registration, crash and restart.

Each action is the work of a broker's thread between two points at which other threads can observe it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from rocketproof_model.language import Body, Expr, Row, ite
from rocketproof_profiles import NameClass

from .actors import ENVIRONMENT, SERVICE
from .arithmetic import has_bit, legal_queue, random_queue
from .handling import answer, end_registration, in_phase, require_running, send_registration, use_config, write_queues
from .vocabulary import Specification, started

Test = Callable[[Expr, Expr], Expr]
"""A condition on a broker and a topic."""


class MessageCheck(NamedTuple):
    """A check of msgCheck that can refuse a send. `otherwise` is the sentence for a send that passes the check."""

    action: str
    rule: str
    code: str | Expr
    guard: str
    sentence: str
    otherwise: str
    test: Test


def _writable(s: Specification) -> Expr:
    return has_bit(s.permission, 2)


def checks(s: Specification) -> None:
    """msgCheck (CHK-01 to CHK-05): the refusals in the broker's order, then the look-up of the topic without the lock."""
    job, config = s.job, s.config
    check = s.given("check_names")

    def of_class(name_class: NameClass) -> Test:
        return lambda b, t: check & s.of_class(t, name_class)

    def order_topic(b: Expr, t: Expr) -> Expr:
        return ~_writable(s) & config[b, t].known & config[b, t].order

    refusals = [
        MessageCheck(
            "refuse_order_topic", "CHK-01", "NO_PERMISSION", "order topic on a read-only broker",
            "the broker is not writable and the topic is an order topic", "the broker is writable, or the topic is not an order topic",
            order_topic,
        ),
        MessageCheck(
            "refuse_blank", "CHK-02", s.illegal, "blank name",
            "the name is blank", "the name is not blank, or names are not checked", of_class("blank"),
        ),
        MessageCheck(
            "refuse_characters", "CHK-02", s.illegal, "illegal characters",
            "the name has an illegal character", "the name has no illegal character, or names are not checked", of_class("illegal"),
        ),
        MessageCheck(
            "refuse_length", "CHK-02", s.illegal, "name too long",
            "the name is longer than 127", "the name is not longer than 127, or names are not checked", of_class("long"),
        ),
        MessageCheck(
            "refuse_forbidden", "CHK-03", "NO_PERMISSION", "forbidden topic",
            "clients may not send to this topic", "clients may send to this topic, or names are not checked", of_class("forbidden"),
        ),
        MessageCheck(
            "refuse_template", "CHK-04", "SYSTEM_ERROR", "reserved name",
            "the name is the template's", "the name is not the template's, or that name is not reserved",
            lambda b, t: s.given("reserves_template") & s.of_class(t, "template"),
        ),
    ]  # fmt: skip

    def arrived(a: Body, p: Expr) -> tuple[Expr, Expr]:
        row, b = in_phase(s, a, p, "arrived", "a request has arrived at the broker")
        return b, row.topic

    def passed(a: Body, b: Expr, t: Expr, count: int) -> None:
        for refusal in refusals[:count]:
            a.guard(f"not: {refusal.guard}", ~refusal.test(b, t), refusal.otherwise)

    for place, refusal in enumerate(refusals):

        def refuse(a: Body, p: Expr, place: int = place, refusal: MessageCheck = refusal) -> None:
            b, t = arrived(a, p)
            passed(a, b, t, place)
            a.guard(refusal.guard, refusal.test(b, t), refusal.sentence)
            answer(s, a, p, refusal.code, checks=True)
            a.says("{by} rejects the message for {topic}: " + refusal.sentence, topic=t)

        refuse.__doc__ = f"The broker refuses the request: {refusal.sentence}."
        s.handler(name=refusal.action, rules=refusal.rule)(refuse)

    @s.handler(rules="CHK-05")
    def look_up(a: Body, p: Expr) -> None:
        """The broker finds the topic in its table. It does not take the lock."""
        b, t = arrived(a, p)
        passed(a, b, t, len(refusals))
        a.guard("known", config[b, t].known, "the broker has the topic")
        a.set(job[p].phase, "checked")
        use_config(s, a, job[p], config[b, t])
        a.says("{by} finds {topic} in its table", topic=t)

    @s.handler(rules="CHK-05 CHK-07")
    def look_up_missing(a: Body, p: Expr) -> None:
        """The broker does not find the topic, and tries to create it."""
        b, t = arrived(a, p)
        passed(a, b, t, len(refusals))
        a.guard("unknown", ~config[b, t].known, "the broker does not have the topic")
        a.set(job[p].phase, "missing")
        a.says("{by} does not have {topic} and tries to create it", topic=t)


def queue_check(s: Specification) -> None:
    """CHK-10 and SEND-22: the queue id."""
    config = s.config

    def checked(a: Body, p: Expr, then: str = "") -> Expr:
        row, b = in_phase(s, a, p, "checked", "the request has a configuration of the topic", then=then)
        config_used = row if s.scope.changes else config[b, row.topic]
        return legal_queue(row.queue, config_used.read, config_used.write)

    @s.handler(rules="CHK-10 CHK-11")
    def accept_queue(a: Body, p: Expr) -> None:
        """The queue id is below the larger of the two counts, or negative. The topic's permission is not checked."""
        a.guard("legal queue id", checked(a, p, then="append"), "the queue id is below the larger count")
        a.says("{by} accepts queue id {queue} for {topic}", topic=s.job[p].topic, queue=s.job[p].queue)

    @s.handler(rules="CHK-10")
    def refuse_queue(a: Body, p: Expr) -> None:
        """The queue id is not below either count."""
        a.guard("illegal queue id", ~checked(a, p), "the queue id is not below either count")
        answer(s, a, p, s.illegal)
        a.says("{by} rejects queue id {queue} for {topic}", topic=s.job[p].topic, queue=s.job[p].queue)

    @s.handler(rules="SEND-22")
    def divide_by_zero(a: Body, p: Expr) -> None:
        """A negative queue id on a topic without write queues: the division by zero is answered as an error."""
        row, b = in_phase(s, a, p, "append", "the request is accepted", name="accepted")
        a.guard("negative", row.queue < 0, "the queue id is negative")
        a.guard("no writable queue", write_queues(s, b, row) == 0, "the topic has no write queue")
        answer(s, a, p, "SYSTEM_ERROR")
        a.says("{by} divides by zero: {topic} has no write queue for queue id {queue}", topic=row.topic, queue=row.queue)


def drawn(s: Specification, row: Row, draw: Expr) -> Expr:
    """SEND-22: the queue of an accepted request. It is the requested queue, or a random one for a negative id."""
    write = write_queues(s, row.broker.get, row)
    return ite(row.queue < 0, random_queue(s.given("signed_random"), s.given("keeps_sign"), draw, write), row.queue)


def registration(s: Specification) -> None:
    """The periodic registration (NS-10)."""

    @s.action(actor=SERVICE, rules="NS-09 NS-10 NS-11", fair="weak", b=s.Broker)
    def register(a: Body, b: Expr) -> None:
        """The 30 s timer: the broker asks whether the name server has its version. If it does not, the broker sends its table."""
        require_running(s, a, b)
        a.guard("version unknown", ~s.live[b] | (s.live_version[b] != s.version[b]), "the name server has another version")
        a.bound("none in flight", ~s.registration_in_flight[b], "no registration of this broker is in flight")
        send_registration(s, a, b)
        a.says("{by} sends its topic table with version {version} to the name server", version=s.version[b])


def failures(s: Specification) -> None:
    """Crash and restart of a broker's process."""

    @s.action(actor=ENVIRONMENT, b=s.Broker, weight=0.05)
    def crash(a: Body, b: Expr) -> None:
        """The broker's process ends. Memory is lost, the file and the log stay, and pending requests get no answer."""
        require_running(s, a, b)
        a.bound("crashes left", s.crashes < s.given("crash_budget"), "the scope allows another crash")
        a.set(s.crashes, s.crashes + 1)
        a.set(s.up[b], False)
        a.set(s.lock[b], None)
        a.set(s.version[b], 0)
        end_registration(s, a, b)
        for t in s.Topic:
            a.set(s.config[b, t], s.absent)
            a.set(s.creations[b, t], 0)
            a.set(s.announcements[b, t], 0)
        for p in s.Producer:
            row = s.job[p]
            here = (row.broker == b) & (row.phase != "answered") & (row.phase != "idle")
            a.update(row, when=here, phase="answered", answer="lost")
        a.says("{b} crashes")

    @s.action(actor=ENVIRONMENT, rules="PER-03 PER-04 TCM-03", fair="weak", b=s.Broker)
    def restart(a: Body, b: Expr) -> None:
        """The broker starts with the constructor's topics. The file's topics override them, and the file's version is restored."""
        a.guard("broker down", ~s.up[b], "the broker does not run")
        a.set(s.up[b], True)
        a.set(s.version[b], s.file_version[b])
        for t in s.Topic:
            a.set(s.config[b, t], started(s.file[b, t], s.own[t.args[0]]))
        a.says("{b} restarts with the topics of its file")
