"""TCP proxies in front of a deployment: they record what any client sends as a history, and inject faults of requests and connections.

Input: the deployment, and its clients' frames. Output: the frames, with each broker's address replaced by its proxy's in routes, and the
events of a history (`runs.recording`).
"""

from __future__ import annotations

import contextlib
import itertools
import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from rocketproof_impl.bounds import MAX_FRAME
from rocketproof_impl.remoting.command import Command, response_to
from rocketproof_impl.remoting.frame import FrameError, decode, encode
from rocketproof_impl.system.node import sockets
from rocketproof_protocol import codes
from rocketproof_protocol.fields import FULL_NAMES
from rocketproof_traces.history.exchanges import CONFIGURE, STRAY

from ..programs.call import RecordedCall
from ..programs.parts import NAME_SERVER
from ..reports.choices import known
from .deployment import Deployment
from .forms import host_and_port
from .ports import HOST
from .runs.recording import HistoryRecorder, answer_data, call_data, wall

OTHER: Final = "other"
OPERATIONS: Final[Mapping[int, str]] = {
    codes.SEND_MESSAGE: "send",
    codes.SEND_MESSAGE_V2: "send",
    codes.SEND_BATCH_MESSAGE: "batch",
    codes.CONSUMER_SEND_MSG_BACK: "send_back",
    codes.END_TRANSACTION: "end_transaction",
    codes.PULL_MESSAGE: "pull",
    codes.QUERY_MESSAGE: "find",
    codes.VIEW_MESSAGE_BY_ID: "view",
    codes.QUERY_CONSUMER_OFFSET: "progress",
    codes.UPDATE_CONSUMER_OFFSET: "commit",
    codes.UPDATE_AND_CREATE_TOPIC: "update_topic",
    codes.DELETE_TOPIC_IN_BROKER: "delete_topic",
    codes.GET_ALL_TOPIC_CONFIG: "topics",
    codes.GET_TOPIC_CONFIG: "topic_config",
    codes.UPDATE_BROKER_CONFIG: CONFIGURE,
    codes.GET_BROKER_CONFIG: "settings",
    codes.SEARCH_OFFSET_BY_TIMESTAMP: "search",
    codes.GET_MAX_OFFSET: "max_offset",
    codes.GET_MIN_OFFSET: "min_offset",
    codes.GET_EARLIEST_MSG_STORETIME: "earliest",
    codes.HEART_BEAT: "heartbeat",
    codes.UNREGISTER_CLIENT: "leave",
    codes.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP: "update_group",
    codes.DELETE_SUBSCRIPTIONGROUP: "delete_group",
    codes.GET_ALL_SUBSCRIPTIONGROUP_CONFIG: "groups",
    codes.GET_TOPIC_STATS_INFO: "stats",
    codes.GET_ROUTEINFO_BY_TOPIC: "route",
    codes.GET_BROKER_CLUSTER_INFO: "cluster",
    codes.REGISTER_TOPIC: "register_topic",
    codes.DELETE_TOPIC_IN_NAMESRV: "forget_topic",
}
"""The operations of a history by request code; other requests are `other`."""
_SHORT: Final = (codes.SEND_MESSAGE_V2, codes.SEND_BATCH_MESSAGE)
_ROUTES: Final = (codes.GET_ROUTEINFO_BY_TOPIC, codes.GET_BROKER_CLUSTER_INFO)
_PIECE: Final = 1 << 16
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
    """A proxy in front of the name server and of each broker. A context manager; `close` ends its threads and ports.

    `name_server` and `brokers` are the addresses for clients. A broker's proxy also listens two ports below, as brokers do.
    """

    def __init__(self, deployment: Deployment, recording: HistoryRecorder) -> None:
        self._recording = recording
        self._faults: list[RequestFault] = []
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._proxies: dict[str, _Proxy] = {}
        try:
            for name, address in deployment.brokers.items():
                self._proxies[name] = _Proxy(self, name, address)
            self._renamed = {
                f'"{address}"'.encode(): f'"{self._proxies[name].address}"'.encode() for name, address in deployment.brokers.items()
            }
            if deployment.name_server is not None:
                self._proxies[NAME_SERVER] = _Proxy(self, NAME_SERVER, deployment.name_server)
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


class _Proxy:
    """Listens for clients of one part."""

    def __init__(self, proxies: Proxies, part: str, target: str) -> None:
        self.proxies, self.part, self.target = proxies, part, target
        if part == NAME_SERVER:
            self._listening = [socket.create_server((HOST, 0))]
        else:
            for_clients, for_slaves, for_sends = sockets(HOST, 0)
            for_slaves.close()
            self._listening = [for_clients, for_sends]
        self.address = f"{HOST}:{self._listening[0].getsockname()[1]}"
        self._passing = threading.Event()
        self._passing.set()
        self._ended = False
        self._lock = threading.Lock()
        self._connections: set[_Connection] = set()
        self._threads = [threading.Thread(target=self._accept, args=(one,), daemon=True) for one in self._listening]
        for thread in self._threads:
            thread.start()

    def restore(self) -> None:
        self._passing.set()

    def cut(self) -> None:
        self._passing.clear()
        with self._lock:
            connections = tuple(self._connections)
        for connection in connections:
            connection.close()

    def close(self) -> None:
        self._ended = True
        for listening in self._listening:
            _end(listening)
        self.cut()
        for thread in self._threads:
            thread.join()
        with self._lock:
            connections = tuple(self._connections)
        for connection in connections:
            connection.close()
            connection.join()

    def left(self, connection: _Connection) -> None:
        with self._lock:
            self._connections.discard(connection)

    def _accept(self, listening: socket.socket) -> None:
        while not self._ended:
            try:
                near, _ = listening.accept()
            except OSError:
                return
            if not self._passing.is_set():
                _end(near)
                continue
            try:
                far = socket.create_connection(host_and_port(self.target), timeout=5)
            except OSError:
                _end(near)
                continue
            far.settimeout(None)
            connection = _Connection(self, near, far)
            with self._lock:
                self._connections.add(connection)
            connection.start()
            if not self._passing.is_set():
                connection.close()


class _Connection:
    """A connection of a client, with a thread per direction. Requests that are open at a time are different processes of the history."""

    def __init__(self, proxy: _Proxy, near: socket.socket, far: socket.socket) -> None:
        self._proxy, self._proxies = proxy, proxy.proxies
        self._near, self._far = near, far
        for side in (near, far):
            side.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._client = f"client {self._proxies.number()}"
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._opened: dict[int, _Open] = {}
        self._free: list[str] = []
        self._processes = itertools.count()
        self._running = 2
        directions = ((near, self._ask), (far, self._answer))
        self._threads = [threading.Thread(target=self._carry, args=direction, daemon=True) for direction in directions]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        for side in (self._near, self._far):
            with contextlib.suppress(OSError):
                side.shutdown(socket.SHUT_RDWR)

    def join(self) -> None:
        for thread in self._threads:
            thread.join()

    def _carry(self, source: socket.socket, handle: Callable[[bytes], None]) -> None:
        """Pass on frames in one direction until a side closes, then close both."""
        buffer = bytearray()
        with contextlib.suppress(OSError):
            while data := source.recv(_PIECE):
                buffer += data
                while (frame := _frame(buffer)) is not None:
                    handle(frame)
        self.close()
        with self._lock:
            self._running -= 1
            last, lost = not self._running, tuple(self._opened.values())
        if last:
            for request in lost:
                self._proxies.record("info", request.process, request.op, {"error": _LOST, "at": wall()})
            self._near.close()
            self._far.close()
            self._proxy.left(self)

    def _ask(self, frame: bytes) -> None:
        """Record a client's request, inject its fault, and pass it on."""
        command = _command(frame)
        if command is None or command.is_response:
            self._far.sendall(frame)
            return
        op = OPERATIONS.get(command.code, OTHER)
        fields = dict(command.ext_fields or {})
        if command.code in _SHORT:
            fields = {FULL_NAMES.get(name, name): value for name, value in fields.items()}
        if op == "send" and fields.get("batch") == "true":
            op = "batch"
        part = self._proxy.part
        fault = self._proxies.fault_of(op, part)
        call = RecordedCall(op, part, command.code, fields, command.body, command.version, command.is_one_way)
        process = self._begin(call)
        effect = None if fault is None else fault.effect
        if fault is not None and effect == "delay":
            time.sleep(fault.seconds)
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
        self._far.sendall(frame)

    def _reject(self, command: Command, fault: RequestFault) -> None:
        response = response_to(command)
        response.code, response.remark = fault.code, fault.remark or "injected"
        with self._writing:
            self._near.sendall(encode(response, response.serialisation))

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
            self._near.sendall(frame)

    def _begin(self, call: RecordedCall) -> str:
        """Record the start of a request. Return its process."""
        with self._lock:
            process = self._free.pop() if self._free else f"{self._client}.{next(self._processes)}"
        self._proxies.record("invoke", process, call.op, call_data(call))
        return process

    def _release(self, process: str) -> None:
        with self._lock:
            self._free.append(process)


def _frame(buffer: bytearray) -> bytes | None:
    """Remove the first frame, with its length, from a buffer; None if it is incomplete. Raises OSError for a length without bound."""
    if len(buffer) < _WORD.size:
        return None
    (length,) = _WORD.unpack_from(buffer)
    if length > MAX_FRAME:
        raise OSError(f"a frame of {length} bytes is longer than {MAX_FRAME}")
    end = _WORD.size + length
    if len(buffer) < end:
        return None
    frame = bytes(buffer[:end])
    del buffer[:end]
    return frame


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


def _end(one: socket.socket) -> None:
    """Close a socket on which another thread may be waiting."""
    with contextlib.suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    one.close()
