"""A TCP proxy between two parts that can cut connections or hold back bytes."""

from __future__ import annotations

import contextlib
import socket
import threading
from types import TracebackType
from typing import Final, Self

from .forms import host_and_port
from .ports import HOST

_BYTES: Final = 1 << 16


class Wire:
    """Listens at `address` from the start. It rejects connections until `to` sets the address of the other part."""

    def __init__(self) -> None:
        self._listening = socket.create_server((HOST, 0))
        self.address = f"{HOST}:{self._listening.getsockname()[1]}"
        self._to: str | None = None
        self._named: tuple[bytes, bytes] | None = None
        self._passing = threading.Event()
        self._passing.set()
        self._moving = threading.Event()
        self._moving.set()
        self._ended = False
        self._lock = threading.Lock()
        self._ends: set[socket.socket] = set()
        threading.Thread(target=self._accept, daemon=True).start()

    def to(self, address: str, named: tuple[str, str] | None = None) -> None:
        """Forward new connections to `address`. In the reverse direction, the first of the two addresses in `named` is replaced by the
        second.

        Both must have the same length.
        """
        self._to = address
        if named is not None:
            old, new = (address_.encode() for address_ in named)
            assert len(old) == len(new)
            self._named = old, new

    def cut(self) -> None:
        """Close all connections, and reject new ones until `restore`."""
        self._moving.set()
        with self._lock:
            self._passing.clear()
            ends, self._ends = self._ends, set()
        for connection in ends:
            _end(connection)

    def hold(self) -> None:
        """Hold back all bytes in both directions until `restore`; connections stay open."""
        self._moving.clear()

    def restore(self) -> None:
        """Accept connections and forward bytes again."""
        self._passing.set()
        self._moving.set()

    def close(self) -> None:
        self._ended = True
        self.cut()
        self._listening.close()

    def _accept(self) -> None:
        while not self._ended:
            try:
                near, _ = self._listening.accept()
            except OSError:
                return
            try:
                if self._to is None or not self._passing.is_set():
                    raise ConnectionRefusedError
                far = socket.create_connection(host_and_port(self._to))
            except OSError:
                near.close()
                continue
            with self._lock:
                if not self._passing.is_set():
                    near.close()
                    far.close()
                    continue
                self._ends |= {near, far}
            for source, target, named in ((near, far, None), (far, near, self._named)):
                threading.Thread(target=self._carry, args=(source, target, named), daemon=True).start()

    def _carry(self, source: socket.socket, target: socket.socket, named: tuple[bytes, bytes] | None) -> None:
        """Forward bytes in one direction until either side closes, then close both."""
        with contextlib.suppress(OSError):
            while data := source.recv(_BYTES):
                self._moving.wait()
                target.sendall(data if named is None else data.replace(*named))
        with self._lock:
            self._ends -= {source, target}
        for side in (source, target):
            _end(side)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def _end(connection: socket.socket) -> None:
    """Close a connection on which another thread may be waiting."""
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()
