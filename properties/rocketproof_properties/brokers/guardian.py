"""A process that outlives us, to clear away what we began if we are killed: process groups, then folders.

It reads what there is from a pipe. When the pipe ends, we are gone, and so is what is left on its list.
"""

from __future__ import annotations

import atexit
import contextlib
import subprocess
import sys
import threading
from pathlib import Path

_CODE = """
import os, shutil, signal, sys
groups, folders = set(), set()
for line in sys.stdin:
    known = groups if line[1] == "g" else folders
    (known.add if line[0] == "+" else known.discard)(line[2:].rstrip("\\n"))
for group in groups:
    try:
        os.killpg(int(group), signal.SIGKILL)
    except OSError:
        pass
for folder in folders:
    shutil.rmtree(folder, ignore_errors=True)
"""

_lock = threading.Lock()
_process: subprocess.Popen[str] | None = None


def guard_group(pid: int) -> None:
    """End this process group if we do not come to it."""
    _tell(f"+g{pid}")


def guard_folder(folder: Path) -> None:
    """Remove this folder if we do not come to it."""
    _tell(f"+f{folder}")


def release_group(pid: int) -> None:
    _tell(f"-g{pid}")


def release_folder(folder: Path) -> None:
    _tell(f"-f{folder}")


def _tell(line: str) -> None:
    global _process
    with _lock:
        if _process is None:
            _process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _CODE],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                text=True,
                start_new_session=True,
            )
            atexit.register(_dismiss)
        assert _process.stdin is not None
        if _process.stdin.closed:  # dismissed at our own end, where the last children are ended
            return
        with contextlib.suppress(OSError):  # somebody ended it: then nobody guards
            _process.stdin.write(f"{line}\n")
            _process.stdin.flush()


def _dismiss() -> None:
    """At our own end there is nothing left to guard."""
    if _process is not None:
        with contextlib.suppress(OSError):
            _process.communicate()
