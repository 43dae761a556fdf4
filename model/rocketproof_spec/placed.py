"""What happens to a request between the checks and the store: retries, dead letters, half messages, delay levels, flaws; and to a send-back
or the end of a transaction before its record is stored like that of a send.

Each is one step. A topic of retries or of dead letters is made in one, too, without the lock.
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
from .handling import answer, in_phase, runs, send_registration, write_file, write_queues
from .placing import (
    CHECKS,
    Check,
    asks,
    conditions,
    destination,
    gives_up,
    is_delayed,
    is_free,
    level_given_back,
    level_of,
    level_sent,
    next_level,
    retries_left,
)
from .vocabulary import Specification


class PlacedSteps:
    """What the steps have in common."""

    def __init__(self, s: Specification) -> None:
        assert s.places is not None
        self.s, self.way, self.group, self.config = s, s.places.way, s.places.group, s.config

    def at(self, a: Body, p: Expr, step: str) -> tuple[Row, Row, Expr, Row]:
        """The request stands at this step; its job, its way, its broker, and the group of its topic."""
        job, b = in_phase(self.s, a, p, "append", "the request is accepted", name="accepted")
        way = self.way[p]
        a.guard(f"step {step}", way.step == step, "the request stands there")
        return job, way, b, self.group[b, job.topic]

    def sent(self, a: Body, p: Expr, step: str = "put") -> tuple[Row, Row, Expr, Row]:
        """The same of a request whose queue has been drawn (SEND-22)."""
        job, way, b, group = self.at(a, p, step)
        has_queue = (job.queue >= 0) | (write_queues(self.s, b, job) != 0)
        a.guard("has a queue", has_queue, "the queue id is given, or the topic has one to draw")
        return job, way, b, group

    def asked(self, a: Body, p: Expr, asked: str, upto: str = "", *, fails: bool = True) -> tuple[Row, Row, Expr, Row]:
        """The message is to come back, and has passed the checks `upto` one that `fails`, or all of them."""
        s = self.s
        job, way, b, group = self.at(a, p, "back") if asked == "back" else self.sent(a, p, "retry")
        topic = self.config[b, job.topic]
        holds = conditions(
            asked, group, topic, ~topic.known, writable=has_bit(s.permission, WRITE),
            found=way.found & ~(s.given("checks_origin") & way.elsewhere), given=s.given, named=way.named, version=way.version,
        )  # fmt: skip
        passed = asks(a, holds, asked, upto, fails=fails)
        if "group" in passed:
            a.set(group.listed, True)
        if "queues" in passed and fails and upto != "topic":
            a.guard("retry topic known", topic.known, "the broker has the retry topic")
        return job, way, b, group

    def tried(self, a: Body, p: Expr, asked: str, *, dead: bool) -> tuple[Row, Row, Expr]:
        """Every check is passed; the message will be retried, or be a `dead` letter."""
        job, way, b, group = self.asked(a, p, asked)
        limit = retry_limit(group.limit, way.version, way.named, way.requested)
        beyond = is_dead(way.times, limit, self.s.given("dlq_beyond"))
        retries_left(a, gives_up(way.times, limit, way.level) if asked == "back" else beyond, dead=dead)
        return job, way, b

    def makes(self, a: Body, b: Expr, topic: Expr, queues: Any, perm: Any) -> None:
        """The broker makes a topic, writes its table and registers it."""
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

    def lies(self, a: Body, way: Row, place: Expr, lane: Any) -> None:
        """The record is to lie there."""
        a.update(way, step="put", place=place, lane=lane)


def placed_requests(s: Specification) -> None:
    """The steps of sends that are accepted, and of the other requests from their beginning."""
    steps = PlacedSteps(s)
    returned(s, steps)
    putting(s, steps)
    ends(s, steps)

    if s.scope.waits:
        return

    @s.model.action(actor=ADMINISTRATOR, b=s.Broker, t=s.Topic, known=Bool, limit=s.scope.limits, queues=s.scope.limits, listed=Bool)
    def update_group(a: Body, b: Expr, t: Expr, known: Expr, limit: Expr, queues: Expr, listed: Expr) -> None:
        """Somebody makes, changes or deletes the group of a retry topic; without one a look-up may make it with the defaults (DLQ-02)."""
        runs(s, a, b)
        if s.scope.of_subject:
            a.bound("a retry topic's", s.of_class(t, "retry"), "the scope has the groups of retry topics")
        most, many = ite(listed, limit, RETRY_MAX_TIMES), ite(listed, queues, 1)
        a.update(steps.group[b, t], known=known | listed, limit=most, queues=many, listed=listed)


def returned(s: Specification, steps: PlacedSteps) -> None:
    """Messages that come back: given back (BACK-03 to BACK-18), with a job about the retry topic, of the kind of the message found; or sent
    to a retry topic (DLQ-01 to DLQ-06)."""

    def handler(name: str, sentence: str, rules: str) -> Callable[[Callable[[Body, Expr], None]], None]:
        def named(does: Callable[[Body, Expr], None]) -> None:
            does.__name__, does.__doc__ = name, sentence
            s.handler(rules=rules)(does)

        return named

    def refusals(asked: str, failing: str, check: Check, rules: str) -> None:
        @handler(f"{asked}_no_{failing}", f"A message is to come back, and {check.otherwise}.", rules)
        def refuse(a: Body, p: Expr) -> None:
            steps.asked(a, p, asked, failing)
            answer(s, a, p, check.answer)

    for name, check in CHECKS.items():
        refusals("back", name, check, check.back)
        if check.send:
            refusals("send", name, check, check.send)

    @s.handler(rules="BACK-06 BACK-07")
    def make_retry_topic(a: Body, p: Expr) -> None:
        """The group's retry topic is made with the group's queues."""
        job, _, b, group = steps.asked(a, p, "back", "topic", fails=False)
        steps.makes(a, b, job.topic, group.queues, 6)

    @s.handler(rules="BACK-12")
    def back_no_origin(a: Body, p: Expr) -> None:
        """Who gives a message up has to name the topic that it came from."""
        _, way, _ = steps.tried(a, p, "back", dead=True)
        a.guard("no origin", s.given("wants_origin") & ~way.fitting, "the request does not name the message's topic, and has to")
        answer(s, a, p, "SYSTEM_ERROR")

    def buries(asked: str, level: Callable[[Row], Expr], rules: str) -> None:
        def dead(a: Body, p: Expr) -> tuple[Row, Expr]:
            _, way, b = steps.tried(a, p, asked, dead=True)
            a.guard("origin", ~way.back | ~s.given("wants_origin") | way.fitting, "the request names the message's topic, or need not")
            return way, b

        @handler(f"{asked}_makes_dead_letters", "The topic of the group's dead letters is made.", rules)
        def make(a: Body, p: Expr) -> None:
            way, b = dead(a, p)
            steps.makes(a, b, way.dead, 1, s.given("dlq_perm"))

        @handler(f"{asked}_bury", "The message becomes a dead letter; the answer to a send will have the queue of the retry topic.", rules)
        def bury(a: Body, p: Expr) -> None:
            way, b = dead(a, p)
            a.guard("dead letters known", s.config[b, way.dead].known, "there is a topic for the group's dead letters")
            a.set(way.level, level(way))
            steps.lies(a, way, way.dead, 0)

    buries("back", lambda way: level_given_back(s.given("dlq_clears_delay"), way.kept), "BACK-11 BACK-12")
    buries("send", lambda way: level_sent(s.given("dlq_keeps_delay"), way.level), "DLQ-04 DLQ-06")

    @s.handler(rules="BACK-11 BACK-13 BACK-14 BACK-17")
    def back_retry(a: Body, p: Expr) -> None:
        """The message will wait on a level before it comes to the retry topic; its kind is that of the one found."""
        job, way, _ = steps.tried(a, p, "back", dead=False)
        a.set(way.level, next_level(way.level, way.times))
        steps.lies(a, way, job.topic, 0)

    @s.handler(rules="DLQ-03")
    def send_retry(a: Body, p: Expr) -> None:
        """The message stays in its retry topic."""
        _, way, _ = steps.tried(a, p, "send", dead=False)
        a.set(way.step, "put")


def putting(s: Specification, steps: PlacedSteps) -> None:
    """Half messages, delay levels, and what is refused before the store or in it."""

    def comes_to_the_store(a: Body, p: Expr, *flaws: str) -> tuple[Row, Row]:
        job, way, _, _ = steps.sent(a, p)
        a.guard("at the store", ~way.half & any_of(way.flaw == flaw for flaw in flaws), "it has come to the store, which looks at it")
        a.guard("master", ~s.given("slave"), "the broker is no slave")
        return job, way

    @s.handler(rules="TRX-01 TRX-03")
    def refuse_transaction(a: Body, p: Expr) -> None:
        """The broker takes no transactional messages; their topics have been made."""
        _, way, _, _ = steps.sent(a, p)
        a.guard("transaction refused", way.flaw == "transaction", "it is transactional, and the broker refuses such")
        answer(s, a, p, "NO_PERMISSION")

    @s.handler(rules="TRX-04 TRX-05")
    def prepare(a: Body, p: Expr) -> None:
        """A transactional message becomes a half message, which its queue counts."""
        job, way, _, _ = steps.sent(a, p)
        a.guard("half", way.half & (way.flaw != "transaction"), "it is transactional, and the broker takes it")
        a.set(way.half, False)
        a.set(job.kind, "not")
        steps.lies(a, way, way.halves, 0)

    def on_slave(a: Body, p: Expr) -> Row:
        _, way, _, _ = steps.sent(a, p)
        a.guard("slave", s.given("slave") & ~way.half & (way.flaw != "transaction"), "it has come to the store of a slave")
        return way

    @s.handler(rules="STO-01 STO-02")
    def refuse_on_slave(a: Body, p: Expr) -> None:
        """A slave's store takes nothing."""
        a.guard("sent", ~on_slave(a, p).back, "the message was sent")
        answer(s, a, p, "SERVICE_NOT_AVAILABLE")

    @s.handler(rules="BACK-16")
    def back_on_slave(a: Body, p: Expr) -> None:
        """Whoever sends a message back to a slave is told of an error."""
        a.guard("sent back", on_slave(a, p).back, "the message was sent back")
        answer(s, a, p, "SYSTEM_ERROR")

    @s.handler(rules="STO-02 APP-05 APP-06 BAT-02 BAT-04")
    def refuse_size(a: Body, p: Expr) -> None:
        """The store takes no message, or no batch, like this."""
        comes_to_the_store(a, p, "size")
        answer(s, a, p, "MESSAGE_ILLEGAL")

    @s.handler(rules="APP-03 APP-05 APP-06", draw=s.scope.draws)
    def refuse_encoding(a: Body, p: Expr, draw: Expr) -> None:
        """The message is refused when it is encoded, which in some releases is when it has the next offset of its queue."""
        job, way = comes_to_the_store(a, p, "encoding")
        a.guard("does not wait", is_free(way, job.kind), "the message is on its level or at its time, or asks for none")
        a.guard("one draw", (job.queue < 0) | (draw == 0), "a random number is drawn for a negative queue id only")
        place = (job.broker.get, *destination(s, p, drawn(s, job, draw)))
        a.bound("queue in scope", place[2] < s.scope.queues, "the scope has a counter for the queue")
        a.set(s.log.offset[place], s.log.offset[place] + 1, when=s.given("counts_refused") & counted(job.kind))
        answer(s, a, p, ite(way.back, "SYSTEM_ERROR", "MESSAGE_ILLEGAL"))

    @s.handler(rules="CL-02")
    def refuse_error(a: Body, p: Expr) -> None:
        """The store fails with an exception, as where the delay level is no number."""
        comes_to_the_store(a, p, "error")
        answer(s, a, p, "SYSTEM_ERROR")

    @s.handler(rules="CL-02")
    def delay(a: Body, p: Expr) -> None:
        """The message is put on its delay level, whose queue counts it."""
        job, way = comes_to_the_store(a, p, "none", "encoding")
        a.guard("waits", is_delayed(way.level, job.kind), "it asks for a level, and its queue would count it")
        a.update(way, level=0, timed=False)
        steps.lies(a, way, way.delayed, level_queue(level_of(way.level)))

    @s.handler()
    def keep_in_wheel(a: Body, p: Expr) -> None:
        """The message is put in the timer topic, whose one queue counts it (5.x)."""
        job, way = comes_to_the_store(a, p, "none", "encoding")
        a.guard("has a time", way.timed & ~is_delayed(way.level, job.kind) & counted(job.kind), "its time is ahead, and it has no level")
        a.set(way.timed, False)
        steps.lies(a, way, way.wheel, 0)


def ends(s: Specification, steps: PlacedSteps) -> None:
    """The end of a transaction (request 37). Its job is about the topic and the queue that the half message was meant for."""

    @s.handler()
    def end_without_half(a: Body, p: Expr) -> None:
        """No half message is there, or it is not the one that the request tells of."""
        _, way, _, _ = steps.at(a, p, "end")
        a.guard("misfit", ~(way.found & way.fitting), "no half message is there, or its group or offset is another")
        answer(s, a, p, "SYSTEM_ERROR")

    def ended(a: Body, p: Expr, kind: str) -> Row:
        job, way, _, _ = steps.at(a, p, "end")
        a.guard("half message", way.found & way.fitting, "the half message is there, and is the one meant")
        a.guard(kind, job.kind == kind, f"the request says {kind}")
        return way

    @s.handler()
    def roll_back(a: Body, p: Expr) -> None:
        """The half message is done with; it stays in its queue, and so does what a commit has stored."""
        ended(a, p, ROLLBACK)
        answer(s, a, p, "SUCCESS")

    @s.handler()
    def commit(a: Body, p: Expr) -> None:
        """The message is stored where it was meant for, though it may have been before."""
        a.set(ended(a, p, COMMIT).step, "put")
