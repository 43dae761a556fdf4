"""Work that must not be left half done: what Ctrl-C, or another signal, asks for waits until it is over."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Handlers of signals run behind the block instead of inside it. Only the main thread runs handlers; in others this does nothing."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: dict[int, FrameType | None] = {}
    handlers = {int(number): handler for number in signal.valid_signals() if callable(handler := signal.getsignal(number))}
    try:
        for number in handlers:
            signal.signal(number, came.__setitem__)
        yield
    finally:
        for number in handlers:
            signal.signal(number, handlers[number])
    for signaled, frame in came.items():
        handlers[signaled](signaled, frame)
