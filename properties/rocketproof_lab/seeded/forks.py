"""Run collected tests in forked children. Each child starts with everything imported and collected, and with no test run yet.

A child reports to its parent which test it begins and how it ended. If a test takes too long, the parent kills the child and all processes
that the child has started.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import time
import warnings
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Literal

import pytest

from rocketproof_protocol.numbers import whole_number

from .patch import Ready

MEMORY = 8 << 30  # bytes that a child may take in addition: a changed loop may not end
FOREVER = float("inf")


@dataclass(frozen=True)
class TestEnd:
    """How a test ended. hung: it was killed after its timeout. lost: its process ended. `called`: calls of each changed function."""

    test: str
    outcome: Literal["passed", "skipped", "failed", "hung", "lost"]
    seconds: float
    called: Counter[str] = field(default_factory=Counter)
    why: str = ""  # the first line of a failed test's message

    @property
    def failed(self) -> bool:
        return self.outcome in ("failed", "hung", "lost")


@dataclass(eq=False)
class ForkedTests:
    """The tests of one child, in this order, under a patch. `patience`: the timeout of a test in seconds.

    `ran` grows as the tests end. With `stop` a child stops after the first failure. A hung or lost test always ends the child.
    """

    items: Sequence[pytest.Item]
    ready: Ready
    patience: Callable[[str], float]
    stop: bool
    ran: list[TestEnd] = field(default_factory=list)
    seconds: float = 0.0


def run(jobs: Iterable[ForkedTests], workers: int, until: float, temporary: Path) -> Generator[ForkedTests, None, None]:
    """Run all jobs, `workers` at a time, and yield each when it has ended; none after `until` on the monotonic clock.

    `temporary` is a folder for the tests' temporary files. Closing the generator kills the children.
    """
    waiting = deque(jobs)
    busy: list[_Child] = []
    try:
        while (waiting or busy) and time.monotonic() < until:
            while waiting and len(busy) < workers:
                busy.append(_Child(waiting.popleft(), temporary))
            first = min(until, *(child.deadline for child in busy))
            ready = wait([child.pipe for child in busy], None if first == FOREVER else max(0.0, first - time.monotonic()))
            for child in list(busy):
                if child.receive() if child.pipe in ready else child.overdue():
                    child.end()
                    busy.remove(child)
                    yield child.job
    finally:
        for child in busy:
            child.end()


class _Child:
    """A process with a job, as seen by its parent."""

    def __init__(self, job: ForkedTests, temporary: Path) -> None:
        context = multiprocessing.get_context("fork")
        self.job = job
        self.pipe, theirs = context.Pipe(duplex=False)
        self.begun = self.since = time.monotonic()
        self.test = job.items[0].nodeid
        self.deadline = self.since + job.patience(self.test)
        self.process = context.Process(target=_child, args=(job, theirs, temporary))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # libraries have threads that survive a fork
            self.process.start()
        theirs.close()

    def receive(self) -> bool:
        """Process one message of the child. Return whether the child has ended."""
        try:
            message: TestEnd | str | None = self.pipe.recv()
        except (EOFError, OSError):
            self._add("lost")
            return True
        if isinstance(message, TestEnd):
            self.job.ran.append(message)
        elif message is not None:
            self.test = message
        self.since = time.monotonic()
        self.deadline = self.since + self.job.patience(self.test)
        return message is None

    def overdue(self) -> bool:
        if time.monotonic() < self.deadline:
            return False
        self._add("hung")
        return True

    def _add(self, outcome: Literal["hung", "lost"]) -> None:
        self.job.ran.append(TestEnd(self.test, outcome, time.monotonic() - self.since))

    def end(self) -> None:
        """Kill the child and all processes that it has started."""
        if self.process.pid is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()
        self.process.join()
        self.pipe.close()
        self.job.seconds = time.monotonic() - self.begun


class _Reports:
    """Collects the reports of one test: setup, call, teardown."""

    def __init__(self) -> None:
        self.outcomes: set[str] = set()
        self.why = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.outcomes.add(report.outcome)
        if report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            self.why = str(getattr(crash, "message", "")).partition("\n")[0]


def _child(job: ForkedTests, pipe: Connection, temporary: Path) -> None:
    os.setsid()
    silence()
    limit_memory()
    os.environ["PYTEST_DEBUG_TEMPROOT"] = str(temporary)
    reports = _Reports()
    job.items[0].config.pluginmanager.register(reports)
    called: Counter[str] = Counter()

    def reached(name: str) -> None:
        called[name] += 1

    with job.ready.applied(reached):
        for item, following in zip(job.items, [*job.items[1:], None], strict=True):
            pipe.send(item.nodeid)
            called.clear()
            reports.outcomes.clear()
            begun = time.monotonic()
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            outcomes = reports.outcomes
            outcome: Literal["failed", "skipped", "passed"]
            outcome = "failed" if "failed" in outcomes else "skipped" if "skipped" in outcomes else "passed"
            pipe.send(TestEnd(item.nodeid, outcome, time.monotonic() - begun, called, reports.why))
            if job.stop and outcome == "failed":
                break
        pipe.send(None)
    os._exit(0)  # skips the exit handlers of the parent process


def silence() -> None:
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
