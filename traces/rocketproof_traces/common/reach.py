"""Check whether an address is reachable, before a library would retry it for minutes."""

from __future__ import annotations

import socket

ANSWER_SECONDS = 15
"""The timeout for another machine, in seconds."""

_REQUEST = b"HEAD / HTTP/1.0\r\n\r\n"
_reachable: set[tuple[str, int, bool]] = set()


def unreachable(host: str, port: int, *, speaks: bool) -> str | None:
    """Return why an address is unreachable, None if it is reachable. A positive result is cached in the process.

    `speaks`: the server speaks HTTP, with or without TLS, and reacts to any request, if only by closing. Other servers are only connected
    to.
    """
    if (host, port, speaks) in _reachable:
        return None
    try:
        with socket.create_connection((host, port), ANSWER_SECONDS) as connection:
            if speaks:
                connection.sendall(_REQUEST)
                connection.recv(1)
    except ConnectionResetError:
        pass  # a way of closing
    except TimeoutError:
        return f"no answer from {host}:{port} in {ANSWER_SECONDS} s"
    except (OSError, UnicodeError) as error:
        return f"no way to {host}:{port}: {getattr(error, 'strerror', None) or error}"
    _reachable.add((host, port, speaks))
    return None
