"""A server that stops leaves no connection open, not even one that asyncio has accepted and not yet handed over."""

from __future__ import annotations

import asyncio
import errno
import socket
from contextlib import suppress
from typing import Any

import pytest

from rocketproof_impl.link import Link
from rocketproof_impl.nameserver import NameServer
from rocketproof_impl.system import listening
from rocketproof_impl.system.links import LinkServer
from rocketproof_impl.system.listening import listening_socket
from rocketproof_impl.system.server import TcpServer
from rocketproof_impl.system.threads import Threads
from rocketproof_profiles import PROFILES

TURNS = range(6)
"""Turns of the loop between a connection and the end: in some of them it is accepted, and nobody has it yet."""
UNREAD = 1 << 26
"""More bytes than the system takes for a peer that reads nothing."""


async def ended(server: Any, threads: Threads, turns: int, *, gracefully: bool) -> None:
    made = listening_socket("127.0.0.1", 0)
    address = made.getsockname()
    server.start(made)
    with socket.create_connection(address) as peer:
        for _ in range(turns):
            await asyncio.sleep(0)
        if gracefully:
            server.stop()
        threads.close()
        await asyncio.to_thread(drain, peer)


def drain(peer: socket.socket) -> int:
    """Return the number of bytes received until the peer closes; fail if it never does."""
    peer.settimeout(20)
    count = 0
    with suppress(ConnectionError):
        while data := peer.recv(1 << 20):
            count += len(data)
    return count


@pytest.mark.parametrize("gracefully", [True, False], ids=["stopped", "killed"])
@pytest.mark.parametrize("turns", TURNS)
def test_connections_accepted_at_server_end_are_closed(turns: int, gracefully: bool) -> None:
    async def both() -> None:
        threads = Threads()
        await ended(TcpServer(threads, NameServer(threads.clock, profile=PROFILES["P49"])), threads, turns, gracefully=gracefully)
        threads = Threads()
        await ended(LinkServer(threads, lambda link: None), threads, turns, gracefully=gracefully)

    asyncio.run(both())


def test_link_with_unread_data_is_closed_at_end() -> None:
    async def unread() -> None:
        threads = Threads()
        taken: asyncio.Future[Link] = asyncio.get_running_loop().create_future()
        server = LinkServer(threads, taken.set_result)
        made = listening_socket("127.0.0.1", 0)
        with socket.socket() as peer:
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            peer.connect(made.getsockname())
            server.start(made)
            await (await taken).write(bytes(UNREAD))
            server.stop()
            threads.close()
            assert await asyncio.to_thread(drain, peer) < UNREAD

    asyncio.run(unread())


class Exhausted(socket.socket):
    """A listening socket of a process that once runs out of file descriptors."""

    refused = 0

    def accept(self) -> Any:
        if not self.refused:
            self.refused += 1
            raise OSError(errno.EMFILE, "Too many open files")
        return super().accept()


def test_connection_without_free_descriptor_waits(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(listening, "PAUSE_MILLIS", 20)

    async def later() -> None:
        threads = Threads()
        taken: asyncio.Future[Link] = asyncio.get_running_loop().create_future()
        server = LinkServer(threads, taken.set_result)
        with Exhausted(fileno=listening_socket("127.0.0.1", 0).detach()) as full:
            server.start(full)
            with socket.create_connection(full.getsockname()) as peer:
                (await taken).close()
                assert await asyncio.to_thread(drain, peer) == 0
            threads.close()

    asyncio.run(later())
    assert "Too many open files" in caplog.text
