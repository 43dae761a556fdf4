"""Interruption by Ctrl-C or SIGTERM: whether this process was interrupted, and blocks that an interrupt must not split."""

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
"""Seconds after which a waiting thread checks the flag: a signal wakes only the main thread."""
_interrupted = False  # no threading.Event: a handler that interrupts the thread holding its lock would wait for ever
_watched = False
_cancels: list[Callable[[], object]] = []
_heard = False
_decided = False
_dropped: Callable[[], object] | None = None


class Interrupted(KeyboardInterrupt):
    """The exception that a signal raises.

    If a callback, a finalizer or a C library drops it, Python frees it without a call of `heard`. The function registered with `on_drop` is
    then called.
    """

    def __del__(self) -> None:
        if not _heard and _dropped is not None:
            _dropped()


def on_drop(raise_again: Callable[[], object]) -> None:
    """Register the function that raises a dropped interrupt again."""
    global _dropped
    _dropped = raise_again


def heard() -> None:
    """Declare that the caller caught the interrupt and ends its work.

    Every handler that does not raise the interrupt again calls this first.
    """
    global _heard
    _heard = True


def decide() -> None:
    """Declare that the command's results exist.

    From now on the first signal raises nothing, because the results are being written and the command ends soon. A second signal ends it
    immediately.
    """
    global _decided
    _decided = True


def undecided() -> None:
    """Declare that a command begins and has no results yet."""
    global _decided
    _decided = False


def decided() -> bool:
    """Return whether the command's results exist."""
    return _decided


def gathered(items: Iterable[T]) -> tuple[list[T], bool]:
    """Collect items until an interrupt. Return them and whether an interrupt ended the collection.

    Raises KeyboardInterrupt if no item was collected before the interrupt.
    """
    collected: list[T] = []
    try:
        for item in items:
            collected.append(item)  # noqa: PERF402  (an interrupt keeps the items collected so far)
    except KeyboardInterrupt:
        if not collected:
            raise
        heard()
        return collected, True
    return collected, False


def watch() -> None:
    """Declare that a thread of this process calls `cancel` as soon as a signal arrives, even while the main thread is inside C code."""
    global _watched
    _watched = True


def cancelled_by(cancel: Callable[[], object]) -> bool:
    """Register a function that ends a library's work in C. Return False, and register nothing, if no thread would call it."""
    if _watched:
        _cancels.append(cancel)
    return _watched


def cancel() -> None:
    """End the computations of libraries in C. Not for a signal handler, which may run inside a library's callback."""
    for registered in _cancels:
        registered()


def note() -> None:
    """Record that this process was interrupted, so that it begins no further work.

    Disables garbage collection of existing objects: the process ends soon, and a collection of millions of objects takes seconds.
    """
    global _interrupted
    _interrupted = True
    gc.freeze()


def came() -> bool:
    """Return whether this process was interrupted, even if the exception was dropped."""
    return _interrupted


def caused(error: BaseException) -> bool:
    """Return whether an interrupt caused an exception: Python and libraries convert it to others, or fail after dropping it."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, KeyboardInterrupt):
        cause = cause.__cause__ or cause.__context__
    return cause is not None or came()


def stop_if_interrupted() -> None:
    """Raise KeyboardInterrupt if this process was interrupted: Python and libraries may have dropped the exception."""
    if _interrupted:
        raise KeyboardInterrupt


def stop_thread_if_interrupted() -> None:
    """Raise KeyboardInterrupt if the process was interrupted, except in the main thread, which a signal interrupts directly."""
    if _interrupted and threading.current_thread() is not threading.main_thread():
        raise KeyboardInterrupt


def interrupt(thread: threading.Thread) -> None:
    """Raise KeyboardInterrupt in a thread as soon as it runs Python code, so that its computation does not delay writing the results."""
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
    """Delay signal handlers until after the block. Only the main thread runs handlers; in other threads this does nothing."""
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
