"""The life of a producer, and the calls that it refuses before it sends anything (CLI-01 to CLI-12, CLI-31 to CLI-33, CLI-35).

Two producers share a client instance. The first start also starts the instance, and concurrent starts wait for it. A late asynchronous
request is sent again unchanged to the other broker: the first broker has two queues, the other has one. Calls run one at a time, because
they share only the producers' states. Scopes of sending model the further attempts of synchronous calls.
"""

from __future__ import annotations

from rocketproof_model.language import Body, Bool, Enum, EnumType, Expr, Field, Int, Record, Row, coerce, exists, forall, ite

from .actors import CLIENT, ENVIRONMENT, HANDLER
from .part import Part

State = Enum("CREATE_JUST", "START_FAILED", "RUNNING", "SHUTDOWN_ALREADY")
Start = Enum("none", "starts", "waits")
Group = Enum("none", "G", "H", "blank", "long and illegal", "long", "illegal", "DEFAULT_PRODUCER", "CLIENT_INNER_PRODUCER")
Mode = Enum("start", "sync", "batch", "asynchronous", "one-way")
Step = Enum("none", "sent", "over")
Topic = Enum("fine", "blank", "illegal and long", "illegal", "long", "system")
Payload = Enum("fine", "no body", "empty", "large")
Said = Enum(
    "nothing", "started once", "taken", "instance", "factory", "not running", "null message", "blank", "illegal", "long", "system",
    "DEFAULT_PRODUCER", "CLIENT_INNER_PRODUCER", "no body", "empty", "large", "no route", "no name server", "result", "illegal queue",
    "late",
)  # fmt: skip
Code = Enum("none", "SEND_MESSAGE", "SEND_MESSAGE_V2", "SEND_BATCH_MESSAGE")
Way = Enum("a route", "no route", "no name server")
RETRIES = 1


class Starting(Part):
    """Two producers that send messages with these `topics` and `payloads`.

    `idle` is the call when there is none. `wrong_topics` and `wrong_payloads` are the topics and bodies that are refused.
    """

    def __init__(self, name: str, topics: EnumType = Topic, payloads: EnumType = Payload) -> None:
        super().__init__(name)
        m = self.model
        self.Producer = m.index("Producer", ["producer 0", "producer 1"])
        m.acting(self.Producer, "broker", "network", handler="broker", environment="network")
        self.smart = m.constant("smart", Bool, True, "single messages go in the short form")
        self.way = m.constant("way", Way, "a route", "the state of the topic's route")
        life = Record(
            state=Field(State, "CREATE_JUST", "its service state"),
            start=Field(Start, "none", "the state of its start"),
            group=Field(Group, "none", "its group in the instance's table"),
            template=Field(Bool, False, "whether the template is among its topics"),
        )
        call = Record(
            by=Field(self.Producer, 0, "the calling producer"),
            mode=Field(Mode, "start", "the kind of call"),
            step=Field(Step, "none", "its state"),
            null=Field(Bool, False, "whether the message is null"),
            topic=Field(topics, "fine", "the message's topic"),
            payload=Field(payloads, "fine", "its body"),
            said=Field(Said, "nothing", "its result"),
            callbacks=Field(Int(0, 2), 0, "how often its callback was called"),
            code=Field(Code, "none", "the request's code"),
            other=Field(Bool, False, "whether it is at the broker with one queue"),
            queue=Field(Int(0, 1), 0, "the queue id of its header"),
            retries=Field(Int(0, RETRIES), 0, "how often it was sent again"),
        )
        self.idle, self.wrong_topics, self.wrong_payloads = call.start, topics.names[1:], payloads.names[1:]
        self.life = m.var("life", life, over=self.Producer, sentence="the producer")
        self.call = m.var("call", call, sentence="the last call")
        self.instance = m.var("instance", State, init="CREATE_JUST", sentence="the client instance's state")
        _starts(self)
        _calls(self)


def starting(s: Starting) -> Expr:
    """Whether a producer is starting the instance."""
    return exists(s.Producer, lambda p: s.life[p].start == "starts")


def _begin_call(s: Starting, a: Body, p: Expr, mode: Expr | str) -> Row:
    a.guard("no call", s.call.step == "none", "no call is pending")
    a.update(s.call, by=p, mode=mode)
    return s.life[p]


def _end_call(s: Starting, a: Body, mode: Expr, result: Expr | str, when: Expr | bool = True) -> None:
    """End the call with a result or an exception. An asynchronous call passes it to its callback."""
    a.update(s.call, step="over", said=result, when=when)
    a.set(s.call.callbacks, s.call.callbacks + 1, when=(mode == "asynchronous") & (s.call.callbacks < 2) & when)


def _first_error(value: Expr, *wrong: str, otherwise: Expr | str = "nothing") -> Expr:
    """Return the error for a wrong value, or `otherwise`. A value with two faults has the name of the fault that is checked first."""
    error = coerce(otherwise, Said)
    for name in wrong:
        error = ite(value == name, coerce(name.partition(" and ")[0], Said), error)
    return error


def _starts(s: Starting) -> None:
    start_mode = coerce("start", Mode)

    @s.action(actor=CLIENT, rules="CLI-01 CLI-03 CLI-04", p=s.Producer, group=Group)
    def refuse_start(a: Body, p: Expr, group: Expr) -> None:
        """A start is refused in three cases. The producer was started before. Its group is illegal (length is checked before characters);
        then it cannot start again. Another producer of the instance has the group; then it may start with another group."""
        row = _begin_call(s, a, p, "start")
        new, legal = row.state == "CREATE_JUST", (group == "G") | (group == "H")
        taken = exists(s.Producer, lambda q: s.life[q].group == group)
        a.guard("a group", group != "none", "the producer has a group")
        a.guard("refused", ~new | ~legal | taken, "the producer was started before, or the group is illegal or taken")
        a.set(row.state, "START_FAILED", when=new & ~legal)
        _end_call(s, a, start_mode, ite(new, _first_error(group, *Group.names[3:], otherwise="taken"), "started once"))

    @s.action(actor=CLIENT, rules="CLI-02 CLI-05 CLI-06", p=s.Producer, group=Group)
    def start(a: Body, p: Expr, group: Expr) -> None:
        """The producer registers and publishes the template. Then it starts the instance, waits for a start in progress, or gets the
        instance's state."""
        row = _begin_call(s, a, p, "start")
        a.guard("new", row.state == "CREATE_JUST", "the producer was not started")
        a.guard("legal", (group == "G") | (group == "H"), "the group has a legal name")
        a.guard("free", forall(s.Producer, lambda q: s.life[q].group != group), "the group is free")
        first, runs = s.instance == "CREATE_JUST", s.instance == "RUNNING"
        a.set(row.state, ite(runs, coerce("RUNNING", State), "START_FAILED"))
        a.set(row.start, ite(first, coerce("starts", Start), ite(starting(s), coerce("waits", Start), "none")))
        a.update(row, group=group, template=True)
        a.set(s.instance, "START_FAILED", when=first)
        _end_call(s, a, start_mode, "factory", when=~first & ~runs & ~starting(s))

    @s.action(actor=CLIENT, rules="CLI-06", p=s.Producer, well=Bool)
    def finish(a: Body, p: Expr, well: Expr) -> None:
        """The instance's start succeeds or fails (addresses, connections). The instance, its producer and waiting producers then run or
        fail permanently."""
        row, state = _begin_call(s, a, p, "start"), ite(well, coerce("RUNNING", State), "START_FAILED")
        a.guard("starts", row.start == "starts", "the producer starts the instance")
        a.set(s.instance, state)
        for q in s.Producer:
            a.set(s.life[q].state, state, when=s.life[q].start != "none")
            a.set(s.life[q].start, "none")
        _end_call(s, a, start_mode, "instance", when=~well)

    @s.action(actor=CLIENT, rules="CLI-01", p=s.Producer)
    def shut_down(a: Body, p: Expr) -> None:
        """A running producer leaves the instance, and its group becomes free."""
        a.guard("runs", s.life[p].state == "RUNNING", "the producer runs")
        a.update(s.life[p], state="SHUTDOWN_ALREADY", group="none")


def _calls(s: Starting) -> None:
    call, way = s.call, s.way

    checks = "CLI-01 CLI-08 CLI-09 CLI-10 CLI-11 CLI-12 CLI-33"

    @s.action(actor=CLIENT, rules=checks, p=s.Producer, mode=Mode, null=Bool, topic=call.topic.type, payload=call.payload.type)
    def refuse(a: Body, p: Expr, mode: Expr, null: Expr, topic: Expr, payload: Expr) -> None:
        """A call is refused for the first error. The order is the producer's state, the message, its topic (characters before length), its
        body, and the route (10005, or 10004 if there is no name server either)."""
        runs, routed = _begin_call(s, a, p, mode).state == "RUNNING", way == "a route"
        a.guard("a send", mode != "start", "the call is a send")
        a.guard("wrong", ~runs | null | (topic != "fine") | (payload != "fine") | ~routed, "the call has an error")
        a.update(call, null=null, topic=topic, payload=payload)
        error = _first_error(payload, *s.wrong_payloads, otherwise=ite(way == "no route", coerce("no route", Said), "no name server"))
        error = _first_error(topic, *s.wrong_topics, otherwise=error)
        _end_call(s, a, mode, ite(runs, ite(null, coerce("null message", Said), error), "not running"))

    @s.action(actor=CLIENT, sends_to="broker", rules="CLI-32 CLI-35", p=s.Producer, mode=Mode, other=Bool, queue=Int(0, 1))
    def send(a: Body, p: Expr, mode: Expr, other: Expr, queue: Expr) -> None:
        """A request is sent to a broker's queue, with its code. A one-way call is then over, without a result."""
        a.guard("runs", _begin_call(s, a, p, mode).state == "RUNNING", "the producer runs")
        a.guard("a send", mode != "start", "the call is a send")
        a.guard("a way", way == "a route", "the producer has a route")
        a.guard("a queue", ~other | (queue == 0), "the broker has the queue")
        single = ite(s.smart, coerce("SEND_MESSAGE_V2", Code), "SEND_MESSAGE")
        code, step = ite(mode == "batch", coerce("SEND_BATCH_MESSAGE", Code), single), ite(mode == "one-way", coerce("over", Step), "sent")
        a.update(call, code=code, step=step, other=other, queue=queue)

    @s.action(actor=HANDLER, rules="CLI-31 CHK-10")
    def answer(a: Body) -> None:
        """The broker answers. A queue id that the broker does not have is an error, and the producer does not retry (HAZ-28)."""
        a.guard("sent", call.step == "sent", "a request is pending")
        _end_call(s, a, call.mode, ite(call.other & (call.queue > 0), coerce("illegal queue", Said), "result"))

    @s.action(actor=ENVIRONMENT, rules="CLI-31")
    def time_out(a: Body) -> None:
        """The request times out. An asynchronous request is sent again unchanged, but only once, and not after a shutdown."""
        a.guard("sent", call.step == "sent", "a request is pending")
        left = (call.mode == "asynchronous") & (call.retries < RETRIES)
        again = left & exists(s.Producer, lambda p: (call.by == p) & (s.life[p].state == "RUNNING"))
        a.set(call.other, call.other != again)
        a.set(call.retries, call.retries + 1, when=again)
        _end_call(s, a, call.mode, ite(left, coerce("not running", Said), "late"), when=~again)

    @s.action(actor=CLIENT, rules="CLI-26")
    def forget(a: Body) -> None:
        """The result of the call is taken, and another call may begin."""
        a.guard("over", call.step == "over", "the call is over")
        a.set(call, s.idle)
