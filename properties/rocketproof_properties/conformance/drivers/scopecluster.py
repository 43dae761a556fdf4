"""The simulated cluster of a scope of sending: its initial state, and what a driver records about it.

The records are jobs and counters: some variables count what no broker stores, such as creations of a topic.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from rocketproof_impl.broker.broker import Broker
from rocketproof_impl.broker.checking import APPEND
from rocketproof_impl.broker.settings import BrokerSettings
from rocketproof_impl.producer.producer import Producer
from rocketproof_impl.simulator.cluster import NAME_SERVER, Cluster, Node
from rocketproof_impl.simulator.network import Packet
from rocketproof_impl.simulator.scheduler import SimulatedThread
from rocketproof_impl.store.service import PLACED
from rocketproof_impl.topic import TopicConfig, table_from_data
from rocketproof_model import Instance
from rocketproof_protocol import codes
from rocketproof_protocol.flags import COMMIT, READ, WRITE
from rocketproof_protocol.flags import NOT as KIND_NOT
from rocketproof_protocol.topics import TEMPLATE
from rocketproof_spec import Specification

from .base import Deviation
from .requests import broker_name, earlier_table, template

UNIT = 512  # bytes of one unit of size in scopes with a log
BLANK = 8
CAP = 2  # the specification counts entries, creations and announcements no further


@dataclass
class OutstandingSend:
    """One client's outstanding send: its threads and what was observed of it."""

    broker: int
    topic: int
    default: int
    numbers: int
    queue: int
    kind: str
    size: int
    call: SimulatedThread[Any]
    handler: SimulatedThread[Any] | None = None
    answer: Packet | None = None
    result: str = "none"
    offset: int = 0
    appended: int = 0
    at_hand: TopicConfig | None = None
    left_failed: bool = False
    fallback: bool = False
    created: bool = False
    touched: bool = False
    checks: bool = False
    tries: int = 0
    way: dict[str, Any] = field(default_factory=dict)  # where its record will be stored, as far as that is not the initial value
    looked_up: bool = True  # whether the topic existed when the thread looked it up

    @property
    def registers(self) -> bool:
        """Whether its thread waits for the name server's response to the registration of a new topic."""
        return self.answer is None and self.handler is not None and self.handler.at is None and self.handler.waiting is not None

    @property
    def phase(self) -> str:
        """The specification's name of the pause of its thread. Raises Deviation without a pause."""
        if self.answer is not None or self.result == "lost":
            return "answered"
        if self.registers:
            return "checked"
        if self.handler is not None and self.handler.at is not None:
            return APPEND.name if self.handler.at.name == PLACED.name else self.handler.at.name
        raise Deviation(f"a request's thread is {self.handler!r}: it should stand at a pause or have answered")


@dataclass
class DeletedQueue:
    """A queue whose topic was deleted. `outlived` and `forgotten`: the variable's value, and the number of its records that no longer
    count.

    `there`: the broker still has the queue, which the specification has yet to discover.
    """

    outlived: int
    forgotten: int
    there: bool


@dataclass
class Counters:
    """Counts over the whole run that no part of the cluster stores."""

    creations: dict[tuple[int, int], int] = field(default_factory=dict)
    announcements: dict[tuple[int, int], int] = field(default_factory=dict)
    sent: dict[int, int] = field(default_factory=dict)
    started: set[int] = field(default_factory=set)
    refreshed: set[int] = field(default_factory=set)
    deleted: dict[tuple[int, int, int], DeletedQueue] = field(default_factory=dict)
    crashes: int = 0
    losses: int = 0
    updates: int = 0


@dataclass
class _Log:
    """The records read so far: their total, the NOT and COMMIT ones by queue, and the end of the log."""

    end: int = 0
    total: int = 0
    records: dict[tuple[str, int], int] = field(default_factory=dict)


class ScopeCluster:
    """A cluster with the specification's names for its parts: brokers and clients by number, topics by name."""

    def __init__(self, specification: Specification, instance: Instance, simulated: Cluster, names: list[str]) -> None:
        self.scope = specification.scope
        self.instance = instance
        self.constants = instance.readable()
        self.simulated = simulated
        self.names = names
        self.producers: dict[int, Producer] = {}
        self.jobs: dict[int, OutstandingSend] = {}
        self.count = Counters()
        self._logs: dict[int, _Log] = {}
        self._files: dict[bytes, tuple[dict[str, TopicConfig], int]] = {}
        for b in range(self.scope.brokers):
            simulated.add(self._settings(b), start=False)
            self._write_table(b)
            self.boot(b)
            simulated.scheduler.complete(self.broker(b).start())

    def _settings(self, b: int) -> BrokerSettings:
        constants = self.constants
        return BrokerSettings(
            broker_name=broker_name(b),
            listen_port=10911 + 10 * b,
            name_servers=(NAME_SERVER,),
            auto_create_topic_enable=constants["auto_create"],
            broker_permission=(READ if constants["broker_readable"] else 0) | (WRITE if constants["broker_writable"] else 0),
            mapped_file_size_commit_log=(constants["file_size"] - constants["blank"]) * UNIT + BLANK if self.scope.store else 1 << 20,
        )

    def _write_table(self, b: int) -> None:
        kept = earlier_table(self.constants, self.scope, self.names[self.scope.subject], self.simulated.clock.now())
        if kept is not None:
            self.node(b).disk.write(self.table_file(b), kept)

    def boot(self, b: int) -> None:
        """Start a broker's process. Its own topics get the scope's counts, and topics outside the scope are removed.

        One of them stays if the scope leaves a single topic: later name servers reject the first registration of a single topic (NS-01).
        """
        node = self.node(b)
        filed, _ = self.file(b)
        if not self.simulated.start(node, register=False):
            raise Deviation(f"{node.name} refuses to start: its topic table cannot be read: look at its files")
        table = node.running.topics.table
        outside = [n for n in table if n not in self.names]
        forbidden = [n for n in table if n in self.names and n not in filed and self._of(n) == "forbidden"]
        stays = self.simulated.profile.refuses_single_topic and len(table) - len(outside) - len(forbidden) == 1
        for name in (*outside[stays:], *forbidden):
            del table[name]
        if TEMPLATE in table and TEMPLATE not in filed:
            table[TEMPLATE] = template(self.constants)
        for t, kind in enumerate(self.scope.topics):
            if kind == "cluster" and self.names[t] not in filed:
                most = self.scope.counts.hi
                table[self.names[t]] = TopicConfig(self.names[t], most, most, self.constants["cluster_perm"])

    def _of(self, name: str) -> str:
        return self.scope.topics[self.names.index(name)]

    def node(self, b: int) -> Node:
        return self.simulated.nodes[broker_name(b)]

    def broker(self, b: int) -> Broker:
        return self.node(b).running

    def table_file(self, b: int) -> str:
        return f"{self.node(b).settings.store_path_root_dir}/config/topics.json"

    def packet(self, b: int) -> Packet | None:
        """Return the broker's registration on the wire, if any."""
        sent = [
            packet
            for packet in self.simulated.network.held
            if packet.command.code == codes.REGISTER_BROKER and not packet.answer and _broker_name(packet) == self.node(b).name
        ]
        if len(sent) > 1:
            raise Deviation(f"{len(sent)} registrations of {self.node(b).name} are on the wire: the specification sends one at a time")
        return sent[0] if sent else None

    def file(self, b: int) -> tuple[dict[str, TopicConfig], int]:
        """Return the topics and version counter in the broker's file, as a restart would read them."""
        content = self.node(b).disk.read(self.table_file(b)) or b"{}"
        if content not in self._files:
            table, version = table_from_data(json.loads(content))
            self._files[content] = ({n: c for n, c in table.items() if n in self.names}, version.counter if version else 0)
        return self._files[content]

    def log(self, b: int) -> _Log:
        """Return the records of the log, after reading the new ones."""
        known = self._logs.setdefault(b, _Log())
        broker = self.node(b).broker
        if broker is not None and broker.store.max_phy_offset > known.end:
            for message in broker.store.records(known.end):
                known.total += 1
                if message.transaction in (KIND_NOT, COMMIT):
                    key = (message.topic, message.queue_id)
                    known.records[key] = known.records.get(key, 0) + 1
            known.end = broker.store.max_phy_offset
        return known


def _broker_name(packet: Packet) -> str:
    return (packet.command.ext_fields or {}).get("brokerName", "")
