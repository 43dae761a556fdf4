"""Listening sockets that pass every accepted connection to a protocol or close it.

`asyncio.Server` loses connections that it has accepted but not yet passed on when it is closed. Up to Python 3.11 their sockets stay open
until garbage collection, and the other side waits for a response in vain.
"""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Callable
from contextlib import suppress
from operator import itemgetter

from .threads import Threads, log

BACKLOG = 1024
LAST_PORT = 65535
PAUSE_MILLIS = 1000
"""How long no connection is accepted after the system ran out of file descriptors."""


def listening_socket(host: str, port: int) -> socket.socket:
    """Return a socket bound to an address; port 0 selects any free port. Raises OSError.

    A port can be bound again immediately after its process has ended. TCP keep-alive is off (REM-11).
    """
    if not 0 <= port <= LAST_PORT:
        raise OSError(errno.EINVAL, f"there is no port {port}, the last one is {LAST_PORT}")
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    listening = socket.socket(family, kind, protocol)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 0)
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listening.bind(address)
        listening.listen(BACKLOG)
    except OSError:
        listening.close()
        raise
    return listening


def resolved(host: str) -> str:
    """Return the IP address of a host name, IPv4 if it has one, as Java does. An IPv6 address may be in brackets. Raises OSError."""
    try:
        infos = socket.getaddrinfo(host.removeprefix("[").removesuffix("]"), None, type=socket.SOCK_STREAM)
    except UnicodeError:
        raise OSError(errno.EINVAL, f"{host!r} is no name of a host") from None
    addresses = [(family != socket.AF_INET, str(address[0])) for family, _, _, _, address in infos]
    return min(addresses, key=itemgetter(0))[1]


class ListeningSocket:
    """Owns a listening socket, and creates a protocol with `factory` for each connection to it."""

    def __init__(self, threads: Threads, listening: socket.socket, factory: Callable[[], asyncio.Protocol]) -> None:
        self._threads = threads
        self._loop = threads.loop
        self._listening = listening
        self._factory = factory
        self._coming: set[asyncio.Task[object]] = set()
        self.closed = False
        listening.setblocking(False)
        self._resume()

    def close(self) -> None:
        """Accept no more connections. Protocols of connections accepted before may still be created."""
        if not self.closed:
            self.closed = True
            self._loop.remove_reader(self._listening)
            self._listening.close()

    def _resume(self) -> None:
        if not self.closed:
            self._loop.add_reader(self._listening, self._accept)

    def _accept(self) -> None:
        for _ in range(BACKLOG):
            try:
                accepted, _ = self._listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as problem:
                log.warning("nobody is accepted for %d ms: %s", PAUSE_MILLIS, problem)
                self._loop.remove_reader(self._listening)
                self._threads.after(PAUSE_MILLIS, self._resume)
                return
            self._hand_over(accepted)

    def _hand_over(self, accepted: socket.socket) -> None:
        accepted.setblocking(False)
        task: asyncio.Task[object] = self._loop.create_task(self._loop.connect_accepted_socket(self._factory, accepted))
        self._coming.add(task)

        def ended(task: asyncio.Task[object]) -> None:
            self._coming.discard(task)
            if task.cancelled() or task.exception() is not None:
                with suppress(OSError):
                    accepted.close()

        task.add_done_callback(ended)
