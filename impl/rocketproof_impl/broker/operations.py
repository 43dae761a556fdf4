"""Half messages that are done with, gathered: one record ends all of a while (TRX-05).

Until it is written, a crash forgets that they are done, and their producers are asked again.
"""

from __future__ import annotations

from ..message import Message
from .parts import BrokerParts
from .transaction import operation_record

SEPARATOR = ","
INTERVAL_MILLIS = 3000


class GatheredOperations:
    """Offsets in the half queue, by queue, in the order in which they ended."""

    __slots__ = ("_broker", "_offsets")

    def __init__(self, broker: BrokerParts) -> None:
        self._broker = broker
        self._offsets: dict[int, list[int]] = {}

    def note(self, half: Message) -> None:
        """A half message has ended."""
        self._offsets.setdefault(half.queue_id, []).append(half.queue_offset)

    async def write(self) -> None:
        """Put one record for each queue with news; what becomes of it changes nothing here."""
        broker = self._broker
        gathered, self._offsets = self._offsets, {}
        for queue_id, offsets in gathered.items():
            body = "".join(f"{offset}{SEPARATOR}" for offset in offsets)
            trailing = broker.profile.ends_properties
            await broker.store.put_message(operation_record(queue_id, body, broker.clock.now(), broker.store_host, trailing=trailing))
