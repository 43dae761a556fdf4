"""Signal handling: the only way in which a signal stops a command.

The first signal sets the flag of `rocketproof_model.interrupts` and raises KeyboardInterrupt in the main thread. Layers that catch it
return their partial results, marked as interrupted. Their callers start nothing else. The command writes its results and exits with code 3.
A second signal ends the process at once.

A thread reads the signal numbers from a pipe, so that signals count while the main thread runs C code. A finalizer, a callback from C or a
library may drop the exception. It is then raised again (`interrupts.Interrupted`).
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import sys
import threading
import time
from signal import Signals, pthread_kill, set_wakeup_fd, signal
from types import FrameType
from typing import Final, NoReturn

from rocketproof_model import interrupts

from .exitcode import STOPPED

TOGETHER: Final = 0.5
"""Signals within this many seconds count as one signal. A terminal and a program such as uv or make may both forward the same Ctrl-C."""
_SOON: Final = 0.01  # seconds; without a delay it would be raised in the same callback again
_SHOW_CURSOR: Final = "\x1b[?25h"


class _Interrupts:
    """`raises`: whether the handler raises the exception. It raises once, and again if the exception was dropped."""

    def __init__(self, signaled: Signals) -> None:
        self.signaled = signaled
        self.raises = True
        self.first = 0.0
        self.ours = 0  # signals that this process sent to itself

    def handle(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        interrupts.note()
        logging.disable()  # libraries such as py4j log an exception that interrupts them
        if self.raises and not interrupts.decided():
            self.raises = False
            raise interrupts.Interrupted

    def watch(self, source: int, signals: frozenset[int]) -> None:
        """Read signal numbers until the process ends."""
        while numbers := os.read(source, 64):
            if signals.isdisjoint(numbers):
                continue
            if self.ours:
                self.ours -= 1
            elif not self.first:
                self.first = time.monotonic()
                interrupts.note()
                interrupts.cancel()
            elif time.monotonic() - self.first > TOGETHER:
                end_at_once()

    def again(self) -> None:
        """Raise a dropped exception again, by sending a signal that also ends a wait of the main thread."""
        self.raises = True
        self.ours += 1
        threading.Timer(_SOON, pthread_kill, (threading.main_thread().ident, self.signaled)).start()


def _unraisable(dropped: sys.UnraisableHookArgs) -> None:
    """Print an exception that Python cannot raise, except after an interrupt: incomplete objects raise exceptions then."""
    if not (issubclass(dropped.exc_type, KeyboardInterrupt) or interrupts.came()):
        sys.__unraisablehook__(dropped)


def _thread_ended(ended: threading.ExceptHookArgs) -> None:
    """Print the exception that ended a thread, except an interrupt, which the main thread reports."""
    if not issubclass(ended.exc_type, KeyboardInterrupt):
        threading.__excepthook__(ended)


def hear(*signals: Signals) -> None:
    """Install the handlers for these signals. Call it in the main thread. Forked processes do not read signals from the parent's pipe."""
    interrupts.watch()
    state = _Interrupts(signals[0])
    interrupts.on_drop(state.again)
    source, sink = os.pipe()
    os.set_blocking(sink, False)
    set_wakeup_fd(sink, warn_on_full_buffer=False)
    os.register_at_fork(after_in_child=_forget)
    threading.Thread(
        target=state.watch, args=(source, frozenset(handled.value for handled in signals)), daemon=True, name="signals"
    ).start()
    for number in signals:
        signal(number, state.handle)
    sys.unraisablehook = _unraisable
    threading.excepthook = _thread_ended


def end(code: int) -> NoReturn:
    """Exit with a code. After an interrupt, do not wait for threads, which may be inside a compiler, and free no memory."""
    if interrupts.came():
        atexit._run_exitfuncs()  # noqa: SLF001  (what `sys.exit` does, but without waiting for threads)
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)
    sys.exit(code)


def end_at_once() -> None:
    """End this process and its workers. The guardian process stops the brokers and removes their folders."""
    if sys.stderr is not None and sys.stderr.isatty():
        sys.stderr.write(_SHOW_CURSOR)  # a progress line hides it
        sys.stderr.flush()
    multiprocessing = sys.modules.get("multiprocessing")  # not imported: no child has been started with it
    for process in multiprocessing.active_children() if multiprocessing is not None else ():
        process.kill()
    os._exit(STOPPED)


def _forget() -> None:
    if threading.current_thread() is threading.main_thread():
        set_wakeup_fd(-1)
