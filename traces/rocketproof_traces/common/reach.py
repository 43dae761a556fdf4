"""Whether anybody is at an address, asked before a library that would try it again and again for minutes."""

from __future__ import annotations

import socket

ANSWER_SECONDS = 15
"""How long another machine is waited for."""

_REQUEST = b"HEAD / HTTP/1.0\r\n\r\n"
_found: set[tuple[str, int, bool]] = set()


def nobody(host: str, port: int, *, speaks: bool) -> str | None:
    """Why nobody can be reached at an address, None if somebody is there; asked once in a process.

    `speaks`: a server for HTTP, with or without TLS, which says something to any request, if only by closing. Others are only connected
    to.
    """
    if (host, port, speaks) in _found:
        return None
    try:
        with socket.create_connection((host, port), ANSWER_SECONDS) as there:
            if speaks:
                there.sendall(_REQUEST)
                there.recv(1)
    except ConnectionResetError:
        pass  # a way of closing
    except TimeoutError:
        return f"no answer from {host}:{port} in {ANSWER_SECONDS} s"
    except (OSError, UnicodeError) as error:
        return f"no way to {host}:{port}: {getattr(error, 'strerror', None) or error}"
    _found.add((host, port, speaks))
    return None
