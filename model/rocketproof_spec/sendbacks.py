"""A message that is returned until it is a dead letter: the actions of `returning` on finite positions, one action for each request.

The consumer returns a message that it cannot process, receives it again after its delay, and fails again. The model has one group, one
broker, one message and an administrator. A request is one action; scopes of sending model the concurrent creation of topics. A group that a
look-up creates retries 16 times, as in the broker. Delays have levels, but no durations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from rocketproof_model.language import Body, Bool, Enum, Expr, Int, Maybe, Record, Type, coerce, ite, maximum
from rocketproof_protocol.flags import READ, WRITE
from rocketproof_protocol.groups import RETRY_MAX_TIMES

from .actors import ADMINISTRATOR, CLIENT, SERVICE
from .bounds import DELAY_LEVELS, NAMES_LIMIT, retry_limit
from .part import Part
from .placement import level_of, waits_at_level
from .returning import SWITCHES, Effect, ReturnAction, Returned, ReturnedMessage, Returns, declare_returns, next_level

Way = Enum("gives back", "either", "sends")
"""How a message is returned: by request 36; by a send, as Java's consumers do if 36 is refused; or either, by several consumers."""

Place = Enum("taken", "delayed", "stored", "given up")
"""The consumer has the message and has failed; the message is in the schedule topic; it is in its own topic; or it was not stored again."""

Topic = Enum("none", "orders", "retry", "dead")
Asked = Enum("nothing", "back", "send")
Answer = Enum("none", "SUCCESS", "FLUSH_DISK_TIMEOUT", "SYSTEM_ERROR", "NO_PERMISSION", "SUBSCRIPTION_GROUP_NOT_EXIST")
UNIT_SUB: Final = 2
COUNT, QUEUE, PERMISSION, CHANGES = Int(0, 2), Int(0, 1), Int(0, 7), Int(0, 2)
NO_REQUEST: Final[dict[str, Any]] = {"asked": "nothing", "answer": "none", "appended": 0, "made": False, "queue": None}
FIRST_RECORD: Final[dict[str, Any]] = {
    "place": "taken",
    "topic": "orders",
    "queue": 0,
    "times": 0,
    "delay": 0,
    "first": "none",
    "origin": False,
    "given_up": False,
}


def _constants(most: int) -> tuple[tuple[str, Type, Any, str], ...]:
    limits, limit = Int(0, most), min(3, most)
    return (
        *SWITCHES,
        ("names_origin", Bool, True, "a send-back writes its properties again when they name the first record"),
        ("way", Way, "gives back", "how the consumer returns a message"),
        ("version", Int(NAMES_LIMIT - 1, NAMES_LIMIT), NAMES_LIMIT, "the version of its requests: from 121 on they may name a limit"),
        ("names_limit", Bool, True, "its requests name a limit"),
        ("limit", limits, limit, "the limit that they name"),
        ("names_topic", Bool, True, "its send-backs name the topic of the record"),
        ("unit_mode", Bool, False, "the consumer is in unit mode"),
        ("locked", Bool, False, "the group holds a queue lock"),
        ("group_known", Bool, True, "the broker has the group at the start"),
        ("makes_groups", Bool, True, "autoCreateSubscriptionGroup"),
        ("group_queues", COUNT, 1, "retryQueueNums of the group at the start"),
        ("group_limit", limits, limit, "retryMaxTimes of the group at the start"),
        ("existing", COUNT, 0, "how many queues the retry topic has at the start, 0 if there is none"),
        ("existing_perm", PERMISSION, 6, "the permission of the retry topic at the start"),
        ("template", COUNT, 2, "how many queues a retry topic gets from the template, 0 without one"),
        ("writable", Bool, True, "brokerPermission has WRITE"),
        ("in_log", Bool, True, "the records that are given back are in the log"),
        ("prepared", Bool, False, "the first record has the bits of a half message"),
        ("flushes", Bool, True, "a synchronous flush reaches the device in time"),
        ("change_budget", CHANGES, 0, "how many changes the administrator makes"),
    )


class Sendbacks(Part):
    """One message that is put again up to `rounds` times, the last time as a dead letter.

    `message`: its latest record; while it is delayed, topic and queue name the place of delivery. `last`: the latest request and its
    answer. `retry`: the retry topic, with 0 queues until it is created. `limit`: the maximum number of retries.
    """

    switches = (*(name for name, *_ in SWITCHES), "names_origin")

    def __init__(self, name: str, rounds: int = RETRY_MAX_TIMES + 1) -> None:
        super().__init__(name)
        self.rounds = rounds
        m = self.model
        m.acting("consumer", "administrator", "broker", "name server", client="consumer", administrator="administrator", service="broker")
        self.constant = {row[0]: m.constant(*row) for row in _constants(rounds - 1)}
        self._consumer()
        self._broker()
        self.limit = retry_limit(self.group.limit, self.constant["version"], self.constant["names_limit"], self.constant["limit"])
        declare_returns(WholeRequests(self))
        _environment(self)

    def _consumer(self) -> None:
        m = self.model
        self.messages = Record(
            place=Place, topic=Topic, queue=QUEUE, times=Int(0, self.rounds), delay=Int(-1, DELAY_LEVELS), first=Topic, origin=Bool,
            prepared=Bool, given_up=Bool,
        ).described(
            place="its state", topic="its topic", queue="its queue", times="reconsumeTimes", delay="the property DELAY, 0 if it has none",
            first="the property RETRY_TOPIC", origin="whether it has the property ORIGIN_MESSAGE_ID",
            prepared="whether it has the bits of a half message", given_up="whether the consumer gave it up by a negative level",
        )  # fmt: skip
        self.requests = Record(asked=Asked, answer=Answer, appended=Int(0, 1), made=Bool, queue=Maybe(QUEUE)).described(
            asked="its kind", answer="the answer's code", appended="how many records were appended for it",
            made="whether it changed the topic table", queue="the answer's queueId",
        )  # fmt: skip
        first = self.messages(**FIRST_RECORD, prepared=self.constant["prepared"])
        self.message = m.var("message", self.messages, init=first, sentence="the message's latest record")
        self.last = m.var("last", self.requests, init=self.requests(**NO_REQUEST), sentence="the consumer's latest request")

    def _broker(self) -> None:
        m, c = self.model, self.constant
        groups = Record(known=Bool, queues=COUNT, limit=Int(0, RETRY_MAX_TIMES)).described(
            known="whether the broker has it", queues="retryQueueNums", limit="retryMaxTimes"
        )
        self.topics = Record(queues=COUNT, perm=PERMISSION, flag=Int(0, UNIT_SUB)).described(
            queues="how many", perm="its bits", flag="topicSysFlag"
        )
        known, exists = c["group_known"], c["existing"] > 0
        group = groups(known=known, queues=ite(known, c["group_queues"], 1), limit=ite(known, c["group_limit"], RETRY_MAX_TIMES))
        retry = self.topics(queues=c["existing"], perm=ite(exists, c["existing_perm"], 0), flag=0)
        self.group = m.var(
            "group", groups, init=group, sentence="the consumer group, or the one that a look-up would create", part="broker"
        )
        self.retry = m.var("retry", self.topics, init=retry, sentence="the group's retry topic", part="broker")
        self.dead = m.var(
            "dead", Maybe(PERMISSION), init=None, sentence="the permission of the dead-letter topic, None if there is none", part="broker"
        )
        self.routed = m.var("routed", Bool, init=exists, sentence="whether the name server has the retry topic", part="name server")
        self.changes = m.var("changes", CHANGES, init=0, sentence="how many changes the administrator has made", part="administrator")

    @property
    def lacks_retry(self) -> Expr:
        """Whether the broker does not have the retry topic."""
        return self.retry.queues == 0

    @property
    def template_queues(self) -> Expr:
        """The number of queues of a retry topic that a send creates."""
        return maximum(self.constant["template"], 1)


@dataclass(frozen=True, eq=False)
class WholeReturn(ReturnedMessage):
    """A returned message with the queue of the request, None if the action has none, and the response so far."""

    queue: Expr | None
    response: dict[str, Any]


class WholeRequests(Returns[WholeReturn]):
    """Requests that one action serves: it creates the topics that are missing, and stores the record."""

    def __init__(self, s: Sendbacks) -> None:
        self.s = s

    def given(self, name: str) -> Expr:
        return self.s.constant[name]

    def declare(self, action: ReturnAction, effect: Effect[WholeReturn]) -> None:
        choices: dict[str, Any] = {}
        if action.outcome != "refused" and action.by == "back":
            choices["level"] = Int(-1 if action.outcome == "dead" else 0, 1)
        if action.outcome != "refused" and not (action.by == "back" and action.outcome == "dead"):
            choices["q"] = QUEUE

        def returned(a: Body, level: Expr | None = None, q: Expr | None = None) -> None:
            effect(a, self._message(a, action.by, level, q))

        returned.__doc__ = action.sentence
        self.s.action(actor=CLIENT, fair="weak", sends_to="broker", name=action.name, rules=action.rules, **choices)(returned)

    def _message(self, a: Body, by: Returned, level: Expr | None, q: Expr | None) -> WholeReturn:
        """Require that the consumer returns its message in this way. A send names the next level, and counts its retry already (HAZ-45)."""
        s, c, message, back = self.s, self.s.constant, self.s.message, by == "back"
        a.guard("taken", message.place == "taken", "the consumer has the message, and has failed")
        a.guard("its way", c["way"] != ("sends" if back else "gives back"), "the consumer returns messages in this way")
        if not back and q is not None:
            a.guard("legal queue", q < ite(s.lacks_retry, s.template_queues, s.retry.queues), "the queue belongs to the retry topic")
        times = message.times if back else message.times + 1
        if level is None:
            level = coerce(0, Int(0, 0)) if back else level_of(next_level(0, message.times))
        return WholeReturn(
            by, s.group.known | c["makes_groups"], s.group.queues, s.group.limit, s.lacks_retry, s.retry.perm, c["writable"], c["in_log"],
            times, level, message.delay, c["version"], c["names_limit"], c["limit"], c["names_topic"], c["locked"], q,
            NO_REQUEST | {"asked": by},
        )  # fmt: skip

    def after_checks(self, a: Body, message: WholeReturn, passed: list[str]) -> None:
        """Create what the broker creates by then: the group, and the retry topic."""
        s, back = self.s, message.by == "back"
        a.set(s.group.known, s.group.known | ("group" in passed))
        creates = not back or "queues" in passed
        if creates:
            flag = ite(s.constant["unit_mode"], UNIT_SUB, 0)
            retry = s.topics(queues=s.group.queues if back else s.template_queues, perm=READ | WRITE, flag=flag)
            a.set(s.retry, retry, when=s.lacks_retry)
        message.response.update(made=s.lacks_retry & creates, queue=None if back else message.queue)

    def refuse(self, a: Body, message: WholeReturn, code: str) -> None:
        """Answer with this code. A message that is answered SUCCESS is given up: its consumer does not return it again (HAZ-30)."""
        a.set(self.s.last, self.s.requests(**message.response | {"answer": code}))
        if code == "SUCCESS":
            a.set(self.s.message.place, "given up")

    def store(self, a: Body, message: WholeReturn, level: Expr, *, dead: bool) -> None:
        """Append the record. With a delay it goes to the schedule topic, which writes the properties again (CL-02)."""
        s, before, back = self.s, self.s.message, message.by == "back"
        if back and not dead:
            assert message.queue is not None
            a.guard("queue drawn", message.queue < s.group.queues, "the queue is one of the group's retry queues")
        a.bound("rounds left", before.times < s.rounds, "the scope counts that far")
        if dead:
            message.response["made"] |= s.dead.is_none
            a.set(s.dead, s.constant["dlq_perm"], when=s.dead.is_none)
        prepared = before.prepared if back else coerce(False, Bool)
        delay = level_of(level)
        delayed = waits_at_level(delay, ~prepared)
        record = s.messages(
            place=ite(delayed, coerce("delayed", Place), "stored"),
            topic="dead" if dead else "retry",
            queue=0 if dead else message.queue,
            times=before.times + 1,
            delay=delay,
            first=ite(before.first == "none", before.topic, before.first),
            origin=before.origin | (s.constant["names_origin"] if back else True) | delayed,
            prepared=prepared,
            given_up=message.level < 0 if dead and back else False,
        )
        a.set(before, record)
        late = coerce("SUCCESS" if back else "FLUSH_DISK_TIMEOUT", Answer)
        answer = ite(s.constant["flushes"], coerce("SUCCESS", Answer), late)
        a.set(s.last, s.requests(**message.response | {"appended": 1, "answer": answer}))


def _environment(s: Sendbacks) -> None:
    """The administrator, the registration, the delivery after a delay, and the consumer's next attempt."""
    message, retry, group = s.message, s.retry, s.group

    @s.action(actor=ADMINISTRATOR, sends_to="broker", rules="DLQ-02", queues=COUNT)
    def change_group(a: Body, queues: Expr) -> None:
        """An administrator creates the group, or changes its retryQueueNums. The retry topic stays as it is."""
        a.bound("changes left", s.changes < s.constant["change_budget"], "the run may have another change")
        a.update(group, known=True, queues=queues)
        a.set(s.changes, s.changes + 1)

    @s.action(actor=SERVICE, sends_to="name server", rules="TCM-23 NS-10", fair="weak")
    def register(a: Body) -> None:
        """The registration of the retry topic arrives."""
        a.guard("made", ~s.lacks_retry & ~s.routed, "the broker has the retry topic, and the name server does not")
        a.set(s.routed, True)

    @s.action(actor=SERVICE, rules="REC-05", fair="weak")
    def deliver(a: Body) -> None:
        """The delay is over: the message is stored in its topic and queue. The record keeps its DELAY."""
        a.guard("delayed", message.place == "delayed", "the message is in the schedule topic")
        a.set(message.place, "stored")

    @s.action(actor=CLIENT, takes_from="broker", fair="weak")
    def look(a: Body) -> None:
        """The consumer pulls from its retry topic again, receives the message, and fails again."""
        a.guard("in the retry topic", (message.place == "stored") & (message.topic == "retry"), "the message is in the retry topic")
        a.guard("in a queue", ~message.prepared, "the message is not a half message, which is in no queue")
        a.guard("route", s.routed & (message.queue < retry.queues), "the name server lists the queue")
        a.guard("readable", (retry.perm & READ) == READ, "the retry topic is readable")
        a.set(message.place, "taken")
        a.set(s.last, s.requests(**NO_REQUEST))
