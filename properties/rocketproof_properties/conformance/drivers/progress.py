"""A simulated broker and a consumer as a target of the specification of progress: requests on the wire, and the file of offsets.

The action chooses which unflushed data the device has kept; the others are wiped here. Then the broker's own recovery reads the files. The
log also has the broker's own messages about consumers beyond the end of a queue; only messages of the topic are counted.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rocketproof_impl.broker.groups import SubscriptionGroupConfig
from rocketproof_impl.broker.offsets import ConsumerOffsetManager
from rocketproof_impl.broker.settings import BrokerSettings
from rocketproof_impl.message import Message
from rocketproof_impl.remoting.command import Command
from rocketproof_impl.simulator.cluster import NAME_SERVER, Cluster, Node
from rocketproof_impl.simulator.content import MappedContent
from rocketproof_impl.tasks import Future
from rocketproof_impl.topic import TopicConfig
from rocketproof_model import Instance
from rocketproof_profiles import Profile
from rocketproof_protocol import codes
from rocketproof_protocol.numbers import whole_number
from rocketproof_spec.progress import ConsumerProgress

from ...programs.vocabulary import plain
from .base import Deviation, ModelDriver, Seen

TOPIC, GROUP = "topic", "rocketproof-reader"
MARKED, OTHER = "marked", "other"


class _PendingFlush:
    """A flush that never completes unless `waits` is False, for messages that the broker stores for itself."""

    waits = True

    def request(self, next_offset: int) -> Future[bool]:
        del next_offset
        flushed: Future[bool] = Future()
        if not self.waits:
            flushed.complete(True)
        return flushed

    def wakeup(self) -> None:
        """Do nothing: no thread waits."""


class ProgressDriver(ModelDriver):
    """A broker with one queue, and a consumer that follows the responses. `on`: a broker that runs elsewhere (`outside.Outside`)."""

    def __init__(self, specification: ConsumerProgress, instance: Instance, profile: Profile, on: tuple[Any, Any] | None = None) -> None:
        super().__init__(instance)
        self.profile = replace(profile, **{name: self.constants[name] for name in specification.switches})
        self.cluster: Any
        self.node: Any
        self.cluster, self.node = on or self._simulated()
        self.node.running.topics.update(TopicConfig(TOPIC, 1, 1))
        self.node.running.groups.update(SubscriptionGroupConfig(GROUP))  # later releases keep no offsets of unknown groups
        self.log_file = f"{self.node.settings.store_path_root_dir}/commitlog/{0:020d}"
        self.running = self.got = self.moved = False
        self.place = self.delivered = self.faults = 0
        self._ready()

    def _simulated(self) -> tuple[Cluster, Node]:
        cluster = Cluster(0, profile=self.profile)
        settings = BrokerSettings(
            broker_name="broker-a",
            name_servers=(NAME_SERVER,),
            mapped_file_size_commit_log=1 << 16,
            flush_disk_type="SYNC_FLUSH" if self.constants["sync"] else "ASYNC_FLUSH",
        )
        return cluster, cluster.add(settings)

    def _ready(self) -> None:
        self.flush = self.node.running.store.flush = _PendingFlush()

    # The broker

    def _do_append(self, marks: bool) -> None:
        self.cluster.calling(plain("send", topic=TOPIC, body=MARKED if marks else OTHER))

    def _do_flush(self) -> None:
        self.node.running.store.commit_log.files.flush_all()

    def _do_dispatch(self) -> None:
        store = self.node.running.store
        before = self._entries()
        while self._entries() == before:
            if store.dispatch(1) != 1:
                raise Deviation("the dispatcher is at its end: the specification has a record for it")

    def _do_persist(self) -> None:
        self.node.running.persist_offsets()

    def _do_reset(self, offset: int) -> None:
        self._commit(offset, "administrator")
        self.moved = True

    # The consumer

    def _ask(self, step: str, client: str = "consumer", *, unless: int = codes.SUCCESS, **more: int) -> Command:
        answer: Command = self.cluster.call(plain(step, topic=TOPIC, group=GROUP, **more), client=client)
        if answer.code not in (codes.SUCCESS, unless):
            raise Deviation(f"{step} is answered {answer.code}: the specification has it done")
        return answer

    def _commit(self, offset: int, client: str = "consumer") -> None:
        self._ask("commit", client, offset=offset)

    def _pull(self, expected: int) -> tuple[int, bytes]:
        """Return the next position and the data. A response with another code is a deviation."""
        self.flush.waits = False
        answer = self.cluster.call(plain("pull", topic=TOPIC, offset=self.place, most=1), client="consumer")
        self.flush.waits = True
        if answer.code != expected:
            raise Deviation(f"the pull at {self.place} is answered {answer.code}: the specification says {expected}")
        return whole_number((answer.ext_fields or {})["nextBeginOffset"]), answer.body or b""

    def _do_begin(self) -> None:
        """Start at the broker's offset; at 0 if later releases do not know the queue yet."""
        self.place = whole_number((self._ask("progress", unless=codes.QUERY_NOT_FOUND).ext_fields or {}).get("offset", 0))
        self.running, self.moved = True, False

    def _do_pull(self) -> None:
        self.place, data = self._pull(codes.SUCCESS)
        message = self.node.running.store.commit_log.decode(data)
        if message is None:
            raise Deviation("the pull finds something that is no message")
        self.delivered = max(self.delivered, message.queue_offset + 1)
        self.got = self.got or message.body == MARKED.encode()

    def _do_go_back(self) -> None:
        self.place, _ = self._pull(codes.PULL_OFFSET_MOVED)
        self._commit(self.place)

    def _must_run(self) -> None:
        if not self.running:
            raise Deviation("no consumer runs: the specification has one")

    def _do_commit(self) -> None:
        self._must_run()
        self._commit(self.place)

    def _do_stop(self) -> None:
        self._must_run()
        self.running, self.place = False, 0
        self.faults += 1

    # Faults

    def _do_crash(self) -> None:
        self.faults += 1
        self.moved = False
        self.cluster.crash(silent=True)
        if not self.cluster.start(self.node):
            raise Deviation("the broker refuses to start: the specification starts it")
        self._ready()

    def _do_power_loss(self, kept: int) -> None:
        ends = [0, *(message.physical_offset + message.store_size for message in self._records())]
        content = self.node.disk.files.get(self.log_file)
        if isinstance(content, MappedContent) and len(content) > ends[kept]:
            content.write(ends[kept], bytes(len(content) - ends[kept]))
            content.force()
        self._do_crash()
        self.got = self.got and self._marked() > 0

    # State

    def _records(self) -> list[Message]:
        return [message for message in self.node.running.store.records() if message.topic == TOPIC]

    def _marked(self) -> int:
        return next((number for number, message in enumerate(self._records(), 1) if message.body == MARKED.encode()), 0)

    def _entries(self) -> int:
        entries: int = self.node.running.store.max_offset(TOPIC, 0)
        return entries

    def seen(self) -> Seen:
        broker = self.node.running
        file = ConsumerOffsetManager(self.node.settings, self.profile, self.node.disk)
        if not file.load():
            raise Deviation("the offsets' file cannot be read")
        records = self._records()
        return {
            "written": len(records),
            "flushed": sum(1 for record in records if record.physical_offset + record.store_size <= broker.store.flushed_where),
            "entries": self._entries(),
            "committed": broker.offsets.query(GROUP, TOPIC, 0) or 0,
            "saved": file.query(GROUP, TOPIC, 0) or 0,
            "running": self.running,
            "place": self.place,
            "delivered": self.delivered,
            "marked": self._marked(),
            "got": self.got,
            "moved": self.moved,
            "faults": self.faults,
        }
