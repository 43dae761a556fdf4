"""Child processes that do not outlive this process.

Each has a process group of its own. It is killed when the interpreter exits, or by the guardian if the interpreter is killed.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rocketproof_model import interrupts

from . import guardian
from .deployment import TargetError

_TAIL = 4000  # bytes of output that are returned

_running: set[Child] = set()


class Child:
    """A running command with its output in a file.

    Its own process group shields it from Ctrl-C, so that it is stopped in the right order. Raises TargetError if it cannot be started.
    """

    def __init__(self, command: Sequence[str], *, output: Path, env: Mapping[str, str] | None = None, folder: Path | None = None) -> None:
        self.command = tuple(command)
        self.output = output
        self._ended = False
        try:
            with output.open("ab") as file, interrupts.uninterrupted():  # an interrupt inside Popen loses the child
                self._process = subprocess.Popen(
                    self.command,
                    stdin=subprocess.DEVNULL,
                    stdout=file,
                    stderr=subprocess.STDOUT,
                    env=None if env is None else {**os.environ, **env},
                    cwd=folder,
                    start_new_session=True,
                )
                guardian.guard_group(self._process.pid)
                _running.add(self)
        except OSError as problem:
            raise TargetError(f"{self.command[0]} cannot be started: {problem.strerror}") from None

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    @property
    def exit_code(self) -> int | None:
        return self._process.poll()

    def printed(self) -> str:
        """Return the end of its output."""
        try:
            with self.output.open("rb") as file:
                file.seek(max(0, self.output.stat().st_size - _TAIL))
                return file.read().decode("utf-8", "replace")
        except OSError:
            return ""

    def last_line(self) -> str:
        """Return the last line of its output, for an error in one line."""
        lines = [line.strip() for line in self.printed().splitlines() if line.strip()]
        return lines[-1] if lines else "it printed nothing"

    def stop(self, seconds: float, *, ask: bool = True) -> bool:
        """Terminate it, and kill it after `seconds`. Return whether it exited by itself. `ask` False: it was asked to stop already."""
        if ask and self.alive:
            self._process.terminate()
        return self.wait(seconds)

    def wait(self, seconds: float) -> bool:
        """Wait until it exits, and kill it after `seconds`. Return whether it exited by itself."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        finally:
            self.kill()  # and its own children
        return True

    def kill(self) -> None:
        """Kill its process group and wait until it is gone. A second call does nothing, because its id may belong to another process by
        then."""
        if self._ended:
            return
        self._ended = True
        _end_group(self._process)
        _running.discard(self)


def _end_group(process: subprocess.Popen[Any]) -> None:
    """Kill a process group, wait until the process is gone, and close its pipes."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    guardian.release_group(process.pid)
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with contextlib.suppress(BrokenPipeError):  # unwritten data are lost
                pipe.close()


@contextlib.contextmanager
def started(command: Sequence[str], **more: Any) -> Iterator[subprocess.Popen[str]]:
    """Run a command in a process group of its own, which is killed afterwards. `more` goes to `Popen`. Raises OSError."""
    with interrupts.uninterrupted():  # an interrupt inside Popen loses the child
        process = subprocess.Popen(command, text=True, start_new_session=True, **more)
        guardian.guard_group(process.pid)
    try:
        yield process
    finally:
        _end_group(process)


def completed(command: Sequence[str], *, seconds: float | None = None, text: str = "", **more: Any) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, with `text` as its input. It is killed after `seconds` or an interrupt.

    `more` as in `started`. Raises OSError, TimeoutExpired.
    """
    with started(command, stdin=subprocess.PIPE, **more) as process:
        printed, errors = process.communicate(text, seconds)
    return subprocess.CompletedProcess(command, process.returncode, printed, errors)


def end_all() -> None:
    """Kill every child that still runs."""
    for child in tuple(_running):
        child.kill()


atexit.register(end_all)
