"""Drives a simulated broker by the model of recovery: its log and one consume queue on a disk that may lose power.

A put waits for the flush as configured. Actions complete the flush and deliver the response. The action also chooses which unforced data
the device has kept; the others are wiped here. Then the broker's own recovery reads the files.
"""

from __future__ import annotations

from collections.abc import Sequence

from rocketproof_impl.remoting.command import Command
from rocketproof_impl.simulator.content import MappedContent
from rocketproof_impl.simulator.network import HOLD, Packet
from rocketproof_impl.simulator.scheduler import SimulatedThread
from rocketproof_impl.store import record
from rocketproof_model import Action, Instance
from rocketproof_profiles import Profile
from rocketproof_protocol import codes
from rocketproof_spec.recovery import Recovery

from ...programs.vocabulary import plain
from .base import Deviation, ModelDriver, Seen, require
from .broker import LOG, SimulatedBroker, lose
from .doubles import ManualFlush

TOPIC = "topic"
ENTRY = 20
HEAD = 60  # bytes of an incomplete record, without its body
CONSUME_QUEUE = f"consumequeue/{TOPIC}/0/{0:020d}"


class RecoveryDriver(ModelDriver):
    """A broker with one queue. Responses of an asynchronous flush stay on the wire until an action delivers them."""

    def __init__(self, specification: Recovery, instance: Instance, profile: Profile) -> None:
        super().__init__(instance)
        self.sync = self.constants["sync"]
        self.broker = SimulatedBroker(profile, flush_disk_type="SYNC_FLUSH" if self.sync else "ASYNC_FLUSH")
        self.cluster, self.node = self.broker.cluster, self.broker.node
        self.broker.create_topic(TOPIC)
        self.flushed = self.forced = 0
        self.count = {"crashes": 0, "powers": 0}
        self.odd = False
        self.acknowledged = 0
        self.cut: tuple[int, bytes] | None = None  # the bytes after the end of the log at the last start, which does not truncate it
        self.entries = 0  # entries of the queue when its process was killed; a start leaves the removed ones after them
        self._ready()

    def _ready(self) -> None:
        """Prepare a started process: no client waits for a response."""
        self.found = len(self._ends())
        self.calls: list[SimulatedThread[Command]] = []
        self.flush = self.broker.store.flush = ManualFlush()
        self.cluster.network.plan = self._plan
        for packet in list(self.cluster.network.held):
            self.cluster.network.drop(packet)

    def _plan(self, packet: Packet) -> list[int] | str:
        return HOLD if packet.source == self.node.settings.address and not self.sync else [0]

    def can(self, action: Action, args: Sequence[int]) -> bool:
        """Return whether the step is possible. Later releases with synchronous flush dispatch only flushed records."""
        return action.name != "dispatch" or self.broker.store.behind() > 0

    # Actions

    def _do_append(self) -> None:
        place = len(self._ends())
        offset = self.broker.next_offset(TOPIC)
        self.cut = None
        self.calls.append(self.cluster.calling(plain("send", topic=TOPIC)))
        self.odd = self.odd or offset != place

    def _do_acknowledge(self) -> None:
        """Complete the next put, by the group commit or the network."""
        if self.sync:
            place, future = self.flush.requests[self._answered()]
            future.complete(self.broker.store.flushed_where >= place)
        else:
            self.cluster.network.deliver(self.cluster.network.held[0])
        self.cluster.scheduler.settle()
        answered = self.calls[: self._answered()]
        if not answered or answered[-1].result().code != codes.SUCCESS:
            raise Deviation("a put is not answered SUCCESS: the specification acknowledges it")

    def _answered(self) -> int:
        """Return how many puts of this process have been answered."""
        return next((number for number, call in enumerate(self.calls) if not call.done.done), len(self.calls))

    def _do_flush(self) -> None:
        self.broker.store.commit_log.files.flush_all()
        content = self._content(LOG)
        if not isinstance(content, MappedContent) or content.unforced:
            raise Deviation("the log is flushed and a page of it was not forced: a loss of power may take it")

    def _do_dispatch(self) -> None:
        require(self.broker.store.dispatch(1) == 1, "the dispatcher is at the end of the log: the specification has a record for it")

    def _do_flush_queue(self) -> None:
        self.broker.store.queues.flush_all()
        self.forced = self._entries()

    def _do_crash(self) -> None:
        self._must_run()
        self.entries = self._entries()
        self.broker.crash()
        self.count["crashes"] += 1

    def _do_power_loss(self, records: int, entries: int, torn: bool) -> None:
        self._must_run()
        if entries < self.forced:
            raise Deviation(f"{self.forced} entries were forced to the device: the specification has {entries} left there")
        ends = [0, *self._ends()]
        self.entries = entries
        self.broker.crash()
        self.count["powers"] += 1
        kept = ends[records] + (HEAD if torn else 0)
        lose(self.node, LOG, kept)
        lose(self.node, CONSUME_QUEUE, entries * ENTRY)

    def _must_run(self) -> None:
        require(self.node.broker is not None, "no process runs that could end: the specification has one")

    def _do_start(self) -> None:
        require(self.node.broker is None, "the broker runs already: the specification starts it")
        self.forced = min(self.forced, self._entries(), len(self._ends()))
        self.broker.start()
        self.cut = self._after_last()
        self._ready()

    # State

    def _content(self, path: str) -> object:
        return self.node.disk.files.get(f"{self.node.settings.store_path_root_dir}/{path}")

    def _ends(self) -> list[int]:
        """Return the end of each complete record of the log; for a running broker, up to the end of its log."""
        content = self._content(LOG)
        limit = self.node.broker.store.max_phy_offset if self.node.broker else None
        ends: list[int] = []
        while isinstance(content, MappedContent):
            position = ends[-1] if ends else 0
            size, _ = record.size_and_magic(content.read(position, record.BLANK_SIZE))
            if size <= 0 or position == limit or not record.is_whole(content.read(position, size)):
                break
            ends.append(position + size)
        return ends

    def _after_last(self) -> tuple[int, bytes]:
        content = self._content(LOG)
        end = [0, *self._ends()][-1]
        return end, content.read(end, record.BLANK_SIZE) if isinstance(content, MappedContent) else b""

    def _torn(self) -> bool:
        """Return whether an incomplete record follows the last complete one, and no start has seen it."""
        tail = self._after_last()
        return any(tail[1]) and tail != self.cut

    def _entries(self) -> int:
        """Return the entries of the consume queue; for a running broker, the number that it reports."""
        if self.node.broker:
            return self.node.broker.store.max_offset(TOPIC, 0)
        content = self._content(CONSUME_QUEUE)
        entries = 0
        while entries < self.entries and isinstance(content, MappedContent) and any(content.read(entries * ENTRY + 8, 4)):
            entries += 1
        return entries

    def seen(self) -> Seen:
        store = self.node.broker.store if self.node.broker else None
        ends = self._ends()
        turn = 0
        if store is not None:
            self.flushed = sum(1 for end in ends if end <= store.flushed_where)
            turn = self.found + self._answered()
            if self._answered():
                self.acknowledged = max(self.acknowledged, turn)
        return {
            "up": store is not None,
            "written": len(ends),
            "flushed": self.flushed,
            "torn": store is None and self._torn(),
            "entries": self._entries(),
            "forced": self.forced,
            "acknowledged": self.acknowledged,
            "turn": turn,
            "offset": self.broker.next_offset(TOPIC) if store else 0,
            "odd": self.odd,
            **self.count,
        }
