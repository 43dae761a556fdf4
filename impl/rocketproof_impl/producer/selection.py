"""Selection of the next queue: round robin (CLI-23, CLI-24), or avoiding brokers that were slow (CLI-25).

A choice is any function from the publish info and the last broker's name (None for the first attempt) to one of its queues.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..java import absolute, remainder, wrap
from ..ports import Clock, Randomness
from .publish import MessageQueue, PublishInfo

Choice = Callable[[PublishInfo, str | None], MessageQueue]

LATENCY_MAX = (50, 100, 550, 1000, 2000, 3000, 15000)
NOT_AVAILABLE_DURATION = (0, 0, 30000, 60000, 120000, 180000, 600000)
ISOLATED_LATENCY = 30000


class Counter:
    """A 32-bit counter that wraps; `value` is the next value."""

    __slots__ = ("value",)

    def __init__(self, value: int) -> None:
        self.value = value

    def next(self) -> int:
        """Return the value and increment the counter."""
        value = self.value
        self.value = wrap(value + 1)
        return value


def random_counter(random: Randomness) -> Counter:
    """Return a counter with a random start that is never negative (CLI-23)."""
    return Counter(max(0, absolute(random.int32())))


def position(value: int, size: int) -> int:
    """Return a counter's index in a list: abs(value) % size in Java's arithmetic, 0 if that is negative (CLI-23, HAZ-34)."""
    return max(0, remainder(absolute(value), size))


class RoundRobin:
    """Selects one queue after the other."""

    __slots__ = ("counter",)

    def __init__(self, counter: Counter) -> None:
        self.counter = counter

    def next(self, info: PublishInfo) -> MessageQueue:
        """Return the queue at the counter's position (CLI-23)."""
        queues = info.message_queue_list
        return queues[position(self.counter.next(), len(queues))]

    def choose(self, info: PublishInfo, last_broker_name: str | None) -> MessageQueue:
        """Return the next queue. On a retry, return the next one of another broker, or the next queue if there is none (CLI-24)."""
        if last_broker_name is not None:
            for _ in info.message_queue_list:
                queue = self.next(info)
                if queue.broker_name != last_broker_name:
                    return queue
        return self.next(info)


@dataclass(slots=True)
class FaultItem:
    """A broker's last latency in milliseconds, and the time at which it may be used again."""

    name: str
    current_latency: int
    start_timestamp: int


def not_available_duration(latency: int) -> int:
    """Return for how many milliseconds a broker is avoided after this latency (CLI-25)."""
    reached = [duration for limit, duration in zip(LATENCY_MAX, NOT_AVAILABLE_DURATION, strict=True) if latency >= limit]
    return reached[-1] if reached else 0


class LatencyFault:
    """Prefers brokers that are not marked as unavailable (CLI-25)."""

    __slots__ = ("_clock", "_round_robin", "_which_item_worst", "items")

    def __init__(self, round_robin: RoundRobin, clock: Clock, random: Randomness) -> None:
        self._round_robin = round_robin
        self._clock = clock
        self._which_item_worst = random_counter(random)
        self.items: dict[str, FaultItem] = {}

    def update(self, broker_name: str, latency: int, *, isolation: bool) -> None:
        """Record the latency of an attempt. A failed attempt counts as 30 s (CLI-25)."""
        duration = not_available_duration(ISOLATED_LATENCY if isolation else latency)
        self.items[broker_name] = FaultItem(broker_name, latency, self._clock.now() + duration)

    def is_available(self, broker_name: str) -> bool:
        """Return whether the broker is unknown or may be used again."""
        item = self.items.get(broker_name)
        return item is None or self._clock.now() >= item.start_timestamp

    def choose(self, info: PublishInfo, _: str | None) -> MessageQueue:
        """Return the next queue of an available broker; if there is none, a queue of one of the better brokers.

        In the second case the next queue of the list is changed in place. From then on the list contains one queue twice and lacks another
        (HAZ-27).
        """
        queues = info.message_queue_list
        start = self._round_robin.counter.next()
        for step in range(len(queues)):
            queue = queues[position(wrap(start + step), len(queues))]
            if self.is_available(queue.broker_name):
                return queue
        broker_name = self._pick_one_at_least()
        queue = self._round_robin.next(info)
        nums = info.write_queue_nums(broker_name)
        if nums > 0:
            queue.broker_name = broker_name
            queue.queue_id = position(self._round_robin.counter.next(), nums)
        else:
            del self.items[broker_name]
        return queue

    def _pick_one_at_least(self) -> str:
        """Return a broker of the better half, sorted by availability, latency and time of availability."""
        ranked = sorted(self.items.values(), key=self._rank)
        half = len(ranked) // 2
        return ranked[position(self._which_item_worst.next(), half) if half > 0 else 0].name

    def _rank(self, item: FaultItem) -> tuple[bool, int, int]:
        return not self.is_available(item.name), item.current_latency, item.start_timestamp
