"""Whether this process was interrupted by Ctrl-C or SIGTERM, and blocks that an interrupt must not split."""

from __future__ import annotations

import ctypes
import gc
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TypeVar

T = TypeVar("T")

SLICE = 0.05
"""Seconds after which a wait in a thread looks at the flag: a signal wakes only the main thread."""
_interrupted = False  # no threading.Event: a handler that interrupts the thread holding its lock would wait for ever
_watched = False
_cancels: list[Callable[[], object]] = []
_heard = False
_decided = False
_dropped: Callable[[], object] | None = None


class Interrupted(KeyboardInterrupt):
    """The exception that a signal raises. Python frees it without a call of `heard` where a callback, a finalizer or a C library dropped
    it; `on_drop` then hears of that."""

    def __del__(self) -> None:
        if not _heard and _dropped is not None:
            _dropped()


def on_drop(raise_again: Callable[[], object]) -> None:
    """Register what raises a dropped interrupt again."""
    global _dropped
    _dropped = raise_again


def heard() -> None:
    """Declare that the caller caught the interrupt and ends its work. Every handler that does not raise it again calls this first."""
    global _heard
    _heard = True


def decide() -> None:
    """Declare that the results of the command are there. From now on a first signal raises nothing: the results are being written, and
    the command ends soon. A second signal ends it at once."""
    global _decided
    _decided = True


def undecided() -> None:
    """Declare that a command begins, which has no results yet."""
    global _decided
    _decided = False


def decided() -> bool:
    """Return whether the results are there."""
    return _decided


def gathered(items: Iterable[T]) -> tuple[list[T], bool]:
    """Collect items until an interrupt. Return those that are there, and whether an interrupt ended it. Raises KeyboardInterrupt if
    there is none yet."""
    found: list[T] = []
    try:
        for one in items:
            found.append(one)  # noqa: PERF402  (what was collected before an interrupt is kept)
    except KeyboardInterrupt:
        if not found:
            raise
        heard()
        return found, True
    return found, False


def watch() -> None:
    """Declare that a thread of this process calls `cancel` as soon as a signal arrives, also while the main thread is inside C code."""
    global _watched
    _watched = True


def cancelled_by(cancel: Callable[[], object]) -> bool:
    """Register what ends a library's work in C. Return False, and do nothing, where no thread would call it."""
    if _watched:
        _cancels.append(cancel)
    return _watched


def cancel() -> None:
    """End what libraries compute in C. Not for a handler, which may run inside a library's callback."""
    for registered in _cancels:
        registered()


def note() -> None:
    """Remember that this process was interrupted: it begins no further work. It ends soon, so that no collection of garbage needs to
    look at the objects that exist: this takes seconds where there are millions of them."""
    global _interrupted
    _interrupted = True
    gc.freeze()


def came() -> bool:
    """Return whether this process was interrupted, whatever became of the exception."""
    return _interrupted


def caused(error: BaseException) -> bool:
    """Return whether an interrupt is behind an exception: Python and libraries make others of it, or fail after they have dropped it."""
    behind: BaseException | None = error
    while behind is not None and not isinstance(behind, KeyboardInterrupt):
        behind = behind.__cause__ or behind.__context__
    return behind is not None or came()


def stop_if_interrupted() -> None:
    """Raise KeyboardInterrupt if this process was interrupted: Python and libraries may have dropped the exception."""
    if _interrupted:
        raise KeyboardInterrupt


def stop_thread_if_interrupted() -> None:
    """Raise KeyboardInterrupt in any thread but the main one, which a signal interrupts itself, and which then has to tidy up."""
    if _interrupted and threading.current_thread() is not threading.main_thread():
        raise KeyboardInterrupt


def interrupt(thread: threading.Thread) -> None:
    """Raise KeyboardInterrupt in a thread as soon as it runs Python: what it computes is in the way of those who write the results."""
    if thread.ident is not None:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(KeyboardInterrupt))


def pause(seconds: float) -> None:
    """Sleep. Raises KeyboardInterrupt soon after this process was interrupted, in threads too."""
    if threading.current_thread() is threading.main_thread():
        time.sleep(seconds)
        return
    end = time.monotonic() + seconds
    while True:
        stop_thread_if_interrupted()
        left = end - time.monotonic()
        if left <= 0:
            return
        time.sleep(min(left, SLICE))


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Run handlers of signals after the block instead of inside it. Only the main thread runs handlers; in others this does nothing."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: dict[int, FrameType | None] = {}
    handlers = {int(number): handler for number in signal.valid_signals() if callable(handler := signal.getsignal(number))}
    try:
        for number in handlers:
            signal.signal(number, arrived.__setitem__)
        yield
    finally:
        for number in handlers:
            signal.signal(number, handlers[number])
    for signaled, frame in arrived.items():
        handlers[signaled](signaled, frame)
