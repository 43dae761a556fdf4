"""A small blocking client: one request, one answer, on a connection of its own. For probes, settings and recordings.

Programs of a validation have many requests under way at a time and use the client of the implementation instead.
"""

from __future__ import annotations

import itertools
import socket
import time
from types import TracebackType
from typing import Self

from rocketproof_impl.remoting.command import Command
from rocketproof_impl.remoting.errors import ConnectFailed, RemotingError, SendFailed, TimedOut
from rocketproof_impl.remoting.frame import encode, take

SECONDS = 5.0
"""How long to wait for an answer unless told otherwise."""

_opaque = itertools.count(1)


class ConnectionLost(RemotingError):
    """The other side closed the connection before it had answered."""


def host_and_port(address: str) -> tuple[str, int]:
    """The parts of `host:port`. Raises ValueError."""
    host, colon, port = address.rpartition(":")
    if not colon or not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise ValueError(f"{address!r} is no address; give host:port, such as 127.0.0.1:10911")
    return host, int(port)


class Connection:
    """One connection to a server. Raises ConnectFailed where nobody listens."""

    def __init__(self, address: str, seconds: float = SECONDS) -> None:
        self._address = address
        self._buffer = bytearray()
        try:
            self._socket = socket.create_connection(host_and_port(address), timeout=seconds)
        except OSError as problem:
            raise ConnectFailed(f"connect to <{address}> failed: {problem.strerror or problem}") from problem
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def call(self, request: Command, seconds: float = SECONDS) -> Command:
        """The answer to a request, which gets an opaque of its own.

        Raises SendFailed, TimedOut, ConnectionLost, and FrameError where the answer is not of this protocol.
        """
        request.opaque = next(_opaque)
        end = time.monotonic() + seconds
        try:
            self._socket.settimeout(seconds)
            self._socket.sendall(encode(request))
        except OSError as problem:
            raise SendFailed(f"send request to <{self._address}> failed: {problem.strerror or problem}") from problem
        while True:
            answer = self._next(end)
            if answer.is_response and answer.opaque == request.opaque:
                return answer

    def _next(self, end: float) -> Command:
        while (command := take(self._buffer)) is None:
            left = end - time.monotonic()
            if left <= 0:
                raise TimedOut(f"wait response on the channel <{self._address}> timeout")
            self._socket.settimeout(left)
            try:
                data = self._socket.recv(65536)
            except TimeoutError:
                continue
            except OSError as problem:
                raise ConnectionLost(f"connection to <{self._address}> lost: {problem.strerror or problem}") from problem
            if not data:
                raise ConnectionLost(f"<{self._address}> closed the connection {'inside an' if self._buffer else 'without an'} answer")
            self._buffer += data
        return command

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def call(address: str, request: Command, seconds: float = SECONDS) -> Command:
    """One request on a connection of its own. Raises RemotingError as `Connection` does."""
    with Connection(address, seconds) as connection:
        return connection.call(request, seconds)
