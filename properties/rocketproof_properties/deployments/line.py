"""A client's connection as a judge wants it: what arrives that nobody waits for is kept, because it should not have been sent."""

from __future__ import annotations

import itertools
import socket
import time
from typing import Final

from rocketproof_impl.remoting.command import ONE_WAY, Command
from rocketproof_impl.remoting.errors import ConnectFailed, SendFailed, TimedOut
from rocketproof_impl.remoting.frame import encode, take

from .wire import ConnectionLost, host_and_port

CONNECTING: Final = 5.0
"""Seconds to wait for a connection."""


class Line:
    """One connection; a server may answer it in any order. Not for several threads at a time.

    `strays` are the answers that no request waits for.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self.strays: list[Command] = []
        self._buffer = bytearray()
        self._numbers = itertools.count(1)
        try:
            self._socket = socket.create_connection(host_and_port(address), timeout=CONNECTING)
        except OSError as problem:
            raise ConnectFailed(f"connect to <{address}> failed: {problem.strerror or problem}") from problem
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    @property
    def local(self) -> tuple[str, int]:
        host, port = self._socket.getsockname()[:2]
        return str(host), int(port)

    def ask(self, request: Command, seconds: float) -> Command:
        """The answer to a request. Raises SendFailed, TimedOut, ConnectionLost, FrameError: nobody knows then what it did."""
        self._send(request, seconds)
        end = time.monotonic() + seconds
        while True:
            answer = self._next(end)
            if answer is None:
                raise TimedOut(f"wait response on the channel <{self.address}> timeout, {round(seconds * 1000)}(ms)")
            if answer.opaque == request.opaque:
                return answer
            self.strays.append(answer)

    def tell(self, request: Command, seconds: float) -> None:
        """Send a request that wants no answer. Raises SendFailed."""
        request.flag |= ONE_WAY
        self._send(request, seconds)

    def listen(self, seconds: float) -> None:
        """Keep what arrives in this time."""
        end = time.monotonic() + seconds
        while (answer := self._next(end)) is not None:
            self.strays.append(answer)

    def _send(self, request: Command, seconds: float) -> None:
        request.opaque = next(self._numbers)
        try:
            self._socket.settimeout(seconds)
            self._socket.sendall(encode(request))
        except OSError as problem:
            raise SendFailed(f"send request to <{self.address}> failed: {problem.strerror or problem}") from problem

    def _next(self, end: float) -> Command | None:
        """The next command, None if none comes in time. Raises ConnectionLost, FrameError."""
        while (command := take(self._buffer)) is None:
            left = end - time.monotonic()
            if left <= 0:
                return None
            self._socket.settimeout(left)
            try:
                data = self._socket.recv(1 << 18)
            except TimeoutError:
                return None
            except OSError as problem:
                raise ConnectionLost(f"connection to <{self.address}> lost: {problem.strerror or problem}") from problem
            if not data:
                raise ConnectionLost(f"<{self.address}> closed the connection")
            self._buffer += data
        return command

    def close(self) -> None:
        self._socket.close()
