"""A TCP listener for a name server or a broker (REM-11).

Whoever connects is a stranger: connections, the bytes of incomplete frames and the bytes of unread answers are bounded, and who
is silent for two minutes is sent away, as is who needs so long for one frame.
"""

from __future__ import annotations

import socket
from dataclasses import dataclass
from typing import Protocol

from ..remoting.command import Command
from ..remoting.ports import Channel
from .connection import Connection
from .listening import Listener
from .threads import Threads, log

SWEEP_MILLIS = 1000


class Receiver(Protocol):
    """What serves the commands of a connection: a broker, a name server."""

    def receive(self, channel: Channel, command: Command) -> None: ...

    def channel_closed(self, channel: Channel) -> None: ...


@dataclass(frozen=True, slots=True)
class Limits:
    """How many connections are served at a time, how many bytes of incomplete frames all of them together may leave here, and after
    how many seconds of silence one is closed."""

    connections: int = 1024
    incomplete: int = 256 * 1024 * 1024
    idle: float = 120.0


class TcpServer:
    """The connections to one receiver."""

    def __init__(self, threads: Threads, receiver: Receiver, limits: Limits | None = None) -> None:
        self._threads = threads
        self._receiver = receiver
        self._limits = limits or Limits()
        self._incomplete = 0
        self._listener: Listener | None = None
        self._ended = False
        self.connections: set[Connection] = set()

    def start(self, listening: socket.socket) -> None:
        """Serve whoever connects to this socket, which then belongs to the server."""
        self._listener = Listener(self._threads, listening, lambda: Connection(self, self._threads.loop))
        self._threads.at_end(self._abort)
        self._threads.every(SWEEP_MILLIS, SWEEP_MILLIS, self.sweep)

    def stop(self) -> None:
        """Take no more connections, and close those there are once their answers are sent."""
        self._end()
        for connection in list(self.connections):
            connection.close()

    def _abort(self) -> None:
        """The process ends: nobody is served any more."""
        self._end()
        for connection in list(self.connections):
            connection.abort()

    def _end(self) -> None:
        self._ended = True
        if self._listener is not None:
            self._listener.close()

    def sweep(self) -> None:
        """Close what is idle, and what has not finished its frame for as long."""
        since = self._threads.loop.time() - self._limits.idle
        for connection in list(self.connections):
            if connection.active < since or (connection.began is not None and connection.began < since):
                log.info("the connection to %s:%d is idle, and closed", *connection.remote)
                connection.abort()

    # What a connection calls

    def opened(self, connection: Connection) -> None:
        if self._ended:  # it was accepted before
            connection.abort()
        elif len(self.connections) >= self._limits.connections:
            log.warning("the connection to %s:%d is refused: there are %d", *connection.remote, len(self.connections))
            connection.abort()
        else:
            self.connections.add(connection)

    def received(self, connection: Connection, command: Command) -> None:
        self._receiver.receive(connection, command)

    def buffered(self, connection: Connection, change: int) -> None:
        self._incomplete += change
        if change > 0 and self._incomplete > self._limits.incomplete:
            log.warning("the connection to %s:%d is closed: %d bytes of incomplete frames", *connection.remote, self._incomplete)
            connection.abort()

    def lost(self, connection: Connection) -> None:
        if connection in self.connections:
            self.connections.remove(connection)
            self._receiver.channel_closed(connection)
