"""The network as a caller sees it: one TCP connection per address, and responses paired by opaque (REM-05, REM-12)."""

from __future__ import annotations

from typing import cast

from ..remoting.command import ONE_WAY, RESPONSE, Command, stamped
from ..remoting.errors import ConnectFailed, SendFailed, TimedOut
from ..remoting.ports import Channel
from ..tasks import Future, Wait
from .connecting import CONNECT_MILLIS, connect
from .connection import ServerConnection
from .server import Receiver
from .threads import Threads, log


class _Link:
    """The connection to an address: `ready` when it is open, and the pending responses by opaque."""

    __slots__ = ("address", "connection", "pending", "ready")

    def __init__(self, address: str) -> None:
        self.address = address
        self.ready: Future[ServerConnection] = Future()
        self.connection: ServerConnection | None = None
        self.pending: dict[int, Future[Command]] = {}


class TcpNetwork:
    """Requests to remoting addresses.

    `receiver` serves requests of the other side on the same connection, such as a broker's check of a transaction. Without it they are
    dropped. With `notices_ends`, pending calls fail as soon as the other side closes the connection regularly. Otherwise they time out, as
    in clients up to 5.1.1. When a connection breaks, all pending calls fail immediately.
    """

    def __init__(self, threads: Threads, receiver: Receiver | None = None, *, notices_ends: bool = True) -> None:
        self._threads = threads
        self._notices_ends = notices_ends
        self._opaque = 0
        self._links: dict[str, _Link] = {}
        self.receiver = receiver
        threads.at_end(self.close)

    async def call(self, address: str, request: Command, millis: int) -> Command:
        """Send and wait for the response, at most `millis` including the connection. Raises ConnectFailed, SendFailed or TimedOut."""
        began = self._threads.loop.time()
        link = await self._link(address, millis)
        sent = self._stamped(request, 0)
        answer: Future[Command] = Future()
        link.pending[sent.opaque] = answer
        try:
            _write(link, sent)
            remaining = millis - int((self._threads.loop.time() - began) * 1000)
            if not await Wait(answer, remaining):
                raise TimedOut(f"wait response on the channel <{address}> timeout, {millis}(ms)")
        finally:
            link.pending.pop(sent.opaque, None)
        return answer.result()

    async def post(self, address: str, request: Command) -> None:
        """Send a one-way request. Raises ConnectFailed."""
        link = await self._link(address, CONNECT_MILLIS)
        try:
            _write(link, self._stamped(request, ONE_WAY))
        except SendFailed as problem:
            log.warning("send a request one way to %s failed: %s", address, problem)

    def close(self) -> None:
        """Close every connection. Pending calls fail."""
        for link in list(self._links.values()):
            if link.connection is not None:
                link.connection.close()
        self._links.clear()

    async def _link(self, address: str, millis: int) -> _Link:
        """Return the connection, opened if missing."""
        link = self._links.get(address)
        if link is None or (link.connection is not None and link.connection.closing):
            link = self._links[address] = _Link(address)
            owner, loop = _LinkOwner(self, link), self._threads.loop
            connect(self._threads, address, lambda: ServerConnection(owner, loop)).then(lambda opened: self._connected(link, opened))
        if link.connection is None:
            if not await Wait(link.ready, millis):
                raise ConnectFailed(f"connect to {address} failed: no connection in {millis} ms")
            link.ready.result()
        return link

    def _connected(self, link: _Link, opened: Future[ServerConnection]) -> None:
        """Store the opened connection, or fail the waiting calls."""
        try:
            link.connection = opened.result()
        except OSError as problem:
            self.forget(link)
            link.ready.fail(ConnectFailed(f"connect to {link.address} failed: {problem}"))
        else:
            link.ready.complete(link.connection)

    def forget(self, link: _Link) -> None:
        """Remove a connection that is lost or could not be opened."""
        if self._links.get(link.address) is link:
            del self._links[link.address]
        if not self._notices_ends and link.connection is not None and link.connection.ended:
            return
        pending, link.pending = link.pending, {}
        for answer in pending.values():
            answer.fail(SendFailed(f"the connection to {link.address} is lost"))

    def _stamped(self, request: Command, flag: int) -> Command:
        """Return a copy with an opaque of its own: each attempt sends a new one."""
        self._opaque = (self._opaque + 1) & 0x7FFFFFFF
        sent = stamped(request, self._opaque)
        sent.flag = request.flag & ~RESPONSE | flag
        return sent


class _LinkOwner:
    """The owner of a connection that this side has opened."""

    __slots__ = ("_link", "_network")

    def __init__(self, network: TcpNetwork, link: _Link) -> None:
        self._network = network
        self._link = link

    def opened(self, connection: ServerConnection) -> None:
        """Do nothing: the connecting task wakes the waiting calls."""

    def received(self, connection: ServerConnection, command: Command) -> None:
        waiting = self._link.pending.pop(command.opaque, None) if command.is_response else None
        if waiting is not None:
            waiting.complete(command)
        elif self._network.receiver is not None:
            self._network.receiver.receive(cast(Channel, connection), command)
        else:
            log.warning("%s sent a command that nobody waits for: code %d, opaque %d", self._link.address, command.code, command.opaque)

    def buffered(self, connection: ServerConnection, change: int) -> None:
        """Do nothing: a server that this side has chosen may send any frame."""

    def measured(self, connection: ServerConnection, change: int) -> None:
        """Do nothing: each connection is bounded, and this side opens few."""

    def lost(self, connection: ServerConnection) -> None:
        self._network.forget(self._link)
        if self._network.receiver is not None:
            self._network.receiver.channel_closed(connection)


def _write(link: _Link, command: Command) -> None:
    assert link.connection is not None, "it is open"
    try:
        link.connection.write(command)
    except OSError as problem:
        raise SendFailed(f"send request to <{link.address}> failed: {problem}") from problem
