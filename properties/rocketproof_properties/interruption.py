"""An interrupt is not lost: not in a finalizer or a callback of the compiler, where Python drops exceptions, nor in a library that makes
another exception of it."""

from __future__ import annotations

import sys
import threading
from functools import partial
from signal import Signals, pthread_kill
from typing import Any, Final, NoReturn

_SOON: Final = 0.01  # seconds; at once it would fall into the hook, and be dropped too
_CAME: Final = threading.Event()


def interrupt(*_: Any) -> NoReturn:
    """A signal's handler. Raises KeyboardInterrupt."""
    _CAME.set()
    raise KeyboardInterrupt


def came() -> bool:
    """Whether this process was interrupted, whatever became of the exception."""
    return _CAME.is_set()


def keep(signal: Signals) -> None:
    """Raise the KeyboardInterrupt of this signal's handler again, as often as it is dropped. Other exceptions are printed, as always, but
    for those behind an interrupt: objects that it left half made end with some."""
    sys.unraisablehook = partial(_again, signal)


def _again(signal: Signals, dropped: sys.UnraisableHookArgs) -> None:
    if issubclass(dropped.exc_type, KeyboardInterrupt):
        threading.Timer(_SOON, pthread_kill, (threading.main_thread().ident, signal)).start()  # ends a wait, too
    elif not came():
        sys.__unraisablehook__(dropped)
