"""One side of a connection as bytes in both directions, without frames: what replication speaks over.

An edge, simulated or TCP, makes it, sends what it transmits, and feeds it with what arrives.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from .tasks import Future, Wait


class Link:
    """`remote` names the other side. `transmit` sends bytes and `hang_up` closes the connection, both without waiting. `taken` is called
    whenever the bytes that have come were read."""

    __slots__ = ("_arrived", "_free", "_hang_up", "_received", "_taken", "_transmit", "closed", "remote")

    def __init__(
        self,
        remote: str,
        transmit: Callable[[bytes], None],
        hang_up: Callable[[], None],
        taken: Callable[[], None] | None = None,
    ) -> None:
        self.remote = remote
        self.closed = False
        self._transmit = transmit
        self._hang_up = hang_up
        self._taken = taken
        self._received = bytearray()
        self._arrived: Future[None] = Future()
        self._free: Future[None] = Future()
        self._free.complete(None)

    async def write(self, data: bytes) -> None:
        """Send bytes, once the other side has room for them. Raises OSError if the connection is closed."""
        await Wait(self._free)
        if self.closed:
            raise OSError(f"the connection to {self.remote} is closed")
        self._transmit(data)

    async def read(self, millis: int) -> bytes | None:
        """All that has come; nothing (b"") if the connection is closed, None if nothing came in time."""
        if not self._received and not self.closed and not await Wait(self._arrived, millis):
            return None
        data = bytes(self._received)
        self._received.clear()
        if not self.closed:
            self._arrived = Future()
            if self._taken is not None:
                self._taken()
        return data

    @property
    def unread(self) -> int:
        """How many bytes have come and were not read."""
        return len(self._received)

    def close(self) -> None:
        """Close the connection: whoever reads or writes here learns of it."""
        if not self.closed:
            self.ended()
            self._hang_up()

    # What the edge tells

    def feed(self, data: bytes) -> None:
        """Bytes have arrived."""
        self._received += data
        self._arrived.complete(None)

    def hold(self, full: bool) -> None:
        """The other side has no room for more, or has room again."""
        if full and self._free.done and not self.closed:
            self._free = Future()
        elif not full:
            self._free.complete(None)

    def ended(self) -> None:
        """The connection is closed; what came before can still be read."""
        self.closed = True
        self._arrived.complete(None)
        self._free.complete(None)


Dial = Callable[[str], Awaitable[Link]]
"""Connects to an address. Raises OSError."""
