"""One end of a byte stream without frames, used by replication.

A simulated or TCP connection creates it, sends what it transmits, and passes received bytes to `feed`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from .tasks import Future, Wait


class Link:
    """One end of the stream.

    - `remote`: the name of the other side.
    - `transmit` sends bytes, `hang_up` closes the connection; neither waits.
    - `taken`: called after each read that empties the buffer of received bytes, while the connection is open.
    """

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
        """Send bytes as soon as the other side has room. Raises OSError if the connection is closed."""
        await Wait(self._free)
        if self.closed:
            raise OSError(f"the connection to {self.remote} is closed")
        self._transmit(data)

    async def read(self, millis: int) -> bytes | None:
        """Return all received bytes: b"" if the connection is closed, None if nothing arrived within `millis`."""
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
        """The number of bytes received and not read."""
        return len(self._received)

    def close(self) -> None:
        """Close the connection and wake all its readers and writers."""
        if not self.closed:
            self.ended()
            self._hang_up()

    # Called by the connection that owns this link

    def feed(self, data: bytes) -> None:
        """Store received bytes."""
        self._received += data
        self._arrived.complete(None)

    def hold(self, full: bool) -> None:
        """Block writers while the other side's buffer is `full`; unblock them otherwise."""
        if full and self._free.done and not self.closed:
            self._free = Future()
        elif not full:
            self._free.complete(None)

    def ended(self) -> None:
        """Mark the connection as closed. Bytes received before can still be read."""
        self.closed = True
        self._arrived.complete(None)
        self._free.complete(None)


Dial = Callable[[str], Awaitable[Link]]
"""Connects to an address. Raises OSError."""
