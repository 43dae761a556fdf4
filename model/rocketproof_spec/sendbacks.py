"""Returned messages: send-backs (BACK-01 to BACK-18) and sends to the retry topic (DLQ-01 to DLQ-06), until a message is a dead letter.

The consumer returns a message that it cannot process, receives it again after its delay, and fails again. The model has one group, one
broker, one message and an administrator. A request is one action; scopes of sending model the concurrent creation of topics. A group that a
look-up creates retries 16 times, as in the broker. Delays have levels, but no durations.
"""

from __future__ import annotations

from typing import Any, Final

from rocketproof_model.language import Body, Bool, Enum, Expr, Int, Maybe, Record, Type, coerce, ite, maximum
from rocketproof_protocol.flags import READ, WRITE
from rocketproof_protocol.groups import RETRY_MAX_TIMES

from .actors import ADMINISTRATOR, CLIENT, SERVICE
from .bounds import DELAY_LEVELS, NAMES_LIMIT, is_dead, retry_limit
from .part import Part
from .placement import (
    CHECKS,
    SWITCHES,
    Check,
    conditions,
    gives_up,
    level_given_back,
    level_of,
    level_sent,
    next_level,
    require_checks,
    require_retries,
)

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
        ("unit_mode", Bool, False, "the consumer is in unit mode"),
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
        self.holds = {returned: self._conditions(returned) for returned in ("back", "send")}
        _refusals(self)
        _sendbacks(self)
        _sends(self)
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

    def _conditions(self, returned: str) -> dict[str, Expr]:
        c = self.constant
        checks = conditions(
            returned, self.group, self.retry, self.lacks_retry, writable=c["writable"], found=c["in_log"], given=c.__getitem__,
            named=c["names_limit"], version=c["version"],
        )  # fmt: skip
        return checks | {"group": self.group.known | c["makes_groups"]}

    @property
    def lacks_retry(self) -> Expr:
        """Whether the broker does not have the retry topic."""
        return self.retry.queues == 0

    @property
    def template_queues(self) -> Expr:
        """The number of queues of a retry topic that a send creates."""
        return maximum(self.constant["template"], 1)


def _return(s: Sendbacks, a: Body, returned: str, failing: str = "", *, queue: Expr | None = None) -> dict[str, Any]:
    """Return the message, passing the checks before `failing`, and create what the broker creates by then. Returns the request's row."""
    back = returned == "back"
    a.sends_to("broker")
    a.guard("taken", s.message.place == "taken", "the consumer has the message, and has failed")
    a.guard("its way", s.constant["way"] != ("sends" if back else "gives back"), "the consumer returns messages in this way")
    passed = require_checks(a, s.holds[returned], returned, failing)
    if queue is not None:
        a.guard("legal queue", queue < ite(s.lacks_retry, s.template_queues, s.retry.queues), "the queue belongs to the retry topic")
    a.set(s.group.known, s.group.known | ("group" in passed))
    if creates := not back or "queues" in passed:
        flag = ite(s.constant["unit_mode"], UNIT_SUB, 0)
        retry = s.topics(queues=s.group.queues if back else s.template_queues, perm=READ | WRITE, flag=flag)
        a.set(s.retry, retry, when=s.lacks_retry)
    return NO_REQUEST | {"asked": returned, "made": s.lacks_retry & creates, "queue": queue}


def _put(
    s: Sendbacks, a: Body, request: dict[str, Any], topic: str, queue: Any, delay: Expr, *, wrote: Any, prepared: Any, given_up: Any = False
) -> None:
    """Append the record. With a delay it goes to the schedule topic, which writes the properties again (CL-02).

    `wrote`: the properties name the message's origin even without that.
    """
    message = s.message
    a.bound("rounds left", message.times < s.rounds, "the scope counts that far")
    if topic == "dead":
        request |= {"made": request["made"] | s.dead.is_none}
        a.set(s.dead, s.constant["dlq_perm"], when=s.dead.is_none)
    delayed = (delay > 0) & ~coerce(prepared, Bool)
    first = ite(message.first == "none", message.topic, message.first)
    record = {"topic": topic, "queue": queue, "times": message.times + 1, "delay": delay, "first": first, "prepared": prepared}
    place, origin = ite(delayed, coerce("delayed", Place), "stored"), message.origin | wrote | delayed
    a.set(message, s.messages(**record, place=place, origin=origin, given_up=given_up))
    late = coerce("SUCCESS" if request["asked"] == "back" else "FLUSH_DISK_TIMEOUT", Answer)
    a.set(s.last, s.requests(**request | {"appended": 1, "answer": ite(s.constant["flushes"], coerce("SUCCESS", Answer), late)}))


def _refusals(s: Sendbacks) -> None:
    """The refusals of both kinds of request, one per check."""

    def refusal(returned: str, failing: str, check: Check, rules: str) -> None:
        def refuse(a: Body) -> None:
            a.set(s.last, s.requests(**_return(s, a, returned, failing) | {"answer": check.answer}))
            if failing == "queues":
                a.set(s.message.place, "given up")

        refuse.__doc__ = f"The consumer {'gives the message back' if returned == 'back' else 'sends the message'}, but {check.otherwise}."
        s.action(actor=CLIENT, fair="weak", name=f"{returned}_no_{failing}", rules=rules)(refuse)

    for name, check in CHECKS.items():
        refusal("back", name, check, f"BACK-01 {check.back}")
        if check.send:
            refusal("send", name, check, f"{check.send} SEND-23 CHK-06 CHK-08")


def _sendbacks(s: Sendbacks) -> None:
    """Send-backs that pass all checks (request 36)."""
    c, message, times = s.constant, s.message, s.message.times
    copied = {"prepared": message.prepared, "wrote": c["names_origin"]}
    rules = "BACK-01 BACK-10 BACK-14 BACK-15 BACK-16 BACK-17 BACK-18 TCM-20 TCM-22 CL-02"

    @s.action(actor=CLIENT, fair="weak", rules=f"BACK-06 BACK-07 BACK-13 {rules}", level=Int(0, 1), q=QUEUE)
    def back_retry(a: Body, level: Expr, q: Expr) -> None:
        """The message is given back for a retry. Its queue is drawn from the group's retry queues, even if the topic has other queues."""
        request = _return(s, a, "back")
        require_retries(a, is_dead(times, s.limit, beyond=False), dead=False)
        a.guard("queue drawn", q < s.group.queues, "the queue is one of the group's retry queues")
        _put(s, a, request, "retry", q, level_of(next_level(level, times)), **copied)

    @s.action(actor=CLIENT, fair="weak", rules=f"BACK-12 {rules}", level=Int(-1, 1))
    def back_bury(a: Body, level: Expr) -> None:
        """The message is given back and becomes a dead letter. The permission of the dead-letter topic is not checked."""
        request = _return(s, a, "back")
        require_retries(a, gives_up(times, s.limit, level), dead=True)
        _put(s, a, request, "dead", 0, level_given_back(c["dlq_clears_delay"], message.delay), **copied, given_up=level < 0)


def _sends(s: Sendbacks) -> None:
    """Sends to the retry topic that pass all checks."""
    times, sent = s.message.times, {"prepared": False, "wrote": True}
    dead = is_dead(times + 1, s.limit, s.constant["dlq_beyond"])
    rules = "DLQ-01 DLQ-03 SEND-23 SEND-24 CHK-06 CHK-07 CHK-08 TCM-20 TCM-22 CL-02"

    @s.action(actor=CLIENT, fair="weak", rules=rules, q=QUEUE)
    def send_retry(a: Body, q: Expr) -> None:
        """The consumer sends the message to its retry topic and counts a retry. The permissions of broker and topic are not checked."""
        request = _return(s, a, "send", queue=q)
        require_retries(a, dead, dead=False)
        _put(s, a, request, "retry", q, level_of(next_level(0, times)), **sent)

    @s.action(actor=CLIENT, fair="weak", rules=f"DLQ-04 DLQ-06 {rules}", q=QUEUE)
    def send_bury(a: Body, q: Expr) -> None:
        """The consumer sends the message to its retry topic, and it becomes a dead letter. Most releases keep its delay (HAZ-17)."""
        request = _return(s, a, "send", queue=q)
        require_retries(a, dead, dead=True)
        _put(s, a, request, "dead", 0, level_sent(s.constant["dlq_keeps_delay"], level_of(next_level(0, times))), **sent)


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
