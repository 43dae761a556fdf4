"""Serve the explorer on loopback until Ctrl-C: a port, a token in the address, a browser."""

from __future__ import annotations

import errno
import os
import secrets
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable

import uvicorn

from rocketproof_model import interrupts

from ..common.errors import TraceError
from .access import Guarded
from .server import Explorer

HOST = "127.0.0.1"
GRACE_SECONDS = 1


def serve(explorer: Explorer, port: int, *, browser: bool, announce: Callable[[str], None]) -> None:
    """Serve until Ctrl-C. Port 0 is any free port. `announce` is called with the address once the server listens. Raises TraceError if
    the port is in use."""
    with bound(port) as listening:
        number = listening.getsockname()[1]
        token = secrets.token_urlsafe(24)
        address = f"http://{HOST}:{number}/?token={token}"
        app = Guarded(explorer.app(), token, number)
        settings = uvicorn.Config(
            app, log_level="critical", access_log=False, server_header=False, lifespan="off", timeout_graceful_shutdown=GRACE_SECONDS
        )
        server = _Server(settings, explorer)
        try:
            announce(address)
            if browser and _has_screen():
                threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
            server.run(sockets=[listening])
        except KeyboardInterrupt:
            interrupts.heard()
        finally:
            explorer.ending.set()


class _Server(uvicorn.Server):
    """Marks the explorer as stopping immediately, so that a running search does not keep the process alive."""

    def __init__(self, config: uvicorn.Config, explorer: Explorer) -> None:
        super().__init__(config)
        self.explorer = explorer

    def handle_exit(self, sig: int, frame: object) -> None:
        self.explorer.ending.set()
        super().handle_exit(sig, frame)  # type: ignore[arg-type]


def bound(port: int) -> socket.socket:
    """Return a socket that listens on loopback. Raises TraceError if it cannot."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
        listener.listen()
    except (OSError, OverflowError) as error:
        listener.close()
        if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
            raise TraceError(f"port {port}", "is in use", "give another --port, or none for any that is free") from None
        why = error.strerror if isinstance(error, OSError) else "it is no port"
        raise TraceError(f"port {port}", f"cannot be used ({why})", "give 1024 to 65535, or none for any that is free") from None
    return listener


def _has_screen() -> bool:
    """Whether a browser would open a window. A text browser would take over this terminal."""
    return sys.platform in ("darwin", "win32") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


__all__ = ["HOST", "bound", "serve"]
