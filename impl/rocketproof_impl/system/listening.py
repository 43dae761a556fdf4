"""Taking connections: what asyncio's own server does, except that nothing stays open when it ends.

`asyncio.Server` forgets a connection that it has accepted and not yet handed over when it is closed: up to Python 3.11 its socket
then stays open until it is collected, and the other side waits for an answer that never comes.
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
"""How long nobody is accepted once the system had no file descriptor left."""


def listening_socket(host: str, port: int) -> socket.socket:
    """A socket bound to an address; port 0 is any free one. Raises OSError.

    A port can be taken again at once after its process has ended. Connections are not kept alive by the system (REM-11).
    """
    if not 0 <= port <= LAST_PORT:
        raise OSError(errno.EINVAL, f"there is no port {port}, the last one is {LAST_PORT}")
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    made = socket.socket(family, kind, protocol)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 0)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        made.bind(address)
        made.listen(BACKLOG)
    except OSError:
        made.close()
        raise
    return made


def resolved(host: str) -> str:
    """Return the IP address of a host's name, IPv4 if it has one, as Java does. An IPv6 address may have brackets. Raises OSError."""
    try:
        found = socket.getaddrinfo(host.removeprefix("[").removesuffix("]"), None, type=socket.SOCK_STREAM)
    except UnicodeError:
        raise OSError(errno.EINVAL, f"{host!r} is no name of a host") from None
    addresses = [(family != socket.AF_INET, str(address[0])) for family, _, _, _, address in found]
    return min(addresses, key=itemgetter(0))[1]


class ListeningSocket:
    """Gives each connection to a socket, which belongs to it, a protocol that `made` makes."""

    def __init__(self, threads: Threads, listening: socket.socket, made: Callable[[], asyncio.Protocol]) -> None:
        self._threads = threads
        self._loop = threads.loop
        self._listening = listening
        self._made = made
        self._coming: set[asyncio.Task[object]] = set()
        self.closed = False
        listening.setblocking(False)
        self._resume()

    def close(self) -> None:
        """Take no more connections. A protocol that is made afterwards is one of a connection that was accepted before."""
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
                taken, _ = self._listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as problem:
                log.warning("nobody is accepted for %d ms: %s", PAUSE_MILLIS, problem)
                self._loop.remove_reader(self._listening)
                self._threads.after(PAUSE_MILLIS, self._resume)
                return
            self._hand_over(taken)

    def _hand_over(self, taken: socket.socket) -> None:
        taken.setblocking(False)
        task: asyncio.Task[object] = self._loop.create_task(self._loop.connect_accepted_socket(self._made, taken))
        self._coming.add(task)

        def ended(task: asyncio.Task[object]) -> None:
            self._coming.discard(task)
            if task.cancelled() or task.exception() is not None:
                with suppress(OSError):
                    taken.close()

        task.add_done_callback(ended)
