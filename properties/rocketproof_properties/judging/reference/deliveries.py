"""Records that a broker writes by itself, between two requests: delayed messages whose time has come (REC-05).

A recording does not say when. But it says how long each request took, where each later message lies in the log, and how
many messages its queue held. So time passes as far as it is known to, but never so far that a delivery would push a message
beyond its recorded place; and where a case shows that more was delivered, those deliveries are looked for that explain it.
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

_PATIENCE = 20_000  # combinations of deliveries that are tried


class Delivery(NamedTuple):
    """A delivery to come: when in milliseconds, of which level, the index behind it there, and its message with its size."""

    at: int
    level: int
    behind: int
    size: int
    message: Message


@dataclass(frozen=True)
class DeliveryEvidence:
    """What a case shows of the broker as it found it.

    `place`: where its message lies, in bytes; `size`: how long that is with all that belongs to it, None if that is not
    known. `limit`: how far the log reached at most. `queue`: a topic, a queue, and how many messages it held.
    """

    place: int | None
    size: int | None
    limit: int | None
    queue: tuple[str, int, int] | None


class Deliveries:
    """The passing of time on one broker."""

    def __init__(self, deployment: ReplayDeployment) -> None:
        broker = deployment.broker
        self._deployment = deployment
        self._scheduler = deployment.cluster.scheduler
        self._store = broker.store
        self._file = broker.settings.mapped_file_size_commit_log

    def pass_time(self, until: int, place: int | None) -> None:
        """Let time pass up to a moment. `place` is where the next message lies in the log, if that is known: no delivery may
        make the log reach further."""
        end = self._store.max_phy_offset
        for delivery in sorted(delivery for level in self._pending() for delivery in level):
            end = self._behind(end, delivery.size)
            if delivery.at > until:
                break
            if place is not None and end > place:
                return
            self._wait(delivery.at)
        self._wait(until)

    def _wait(self, until: int) -> None:
        self._deployment.act("time", millis=max(0, until - self._scheduler.clock.now()))

    def explain(self, seen: DeliveryEvidence) -> None:
        """Deliver what must have been delivered for the case to see what it saw; nothing if no deliveries explain it."""
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
                    self._store.schedule.pass_by(delivery.level, delivery.behind)
                self._store.dispatch()
                return

    def lands(self, seen: DeliveryEvidence, end: int | None = None) -> bool:
        """Whether the message of a case comes to its place if the log ends there, or where it does."""
        if end is None:
            end = self._store.max_phy_offset
        next_file = (end // self._file + 1) * self._file
        if seen.size is None:
            return seen.place in (end, next_file)
        return seen.place == (end if self._fits(end, seen.size) else next_file)

    def _search(
        self, pending: Sequence[Sequence[Delivery]], end: int, seen: DeliveryEvidence, missing: int | None
    ) -> list[Delivery] | None:
        """Deliveries, soonest first and each level in its order, behind which the message lies where it does and its queue
        is as long as it was. `missing` None: the queue is not asked."""
        tried: set[tuple[int, ...]] = set()
        todo: list[tuple[tuple[int, ...], int, int, list[Delivery]]] = [((0,) * len(pending), end, 0, [])]
        while todo and len(tried) < _PATIENCE:
            taken, at, found, chosen = todo.pop()
            if taken in tried:
                continue
            tried.add(taken)
            if (missing is None or found == missing) and (seen.place is None or self.lands(seen, at)):
                return chosen
            if seen.limit is not None and at > seen.limit:
                continue
            heads = sorted((level[taken[i]], i) for i, level in enumerate(pending) if taken[i] < len(level))
            for delivery, i in reversed(heads):
                message = delivery.message
                one_more = seen.queue is not None and (message.topic, message.queue_id) == seen.queue[:2]
                counts = (*taken[:i], taken[i] + 1, *taken[i + 1 :])
                todo.append((counts, self._behind(at, delivery.size), found + one_more, [*chosen, delivery]))
        return None

    def _pending(self) -> list[list[Delivery]]:
        """What is still to be delivered, by level."""
        return [list(self._level(level)) for level in range(1, MAX_LEVEL + 1)]

    def _level(self, level: int) -> Iterator[Delivery]:
        queue = self._store.queues.find(SCHEDULE, level - 1)
        index = self._store.schedule.next_of(level)
        while queue is not None and (entry := queue.entry(index)) is not None:
            index += 1
            message = self._store.schedule.returning(entry.physical_offset)
            if message is not None:
                yield Delivery(entry.tags_code, level, index, parts_of(message).size, message)

    # Places in a log of files of one size

    def _behind(self, end: int, size: int) -> int:
        """Where the log ends after a record, which goes to the next file where it does not fit (APP-07)."""
        return (end if self._fits(end, size) else (end // self._file + 1) * self._file) + size

    def _fits(self, end: int, size: int) -> bool:
        return end % self._file + size + BLANK_SIZE <= self._file
