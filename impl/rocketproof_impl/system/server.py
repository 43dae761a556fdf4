"""A TCP listener for a name server or a broker (REM-11).

Whoever connects is a stranger: connections, the bytes of incomplete frames and the bytes of unread answers are bounded, for each
connection and for all together, and who is silent for two minutes is sent away, as is who needs so long for one frame.
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
    """What serves the commands of a connection: a broker, a name server."""

    def receive(self, channel: Channel, command: Command) -> None: ...

    def channel_closed(self, channel: Channel) -> None: ...


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """How many connections are served at a time, how many bytes of incomplete frames and of unread answers all of them together may
    leave here, how many bytes of answers one may leave unread, and after how many seconds of silence one is closed.

    By default both totals are 128 MiB, so that a process with a broker and a name server that are under attack still fits into 512 MiB: it
    takes about 80 MiB itself. That is room for 32 of the largest messages (4 MiB) on their way in, and for 512 full answers to pulls (256
    KiB) on their way out.
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
        """Serve whoever connects to these sockets, which then belong to the server."""
        self._listeners = [
            ListeningSocket(self._threads, each, lambda: ServerConnection(self, self._threads.loop, self._limits.unread))
            for each in listening
        ]
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
        for listener in self._listeners:
            listener.close()

    def sweep(self) -> None:
        """Close what is idle, and what has not finished its frame for as long."""
        since = self._threads.loop.time() - self._limits.idle
        for connection in list(self.connections):
            if connection.active < since or (connection.began is not None and connection.began < since):
                log.info("the connection to %s:%d is idle, and closed", *connection.remote)
                connection.abort()

    # What a connection calls

    def opened(self, connection: ServerConnection) -> None:
        if self._ended:  # it was accepted before
            connection.abort()
        elif len(self.connections) >= self._limits.connections:
            log.warning("the connection to %s:%d is refused: there are %d", *connection.remote, len(self.connections))
            connection.abort()
        else:
            self.connections.add(connection)

    def received(self, connection: ServerConnection, command: Command) -> None:
        self._receiver.receive(connection, command)

    def buffered(self, connection: ServerConnection, change: int) -> None:
        """Close the connection that keeps most, if all together keep too much."""
        self._incomplete += change
        if change > 0 and self._incomplete > self._limits.incomplete:
            largest = max((connection, *self.connections), key=attrgetter("kept"))
            log.warning("the connection to %s:%d is closed: %d bytes of an incomplete frame", *largest.remote, largest.kept)
            largest.abort()

    def measured(self, connection: ServerConnection, change: int) -> None:
        """Close the connections that leave most unread, if all together leave too much now."""
        self._unread += change
        if change <= 0 or self._unread <= self._limits.unread_total:
            return
        for each in list(self.connections):
            each.measure()
        for each in sorted({connection, *self.connections}, key=attrgetter("unread"), reverse=True):
            if self._unread <= self._limits.unread_total:
                break
            each.overfill(each.unread)

    def lost(self, connection: ServerConnection) -> None:
        if connection in self.connections:
            self.connections.remove(connection)
            self._receiver.channel_closed(connection)
