"""A load for a pair of master and slave, and what their logs hold."""

from __future__ import annotations

import random
from pathlib import Path

from waiting import until

from rocketproof_impl.message import Message
from rocketproof_impl.producer.result import SendResult, SendStatus
from rocketproof_impl.system.client import Client
from rocketproof_protocol.properties import DELAY, WAIT

LOG_SIZE = 1 << 20
COPIED = "Copied"


def log_bytes(store: Path) -> dict[str, bytes]:
    """Return the log files that contain data: a real broker creates the next file before it needs it."""
    found = {path.name: path.read_bytes() for path in sorted((store / "commitlog").iterdir())}
    return {name: content for name, content in found.items() if any(content)}


class Load:
    """A producer that fills several log files: sizes of all kinds, some messages delayed, some one-way."""

    def __init__(self, client: Client, name_server: str) -> None:
        self._client = client
        self._producer = client.producer("replication", name_servers=(name_server,))
        self._random = random.Random(5)

    def send(self, size: int = 10, **properties: str) -> SendResult:
        body = self._random.randbytes(size)
        return self._client.background.run(self._producer.send(Message(COPIED, body=body, properties=dict(properties)), 10_000))

    def wait_for_slave(self) -> None:
        until(lambda: self.send().status is SendStatus.SEND_OK, "no slave has followed")

    def run(self, times: int = 120) -> list[SendResult]:
        found = []
        for number in range(times):
            properties = {DELAY: "1"} if number % 10 == 3 else {WAIT: "false"} if number % 10 == 5 else {}
            found.append(self.send((1, 100, 5000, 40_000)[number % 4], **properties))
        assert {result.status for result in found} == {SendStatus.SEND_OK}
        return found
