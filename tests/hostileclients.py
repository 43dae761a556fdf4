"""Clients that send hostile frames to a broker and a name server on real sockets, and some that never read an answer."""

from __future__ import annotations

import random
import socket
import time
from collections import Counter, deque
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from hostileframes import HostileFrames
from hostileservers import Servers
from rocketproof_impl.remoting import frame
from rocketproof_impl.remoting.command import Command
from rocketproof_properties.programs.vocabulary import plain
from rocketproof_protocol import codes

WINDOW: Final = 60
"""Frames that are sent at a time; the last one is a valid request, whose answer shows that the server has taken all of them."""
FENCE: Final = 2**30
"""Opaques from here on belong to requests whose answers are waited for."""
PATIENCE: Final = 60.0
UNFINISHED: Final = 200
"""Connections that stay open with a frame that is not complete."""
UNREAD: Final = 4
"""Connections that never read."""
TOPIC: Final = "Unread"


@dataclass
class Sent:
    """What was sent. `kinds`: frames by kind; `closed`: connections that a server closed; `unread`: of them, those that never read."""

    frames: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    closed: int = 0
    unread: int = 0
    slowest: float = 0.0
    """Seconds that the slowest window took."""


class Hostile:
    """Sends windows of frames to one server."""

    def __init__(self, port: int, frames: HostileFrames, sent: Sent) -> None:
        self._port = port
        self._frames = frames
        self._sent = sent
        self._probe = plain("cluster") if frames.name_server else plain("max_offset")
        self._fence = FENCE
        self._connection = Reading(port)
        self._unfinished: deque[Reading] = deque()

    def close(self) -> None:
        for each in (*self._unfinished, self._connection):
            each.close()

    def window(self) -> None:
        """Send frames until one breaks the connection or the window is full; then the server still answers."""
        data, ends, began = [], False, time.monotonic()
        while len(data) < WINDOW and not ends:
            one = self._frames.draw()
            data.append(one.data)
            ends = one.ends
            self._sent.kinds[one.kind] += 1
        self._sent.frames += len(data)
        spoiled = data.pop() if ends else b""
        if not self._connection.exchange([*data, self._valid()], self._fence, spoiled):
            self._sent.closed += 1
            self._connection.close()
            self._connection = Reading(self._port)
        elif ends:
            self._unfinished.append(self._connection)
            if len(self._unfinished) > UNFINISHED:
                self._unfinished.popleft().close()
            self._connection = Reading(self._port)
        self._sent.slowest = max(self._sent.slowest, time.monotonic() - began)

    def _valid(self) -> bytes:
        self._fence += 1
        self._probe.opaque = self._fence
        return frame.encode(self._probe)


class Reading:
    """A connection that reads whatever comes."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), PATIENCE)
        self._buffer = bytearray()

    def close(self) -> None:
        self._socket.close()

    def exchange(self, data: list[bytes], fence: int, rest: bytes = b"") -> bool:
        """Send, read until the answer to the fence comes, send the rest. Return False if the server has closed the connection.

        Raises AssertionError if neither happens.
        """
        left = memoryview(b"".join(data))
        until = time.monotonic() + PATIENCE
        try:
            while True:
                assert time.monotonic() < until, f"no answer to {fence} in {PATIENCE} s"
                self._socket.settimeout(0.0 if left else PATIENCE)
                left = self._push(left)
                if self._pull(fence, bool(left)):
                    self._socket.settimeout(PATIENCE)
                    self._socket.sendall(rest)
                    return True
        except TimeoutError:
            raise AssertionError(f"no answer to {fence} in {PATIENCE} s") from None
        except OSError:
            return False

    def _push(self, left: memoryview) -> memoryview:
        with suppress(BlockingIOError):
            while left:
                left = left[self._socket.send(left[:65536]) :]
        return left

    def _pull(self, fence: int, more: bool) -> bool:
        """Read what is there, or wait for it if nothing is left to send; whether the answer was in it. Raises OSError if closed."""
        try:
            data = self._socket.recv(1 << 18)
        except BlockingIOError:
            time.sleep(0.0005)  # nothing has come, and perhaps there is room to send again: both are asked in turn
            return False
        if not data:
            raise ConnectionResetError
        self._buffer += data
        found = False
        while (command := frame.take(self._buffer)) is not None:
            found = found or (command.is_response and command.opaque == fence)
        return found and not more


class Unread:
    """A connection to a broker that asks for messages, settings and notifications, and reads nothing."""

    def __init__(self, port: int, seed: int, sent: Sent) -> None:
        self._port = port
        self._chance = random.Random(seed)
        self._sent = sent
        self._opaque = 0
        self.end = 0
        """The offset at which a pull waits: that of the next message."""
        self._connect()

    def _connect(self) -> None:
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self._socket.settimeout(PATIENCE)
        self._socket.connect(("127.0.0.1", self._port))
        self._socket.setblocking(False)
        self._left = b""

    def close(self) -> None:
        self._socket.close()

    def push(self) -> None:
        """Send more requests, as far as the server takes them; connect again if it has closed."""
        if not self._left:
            self._left = b"".join(frame.encode(self._request()) for _ in range(50))
        try:
            while self._left:
                self._left = self._left[self._socket.send(self._left) :]
        except BlockingIOError:
            return
        except OSError:
            self._sent.unread += 1
            self.close()
            self._connect()

    def _request(self) -> Command:
        kind = self._chance.random()
        if kind < 0.9:
            made = plain("pull", topic=TOPIC, group="never-reads")
            last = kind < 0.8
            made.ext_fields = {**(made.ext_fields or {}), "sysFlag": "6", "suspendTimeoutMillis": "600000"}
            made.ext_fields["queueOffset"] = str(self.end if last else self._chance.randrange(50))
        else:
            made = plain(self._chance.choice(("settings", "topics", "groups", "consumer", "stats")))
        self._opaque += 1
        made.opaque = self._opaque
        return made


def attack(servers: Servers, frames: int, seed: int) -> Sent:
    """Send so many frames, a third of them to the name server. Raises AssertionError if a server stops answering."""
    sent = Sent()
    brokers = [Hostile(servers.broker, HostileFrames(seed * 10 + number), sent) for number in range(2)]
    name_server = Hostile(servers.name_server, HostileFrames(seed * 10 + 9, name_server=True), sent)
    unread = [Unread(servers.broker, seed * 10 + number, sent) for number in range(UNREAD)]
    round_ = 0
    try:
        while sent.frames < frames:
            for one in (*brokers, name_server):
                one.window()
            for each in unread:
                each.push()
            if round_ % 50 == 0:
                message(servers.broker, 1_000_000)
                for each in unread:
                    each.end += 1
            round_ += 1
    finally:
        for each in (*brokers, name_server, *unread):
            each.close()
    return sent


def message(port: int, size: int) -> None:
    """Send a message that held pulls wait for. Raises AssertionError if the broker does not answer."""
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as made:
        ask(made, plain("send", topic=TOPIC, size=size))


def send_and_pull(port: int, topic: str) -> None:
    """Send a message to a new topic and pull it. Raises AssertionError if either fails."""
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as made:
        made.settimeout(PATIENCE)
        answer = ask(made, plain("send", topic=topic, body="still here"))
        assert answer.code == codes.SUCCESS, answer
        until = time.monotonic() + PATIENCE
        while True:
            found = ask(made, plain("pull", topic=topic))
            if found.code == codes.SUCCESS:
                break
            assert time.monotonic() < until, found
        assert b"still here" in (found.body or b"")


def ask(connection: socket.socket, command: Command) -> Command:
    """Return the answer to a request. Raises AssertionError if the connection ends before."""
    buffer = bytearray()
    connection.sendall(frame.encode(command))
    while (found := frame.take(buffer)) is None:
        data = connection.recv(1 << 16)
        assert data, "the server closed the connection"
        buffer += data
    return found
