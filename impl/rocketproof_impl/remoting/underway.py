"""A bound on the memory of requests that wait in a broker: for a thread, a flush, a slave, or a message to pull.

A queue's capacity counts requests of up to 16 MiB each, so it alone does not bound memory.
"""

from __future__ import annotations

from dataclasses import dataclass

from .command import Command
from .ports import Channel

OVERHEAD = 2048
"""Bytes of a request without a body: objects, field names, and its entry in a queue. A held pull takes about 3 KiB."""


@dataclass(frozen=True, slots=True)
class RequestBudget:
    """Maximum bytes of waiting requests: per connection, and in total."""

    connection: int
    total: int


PROCESSED = RequestBudget(64 * 1024 * 1024, 128 * 1024 * 1024)
"""For requests being processed: 16 of the largest messages (4 MiB) per connection."""
HELD = RequestBudget(16 * 1024 * 1024, 64 * 1024 * 1024)
"""For held pulls: about 8,000 per connection. A consumer holds one per queue."""


class UnderWay:
    """The bytes of waiting requests, by connection."""

    __slots__ = ("_budget", "_by_channel", "total")

    def __init__(self, budget: RequestBudget) -> None:
        self._budget = budget
        self._by_channel: dict[Channel, int] = {}
        self.total = 0

    def of(self, channel: Channel) -> int:
        """Return the bytes of one connection's requests."""
        return self._by_channel.get(channel, 0)

    def enter(self, channel: Channel, request: Command) -> int | None:
        """Count a request until it leaves and return its bytes. Return None, without counting it, if it exceeds the budget."""
        size, used = weight(request), self.of(channel)
        if used + size > self._budget.connection or self.total + size > self._budget.total:
            return None
        self._by_channel[channel] = used + size
        self.total += size
        return size

    def leave(self, channel: Channel, size: int) -> None:
        """Stop counting a request that entered with `size` bytes."""
        remaining = self._by_channel[channel] - size
        self.total -= size
        if remaining:
            self._by_channel[channel] = remaining
        else:
            del self._by_channel[channel]


def weight(request: Command) -> int:
    """Estimate the bytes that a request takes in memory."""
    fields = request.ext_fields or {}
    return OVERHEAD + len(request.body or b"") + sum(len(name) + len(value) for name, value in fields.items())
