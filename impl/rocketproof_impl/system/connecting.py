"""TCP connections to remoting addresses."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from rocketproof_protocol.numbers import whole_number

from ..tasks import Future
from .threads import Threads

P = TypeVar("P", bound=asyncio.Protocol)

CONNECT_MILLIS = 3000


def connect(threads: Threads, address: str, factory: Callable[[], P]) -> Future[P]:
    """Connect to `host:port` and return a future of the protocol. The future raises OSError, also for a malformed address or a timeout."""
    return threads.run_coroutine(_connect(threads.loop, address, factory))


async def _connect(loop: asyncio.AbstractEventLoop, address: str, factory: Callable[[], P]) -> P:
    host, _, port = address.rpartition(":")
    try:
        async with asyncio.timeout(CONNECT_MILLIS / 1000):
            _, protocol = await loop.create_connection(factory, host.strip("[]"), whole_number(port))
    except TimeoutError:
        raise OSError(f"no connection in {CONNECT_MILLIS} ms") from None
    except (ValueError, OverflowError):
        raise OSError("this is no address; host:port is one") from None
    except asyncio.CancelledError:
        raise OSError("the process ends") from None
    return protocol
