"""Drives a simulated broker and two name servers by the model of registrations: changes and their packets.

A thread that changes a topic stops before its registration, and every registration waits on the wire. Its sender times out at once, as
after 6 s, so that the next one can send. Packets on the wire arrive when the specification delivers them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rocketproof_impl.broker.broker import Broker
from rocketproof_impl.broker.registration import WANTED
from rocketproof_impl.broker.settings import BrokerSettings
from rocketproof_impl.broker.topics import UNIT
from rocketproof_impl.nameserver import NameServer
from rocketproof_impl.remoting.command import Command
from rocketproof_impl.route import QueueData, decode_queues
from rocketproof_impl.simulator.cluster import NAME_SERVER, Cluster
from rocketproof_impl.simulator.network import HOLD, Packet
from rocketproof_impl.simulator.scheduler import SimulatedThread
from rocketproof_impl.tasks import Work
from rocketproof_impl.topic import DataVersion, TopicConfig, table_from_data
from rocketproof_model import Instance
from rocketproof_profiles import Profile
from rocketproof_protocol import codes
from rocketproof_protocol.fastjson import loads
from rocketproof_protocol.flags import WRITE
from rocketproof_protocol.topics import TEMPLATE
from rocketproof_spec.registering import MESSAGE, TIMER, Registrations

from ...programs.vocabulary import plain
from .base import Deviation, ModelDriver, Seen, accepted

ADDRESSES = (NAME_SERVER, "127.0.0.1:9877")
TOPICS = ("A", "B")
ADMINISTRATOR = 1


@dataclass(frozen=True, slots=True)
class _Change:
    """A thread that has stopped before its registration, with the topic that it has changed and its new configuration."""

    thread: SimulatedThread[Any]
    topic: int
    config: TopicConfig


class RegistrationsDriver(ModelDriver):
    """A broker that is known to both name servers. Unless the constant `two` is set, it registers changes only with the first."""

    def __init__(self, specification: Registrations, instance: Instance, profile: Profile) -> None:
        super().__init__(instance)
        self.s = specification
        self.cluster = Cluster(0, profile=profile)
        self.profile = profile
        self.servers = [self.cluster.name_server, self._name_server(1)]
        node = self.cluster.add(BrokerSettings(broker_name="broker-a", name_servers=ADDRESSES))
        if not self.constants["two"]:
            node.settings.name_servers = ADDRESSES[:1]
        node.settings.enable_single_topic_register = bool(self.constants["bare"])
        self.cluster.scheduler.stops = lambda _, pause: pause is WANTED
        self.cluster.network.plan = self._plan
        self.changes: dict[int, _Change] = {}
        self.packets: dict[tuple[int, int], Packet] = {}
        self.spent: set[str] = set()

    @property
    def broker(self) -> Broker:
        return self.cluster.broker()

    def _name_server(self, n: int) -> NameServer:
        server = NameServer(self.cluster.clock, profile=self.profile)
        self.cluster.network.listen(ADDRESSES[n], server)
        return server

    def _plan(self, packet: Packet) -> Sequence[int] | str:
        return HOLD if packet.command.code in (codes.REGISTER_BROKER, codes.REGISTER_TOPIC) and not packet.answer else [0]

    # Actions: changes

    def _changes(self, sender: int, work: Work[Any] | Command, t: int) -> None:
        """Run a thread that changes a topic, up to its registration."""
        if isinstance(work, Command):
            self.cluster.calling(work, client="administrator")
            threads = [task for pool in self.cluster.node().executors.values() for task in pool.running if task.at is WANTED]
        else:
            threads = [self.cluster.scheduler.spawn(work, "change")]
            self.cluster.scheduler.settle()
        threads = [thread for thread in threads if thread.at is WANTED]
        config = self.broker.topics.select(TOPICS[t])
        if len(threads) != 1 or config is None:
            raise Deviation(f"{len(threads)} threads stand before the registration of topic {TOPICS[t]}: the specification has one there")
        self.changes[sender] = _Change(threads[0], t, config)

    def _do_create(self, t: int) -> None:
        work = self.broker.topics.create_topic_in_send_message(TOPICS[t], TEMPLATE, "127.0.0.1:5", 4, 0)
        self._changes(MESSAGE, work, t)

    def _do_set_flag(self, t: int) -> None:
        on = self._content(self.broker.topics.select(TOPICS[t])) == "plain"
        self._changes(MESSAGE, self.broker.topics.set_flag(TOPICS[t], UNIT, on), t)

    def _do_update(self, t: int, unit: bool) -> None:
        request = plain("topic", topic=TOPICS[t], read=4, write=4)
        request.ext_fields = {**(request.ext_fields or {}), "topicSysFlag": str(int(unit))}
        self._changes(ADMINISTRATOR, request, t)

    def _do_delete(self, t: int) -> None:
        accepted(self.cluster.call(plain("delete", topic=TOPICS[t]), client="administrator"), f"the deletion of topic {TOPICS[t]}")

    def _do_apply_order(self) -> None:
        """Apply a name server's order list with the first topic, or without it, whichever changes the table."""
        known = [config for config in map(self.broker.topics.select, TOPICS) if config is not None]
        before = self.broker.topics.data_version.counter
        self.broker.topics.update_order(set() if known[0].order else {known[0].topic_name})
        if self.broker.topics.data_version.counter == before:
            known[0].order = False
            self.broker.topics.update_order({known[0].topic_name})

    # Actions: registrations

    def _do_register(self, s: int) -> None:
        self._write(s, self.changes.pop(s).thread)

    def _do_register_timer(self) -> None:
        thread = self.cluster.scheduler.spawn(self.broker.registration.register_all(True, False, not self.constants["asks"]), "timer")
        self.cluster.scheduler.settle()
        self._write(TIMER, thread)

    def _write(self, s: int, thread: SimulatedThread[Any]) -> None:
        network, before = self.cluster.network, list(self.cluster.network.held)
        self.cluster.scheduler.resume(thread)
        while thread.waiting is not None and not thread.done.done:
            self.cluster.scheduler.time_out(thread)
        for packet in network.held:
            if packet not in before:
                self.packets[ADDRESSES.index(packet.target), s] = packet

    def _do_take(self, n: int, s: int) -> None:
        self.cluster.network.deliver(self.packets.pop((n, s)))
        self.cluster.scheduler.settle()

    _do_ignore = _do_put = _do_refuse = _do_take

    def _do_lose(self, n: int, s: int) -> None:
        self.cluster.network.drop(self.packets.pop((n, s)))
        self.spent.add("loss")

    def _do_restart(self, n: int) -> None:
        self.servers[n] = self._name_server(n)
        self.spent.add("restart")

    def _do_wipe(self, n: int) -> None:
        self.servers[n].wipe_write_perm(self.broker.settings.broker_name)
        self.spent.add("wipe")

    # State

    def _content(self, entry: TopicConfig | QueueData | None) -> str:
        if entry is None:
            return "none"
        if not entry.perm & WRITE:
            return "wiped"
        return "flagged" if entry.topic_sys_flag & UNIT else "plain"

    def seen(self) -> Seen:
        values: Seen = {"version": self.broker.topics.data_version.counter}
        for t, topic in enumerate(TOPICS):
            values["config", t] = self._content(self.broker.topics.select(topic))
        for s in self.s.Sender.codes():
            change = self.changes.get(s)
            values["wanted.due", s] = change is not None
            values["wanted.topic", s] = change.topic if change else 0
            values["wanted.content", s] = self._content(change.config if change else None)
            for n in self.s.Server.codes():
                self._observe_packet(n, s, values)
        for n, server in enumerate(self.servers):
            live = server.live_info(self.broker.settings.broker_cluster_name, self.broker.settings.address)
            values["live", n] = live is not None
            values["stored", n] = live.data_version.counter if live else 0
            for t, topic in enumerate(TOPICS):
                entries = server.topic_queue_table.get(topic, [])
                if len(entries) > 1:
                    raise Deviation(f"a name server has {topic} of the broker {len(entries)} times: the specification has it once")
                values["route", n, t] = self._content(entries[0] if entries else None)
        for code, fault in enumerate(("loss", "restart", "wipe")):
            values["spent", code] = fault in self.spent
        return values

    def _observe_packet(self, n: int, s: int, values: Seen) -> None:
        packet = self.packets.get((n, s))
        table, version = _registered(packet.command) if packet else ({}, None)
        values["letter.sent", n, s] = packet is not None
        values["letter.alone", n, s] = len(table) == 1
        values["letter.version", n, s] = version.counter if version else 0
        for t, topic in enumerate(TOPICS):
            values["carried", n, s, t] = self._content(table.get(topic))


def _registered(request: Command) -> tuple[Mapping[str, TopicConfig | QueueData], DataVersion | None]:
    """Return the topics in a registration, and its version, None if it has none."""
    body = loads(request.body or b"{}")
    if request.code == codes.REGISTER_TOPIC:
        (queues,) = decode_queues(body)
        return {(request.ext_fields or {})["topic"]: queues}, None
    return table_from_data(body["topicConfigSerializeWrapper"])
