"""One TCP connection, on either side of it: bytes to commands and back, within bounds.

Nothing is allocated on the word of a length: the buffer grows with the bytes that have come. While the other side does not read,
nothing that it asks is read. Held pulls and notifications are written all the same, so the bytes that the other side has not
taken have a bound, and a connection that exceeds it is closed. What has come is handed on although the other side is gone by
then: a message that it sent one-way is no less sent.
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
"""Bytes that may wait for the other side: the largest frame that it can read, and another one that was written meanwhile. Netty's high
water mark (64 KiB by default) only stops reading, as HIGH_WATER does here."""
MAPPED = "::ffff:"
"""What an IPv4 address begins with at a socket of IPv6."""
PIECE = 256 * 1024
TURN = 0.02
"""Seconds for which one connection may keep the others waiting, and the end of the process, though one command may need longer."""


class Owner(Protocol):
    """Who has a connection, and hears what happens on it."""

    def opened(self, connection: ServerConnection) -> None: ...

    def received(self, connection: ServerConnection, command: Command) -> None: ...

    def buffered(self, connection: ServerConnection, change: int) -> None:
        """So many more bytes of an incomplete frame are kept, or fewer."""
        ...

    def measured(self, connection: ServerConnection, change: int) -> None:
        """So many more written bytes wait for the other side, or fewer."""
        ...

    def lost(self, connection: ServerConnection) -> None: ...


class ServerConnection(asyncio.Protocol):
    """A channel. `active` is when anything came or went last, `began` when the frame began that is not complete, None if there is
    none; both on the loop's clock, in seconds. `kept` are the bytes of that frame, `unread` the written bytes that the other side had not
    taken when they were measured last; `most_unread` is their bound."""

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
        self._stuck = False
        self._pending = False  # there is another turn to come
        self._lost = False  # the other side is gone
        self.ended = False  # by the other side, in good order
        self.active = loop.time()
        self.began: float | None = None
        self.remote = ("", 0)

    # The channel

    @property
    def closing(self) -> bool:
        """Whether it is closed, or about to be."""
        return self._transport.is_closing()

    def write(self, command: Command) -> None:
        """Send a command. Raises OSError if the connection is closed, also because more than `most_unread` bytes would wait."""
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
        """Tell the owner how many written bytes wait for the other side."""
        waiting = self._transport.get_write_buffer_size()
        change, self.unread = waiting - self.unread, waiting
        if change:
            self._owner.measured(self, change)

    def overfill(self, size: int) -> None:
        """Close at once, as so many bytes wait for the other side, which is too much."""
        log.warning("the connection to %s:%d is closed: %d bytes were not read", *self.remote, size)
        self.abort()

    def close(self) -> None:
        """Send what is written, then close. What was not handed on never is."""
        self._give_up()
        self._transport.close()

    def abort(self) -> None:
        """Close at once. What was not handed on never is."""
        self._give_up()
        self._transport.abort()
        self.measure()

    def _give_up(self) -> None:
        self._closed = True
        self._buffer.clear()
        self._note()

    # What asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # other loops have transports of their own
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
        """Hand on every command that is complete, unless the other side has too much to read already. That an answer cannot be written
        any more does not end this. Others have a turn in between when it takes long."""
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
        """Keep what the system still has of a connection that broke: asyncio reads no more of it once an answer could not be written."""
        broken = self._transport.get_extra_info("socket")
        if broken is None:
            return
        with suppress(OSError):
            while not self._closed and (data := os.read(broken.fileno(), PIECE)):
                self._buffer += data

    def _note(self) -> None:
        """Tell the owner how much is kept."""
        kept = len(self._buffer)
        if not kept:
            self.began = None
        elif self.began is None:
            self.began = self._loop.time()
        change, self.kept = kept - self.kept, kept
        self._owner.buffered(self, change)
