"""A name server and a broker in a process of their own, which measures itself: `python hostileservers.py FOLDER PROFILE`.

It prints a line of JSON with its addresses, and another one with `Measured` for each line that it reads. It ends with its input.
"""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from rocketproof_impl.broker.settings import BrokerSettings
from rocketproof_impl.system.node import BrokerNode, NameServerNode
from rocketproof_impl.system.server import ServerLimits, TcpServer

TICK: Final = 0.05
LIMITS: Final = ServerLimits(idle=20.0)
FAULTS: Final = (" ended: ", "periodic task", "check of half messages failed")
"""What the log says of services that end, and of rounds that fail."""


@dataclass
class Measured:
    """What the process saw of itself.

    Bytes that one connection, and all of a server, left unread; seconds of processor time for which the event loop served nothing else;
    resident memory now and at most, in KiB; errors in the log that no client may cause.
    """

    unread: int = 0
    unread_total: int = 0
    held_up: float = 0.0
    resident: int = 0
    peak: int = 0
    errors: list[str] = field(default_factory=list)


class _Errors(logging.Handler):
    """Notes what only a fault of this implementation logs. A request that fails is answered, and its error is no such fault."""

    def __init__(self, measured: Measured) -> None:
        super().__init__(logging.WARNING)
        self._errors = measured.errors

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if record.name == "asyncio" or any(sign in text for sign in FAULTS):
            self._errors.append(f"{record.name}: {text}"[:2000])


def memory() -> tuple[int, int]:
    """Resident memory of this process, now and at most, in KiB."""
    rows = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text("ascii").splitlines())
    return int(rows["VmRSS"].split()[0]), int(rows["VmHWM"].split()[0])


async def _measure(measured: Measured, servers: tuple[TcpServer, ...]) -> None:
    while True:
        began = time.process_time()
        await asyncio.sleep(TICK)
        measured.held_up = max(measured.held_up, time.process_time() - began)
        for server in servers:
            sizes = [each._transport.get_write_buffer_size() for each in server.connections]
            measured.unread = max(measured.unread, *sizes, 0)
            measured.unread_total = max(measured.unread_total, sum(sizes))


async def _serve(folder: str, profile: str) -> None:
    measured = Measured()
    logging.getLogger().addHandler(_Errors(measured))
    name_server = NameServerNode(limits=LIMITS, profile=profile)
    await name_server.start()
    sizes: dict[str, Any] = {"mapped_file_size_commit_log": 64 * 2**20, "mapped_file_size_consume_queue": 20_000}
    settings = BrokerSettings(listen_port=0, name_servers=(name_server.address,), store_path_root_dir=folder, **sizes)
    broker = BrokerNode(settings, profile=profile, limits=LIMITS)
    await broker.start()
    _say({"name_server": name_server.port, "broker": settings.listen_port})
    measuring = asyncio.create_task(_measure(measured, (name_server._tcp, broker._tcp)))
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    while await lines.readline():
        measured.resident, measured.peak = memory()
        _say(asdict(measured))
    measuring.cancel()
    broker.kill()
    await name_server.stop()


def _say(data: Any) -> None:
    sys.stdout.write(json.dumps(data) + "\n")
    sys.stdout.flush()


@dataclass
class Servers:
    """The process, and where it listens on 127.0.0.1."""

    process: subprocess.Popen[str]
    broker: int
    name_server: int

    def measured(self) -> Measured:
        """Return what it measured. Raises AssertionError if the process has ended."""
        assert self.process.poll() is None, f"the servers ended with {self.process.returncode}"
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, "the servers ended"
        return Measured(**json.loads(line))


@contextmanager
def servers(folder: Path, profile: str) -> Iterator[Servers]:
    """Start the process, and end it."""
    command = [sys.executable, "-X", "utf8", __file__, str(folder), profile]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdin is not None
        try:
            ports = json.loads(process.stdout.readline())
            yield Servers(process, ports["broker"], ports["name_server"])
        finally:
            process.stdin.close()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                raise


if __name__ == "__main__":
    asyncio.run(_serve(*sys.argv[1:]))
