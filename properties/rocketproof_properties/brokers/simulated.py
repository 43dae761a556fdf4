"""The simulated cluster as a deployment: the implementation's own objects on a simulated clock, disk and network, in this process.

It does what no other deployment can: its time is its own, its disks, network and executors fail when a step makes them, hooks and producers
run inside it, and its stores can be looked at. Nothing happens in it but by a request, by `act`, or while its clock runs.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Any, Final, Self

from rocketproof_impl.broker.hooks import ConsumeMessageContext, SendMessageContext
from rocketproof_impl.java import JavaError
from rocketproof_impl.message import Message
from rocketproof_impl.producer.errors import ClientError
from rocketproof_impl.producer.producer import Producer
from rocketproof_impl.remoting.command import ONE_WAY, Command
from rocketproof_impl.remoting.errors import RemotingError, TimedOut
from rocketproof_impl.simulator.cluster import NAME_SERVER as NAME_SERVER_ADDRESS
from rocketproof_impl.simulator.cluster import Cluster, Node
from rocketproof_impl.simulator.disk import SimulatedDisk
from rocketproof_impl.simulator.faults import DiskFaults, heal, inject
from rocketproof_impl.simulator.journal import Metadata, PowerLoss
from rocketproof_impl.simulator.network import Packet
from rocketproof_impl.store.consumequeue import ENTRY_SIZE
from rocketproof_impl.store.flush import FlushOnDemand
from rocketproof_impl.store.service import DISK_FULL
from rocketproof_impl.tasks import Future, Wait
from rocketproof_profiles import Profile
from rocketproof_protocol import codes
from rocketproof_protocol.numbers import whole_number
from rocketproof_traces.stored.record import LogRecords, read_log

from ..programs.parts import NAME_SERVER, Capability
from ..programs.settings import ClusterSettings
from ..reports.choices import known
from .connection import SECONDS
from .deployment import Deployment

SECOND: Final = 1000


def cluster_of(setting: ClusterSettings, profile: Profile) -> Cluster:
    """Return a cluster with these settings and empty disks."""
    return Cluster(setting.brokers, profile=profile, **setting.settings)


class _Stuck:
    """A flush that never ends."""

    def request(self, next_offset: int) -> Future[bool]:
        del next_offset
        return Future()

    def wakeup(self) -> None:
        pass


class _Replica:
    """One slave: near enough, and quick or never there."""

    connections = 1

    def __init__(self, quick: bool) -> None:
        self.push2_slave_max_offset = 2**40 if quick else 0
        self._quick = quick

    def request(self, next_offset: int) -> Future[bool]:
        answer: Future[bool] = Future()
        if self._quick and next_offset >= 0:
            answer.complete(True)
        return answer


class _Hook:
    """A hook that looks and does nothing."""

    def send_message_before(self, context: SendMessageContext) -> None:
        pass

    def send_message_after(self, context: SendMessageContext) -> None:
        pass

    def consume_message_after(self, context: ConsumeMessageContext) -> None:
        pass


class SimulatedConnection:
    """A connection to a part of a simulated cluster, from an address of its own. `begin` lets the caller go on; whatever the part writes
    that no `ask` waits for goes to `arrived`, or is kept in `strays`."""

    closing = False

    def __init__(self, deployment: SimulatedDeployment, part: str, arrived: Callable[[Command], None] | None = None) -> None:
        self.remote: tuple[str, int] = ("127.0.0.1", 50_000)
        self.strays: list[Command] = []
        self._deployment = deployment
        self._part = part
        self.arrived = arrived or self.strays.append
        self._numbers = itertools.count(1)
        self._pending: dict[int, Future[Command]] = {}

    def write(self, command: Command) -> None:
        """What the part sends, as it sees its channel."""
        waiting = self._pending.pop(command.opaque, None) if command.is_response else None
        if waiting is None:
            self.arrived(command)
        else:
            waiting.complete(command)

    def begin(self, request: Command) -> None:
        """Send a request, and let everything happen that needs no time."""
        self._deployment.server(self._part).receive(self, request)
        self._deployment.cluster.scheduler.settle()

    def ask(self, request: Command, seconds: float = SECONDS) -> Command:
        """The answer; the cluster's time passes, event by event, until it is there. Raises TimedOut."""
        request.opaque = next(self._numbers)
        answer = self._pending[request.opaque] = Future[Command]()
        self.begin(request)
        millis = round(seconds * SECOND)
        if not answer.done and not self._deployment.cluster.scheduler.complete(_arrives(answer, millis)):
            del self._pending[request.opaque]
            raise TimedOut(f"wait response on the channel <{self._part}> timeout, {millis}(ms)")
        return answer.result()

    def tell(self, request: Command, seconds: float = SECONDS) -> None:
        del seconds
        request.opaque = next(self._numbers)
        request.flag |= ONE_WAY
        self.begin(request)

    def listen(self, seconds: float) -> None:
        self._deployment.cluster.scheduler.advance(round(seconds * SECOND))

    def close(self) -> None:
        self._deployment.server(self._part).channel_closed(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


async def _arrives(answer: Future[Command], millis: int) -> bool:
    """Whether the answer comes in time."""
    return await Wait(answer, millis)


@dataclass(frozen=True)
class StoreView:
    """What a direct look at a broker's store shows: the bytes of its log's files, joined, up to `end`; by topic and queue the place and
    size of each entry, None for one that is missing; the next offsets by "topic-queueId"; and how many messages each topic has got."""

    file_size: int
    end: int
    log: bytes
    entries: Mapping[tuple[str, int], Sequence[tuple[int, int] | None]]
    next_offsets: Mapping[str, int]
    counts: Mapping[str, int]

    def read(self) -> LogRecords:
        return read_log(self.log, self.file_size, self.end)


class SimulatedDeployment(Deployment):
    """A cluster of the implementation. `periodic`: periodic tasks run; `hookless`: steps that register hooks do nothing."""

    offers = frozenset(
        {
            Capability.CONFIGURE,
            Capability.CLOCK,
            Capability.FAULTS,
            Capability.EXECUTORS,
            Capability.HOOKS,
            Capability.PRODUCERS,
            Capability.LOOK,
        }
    )

    def __init__(self, cluster: Cluster, *, periodic: bool = False, hookless: bool = False) -> None:
        self.name = "simulated"
        self.profile = cluster.profile
        self.cluster = cluster
        self.name_server = NAME_SERVER_ADDRESS
        self.brokers = {name: node.settings.address for name, node in self.cluster.nodes.items()}
        self.producers: dict[int, Producer] = {}
        self.used: Callable[[Producer, str], None] = lambda producer, topic: None
        """Called when a producer's send has ended well."""
        self.passed: Callable[[], None] = lambda: None
        """Called after each second that passes where periodic tasks run."""
        self._periodic = periodic
        self._hookless = hookless
        if periodic:
            for node in self.cluster.nodes.values():
                self._repeat(node.running.registration)

    def connect(self, part: str, seconds: float = SECONDS) -> SimulatedConnection:
        del seconds
        return SimulatedConnection(self, known("part", part, (NAME_SERVER, *self.brokers)))

    def server(self, part: str) -> Any:
        """Who serves the requests to a part."""
        return self.cluster.name_server if part == NAME_SERVER else self.cluster.broker(part)

    def node(self, broker: str | int) -> Node:
        """The machine of a broker, by its name or its number among them all."""
        nodes = list(self.cluster.nodes.values())
        return self.cluster.nodes[broker] if isinstance(broker, str) and broker else nodes[whole_number(broker or 0) % len(nodes)]

    def look(self, broker: str) -> StoreView:
        """What is in the broker's store now."""
        node = self.cluster.nodes[broker]
        store = node.running.store
        entries = {}
        for key, queue in store.queues.queues.items():
            found = [queue.entry(index) for index in range(queue.files.max_offset // ENTRY_SIZE)]
            entries[key] = [None if entry is None else (entry.physical_offset, entry.size) for entry in found]
        size, end, log = _files(node)
        return StoreView(size, end, log, entries, dict(store.topic_queue_table), dict(node.running.statistics.topic_put_nums))

    def records(self, broker: str) -> LogRecords:
        """The broker's log as it can be read now."""
        size, end, log = _files(self.cluster.nodes[broker])
        return read_log(log, size, end)

    def close(self) -> None:
        """Nothing outlives the objects."""

    # Steps that are not requests

    def act(self, name: str, broker: str | int = 0, /, **arguments: Any) -> None:
        """Do a step of the vocabulary, with all its arguments."""
        do: Callable[..., None] = getattr(self, f"_do_{name}")
        do(self.node(broker), **arguments)

    def _do_time(self, node: Node, millis: int) -> None:
        """Time passes; what is to be delivered by then is delivered."""
        scheduler = self.cluster.scheduler
        if self._periodic:
            for _ in range(millis // SECOND):
                scheduler.advance(SECOND)
                self.passed()
            return
        scheduler.advance(millis)
        for each in self.cluster.nodes.values():
            store = each.running.store
            store.dispatch()
            if not store.shutdown:
                scheduler.complete(store.deliver_delayed(), "deliver delayed")
                store.dispatch()

    def _do_hooks(self, node: Node, send: bool, consume: bool) -> None:
        hooks = node.running.hooks
        if not self._hookless:
            hooks.send = [_Hook()] if send else []
            hooks.consume = [_Hook()] if consume else []

    def _do_flush(self, node: Node, stuck: bool) -> None:
        """The broker flushes synchronously from here on, or would like to."""
        store = node.running.store
        node.settings.flush_disk_type = "SYNC_FLUSH"

        def flush() -> int:
            store.flush_now()
            return store.flushed_where

        store.flush = _Stuck() if stuck else FlushOnDemand(flush)

    def _do_replica(self, node: Node, state: str) -> None:
        """The broker waits for a slave from here on: one that is not there, slow or quick."""
        node.settings.broker_role = "SYNC_MASTER"
        store = node.running.store
        store.replicas = store.ha if state == "none" else _Replica(state == "quick")

    def _do_store(self, node: Node, state: str) -> None:
        """The store is full, busy, or good again."""
        store = node.running.store
        store.flags.bits = DISK_FULL if state == "full" else 0
        store.commit_log.begin_time_in_lock = self.cluster.clock.now() - 2 * SECOND if state == "busy" else 0

    def _do_disk(self, node: Node, full: bool) -> None:
        """No further file of the log can be made, or again."""
        disk = node.disk

        def refuse(_: str, path: str) -> None:
            if "/commitlog/" in path and path not in disk.regions:
                raise OSError("no space left on device")

        disk.failing = refuse if full else None

    def _do_crash(self, node: Node, power: bool, metadata: Metadata, seed: int) -> None:
        """The broker's process ends, or with `power` its machine, and it starts again; its disk is well then.

        What a start takes offence at is deleted by an administrator.
        """
        name = next(name for name, each in self.cluster.nodes.items() if each is node)
        DiskFaults().inject(node, seed)
        if power:
            self.cluster.power_loss(name, PowerLoss(seed, metadata))
        else:
            self.cluster.crash(name, silent=True)
        while not self.cluster.restart(name):
            _clear(node.disk)

    def _do_faults(self, node: Node, name: str | None, seed: int) -> None:
        """Faults of this name happen from here on; none without a name."""
        if name is None:
            heal(self.cluster)
        else:
            inject(self.cluster, name, seed)

    def _do_clock(self, node: Node, millis: int) -> None:
        """Somebody sets the clock."""
        self.cluster.clock.jump(millis)

    def _do_executor(self, node: Node, full: bool) -> None:
        """The threads for sends: one, and no place to wait for it; or as many as are asked for."""
        executor = node.executors["send"]
        executor.threads, executor.capacity = (1, 0) if full else (None, None)

    def _do_lossy(self, node: Node, lossy: bool) -> None:
        """One-way registrations are lost, or arrive again."""

        def plan(packet: Packet) -> Sequence[int]:
            lost = packet.command.code == codes.REGISTER_BROKER and packet.command.is_one_way
            return [] if lost else [0]

        self.cluster.network.plan = plan if lossy else None

    def _do_produce(self, node: Node, topic: str, producer: int) -> None:
        """A producer sends a message, whatever comes of it."""
        made = self.producers.get(producer)
        if made is None:
            made = self.producers[producer] = self.cluster.producer(f"producers-{producer}")
            self._repeat(made.client)
        try:
            self.cluster.scheduler.complete(made.send(Message(topic, body=b"a")), "send")
        except (ClientError, RemotingError, JavaError):
            return
        self.used(made, topic)

    def _repeat(self, thing: Any) -> None:
        """Call an object's periodic functions at their times."""
        tasks = thing.periodic() if hasattr(thing, "periodic") else thing.PERIODIC
        for task in tasks:
            self.cluster.scheduler.every(task.first, task.period, partial(self._spawn, getattr(thing, task.name), task.name))

    def _spawn(self, work: Callable[[], Any], name: str) -> None:
        self.cluster.scheduler.spawn(work(), name)


def _files(node: Node) -> tuple[int, int, bytes]:
    """The bytes of a file of the log, where the log ends, and the bytes of its files."""
    store, size = node.running.store, node.settings.mapped_file_size_commit_log
    return size, store.max_phy_offset, b"".join(mapped.region.read(0, size) for mapped in store.commit_log.files.files)


def _clear(disk: SimulatedDisk) -> None:
    """Delete the files that have lost their length; if it is not these, the configuration."""
    for folder in ("/commitlog/", "/consumequeue/"):
        damaged = [path for path in disk.files if folder in path and disk.size(path) == 0]
        for path in damaged:
            disk.delete(path)
        if damaged:
            return
    for path in [path for path in disk.files if "/config/" in path]:
        disk.delete(path)
