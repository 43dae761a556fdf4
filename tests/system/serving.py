"""A name server and brokers on their own event loop, and sockets that exchange bytes with them."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from rocketproof_impl.broker.settings import BrokerSettings
from rocketproof_impl.remoting import frame
from rocketproof_impl.remoting.command import JSON, Command, response_to
from rocketproof_impl.remoting.dispatch import write
from rocketproof_impl.remoting.headers import SendMessageRequestHeader, encode_v2
from rocketproof_impl.remoting.ports import Channel
from rocketproof_impl.system.background import Background
from rocketproof_impl.system.listening import listening_socket
from rocketproof_impl.system.node import BrokerNode, NameServerNode
from rocketproof_impl.system.server import ServerLimits, TcpServer
from rocketproof_protocol.codes import SEND_MESSAGE_V2

PATIENCE = 20.0
SMALL = {"mapped_file_size_commit_log": 1024 * 1024, "mapped_file_size_consume_queue": 20_000}


class Echo:
    """Responds with the request's body and fields, and records requests and lost connections."""

    def __init__(self) -> None:
        self.received: list[Command] = []
        self.lost: list[Channel] = []

    def receive(self, channel: Channel, command: Command) -> None:
        self.received.append(command)
        if not command.is_one_way:
            answer = response_to(command)
            answer.code, answer.remark, answer.body, answer.ext_fields = 0, None, command.body, command.ext_fields
            write(channel, answer)

    def channel_closed(self, channel: Channel) -> None:
        self.lost.append(channel)


class EchoServer:
    """An Echo with a listener."""

    def __init__(self, background: Background, limits: ServerLimits | None = None) -> None:
        self.background = background
        self.echo = Echo()
        listening = listening_socket("127.0.0.1", 0)
        self.port: int = listening.getsockname()[1]
        self.address = f"127.0.0.1:{self.port}"
        self.tcp = TcpServer(background.threads, self.echo, limits)
        self._on_loop(lambda: self.tcp.start(listening))

    def close(self) -> None:
        self._on_loop(self.tcp.stop)

    def _on_loop(self, action: Callable[[], None]) -> None:
        async def acting() -> None:
            action()

        self.background.complete(acting())


@contextmanager
def echo_server(limits: ServerLimits | None = None) -> Iterator[EchoServer]:
    with Background() as background:
        server = EchoServer(background, limits)
        yield server
        server.close()


class Raw:
    """A connection that sends any bytes and reads frames."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), PATIENCE)
        self.buffer = bytearray()

    def __enter__(self) -> Raw:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        """Send, even if the peer has closed."""
        with suppress(OSError):
            self.socket.sendall(data)

    def command(self) -> Command | None:
        """Return the next command; None if the connection is closed."""
        while True:
            found = frame.take(self.buffer)
            if found is not None:
                return found
            try:
                data = self.socket.recv(65536)
            except ConnectionError:
                return None
            if not data:
                return None
            self.buffer += data

    def ask(self, command: Command, serialisation: int = JSON) -> Command:
        """Send a request and return its response, which is required."""
        self.send(frame.encode(command, serialisation))
        answer = self.command()
        assert answer is not None
        return answer


class Parts:
    """A name server and brokers, all with free ports, in one process."""

    def __init__(self, background: Background, folder: Path) -> None:
        self.background = background
        self.folder = folder
        self.name_server = NameServerNode()
        background.complete(self.name_server.start())
        self.brokers: dict[str, BrokerNode] = {}

    def broker(self, name: str = "broker-a", profile: str = "P49", **settings: Any) -> BrokerNode:
        """Start a broker on its previous store, if any."""
        chosen: dict[str, Any] = {
            "broker_name": name,
            "listen_port": 0,
            "name_servers": (self.name_server.address,),
            "store_path_root_dir": str(self.folder / name),
            **SMALL,
            **settings,
        }
        node = BrokerNode(BrokerSettings(**chosen), profile=profile)
        self.background.complete(node.start())
        self.brokers[name] = node
        return node

    def stop(self, name: str) -> None:
        self.background.complete(self.brokers.pop(name).stop())

    def close(self) -> None:
        self.background.complete(self._kill())
        self.background.complete(self.name_server.stop())

    async def _kill(self) -> None:
        for node in self.brokers.values():
            node.kill()


@contextmanager
def parts(folder: Path) -> Iterator[Parts]:
    with Background() as background:
        made = Parts(background, folder)
        try:
            yield made
        finally:
            made.close()


def send_command(topic: str = "T", body: bytes = b"hello", queue_id: int = 0) -> Command:
    header = SendMessageRequestHeader("pg", topic, "TBW102", 4, queue_id, 0, 1_700_000_000_000, 0, "", 0)
    return Command(SEND_MESSAGE_V2, encode_v2(header), body)
