"""The blocking client of the wire: a connection to a part of a deployment with one outstanding request.

Unsolicited commands are kept in `strays`: the judge checks them, because they should not have been sent. Producers of the implementation
have many outstanding requests and use `rocketproof_impl.system.client` instead.
"""

from __future__ import annotations

import itertools
import socket
import time
from types import TracebackType
from typing import Final, Protocol, Self

from rocketproof_impl.remoting.command import ONE_WAY, Command
from rocketproof_impl.remoting.errors import ConnectFailed, RemotingError, SendFailed, TimedOut
from rocketproof_impl.remoting.frame import encode, take
from rocketproof_model import interrupts

from .forms import host_and_port

SECONDS: Final = 5.0
"""Default timeout for a connection or a response."""


class ConnectionLost(RemotingError):
    """The other side closed the connection before it answered."""


class Connection(Protocol):
    """A connection to a part of a deployment. The server may answer in any order. Not thread-safe."""

    strays: list[Command]
    """Received commands that answer no outstanding request."""

    def ask(self, request: Command, seconds: float = SECONDS) -> Command:
        """Return the response to a request, which gets an opaque of its own.

        Raises SendFailed, TimedOut, ConnectionLost, FrameError: the effect of the request is then unknown.
        """
        ...

    def send_one_way(self, request: Command, seconds: float = SECONDS) -> None:
        """Send a one-way request. Raises SendFailed."""
        ...

    def listen(self, seconds: float) -> None:
        """Keep commands that arrive in this time. Raises ConnectionLost, FrameError."""
        ...

    def close(self) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None: ...


class TcpConnection:
    """A connection over a socket. Raises ConnectFailed if it cannot be made, ValueError for an invalid address."""

    def __init__(self, address: str, seconds: float = SECONDS) -> None:
        self.address = address
        self.strays: list[Command] = []
        self._buffer = bytearray()
        self._numbers = itertools.count(1)
        try:
            self._socket = socket.create_connection(host_and_port(address), timeout=seconds)
        except OSError as problem:
            raise ConnectFailed(f"connect to <{address}> failed: {problem.strerror or problem}") from problem
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, request: Command, seconds: float = SECONDS) -> Command:
        self._send(request, seconds)
        end = time.monotonic() + seconds
        while True:
            answer = self._next(end)
            if answer is None:
                raise TimedOut(f"wait response on the channel <{self.address}> timeout, {round(seconds * 1000)}(ms)")
            if answer.is_response and answer.opaque == request.opaque:
                return answer
            self.strays.append(answer)

    def send_one_way(self, request: Command, seconds: float = SECONDS) -> None:
        request.flag |= ONE_WAY
        self._send(request, seconds)

    def listen(self, seconds: float) -> None:
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
        """Return the next command, None if it does not arrive in time."""
        while (command := take(self._buffer)) is None:
            interrupts.stop_thread_if_interrupted()
            left = end - time.monotonic()
            if left <= 0:
                return None
            self._socket.settimeout(min(left, interrupts.SLICE))
            try:
                data = self._socket.recv(1 << 18)
            except TimeoutError:
                continue
            except OSError as problem:
                raise ConnectionLost(f"connection to <{self.address}> lost: {problem.strerror or problem}") from problem
            if not data:
                raise ConnectionLost(f"<{self.address}> closed the connection {'inside an' if self._buffer else 'without an'} answer")
            self._buffer += data
        return command

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def call(address: str, request: Command, seconds: float = SECONDS) -> Command:
    """Send one request on a connection of its own. Raises RemotingError as `Connection` does."""
    with TcpConnection(address, seconds) as connection:
        return connection.ask(request, seconds)
