"""The connection between a slave and its master, and the slave's stored offsets; `long` has the tests with injected faults."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rocketproof_properties.brokers.proxy import Wire
from rocketproof_properties.validation.faults.kinds import ROUNDS, SLAVE
from rocketproof_properties.validation.faults.replicas import offsets
from rocketproof_properties.validation.faults.slaves import STRIKES


@contextmanager
def connected(wire: Wire) -> Iterator[tuple[socket.socket, socket.socket]]:
    """Return a socket connected through a wire, and the other end."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        wire.to(f"127.0.0.1:{port}", (f"127.0.0.1:{port}", "127.0.0.9:00000"[: len(f"127.0.0.1:{port}")]))
        host, _, at = wire.address.partition(":")
        near = socket.create_connection((host, int(at)), timeout=5)
        far, _ = server.accept()
        far.settimeout(5)
        with near, far:
            yield near, far


def received(connection: socket.socket, count: int) -> bytes:
    """Return the next bytes of a connection, up to this number; fewer if it ends."""
    data = bytearray()
    while len(data) < count and (piece := connection.recv(count - len(data))):
        data += piece
    return bytes(data)


def test_a_wire_carries_bytes_and_names_another_address() -> None:
    with Wire() as wire, connected(wire) as (near, far):
        near.sendall(b"hello")
        assert received(far, 5) == b"hello"
        said = f"127.0.0.1:{far.getsockname()[1]}".encode()
        far.sendall(b"at " + said)
        assert received(near, 3 + len(said)) == b"at 127.0.0.9:00000"[: 3 + len(said)]


def test_a_wire_that_is_held_keeps_connections_and_bytes() -> None:
    with Wire() as wire, connected(wire) as (near, far):
        wire.hold()
        near.sendall(b"late")
        far.settimeout(0.2)
        with pytest.raises(TimeoutError):
            far.recv(4)
        wire.restore()
        far.settimeout(5)
        assert received(far, 4) == b"late"


def ended(one: socket.socket) -> bool:
    """Return whether a connection has ended."""
    try:
        return one.recv(1) == b""
    except ConnectionError:
        return True


def test_cut_wire_ends_connections_until_it_is_restored() -> None:
    with Wire() as wire, connected(wire) as (near, far):
        place = near.getpeername()
        wire.cut()
        assert ended(near) and ended(far)
        with socket.create_connection(place, timeout=5) as again:
            assert ended(again)
        wire.restore()
        with socket.create_connection(place, timeout=0.2) as again, pytest.raises(TimeoutError):
            ended(again)


def test_offsets_come_from_a_file_or_are_none(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    assert offsets(path) is None
    path.write_text('{"offsetTable":{"T@g":{0:3,1:4}}}', "utf-8")
    assert offsets(path) == {"T@g 0": 3, "T@g 1": 4}
    path.write_text('{"offsetTable":{1:7}}', "utf-8")
    assert offsets(path) == {"1": 7}
    path.write_text('{"offsetTable":{}}', "utf-8")
    assert offsets(path) == {}
    path.write_text('{"offset', "utf-8")
    assert offsets(path) is None


def test_all_strikes_happen_by_default() -> None:
    assert len(STRIKES) == ROUNDS[SLAVE] and STRIKES[-1].promoted
