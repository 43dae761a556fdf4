"""Child processes that do not outlive us: each in a process group of its own, ended with the interpreter at the latest, or by the
guardian if that is killed."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

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
        try:
            with output.open("ab") as file:
                self._process = subprocess.Popen(
                    self.command,
                    stdin=subprocess.DEVNULL,
                    stdout=file,
                    stderr=subprocess.STDOUT,
                    env=None if env is None else {**os.environ, **env},
                    cwd=folder,
                    start_new_session=True,
                )
        except OSError as problem:
            raise TargetError(f"{self.command[0]} cannot be started: {problem.strerror}") from None
        self._ended = False
        guardian.guard_group(self._process.pid)
        _running.add(self)

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
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        guardian.release_group(self._process.pid)
        _running.discard(self)


def end_all() -> None:
    """End every child that still runs."""
    for child in tuple(_running):
        child.kill()


atexit.register(end_all)
