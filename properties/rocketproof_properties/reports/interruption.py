"""The only way in which a signal stops a command.

The first signal sets the flag of `rocketproof_model.interrupts` and raises KeyboardInterrupt in the main thread.
Layers that catch it return what they have, marked as interrupted, and their callers start nothing else. The command writes its results and
exits with code 3. A second signal ends the process at once.

A thread reads the signals' numbers from a pipe, so that they count while the main thread is inside C code. A finalizer, a callback from C
or a library may drop the exception: it is raised again then (`interrupts.Interrupted`).
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import multiprocessing
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
"""Signals within so many seconds count as one: a terminal and a program such as uv or make may both pass on the same Ctrl-C."""
_SOON: Final = 0.01  # seconds; at once it would be raised in the callback again
_SHOW_CURSOR: Final = "\x1b[?25h"


class _Interrupts:
    """`raises`: whether the handler raises the exception, which it does once, and again after the exception was dropped."""

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
        """Read the numbers of signals until the process ends."""
        while came := os.read(source, 64):
            if signals.isdisjoint(came):
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
        """Raise a dropped exception again. The signal ends a wait of the main thread, too."""
        self.raises = True
        self.ours += 1
        threading.Timer(_SOON, pthread_kill, (threading.main_thread().ident, self.signaled)).start()


def _unraisable(dropped: sys.UnraisableHookArgs) -> None:
    """Print what Python drops, but nothing after an interrupt: objects that it left half made raise exceptions."""
    if not (issubclass(dropped.exc_type, KeyboardInterrupt) or interrupts.came()):
        sys.__unraisablehook__(dropped)


def _thread_ended(ended: threading.ExceptHookArgs) -> None:
    """Print what ended a thread, but no interrupt: the main thread reports it."""
    if not issubclass(ended.exc_type, KeyboardInterrupt):
        threading.__excepthook__(ended)


def hear(*signals: Signals) -> None:
    """Let these signals stop this process, which has to be in its main thread. Processes forked from it read no signals from its pipe."""
    interrupts.watch()
    state = _Interrupts(signals[0])
    interrupts.on_drop(state.again)
    source, sink = os.pipe()
    os.set_blocking(sink, False)
    set_wakeup_fd(sink, warn_on_full_buffer=False)
    os.register_at_fork(after_in_child=_forget)
    threading.Thread(target=state.watch, args=(source, frozenset(one.value for one in signals)), daemon=True, name="signals").start()
    for number in signals:
        signal(number, state.handle)
    sys.unraisablehook = _unraisable
    threading.excepthook = _thread_ended


def end(code: int) -> NoReturn:
    """End this process with a code. After an interrupt it waits for no thread, which may be inside a compiler, and frees no memory."""
    if interrupts.came():
        atexit._run_exitfuncs()  # noqa: SLF001  (what `sys.exit` does, but without waiting for threads)
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)
    sys.exit(code)


def end_at_once() -> None:
    """End this process and the workers that it started; the guardian ends its brokers and removes its folders."""
    if sys.stderr is not None and sys.stderr.isatty():
        sys.stderr.write(_SHOW_CURSOR)  # a progress line hides it
        sys.stderr.flush()
    for process in multiprocessing.active_children():
        process.kill()
    os._exit(STOPPED)


def _forget() -> None:
    if threading.current_thread() is threading.main_thread():
        set_wakeup_fd(-1)
