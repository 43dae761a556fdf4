"""The caller's side of a connection: answers and their requests, and all the ways not to get one."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor

import pytest
from serving import PATIENCE, Echo, EchoServer, echo_server

from rocketproof_impl.remoting import frame
from rocketproof_impl.remoting.command import ONE_WAY, ROCKETMQ, Command, response_to
from rocketproof_impl.remoting.errors import ConnectFailed, SendFailed, TimedOut
from rocketproof_impl.remoting.ports import Channel
from rocketproof_impl.system.client import Client
from rocketproof_impl.system.listening import listening_socket
from rocketproof_protocol.codes import CHECK_TRANSACTION_STATE

behaviour = pytest.mark.behaviour


@pytest.fixture
def server() -> Iterator[EchoServer]:
    with echo_server() as made:
        yield made


@behaviour("REM-05")
def test_concurrent_callers_get_their_own_responses(server: EchoServer) -> None:
    with Client() as client, ThreadPoolExecutor(16) as pool:

        def ask(number: int) -> bytes | None:
            return client.call(server.address, Command(1, body=b"%d" % number, serialisation=number % 2), 20_000).body

        assert list(pool.map(ask, range(400))) == [b"%d" % number for number in range(400)]
        assert len(server.tcp.connections) == 1
        assert client.network._links[server.address].pending == {}


class Silent(Echo):
    """Keeps requests to answer them in another order."""

    def receive(self, channel: Channel, command: Command) -> None:
        self.received.append(command)
        if len(self.received) == 3:
            for request in reversed(self.received):
                answer = response_to(request)
                answer.code = request.code
                channel.write(answer)


@behaviour("REM-05")
def test_responses_arrive_in_any_order(server: EchoServer) -> None:
    server.tcp._receiver = Silent()
    with Client() as client:
        begun = [client.begin(server.address, Command(code), 20_000) for code in (5, 6, 7)]
        assert [response.result(PATIENCE).code for response in begun] == [5, 6, 7]


@behaviour("REM-12")
def test_one_way_request_waits_for_nothing(server: EchoServer) -> None:
    with Client() as client:
        client.post(server.address, Command(8))
        client.call(server.address, Command(9), 20_000)
    assert [(request.code, request.flag) for request in server.echo.received] == [(8, ONE_WAY), (9, 0)]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.parametrize("address", ["127.0.0.1", "127.0.0.1:port", "127.0.0.1:99999999", ":", ""])
def test_invalid_address_cannot_be_connected(address: str) -> None:
    with Client() as client, pytest.raises(ConnectFailed, match=f"connect to {address} failed"):
        client.call(address, Command(1))


def test_connection_without_listener_is_refused() -> None:
    address = f"127.0.0.1:{free_port()}"
    with Client() as client:
        for attempt in (client.call, client.post):
            with pytest.raises(ConnectFailed, match=f"connect to {address} failed"):
                attempt(address, Command(1))


def test_no_answer_in_time(server: EchoServer) -> None:
    server.tcp._receiver = Silent()
    with Client() as client:
        with pytest.raises(TimedOut, match=r"timeout, 30\(ms\)"):
            client.call(server.address, Command(1), 30)
        assert client.network._links[server.address].pending == {}


def test_lost_connection_fails_waiters_and_is_reopened(server: EchoServer) -> None:
    server.tcp._receiver = Silent()
    with Client() as client:
        waiting = client.begin(server.address, Command(1), 20_000)
        while not server.tcp._receiver.received:
            pass
        (connection,) = server.tcp.connections
        server.background.threads.loop.call_soon_threadsafe(connection.abort)
        with pytest.raises(SendFailed, match="is lost"):
            waiting.result(PATIENCE)
        server.tcp._receiver = server.echo
        assert client.call(server.address, Command(2), 20_000).code == 0


def test_server_with_other_protocol_is_abandoned() -> None:
    with listening_socket("127.0.0.1", 0) as made, Client() as client:
        waiting = client.begin(f"127.0.0.1:{made.getsockname()[1]}", Command(1), 20_000)
        accepted, _ = made.accept()
        with accepted:
            accepted.sendall(struct.pack(">I", frame.MAX_FRAME + 1))
            with pytest.raises(SendFailed):
                waiting.result(PATIENCE)


@pytest.mark.parametrize(
    ("notices_ends", "resets", "failure"),
    [(True, False, SendFailed), (False, False, TimedOut), (True, True, SendFailed), (False, True, SendFailed)],
)
def test_waiters_notice_connection_end_by_release_and_reset_always(notices_ends: bool, resets: bool, failure: type[Exception]) -> None:
    with listening_socket("127.0.0.1", 0) as made, Client(notices_ends=notices_ends) as client:
        address, millis = f"127.0.0.1:{made.getsockname()[1]}", 300 if failure is TimedOut else 20_000
        waiting = client.begin(address, Command(1), millis)
        accepted, _ = made.accept()
        with accepted:
            assert accepted.recv(4096)
            if resets:
                accepted.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        with pytest.raises(failure):
            waiting.result(PATIENCE)
        again = client.begin(address, Command(2), 20_000)
        accepted, _ = made.accept()
        with accepted:
            assert accepted.recv(4096), "it is made again"
            client.background.threads.loop.call_soon_threadsafe(client.network.close)
            with pytest.raises(SendFailed):
                again.result(PATIENCE)


class Producerlike(Echo):
    """Answers a broker's requests to a client."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = threading.Event()

    def receive(self, channel: Channel, command: Command) -> None:
        super().receive(channel, command)
        self.asked.set()


def test_requests_of_server_reach_receiver(server: EchoServer) -> None:
    receiver = Producerlike()
    with Client(receiver) as client:
        client.call(server.address, Command(1), 20_000)
        (connection,) = server.tcp.connections
        request = Command(CHECK_TRANSACTION_STATE, {"a": "b"}, opaque=1, flag=ONE_WAY)
        server.background.threads.loop.call_soon_threadsafe(connection.write, request)
        assert receiver.asked.wait(PATIENCE)
        assert (receiver.received[0].code, receiver.received[0].ext_fields) == (CHECK_TRANSACTION_STATE, {"a": "b"})
    assert len(receiver.lost) == 1


def test_unawaited_response_and_request_without_receiver_are_dropped(server: EchoServer) -> None:
    with Client() as client:
        client.call(server.address, Command(1), 20_000)
        (connection,) = server.tcp.connections
        for command in (Command(0, opaque=4711, flag=1), Command(39, opaque=1)):
            server.background.threads.loop.call_soon_threadsafe(connection.write, command)
        assert client.call(server.address, Command(1), 20_000).code == 0


def test_form_of_request_is_kept(server: EchoServer) -> None:
    with Client() as client:
        assert client.call(server.address, Command(1, serialisation=ROCKETMQ), 20_000).serialisation == ROCKETMQ


def test_closing_client_fails_waiters(server: EchoServer) -> None:
    server.tcp._receiver = Silent()
    with Client() as client:
        waiting = client.begin(server.address, Command(1), 20_000)
        while not server.tcp._receiver.received:
            pass
    with pytest.raises(CancelledError):
        waiting.result(PATIENCE)
