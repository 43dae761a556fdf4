"""The entry point `rocketproof`. It installs signal handlers first, because importing the commands takes most of a second."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Sequence
from signal import SIG_IGN, SIGINT, SIGTERM, default_int_handler, getsignal, signal
from typing import NoReturn

from ..reports.exitcode import STOPPED


def main() -> NoReturn:
    """Run the command line and exit with its code. SIGTERM, which CI systems send at their time limit, counts as Ctrl-C."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by `>&-`
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115  (it stays open until the end)
    hears_ctrl_c = getsignal(SIGINT) is not SIG_IGN  # a shell's background job ignores it
    signal(SIGTERM, default_int_handler)  # until the handlers of `interruption` are installed
    atexit.register(_ignore)
    try:
        from ..reports import interruption

        interruption.hear(*((SIGINT, SIGTERM) if hears_ctrl_c else (SIGTERM,)))
        code = run(sys.argv[1:])
    except (KeyboardInterrupt, Exception) as error:
        from rocketproof_model import interrupts

        if not interrupts.caused(error):
            raise
        interrupts.heard()
        sys.stderr.write("rocketproof: stopped by Ctrl-C before anything was decided\n")
        code = STOPPED
    from ..reports.interruption import end

    end(code)


def run(tokens: Sequence[str]) -> int:
    """Run one command and return its exit code."""
    from .program import run as perform

    return perform(tokens)


def _ignore() -> None:
    """Ignore signals while the interpreter exits: the exit code is decided and the results are written."""
    for number in (SIGINT, SIGTERM):
        signal(number, SIG_IGN)
