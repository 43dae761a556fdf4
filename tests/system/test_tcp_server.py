"""The listener: frames, both serialisations, and clients that violate the protocol."""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from serving import PATIENCE, Echo, EchoServer, Raw, echo_server

from rocketproof_impl.remoting import frame
from rocketproof_impl.remoting.command import JSON, ONE_WAY, ROCKETMQ, Command
from rocketproof_impl.remoting.ports import Channel
from rocketproof_impl.system.background import Background
from rocketproof_impl.system.connection import TURN, ServerConnection
from rocketproof_impl.system.listening import BACKLOG, listening_socket
from rocketproof_impl.system.server import ServerLimits, TcpServer

behaviour = pytest.mark.behaviour
FORMS = pytest.mark.parametrize("serialisation", [JSON, ROCKETMQ])


@pytest.fixture(scope="module")
def server() -> object:
    with echo_server() as made:
        yield made


def alive(server: EchoServer) -> None:
    """The server answers a new connection."""
    with Raw(server.port) as raw:
        assert raw.ask(Command(1, opaque=77)).opaque == 77


@FORMS
@behaviour("REM-01")
def test_response_has_form_of_request(server: EchoServer, serialisation: int) -> None:
    with Raw(server.port) as raw:
        answer = raw.ask(Command(9, {"a": "ä"}, b"body", opaque=5), serialisation)
        assert (answer.code, answer.ext_fields, answer.body) == (0, {"a": "ä"}, b"body")
        assert (answer.opaque, answer.serialisation) == (5, serialisation)


def test_frames_arrive_in_any_pieces(server: EchoServer) -> None:
    data = b"".join(frame.encode(Command(1, opaque=n), n % 2) for n in range(20))
    with Raw(server.port) as raw:
        raw.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for start in range(0, len(data), 7):
            raw.send(data[start : start + 7])
        found = [raw.command() for _ in range(20)]
        assert [response.opaque for response in found if response] == list(range(20))


def test_one_way_request_gets_no_response(server: EchoServer) -> None:
    with Raw(server.port) as raw:
        raw.send(frame.encode(Command(1, opaque=1, flag=ONE_WAY)))
        assert raw.ask(Command(1, opaque=2)).opaque == 2


LYING = {
    "a byte over the limit": struct.pack(">I", frame.MAX_FRAME + 1),
    "all ones": b"\xff" * 8,
    "a header longer than its frame": struct.pack(">II", 8, 100) + b"{}{}",
    "an unknown serialisation": struct.pack(">II", 6, 7 << 24 | 2) + b"{}",
    "no room for the word": struct.pack(">I", 2) + b"ab",
    "nothing at all": struct.pack(">I", 0),
    "no JSON": struct.pack(">II", 7, 3) + b"abc",
    "JSON without a code": struct.pack(">II", 6, 2) + b"{}",
    "JSON that is a list": struct.pack(">II", 6, 2) + b"[]",
    "JSON so deep that it cannot be read": struct.pack(">II", 100_004, 100_000) + b"[" * 100_000,
    "a number without end": struct.pack(">II", 4 + 20_010, 20_010) + b'{"code":1' + b"1" * 20_000 + b"}",
    "a binary header that is cut": struct.pack(">II", 8, 1 << 24 | 4) + b"abcd",
}


@pytest.mark.parametrize("data", LYING.values(), ids=LYING.keys())
@behaviour("REM-01")
def test_invalid_frame_closes_only_its_connection(server: EchoServer, data: bytes) -> None:
    before = len(server.echo.received)
    with Raw(server.port) as raw:
        raw.send(data)
        assert raw.command() is None
    assert len(server.echo.received) == before
    alive(server)


def survive(raw: Raw, data: bytes) -> None:
    """Send only these bytes, and read all responses."""
    raw.send(data)
    raw.socket.shutdown(socket.SHUT_WR)
    while raw.command() is not None:
        pass


@given(data=st.binary(max_size=600))
@settings(max_examples=30)
def test_no_bytes_end_server(server: EchoServer, data: bytes) -> None:
    with Raw(server.port) as raw:
        survive(raw, data)
    alive(server)


@given(cut=st.integers(0, 200), change=st.integers(0, 255), at=st.integers(0, 200), form=st.sampled_from([JSON, ROCKETMQ]))
@settings(max_examples=30)
def test_truncated_or_corrupt_frames_do_not_end_server(server: EchoServer, cut: int, change: int, at: int, form: int) -> None:
    data = bytearray(frame.encode(Command(10, {"a": "b", "c": "1"}, b"xyz", opaque=3, remark="r"), form))
    data[at % len(data)] = change
    with Raw(server.port) as raw:
        survive(raw, bytes(data[: len(data) - cut % len(data)]))
    alive(server)


def test_frame_of_sixteen_mebibytes_is_served() -> None:
    with echo_server() as server, Raw(server.port) as raw:
        data = frame.encode(Command(1, opaque=4, body=bytes(frame.MAX_FRAME - 200)))
        assert frame.MAX_FRAME - 200 < len(data) - 4 <= frame.MAX_FRAME
        sender = threading.Thread(target=raw.send, args=(data,))
        sender.start()
        answer = raw.command()
        sender.join(PATIENCE)
        assert answer is not None and len(answer.body or b"") == frame.MAX_FRAME - 200


def test_claimed_length_takes_no_memory() -> None:
    with echo_server() as server, Raw(server.port) as raw:
        raw.send(struct.pack(">I", frame.MAX_FRAME) + b"x" * 10)
        alive(server)
        assert server.tcp._incomplete == 14


def test_incomplete_frames_have_bound_over_all_connections() -> None:
    with echo_server(ServerLimits(incomplete=100_000)) as server:
        begun = struct.pack(">I", 90_000) + b"x" * 60_000
        with Raw(server.port) as first, Raw(server.port) as second:
            first.send(begun)
            wait_until(server, lambda: server.tcp._incomplete >= 60_000)
            second.send(begun)
            assert second.command() is None
            alive(server)
            assert server.tcp._incomplete == 60_004


def test_server_stops_reading_from_client_that_reads_nothing() -> None:
    """The responses exceed the buffers of both sides; the unwritten rest stays bounded."""
    asked = 400
    with echo_server() as server, Raw(server.port) as raw:
        data = frame.encode(Command(1, body=bytes(100_000))) * asked
        sender = threading.Thread(target=raw.send, args=(data,))
        sender.start()
        wait_until(server, lambda: any(connection._stuck for connection in server.tcp.connections))
        (connection,) = server.tcp.connections
        assert connection._transport.get_write_buffer_size() < 3 * 1024 * 1024
        assert len(server.echo.received) < asked
        alive(server)
        for _ in range(asked):
            assert raw.command() is not None
        sender.join(PATIENCE)
        assert len(server.echo.received) == asked + 1


def test_received_requests_are_served_though_responses_cannot_be_written() -> None:
    """The Go client sends one-way messages as requests without awaiting responses: they count even after it left."""
    data = b"".join(frame.encode(Command(1, opaque=number)) for number in range(20))
    with echo_server() as server:
        with Raw(server.port) as raw:
            raw.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            raw.ask(Command(1, opaque=99))
            began, gone = threading.Event(), threading.Event()
            holding = threading.Thread(target=server.background.complete, args=(occupied(began, gone),))
            holding.start()
            assert began.wait(PATIENCE)
            raw.send(data)
        gone.set()
        holding.join(PATIENCE)
        wait_until(server, lambda: server.echo.lost)
        assert [command.opaque for command in server.echo.received] == [99, *range(20)]


class Gone(asyncio.Transport):
    """The transport of a connection whose peer has gone: writes are dropped."""

    def is_closing(self) -> bool:
        return True

    def close(self) -> None:
        pass

    def abort(self) -> None:
        pass

    def get_write_buffer_size(self) -> int:
        return 0

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass


class Turns(asyncio.SelectorEventLoop):
    """A loop on which nothing runs until `go`, and whose time, in seconds, a test sets."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.next: list[Callable[..., object]] = []

    def time(self) -> float:
        return self.now

    def call_soon(self, callback: Callable[..., object], *args: object, context: object = None) -> Any:
        self.next.append(callback)

    def go(self) -> None:
        turn, self.next = self.next, []
        for callback in turn:
            callback()


class Slow(Echo):
    """Takes time for each request, in seconds."""

    def __init__(self, loop: Turns, seconds: float) -> None:
        super().__init__()
        self.loop = loop
        self.seconds = seconds

    def receive(self, channel: Channel, command: Command) -> None:
        self.received.append(command)
        self.loop.now += self.seconds


def test_large_sender_does_not_delay_others() -> None:
    data = frame.encode(Command(1)) * 10
    with Background() as background, closing(Turns()) as loop:
        slow = Slow(loop, TURN / 2)
        connection = ServerConnection(TcpServer(background.threads, slow), loop)
        connection.connection_made(Gone({"peername": ("127.0.0.1", 1)}))
        connection.data_received(data)
        assert len(slow.received) == 2
        connection.data_received(data)
        assert (len(slow.received), len(loop.next)) == (2, 1)
        loop.go()
        assert len(slow.received) == 4
        connection.connection_lost(None)
        assert (len(slow.received), slow.lost) == (4, [])
        while loop.next:
            loop.go()
        assert (len(slow.received), slow.lost) == (20, [connection])


def lose(server: EchoServer, came: bytes, unread: bytes, why: OSError | None) -> list[int]:
    """Lose a connection that received `came` while the system still buffers the rest. Return the requests served."""
    ours, theirs = socket.socketpair()
    with ours, closing(Turns()) as loop:
        with theirs:
            theirs.sendall(unread)
        connection = ServerConnection(server.tcp, loop)
        connection.connection_made(Gone({"socket": ours, "peername": ("127.0.0.1", 1)}))
        connection.data_received(came)
        connection.connection_lost(why)
    assert server.echo.lost == [connection]
    return [command.opaque for command in server.echo.received]


@pytest.mark.parametrize(("why", "served"), [(BrokenPipeError(), 30), (None, 10)], ids=["broken", "closed by us"])
def test_received_data_of_broken_connection_is_served(why: OSError | None, served: int) -> None:
    frames = [frame.encode(Command(1, opaque=number)) for number in range(30)]
    with echo_server() as server:
        assert lose(server, b"".join(frames[:10]), b"".join(frames[10:]), why) == list(range(served))


def test_nothing_after_invalid_frame_of_broken_connection_is_served(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rocketproof_impl.system.connection.PIECE", 4)
    with echo_server() as server:
        assert lose(server, b"", struct.pack(">I", 0) + frame.encode(Command(1, opaque=7)), BrokenPipeError()) == []


def test_requests_waiting_for_reader_are_served_when_it_leaves() -> None:
    data = frame.encode(Command(1, body=bytes(1000)))
    with echo_server() as server:
        with Raw(server.port) as raw:
            sender = threading.Thread(target=raw.send, args=(data * 40_000,))
            sender.start()
            wait_until(
                server, lambda: any(connection._stuck and len(connection._buffer) > len(data) for connection in server.tcp.connections)
            )
            (connection,) = server.tcp.connections
            served, waiting = len(server.echo.received), len(connection._buffer) // len(data)
            raw.socket.shutdown(socket.SHUT_RDWR)
            sender.join(PATIENCE)
        wait_until(server, lambda: server.echo.lost)
        assert len(server.echo.received) >= served + waiting > served


async def occupied(began: threading.Event, ended: threading.Event) -> None:
    """Block the loop: set `began`, then wait for `ended`."""
    began.set()
    assert ended.wait(PATIENCE)


def test_number_of_connections_is_limited() -> None:
    with echo_server(ServerLimits(connections=2)) as server, Raw(server.port) as first, Raw(server.port) as second:
        wait_until(server, lambda: len(server.tcp.connections) == 2)
        with Raw(server.port) as third:
            assert third.command() is None
        for raw in (first, second):
            raw.ask(Command(1, opaque=6))
    assert len(server.echo.lost) == 2


@pytest.mark.parametrize("said", [b"", b"\x00\x00"], ids=["silent", "a frame that never ends"])
def test_idle_connection_is_closed_after_two_minutes(said: bytes) -> None:
    with echo_server() as server:
        assert server.tcp._limits.idle == 120
        with Raw(server.port) as raw:
            raw.send(said)
            wait_until(server, lambda: len(server.tcp.connections) == 1 and server.tcp._incomplete == len(said))
            (connection,) = server.tcp.connections
            server.background.complete(sweep(server))
            assert not connection.closing
            if connection.began is None:
                connection.active -= 121
            else:
                connection.began -= 121  # a byte now and then does not help
            server.background.complete(sweep(server))
            assert raw.command() is None


async def sweep(server: EchoServer) -> None:
    server.tcp.sweep()


@behaviour("REM-11")
def test_socket_options_follow_description() -> None:
    assert BACKLOG == 1024
    with listening_socket("127.0.0.1", 0) as made:
        assert made.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR) == 1
        assert made.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 0
        assert made.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1


@behaviour("REM-11")
def test_connection_sends_at_once_and_is_not_kept_alive() -> None:
    with echo_server() as server, Raw(server.port):
        wait_until(server, lambda: len(server.tcp.connections) == 1)
        (connection,) = server.tcp.connections
        made = connection._transport.get_extra_info("socket")
        assert made.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1
        assert made.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 0


def test_port_in_use_is_error() -> None:
    with listening_socket("127.0.0.1", 0) as made, pytest.raises(OSError, match="in use"):
        listening_socket("127.0.0.1", made.getsockname()[1])


def wait_until(server: EchoServer, done: object) -> None:
    """Wait on the server's loop, so that it reads nothing before the change."""

    async def waiting() -> None:
        async with asyncio.timeout(PATIENCE):
            while not done():  # type: ignore[operator]
                await asyncio.sleep(0.002)

    server.background.complete(waiting())


def test_background_loop_can_be_left_with_connections_open() -> None:
    with Background() as background:
        server = EchoServer(background)
        raw = Raw(server.port)
        raw.ask(Command(1, opaque=9))
    assert raw.command() is None
    raw.socket.close()
