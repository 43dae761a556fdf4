"""A bound on the requests that wait inside a broker: for a thread, for a flush, for a slave, or for a message to pull.

A queue's capacity counts requests, and a request has up to 16 MiB, so that alone bounds no memory.
"""

from __future__ import annotations

from dataclasses import dataclass

from .command import Command
from .ports import Channel

OVERHEAD = 2048
"""Bytes of a request without a body: objects, field names, and its place in a queue. A held pull takes about 3 KiB."""


@dataclass(frozen=True, slots=True)
class RequestBudget:
    """Bytes of waiting requests: of one connection, and of all together."""

    connection: int
    total: int


PROCESSED = RequestBudget(64 * 1024 * 1024, 128 * 1024 * 1024)
"""For requests that are processed: 16 of the largest messages (4 MiB) of one connection."""
HELD = RequestBudget(16 * 1024 * 1024, 64 * 1024 * 1024)
"""For held pulls: about 8,000 of one connection; a consumer holds one per queue."""


class UnderWay:
    """The bytes of the requests that wait, by connection."""

    __slots__ = ("_by_channel", "_room", "total")

    def __init__(self, room: RequestBudget) -> None:
        self._room = room
        self._by_channel: dict[Channel, int] = {}
        self.total = 0

    def of(self, channel: Channel) -> int:
        """Return the bytes of one connection's requests."""
        return self._by_channel.get(channel, 0)

    def enter(self, channel: Channel, request: Command) -> int | None:
        """Count a request until it leaves, and return its bytes; return None, and do not count it, if there is no room for it."""
        size, used = weight(request), self.of(channel)
        if used + size > self._room.connection or self.total + size > self._room.total:
            return None
        self._by_channel[channel] = used + size
        self.total += size
        return size

    def leave(self, channel: Channel, size: int) -> None:
        """Stop counting a request that entered with so many bytes."""
        left = self._by_channel[channel] - size
        self.total -= size
        if left:
            self._by_channel[channel] = left
        else:
            del self._by_channel[channel]


def weight(request: Command) -> int:
    """Estimate the bytes that a request takes in memory."""
    fields = request.ext_fields or {}
    return OVERHEAD + len(request.body or b"") + sum(len(name) + len(value) for name, value in fields.items())
