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
from collections.abc import Callable, Collection
from functools import partial
from operator import eq
from typing import Any, Final, NamedTuple

from rocketproof_impl.message import Message
from rocketproof_impl.producer.settings import ProducerSettings
from rocketproof_impl.remoting.command import Command
from rocketproof_impl.remoting.errors import RemotingError
from rocketproof_impl.system.client import Client
from rocketproof_impl.topic import TopicConfig, table_from_data
from rocketproof_model.interpreter import readable
from rocketproof_model.result import Witness
from rocketproof_profiles import PROFILES
from rocketproof_protocol import codes
from rocketproof_protocol.fastjson import loads
from rocketproof_protocol.numbers import whole_number
from rocketproof_protocol.topics import RETRY_PREFIX
from rocketproof_spec import Scope
from rocketproof_traces.stored.record import record_at

from ...brokers import probe
from ...brokers.comeback import come_back
from ...brokers.deployment import Deployment
from ...brokers.runs.client import places
from ...brokers.runs.waiting import until
from ...programs.actions import ANSWERS, STEPS, TOPICS
from ...programs.vocabulary import plain
from ..targets.base import decoded
from .gated import Answer, Differs, GatedProducer
from .schedule import from_outside

UNIT: Final = 65_536
"""The bytes of one unit of size in the specification. A record has at most this size and is little shorter."""
_AROUND_BODY = 512
_BODY = 10
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


class WireReplay:
    """A witness in progress on a target. Topics get a prefix. `brokers`: the parts in the specification's order."""

    def __init__(self, scope: Scope, profile: str, witness: Witness, running: Deployment, prefix: str, client: Client) -> None:
        self.running = running
        self.prefix = prefix
        self.brokers = tuple(running.brokers)
        self.scope = scope
        self.constants = witness.instance.readable()
        self.answers: dict[int, Answered] = {}
        self.log: list[str] = []
        self._profile = PROFILES[profile]
        self._witness = witness
        self._client = client
        names = {**TOPICS, "retry": f"{RETRY_PREFIX}{prefix}consumers"}
        self._names = [names.get(kind, f"{prefix}{t}") for t, kind in enumerate(self.scope.topics)]
        self._seen = [t for t, kind in enumerate(self.scope.topics) if kind in _KNOWN]
        self._waiting: dict[int, tuple[int, Callable[[], Answered]]] = {}
        self._producers = [self._producer(p, prefix) for p in range(self.scope.producers)] if self.scope.routes else []
        self._versions = [self._table(b)[1] for b in range(self.scope.brokers)]

    def _producer(self, p: int, prefix: str) -> GatedProducer:
        chosen = ProducerSettings(
            default_topic_queue_nums=self.constants["client_queues"], retry_times_when_send_failed=self.constants["retries"]
        )
        producer = self._client.producer(
            f"{prefix}producers-{p}",
            name_servers=(str(self.running.name_server),),
            instance_name=f"{prefix}{p}",
            settings=chosen,
            profile=self._profile,
        )
        return GatedProducer(producer, self._client.background)

    # The witness

    def run(self) -> None:
        """Perform the whole path, a lasso's loop several times. Raises Differs, and RemotingError if there is no response."""
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
        move = self._witness.moves[number]
        action = self._witness.instance.model.named(move.action)
        values = decoded(action, move.args)
        do: Callable[..., None] | None = getattr(self, f"_do_{action.name}", None)
        before, then = (readable(self._witness.instance, self._witness.states[n]) for n in (number, number + 1))
        try:
            if not from_outside(action) and values.get("p") in self._waiting:
                self._send_delayed(values["p"])
            if do is not None:
                do(before, then, **values)
        except Differs as problem:
            raise Differs(f"{action.label(move.args)}: {problem}") from None

    def _send_delayed(self, p: int) -> None:
        """Send the delayed request of a client, because its broker begins to serve it or was killed."""
        _, go = self._waiting.pop(p)
        self.answers[p] = go()

    def _do_request(self, before: dict[str, Any], then: dict[str, Any], p: int, b: int, *, size: int = 1, **values: Any) -> None:
        step = STEPS["request"](self._names, size * UNIT - _AROUND_BODY if self.scope.store else _BODY, **values)

        def go() -> Answered:
            try:
                answered = self.send(b, **step[1])
            except RemotingError:
                answered = LOST
            return self._logged(f"client {p} sends to {step[1]['topic']} on {self.brokers[b]}", answered)

        self._waiting[p] = (b, go)

    def _do_send(self, before: dict[str, Any], then: dict[str, Any], p: int, b: int, q: int) -> None:
        message = Message(self._names[self.scope.subject], body=b"witness")
        self._attempt(p, b, q, "sends", lambda: self._producers[p].send(message, self.brokers[b], q))

    def _do_retry(self, before: dict[str, Any], then: dict[str, Any], p: int, b: int, q: int) -> None:
        self._compare_answer(before, p)
        self._attempt(p, b, q, "tries again and sends", lambda: self._producers[p].retry(self.brokers[b], q))

    def _attempt(self, p: int, b: int, q: int, does: str, attempt: Callable[[], Answer]) -> None:
        def go() -> Answered:
            answer = attempt()
            answered = LOST if isinstance(answer, RemotingError) else self._answered(answer)
            return self._logged(f"producer {p} {does} to queue {q} of {self.brokers[b]}", answered)

        self._waiting[p] = (b, go)

    def _logged(self, what: str, answered: Answered) -> Answered:
        self.log.append(f"{what}: {answered.word}")
        return answered

    def _do_finish(self, before: dict[str, Any], then: dict[str, Any], p: int) -> None:
        self._compare_answer(before, p)
        if self.scope.routes:
            self._producers[p].finish()

    def _do_find_route(self, before: dict[str, Any], then: dict[str, Any], p: int) -> None:
        self._client.background.run(self._producers[p].producer.try_to_find_topic_publish_info(self._names[self.scope.subject]))
        self._compare_list(then, p)

    _do_find_template = _do_find_route

    def _do_refresh(self, before: dict[str, Any], then: dict[str, Any], p: int) -> None:
        self._client.background.run(self._producers[p].producer.refresh_all())
        self._compare_list(then, p)

    def _do_accept_registration(self, before: dict[str, Any], then: dict[str, Any], b: int) -> None:
        self._await_routes(then)

    _do_expire = _do_accept_registration

    def _do_update_topic(self, before: dict[str, Any], then: dict[str, Any], b: int, t: int, **values: Any) -> None:
        self._administer("update_topic", f"changes {self._names[t]}", b, t=t, **values)

    def _do_delete_topic(self, before: dict[str, Any], then: dict[str, Any], b: int, t: int) -> None:
        self._administer("delete_topic", f"deletes {self._names[t]}", b, t=t)

    def _do_switch_creation(self, before: dict[str, Any], then: dict[str, Any], b: int, on: bool) -> None:
        self._administer("switch_creation", f"switches auto-creation {'on' if on else 'off'}", b, on=on)

    def _do_permit(self, before: dict[str, Any], then: dict[str, Any], b: int, **values: Any) -> None:
        self._administer("permit", "changes brokerPermission", b, **values)

    def _administer(self, action: str, does: str, b: int, **values: Any) -> None:
        name, arguments = STEPS[action](self._names, 0, **values)
        answer = self._client.call(self.running.brokers[self.brokers[b]], plain(name, **arguments), _CALL)
        self.log.append(f"an administrator {does} on {self.brokers[b]}: {self._word(answer.code)}")
        _same("the answer to the administrator", self._word(answer.code), "SUCCESS")

    def _do_crash(self, before: dict[str, Any], then: dict[str, Any], b: int) -> None:
        self.running.kill(self.brokers[b])
        self.log.append(f"{self.brokers[b]} is killed")
        for p in [p for p, (broker, _) in self._waiting.items() if broker == b]:
            self._send_delayed(p)

    def _do_restart(self, before: dict[str, Any], then: dict[str, Any], b: int) -> None:
        come_back(self.running, self.brokers[b])
        self.log.append(f"{self.brokers[b]} is started again")

    # Observations

    def send(self, b: int, **arguments: Any) -> Answered:
        """Send a message with any header to a broker. Raises RemotingError."""
        return self._answered(self._client.call(self.running.brokers[self.brokers[b]], plain("send", **arguments), _CALL))

    def _answered(self, answer: Command) -> Answered:
        fields = answer.ext_fields or {}
        stored = places(fields)
        return Answered(self._word(answer.code), whole_number(fields.get("queueOffset", 0)), stored[0] if stored else None)

    def _word(self, code: int) -> str:
        return ANSWERS.get(code, f"code {code}")

    def holds_record(self, b: int, place: int) -> bool:
        """Return whether a message is at this place of a broker's log; the blank at a file's end does not count. Raises RemotingError."""
        request = plain("view", place=place)
        answer = self._client.call(self.running.brokers[self.brokers[b]], request, _CALL)
        return answer.code == codes.SUCCESS and record_at(answer.body or b"", place) is not None

    def _table(self, b: int) -> tuple[dict[str, TopicConfig], int]:
        answer = probe.ask(self.running.brokers[self.brokers[b]], plain("topics"))
        if answer.code != codes.SUCCESS:
            raise Differs(f"{self.brokers[b]} does not tell its topics: code {answer.code}")
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
                topic = self._names[t]
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
        info = self._producers[p].producer.topic_publish_info_table.get(self._names[self.scope.subject])
        for b, name in enumerate(self.brokers[: self.scope.brokers]):
            seen = sum(queue.broker_name == name for queue in info.message_queue_list) if info else 0
            _same(f"queues of {name} that producer {p} lists", seen, state[f"queues[{p},{b}]"])

    def _await_routes(self, state: dict[str, Any]) -> None:
        """Compare the routes, waiting for registrations on their way."""
        for t in self._seen:
            topic = self._names[t]
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
        raise Differs(f"{what}: {seen}, and the witness says {expected}")
