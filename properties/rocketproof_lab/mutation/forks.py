"""Run work in forked processes. Each starts with everything that this process has imported and computed.

A process reports to its parent over a pipe. If no report arrives in time, the parent kills the process and all processes that it has
started.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import time
import warnings
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Iterable
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Final, Generic, Literal, TypeVar

from rocketproof_properties.reports.choices import InputError
from rocketproof_protocol.numbers import whole_number

MEMORY: Final = 8 << 30
"""Bytes that a process may take in addition: a changed loop may not end."""
FOREVER: Final = float("inf")
T = TypeVar("T", bound="ForkedTask")


class OutOfTime(Exception):
    """The time limit of the run is reached."""


class ForkedTask(ABC):
    """Work for one forked process, and what the parent has received of it. `seconds`: its duration."""

    seconds: float = 0.0

    @abstractmethod
    def work(self, send: Callable[[Any], None]) -> None:
        """Do the work in the forked process and send messages to the parent. None is no message."""

    @abstractmethod
    def receive(self, message: Any) -> None:
        """Take a message, in the parent."""

    @abstractmethod
    def broke(self, how: Literal["hung", "lost"], seconds: float) -> None:
        """The process was killed after its timeout (hung), or ended before its work (lost), `seconds` after its last message."""

    @abstractmethod
    def patience(self) -> float:
        """Return the number of seconds until the next message must arrive."""


def needs_fork() -> None:
    """Raise InputError if this system has no fork."""
    if not hasattr(os, "fork"):
        raise InputError("mutants are tried in forked processes, which this system does not have; use Linux or macOS")


def run_forked(tasks: Iterable[T], workers: int, deadline: float) -> Generator[T, None, None]:
    """Run all tasks, `workers` at a time, and yield each when it has ended. Closing the generator kills the processes.

    Raises OutOfTime if tasks remain at `deadline` on the monotonic clock.
    """
    waiting = deque(tasks)
    busy: list[_Process[T]] = []
    try:
        while waiting or busy:
            if time.monotonic() >= deadline:
                raise OutOfTime
            while waiting and len(busy) < workers:
                busy.append(_Process(waiting.popleft()))
            first = min(deadline, *(process.deadline for process in busy))
            ready = wait([process.pipe for process in busy], None if first == FOREVER else max(0.0, first - time.monotonic()))
            for process in list(busy):
                if process.receive() if process.pipe in ready else process.overdue():
                    process.end()
                    busy.remove(process)
                    yield process.task
    finally:
        for process in busy:
            process.end()


class _Process(Generic[T]):
    """A process with its task, as seen by its parent."""

    def __init__(self, task: T) -> None:
        context = multiprocessing.get_context("fork")
        self.task = task
        self.pipe, theirs = context.Pipe(duplex=False)
        self._begun = self._since = time.monotonic()
        self.deadline = self._since + task.patience()
        self._process = context.Process(target=_work, args=(task, theirs))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # libraries have threads that survive a fork
            self._process.start()
        theirs.close()

    def receive(self) -> bool:
        """Take one message. Return whether the process has ended."""
        try:
            message = self.pipe.recv()
        except (EOFError, OSError):
            self.task.broke("lost", time.monotonic() - self._since)
            return True
        if message is None:
            return True
        self.task.receive(message)
        self._since = time.monotonic()
        self.deadline = self._since + self.task.patience()
        return False

    def overdue(self) -> bool:
        if time.monotonic() < self.deadline:
            return False
        self.task.broke("hung", time.monotonic() - self._since)
        return True

    def end(self) -> None:
        """Kill the process and all processes that it has started."""
        if self._process.pid is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        self._process.join()
        self.pipe.close()
        self.task.seconds = time.monotonic() - self._begun


def _work(task: ForkedTask, pipe: Connection) -> None:
    os.setsid()
    _silence()
    task.work(pipe.send)
    pipe.send(None)
    os._exit(0)  # skips the exit handlers of the parent process


def _silence() -> None:
    """Close this process's standard input and outputs."""
    silent = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(silent, stream)


def limit_memory() -> None:
    """Limit the additional memory of this process to MEMORY bytes."""
    if sys.platform == "linux":
        import resource

        used = whole_number(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        limit = used + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))
