"""strace around a broker: it writes down what the broker does to its files, or makes its calls fail for a while.

The content of a file that is mapped into memory is in no call. So a thread follows what strace writes, and reads such a file as soon as the
broker has forced it. What it finds may be newer than what was forced, by the time that the thread is behind: it then takes too much for
durable, never too little.
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


def there() -> bool:
    """Whether there is such a command."""
    return shutil.which("strace") is not None


def writing_down(calls: Path) -> tuple[str, ...]:
    """What stands before a broker's command, so that its calls are written into a file."""
    return ("strace", "-f", "--seccomp-bpf", "-y", "-ttt", "-s", str(_LONGEST), "-e", f"trace={','.join(TRACED)}", "-o", str(calls))


def files_of(store: Path) -> dict[str, bytes]:
    """What lies in a store, by the paths below it."""
    return {str(one.relative_to(store)): one.read_bytes() for one in sorted(store.rglob("*")) if one.is_file()}


class Recorder:
    """Follows the calls of a broker whose store lies in a folder. `close` when the broker has ended; `done` are its operations, `late` how
    many seconds it was behind when it read a file."""

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
        """Wait for the last line. Raises TargetError where the calls cannot be read."""
        self._ended.set()
        self._thread.join()
        if self._problem is not None:
            raise TargetError(f"what strace has written cannot be read: {self._problem}")

    def _follow(self) -> None:
        try:
            with self._file.open(encoding="latin-1", newline="\n") as lines:
                for one in self._calls.of(self._lines(lines)):
                    self.done.append(self._seen(one))
        except Exception as problem:  # noqa: BLE001 - raised again by who waits
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

    def _seen(self, one: FileOperation) -> FileOperation:
        """The operation by its path below the store, with the pages of a file that is forced."""
        path = str(Path(one.path).relative_to(self._store))
        other = str(Path(one.other).relative_to(self._store)) if one.other else ""
        pages = {}
        if one.kind in ("delete", "rename"):
            self._read.pop(path, None)
        if one.kind == "force":
            with suppress(FileNotFoundError, IsADirectoryError):  # a file of settings may have another name by now
                data = (self._store / path).read_bytes()
                self.late = max(self.late, time.time() - one.at)
                pages = changed(self._read.get(path, b""), data)
                self._read[path] = data
        return replace(one, path=path, other=other, pages=pages)


def traceable(running: Deployment) -> Processes:
    """The deployment if its parts are processes. Raises TargetError."""
    if not isinstance(running, Processes):
        raise TargetError(f"{running.name}: nothing can be traced that is no process of its own; leave out the kind of fault")
    return running


@contextmanager
def failing(pid: int, what: str, output: Path) -> Iterator[None]:
    """Let the calls of a process that runs fail, or take long, as strace's `inject` says, for as long as this goes on. Raises
    TargetError."""
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
    """Until every thread of the process is traced."""

    def is_traced() -> bool:
        if not child.alive:
            raise TargetError(f"strace cannot attach to the broker: {child.last_line()}; it needs the right to trace processes (ptrace)")
        try:
            states = [(task / "status").read_text() for task in Path(f"/proc/{pid}/task").iterdir()]
        except OSError:  # a thread has ended meanwhile
            return False
        return bool(states) and all(f"TracerPid:\t{child.pid}" in one for one in states)

    if not until(is_traced, bool, _ATTACHED, 0.01):
        raise TargetError(f"strace was not ready within {_ATTACHED:g} s")
