"""Replication's byte streams without frames (link.py) on TCP."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import cast

from ..link import Link
from ..tasks import Wait
from .connecting import CONNECT_MILLIS, connect
from .listening import ListeningSocket
from .threads import Threads

CONNECTIONS = 64
UNREAD = 4 * 1024 * 1024
"""Bytes that may be received and unread. Beyond this, nothing more is read from the socket."""


class LinkProtocol(asyncio.Protocol):
    """One side of a connection. `opened` and `lost` notify a server."""

    link: Link
    _transport: asyncio.Transport

    def __init__(self, opened: Callable[[LinkProtocol], None] | None = None, lost: Callable[[LinkProtocol], None] | None = None) -> None:
        self._opened = opened
        self._lost = lost

    def abort(self) -> None:
        """Close immediately. Bytes that the other side has not taken are not sent."""
        self.link.ended()
        self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        own = self._transport = cast(asyncio.Transport, transport)  # other event loops have their own transport classes
        host, port = own.get_extra_info("peername", ("", 0))[:2]
        self.link = Link(f"{host}:{port}", own.write, own.close, own.resume_reading)
        if self._opened is not None:
            self._opened(self)

    def data_received(self, data: bytes) -> None:
        self.link.feed(data)
        if self.link.unread > UNREAD:
            self._transport.pause_reading()

    def pause_writing(self) -> None:
        self.link.hold(True)

    def resume_writing(self) -> None:
        self.link.hold(False)

    def connection_lost(self, exc: Exception | None) -> None:
        self.link.ended()
        if self._lost is not None:
            self._lost(self)


class LinkServer:
    """Passes every connection to `accept`. It closes connections beyond 64 at a time."""

    def __init__(self, threads: Threads, accept: Callable[[Link], None]) -> None:
        self._threads = threads
        self._accept = accept
        self._listener: ListeningSocket | None = None
        self._ended = False
        self._open: set[LinkProtocol] = set()

    def start(self, listening: socket.socket) -> None:
        """Serve connections to this socket, which then belongs to the server."""
        self._threads.at_end(self._abort)
        self._listener = ListeningSocket(self._threads, listening, lambda: LinkProtocol(self._connected, self._open.discard))

    def stop(self) -> None:
        """Accept no more connections, and close the open ones."""
        self._end()
        for protocol in list(self._open):
            protocol.link.close()

    def _abort(self) -> None:
        self._end()
        for protocol in list(self._open):
            protocol.abort()

    def _end(self) -> None:
        self._ended = True
        if self._listener is not None:
            self._listener.close()

    def _connected(self, protocol: LinkProtocol) -> None:
        if self._ended or len(self._open) >= CONNECTIONS:  # accepted before the server ended
            protocol.abort()
            return
        self._open.add(protocol)
        self._accept(protocol.link)


async def dial(threads: Threads, address: str) -> Link:
    """Connect to `host:port`. Raises OSError."""
    protocol = connect(threads, address, LinkProtocol)
    if not await Wait(protocol, CONNECT_MILLIS):
        raise OSError(f"no connection in {CONNECT_MILLIS} ms")
    return protocol.result().link
