"""The ports that carry and serve commands: network, connections, executors. The simulator and real servers provide them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from ..tasks import Future, Work
from .command import Command


class Network(Protocol):
    """Sends requests to a remoting address such as 127.0.0.1:9876."""

    async def call(self, address: str, request: Command, millis: int) -> Command:
        """Send a request and wait for the response. Raises ConnectFailed, SendFailed or TimedOut (remoting.errors)."""
        ...

    async def post(self, address: str, request: Command) -> None:
        """Send a one-way request. No response is awaited, and failures after the write are not reported (REM-12). Raises ConnectFailed."""
        ...


class Channel(Protocol):
    """An accepted connection, on which responses are written."""

    @property
    def remote(self) -> tuple[str, int]:
        """The caller's host and port."""
        ...

    @property
    def closing(self) -> bool:
        """Whether the connection is closed or about to close, so that no write can succeed."""
        ...

    def write(self, command: Command) -> None:
        """Send a command to the caller. Raises OSError if that fails."""
        ...


class Rejected(Exception):
    """An executor's queue is full."""


@dataclass(slots=True, eq=False)
class RequestTask:
    """The work of a thread, and its request; None for the completion of an asynchronous response (REM-09).

    `created` is the time (ms) at which the task entered the queue. `completes` is the request whose asynchronous processing ended, with its
    outcome (REM-09). `taken` is called when the task is removed from the queue without running.
    """

    work: Callable[[], Work[None]]
    channel: Channel | None = None
    request: Command | None = None
    created: int = 0
    completes: tuple[Command, Future[Any]] | None = None
    taken: Callable[[], None] | None = None


class Executor(Protocol):
    """A thread pool with a queue, from which fast failure can remove tasks (REM-10)."""

    @property
    def waiting(self) -> int:
        """The number of tasks in the queue."""
        ...

    def submit(self, task: RequestTask) -> None:
        """Run the task as soon as a thread is free. Raises Rejected if the queue is full."""
        ...

    def head(self) -> RequestTask | None:
        """Return the task that has waited longest, None if there is none."""
        ...

    def take(self) -> RequestTask:
        """Remove the task that has waited longest; it never runs. Raises IndexError if there is none."""
        ...
