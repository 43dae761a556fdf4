"""A helper process that cleans up if this process is killed: it kills process groups and removes folders.

It reads the list from a pipe. When the pipe closes, this process is gone, and the helper cleans up what is left on the list.
"""

from __future__ import annotations

import atexit
import contextlib
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
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
    """Kill this process group if this process dies first."""
    _send(f"+g{pid}")


def guard_folder(folder: Path) -> None:
    """Remove this folder if this process dies first."""
    _send(f"+f{folder}")


def release_group(pid: int) -> None:
    _send(f"-g{pid}")


def release_folder(folder: Path) -> None:
    _send(f"-f{folder}")


@contextlib.contextmanager
def temporary_folder(prefix: str = "rocketproof-") -> Iterator[Path]:
    """Create a folder that is removed at the end, also if this process is killed."""
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    guard_folder(folder)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        release_folder(folder)


def _send(line: str) -> None:
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
        if _process.stdin.closed:  # dismissed at exit, where the last children are killed
            return
        with contextlib.suppress(OSError):  # the guardian was killed
            _process.stdin.write(f"{line}\n")
            _process.stdin.flush()


def _dismiss() -> None:
    """Stop the guardian at exit: its list is then empty."""
    if _process is not None:
        with contextlib.suppress(OSError):
            _process.communicate()
