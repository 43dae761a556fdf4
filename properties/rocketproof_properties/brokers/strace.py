"""strace around a broker: records the broker's file operations, or makes its system calls fail for a while.

System calls do not show the content of memory-mapped files. A thread therefore follows strace's output and reads a mapped file as soon as
the broker has forced it. If the thread is late, it may read newer data than were forced. It then counts too much as durable, never too
little.
"""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Final, TextIO

from rocketproof_model import interrupts

from .children import Child
from .crashstates import changed
from .deployment import Deployment, TargetError
from .processes import Processes
from .runs.waiting import until
from .systemcalls import TRACED, Calls, FileOperation

MISSING: Final = "strace is not installed; install it (Debian: apt install strace), or leave out the kind"
_LONGEST: Final = 1 << 20  # bytes of a file of settings
_POLL: Final = 0.001
_ATTACHED: Final = 10.0


def is_installed() -> bool:
    """Return whether strace is installed."""
    return shutil.which("strace") is not None


def tracing_command(calls: Path) -> tuple[str, ...]:
    """Return the command prefix that writes a broker's system calls into a file."""
    return ("strace", "-f", "--seccomp-bpf", "-y", "-ttt", "-s", str(_LONGEST), "-e", f"trace={','.join(TRACED)}", "-o", str(calls))


def files_of(store: Path) -> dict[str, bytes]:
    """Return the content of the files in a store, by relative path."""
    return {str(file.relative_to(store)): file.read_bytes() for file in sorted(store.rglob("*")) if file.is_file()}


class Recorder:
    """Follows the system calls of a broker. Call `close` after the broker has exited.

    `done`: its operations. `late`: the longest delay in seconds between a call and the reading of the file.
    """

    def __init__(self, calls: Path, store: Path) -> None:
        self.done: list[FileOperation] = []
        self.late = 0.0
        self._store = store
        self._file = calls
        self._calls = Calls(str(store))
        self._read = files_of(store)
        self._ended = threading.Event()
        self._problem: Exception | None = None
        self._thread = threading.Thread(target=self._follow, daemon=True)
        calls.touch()
        self._thread.start()

    def close(self) -> None:
        """Wait for the last line. Raises TargetError if the calls cannot be read."""
        self._ended.set()
        self._thread.join()
        if self._problem is not None:
            raise TargetError(f"what strace has written cannot be read: {self._problem}")

    def _follow(self) -> None:
        try:
            with self._file.open(encoding="latin-1", newline="\n") as lines:
                for operation in self._calls.of(self._lines(lines)):
                    self.done.append(self._seen(operation))
        except Exception as problem:  # noqa: BLE001 - raised again in `close`
            self._problem = problem

    def _lines(self, file: TextIO) -> Iterator[str]:
        begun = ""
        while True:
            last = self._ended.is_set()
            text = begun + file.read()
            *whole, begun = text.split("\n")
            yield from whole
            if last:
                return
            if not whole:
                interrupts.pause(_POLL)

    def _seen(self, operation: FileOperation) -> FileOperation:
        """Return the operation with paths relative to the store, and with the changed pages of a forced file."""
        path = str(Path(operation.path).relative_to(self._store))
        other = str(Path(operation.other).relative_to(self._store)) if operation.other else ""
        pages = {}
        if operation.kind in ("delete", "rename"):
            self._read.pop(path, None)
        if operation.kind == "force":
            with suppress(FileNotFoundError, IsADirectoryError):  # a settings file may have been renamed by now
                data = (self._store / path).read_bytes()
                self.late = max(self.late, time.time() - operation.at)
                pages = changed(self._read.get(path, b""), data)
                self._read[path] = data
        return replace(operation, path=path, other=other, pages=pages)


def traceable(running: Deployment) -> Processes:
    """Return the deployment if its parts are processes. Raises TargetError."""
    if not isinstance(running, Processes):
        raise TargetError(f"{running.name}: nothing can be traced that is no process of its own; leave out the kind of fault")
    return running


@contextmanager
def failing(pid: int, what: str, output: Path) -> Iterator[None]:
    """Make system calls of a running process fail or block, as given to strace's `inject`, inside of the context. Raises TargetError."""
    child = Child(
        ("strace", "-f", "-q", "-p", str(pid), "-e", f"trace={what.partition(':')[0]}", "-e", f"inject={what}", "-o", str(output)),
        output=output.with_suffix(".txt"),
    )
    try:
        _wait_for(pid, child)
        yield
    finally:
        child.stop(_ATTACHED)


def _wait_for(pid: int, child: Child) -> None:
    """Wait until every thread of the process is traced."""

    def is_traced() -> bool:
        if not child.alive:
            raise TargetError(f"strace cannot attach to the broker: {child.last_line()}; it needs the right to trace processes (ptrace)")
        try:
            states = [(task / "status").read_text() for task in Path(f"/proc/{pid}/task").iterdir()]
        except OSError:  # a thread has exited meanwhile
            return False
        return bool(states) and all(f"TracerPid:\t{child.pid}" in status for status in states)

    if not until(is_traced, bool, _ATTACHED, 0.01):
        raise TargetError(f"strace was not ready within {_ATTACHED:g} s")
