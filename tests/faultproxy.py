"""A proxy between a client and a target that does to frames what networks, load balancers and sick hosts do to them.

    with FaultProxy(address, {Fault.CLOSE_AFTER: 0.05, Fault.SLOW: 0.2}, seed=1) as proxy:
        ask(proxy.address)                     # one request in twenty loses its connection once it was passed on
    FaultProxy(address, at={3: Fault.HALF})    # the third request gets half an answer, and nothing more
    FaultyTarget(InProcess("P494"), MILD)      # a target for `validate`, with a proxy before each of its parts

A fault is drawn for each request, from the seed; connections of several threads share the draws. What belongs to an answer happens to
requests that want one; a one-way request only loses its connection. Whatever a fault does not name passes byte for byte.
"""

from __future__ import annotations

import contextlib
import random
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Final, Self

from rocketproof_impl.remoting.command import Command
from rocketproof_impl.remoting.errors import RemotingError
from rocketproof_impl.remoting.frame import decode, encode
from rocketproof_properties.brokers.deployment import DEFAULT, Deployment, Setup, ValidationTarget
from rocketproof_properties.programs.parts import NAME_SERVER


class Fault(Enum):
    """What may become of a request and its answer."""

    CLOSE_BEFORE = "the connection is closed, and the request was not passed on"
    CLOSE_AFTER = "the connection is closed when the request was passed on"
    CLOSE_INSIDE = "the connection is closed in the middle of the answer"
    GARBAGE = "bytes that are no frame come instead of the answer"
    UNREADABLE = "the answer's frame is as long as it says, and its header cannot be read"
    SLOW = "the answer comes late"
    DRIBBLE = "the answer comes in pieces with pauses between them"
    HALF = "half an answer comes, and nothing more"
    SILENT = "no answer comes, ever"
    TWICE = "the answer comes twice"
    DOUBLED = "the request is passed on twice, and both answers come"
    LATER = "the answer waits for the connection's next one, or a moment"
    CHANGED = "a field of the answer is another one, is missing or says nothing; its code or its body is another"
    REFUSED = "all connections are closed, and for a while nobody listens"


OF_FRAMES: Final = tuple(fault for fault in Fault if fault is not Fault.CHANGED)
"""What a client can tell from a wrong answer."""
LOST: Final = (Fault.CLOSE_BEFORE, Fault.CLOSE_AFTER, Fault.CLOSE_INSIDE, Fault.GARBAGE, Fault.UNREADABLE, Fault.HALF, Fault.SILENT)
"""Faults after which nobody knows what the request did."""
MILD: Final[Mapping[Fault, float]] = {
    **dict.fromkeys(LOST, 0.002),
    Fault.TWICE: 0.002,
    Fault.DOUBLED: 0.002,
    Fault.LATER: 0.01,
    Fault.SLOW: 0.02,
    Fault.DRIBBLE: 0.02,
    Fault.REFUSED: 0.0005,
}
"""A little of everything that is no wrong answer."""

_ONE_WAY: Final = (Fault.CLOSE_BEFORE, Fault.CLOSE_AFTER, Fault.REFUSED)
_FLAG: Final = 2  # the bit of a header's flag that says: one-way
_GARBAGE: Final = b"\xff\xfe HTTP/1.1 502 Bad Gateway\r\n\r\n"
_PIECES: Final = 5
_PAUSE: Final = 0.004
_LATER: Final = 0.02
_AWAY: Final = 0.3


class FaultProxy:
    """A proxy on a free port of 127.0.0.1; `rates` has each fault's share of the requests, `at` the fault of the n-th one, from 1, `of`
    that of all requests with a code.

    The first `after` requests pass as they are. A `slow` answer comes so many seconds late. `renamed`: texts in the bodies of answers, each
    with what comes instead, such as the addresses of brokers that are behind proxies, too. `happened` counts what was done.
    """

    def __init__(
        self,
        address: str,
        rates: Mapping[Fault, float] | None = None,
        *,
        at: Mapping[int, Fault] | None = None,
        of: Mapping[int, Fault] | None = None,
        seed: int = 0,
        after: int = 0,
        slow: float = 0.03,
        renamed: Mapping[str, str] | None = None,
    ) -> None:
        host, _, port = address.rpartition(":")
        self._upstream = host, int(port)
        self._rates, self._at, self._of, self._after = dict(rates or {}), dict(at or {}), dict(of or {}), after
        self._renamed = {old.encode(): new.encode() for old, new in (renamed or {}).items()}
        self.slow = slow
        self._chance = random.Random(seed)
        self._lock = threading.Lock()
        self._requests = 0
        self._pairs: set[_Pair] = set()
        self._closed = False
        self.happened: Counter[Fault] = Counter()
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._port = self._listening.getsockname()[1]
        self.address = f"127.0.0.1:{self._port}"
        self._begin()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close everything; nobody listens at the address behind it."""
        self._closed = True
        self._stop_listening()
        self._close_all()

    def fault(self, request: Command) -> Fault | None:
        """The fault of the next request, None for most."""
        with self._lock:
            self._requests += 1
            found = self._at.get(self._requests, self._of.get(request.code)) if self._requests > self._after else None
            if found is None and self._requests > self._after:
                drawn = self._chance.random()
                for fault, rate in self._rates.items():
                    drawn -= rate
                    if drawn < 0:
                        found = fault
                        break
            if found is None or (request.flag & _FLAG and found not in _ONE_WAY):
                return None
            self.happened[found] += 1
            return found

    def passed(self, frame: bytes, answer: Command) -> bytes:
        """The frame of an answer as it goes on to the client."""
        body = answer.body or b""
        if not any(old in body for old in self._renamed):
            return frame
        for old, new in self._renamed.items():
            body = body.replace(old, new)
        answer.body = body
        return encode(answer)

    def changed(self, answer: Command) -> None:
        """Another value in one field of an answer, a text that is no number, no such field; or another code, or a garbled body."""
        fields = {name: text for name, text in (answer.ext_fields or {}).items() if text}
        with self._lock:
            name = self._chance.choice(sorted(fields)) if fields else ""
            way = self._chance.choice(("other", "other", "other", "strange", "missing"))
        if name and way == "other":
            text = fields[name]
            answer.ext_fields = {**fields, name: str(int(text) + 1) if text.isdecimal() else text[:-1] + ("A" if text[-1] != "A" else "B")}
        elif name:
            answer.ext_fields = {key: text for key, text in fields.items() if key != name} | ({name: "?"} if way == "strange" else {})
        elif answer.body and way != "other":
            answer.body = answer.body[::-1] if way == "strange" else answer.body[: len(answer.body) // 2]
        else:
            answer.code += 1

    def away(self) -> None:
        """Close all connections and refuse new ones for a while."""
        with self._lock:
            if self._closed:
                return
        self._stop_listening()
        self._close_all()
        time.sleep(_AWAY)
        with self._lock:
            if not self._closed:
                self._listening = socket.create_server(("127.0.0.1", self._port))
                self._begin()

    def _begin(self) -> None:
        threading.Thread(target=self._accept, args=(self._listening,), daemon=True).start()

    def _accept(self, listening: socket.socket) -> None:
        while True:
            try:
                client, _ = listening.accept()
            except OSError:
                return
            try:
                pair = _Pair(self, client, socket.create_connection(self._upstream, timeout=5))
            except OSError:
                client.close()
                continue
            with self._lock:
                self._pairs.add(pair)
            pair.begin()

    def forget(self, pair: _Pair) -> None:
        with self._lock:
            self._pairs.discard(pair)

    def _stop_listening(self) -> None:
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()

    def _close_all(self) -> None:
        with self._lock:
            pairs = list(self._pairs)
        for pair in pairs:
            pair.close()


class _Pair:
    """A client's connection, and the one to the target that belongs to it."""

    def __init__(self, proxy: FaultProxy, client: socket.socket, server: socket.socket) -> None:
        self._proxy, self._client, self._server = proxy, client, server
        self._faults: dict[int, Fault] = {}
        self._held: list[bytes] = []
        self._silent = False
        self._lock = threading.Lock()
        for one in (client, server):
            one.settimeout(None)
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def begin(self) -> None:
        for work in (self._requests, self._answers):
            threading.Thread(target=self._quietly, args=(work,), daemon=True).start()

    def close(self) -> None:
        for one in (self._client, self._server):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
        self._proxy.forget(self)

    def _quietly(self, work: Callable[[], None]) -> None:
        with contextlib.suppress(OSError, RemotingError):
            work()
        self.close()

    def _requests(self) -> None:
        for frame in _frames(self._client):
            request = decode(frame[4:])
            fault = self._proxy.fault(request)
            if fault is Fault.REFUSED:
                self._proxy.away()
                return
            if fault is Fault.CLOSE_BEFORE:
                return
            if fault is not None:
                self._faults[request.opaque] = fault
            if fault is Fault.CLOSE_AFTER:
                self._silent = True
            self._server.sendall(frame * (2 if fault is Fault.DOUBLED else 1))
            if fault is Fault.CLOSE_AFTER:
                time.sleep(_PAUSE)  # what is closed at once may take the request with it
                return

    def _answers(self) -> None:
        for frame in _frames(self._server):
            answer = decode(frame[4:])
            fault = self._faults.pop(answer.opaque, None)
            if not self._silent:
                self._answer(self._proxy.passed(frame, answer), fault)

    def _answer(self, frame: bytes, fault: Fault | None) -> None:
        if fault is Fault.LATER:
            self._held.append(frame)
            threading.Timer(_LATER, self._quietly_release).start()
            return
        match fault:
            case Fault.CLOSE_INSIDE:
                self._send(frame[: len(frame) // 2])
                raise OSError("closed")
            case Fault.GARBAGE:
                self._send(_GARBAGE)
            case Fault.UNREADABLE:
                self._send(frame[:8] + b"\xff" * (len(frame) - 8))
            case Fault.HALF:
                self._silent = True
                self._send(frame[: len(frame) // 2])
            case Fault.SILENT:
                pass
            case Fault.SLOW:
                time.sleep(self._proxy.slow)
                self._send(frame)
            case Fault.DRIBBLE:
                size = max(1, len(frame) // _PIECES)
                for at in range(0, len(frame), size):
                    self._send(frame[at : at + size])
                    time.sleep(_PAUSE)
            case Fault.TWICE:
                self._send(frame * 2)
            case Fault.CHANGED:
                answer = decode(frame[4:])
                self._proxy.changed(answer)
                self._send(encode(answer))
            case _:
                self._send(frame)
        self._release()

    def _release(self) -> None:
        with self._lock:
            held, self._held = self._held, []
        for frame in held:
            self._send(frame)

    def _quietly_release(self) -> None:
        with contextlib.suppress(OSError):
            self._release()

    def _send(self, data: bytes) -> None:
        with self._lock:
            self._client.sendall(data)


def _frames(source: socket.socket) -> Iterator[bytes]:
    """The frames that arrive, each with its length."""
    buffer = bytearray()
    while data := source.recv(1 << 16):
        buffer += data
        while len(buffer) >= 4 and len(buffer) >= (size := 4 + int.from_bytes(buffer[:4], "big")):
            yield bytes(buffer[:size])
            del buffer[:size]


class FaultyTarget(ValidationTarget):
    """A target behind a proxy for each of its parts, whose seeds follow each other; otherwise what it is. `of` and `after` as there."""

    def __init__(
        self,
        inner: ValidationTarget,
        rates: Mapping[Fault, float] | None = None,
        *,
        of: Mapping[int, Fault] | None = None,
        seed: int = 0,
        after: int = 0,
    ) -> None:
        self._inner, self._rates, self._of, self._seed, self._after = inner, rates, of, seed, after
        self.name, self.version, self.profile, self.offers = f"{inner.name} behind a proxy", inner.version, inner.profile, inner.offers
        self.happened: Counter[Fault] = Counter()

    def open(self, setup: Setup = DEFAULT) -> Deployment:
        return _Behind(self._inner.open(setup), self._proxy, self.happened)

    def _proxy(self, address: str) -> FaultProxy:
        self._seed += 1
        return FaultProxy(address, self._rates, of=self._of, seed=self._seed, after=self._after)


class _Behind(Deployment):
    """A deployment whose parts are reached through proxies; what is not asked over the wire is asked of it directly."""

    def __init__(self, inner: Deployment, proxy: Callable[[str], FaultProxy], happened: Counter[Fault]) -> None:
        self._inner, self._happened = inner, happened
        self.name, self.offers = inner.name, inner.offers
        self._proxies: dict[str, FaultProxy] = {}
        for part in (*((NAME_SERVER,) if inner.name_server else ()), *inner.brokers):
            address = inner.address(part)
            assert address is not None
            self._proxies[part] = proxy(address)
        server = self._proxies.get(NAME_SERVER)
        self.name_server = None if server is None else server.address
        self.brokers = {name: self._proxies[name].address for name in inner.brokers}

    def stop(self, part: str) -> None:
        self._inner.stop(part)

    def kill(self, part: str) -> None:
        self._inner.kill(part)

    def restart(self, part: str, settings: Mapping[str, str] | None = None) -> None:
        self._inner.restart(part, settings)

    def configure(self, broker: str, settings: Mapping[str, str]) -> None:
        self._inner.configure(broker, settings)

    def store(self, broker: str) -> Path:
        return self._inner.store(broker)

    def log(self, part: str) -> str:
        return self._inner.log(part)

    def close(self) -> None:
        for one in self._proxies.values():
            one.close()
            self._happened.update(one.happened)
            one.happened.clear()
        self._inner.close()
