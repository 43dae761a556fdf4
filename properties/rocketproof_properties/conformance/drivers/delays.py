"""Drives a simulated broker by the model of delayed messages: the last level's queue and the service that delivers it.

Messages are sent with the last level or a higher one. A scan stops before each entry that is due. The clock advances only to the time of
the next entry, so that entries are stored some time apart. The device has only those parts of the log that an action has flushed. A power
loss wipes the rest, and the broker's recovery reads the files.
"""

from __future__ import annotations

import re

from rocketproof_impl.broker.transactioncheck import MAX_TIME_TOPIC
from rocketproof_impl.message import Message
from rocketproof_impl.simulator.scheduler import SimulatedThread
from rocketproof_impl.store.delay import DELIVERS, LEVELS, MAX_LEVEL
from rocketproof_impl.store.service import DISK_FULL, MessageStore
from rocketproof_model import Instance
from rocketproof_profiles import Profile
from rocketproof_protocol.numbers import whole_number
from rocketproof_protocol.properties import DELAY, REAL_QID, REAL_TOPIC, TRAN_MSG
from rocketproof_protocol.topics import HALF_TOPIC, SCHEDULE
from rocketproof_spec.delays import HALF, NOWHERE, Delays

from .base import Deviation, ModelDriver, Seen, require
from .broker import LOG, SimulatedBroker, lose

TOPIC = "topic"
QUEUE = MAX_LEVEL - 1
APART = 1000  # milliseconds between two entries
LONG_AGO = 10 * 86_400_000


class DelaysDriver(ModelDriver):
    """The queue of the last delay level. `broker`: the broker, if another driver uses it too."""

    def __init__(self, specification: Delays, instance: Instance, profile: Profile, broker: SimulatedBroker | None = None) -> None:
        super().__init__(instance)
        self.s = specification
        self.sync = self.constants["sync"]
        self.broker = broker or SimulatedBroker(profile, flush_disk_type="SYNC_FLUSH" if self.sync else "ASYNC_FLUSH")
        self.cluster, self.node = self.broker.cluster, self.broker.node
        self.cluster.scheduler.stops = lambda task, pause: pause is DELIVERS
        if broker is None:
            self.broker.create_topic(TOPIC, 2)
        self.scan: SimulatedThread[int] | None = None
        self.made: list[tuple[int, int]] = []  # the place of each delivery's record, and the entry it was made from
        self.left: tuple[list[tuple[int, int]], dict[int, Message]] = [], {}  # entries and records after the process was killed
        self.flushed = self.come = self.ended = 0

    # Actions

    def _do_send(self, level: int, asked: int, e: int) -> None:
        store = self.broker.store
        entries = self._entries()
        require(e == len(entries), f"the queue has {len(entries)} entries: the specification puts number {e}")
        if entries and entries[-1][1] - LEVELS[QUEUE] >= self.cluster.clock.now():
            self.cluster.scheduler.advance(APART)
        properties = {DELAY: str(MAX_LEVEL - self.s.levels + level)} | ({TRAN_MSG: "true"} if asked == HALF else {})
        self.broker.accepted("send", topic=TOPIC, queue=max(asked, 0), properties=properties)
        self.note_put()
        if self.sync and store.flushed_where < store.max_phy_offset:
            raise Deviation("a put is answered before its record is on the device")

    def note_put(self) -> None:
        """After a put: dispatch, and with synchronous flush mark all of the log as flushed."""
        self.cluster.dispatch()
        if self.sync:
            self.flushed = self.broker.store.max_phy_offset

    def _do_deliver(self, e: int) -> None:
        store, before = self._due(e), self.broker.store.max_phy_offset
        flushed = store.flushed_where
        self._resume()
        if store.max_phy_offset > before:
            self.made.append((before, e))
        require(store.flushed_where == flushed, "a delivery has waited for the device: the specification says that it waits for none")

    def _do_fail(self, e: int) -> None:
        store = self._due(e)
        store.flags.bits |= DISK_FULL
        self._resume()
        store.flags.bits &= ~DISK_FULL

    def _due(self, e: int) -> MessageStore:
        """Return the store after checking that a scan has stopped at the entry."""
        store = self.broker.store
        if self.scan is None:
            self.scan = self.cluster.scheduler.spawn(store.deliver_delayed(), "scan")
            self.cluster.scheduler.settle()
        if self.scan.at is not DELIVERS or self._next() != e:
            raise Deviation(f"no scan is about to deliver entry {e}: the specification says that it is due")
        return store

    def _resume(self) -> None:
        if self.scan is not None:
            self.cluster.scheduler.resume(self.scan)
            self.scan = None if self.scan.done.done else self.scan
        self.cluster.dispatch()

    def _do_persist(self) -> None:
        self.broker.store.schedule.persist()

    def _do_flush(self) -> None:
        store = self.broker.store
        store.flush_now()
        self.flushed = store.flushed_where

    def _do_elapse(self) -> None:
        """Advance the clock to the time of the next entry. An entry is already due if the clock was set back."""
        wait = self._entries()[self.come][1] - self.cluster.clock.now()
        if 0 < wait <= LEVELS[QUEUE]:
            self.cluster.scheduler.advance(wait)
        self.come += 1

    def _do_set_clock_back(self) -> None:
        self.cluster.clock.jump(-LONG_AGO)

    def _do_end(self, power: bool) -> None:
        end = self.flushed if power else self.broker.store.max_phy_offset
        entries = [entry for entry in self._entries() if entry[0] < end]
        self.left = entries, {place: message for place, message in self._records().items() if place < end}
        if self.scan is not None:
            self.cluster.scheduler.kill([self.scan])
            self.scan = None
        self.broker.crash()
        self.ended += 1
        self.come = min(self.come, len(entries))
        self.made = [(place, e) for place, e in self.made if place < end]
        if power:
            lose(self.node, LOG, end)

    def _do_start(self) -> None:
        self.broker.start()

    # State

    def _records(self) -> dict[int, Message]:
        if self.node.broker is None:
            return self.left[1]
        return {message.physical_offset: message for message in self.node.broker.store.records()}

    def _entries(self) -> list[tuple[int, int]]:
        """Return each queue entry's place in the log and due time, without half messages that were given up, which the specification
        ignores."""
        if self.node.broker is None:
            return self.left[0]
        store = self.node.broker.store
        queue = store.queues.find(SCHEDULE, QUEUE)
        stored = [queue.entry(number) for number in range(queue.max_offset)] if queue else []
        pairs = [(entry, store.look_message_by_offset(entry.physical_offset)) for entry in stored if entry is not None]
        return [(entry.physical_offset, entry.tags_code) for entry, message in pairs if message and goes_to(message) != MAX_TIME_TOPIC]

    def _next(self) -> int:
        return self.broker.store.schedule.next_of(MAX_LEVEL)

    def _stored(self) -> int:
        """Return the level's offset in delayOffset.json."""
        text = self.broker.file("config/delayOffset.json") or b""
        match = re.search(rf"\b{MAX_LEVEL}:([0-9]+)", text.decode())
        return whole_number(match[1]) if match else 0

    def _is_due(self, time: int) -> bool:
        now = self.cluster.clock.now()
        return time <= now or time > now + LEVELS[QUEUE]

    def seen(self) -> Seen:
        entries, records, broker = self._entries(), self._records(), self.node.broker
        values: Seen = {
            "up": broker is not None,
            "scanning": self.scan is not None,
            "halves": sum(message.topic == HALF_TOPIC for message in records.values()),
            "ended": self.ended,
            "queue.length": len(entries),
            "queue.flushed": sum(place < self.flushed for place, _ in entries),
            "queue.come": self.come,
            "queue.due": next((number for number, (_, time) in enumerate(entries) if not self._is_due(time)), len(entries)),
            "queue.next": self._next() if broker else 0,
            "queue.offset": broker.store.schedule.offsets.get(MAX_LEVEL, 0) if broker else 0,
            "queue.stored": self._stored(),
        }
        for e in self.s.Entry.codes():
            row = self._row(records, records[entries[e][0]], e) if e < len(entries) else self._empty()
            values |= {(f"entry.{name}", e): value for name, value in row.items()}
        return values

    def _row(self, records: dict[int, Message], delayed: Message, e: int) -> Seen:
        places = [place for place, entry in self.made if entry == e]
        last = records[places[-1]] if places else None
        half = delayed.properties[REAL_TOPIC] == HALF_TOPIC
        return {
            "level": whole_number(delayed.properties[DELAY]) - MAX_LEVEL + self.s.levels,
            "asked": HALF if half else whole_number(delayed.properties[REAL_QID]),
            "place": last.queue_id if last is not None and last.topic != HALF_TOPIC else NOWHERE,
            "out": len(places),
            "kept": sum(place < self.flushed for place in places),
        }

    def _empty(self) -> Seen:
        """Return the specification's values for an entry that does not exist."""
        sends, levels = self.s.sends, self.s.levels
        return {"level": 0 if sends else levels, "asked": 0 if sends else HALF, "place": NOWHERE, "out": 0, "kept": 0}


def goes_to(message: Message) -> str:
    """Return the topic of a message or, if it is delayed, the one to which it is delivered."""
    return message.properties[REAL_TOPIC] if message.topic == SCHEDULE else message.topic
