"""The simulated cluster as a deployment: the implementation's objects on a simulated clock, disk and network, in this process.

It has capabilities that no other deployment has: its own clock, faults of disks, network and executors, hooks, producers inside of it, and
direct access to its stores. It changes only by requests, by `act`, or while its clock advances.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Any, Final, Self

from rocketproof_impl.broker.hooks import ConsumeMessageContext, SendMessageContext
from rocketproof_impl.broker.settingstext import update_settings
from rocketproof_impl.java import JavaError
from rocketproof_impl.message import Message
from rocketproof_impl.producer.errors import ClientError
from rocketproof_impl.producer.producer import Producer
from rocketproof_impl.remoting.command import ONE_WAY, Command
from rocketproof_impl.remoting.errors import RemotingError, TimedOut
from rocketproof_impl.simulator.cluster import NAME_SERVER as NAME_SERVER_ADDRESS
from rocketproof_impl.simulator.cluster import Cluster, Node
from rocketproof_impl.simulator.content import MappedContent
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

from ..programs.corruption import corrupt
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
    """A flush that never completes."""

    def request(self, next_offset: int) -> Future[bool]:
        del next_offset
        return Future()

    def wakeup(self) -> None:
        pass


class _Replica:
    """One slave that is always close enough. It answers at once if `quick`, otherwise never."""

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
    """A hook without effect."""

    def send_message_before(self, context: SendMessageContext) -> None:
        pass

    def send_message_after(self, context: SendMessageContext) -> None:
        pass

    def consume_message_after(self, context: ConsumeMessageContext) -> None:
        pass


class SimulatedConnection:
    """A connection to a part of a simulated cluster, from an address of its own.

    `begin` does not wait. Commands of the part for which no `ask` waits go to `arrived`, by default into `strays`.
    """

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
        """Receive a command from the part, which uses this object as its channel."""
        waiting = self._pending.pop(command.opaque, None) if command.is_response else None
        if waiting is None:
            self.arrived(command)
        else:
            waiting.complete(command)

    def begin(self, request: Command) -> None:
        """Send a request, and run everything that needs no time."""
        self._deployment.server(self._part).receive(self, request)
        self._deployment.cluster.scheduler.settle()

    def ask(self, request: Command, seconds: float = SECONDS) -> Command:
        """Return the response, after advancing the cluster's clock event by event until it arrives. Raises TimedOut."""
        request.opaque = next(self._numbers)
        answer = self._pending[request.opaque] = Future[Command]()
        self.begin(request)
        millis = round(seconds * SECOND)
        if not answer.done and not self._deployment.cluster.scheduler.complete(_arrives(answer, millis)):
            del self._pending[request.opaque]
            raise TimedOut(f"wait response on the channel <{self._part}> timeout, {millis}(ms)")
        return answer.result()

    def send_one_way(self, request: Command, seconds: float = SECONDS) -> None:
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
    """Return whether the response arrives in time."""
    return await Wait(answer, millis)


@dataclass(frozen=True)
class StoreView:
    """The content of a broker's store.

    - `log`: the bytes of the log files, joined, up to `end`.
    - `entries`: place and size of each entry by topic and queue, None for a missing one.
    - `next_offsets`: by "topic-queueId".
    - `counts`: the number of messages put to each topic.
    """

    file_size: int
    end: int
    log: bytes
    entries: Mapping[tuple[str, int], Sequence[tuple[int, int] | None]]
    next_offsets: Mapping[str, int]
    counts: Mapping[str, int]

    def read(self) -> LogRecords:
        return read_log(self.log, self.file_size, self.end)


class SimulatedDeployment(Deployment):
    """A cluster of the implementation. `periodic`: periodic tasks run. `hookless`: steps that register hooks do nothing."""

    offers = frozenset(
        {
            Capability.CONFIGURE,
            Capability.RESTART,
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
        """Called after a producer's successful send."""
        self.passed: Callable[[], None] = lambda: None
        """Called after each second of the simulated clock if periodic tasks run."""
        self.is_mine: Callable[[str], bool] = lambda topic: True
        """Whether a topic is the program's own, whose records may be corrupted."""
        self._ahead = 0
        self._periodic = periodic
        self._hookless = hookless
        if periodic:
            for node in self.cluster.nodes.values():
                self._repeat(node.running.registration)

    def connect(self, part: str, seconds: float = SECONDS) -> SimulatedConnection:
        del seconds
        return SimulatedConnection(self, known("part", part, (NAME_SERVER, *self.brokers)))

    def server(self, part: str) -> Any:
        """Return the object that serves the requests to a part."""
        return self.cluster.name_server if part == NAME_SERVER else self.cluster.broker(part)

    def node(self, broker: str | int) -> Node:
        """Return the machine of a broker, by its name or its index."""
        nodes = list(self.cluster.nodes.values())
        return self.cluster.nodes[broker] if isinstance(broker, str) and broker else nodes[whole_number(broker or 0) % len(nodes)]

    def look(self, broker: str) -> StoreView:
        """Return the present content of the broker's store."""
        node = self.cluster.nodes[broker]
        store = node.running.store
        entries = {}
        for key, queue in store.queues.queues.items():
            stored = [queue.entry(index) for index in range(queue.files.max_offset // ENTRY_SIZE)]
            entries[key] = [None if entry is None else (entry.physical_offset, entry.size) for entry in stored]
        size, end, log = _files(node)
        return StoreView(size, end, log, entries, dict(store.topic_queue_table), dict(node.running.statistics.topic_put_nums))

    def records(self, broker: str) -> LogRecords:
        """Return the broker's log as it can be read now."""
        size, end, log = _files(self.cluster.nodes[broker])
        return read_log(log, size, end)

    def close(self) -> None:
        """Do nothing: the cluster consists of objects only."""

    # Steps that are not requests

    def act(self, name: str, broker: str | int = 0, /, **arguments: Any) -> None:
        """Perform a step of the vocabulary, given all its arguments."""
        do: Callable[..., None] = getattr(self, f"_do_{name}")
        do(self.node(broker), **arguments)

    def _do_time(self, node: Node, millis: int) -> None:
        """Advance the clock, and deliver the messages that are due."""
        scheduler = self.cluster.scheduler
        if self._periodic:
            for _ in range(millis // SECOND):
                scheduler.advance(SECOND)
                self.passed()
            return
        scheduler.advance(millis)
        for other in self.cluster.nodes.values():
            store = other.running.store
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
        """Make the broker flush synchronously. If `stuck`, flushes do not complete."""
        store = node.running.store
        node.settings.flush_disk_type = "SYNC_FLUSH"

        def flush() -> int:
            store.flush_now()
            return store.flushed_where

        store.flush = _Stuck() if stuck else FlushOnDemand(flush)

    def _do_replica(self, node: Node, state: str) -> None:
        """Make the broker wait for a slave: none, a slow or a quick one."""
        node.settings.broker_role = "SYNC_MASTER"
        store = node.running.store
        store.replicas = store.ha if state == "none" else _Replica(state == "quick")

    def _do_store(self, node: Node, state: str) -> None:
        """Make the store full, busy, or working again."""
        store = node.running.store
        store.flags.bits = DISK_FULL if state == "full" else 0
        store.commit_log.begin_time_in_lock = self.cluster.clock.now() - 2 * SECOND if state == "busy" else 0

    def _do_disk(self, node: Node, full: bool) -> None:
        """Make the creation of further log files fail, or work again."""
        disk = node.disk

        def refuse(_: str, path: str) -> None:
            if "/commitlog/" in path and path not in disk.regions:
                raise OSError("no space left on device")

        disk.failing = refuse if full else None

    def _do_crash(self, node: Node, power: bool, metadata: Metadata, seed: int) -> None:
        """Kill the broker's process, or with `power` its machine, and restart it on a disk without faults."""
        DiskFaults().inject(node, seed)
        if power:
            self.cluster.power_loss(self._key(node), PowerLoss(seed, metadata))
        else:
            self.cluster.crash(self._key(node), silent=True)
        self._start(node)

    def _do_restart(self, node: Node, settings: Mapping[str, str] | None, clock: int = 0) -> None:
        """Stop the broker gracefully, which persists its tables and offsets, and start it with some settings changed.

        All clocks of the cluster are then `clock` milliseconds ahead of where they were before any such restart.
        """
        self.end(node)
        for name, value in (settings or {}).items():
            update_settings(node.settings, f"{name}={value}")
        self.cluster.clock.jump(clock - self._ahead)
        self._ahead = clock
        self.cluster.crash(self._key(node), silent=True)
        self._start(node)

    def _do_corrupt(self, node: Node, file: str, place: str, how: str, kill: bool) -> None:
        """Stop the broker, or kill it, change bytes of one of its files, and start it again."""
        if not kill:
            self.end(node)
        self.cluster.crash(self._key(node), silent=True)
        corrupt(DiskFolder(node), file, place, how, self.is_mine)
        self._start(node)

    def end(self, node: Node) -> None:
        """Do what a broker does before its process ends gracefully: persist its offsets, dispatch and flush the log (REC-02)."""
        node.running.persist_offsets()
        node.running.persist_delay_offsets()
        self.cluster.scheduler.complete(node.running.store.stop(), "stop")

    def _start(self, node: Node) -> None:
        """Start a broker that has ended. Files that prevent this are deleted, as an administrator would do."""
        while not self.cluster.restart(self._key(node)):
            _clear(node.disk)

    def _key(self, node: Node) -> str:
        """Return the cluster's name of a broker. It is not the setting brokerName, which may change and which slaves share."""
        return next(name for name, other in self.cluster.nodes.items() if other is node)

    def _do_faults(self, node: Node, name: str | None, seed: int) -> None:
        """Enable the named faults; without a name, disable all."""
        if name is None:
            heal(self.cluster)
        else:
            inject(self.cluster, name, seed)

    def _do_clock(self, node: Node, millis: int) -> None:
        self.cluster.clock.jump(millis)

    def _do_executor(self, node: Node, full: bool) -> None:
        """Give the executor for sends one thread and no queue, or restore its defaults."""
        executor = node.executors["send"]
        executor.threads, executor.capacity = (1, 0) if full else (None, None)

    def _do_lossy(self, node: Node, lossy: bool) -> None:
        """Drop one-way registrations, or deliver them again."""

        def plan(packet: Packet) -> Sequence[int]:
            lost = packet.command.code == codes.REGISTER_BROKER and packet.command.is_one_way
            return [] if lost else [0]

        self.cluster.network.plan = plan if lossy else None

    def _do_produce(self, node: Node, topic: str, producer: int) -> None:
        """A producer sends a message and ignores the result."""
        sender = self.producers.get(producer)
        if sender is None:
            sender = self.producers[producer] = self.cluster.producer(f"producers-{producer}")
            self._repeat(sender.client)
        try:
            self.cluster.scheduler.complete(sender.send(Message(topic, body=b"a")), "send")
        except (ClientError, RemotingError, JavaError):
            return
        self.used(sender, topic)

    def _repeat(self, component: Any) -> None:
        """Schedule an object's periodic functions."""
        tasks = component.periodic() if hasattr(component, "periodic") else component.PERIODIC
        for task in tasks:
            self.cluster.scheduler.every(task.first, task.period, partial(self._spawn, getattr(component, task.name), task.name))

    def _spawn(self, work: Callable[[], Any], name: str) -> None:
        self.cluster.scheduler.spawn(work(), name)


def _files(node: Node) -> tuple[int, int, bytes]:
    """Return the size of a log file, the end of the log, and the bytes of its files."""
    store, size = node.running.store, node.settings.mapped_file_size_commit_log
    return size, store.max_phy_offset, b"".join(mapped.region.read(0, size) for mapped in store.commit_log.files.files)


class DiskFolder:
    """A store directory on a simulated disk as `programs.corruption.StoreFiles`."""

    def __init__(self, node: Node) -> None:
        self._disk, self._root = node.disk, node.settings.store_path_root_dir

    def names(self, folder: str) -> Sequence[str]:
        return self._disk.names(f"{self._root}/{folder}")

    def size(self, path: str) -> int:
        return self._disk.size(f"{self._root}/{path}") or 0

    def read(self, path: str, position: int, length: int) -> bytes:
        content, size = self._disk.files[f"{self._root}/{path}"], self.size(path)
        if isinstance(content, MappedContent):
            return content.read(position, max(0, min(length, size - position)))
        return bytes(content[position : position + length])

    def replace(self, path: str, position: int, data: bytes) -> None:
        content = self._disk.files[f"{self._root}/{path}"]
        if isinstance(content, MappedContent):
            content.write(position, data)
        else:
            content[position : position + len(data)] = data


def _clear(disk: SimulatedDisk) -> None:
    """Delete empty files of the log and the queues; if there are none, the configuration."""
    for folder in ("/commitlog/", "/consumequeue/"):
        damaged = [path for path in disk.files if folder in path and disk.size(path) == 0]
        for path in damaged:
            disk.delete(path)
        if damaged:
            return
    for path in [path for path in disk.files if "/config/" in path]:
        disk.delete(path)
