"""The steps of a request between the checks and the store, in scopes that decide the topic and queue of a record.

They include retries, dead letters, half messages, delay levels, invalid messages, send-backs, and ends of transactions. Each step is one
action. A retry topic or dead-letter topic is also created in one action, without the lock.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rocketproof_model.language import Body, Bool, Expr, Row, any_of, coerce, ite
from rocketproof_protocol.groups import RETRY_MAX_TIMES

from .actors import ADMINISTRATOR
from .arithmetic import COMMIT, READ, ROLLBACK, WRITE, counted, has_bit
from .bounds import level_queue
from .broker import drawn
from .handling import answer, in_phase, require_running, send_registration, write_file, write_queues
from .placement import destination, is_delayed, is_free, is_kept_in_wheel, level_of
from .returning import Effect, ReturnAction, Returned, ReturnedMessage, Returns, declare_returns
from .vocabulary import Specification


@dataclass(frozen=True, eq=False)
class PlacedReturn(ReturnedMessage):
    """A returned message with its request's row, its facts and its broker."""

    p: Expr
    job: Row
    way: Row
    broker: Expr


class PlacedSteps(Returns[PlacedReturn]):
    """Guards and effects that the steps share. A returned message takes one step for each topic that it creates, and one to be placed."""

    def __init__(self, s: Specification) -> None:
        assert s.places is not None
        self.s, self.way, self.group, self.config = s, s.places.way, s.places.group, s.config

    def at(self, a: Body, p: Expr, step: str) -> tuple[Row, Row, Expr]:
        """Require that the request is at this step. Returns its job, its `way` and its broker."""
        job, b = in_phase(self.s, a, p, "append", "the request is accepted", name="accepted")
        way = self.way[p]
        a.guard(f"step {step}", way.step == step, "the request is at this step")
        return job, way, b

    def sent(self, a: Body, p: Expr, step: str = "put") -> tuple[Row, Row, Expr]:
        """Like `at`, for a request whose queue can be drawn (SEND-22)."""
        job, way, b = self.at(a, p, step)
        has_queue = (job.queue >= 0) | (write_queues(self.s, b, job) != 0)
        a.guard("has a queue", has_queue, "the queue id is given, or the topic has one to draw")
        return job, way, b

    def message(self, a: Body, p: Expr, by: Returned) -> PlacedReturn:
        """Require that the request returns a message in this way, and return the message."""
        job, way, b = self.at(a, p, "back") if by == "back" else self.sent(a, p, "retry")
        group, topic = self.group[b, job.topic], self.config[b, job.topic]
        return PlacedReturn(
            by, group.known, group.queues, group.limit, ~topic.known, topic.perm, has_bit(self.s.permission, WRITE),
            way.found & ~(self.given("checks_origin") & way.elsewhere), way.times, way.level, way.kept, way.version, way.named,
            way.requested, way.fitting, way.locked, p, job, way, b,
        )  # fmt: skip

    def given(self, name: str) -> Expr:
        return self.s.given(name)

    def declare(self, action: ReturnAction, effect: Effect[PlacedReturn]) -> None:
        def returned(a: Body, p: Expr) -> None:
            effect(a, self.message(a, p, action.by))

        returned.__doc__ = action.sentence
        self.s.handler(name=action.name, rules=action.rules)(returned)

    def after_checks(self, a: Body, message: PlacedReturn, passed: list[str]) -> None:
        if "group" in passed:
            a.set(self.group[message.broker, message.job.topic].listed, True)
        if "topic" in passed:
            a.guard("retry topic known", ~message.lacks_retry, "the broker has the retry topic")

    def refuse(self, a: Body, message: PlacedReturn, code: str) -> None:
        answer(self.s, a, message.p, code)

    def store(self, a: Body, message: PlacedReturn, level: Expr, *, dead: bool) -> None:
        way = message.way
        if dead:
            a.guard("dead letters known", self.config[message.broker, way.dead].known, "the group's dead-letter topic exists")
            a.set(way.level, level)
            self.goes_to(a, way, way.dead, 0)
        elif message.by == "back":
            a.set(way.level, level)
            self.goes_to(a, way, message.job.topic, 0)
        else:
            a.set(way.step, "put")

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

    limits, forgets = s.scope.limits, dict[str, Any]({} if s.scope.of_subject else {"forgets": Bool})

    @s.model.action(actor=ADMINISTRATOR, b=s.Broker, t=s.Topic, known=Bool, limit=limits, queues=limits, listed=Bool, **forgets)
    def update_group(a: Body, b: Expr, t: Expr, known: Expr, limit: Expr, queues: Expr, listed: Expr, forgets: Expr | bool = False) -> None:
        """An administrator creates or changes the group of a retry topic, which is then `listed`, or deletes it. A look-up may create a
        missing group with defaults (DLQ-02). Some releases look a group up when they delete it, unless its offsets are deleted as well."""
        require_running(s, a, b)
        if s.scope.of_subject:
            a.bound("a retry topic's", s.of_class(t, "retry"), "the scope has the groups of retry topics")
        remade = s.given("remakes_groups") & known & ~coerce(forgets, Bool)
        most, many = ite(listed, limit, RETRY_MAX_TIMES), ite(listed, queues, 1)
        a.update(steps.group[b, t], known=known | listed, limit=most, queues=many, listed=listed | remade)


def returned(s: Specification, steps: PlacedSteps) -> None:
    """Returned messages. The job of a send-back has the retry topic, and the kind of the original message."""
    declare_returns(steps)

    @s.handler(rules="BACK-06 BACK-07")
    def make_retry_topic(a: Body, p: Expr) -> None:
        """The group's retry topic is created with the group's queues."""
        message = steps.message(a, p, "back")
        steps.require_checks(a, message, "topic", fails=False)
        steps.create_topic(a, message.broker, message.job.topic, message.group_queues, READ | WRITE)

    def makes_dead_letters(by: Returned, rules: str) -> None:
        @s.handler(name=f"{by}_makes_dead_letters", rules=rules)
        def make(a: Body, p: Expr) -> None:
            """The group's dead-letter topic is created."""
            message = steps.message(a, p, by)
            steps.require_dead_letter(a, message)
            steps.create_topic(a, message.broker, message.way.dead, 1, s.given("dlq_perm"))

    makes_dead_letters("back", "BACK-11 BACK-12")
    makes_dead_letters("send", "DLQ-04 DLQ-06")


def putting(s: Specification, steps: PlacedSteps) -> None:
    """Half messages, delay levels, and refusals before the store or in it."""

    def reaches_store(a: Body, p: Expr, *flaws: str) -> tuple[Row, Row]:
        job, way, _ = steps.sent(a, p)
        a.guard("at the store", ~way.half & any_of(way.flaw == flaw for flaw in flaws), "the message has reached the store")
        a.guard("master", ~s.given("slave"), "the broker is no slave")
        return job, way

    @s.handler(rules="TRX-01 TRX-03")
    def refuse_transaction(a: Body, p: Expr) -> None:
        """The broker rejects transactional messages. Their topics have been created by then."""
        _, way, _ = steps.sent(a, p)
        a.guard("transaction refused", way.flaw == "transaction", "the message is transactional, and the broker rejects transactions")
        answer(s, a, p, "NO_PERMISSION")

    @s.handler(rules="TRX-04 TRX-05")
    def prepare(a: Body, p: Expr) -> None:
        """A transactional message becomes a half message, and gets an offset in the queue of half messages."""
        job, way, _ = steps.sent(a, p)
        a.guard("half", way.half & (way.flaw != "transaction"), "the message is transactional, and the broker accepts it")
        a.set(way.half, False)
        a.set(job.kind, "not")
        steps.goes_to(a, way, way.halves, 0)

    def on_slave(a: Body, p: Expr) -> Row:
        _, way, _ = steps.sent(a, p)
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
        a.guard("has a time", is_kept_in_wheel(way.level, way.timed, job.kind), "the message's time is in the future, and it has no level")
        a.set(way.timed, False)
        steps.goes_to(a, way, way.wheel, 0)


def ends(s: Specification, steps: PlacedSteps) -> None:
    """The end of a transaction (request 37). Its job has the topic and queue of the original message."""

    @s.handler()
    def end_without_half(a: Body, p: Expr) -> None:
        """There is no half message, or it does not match the request."""
        _, way, _ = steps.at(a, p, "end")
        a.guard("misfit", ~(way.found & way.fitting), "there is no half message, or its group or offset differs")
        answer(s, a, p, "SYSTEM_ERROR")

    def ended(a: Body, p: Expr, kind: str) -> Row:
        job, way, _ = steps.at(a, p, "end")
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
