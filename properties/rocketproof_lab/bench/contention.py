"""Generate histories of many concurrent clients on the simulated cluster, as input for the judge of histories.

Every thread stops at each pause, and the seed decides which thread continues. Every order of steps that the implementation permits is
possible, and the same seed gives the same history.
"""

from __future__ import annotations

import random
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rocketproof_impl.remoting.command import Command
from rocketproof_impl.remoting.errors import RemotingError
from rocketproof_impl.simulator.cluster import Cluster
from rocketproof_impl.simulator.network import Packet
from rocketproof_impl.simulator.scheduler import SimulatedThread
from rocketproof_impl.tasks import Pause
from rocketproof_protocol import codes
from rocketproof_protocol.topics import TEMPLATE
from rocketproof_traces.history import Event, Header

BROKER = "broker-a"
NAMES = {codes.UPDATE_AND_CREATE_TOPIC: "update_topic", codes.GET_MAX_OFFSET: "max_offset"}
READ_PERIOD = 200  # events between two reads of the broker's topics


@dataclass
class Load:
    """The clients' requests. `lost`: share of responses that never arrive. `updates`, `asked`: shares of topic updates and of queries for
    the maximum offset. `looks`: read the broker's topics periodically."""

    events: int = 1000
    producers: int = 8
    topics: int = 4
    queues: int = 4
    lost: float = 0.0
    updates: float = 0.0
    asked: float = 0.0
    random_queues: float = 0.1
    looks: bool = True
    profile: str = "P49"
    settings: Mapping[str, Any] = field(default_factory=dict)


def contend(load: Load, seed: int = 0) -> tuple[Header, list[Event]]:
    """Return a history of at least `load.events` events. Every request has ended or is known to have no response."""
    return _Run(load, seed).run()


class _Run:
    """A run in progress."""

    def __init__(self, load: Load, seed: int) -> None:
        self.load = load
        self.chance = random.Random(seed)
        self.cluster = Cluster(profile=load.profile, seed=seed, **load.settings)
        self.paused: list[SimulatedThread[Any]] = []
        self.cluster.scheduler.stops = self._stop
        self.cluster.network.plan = self._plan
        self.events: list[Event] = []
        self.open: dict[str, tuple[str, SimulatedThread[Command]]] = {}
        self.lost_answers: set[str] = set()

    def _stop(self, task: SimulatedThread[Any], _: Pause) -> bool:
        self.paused.append(task)
        return True

    def _plan(self, packet: Packet) -> list[int]:
        """Lose some responses to clients. All other packets arrive."""
        if packet.answer and packet.source == self.cluster.node(BROKER).settings.address and self.chance.random() < self.load.lost:
            self.lost_answers.add(packet.target)
            return []
        return [0]

    def run(self) -> tuple[Header, list[Event]]:
        self._read_topics()
        last_read = 0
        while len(self.events) < self.load.events or self.open:
            idle = [c for c in self._clients() if c not in self.open] if len(self.events) < self.load.events else []
            if idle and (not self.paused or self.chance.random() < 0.3):
                self._ask(self.chance.choice(idle))
            elif self.paused:
                task = self.paused.pop(self.chance.randrange(len(self.paused)))
                if task.at is not None:
                    self.cluster.scheduler.resume(task)
            self._collect()
            if self.load.looks and len(self.events) - last_read >= READ_PERIOD:
                last_read = len(self.events)
                self._read_topics()
        settings = {"autoCreateTopicEnable": str(self.cluster.node(BROKER).settings.auto_create_topic_enable).lower()}
        return Header({"target": "simulated", "profile": self.load.profile, "settings": settings}), self.events

    def _clients(self) -> list[str]:
        return [f"client {k}" for k in range(self.load.producers)]

    def _ask(self, client: str) -> None:
        code, fields, body = self._request()
        value = {"to": BROKER, "code": code, "fields": fields, "bodySize": len(body), "body": b64encode(body).decode()}
        name = NAMES.get(code, "send")
        self._add("invoke", client, name, value)
        work = self.cluster.caller(client).call(self.cluster.node(BROKER).settings.address, Command(code, fields, body), 60_000)
        self.open[client] = (name, self.cluster.scheduler.spawn(work, client))
        self.cluster.scheduler.settle()

    def _request(self) -> tuple[int, dict[str, str], bytes]:
        topic = f"topic-{self.chance.randrange(self.load.topics)}"
        kind = self.chance.random()
        queues = self.load.queues
        if kind < self.load.updates:
            wanted = {"readQueueNums": str(self.chance.randint(0, queues)), "writeQueueNums": str(self.chance.randint(1, queues))}
            more = {"perm": "6", "topicFilterType": "SINGLE_TAG", "topicSysFlag": "0", "order": "false", "defaultTopic": TEMPLATE}
            return codes.UPDATE_AND_CREATE_TOPIC, {"topic": topic, **wanted, **more}, b""
        queue = self.chance.randrange(queues)
        if kind < self.load.updates + self.load.asked:
            return codes.GET_MAX_OFFSET, {"topic": topic, "queueId": str(queue)}, b""
        if self.chance.random() < self.load.random_queues:
            queue = -1
        fields = {
            "producerGroup": "group", "topic": topic, "defaultTopic": TEMPLATE, "defaultTopicQueueNums": str(queues),
            "queueId": str(queue), "sysFlag": "0", "bornTimestamp": "0", "flag": "0", "properties": "", "reconsumeTimes": "0",
            "unitMode": "false", "batch": "false",
        }  # fmt: skip
        return codes.SEND_MESSAGE, fields, b"body"

    def _collect(self) -> None:
        """Record the responses that have arrived, and time out requests whose response was lost."""
        for client in self._clients():
            if client not in self.open:
                continue
            name, task = self.open[client]
            address = self.cluster.caller(client).address
            if not task.done.done and address in self.lost_answers:
                self.lost_answers.discard(address)
                self.cluster.scheduler.time_out(task)
            if task.done.done:
                del self.open[client]
                self._answered(client, name, task)

    def _answered(self, client: str, name: str, task: SimulatedThread[Command]) -> None:
        try:
            answer = task.result()
        except RemotingError as error:
            self._add("info", client, name, {"error": str(error)})
            return
        value = {"code": answer.code, "remark": answer.remark, "fields": answer.ext_fields or {}}
        self._add("ok", client, name, value)

    def _read_topics(self) -> None:
        """Record the broker's topic table."""
        table = self.cluster.broker(BROKER).topics.table
        topics = {
            name: {"readQueueNums": c.read_queue_nums, "writeQueueNums": c.write_queue_nums, "perm": c.perm, "order": c.order}
            for name, c in table.items()
        }
        self._add("state", BROKER, "topics", {"topics": topics})

    def _add(self, type_: str, process: str, op: str, value: Mapping[str, Any]) -> None:
        self.events.append(Event(len(self.events), type_, process, op, value))


__all__ = ["Load", "contend"]
