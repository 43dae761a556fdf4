"""One broker that a driver sends requests to and whose state it reads: simulated here, or in another process (`remote.py`).

A driver that needs only `DrivenBroker` performs its model's actions on both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from rocketproof_impl.broker.broker import Broker
from rocketproof_impl.broker.groups import SubscriptionGroupConfig
from rocketproof_impl.message import Message
from rocketproof_impl.remoting.command import Command
from rocketproof_impl.remoting.ports import Channel
from rocketproof_impl.route import QueueData
from rocketproof_impl.simulator.cluster import Cluster, Node
from rocketproof_impl.simulator.content import MappedContent
from rocketproof_impl.store.service import MessageStore
from rocketproof_impl.tasks import Work
from rocketproof_impl.topic import TopicConfig
from rocketproof_profiles import Profile
from rocketproof_protocol.flags import READ, WRITE
from rocketproof_protocol.groups import RETRY_MAX_TIMES

from ...brokers.simulated import SimulatedDeployment
from ...programs.vocabulary import plain
from .base import accepted, require

FILE_SIZE = 1 << 16
LOG = f"commitlog/{0:020d}"
"""The log's first file."""
LONG = 24 * 10_000  # hours that files are kept: messages of programs were born in 2020


class DrivenBroker(Protocol):
    """One broker with its name server.

    A broker in another process runs its own tasks: `run`, `deliver_registrations` and `draw` then do nothing.
    """

    profile: Profile

    def call(self, request: Command, *, client: str = "client") -> Command:
        """Return the response to a client, which has a connection of its own. Raises RemotingError."""
        ...

    def post(self, request: Command) -> None:
        """Send a client's request. A simulated broker may answer later. Raises RemotingError."""
        ...

    def connect(self, channel: Channel, request: Command) -> None:
        """Send the first request of a client that receives the broker's requests over `channel`."""
        ...

    def accepted(self, step: str, *, client: str = "client", **arguments: Any) -> Command:
        """Return the response to a step's request, which must be SUCCESS. Raises Deviation."""
        return accepted(self.call(plain(step, **arguments), client=client), step)

    def create_topic(self, name: str, queues: int = 1, perm: int = READ | WRITE) -> None:
        self.accepted("topic", client="administrator", topic=name, read=queues, write=queues, perm=perm)

    def create_group(self, name: str, queues: int = 1, retries: int = RETRY_MAX_TIMES) -> None:
        self.accepted("group", client="administrator", group=name, queues=queues, retries=retries)

    def now(self) -> int: ...

    def advance(self, millis: int) -> None: ...

    def deliver_delayed(self, millis: int) -> None:
        """Let a delay of this many ms pass. The broker then delivers the messages that are due."""
        ...

    def dispatch(self) -> None: ...

    def run(self, task: Callable[[Broker], Work[Any] | None]) -> None:
        """Run a task of the broker to its end."""
        ...

    def deliver_registrations(self) -> None: ...

    def draw(self, queue: int) -> None:
        """Choose the queue that the broker draws next."""
        ...

    def crash(self) -> None: ...

    def start(self) -> None:
        """Start the broker's process again. Raises Deviation if it refuses."""
        ...

    def records(self) -> list[Message]: ...

    def decode(self, data: bytes) -> Message | None: ...

    def message(self, topic: str, queue: int, offset: int) -> Message | None: ...

    def max_offset(self, topic: str, queue: int = 0) -> int:
        """Return the offset after the last entry of a consume queue."""
        ...

    def next_offset(self, topic: str, queue: int = 0) -> int:
        """Return the offset of the queue's next message."""
        ...

    def flushed_to(self) -> int:
        """Return the end of the part of the log that is on the device, in bytes."""
        ...

    def topics(self) -> dict[str, TopicConfig]: ...

    def groups(self) -> Mapping[str, SubscriptionGroupConfig]: ...

    def route(self, topic: str) -> list[QueueData]: ...

    def offset(self, group: str, topic: str) -> int | None:
        """Return the group's offset in queue 0, None if the broker has none."""
        ...

    def file(self, path: str) -> bytes | None:
        """Return the content of a file in the broker's store, None if it does not exist."""
        ...


class SimulatedBroker(DrivenBroker):
    """The broker of a simulated cluster, which delivers packets at once.

    `settings`: its settings. `cluster`, `node`: for drivers that need more than requests.
    """

    def __init__(self, profile: Profile, **settings: Any) -> None:
        self.profile = profile
        chosen = {"mapped_file_size_commit_log": FILE_SIZE, "file_reserved_time": LONG, **settings}
        self.cluster = Cluster(1, profile=profile, **chosen)
        self.node: Node = self.cluster.node()
        self.deployment = SimulatedDeployment(self.cluster)

    @property
    def broker(self) -> Broker:
        return self.node.running

    @property
    def store(self) -> MessageStore:
        return self.node.running.store

    def call(self, request: Command, *, client: str = "client") -> Command:
        return self.cluster.call(request, client=client)

    def post(self, request: Command) -> None:
        self.cluster.calling(request)

    def connect(self, channel: Channel, request: Command) -> None:
        self.broker.receive(channel, request)
        self.cluster.scheduler.settle()

    def now(self) -> int:
        return self.cluster.clock.now()

    def advance(self, millis: int) -> None:
        self.cluster.scheduler.advance(millis)

    def deliver_delayed(self, millis: int) -> None:
        self.deployment.act("time", millis=millis)

    def dispatch(self) -> None:
        self.cluster.dispatch()

    def run(self, task: Callable[[Broker], Work[Any] | None]) -> None:
        work = task(self.broker)
        if work is not None:
            self.cluster.scheduler.complete(work)

    def deliver_registrations(self) -> None:
        for packet in list(self.cluster.network.held):
            self.cluster.network.deliver(packet)
        self.cluster.scheduler.settle()

    def draw(self, queue: int) -> None:
        self.node.random.feed(queue)

    def crash(self) -> None:
        self.cluster.crash(silent=True)

    def start(self) -> None:
        start(self.cluster, self.node)

    def records(self) -> list[Message]:
        return list(self.store.records())

    def decode(self, data: bytes) -> Message | None:
        return self.store.commit_log.decode(data)

    def message(self, topic: str, queue: int, offset: int) -> Message | None:
        return self.store.get_message(topic, queue, offset)

    def max_offset(self, topic: str, queue: int = 0) -> int:
        return self.store.max_offset(topic, queue)

    def next_offset(self, topic: str, queue: int = 0) -> int:
        return self.store.topic_queue_table.get(f"{topic}-{queue}", 0)

    def flushed_to(self) -> int:
        return self.store.flushed_where

    def topics(self) -> dict[str, TopicConfig]:
        return {name: config.copy() for name, config in self.broker.topics.table.items()}

    def groups(self) -> Mapping[str, SubscriptionGroupConfig]:
        return self.broker.groups.table

    def route(self, topic: str) -> list[QueueData]:
        return self.cluster.name_server.topic_queue_table.get(topic, [])

    def offset(self, group: str, topic: str) -> int | None:
        return self.broker.offsets.query(group, topic, 0)

    def file(self, path: str) -> bytes | None:
        return self.node.disk.read(f"{self.node.settings.store_path_root_dir}/{path}")


def start(cluster: Cluster, node: Node) -> None:
    """Start a simulated broker's process. Raises Deviation if it refuses."""
    require(cluster.start(node), "the broker refuses to start: the specification starts it")


def lose(node: Node, path: str, kept: int) -> None:
    """Lose the bytes of a mapped file after the first `kept` ones, as if its device had never got them. `path`: in the broker's store."""
    content = node.disk.files.get(f"{node.settings.store_path_root_dir}/{path}")
    if isinstance(content, MappedContent) and len(content) > kept:
        content.write(kept, bytes(len(content) - kept))
        content.force()
