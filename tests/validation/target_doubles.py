"""Small servers that are no brokers, a broker that is little more, and descriptions of targets for tests."""

from __future__ import annotations

import os
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rocketproof_impl.remoting.command import RESPONSE, Command
from rocketproof_impl.remoting.frame import encode, take

Serve = Callable[[socket.socket], None]


@contextmanager
def server(serve: Serve) -> Iterator[str]:
    """Serve each connection with `serve` on a free port while the context is open. Yields the address."""
    listening = socket.create_server(("127.0.0.1", 0))
    listening.settimeout(10)
    connections: list[socket.socket] = []

    def accept() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            connections.append(connection)
            threading.Thread(target=_quietly, args=(serve, connection), daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{listening.getsockname()[1]}"
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join()
        for connection in connections:
            connection.close()


def _quietly(serve: Serve, connection: socket.socket) -> None:
    try:
        serve(connection)
    except OSError:
        return


def web(connection: socket.socket) -> None:
    """Wait for the end of a line, then answer like a web server."""
    data = b""
    while b"\n" not in data:
        more = connection.recv(4096)
        if not more:
            return
        data += more
    connection.sendall(b"HTTP/1.0 400 Bad Request\r\n\r\n")
    connection.close()


def greeting(connection: socket.socket) -> None:
    """Speak first, like SSH and mail servers."""
    connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")
    connection.recv(4096)


def silent(connection: socket.socket) -> None:
    while connection.recv(4096):
        pass


def closes(connection: socket.socket) -> None:
    connection.recv(4096)
    connection.close()


def dies_inside(connection: socket.socket) -> None:
    connection.recv(4096)
    connection.sendall(b"\x00\x00\x00\x60\x00\x00")
    connection.close()


def answering(answer: Callable[[Command], Command]) -> Serve:
    """Serve each request with the function's result."""

    def serve(connection: socket.socket) -> None:
        buffer = bytearray()
        while data := connection.recv(65536):
            buffer += data
            while (request := take(buffer)) is not None:
                response = answer(request)
                response.opaque, response.flag = request.opaque, RESPONSE
                connection.sendall(encode(response))

    return serve


BROKER = """
import os, sys
from rocketproof_impl.store import threads
from rocketproof_properties.commands import main
threads.LAST_PUTS = 0
settings, *rest = (word.replace("[fresh]", str(os.getpid())) for word in sys.argv[1:])
deaf = settings.endswith("[deaf]")
lines = open(settings.removesuffix("[deaf]"), encoding="utf-8").read().splitlines()
lines = [line for line in lines if not (deaf and line.startswith("autoCreate"))]
sys.argv = ["rocketproof", "serve", "--quiet", *rest, *(word for line in lines for word in ("--set", line))]
main()
"""


def described(folder: Path, *, broker: str = "", store: str = "{store}", settings: str = "{settings}", more: str = "") -> Path:
    """Describe `rocketproof serve` as an external broker, with a start script that reads a file of settings."""
    (folder / "broker.py").write_text(BROKER, "utf-8")
    (folder / "none.properties").write_text("mappedFileSizeCommitLog=1048576\n", "utf-8")
    start = f'"{sys.executable}", "{{folder}}/broker.py"'
    text = f"""
name = "ours"
version = "1"
profile = "P494"
{more}
[name-server]
start = [{start}, "{{folder}}/none.properties", "--brokers", "0", "--nameserver-port", "{{port}}"]
env = {{ PYTHONPATH = "{os.pathsep.join(sys.path)}" }}

[broker]
start = [{start}, "{settings}", "--no-nameserver", "--nameserver", "{{name_server}}", "--port", "{{port}}", "--store", "{store}"]
env = {{ PYTHONPATH = "{os.pathsep.join(sys.path)}" }}
around = [1]
{broker}

[broker.settings]
brokerName = "{{name}}"
mappedFileSizeCommitLog = 1048576
mappedFileSizeConsumeQueue = 20000
"""
    path = folder / "ours.toml"
    path.write_text(text, "utf-8")
    return path
