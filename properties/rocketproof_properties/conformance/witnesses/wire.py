"""A witness of the model on running brokers: its actions as requests, and its states compared with the observations.

The actions of clients, producers and administrators are requests. `crash` kills a broker's process and `restart` starts it. In the witness,
everything else completes at once (`schedule.py`). A request is sent when its broker begins to serve it, or after the broker was killed.

These parts of a state are compared:

- the response, after `finish`
- the route, after `accept_registration` and `expire`
- a producer's list, after it has updated its route
- all of these and the brokers' tables at the end
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from functools import partial
from operator import eq
from typing import Any, Final, NamedTuple

from rocketproof_impl.message import Message
from rocketproof_impl.producer.producer import Producer
from rocketproof_impl.remoting.command import Command
from rocketproof_impl.remoting.errors import RemotingError
from rocketproof_impl.system.client import Client
from rocketproof_impl.tasks import Work
from rocketproof_impl.topic import TopicConfig, table_from_data
from rocketproof_model.interpreter import readable
from rocketproof_model.result import Witness
from rocketproof_profiles import PROFILES
from rocketproof_protocol import codes
from rocketproof_protocol.fastjson import loads
from rocketproof_protocol.numbers import whole_number
from rocketproof_spec import Scope
from rocketproof_traces.history.exchange import places
from rocketproof_traces.stored.record import record_at

from ...brokers import probe
from ...brokers.comeback import come_back
from ...brokers.deployment import Deployment
from ...brokers.runs.waiting import until
from ...programs.actions import ANSWERS
from ...programs.vocabulary import plain
from ..drivers.base import Deviation, decoded
from ..drivers.requests import SendingActions
from .gated import Answer, GatedProducer
from .schedule import from_outside

UNIT: Final = 65_536
"""The bytes of one unit of size in the specification. A record has at most this size and is little shorter."""
_AROUND_BODY = 512
PASSES: Final = 3
"""How many times the loop of a lasso is performed."""
PATIENCE: Final = 10.0
"""Seconds until a registration must have arrived."""
_CALL = 6000  # milliseconds
_KNOWN = ("template", "cluster", "ordinary", "retry")  # the specification's classes of topics that a table may contain


class Answered(NamedTuple):
    """A client's response by the specification's name ("lost" without one), and the message's place in the queue and the log."""

    word: str
    offset: int
    place: int | None


LOST: Final = Answered("lost", 0, None)


class WireReplay(SendingActions):
    """A witness in progress on a target. Topics get a prefix. `brokers`: the parts in the specification's order."""

    def __init__(self, scope: Scope, profile: str, witness: Witness, running: Deployment, prefix: str, client: Client) -> None:
        super().__init__(witness.instance, scope, PROFILES[profile], prefix)
        self.running = running
        self.prefix = prefix
        self.brokers = tuple(running.brokers)
        self.answers: dict[int, Answered] = {}
        self.log: list[str] = []
        self._witness = witness
        self._client = client
        self._seen = [t for t, kind in enumerate(scope.topics) if kind in _KNOWN]
        self._waiting: dict[int, tuple[int, Callable[[], Answered]]] = {}
        self._producers = [self._gated_producer(p) for p in range(scope.producers)] if scope.routes else []
        self._versions = [self._table(b)[1] for b in range(scope.brokers)]

    def _gated_producer(self, p: int) -> GatedProducer:
        producer = self._client.producer(
            f"{self.prefix}producers-{p}",
            name_servers=(str(self.running.name_server),),
            instance_name=f"{self.prefix}{p}",
            settings=self.producer_settings(),
            profile=self.profile,
        )
        return GatedProducer(producer, self._client.background)

    # The witness

    def run(self) -> None:
        """Perform the whole path, a lasso's loop several times. Raises Deviation, and RemotingError if there is no response."""
        loop = self._witness.loop
        for number in range(len(self._witness.moves)):
            self._move(number)
        self._compare()
        if loop is None:
            return
        for _ in range(PASSES - 1):
            for number in range(loop, len(self._witness.moves)):
                self._move(number)
        self._compare()

    def _move(self, number: int) -> None:
        """Perform a move between the comparisons with the states before and after it."""
        move = self._witness.moves[number]
        action = self._witness.instance.model.named(move.action)
        p = decoded(action, move.args).get("p", 0)
        before, then = (readable(self._witness.instance, self._witness.states[n]) for n in (number, number + 1))
        try:
            if not from_outside(action) and p in self._waiting:
                self._send_delayed(p)
            if action.name in ("retry", "finish"):
                self._compare_answer(before, p)
            self.perform(action, move.args)
            if action.name in ("find_route", "find_template", "refresh"):
                self._compare_list(then, p)
            elif action.name in ("accept_registration", "expire"):
                self._await_routes(then)
        except Deviation as problem:
            raise Deviation(f"{action.label(move.args)}: {problem}") from None

    def _other(self, **values: Any) -> None:
        """Do nothing: the brokers and the name server take their own steps."""

    # Requests

    def _send_delayed(self, p: int) -> None:
        """Send the delayed request of a client, because its broker begins to serve it or was killed."""
        _, go = self._waiting.pop(p)
        self.answers[p] = go()

    def _delay(self, p: int, b: int, does: str, send: Callable[[], Answer]) -> None:
        """Send a request when its broker begins to serve it, and log its response."""

        def go() -> Answered:
            try:
                answer = send()
            except RemotingError:
                answered = LOST
            else:
                answered = LOST if isinstance(answer, RemotingError) else self._answered(answer)
            self.log.append(f"{does}: {answered.word}")
            return answered

        self._waiting[p] = (b, go)

    def body_bytes(self, t: int, size: int, kind: str, properties: Mapping[str, str]) -> int:
        return size * UNIT - _AROUND_BODY

    def client_sends(self, p: int, b: int, request: Command, **values: Any) -> None:
        does = f"client {p} sends to {self.names[values['topic']]} on {self.brokers[b]}"
        self._delay(p, b, does, lambda: self._call(b, request))

    def producer_sends(self, p: int, b: int, q: int, message: Message) -> None:
        self._attempt(p, b, q, "sends", lambda: self._producers[p].send(message, self.brokers[b], q))

    def _do_retry(self, p: int, b: int, q: int) -> None:
        self._attempt(p, b, q, "tries again and sends", lambda: self._producers[p].retry(self.brokers[b], q))

    def _attempt(self, p: int, b: int, q: int, does: str, attempt: Callable[[], Answer]) -> None:
        self._delay(p, b, f"producer {p} {does} to queue {q} of {self.brokers[b]}", attempt)

    def _do_finish(self, p: int) -> None:
        if self.scope.routes:
            self._producers[p].finish()

    def producer(self, p: int) -> Producer:
        return self._producers[p].producer

    def complete(self, work: Work[Any]) -> None:
        self._client.background.run(work)

    def broker_name(self, b: int) -> str:
        return self.brokers[b]

    def administrate(self, b: int | None, request: Command, does: str, *, waits: bool = True) -> None:
        where = "the name server" if b is None else self.brokers[b]
        word = self._word(self._call(b, request).code)
        self.log.append(f"an administrator {does} on {where}: {word}")
        _same("the answer to the administrator", word, "SUCCESS")

    def _do_crash(self, b: int) -> None:
        self.running.kill(self.brokers[b])
        self.log.append(f"{self.brokers[b]} is killed")
        for p in [p for p, (broker, _) in self._waiting.items() if broker == b]:
            self._send_delayed(p)

    def _do_restart(self, b: int) -> None:
        come_back(self.running, self.brokers[b])
        self.log.append(f"{self.brokers[b]} is started again")

    # Observations

    def send(self, b: int, **arguments: Any) -> Answered:
        """Send a message with any header to a broker. Raises RemotingError."""
        return self._answered(self._call(b, plain("send", **arguments)))

    def _call(self, b: int | None, request: Command) -> Command:
        """Return the response of broker b, or of the name server if b is None. Raises RemotingError."""
        address = str(self.running.name_server) if b is None else self.running.brokers[self.brokers[b]]
        return self._client.call(address, request, _CALL)

    def _answered(self, answer: Command) -> Answered:
        fields = answer.ext_fields or {}
        stored = places(fields)
        return Answered(self._word(answer.code), whole_number(fields.get("queueOffset", 0)), stored[0] if stored else None)

    def _word(self, code: int) -> str:
        return ANSWERS.get(code, f"code {code}")

    def holds_record(self, b: int, place: int) -> bool:
        """Return whether a message is at this place of a broker's log; the blank at a file's end does not count. Raises RemotingError."""
        answer = self._call(b, plain("view", place=place))
        return answer.code == codes.SUCCESS and record_at(answer.body or b"", place) is not None

    def _table(self, b: int) -> tuple[dict[str, TopicConfig], int]:
        answer = probe.ask(self.running.brokers[self.brokers[b]], plain("topics"))
        if answer.code != codes.SUCCESS:
            raise Deviation(f"{self.brokers[b]} does not tell its topics: code {answer.code}")
        table, version = table_from_data(json.loads(answer.body or b"{}"))
        return table, version.counter if version else 0

    def _route(self, topic: str, brokers: Collection[str]) -> dict[str, tuple[int, int, int]]:
        """Return a topic's queues on some brokers according to the name server."""
        answer = probe.ask(str(self.running.name_server), plain("route", topic=topic))
        if answer.code != codes.SUCCESS:
            return {}
        queues = loads(answer.body or b"{}")["queueDatas"]
        return {q["brokerName"]: (q["readQueueNums"], q["writeQueueNums"], q["perm"]) for q in queues if q["brokerName"] in brokers}

    # Comparison with the state

    def _compare(self) -> None:
        """Compare the last state: responses, tables, routes and lists."""
        state = readable(self._witness.instance, self._witness.states[-1])
        for p in range(self.scope.producers):
            if state[f"job.phase[{p}]"] == "answered":
                self._compare_answer(state, p)
            if self.scope.routes:
                self._compare_list(state, p)
        self._await_routes(state)
        start = readable(self._witness.instance, self._witness.states[0])
        for b, name in enumerate(self.brokers[: self.scope.brokers]):
            if not state[f"up[{b}]"]:
                continue
            table, version = self._table(b)
            for t in self._seen:
                topic = self.names[t]
                known = table.get(topic)
                if self.scope.topics[t] == "cluster":
                    _same(f"{topic} on {name}", known and known.perm, state[f"config.perm[{b},{t}]"])
                else:
                    seen = None if known is None else (known.read_queue_nums, known.write_queue_nums, known.perm)
                    _same(f"{topic} on {name} (read, write, permission)", seen, _row(state, "config", f"{b},{t}", "known"))
            _same(f"changes of the version of {name}", version - self._versions[b], state[f"version[{b}]"] - start[f"version[{b}]"])

    def _compare_answer(self, state: dict[str, Any], p: int) -> None:
        answered = self.answers[p]
        _same(f"the answer to {p}", answered.word, state[f"job.answer[{p}]"])
        if self.scope.store and answered.word == "SUCCESS":
            _same(f"the queue offset answered to {p}", answered.offset, state[f"job.offset[{p}]"])

    def _compare_list(self, state: dict[str, Any], p: int) -> None:
        info = self.producer(p).topic_publish_info_table.get(self.names[self.scope.subject])
        for b, name in enumerate(self.brokers[: self.scope.brokers]):
            seen = sum(queue.broker_name == name for queue in info.message_queue_list) if info else 0
            _same(f"queues of {name} that producer {p} lists", seen, state[f"queues[{p},{b}]"])

    def _await_routes(self, state: dict[str, Any]) -> None:
        """Compare the routes, waiting for registrations on their way."""
        for t in self._seen:
            topic = self.names[t]
            if self.scope.topics[t] == "cluster":
                continue
            expected = {name: _row(state, "route", f"{b},{t}", "entries") for b, name in enumerate(self.brokers[: self.scope.brokers])}
            wanted = {name: row for name, row in expected.items() if row is not None}
            seen = until(partial(self._route, topic, expected), partial(eq, wanted), PATIENCE, 0.02)
            _same(f"the route of {topic}", seen, wanted)


def _row(state: dict[str, Any], table: str, at: str, present: str) -> tuple[int, int, int] | None:
    if not state[f"{table}.{present}[{at}]"]:
        return None
    return state[f"{table}.read[{at}]"], state[f"{table}.write[{at}]"], state[f"{table}.perm[{at}]"]


def _same(what: str, seen: object, expected: object) -> None:
    if seen != expected:
        raise Deviation(f"{what}: {seen}, and the witness says {expected}")
