"""Free ports for processes that cannot choose a port themselves.

The ports are below the system's range for outgoing connections, so that none of these takes them. They are drawn at random, so that two
concurrent runs rarely draw the same.
"""

from __future__ import annotations

import random
import socket
from collections.abc import Collection

from .deployment import TargetError

HOST = "127.0.0.1"
AROUND_BROKER = (-2, 0, 1)
"""A broker also listens two ports below its own (the fast port) and one above (replication)."""

_LOWEST, _HIGHEST = 12_000, 32_000
_TRIES = 500


def free_port(around: Collection[int] = (0,)) -> int:
    """Return a port that is free together with the ports at these distances. Raises TargetError if there is none."""
    for _ in range(_TRIES):
        port = random.randrange(_LOWEST, _HIGHEST)
        if all(is_free(port + distance) for distance in around):
            return port
    raise TargetError(f"no port between {_LOWEST} and {_HIGHEST} is free; end what listens there")


class Addresses:
    """Local addresses without conflicts among them."""

    def __init__(self) -> None:
        self._taken: set[int] = set()

    def take(self, around: Collection[int] = (0,)) -> str:
        """Return host:port, free together with the ports around it. Raises TargetError if there is none."""
        while True:
            port = free_port(around)
            wanted = {port + distance for distance in around}
            if not wanted & self._taken:
                self._taken |= wanted
                return f"{HOST}:{port}"


def is_free(port: int) -> bool:
    """Return whether a process can listen on a port, on all interfaces."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except OSError:
            return False
        return True
