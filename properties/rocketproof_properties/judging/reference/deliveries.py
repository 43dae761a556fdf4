"""Records that a broker writes by itself between two requests: due delayed messages (REC-05).

A recording does not contain the time of a delivery. It contains the duration of each request, the place of each later message in the log,
and the number of messages in its queue. Time passes according to these durations, but a delivery never pushes a message beyond its recorded
place. If a case shows that more was delivered, a search finds deliveries that explain it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rocketproof_impl.message import Message
from rocketproof_impl.store.delay import MAX_LEVEL
from rocketproof_impl.store.record import BLANK_SIZE, parts_of
from rocketproof_protocol.topics import SCHEDULE

from .simulated import ReplayDeployment

_MOST_TRIED = 20_000  # combinations of deliveries


class Delivery(NamedTuple):
    """A pending delivery: its time (ms), its level, the index after it in the level's queue, and its message with its size in bytes."""

    at: int
    level: int
    next_index: int
    size: int
    message: Message


@dataclass(frozen=True)
class DeliveryEvidence:
    """What a case shows of the broker's state before it.

    `place`: the place of its message in the log, in bytes. `size`: bytes of the message and all that belongs to it, None if unknown.
    `limit`: the largest possible end of the log. `queue`: a topic, a queue, and its number of messages.
    """

    place: int | None
    size: int | None
    limit: int | None
    queue: tuple[str, int, int] | None


class Deliveries:
    """Lets time pass on one broker."""

    def __init__(self, deployment: ReplayDeployment) -> None:
        broker = deployment.broker
        self._deployment = deployment
        self._scheduler = deployment.cluster.scheduler
        self._store = broker.store
        self._file = broker.settings.mapped_file_size_commit_log

    def pass_time(self, until: int, place: int | None) -> None:
        """Let time pass until a moment. `place`: the place of the next message in the log, if known. No delivery may extend the log beyond
        it."""
        end = self._store.max_phy_offset
        for delivery in sorted(delivery for level in self._pending() for delivery in level):
            end = self._end_after(end, delivery.size)
            if delivery.at > until:
                break
            if place is not None and end > place:
                return
            self._wait(delivery.at)
        self._wait(until)

    def _wait(self, until: int) -> None:
        self._deployment.act("time", millis=max(0, until - self._scheduler.clock.now()))

    def explain(self, seen: DeliveryEvidence) -> None:
        """Perform the deliveries that must have happened before the case; none if no deliveries explain it."""
        end = self._store.max_phy_offset
        missing = 0
        if seen.queue is not None:
            topic, queue_id, count = seen.queue
            missing = max(0, count - self._store.topic_queue_table.get(f"{topic}-{queue_id}", 0))
        if (seen.place is None or self.lands(seen, end)) and not missing:
            return
        pending = self._pending()
        for chosen in (self._search(pending, end, seen, missing), self._search(pending, end, seen, None)):
            if chosen is not None:
                for delivery in chosen:
                    self._scheduler.complete(self._store.put_message(delivery.message), "deliver delayed")
                    self._store.schedule.pass_by(delivery.level, delivery.next_index)
                self._store.dispatch()
                return

    def lands(self, seen: DeliveryEvidence, end: int | None = None) -> bool:
        """Whether the message of a case gets its recorded place if the log ends at `end`, by default at its current end."""
        if end is None:
            end = self._store.max_phy_offset
        next_file = (end // self._file + 1) * self._file
        if seen.size is None:
            return seen.place in (end, next_file)
        return seen.place == (end if self._fits(end, seen.size) else next_file)

    def _search(
        self, pending: Sequence[Sequence[Delivery]], end: int, seen: DeliveryEvidence, missing: int | None
    ) -> list[Delivery] | None:
        """Return deliveries, earliest first and each level in its order, after which the message gets its recorded place and its queue its
        recorded length. `missing` None: the queue's length is ignored."""
        tried: set[tuple[int, ...]] = set()
        todo: list[tuple[tuple[int, ...], int, int, list[Delivery]]] = [((0,) * len(pending), end, 0, [])]
        while todo and len(tried) < _MOST_TRIED:
            taken, at, delivered, chosen = todo.pop()
            if taken in tried:
                continue
            tried.add(taken)
            if (missing is None or delivered == missing) and (seen.place is None or self.lands(seen, at)):
                return chosen
            if seen.limit is not None and at > seen.limit:
                continue
            heads = sorted((level[taken[i]], i) for i, level in enumerate(pending) if taken[i] < len(level))
            for delivery, i in reversed(heads):
                message = delivery.message
                one_more = seen.queue is not None and (message.topic, message.queue_id) == seen.queue[:2]
                counts = (*taken[:i], taken[i] + 1, *taken[i + 1 :])
                todo.append((counts, self._end_after(at, delivery.size), delivered + one_more, [*chosen, delivery]))
        return None

    def _pending(self) -> list[list[Delivery]]:
        """Return the pending deliveries by level."""
        return [list(self._level(level)) for level in range(1, MAX_LEVEL + 1)]

    def _level(self, level: int) -> Iterator[Delivery]:
        queue = self._store.queues.find(SCHEDULE, level - 1)
        index = self._store.schedule.next_of(level)
        while queue is not None and (entry := queue.entry(index)) is not None:
            index += 1
            message = self._store.schedule.returning(entry.physical_offset)
            if message is not None:
                yield Delivery(entry.tags_code, level, index, parts_of(message).size, message)

    def _end_after(self, end: int, size: int) -> int:
        """Return the end of the log after a record. A record that does not fit goes to the next file (APP-07)."""
        return (end if self._fits(end, size) else (end // self._file + 1) * self._file) + size

    def _fits(self, end: int, size: int) -> bool:
        return end % self._file + size + BLANK_SIZE <= self._file
