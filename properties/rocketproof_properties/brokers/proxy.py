"""A way between two parts, which can be cut or stand still: one of them connects here, and its bytes go on to the other."""

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
    """Listens at `address` from the start. Nobody gets through before `to` says where the other part listens."""

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
        """Lead there from the next connection on. In what comes back the first of two `named` addresses, which are as long as each other,
        is replaced by the second."""
        self._to = address
        if named is not None:
            one, other = (each.encode() for each in named)
            assert len(one) == len(other)
            self._named = one, other

    def cut(self) -> None:
        """End every connection, and each new one at once, until `mend`."""
        self._moving.set()
        with self._lock:
            self._passing.clear()
            ends, self._ends = self._ends, set()
        for one in ends:
            _end(one)

    def hold(self) -> None:
        """Let no byte through, in neither direction, until `mend`; connections stay."""
        self._moving.clear()

    def mend(self) -> None:
        """Let connections and bytes through again."""
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
            for one, other, named in ((near, far, None), (far, near, self._named)):
                threading.Thread(target=self._carry, args=(one, other, named), daemon=True).start()

    def _carry(self, one: socket.socket, other: socket.socket, named: tuple[bytes, bytes] | None) -> None:
        """Carry bytes one way until either side ends, which ends both."""
        with contextlib.suppress(OSError):
            while data := one.recv(_BYTES):
                self._moving.wait()
                other.sendall(data if named is None else data.replace(*named))
        with self._lock:
            self._ends -= {one, other}
        for each in (one, other):
            _end(each)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def _end(one: socket.socket) -> None:
    """Close a connection at which somebody may wait."""
    with contextlib.suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    one.close()
