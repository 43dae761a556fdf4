"""The actors of the specification. A run controls some of them from outside, and waits for the others."""

from __future__ import annotations

from typing import Final

CLIENT: Final = "client"
"""A producer, or a client that sends any header: it sends requests, asks for routes and takes answers."""
ADMINISTRATOR: Final = "administrator"
"""A person or tool that changes a broker's topics and groups."""
HANDLER: Final = "handler"
"""The thread of the broker that serves one request up to its answer."""
SERVICE: Final = "service"
"""A background thread of the broker: the registration timer, dispatch, flush, fast failure."""
NAME_SERVER: Final = "name server"
ENVIRONMENT: Final = "environment"
"""Crash and restart, loss in the network, the disk, and time."""

ACTORS: Final = (CLIENT, ADMINISTRATOR, HANDLER, SERVICE, NAME_SERVER, ENVIRONMENT)
