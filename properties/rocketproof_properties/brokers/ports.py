"""Free ports for processes that cannot choose one themselves.

They lie below the range that the system gives to outgoing connections, so that none of those takes one in between, and are
drawn at random, so that two runs at a time seldom draw the same.
"""

from __future__ import annotations

import random
import socket
from collections.abc import Collection

from .deployment import TargetError

HOST = "127.0.0.1"
AROUND_BROKER = (-2, 0, 1)
"""A broker listens on its port, two below for those in a hurry, and one above for replicas."""

_LOWEST, _HIGHEST = 12_000, 32_000
_TRIES = 500


def free_port(around: Collection[int] = (0,)) -> int:
    """A port that is free together with those at these distances. Raises TargetError if none is found."""
    for _ in range(_TRIES):
        port = random.randrange(_LOWEST, _HIGHEST)
        if all(is_free(port + distance) for distance in around):
            return port
    raise TargetError(f"no port between {_LOWEST} and {_HIGHEST} is free; end what listens there")


class Addresses:
    """Addresses on this machine that do not get into each other's way."""

    def __init__(self) -> None:
        self._taken: set[int] = set()

    def take(self, around: Collection[int] = (0,)) -> str:
        """host:port, free together with those around it. Raises TargetError if none is found."""
        while True:
            port = free_port(around)
            wanted = {port + distance for distance in around}
            if not wanted & self._taken:
                self._taken |= wanted
                return f"{HOST}:{port}"


def is_free(port: int) -> bool:
    """Whether one may listen on a port, on all interfaces."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except OSError:
            return False
        return True
