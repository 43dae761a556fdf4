"""Histories of many clients that send at the same time, made by the simulated cluster: what the judge of histories is tried on.

Every thread stands still at each pause, and chance says which one goes on. So the order of steps is any that the implementation can
have, and the same seed gives the same history.
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
PERIOD_OF_LOOKS = 200  # events between two looks at the broker's topics


@dataclass
class Load:
    """What the clients do. `lost` is the share of answers that never arrive; `updates` and `asked` are shares of other requests."""

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
    """A history of at least `load.events` events; every request in it has ended, or is known to have no answer."""
    return _Run(load, seed).run()


class _Run:
    """One run under way."""

    def __init__(self, load: Load, seed: int) -> None:
        self.load = load
        self.chance = random.Random(seed)
        self.cluster = Cluster(profile=load.profile, seed=seed, **load.settings)
        self.standing: list[SimulatedThread[Any]] = []
        self.cluster.scheduler.stops = self._stop
        self.cluster.network.plan = self._plan
        self.events: list[Event] = []
        self.open: dict[str, tuple[str, SimulatedThread[Command]]] = {}
        self.unheard: set[str] = set()

    def _stop(self, task: SimulatedThread[Any], _: Pause) -> bool:
        self.standing.append(task)
        return True

    def _plan(self, packet: Packet) -> list[int]:
        """An answer to a client may be lost; everything else arrives."""
        if packet.answer and packet.source == self.cluster.node(BROKER).settings.address and self.chance.random() < self.load.lost:
            self.unheard.add(packet.target)
            return []
        return [0]

    def run(self) -> tuple[Header, list[Event]]:
        self._look()
        looked = 0
        while len(self.events) < self.load.events or self.open:
            idle = [c for c in self._clients() if c not in self.open] if len(self.events) < self.load.events else []
            if idle and (not self.standing or self.chance.random() < 0.3):
                self._ask(self.chance.choice(idle))
            elif self.standing:
                task = self.standing.pop(self.chance.randrange(len(self.standing)))
                if task.at is not None:
                    self.cluster.scheduler.resume(task)
            self._hear()
            if self.load.looks and len(self.events) - looked >= PERIOD_OF_LOOKS:
                looked = len(self.events)
                self._look()
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

    def _hear(self) -> None:
        """Note the answers that have arrived, and give up waiting for those that were lost."""
        for client in self._clients():
            if client not in self.open:
                continue
            name, task = self.open[client]
            address = self.cluster.caller(client).address
            if not task.done.done and address in self.unheard:
                self.unheard.discard(address)
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

    def _look(self) -> None:
        """Note what the broker's table holds now."""
        table = self.cluster.broker(BROKER).topics.table
        topics = {
            name: {"readQueueNums": c.read_queue_nums, "writeQueueNums": c.write_queue_nums, "perm": c.perm, "order": c.order}
            for name, c in table.items()
        }
        self._add("state", BROKER, "topics", {"topics": topics})

    def _add(self, type_: str, process: str, op: str, value: Mapping[str, Any]) -> None:
        self.events.append(Event(len(self.events), type_, process, op, value))


__all__ = ["Load", "contend"]
