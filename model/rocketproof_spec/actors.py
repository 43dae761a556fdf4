"""Who does an action, of whichever part of the specification: what a run can bring about from outside, and what it has to wait for."""

from __future__ import annotations

from typing import Final

CLIENT: Final = "client"
"""A producer, or a client with a header of its own making: it sends, asks for routes, takes answers."""
ADMINISTRATOR: Final = "administrator"
"""Somebody who changes a broker's topics."""
HANDLER: Final = "handler"
"""The broker's thread that serves one request, up to its answer."""
SERVICE: Final = "service"
"""A thread of the broker's own: the registration's timer, dispatch, flush, fast failure."""
NAME_SERVER: Final = "name server"
ENVIRONMENT: Final = "environment"
"""Crash and restart, loss on the way, the disk, the time that passes."""

ACTORS: Final = (CLIENT, ADMINISTRATOR, HANDLER, SERVICE, NAME_SERVER, ENVIRONMENT)
