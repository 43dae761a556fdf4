"""The steps of a request between the checks and the store, in scopes that decide the topic and queue of a record.

They include retries, dead letters, half messages, delay levels, invalid messages, send-backs, and ends of transactions. Each step is one
action. A retry topic or dead-letter topic is also created in one action, without the lock.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rocketproof_model.language import Body, Bool, Expr, Row, any_of, ite
from rocketproof_protocol.groups import RETRY_MAX_TIMES

from .actors import ADMINISTRATOR
from .arithmetic import COMMIT, ROLLBACK, WRITE, counted, has_bit
from .bounds import is_dead, level_queue, retry_limit
from .broker import drawn
from .handling import answer, in_phase, require_running, send_registration, write_file, write_queues
from .placement import (
    CHECKS,
    Check,
    conditions,
    destination,
    gives_up,
    is_delayed,
    is_free,
    level_given_back,
    level_of,
    level_sent,
    next_level,
    require_checks,
    require_retries,
)
from .vocabulary import Specification


class PlacedSteps:
    """Guards and effects that the steps share."""

    def __init__(self, s: Specification) -> None:
        assert s.places is not None
        self.s, self.way, self.group, self.config = s, s.places.way, s.places.group, s.config

    def at(self, a: Body, p: Expr, step: str) -> tuple[Row, Row, Expr, Row]:
        """Require that the request is at this step. Returns its job, its `way`, its broker, and the group of its topic."""
        job, b = in_phase(self.s, a, p, "append", "the request is accepted", name="accepted")
        way = self.way[p]
        a.guard(f"step {step}", way.step == step, "the request is at this step")
        return job, way, b, self.group[b, job.topic]

    def sent(self, a: Body, p: Expr, step: str = "put") -> tuple[Row, Row, Expr, Row]:
        """Like `at`, for a request whose queue can be drawn (SEND-22)."""
        job, way, b, group = self.at(a, p, step)
        has_queue = (job.queue >= 0) | (write_queues(self.s, b, job) != 0)
        a.guard("has a queue", has_queue, "the queue id is given, or the topic has one to draw")
        return job, way, b, group

    def returned(self, a: Body, p: Expr, kind: str, upto: str = "", *, fails: bool = True) -> tuple[Row, Row, Expr, Row]:
        """Require that a returned message passes the checks before `upto`, and `fails` that check or passes it. Without `upto` it passes
        all."""
        s = self.s
        job, way, b, group = self.at(a, p, "back") if kind == "back" else self.sent(a, p, "retry")
        topic = self.config[b, job.topic]
        holds = conditions(
            kind, group, topic, ~topic.known, writable=has_bit(s.permission, WRITE),
            found=way.found & ~(s.given("checks_origin") & way.elsewhere), given=s.given, named=way.named, version=way.version,
        )  # fmt: skip
        passed = require_checks(a, holds, kind, upto, fails=fails)
        if "group" in passed:
            a.set(group.listed, True)
        if "queues" in passed and fails and upto != "topic":
            a.guard("retry topic known", topic.known, "the broker has the retry topic")
        return job, way, b, group

    def tried(self, a: Body, p: Expr, kind: str, *, dead: bool) -> tuple[Row, Row, Expr]:
        """Require that all checks pass, and that the message is retried or becomes a `dead` letter."""
        job, way, b, group = self.returned(a, p, kind)
        limit = retry_limit(group.limit, way.version, way.named, way.requested)
        beyond = is_dead(way.times, limit, self.s.given("dlq_beyond"))
        require_retries(a, gives_up(way.times, limit, way.level) if kind == "back" else beyond, dead=dead)
        return job, way, b

    def create_topic(self, a: Body, b: Expr, topic: Expr, queues: Any, perm: Any) -> None:
        """Create a topic on the broker, write the broker's table, and register it."""
        s, config = self.s, self.config
        a.guard("unknown", ~config[b, topic].known, "the broker does not have the topic")
        a.bound("none in flight", ~s.registration_in_flight[b], "no registration of this broker is in flight")
        new = s.Config(known=True, read=queues, write=queues, perm=perm, order=False)

        def table(x: Expr) -> Row:
            return ite(x == topic, new, config[b, x])

        a.set(config[b, topic], new)
        a.set(s.version[b], s.version[b] + 1)
        write_file(s, a, b, table, s.version[b] + 1)
        send_registration(s, a, b, table, s.version[b] + 1)

    def goes_to(self, a: Body, way: Row, place: Expr, lane: Any) -> None:
        """Set the topic and queue in which the record will be stored."""
        a.update(way, step="put", place=place, lane=lane)


def placed_requests(s: Specification) -> None:
    """All steps of accepted sends, and of send-backs and ends of transactions."""
    steps = PlacedSteps(s)
    returned(s, steps)
    putting(s, steps)
    ends(s, steps)

    if s.scope.waits:
        return

    @s.model.action(actor=ADMINISTRATOR, b=s.Broker, t=s.Topic, known=Bool, limit=s.scope.limits, queues=s.scope.limits, listed=Bool)
    def update_group(a: Body, b: Expr, t: Expr, known: Expr, limit: Expr, queues: Expr, listed: Expr) -> None:
        """An administrator creates, changes or deletes the group of a retry topic. A look-up may create a missing group with defaults
        (DLQ-02)."""
        require_running(s, a, b)
        if s.scope.of_subject:
            a.bound("a retry topic's", s.of_class(t, "retry"), "the scope has the groups of retry topics")
        most, many = ite(listed, limit, RETRY_MAX_TIMES), ite(listed, queues, 1)
        a.update(steps.group[b, t], known=known | listed, limit=most, queues=many, listed=listed)


def returned(s: Specification, steps: PlacedSteps) -> None:
    """Returned messages: send-backs (BACK-03 to BACK-18) and sends to a retry topic (DLQ-01 to DLQ-06). The job of a send-back has the
    retry topic, and the kind of the original message."""

    def handler(name: str, sentence: str, rules: str) -> Callable[[Callable[[Body, Expr], None]], None]:
        def named(effect: Callable[[Body, Expr], None]) -> None:
            effect.__name__, effect.__doc__ = name, sentence
            s.handler(rules=rules)(effect)

        return named

    def refusals(kind: str, failing: str, check: Check, rules: str) -> None:
        @handler(f"{kind}_no_{failing}", f"A message is returned, but {check.otherwise}.", rules)
        def refuse(a: Body, p: Expr) -> None:
            steps.returned(a, p, kind, failing)
            answer(s, a, p, check.answer)

    for name, check in CHECKS.items():
        refusals("back", name, check, check.back)
        if check.send:
            refusals("send", name, check, check.send)

    @s.handler(rules="BACK-06 BACK-07")
    def make_retry_topic(a: Body, p: Expr) -> None:
        """The group's retry topic is created with the group's queues."""
        job, _, b, group = steps.returned(a, p, "back", "topic", fails=False)
        steps.create_topic(a, b, job.topic, group.queues, 6)

    @s.handler(rules="BACK-12")
    def back_no_origin(a: Body, p: Expr) -> None:
        """A request that gives a message up must name the message's original topic."""
        _, way, _ = steps.tried(a, p, "back", dead=True)
        a.guard("no origin", s.given("wants_origin") & ~way.fitting, "the request does not name the message's topic, but must")
        answer(s, a, p, "SYSTEM_ERROR")

    def buries(kind: str, level: Callable[[Row], Expr], rules: str) -> None:
        def dead(a: Body, p: Expr) -> tuple[Row, Expr]:
            _, way, b = steps.tried(a, p, kind, dead=True)
            a.guard(
                "origin",
                ~way.back | ~s.given("wants_origin") | way.fitting,
                "the request names the message's topic, or the release does not require it",
            )
            return way, b

        @handler(f"{kind}_makes_dead_letters", "The group's dead-letter topic is created.", rules)
        def make(a: Body, p: Expr) -> None:
            way, b = dead(a, p)
            steps.create_topic(a, b, way.dead, 1, s.given("dlq_perm"))

        @handler(f"{kind}_bury", "The message becomes a dead letter. The answer to a send has the queue of the retry topic.", rules)
        def bury(a: Body, p: Expr) -> None:
            way, b = dead(a, p)
            a.guard("dead letters known", s.config[b, way.dead].known, "the group's dead-letter topic exists")
            a.set(way.level, level(way))
            steps.goes_to(a, way, way.dead, 0)

    buries("back", lambda way: level_given_back(s.given("dlq_clears_delay"), way.kept), "BACK-11 BACK-12")
    buries("send", lambda way: level_sent(s.given("dlq_keeps_delay"), way.level), "DLQ-04 DLQ-06")

    @s.handler(rules="BACK-11 BACK-13 BACK-14 BACK-17")
    def back_retry(a: Body, p: Expr) -> None:
        """The message will wait on a delay level before it is delivered to the retry topic. It has the kind of the original message."""
        job, way, _ = steps.tried(a, p, "back", dead=False)
        a.set(way.level, next_level(way.level, way.times))
        steps.goes_to(a, way, job.topic, 0)

    @s.handler(rules="DLQ-03")
    def send_retry(a: Body, p: Expr) -> None:
        """The message stays in its retry topic."""
        _, way, _ = steps.tried(a, p, "send", dead=False)
        a.set(way.step, "put")


def putting(s: Specification, steps: PlacedSteps) -> None:
    """Half messages, delay levels, and refusals before the store or in it."""

    def reaches_store(a: Body, p: Expr, *flaws: str) -> tuple[Row, Row]:
        job, way, _, _ = steps.sent(a, p)
        a.guard("at the store", ~way.half & any_of(way.flaw == flaw for flaw in flaws), "the message has reached the store")
        a.guard("master", ~s.given("slave"), "the broker is no slave")
        return job, way

    @s.handler(rules="TRX-01 TRX-03")
    def refuse_transaction(a: Body, p: Expr) -> None:
        """The broker rejects transactional messages. Their topics have been created by then."""
        _, way, _, _ = steps.sent(a, p)
        a.guard("transaction refused", way.flaw == "transaction", "the message is transactional, and the broker rejects transactions")
        answer(s, a, p, "NO_PERMISSION")

    @s.handler(rules="TRX-04 TRX-05")
    def prepare(a: Body, p: Expr) -> None:
        """A transactional message becomes a half message, and gets an offset in the queue of half messages."""
        job, way, _, _ = steps.sent(a, p)
        a.guard("half", way.half & (way.flaw != "transaction"), "the message is transactional, and the broker accepts it")
        a.set(way.half, False)
        a.set(job.kind, "not")
        steps.goes_to(a, way, way.halves, 0)

    def on_slave(a: Body, p: Expr) -> Row:
        _, way, _, _ = steps.sent(a, p)
        a.guard("slave", s.given("slave") & ~way.half & (way.flaw != "transaction"), "the message has reached the store of a slave")
        return way

    @s.handler(rules="STO-01 STO-02")
    def refuse_on_slave(a: Body, p: Expr) -> None:
        """A slave's store rejects messages."""
        a.guard("sent", ~on_slave(a, p).back, "the message was sent")
        answer(s, a, p, "SERVICE_NOT_AVAILABLE")

    @s.handler(rules="BACK-16")
    def back_on_slave(a: Body, p: Expr) -> None:
        """A send-back to a slave is answered with an error."""
        a.guard("sent back", on_slave(a, p).back, "the message was sent back")
        answer(s, a, p, "SYSTEM_ERROR")

    @s.handler(rules="STO-02 APP-05 APP-06 BAT-02 BAT-04")
    def refuse_size(a: Body, p: Expr) -> None:
        """The store rejects the message or batch because of its size."""
        reaches_store(a, p, "size")
        answer(s, a, p, "MESSAGE_ILLEGAL")

    @s.handler(rules="APP-03 APP-05 APP-06", draw=s.scope.draws)
    def refuse_encoding(a: Body, p: Expr, draw: Expr) -> None:
        """Encoding rejects the message. In some releases its queue's offset is already counted by then."""
        job, way = reaches_store(a, p, "encoding")
        a.guard("does not wait", is_free(way, job.kind), "the message is on its delay level or in the timer topic, or requests neither")
        a.guard("one draw", (job.queue < 0) | (draw == 0), "a random number is drawn for a negative queue id only")
        place = (job.broker.get, *destination(s, p, drawn(s, job, draw)))
        a.bound("queue in scope", place[2] < s.scope.queues, "the scope has a counter for the queue")
        a.set(s.log.offset[place], s.log.offset[place] + 1, when=s.given("counts_refused") & counted(job.kind))
        answer(s, a, p, ite(way.back, "SYSTEM_ERROR", "MESSAGE_ILLEGAL"))

    @s.handler(rules="CL-02")
    def refuse_error(a: Body, p: Expr) -> None:
        """The store fails with an exception, for example because the delay level is not a number."""
        reaches_store(a, p, "error")
        answer(s, a, p, "SYSTEM_ERROR")

    @s.handler(rules="CL-02")
    def delay(a: Body, p: Expr) -> None:
        """The message is stored on its delay level, and gets an offset in the queue of that level."""
        job, way = reaches_store(a, p, "none", "encoding")
        a.guard("waits", is_delayed(way.level, job.kind), "the message requests a delay level, and its kind takes a queue offset")
        a.update(way, level=0, timed=False)
        steps.goes_to(a, way, way.delayed, level_queue(level_of(way.level)))

    @s.handler()
    def keep_in_wheel(a: Body, p: Expr) -> None:
        """The message is stored in the timer topic, and gets an offset in its single queue (5.x)."""
        job, way = reaches_store(a, p, "none", "encoding")
        a.guard(
            "has a time",
            way.timed & ~is_delayed(way.level, job.kind) & counted(job.kind),
            "the message's time is in the future, and it has no delay level",
        )
        a.set(way.timed, False)
        steps.goes_to(a, way, way.wheel, 0)


def ends(s: Specification, steps: PlacedSteps) -> None:
    """The end of a transaction (request 37). Its job has the topic and queue of the original message."""

    @s.handler()
    def end_without_half(a: Body, p: Expr) -> None:
        """There is no half message, or it does not match the request."""
        _, way, _, _ = steps.at(a, p, "end")
        a.guard("misfit", ~(way.found & way.fitting), "there is no half message, or its group or offset differs")
        answer(s, a, p, "SYSTEM_ERROR")

    def ended(a: Body, p: Expr, kind: str) -> Row:
        job, way, _, _ = steps.at(a, p, "end")
        a.guard("half message", way.found & way.fitting, "the half message exists and matches the request")
        a.guard(kind, job.kind == kind, f"the request is a {kind}")
        return way

    @s.handler()
    def roll_back(a: Body, p: Expr) -> None:
        """The half message is rolled back. It stays in its queue, and so does a message that an earlier commit stored."""
        ended(a, p, ROLLBACK)
        answer(s, a, p, "SUCCESS")

    @s.handler()
    def commit(a: Body, p: Expr) -> None:
        """The message is stored in its original topic, even if an earlier commit has stored it already."""
        a.set(ended(a, p, COMMIT).step, "put")
