"""Gathered operations: one record ends all half messages of an interval (TRX-05).

A crash before the record is written loses them, and their producers are checked again.
"""

from __future__ import annotations

from ..message import Message
from .parts import BrokerParts
from .transaction import operation_record

SEPARATOR = ","
INTERVAL_MILLIS = 3000


class GatheredOperations:
    """The half queue offsets of ended half messages, by queue, in the order in which they ended."""

    __slots__ = ("_broker", "_offsets")

    def __init__(self, broker: BrokerParts) -> None:
        self._broker = broker
        self._offsets: dict[int, list[int]] = {}

    def note(self, half: Message) -> None:
        """Record that a half message has ended."""
        self._offsets.setdefault(half.queue_id, []).append(half.queue_offset)

    async def write(self) -> None:
        """Put one record for each queue with ended half messages. Its result is ignored."""
        broker = self._broker
        gathered, self._offsets = self._offsets, {}
        for queue_id, offsets in gathered.items():
            body = "".join(f"{offset}{SEPARATOR}" for offset in offsets)
            trailing = broker.profile.ends_properties
            await broker.store.put_message(operation_record(queue_id, body, broker.clock.now(), broker.store_host, trailing=trailing))
