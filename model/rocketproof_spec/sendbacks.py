"""Messages that come back: a consumer gives a record back (BACK-01 to BACK-18) or sends it to its retry topic itself (DLQ-01 to DLQ-06),
gets it again after its delay, and fails again, until it is a dead letter.

One group, one broker, one message that nobody can consume, and an administrator. A request is one step: what happens beside the creation
of a topic is in the scopes of sending. A group that a look-up makes retries 16 times, as real ones do; delays have levels and no length.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from rocketproof_model.language import Body, Bool, Enum, Expr, Int, Maybe, Model, Record, Row, coerce, ite, maximum
from rocketproof_protocol.flags import READ, WRITE
from rocketproof_protocol.groups import RETRY_MAX_TIMES

from .actors import ADMINISTRATOR, CLIENT, SERVICE
from .bounds import DELAY_LEVELS, NAMES_LIMIT, is_dead, retry_limit
from .part import Part
from .placing import CHECKS, SWITCHES, Check, asks, conditions, gives_up, level_given_back, level_of, level_sent, next_level, retries_left

Way = Enum("gives back", "either", "sends")
"""How a message is returned: by request 36; by a send, as Java's consumers do where 36 is refused; or either, by several consumers."""

Place = Enum("taken", "delayed", "stored", "given up")
"""The consumer has it, and has failed; it is in the schedule topic, or in its own; or nothing was stored, and the consumer goes on."""

Topic = Enum("none", "orders", "retry", "dead")
Answer = Enum("none", "SUCCESS", "FLUSH_DISK_TIMEOUT", "SYSTEM_ERROR", "NO_PERMISSION", "SUBSCRIPTION_GROUP_NOT_EXIST")
UNIT_SUB = 2


@dataclass(eq=False)
class Sendbacks(Part):
    """`message`: its latest record; while that is delayed, topic and queue are those that it is delivered to. `last`: the latest request
    and its answer. `retry`: the retry topic, of 0 queues until it is made. `limit`: how often the message is retried at most."""

    model: Model
    constant: dict[str, Expr]
    message: Row
    last: Row
    group: Row
    retry: Row
    dead: Any
    routed: Expr
    changes: Expr
    limit: Expr
    switches: ClassVar[tuple[str, ...]] = (*(name for name, *_ in SWITCHES), "names_origin")


def sendbacks(name: str, rounds: int = RETRY_MAX_TIMES + 1) -> Sendbacks:
    """The model; `rounds`: how often the message is put again, the last time as a dead letter."""
    m = Model(f"specification/{name}")
    m.acting("consumer", "administrator", "broker", "name server", client="consumer", administrator="administrator", service="broker")
    count, queue, perm, limits = Int(0, 2), Int(0, 1), Int(0, 7), Int(0, rounds - 1)
    constants: tuple[tuple[str, Any, Any, str], ...] = (
        *SWITCHES,
        ("names_origin", Bool, True, "a send-back writes its properties again when they name the first record"),
        ("way", Way, "gives back", "how the consumer returns a message"),
        ("version", Int(NAMES_LIMIT - 1, NAMES_LIMIT), NAMES_LIMIT, "the version of its requests: from 121 on they may name a limit"),
        ("names_limit", Bool, True, "its requests name a limit"),
        ("limit", limits, min(3, limits.hi), "the limit that they name"),
        ("unit_mode", Bool, False, "the consumer is in unit mode"),
        ("group_known", Bool, True, "the broker has the group at the start"),
        ("makes_groups", Bool, True, "autoCreateSubscriptionGroup"),
        ("group_queues", count, 1, "retryQueueNums of the group at the start"),
        ("group_limit", limits, min(3, limits.hi), "retryMaxTimes of the group at the start"),
        ("existing", count, 0, "how many queues the retry topic has at the start, 0 if there is none"),
        ("existing_perm", perm, 6, "the permission that it has then"),
        ("template", count, 2, "how many queues a retry topic gets from the template, 0 without one"),
        ("writable", Bool, True, "brokerPermission has WRITE"),
        ("in_log", Bool, True, "the records that are given back are in the log"),
        ("prepared", Bool, False, "the first record has the bits of a half message"),
        ("flushes", Bool, True, "a synchronous flush reaches the device in time"),
        ("change_budget", Int(0, 2), 0, "how many changes the administrator makes"),
    )
    c = {row[0]: m.constant(*row) for row in constants}
    messages = Record(
        place=Place, topic=Topic, queue=queue, times=Int(0, rounds), delay=Int(-1, DELAY_LEVELS), first=Topic, origin=Bool, prepared=Bool,
        given_up=Bool,
    ).described(
        place="where it is", topic="its topic", queue="its queue", times="reconsumeTimes", delay="the property DELAY, 0 if it has none",
        first="the property RETRY_TOPIC", origin="whether it has the property ORIGIN_MESSAGE_ID",
        prepared="whether it has the bits of a half message", given_up="whether the consumer gave it up by a negative level",
    )  # fmt: skip
    answers = Record(
        asked=Enum("nothing", "back", "send"), answer=Answer, appended=Int(0, 1), made=Bool, queue=Maybe(queue)
    ).described(
        asked="what was asked", answer="the answer's code", appended="how many records were appended for it",
        made="whether it changed the topic table", queue="the answer's queueId",
    )  # fmt: skip
    groups = Record(known=Bool, queues=count, limit=Int(0, RETRY_MAX_TIMES)).described(
        known="whether the broker has it", queues="retryQueueNums", limit="retryMaxTimes"
    )
    topics = Record(queues=count, perm=perm, flag=Int(0, UNIT_SUB)).described(queues="how many", perm="its bits", flag="topicSysFlag")
    nothing = {"asked": "nothing", "answer": "none", "appended": 0, "made": False, "queue": None}
    start = {"place": "taken", "topic": "orders", "queue": 0, "times": 0, "delay": 0, "first": "none", "origin": False, "given_up": False}
    known, old = c["group_known"], c["existing"] > 0
    found = groups(known=known, queues=ite(known, c["group_queues"], 1), limit=ite(known, c["group_limit"], RETRY_MAX_TIMES))
    there = topics(queues=c["existing"], perm=ite(old, c["existing_perm"], 0), flag=0)
    message = m.var("message", messages, init=messages(**start, prepared=c["prepared"]), sentence="the message's latest record")
    last = m.var("last", answers, init=answers(**nothing), sentence="the consumer's latest request")
    group = m.var("group", groups, init=found, sentence="the consumer group, or what a look-up would make", part="broker")
    retry = m.var("retry", topics, init=there, sentence="the group's retry topic", part="broker")
    dead = m.var("dead", Maybe(perm), init=None, sentence="the permission of the dead-letter topic, None if there is none", part="broker")
    routed = m.var("routed", Bool, init=old, sentence="whether the name server has the retry topic", part="name server")
    changes = m.var("changes", Int(0, 2), init=0, sentence="how many changes the administrator has made", part="administrator")
    limit = retry_limit(group.limit, c["version"], c["names_limit"], c["limit"])
    new, template = retry.queues == 0, maximum(c["template"], 1)
    holds = {
        asked: conditions(
            asked, group, retry, new, writable=c["writable"], found=c["in_log"], given=c.__getitem__, named=c["names_limit"],
            version=c["version"],
        ) | {"group": group.known | c["makes_groups"]}
        for asked in ("back", "send")
    }  # fmt: skip

    def ask(a: Body, asked: str, failing: str = "", *, queue: Expr | None = None) -> dict[str, Any]:
        """The message is returned: what is asked before the check that fails is passed, and what is made by then. The answer's start."""
        back = asked == "back"
        a.sends_to("broker")
        a.guard("taken", message.place == "taken", "the consumer has the message, and has failed")
        a.guard("its way", c["way"] != ("sends" if back else "gives back"), "the consumer returns messages so")
        passed = asks(a, holds[asked], asked, failing)
        if queue is not None:
            a.guard("legal queue", queue < ite(new, template, retry.queues), "the queue is one of the retry topic's")
        a.set(group.known, group.known | ("group" in passed))
        if makes := not back or "queues" in passed:
            made = topics(queues=group.queues if back else template, perm=READ | WRITE, flag=ite(c["unit_mode"], UNIT_SUB, 0))
            a.set(retry, made, when=new)
        return nothing | {"asked": asked, "made": new & makes, "queue": queue}

    def refusal(asked: str, failing: str, check: Check, rules: str) -> None:
        def refuse(a: Body) -> None:
            a.set(last, answers(**ask(a, asked, failing) | {"answer": check.answer}))
            if failing == "queues":
                a.set(message.place, "given up")

        refuse.__doc__ = f"The consumer {'gives the message back' if asked == 'back' else 'sends the message'}, and {check.otherwise}."
        m.action(actor=CLIENT, fair="weak", name=f"{asked}_no_{failing}", rules=rules)(refuse)

    for name, check in CHECKS.items():
        refusal("back", name, check, f"BACK-01 {check.back}")
        if check.send:
            refusal("send", name, check, f"{check.send} SEND-23 CHK-06 CHK-08")

    def put(
        a: Body, begun: dict[str, Any], topic: str, queue: Any, delay: Expr, *, wrote: Any, prepared: Any, given_up: Any = False
    ) -> None:
        """The record is put, if it has a delay into the schedule topic, which writes the properties anew (CL-02). `wrote`: they name the
        message's origin before that."""
        a.bound("rounds left", message.times < rounds, "the scope counts that far")
        if topic == "dead":
            begun |= {"made": begun["made"] | dead.is_none}
            a.set(dead, c["dlq_perm"], when=dead.is_none)
        delayed = (delay > 0) & ~coerce(prepared, Bool)
        first = ite(message.first == "none", message.topic, message.first)
        record = {"topic": topic, "queue": queue, "times": message.times + 1, "delay": delay, "first": first, "prepared": prepared}
        place, origin = ite(delayed, coerce("delayed", Place), "stored"), message.origin | wrote | delayed
        a.set(message, messages(**record, place=place, origin=origin, given_up=given_up))
        late = coerce("SUCCESS" if begun["asked"] == "back" else "FLUSH_DISK_TIMEOUT", Answer)
        a.set(last, answers(**begun | {"appended": 1, "answer": ite(c["flushes"], coerce("SUCCESS", Answer), late)}))

    times, copied, sent = message.times, {"prepared": message.prepared, "wrote": c["names_origin"]}, {"prepared": False, "wrote": True}
    enough, enough_sent = is_dead(times, limit, beyond=False), is_dead(times + 1, limit, c["dlq_beyond"])
    stored = "BACK-01 BACK-10 BACK-14 BACK-15 BACK-16 BACK-17 BACK-18 TCM-20 TCM-22 CL-02"
    made = "DLQ-01 DLQ-03 SEND-23 SEND-24 CHK-06 CHK-07 CHK-08 TCM-20 TCM-22 CL-02"

    @m.action(actor=CLIENT, fair="weak", rules=f"BACK-06 BACK-07 BACK-13 {stored}", level=Int(0, 1), q=queue)
    def back_retry(a: Body, level: Expr, q: Expr) -> None:
        """The message is given back, to be retried; the queue is drawn from as many as the group has, whatever the topic has."""
        begun = ask(a, "back")
        retries_left(a, enough, dead=False)
        a.guard("queue drawn", q < group.queues, "the group retries over the queue")
        put(a, begun, "retry", q, level_of(next_level(level, times)), **copied)

    @m.action(actor=CLIENT, fair="weak", rules=f"BACK-12 {stored}", level=Int(-1, 1))
    def back_bury(a: Body, level: Expr) -> None:
        """The message is given back and becomes a dead letter; nobody asks for the permission of its topic."""
        begun = ask(a, "back")
        retries_left(a, gives_up(times, limit, level), dead=True)
        put(a, begun, "dead", 0, level_given_back(c["dlq_clears_delay"], message.delay), **copied, given_up=level < 0)

    @m.action(actor=CLIENT, fair="weak", rules=made, q=queue)
    def send_retry(a: Body, q: Expr) -> None:
        """The consumer sends the message to its retry topic, with one retry more; nobody asks for the permission of broker and topic."""
        begun = ask(a, "send", queue=q)
        retries_left(a, enough_sent, dead=False)
        put(a, begun, "retry", q, level_of(next_level(0, times)), **sent)

    @m.action(actor=CLIENT, fair="weak", rules=f"DLQ-04 DLQ-06 {made}", q=queue)
    def send_bury(a: Body, q: Expr) -> None:
        """The consumer sends the message to its retry topic, and it becomes a dead letter; most releases leave it its delay (HAZ-17)."""
        begun = ask(a, "send", queue=q)
        retries_left(a, enough_sent, dead=True)
        put(a, begun, "dead", 0, level_sent(c["dlq_keeps_delay"], level_of(next_level(0, times))), **sent)

    @m.action(actor=ADMINISTRATOR, sends_to="broker", rules="DLQ-02", queues=count)
    def change_group(a: Body, queues: Expr) -> None:
        """An administrator makes the group, or changes its retryQueueNums; the retry topic stays as it is."""
        a.bound("changes left", changes < c["change_budget"], "the run may have another change")
        a.update(group, known=True, queues=queues)
        a.set(changes, changes + 1)

    @m.action(actor=SERVICE, sends_to="name server", rules="TCM-23 NS-10", fair="weak")
    def register(a: Body) -> None:
        """The registration of the retry topic arrives."""
        a.guard("made", ~new & ~routed, "the broker has the retry topic, and the name server does not")
        a.set(routed, True)

    @m.action(actor=SERVICE, rules="REC-05", fair="weak")
    def deliver(a: Body) -> None:
        """The delay is over: the message is put into its topic and queue. The record keeps its DELAY."""
        a.guard("delayed", message.place == "delayed", "the message is in the schedule topic")
        a.set(message.place, "stored")

    @m.action(actor=CLIENT, takes_from="broker", fair="weak")
    def look(a: Body) -> None:
        """The consumer looks into its retry topic again, gets the message, and fails again."""
        a.guard("in the retry topic", (message.place == "stored") & (message.topic == "retry"), "the message is in the retry topic")
        a.guard("in a queue", ~message.prepared, "it is no half message, which no queue has")
        a.guard("route", routed & (message.queue < retry.queues), "the name server names the queue")
        a.guard("readable", (retry.perm & READ) == READ, "the retry topic may be read")
        a.set(message.place, "taken")
        a.set(last, answers(**nothing))

    return Sendbacks(m, c, message, last, group, retry, dead, routed, changes, limit)
