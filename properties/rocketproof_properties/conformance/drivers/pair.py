"""Drives a simulated master and its slave by the model of a pair: real replication with bytes forwarded by the driver.

The master's data arrive record by record, and the slave's reports when the specification delivers them. The thread that confirms waiting
puts runs when one is confirmed. A flush completes at once or never.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from rocketproof_impl.broker.broker import Broker
from rocketproof_impl.broker.settings import BrokerSettings
from rocketproof_impl.link import Link
from rocketproof_impl.message import Message
from rocketproof_impl.simulator.cluster import NAME_SERVER, Cluster
from rocketproof_impl.simulator.scheduler import SimulatedThread
from rocketproof_impl.store.ha import HEADER, OFFSET
from rocketproof_impl.store.haclient import HAClient
from rocketproof_impl.store.result import PutMessageStatus, PutResult
from rocketproof_model import Action, Instance
from rocketproof_profiles import Profile
from rocketproof_spec.pairs import LAG, MasterAndSlave

from ...programs.vocabulary import plain
from .base import Deviation, ModelDriver, Seen, accepted
from .doubles import RECORD, ManualFlush, filling_message

MASTER, SLAVE, TOPIC, STORED = "broker-a", "broker-a:1", "topic", "stored"
SLAVE_TIMEOUT = 60_000  # ms that a put waits for the slave; longer than anything else takes
SOON = 2000


class PairDriver(ModelDriver):
    """A master, and a slave that has started and not registered yet."""

    def __init__(self, specification: MasterAndSlave, instance: Instance, profile: Profile) -> None:
        super().__init__(instance)
        self.s = specification
        self.profile = profile
        self.cluster = Cluster(0, profile=profile)
        self._node(0, "SYNC_MASTER" if self.constants["sync"] else "ASYNC_MASTER", 10911)
        self._node(1, "SLAVE", 10921)
        master, slave = self.cluster.broker(MASTER).store, self.cluster.broker(SLAVE).store
        master.services()
        self.flush = master.flush = ManualFlush(at_once=True)
        (client,) = (service for service in slave.services(self._dial) if isinstance(service, HAClient))
        self.cluster.scheduler.spawn(client.run(), client.name)
        self.cluster.scheduler.settle()
        self.links: tuple[Link, Link] | None = None  # the slave's side and the master's
        self.dialled: Link | None = None
        self.sent, self.base, self.reported = bytearray(), 0, -1
        self.put: SimulatedThread[PutResult] | None = None
        self.answer, self.late, self.acknowledged = "none", False, 0
        self.written, self.pushed, self.topic, self.listed, self.promoted = 0, 0, False, False, False

    def _node(self, broker_id: int, role: Literal["ASYNC_MASTER", "SYNC_MASTER", "SLAVE"], port: int) -> None:
        settings = BrokerSettings(
            broker_name=MASTER,
            broker_id=broker_id,
            broker_role=role,
            flush_disk_type="SYNC_FLUSH",
            listen_port=port,
            name_servers=(NAME_SERVER,),
            slave_timeout=SLAVE_TIMEOUT,
            ha_slave_fall_behind_max=LAG * RECORD,
            ha_send_heartbeat_interval=10,
            ha_housekeeping_interval=1000 * SLAVE_TIMEOUT,
        )
        self.cluster.start(self.cluster.add(settings, start=False), register=broker_id == 0)

    @property
    def master(self) -> Broker:
        return self.cluster.broker(MASTER)

    @property
    def slave(self) -> Broker:
        return self.cluster.broker(SLAVE)

    # Bytes in transit

    async def _dial(self, address: str) -> Link:
        if self.dialled is None:
            raise ConnectionRefusedError(address)
        link, self.dialled = self.dialled, None
        return link

    def _from_master(self, data: bytes) -> None:
        """Receive blocks of the log, each with its offset and size; empty ones are heartbeats."""
        where, size = HEADER.unpack_from(data)
        if size and not self.sent:
            self.base = where
        self.sent += data[HEADER.size :]

    def _from_slave(self, data: bytes) -> None:
        (self.reported,) = OFFSET.unpack_from(data, len(data) - OFFSET.size)

    def _until(self, true: Callable[[], bool], what: str) -> None:
        """Advance the clock in small steps until the condition holds. Raises Deviation after `SOON` ms."""
        for _ in range(SOON // 10):
            if true():
                return
            self.cluster.scheduler.advance(10)
        raise Deviation(f"{what}: it has not happened within {SOON} ms, and the specification says that it may")

    # Actions

    def can(self, action: Action, args: Sequence[int]) -> bool:
        """Return whether the step is possible. Releases that wait sequentially contact the slave only after a late flush, which the driver
        cannot time."""
        return self.profile.asynchronous or action.name != "put" or not any(args)

    def _performed(self) -> None:
        if self.cluster.node(MASTER).broker is not None:
            store = self.master.store
            self.written = store.max_phy_offset // RECORD
            self.pushed = store.ha.push2_slave_max_offset // RECORD
            self.topic = self.master.topics.select(TOPIC) is not None

    def _answered(self) -> None:
        """Record the put's result when everything but its flush is known."""
        assert self.put is not None
        while not self.put.done.done and self.put.waiting is not None and self.late:
            self.cluster.scheduler.time_out(self.put)
        self.answer = _result_of(self.put)
        if self.answer == PutMessageStatus.PUT_OK.name:
            self.acknowledged = self.master.store.max_phy_offset // RECORD

    def _do_put(self, late: bool) -> None:
        self.late = late
        self.flush.at_once = not late
        self.put = self.cluster.scheduler.spawn(self.master.store.put_message(filling_message(STORED)), "put")
        transfers = self.master.store.ha.transfers
        waiting = transfers.waiting
        self.cluster.scheduler.settle()
        if transfers.waiting > waiting:
            self.answer = "waits"
        else:
            self._answered()

    def _do_confirm(self) -> None:
        transfers = self.cluster.scheduler.spawn(self.master.store.ha.transfers.run(), "transfers")
        self.cluster.scheduler.advance(20)
        self.cluster.scheduler.kill([transfers])
        self._answered()

    def _do_time_out(self) -> None:
        self.cluster.scheduler.advance(SLAVE_TIMEOUT)
        assert self.put is not None
        self.answer = _result_of(self.put)

    def _do_refuse(self) -> None:
        refused = self.cluster.scheduler.complete(self.slave.store.put_message(Message(STORED, 0, b"hello")))
        self.answer, self.late = refused.status.name, False

    def _do_register_slave(self) -> None:
        self.cluster.scheduler.complete(self.slave.registration.register_periodically())
        self.listed = True

    def _do_connect(self) -> None:
        self.sent, self.reported = bytearray(), -1
        near = Link("master", self._from_slave, lambda: None)
        far = Link("slave", self._from_master, lambda: None)
        self.links, self.dialled = (near, far), near
        for service in self.master.store.ha.accept(far):
            self.cluster.scheduler.spawn(service.run(), service.name)
        self.slave.store.ha_client.wakeup()
        self._until(lambda: self.reported >= 0, "the slave tells what it has")
        far.feed(OFFSET.pack(self.reported))
        self.cluster.scheduler.advance(20)

    def _do_copy(self) -> None:
        assert self.links is not None
        where = self.slave.store.max_phy_offset
        self._until(lambda: len(self.sent) >= where - self.base + RECORD, "the master sends a record")
        self.links[0].feed(HEADER.pack(where, RECORD) + self.sent[where - self.base :][:RECORD])
        self.cluster.scheduler.settle()

    def _do_report(self) -> None:
        assert self.links is not None
        self._until(lambda: self.reported == self.slave.store.max_phy_offset, "the slave tells what it has")
        self.links[1].feed(OFFSET.pack(self.reported))
        self.cluster.scheduler.settle()

    def _do_create(self) -> None:
        accepted(self.cluster.call(plain("topic", topic=TOPIC), MASTER), "the creation of the topic")

    def _do_copy_topics(self) -> None:
        self.cluster.scheduler.complete(self.slave.slave.sync_all())

    def _do_disconnect(self) -> None:
        for link in self.links or ():
            link.close()
        self.links = None
        self.cluster.scheduler.settle()

    def _do_lose_master(self) -> None:
        self._do_disconnect()
        self.cluster.crash(MASTER)

    def _do_promote(self) -> None:
        self.cluster.crash(SLAVE)
        self.cluster.restart(SLAVE, broker_id=0, broker_role="ASYNC_MASTER")
        self.promoted = True

    # State

    def seen(self) -> Seen:
        alive = self.cluster.node(MASTER).broker is not None
        return {
            "alive": alive,
            "promoted": self.promoted,
            "connected": alive and self.master.store.ha.connections > 0,
            "written": self.written,
            "copied": self.slave.store.max_phy_offset // RECORD,
            "pushed": self.pushed,
            "acknowledged": self.acknowledged,
            "answer": self.answer,
            "late": self.late,
            "topic": self.topic,
            "copied_topic": self.slave.topics.select(TOPIC) is not None,
            "listed": self.listed,
            "routed": TOPIC in self.cluster.name_server.topic_queue_table,
        }


def _result_of(put: SimulatedThread[PutResult]) -> str:
    return put.result().status.name if put.done.done else "waits"
