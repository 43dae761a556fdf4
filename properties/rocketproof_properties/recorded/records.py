"""Records that a broker writes by itself, between two requests: delayed messages whose time has come (REC-05).

A recording does not say when. But it says where each later message lies in the log, and how long each request took. So
time passes as it did, but never so far that a delivery would push a message beyond its recorded place; and where a message
lies further on than the log reaches, time passes until the deliveries have filled it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from rocketproof_impl.broker.broker import Broker
from rocketproof_impl.message import REAL_TOPIC
from rocketproof_impl.simulator.scheduler import Scheduler
from rocketproof_impl.store.delay import MAX_LEVEL, from_schedule_topic
from rocketproof_impl.store.record import parts_of
from rocketproof_profiles import SCHEDULE


class Delivery(NamedTuple):
    """A delivery to come: when in milliseconds, its record's size in bytes, and the queue it goes to."""

    due: int
    size: int
    topic: str
    queue_id: int


class Deliveries:
    """The passing of time on one broker."""

    def __init__(self, scheduler: Scheduler, broker: Broker) -> None:
        self._scheduler = scheduler
        self._broker = broker
        self._store = broker.store

    def pending(self) -> list[Delivery]:
        """What is still to be delivered, soonest first."""
        return sorted(found for level in range(1, MAX_LEVEL + 1) for found in self._pending(level))

    def _pending(self, level: int) -> Iterator[Delivery]:
        queue = self._store.queues.find(SCHEDULE, level - 1)
        index = self._store.schedule.offsets.get(level, 0)
        while queue is not None and (entry := queue.entry(index)) is not None:
            delayed = self._store.look_message_by_offset(entry.physical_offset)
            if delayed is not None and REAL_TOPIC in delayed.properties:
                message = from_schedule_topic(delayed, trailing=self._broker.profile.exact_properties)
                yield Delivery(entry.tags_code, parts_of(message).size, message.topic, message.queue_id)
            index += 1

    def pass_time(self, until: int, place: int | None) -> None:
        """Let time pass up to a moment. `place` is where the next message lies in the log, if that is known: no delivery may
        make the log reach further."""
        end = self._store.max_phy_offset
        for delivery in self.pending():
            if delivery.due > until:
                break
            end += delivery.size
            if place is not None and end > place:
                return
            self._deliver(delivery.due)
        self._advance(until)

    def fill(self, place: int) -> None:
        """Let time pass until deliveries make the log reach this far, as long as they can."""
        for delivery in self.pending():
            if self._store.max_phy_offset + delivery.size > place:
                return
            self._deliver(delivery.due)

    def complete(self, topic: str, queue_id: int, count: int, place: int | None) -> None:
        """Let time pass until a queue is so long, if deliveries can make it so; `place` as in `pass_time`."""
        pending = self.pending()
        missing = count - self._store.max_offset(topic, queue_id)
        due = [delivery.due for delivery in pending if (delivery.topic, delivery.queue_id) == (topic, queue_id)]
        if 0 < missing <= len(due):
            self.pass_time(due[missing - 1], place)

    def _deliver(self, due: int) -> None:
        self._advance(due)
        self._scheduler.complete(self._store.deliver_delayed(), "deliver delayed")
        self._store.dispatch()

    def _advance(self, until: int) -> None:
        self._scheduler.advance(max(0, until - self._scheduler.clock.now()))
