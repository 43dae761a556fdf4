"""A TCP connection, on either side: bytes to commands and back, within bounds.

Memory is allocated for received bytes, not for announced lengths. While the other side does not read, its requests are not read. Responses
to held pulls and notifications are still written, so the unread bytes are bounded; a connection that exceeds the bound is closed. Commands
received before the connection was lost are still handled: the sender of a one-way request expects that.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from typing import Protocol, cast

from ..bounds import MAX_FRAME
from ..remoting import frame
from ..remoting.command import Command
from .threads import log

HIGH_WATER = 1024 * 1024
UNREAD = 2 * MAX_FRAME
"""Bytes that may wait for the other side: the largest frame that it can read, and another one written meanwhile. Netty's high-water mark
(64 KiB by default) only stops reading, as HIGH_WATER does here."""
MAPPED = "::ffff:"
"""The prefix of an IPv4 address at an IPv6 socket."""
PIECE = 256 * 1024
TURN = 0.02
"""Seconds after which a connection lets other connections, or the end of the process, proceed. A single command may take longer."""


class Owner(Protocol):
    """The owner of a connection, which is notified of its events."""

    def opened(self, connection: ServerConnection) -> None: ...

    def received(self, connection: ServerConnection, command: Command) -> None: ...

    def buffered(self, connection: ServerConnection, change: int) -> None:
        """Called when the kept bytes of an incomplete frame change by `change`."""
        ...

    def measured(self, connection: ServerConnection, change: int) -> None:
        """Called when the written bytes that wait for the other side change by `change`."""
        ...

    def lost(self, connection: ServerConnection) -> None: ...


class ServerConnection(asyncio.Protocol):
    """A channel on a TCP connection. Times are seconds on the loop's clock.

    - `active` is the time of the last received or sent bytes.
    - `began` is the time at which the incomplete frame began, None if there is none.
    - `kept` is the number of bytes of that frame.
    - `unread` is the number of written bytes not taken by the other side at the last measurement; `most_unread` is its bound.
    """

    __slots__ = (
        "_buffer",
        "_closed",
        "_loop",
        "_lost",
        "_owner",
        "_pending",
        "_stuck",
        "_transport",
        "active",
        "began",
        "ended",
        "kept",
        "most_unread",
        "remote",
        "unread",
    )

    _transport: asyncio.Transport

    def __init__(self, owner: Owner, loop: asyncio.AbstractEventLoop, most_unread: int = UNREAD) -> None:
        self._owner = owner
        self._loop = loop
        self._buffer = bytearray()
        self.kept = 0
        self.unread = 0
        self.most_unread = most_unread
        self._closed = False  # by this side
        self._stuck = False  # the other side does not read
        self._pending = False  # another turn is scheduled
        self._lost = False  # the connection is lost
        self.ended = False  # closed regularly by the other side
        self.active = loop.time()
        self.began: float | None = None
        self.remote = ("", 0)

    # The channel

    @property
    def closing(self) -> bool:
        """Whether it is closed or about to close."""
        return self._transport.is_closing()

    def write(self, command: Command) -> None:
        """Send a command. Raises OSError if the connection is closed, or if more than `most_unread` bytes would wait; it is then closed."""
        if self._transport.is_closing():
            raise OSError(f"the connection to {self.remote[0]}:{self.remote[1]} is closed")
        data = frame.encode(command, command.serialisation)
        self.measure()
        if self.unread + len(data) > self.most_unread:
            self.overfill(self.unread + len(data))
            raise OSError(f"the connection to {self.remote[0]}:{self.remote[1]} is closed: its answers are not read")
        self.active = self._loop.time()
        self._transport.write(data)
        self.measure()

    def measure(self) -> None:
        """Report the number of written bytes that wait for the other side to the owner."""
        waiting = self._transport.get_write_buffer_size()
        change, self.unread = waiting - self.unread, waiting
        if change:
            self._owner.measured(self, change)

    def overfill(self, size: int) -> None:
        """Close immediately, because `size` bytes wait for the other side."""
        log.warning("the connection to %s:%d is closed: %d bytes were not read", *self.remote, size)
        self.abort()

    def close(self) -> None:
        """Send what is written, then close. Received commands that are not handled yet are dropped."""
        self._drop_received()
        self._transport.close()

    def abort(self) -> None:
        """Close immediately. Received commands that are not handled yet are dropped."""
        self._drop_received()
        self._transport.abort()
        self.measure()

    def _drop_received(self) -> None:
        self._closed = True
        self._buffer.clear()
        self._note()

    # Called by asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # other event loops have their own transport classes
        self._transport.set_write_buffer_limits(HIGH_WATER)
        host, port = transport.get_extra_info("peername", ("", 0))[:2]
        self.remote = host.removeprefix(MAPPED), port
        self._owner.opened(self)

    def data_received(self, data: bytes) -> None:
        self.active = self._loop.time()
        self._buffer += data
        self._serve()

    def pause_writing(self) -> None:
        self._stuck = True
        self._transport.pause_reading()

    def resume_writing(self) -> None:
        self._stuck = False
        self.measure()
        self._serve()
        if not self._stuck and not self._pending:
            self._transport.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost, self._stuck = True, False
        self.measure()
        self.ended = exc is None and not self._closed
        if exc is not None:
            self._drain()
        self._serve()

    def _serve(self) -> None:
        """Handle every complete command, unless the other side does not read. A failing write does not end this.

        Other connections get a turn if it takes longer than TURN.
        """
        if not self._pending:
            self._turn()

    def _turn(self) -> None:
        buffer, end = self._buffer, self._loop.time() + TURN
        again, self._pending = self._pending, False
        try:
            while not self._stuck and not self._pending:
                command = frame.take(buffer)
                if command is None:
                    break
                self.began = None
                self._owner.received(self, command)
                self._pending = bool(buffer) and self._loop.time() >= end
        except frame.FrameError as problem:
            log.warning("the connection to %s:%d is closed: %s", *self.remote, problem)
            self.close()
        finally:
            if self._pending:
                self._transport.pause_reading()
                self._loop.call_soon(self._turn)
            elif self._lost:
                buffer.clear()
                self._owner.lost(self)
            elif again and not self._stuck:
                self._transport.resume_reading()
            if self.kept or buffer:
                self._note()

    def _drain(self) -> None:
        """Read what the system still has of a broken connection: asyncio stops reading once a write has failed."""
        broken = self._transport.get_extra_info("socket")
        if broken is None:
            return
        with suppress(OSError):
            while not self._closed and (data := os.read(broken.fileno(), PIECE)):
                self._buffer += data

    def _note(self) -> None:
        """Report the number of kept bytes to the owner."""
        kept = len(self._buffer)
        if not kept:
            self.began = None
        elif self.began is None:
            self.began = self._loop.time()
        change, self.kept = kept - self.kept, kept
        self._owner.buffered(self, change)
