"""A simulated broker as a target of the specification of recovery: its log and one consume queue on a disk that may lose its power.

A put waits for the flush as the broker's settings say; the flush is done, and an answer delivered, when an action says so. What the
device has kept of what was not forced is the action's choice, so it is wiped here as that says; then the broker's own recovery
reads the files.
"""

from __future__ import annotations

from rocketproof_impl.broker.settings import BrokerSettings
from rocketproof_impl.remoting.command import Command
from rocketproof_impl.simulator.cluster import NAME_SERVER, Cluster
from rocketproof_impl.simulator.content import MappedContent
from rocketproof_impl.simulator.network import HOLD, Packet
from rocketproof_impl.simulator.scheduler import SimulatedThread
from rocketproof_impl.store import record
from rocketproof_impl.tasks import Future
from rocketproof_impl.topic import TopicConfig
from rocketproof_model import Instance
from rocketproof_profiles import Profile
from rocketproof_protocol import codes
from rocketproof_spec.recovery import Recovery

from ...programs.vocabulary import plain
from .base import Deviation, ModelTarget, Seen

TOPIC = "topic"
ENTRY = 20
HEAD = 60  # bytes of a torn record that are there: not yet its body
FIRST = "0" * 20


class _Asked:
    """A flush that is asked for and not done: puts wait for `futures`, with the place that each is to reach."""

    def __init__(self) -> None:
        self.futures: list[tuple[int, Future[bool]]] = []

    def request(self, next_offset: int) -> Future[bool]:
        self.futures.append((next_offset, Future()))
        return self.futures[-1][1]

    def wakeup(self) -> None:
        """Nobody waits."""


class RecoveryTarget(ModelTarget):
    """A broker with one queue. The answers of an asynchronous flush stay on the wire until it is their turn."""

    def __init__(self, specification: Recovery, instance: Instance, profile: Profile) -> None:
        super().__init__(instance)
        self.cluster = Cluster(0, profile=profile)
        self.sync = self.constants["sync"]
        settings = BrokerSettings(
            broker_name="broker-a",
            name_servers=(NAME_SERVER,),
            mapped_file_size_commit_log=1 << 16,
            flush_disk_type="SYNC_FLUSH" if self.sync else "ASYNC_FLUSH",
        )
        self.node = self.cluster.add(settings)
        self.node.running.topics.update(TopicConfig(TOPIC, 1, 1))
        self.log_file = f"{settings.store_path_root_dir}/commitlog/{FIRST}"
        self.queue_file = f"{settings.store_path_root_dir}/consumequeue/{TOPIC}/0/{FIRST}"
        self.flushed = self.forced = 0
        self.count = {"crashes": 0, "powers": 0}
        self.odd = False
        self.acknowledged = 0
        self.cut: tuple[int, bytes] | None = None  # what a start has left behind the end of the log: it cuts no bytes off
        self.entries = 0  # of the queue, when its process ended: behind them a start has left what it cut off
        self._ready()

    def _ready(self) -> None:
        """The process has begun: nobody waits for an answer."""
        self.found = len(self._ends())
        self.calls: list[SimulatedThread[Command]] = []
        self.flush = self.node.running.store.flush = _Asked()
        self.cluster.network.plan = self._plan
        for packet in list(self.cluster.network.held):
            self.cluster.network.drop(packet)

    def _plan(self, packet: Packet) -> list[int] | str:
        return HOLD if packet.source == self.node.settings.address and not self.sync else [0]

    # Actions

    def _do_append(self) -> None:
        place = len(self._ends())
        offset = self._next_offset()
        self.cut = None
        self.calls.append(self.cluster.calling(plain("send", topic=TOPIC)))
        self.odd = self.odd or offset != place

    def _do_acknowledge(self) -> None:
        """The group commit, or the network, is as far as the next put."""
        if self.sync:
            place, future = self.flush.futures[self._answered()]
            future.complete(self.node.running.store.flushed_where >= place)
        else:
            self.cluster.network.deliver(self.cluster.network.held[0])
        self.cluster.scheduler.settle()
        answered = self.calls[: self._answered()]
        if not answered or answered[-1].result().code != codes.SUCCESS:
            raise Deviation("a put is not answered SUCCESS: the specification acknowledges it")

    def _answered(self) -> int:
        """How many puts of this process have their answers."""
        return next((number for number, call in enumerate(self.calls) if not call.done.done), len(self.calls))

    def _do_flush(self) -> None:
        self.node.running.store.commit_log.files.flush_all()
        content = self.node.disk.files[self.log_file]
        if not isinstance(content, MappedContent) or content.unforced:
            raise Deviation("the log is flushed and a page of it was not forced: a loss of power may take it")

    def _do_dispatch(self) -> None:
        if self.node.running.store.dispatch(1) != 1:
            raise Deviation("the dispatcher is at the end of the log: the specification has a record for it")

    def _do_flush_queue(self) -> None:
        self.node.running.store.queues.flush_all()
        self.forced = self._entries()

    def _do_crash(self) -> None:
        self._must_run()
        self.entries = self._entries()
        self.cluster.crash(silent=True)
        self.count["crashes"] += 1

    def _do_power_loss(self, records: int, entries: int, torn: bool) -> None:
        self._must_run()
        if entries < self.forced:
            raise Deviation(f"{self.forced} entries were forced to the device: the specification has {entries} left there")
        ends = [0, *self._ends()]
        self.entries = entries
        self.cluster.crash(silent=True)
        self.count["powers"] += 1
        kept = ends[records] + (HEAD if torn else 0)
        self._wipe(self.log_file, kept)
        self._wipe(self.queue_file, entries * ENTRY)

    def _must_run(self) -> None:
        if self.node.broker is None:
            raise Deviation("no process runs that could end: the specification has one")

    def _wipe(self, path: str, start: int) -> None:
        content = self.node.disk.files.get(path)
        if isinstance(content, MappedContent) and len(content) > start:
            content.write(start, bytes(len(content) - start))
            content.force()

    def _do_start(self) -> None:
        if self.node.broker is not None:
            raise Deviation("the broker runs already: the specification starts it")
        self.forced = min(self.forced, self._entries(), len(self._ends()))
        if not self.cluster.start(self.node):
            raise Deviation("the broker refuses to start: the specification starts it")
        self.cut = self._behind()
        self._ready()

    # What is seen

    def _next_offset(self) -> int:
        return self.node.running.store.topic_queue_table.get(f"{TOPIC}-0", 0)

    def _ends(self) -> list[int]:
        """Where each whole record of the log ends; of a running broker, as far as it takes its log to go."""
        content = self.node.disk.files.get(self.log_file)
        limit = self.node.broker.store.max_phy_offset if self.node.broker else None
        found: list[int] = []
        while isinstance(content, MappedContent):
            position = found[-1] if found else 0
            size, _ = record.size_and_magic(content.read(position, record.BLANK_SIZE))
            if size <= 0 or position == limit or not record.is_whole(content.read(position, size)):
                break
            found.append(position + size)
        return found

    def _behind(self) -> tuple[int, bytes]:
        """Where the last whole record ends, and the bytes there."""
        content = self.node.disk.files.get(self.log_file)
        end = [0, *self._ends()][-1]
        return end, content.read(end, record.BLANK_SIZE) if isinstance(content, MappedContent) else b""

    def _torn(self) -> bool:
        """Whether a part of a record follows the last whole one, and no start has seen it."""
        behind = self._behind()
        return any(behind[1]) and behind != self.cut

    def _entries(self) -> int:
        """The entries of the consume queue; of a running broker, as many as it says."""
        if self.node.broker:
            return self.node.broker.store.max_offset(TOPIC, 0)
        content = self.node.disk.files.get(self.queue_file)
        found = 0
        while found < self.entries and isinstance(content, MappedContent) and any(content.read(found * ENTRY + 8, 4)):
            found += 1
        return found

    def seen(self) -> Seen:
        store = self.node.broker.store if self.node.broker else None
        ends = self._ends()
        turn = 0
        if store is not None:
            self.flushed = sum(1 for end in ends if end <= store.flushed_where)
            turn = self.found + self._answered()
            if self._answered():
                self.acknowledged = max(self.acknowledged, turn)
        found: Seen = {
            "up": store is not None,
            "written": len(ends),
            "flushed": self.flushed,
            "torn": store is None and self._torn(),
            "entries": self._entries(),
            "forced": self.forced,
            "acknowledged": self.acknowledged,
            "turn": turn,
            "offset": self._next_offset() if store else 0,
            "odd": self.odd,
            **self.count,
        }
        return found
