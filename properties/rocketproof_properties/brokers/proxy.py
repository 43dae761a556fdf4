"""TCP proxies between two parts: their connections and threads, and a proxy that can also hold back bytes."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self

from rocketproof_impl.remoting.errors import RemotingError

from .forms import host_and_port
from .ports import HOST

_BYTES: Final = 1 << 16
_SECONDS: Final = 5.0
"""The time within which the other part must accept a connection."""


class ProxyLink:
    """A connection of a client, and the one to the other part. Handlers raise OSError or RemotingError to close both."""

    def __init__(self, near: socket.socket, far: socket.socket) -> None:
        self.near, self.far = near, far

    def forward(self, data: bytes) -> None:
        """Handle bytes from the client."""
        self.far.sendall(data)

    def backward(self, data: bytes) -> None:
        """Handle bytes from the other part."""
        self.near.sendall(data)

    def ended(self) -> None:
        """Called when both directions have ended."""

    def close(self) -> None:
        """End both directions. Other threads may be waiting on the connections."""
        for side in (self.near, self.far):
            with contextlib.suppress(OSError):
                side.shutdown(socket.SHUT_RDWR)


class ForwardingProxy:
    """Connects each client of the listening sockets to the part at `target`, with a thread per direction. A context manager.

    `address` is that of the first socket. Connections are rejected while `target` is None.
    """

    def __init__(self, *listening: socket.socket, target: str | None = None) -> None:
        self.address = f"{HOST}:{listening[0].getsockname()[1]}"
        self.target = target
        self._listening = listening
        self._passing = True
        self._lock = threading.Lock()
        self._links: dict[ProxyLink, threading.Thread] = {}
        self._accepting = [threading.Thread(target=self._accept, args=(one,), daemon=True) for one in listening]
        for thread in self._accepting:
            thread.start()

    def link(self, near: socket.socket, far: socket.socket) -> ProxyLink:
        """Return the handler of a new connection."""
        return ProxyLink(near, far)

    def cut(self) -> None:
        """Close all connections, and reject new ones until `restore`."""
        with self._lock:
            self._passing = False
            links = tuple(self._links)
        for link in links:
            link.close()

    def restore(self) -> None:
        """Accept connections again."""
        self._passing = True

    def close(self) -> None:
        """Close all sockets, and wait until all threads have ended."""
        _end(*self._listening)
        self.cut()
        for thread in self._accepting:
            thread.join()
        with self._lock:
            serving = tuple(self._links.values())
        for thread in serving:
            thread.join()

    def _accept(self, listening: socket.socket) -> None:
        while True:
            try:
                near, _ = listening.accept()
            except OSError:
                return
            try:
                far = self._connected()
            except OSError:
                _end(near)
                continue
            with self._lock:
                if self._passing:
                    link = self.link(near, far)
                    thread = self._links[link] = threading.Thread(target=self._serve, args=(link,), daemon=True)
                    thread.start()
                    continue
            _end(near, far)

    def _connected(self) -> socket.socket:
        """Return a connection to the other part. Raises OSError."""
        if self.target is None or not self._passing:
            raise ConnectionRefusedError
        far = socket.create_connection(host_and_port(self.target), timeout=_SECONDS)
        far.settimeout(None)
        return far

    def _serve(self, link: ProxyLink) -> None:
        """Carry the client's bytes in this thread, and the other part's in a second one, until either side closes."""
        back = threading.Thread(target=_carry, args=(link, link.far, link.backward), daemon=True)
        back.start()
        _carry(link, link.near, link.forward)
        back.join()
        link.ended()
        _end(link.near, link.far)
        with self._lock:
            del self._links[link]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class Wire(ForwardingProxy):
    """Listens at `address` from the start. It rejects connections until `to` sets the address of the other part."""

    def __init__(self) -> None:
        self._named: tuple[bytes, bytes] | None = None
        self._moving = threading.Event()
        self._moving.set()
        super().__init__(socket.create_server((HOST, 0)))

    def to(self, address: str, named: tuple[str, str] | None = None) -> None:
        """Forward new connections to `address`. In the reverse direction, the first of the two addresses in `named` is replaced by the
        second.

        Both must have the same length.
        """
        if named is not None:
            old, new = (address_.encode() for address_ in named)
            assert len(old) == len(new)
            self._named = old, new
        self.target = address

    def link(self, near: socket.socket, far: socket.socket) -> ProxyLink:
        return _WireLink(near, far, self._moving, self._named)

    def cut(self) -> None:
        self._moving.set()
        super().cut()

    def hold(self) -> None:
        """Hold back all bytes in both directions until `restore`; connections stay open."""
        self._moving.clear()

    def restore(self) -> None:
        """Accept connections and forward bytes again."""
        super().restore()
        self._moving.set()


class _WireLink(ProxyLink):
    def __init__(self, near: socket.socket, far: socket.socket, moving: threading.Event, named: tuple[bytes, bytes] | None) -> None:
        super().__init__(near, far)
        self._moving, self._named = moving, named

    def forward(self, data: bytes) -> None:
        self._moving.wait()
        super().forward(data)

    def backward(self, data: bytes) -> None:
        self._moving.wait()
        super().backward(data if self._named is None else data.replace(*self._named))


def _carry(link: ProxyLink, source: socket.socket, handle: Callable[[bytes], None]) -> None:
    """Pass on bytes in one direction until a side closes, then close both."""
    try:
        with contextlib.suppress(OSError, RemotingError):
            while data := source.recv(_BYTES):
                handle(data)
    finally:
        link.close()


def _end(*connections: socket.socket) -> None:
    """Close sockets on which other threads may be waiting."""
    for connection in connections:
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)
        connection.close()
