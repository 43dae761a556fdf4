"""Connections that never read: their pending bytes are bounded, and a connection that exceeds its bound is closed."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from serving import PATIENCE, EchoServer, Parts, Raw, echo_server, parts, send_command

from nonempty import nonempty
from rocketproof_impl.remoting import frame
from rocketproof_impl.remoting.command import ONE_WAY, Command
from rocketproof_impl.system.connection import UNREAD, ServerConnection
from rocketproof_impl.system.server import ServerLimits
from rocketproof_properties.programs.vocabulary import plain
from rocketproof_protocol.codes import NOTIFY_CONSUMER_IDS_CHANGED, SUCCESS

MIB = 1024 * 1024
BOUND, TOTAL = 2 * MIB, 5 * MIB
HELD = 300


@pytest.fixture(scope="module")
def server() -> Iterator[EchoServer]:
    with echo_server(ServerLimits(unread=BOUND, unread_total=TOTAL)) as made:
        yield made


class Silent(Raw):
    """A connection that never reads, with a small buffer in the system."""

    def __init__(self, port: int) -> None:
        super().__init__(port)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)


def waiting(connection: ServerConnection) -> int:
    return connection._transport.get_write_buffer_size()


@given(writes=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3 * MIB)), max_size=12))
@settings(max_examples=20)
def test_unread_bytes_never_exceed_bounds(server: EchoServer, writes: list[tuple[int, int]]) -> None:
    """Writes which no request has caused, as held pulls and notifications are."""
    silent = [Silent(server.port) for _ in range(3)]
    try:
        for number, each in enumerate(silent):
            each.send(frame.encode(Command(1, opaque=number, flag=ONE_WAY)))
        with Raw(server.port) as alive:
            alive.ask(Command(1))
            channels = sorted(server.tcp.connections, key=lambda connection: connection.remote[1])

            async def write_all() -> None:
                for at, size in writes:
                    channel = channels[at]
                    refused = channel.closing or waiting(channel) + size > BOUND
                    try:
                        channel.write(Command(NOTIFY_CONSUMER_IDS_CHANGED, flag=ONE_WAY, body=bytes(size)))
                    except OSError:
                        assert channel.closing
                    else:
                        assert not refused
                    assert waiting(channel) <= BOUND
                    assert sum(map(waiting, server.tcp.connections)) <= TOTAL

            server.background.complete(write_all())
            assert alive.ask(Command(2)).code == SUCCESS
    finally:
        for each in silent:
            each.socket.close()


def until(wanted: object, look: Callable[[], object]) -> None:
    """Repeat until true. Raises AssertionError after a timeout."""
    end = time.monotonic() + PATIENCE
    while (found := look()) != wanted:
        assert time.monotonic() < end, found
        time.sleep(0.01)


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Parts]:
    with parts(tmp_path) as made:
        yield made


def test_held_pulls_of_connection_that_never_reads_are_bounded(running: Parts) -> None:
    """62 KB of held pulls, then one message of 512 KiB for all: unbounded they take 150 MB."""
    broker = running.broker()
    port = broker.settings.listen_port
    with Silent(port) as silent, Raw(port) as alive:
        assert alive.ask(send_command("T")).code == SUCCESS
        held = plain("pull", topic="T", group="g")
        held.ext_fields = {**(held.ext_fields or {}), "queueOffset": "1", "sysFlag": "6", "suspendTimeoutMillis": "600000"}
        until("1", lambda: (alive.ask(plain("max_offset", topic="T")).ext_fields or {})["offset"])
        silent.send(frame.encode(held) * HELD)
        until(HELD, lambda: len(broker.broker._pull.hold.held.get(("T", 0), ())))
        connections = list(broker._tcp.connections)
        assert alive.ask(send_command("T", b"x" * (MIB // 2))).code == SUCCESS
        until(1, lambda: sum(each.closing for each in connections))
        for each in nonempty(connections):
            assert waiting(each) <= UNREAD
        assert alive.ask(send_command("T")).code == SUCCESS
        until(0, lambda: broker.broker._pull.hold.under_way.total)
