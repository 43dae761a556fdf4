"""A TCP listener for a name server or a broker (REM-11).

Clients are not trusted. Connections, bytes of incomplete frames and bytes of unread responses are bounded, per connection and in total. A
connection is closed after two minutes of silence, or if a frame takes that long.
"""

from __future__ import annotations

import socket
from dataclasses import dataclass
from operator import attrgetter
from typing import Protocol

from ..remoting.command import Command
from ..remoting.ports import Channel
from .connection import UNREAD, ServerConnection
from .listening import ListeningSocket
from .threads import Threads, log

SWEEP_MILLIS = 1000


class Receiver(Protocol):
    """Serves the commands of a connection: a broker or a name server."""

    def receive(self, channel: Channel, command: Command) -> None: ...

    def channel_closed(self, channel: Channel) -> None: ...


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """The bounds of a server.

    - `connections`: open connections at a time
    - `incomplete`: bytes of incomplete frames of all connections
    - `unread`: bytes of unread responses of one connection
    - `unread_total`: bytes of unread responses of all connections
    - `idle`: seconds of silence after which a connection is closed

    By default both totals are 128 MiB, so that a process with a broker and a name server under attack stays below 512 MiB; it takes about
    80 MiB itself. The totals are sufficient for 32 received messages of the maximum size (4 MiB), and for 512 full responses to pulls (256
    KiB).
    """

    connections: int = 1024
    incomplete: int = 128 * 1024 * 1024
    unread: int = UNREAD
    unread_total: int = 128 * 1024 * 1024
    idle: float = 120.0


class TcpServer:
    """The connections to one receiver."""

    def __init__(self, threads: Threads, receiver: Receiver, limits: ServerLimits | None = None) -> None:
        self._threads = threads
        self._receiver = receiver
        self._limits = limits or ServerLimits()
        self._incomplete = 0
        self._unread = 0
        self._listeners: list[ListeningSocket] = []
        self._ended = False
        self.connections: set[ServerConnection] = set()

    def start(self, *listening: socket.socket) -> None:
        """Serve connections to these sockets, which then belong to the server."""
        self._listeners = [
            ListeningSocket(self._threads, socket_, lambda: ServerConnection(self, self._threads.loop, self._limits.unread))
            for socket_ in listening
        ]
        self._threads.at_end(self._abort)
        self._threads.every(SWEEP_MILLIS, SWEEP_MILLIS, self.sweep)

    def stop(self) -> None:
        """Accept no more connections, and close the open ones after their responses are sent."""
        self._end()
        for connection in list(self.connections):
            connection.close()

    def _abort(self) -> None:
        """Close everything immediately, because the process ends."""
        self._end()
        for connection in list(self.connections):
            connection.abort()

    def _end(self) -> None:
        self._ended = True
        for listener in self._listeners:
            listener.close()

    def sweep(self) -> None:
        """Close connections that are idle, or whose frame is incomplete for as long."""
        since = self._threads.loop.time() - self._limits.idle
        for connection in list(self.connections):
            if connection.active < since or (connection.began is not None and connection.began < since):
                log.info("the connection to %s:%d is idle, and closed", *connection.remote)
                connection.abort()

    # Called by connections

    def opened(self, connection: ServerConnection) -> None:
        if self._ended:  # accepted before the server ended
            connection.abort()
        elif len(self.connections) >= self._limits.connections:
            log.warning("the connection to %s:%d is refused: there are %d", *connection.remote, len(self.connections))
            connection.abort()
        else:
            self.connections.add(connection)

    def received(self, connection: ServerConnection, command: Command) -> None:
        self._receiver.receive(connection, command)

    def buffered(self, connection: ServerConnection, change: int) -> None:
        """Close the connection that keeps most bytes if the total is exceeded."""
        self._incomplete += change
        if change > 0 and self._incomplete > self._limits.incomplete:
            largest = max((connection, *self.connections), key=attrgetter("kept"))
            log.warning("the connection to %s:%d is closed: %d bytes of an incomplete frame", *largest.remote, largest.kept)
            largest.abort()

    def measured(self, connection: ServerConnection, change: int) -> None:
        """Close the connections with most unread bytes if the total is exceeded."""
        self._unread += change
        if change <= 0 or self._unread <= self._limits.unread_total:
            return
        for other in list(self.connections):
            other.measure()
        for other in sorted({connection, *self.connections}, key=attrgetter("unread"), reverse=True):
            if self._unread <= self._limits.unread_total:
                break
            other.overfill(other.unread)

    def lost(self, connection: ServerConnection) -> None:
        if connection in self.connections:
            self.connections.remove(connection)
            self._receiver.channel_closed(connection)
