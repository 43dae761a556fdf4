"""Child processes that do not outlive us: each in a process group of its own, ended with the interpreter at the latest, or by the
guardian if that is killed."""

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

_TAIL = 4000  # bytes of output that are worth telling

_running: set[Child] = set()


class Child:
    """A command that runs, with its output in a file.

    A process group of its own keeps Ctrl-C away from it: we end it, in our order. Raises TargetError if it cannot be started.
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
        """The end of its output."""
        try:
            with self.output.open("rb") as file:
                file.seek(max(0, self.output.stat().st_size - _TAIL))
                return file.read().decode("utf-8", "replace")
        except OSError:
            return ""

    def last_line(self) -> str:
        """The last line of its output, for an error in one line."""
        lines = [line.strip() for line in self.printed().splitlines() if line.strip()]
        return lines[-1] if lines else "it printed nothing"

    def stop(self, seconds: float, *, ask: bool = True) -> bool:
        """End it gracefully, or by force after so many seconds; whether it went by itself. `ask` False: somebody else has asked."""
        if ask and self.alive:
            self._process.terminate()
        return self.wait(seconds)

    def wait(self, seconds: float) -> bool:
        """Wait for its end, by force after so many seconds; whether it went by itself."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        finally:
            self.kill()  # and what it started itself
        return True

    def kill(self) -> None:
        """End it and what it started, at once, and wait until it is gone. A second call does nothing: the id may be another's by then."""
        if self._ended:
            return
        self._ended = True
        _end_group(self._process)
        _running.discard(self)


def _end_group(process: subprocess.Popen[Any]) -> None:
    """Kill a process and what it started, wait until it is gone, and close the pipes to it."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    guardian.release_group(process.pid)
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with contextlib.suppress(BrokenPipeError):  # what was not written is lost
                pipe.close()


@contextlib.contextmanager
def started(command: Sequence[str], **more: Any) -> Iterator[subprocess.Popen[str]]:
    """A command that runs in a process group of its own; `more` goes to `Popen`. Afterwards it and what it started are killed. Raises
    OSError."""
    with interrupts.uninterrupted():  # an interrupt inside Popen loses the child
        process = subprocess.Popen(command, text=True, start_new_session=True, **more)
        guardian.guard_group(process.pid)
    try:
        yield process
    finally:
        _end_group(process)


def completed(command: Sequence[str], *, seconds: float | None = None, text: str = "", **more: Any) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, with `text` as its input; after `seconds`, or after an interrupt, it is killed. `more` as in `started`.
    Raises OSError, TimeoutExpired."""
    with started(command, stdin=subprocess.PIPE, **more) as process:
        printed, errors = process.communicate(text, seconds)
    return subprocess.CompletedProcess(command, process.returncode, printed, errors)


def end_all() -> None:
    """End every child that still runs."""
    for child in tuple(_running):
        child.kill()


atexit.register(end_all)
