"""TCP proxies in front of a deployment: they record what any client sends as a history, and inject faults of requests and connections.

Input: the deployment, and its clients' frames. Output: the frames, with each broker's address replaced by its proxy's in routes, and the
events of a history (`runs.recording`).
"""

from __future__ import annotations

import itertools
import socket
import struct
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from rocketproof_impl.remoting.command import Command, response_to
from rocketproof_impl.remoting.frame import FrameError, decode, encode, size_of_first
from rocketproof_impl.system.node import sockets
from rocketproof_protocol import codes
from rocketproof_protocol.fields import FULL_NAMES
from rocketproof_traces.history.exchanges import STRAY
from rocketproof_traces.history.recordings import OPS

from ..programs.call import RecordedCall
from ..programs.parts import NAME_SERVER
from ..reports.choices import known
from .deployment import Deployment
from .ports import HOST
from .proxy import ForwardingProxy, ProxyLink
from .runs.recording import HistoryRecorder, answer_data, call_data, wall

OTHER: Final = "other"
OPERATIONS: Final[Mapping[int, str]] = {
    **OPS,
    codes.PULL_MESSAGE: "pull",
    codes.QUERY_MESSAGE: "find",
    codes.VIEW_MESSAGE_BY_ID: "view",
    codes.GET_ALL_TOPIC_CONFIG: "topics",
    codes.GET_BROKER_CONFIG: "settings",
    codes.SEARCH_OFFSET_BY_TIMESTAMP: "search",
    codes.GET_MIN_OFFSET: "min_offset",
    codes.GET_EARLIEST_MSG_STORETIME: "earliest",
    codes.UNREGISTER_CLIENT: "leave",
    codes.GET_CONSUMER_LIST_BY_GROUP: "members",
    codes.LOCK_BATCH_MQ: "lock",
    codes.UNLOCK_BATCH_MQ: "unlock",
    codes.GET_ALL_SUBSCRIPTIONGROUP_CONFIG: "groups",
    codes.GET_TOPIC_STATS_INFO: "stats",
    codes.GET_BROKER_CLUSTER_INFO: "cluster",
}
"""The operations of a history by request code: those of recorded cases, and others of clients. Other requests are `other`."""
_SHORT: Final = (codes.SEND_MESSAGE_V2, codes.SEND_BATCH_MESSAGE)
_ROUTES: Final = (codes.GET_ROUTEINFO_BY_TOPIC, codes.GET_BROKER_CLUSTER_INFO)
_WORD: Final = struct.Struct(">I")
_LOST: Final = "SendFailed: the connection was closed before the response"

Effect = Literal["lose request", "lose response", "reject", "delay"]


@dataclass
class RequestFault:
    """A fault of the next `times` requests of an operation to a broker; "" stands for any.

    - `lose request`: it is not passed on, and the client's connection breaks.
    - `lose response`: the broker performs the request, and the client's connection breaks before the response.
    - `reject`: it is not passed on, and the client gets the response `code` with `remark`.
    - `delay`: it is passed on after `seconds`.
    """

    effect: Effect
    op: str
    broker: str
    times: int
    code: int = codes.SYSTEM_BUSY
    remark: str = ""
    seconds: float = 0.0


@dataclass
class _Open:
    """A request without a response yet."""

    process: str
    op: str
    code: int
    lost: bool


class Proxies:
    """A proxy in front of the name server and of each broker. `close` ends its threads and ports.

    `name_server` and `brokers` are the addresses for clients. A broker's proxy also listens two ports below, as brokers do.
    """

    def __init__(self, deployment: Deployment, recording: HistoryRecorder) -> None:
        self._recording = recording
        self._faults: list[RequestFault] = []
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._proxies: dict[str, _PartProxy] = {}
        try:
            for name, address in deployment.brokers.items():
                self._proxies[name] = _PartProxy(self, name, address)
            self._renamed = {
                f'"{address}"'.encode(): f'"{self._proxies[name].address}"'.encode() for name, address in deployment.brokers.items()
            }
            if deployment.name_server is not None:
                self._proxies[NAME_SERVER] = _PartProxy(self, NAME_SERVER, deployment.name_server)
        except BaseException:
            self.close()
            raise

    def address(self, part: str) -> str:
        """Return the address of a part for clients. Raises InputError for an unknown part."""
        return self._proxies[known("part", part, self._proxies)].address

    def inject(self, fault: RequestFault) -> None:
        """Inject a fault into the next requests that it describes. Raises InputError for an unknown operation or broker."""
        if fault.op:
            known("operation", fault.op, {*OPERATIONS.values(), OTHER})
        if fault.broker:
            known("part", fault.broker, self._proxies)
        with self._lock:
            self._faults.append(fault)

    def cut(self, part: str) -> None:
        """Close all connections to a part, and close new ones at once until `restore`."""
        self._proxies[known("part", part, self._proxies)].cut()

    def restore(self, part: str) -> None:
        """Accept connections to a part again."""
        self._proxies[known("part", part, self._proxies)].restore()

    def close(self) -> None:
        for proxy in self._proxies.values():
            proxy.close()

    # Called by connections

    def number(self) -> int:
        return next(self._numbers)

    def fault_of(self, op: str, part: str) -> RequestFault | None:
        """Return the fault that this request gets, and count it."""
        with self._lock:
            for fault in self._faults:
                if fault.op in ("", op) and fault.broker in ("", part) and (fault.op or part != NAME_SERVER):
                    fault.times -= 1
                    if not fault.times:
                        self._faults.remove(fault)
                    return fault
        return None

    def renamed(self, body: bytes) -> bytes:
        """Return a body with the brokers' addresses for clients."""
        for old, new in self._renamed.items():
            body = body.replace(old, new)
        return body

    def record(self, type_: str, process: str, op: str, value: Mapping[str, Any]) -> None:
        self._recording.add(type_, process, op, value)


class _PartProxy(ForwardingProxy):
    """The proxy of one part."""

    def __init__(self, proxies: Proxies, part: str, target: str) -> None:
        self._proxies, self._part = proxies, part
        super().__init__(*_listening(part), target=target)

    def link(self, near: socket.socket, far: socket.socket) -> ProxyLink:
        return _RecordedLink(self._proxies, self._part, near, far)


class _RecordedLink(ProxyLink):
    """A connection of a client. Requests that are open at a time are different processes of the history."""

    def __init__(self, proxies: Proxies, part: str, near: socket.socket, far: socket.socket) -> None:
        super().__init__(near, far)
        self._proxies, self._part = proxies, part
        for side in (near, far):
            side.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._client = f"client {proxies.number()}"
        self._asked, self._answered = bytearray(), bytearray()
        self._closed = threading.Event()
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._opened: dict[int, _Open] = {}
        self._free: list[str] = []
        self._processes = itertools.count()

    def forward(self, data: bytes) -> None:
        for frame in _frames(self._asked, data):
            self._ask(frame)

    def backward(self, data: bytes) -> None:
        for frame in _frames(self._answered, data):
            self._answer(frame)

    def ended(self) -> None:
        for request in self._opened.values():
            self._proxies.record("info", request.process, request.op, {"error": _LOST, "at": wall()})

    def close(self) -> None:
        self._closed.set()
        super().close()

    def _ask(self, frame: bytes) -> None:
        """Record a client's request, inject its fault, and pass it on."""
        command = _command(frame)
        if command is None or command.is_response:
            self.far.sendall(frame)
            return
        op = OPERATIONS.get(command.code, OTHER)
        fields = dict(command.ext_fields or {})
        if command.code in _SHORT:
            fields = {FULL_NAMES.get(name, name): value for name, value in fields.items()}
        if op == "send" and fields.get("batch") == "true":
            op = "batch"
        fault = self._proxies.fault_of(op, self._part)
        call = RecordedCall(op, self._part, command.code, fields, command.body, command.version, command.is_one_way)
        process = self._begin(call)
        effect = None if fault is None else fault.effect
        if fault is not None and effect == "delay":
            self._closed.wait(fault.seconds)
        if fault is not None and effect in ("lose request", "reject"):
            self._proxies.record("fail", process, op, {"error": f"injected: {effect}", "at": wall()})
            self._release(process)
            if effect == "lose request":
                self.close()
            elif not command.is_one_way:
                self._reject(command, fault)
            return
        if command.is_one_way:
            self._proxies.record("info", process, op, {"oneWay": True, "at": wall()})
            self._release(process)
        else:
            with self._lock:
                self._opened[command.opaque] = _Open(process, op, command.code, effect == "lose response")
        self.far.sendall(frame)

    def _reject(self, command: Command, fault: RequestFault) -> None:
        response = response_to(command)
        response.code, response.remark = fault.code, fault.remark or "injected"
        with self._writing:
            self.near.sendall(encode(response, response.serialisation))

    def _answer(self, frame: bytes) -> None:
        """Record a response, and pass it on unless it is lost."""
        command = _command(frame)
        if command is not None and command.is_response:
            with self._lock:
                request = self._opened.pop(command.opaque, None)
            if request is None:
                self._proxies.record("info", self._client, STRAY, {"of": None, **answer_data(command)})
            else:
                self._proxies.record("ok", request.process, request.op, answer_data(command))
                self._release(request.process)
                if request.lost:
                    self.close()
                    return
                if request.code in _ROUTES and command.body:
                    frame = _with_body(frame, command.body, self._proxies.renamed(command.body))
        with self._writing:
            self.near.sendall(frame)

    def _begin(self, call: RecordedCall) -> str:
        """Record the start of a request. Return its process."""
        with self._lock:
            process = self._free.pop() if self._free else f"{self._client}.{next(self._processes)}"
        self._proxies.record("invoke", process, call.op, call_data(call))
        return process

    def _release(self, process: str) -> None:
        with self._lock:
            self._free.append(process)


def _listening(part: str) -> tuple[socket.socket, ...]:
    """Return sockets at the ports of a part that clients use."""
    if part == NAME_SERVER:
        return (socket.create_server((HOST, 0)),)
    for_clients, for_slaves, for_sends = sockets(HOST, 0)
    for_slaves.close()
    return for_clients, for_sends


def _frames(buffer: bytearray, data: bytes) -> Iterator[bytes]:
    """Add data to a buffer. Remove and yield its complete frames, each with its length. Raises FrameError."""
    buffer += data
    while (size := size_of_first(buffer)) is not None:
        frame = bytes(buffer[:size])
        del buffer[:size]
        yield frame


def _command(frame: bytes) -> Command | None:
    """Return the command of a frame, None if it cannot be read; it is then passed on unchanged."""
    try:
        return decode(frame[_WORD.size :])
    except FrameError:
        return None


def _with_body(frame: bytes, old: bytes, new: bytes) -> bytes:
    """Return a frame with another body and an unchanged header."""
    head = frame[_WORD.size : len(frame) - len(old)]
    return _WORD.pack(len(head) + len(new)) + head + new
