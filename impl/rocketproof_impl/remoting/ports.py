"""What carries commands and serves them, as ports: network, connections, executors. The simulator and real servers provide them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from ..tasks import Future, Work
from .command import Command


class Network(Protocol):
    """Requests to a remoting address such as 127.0.0.1:9876."""

    async def call(self, address: str, request: Command, millis: int) -> Command:
        """Send and wait for the answer. Raises ConnectFailed, SendFailed or TimedOut (remoting.errors)."""
        ...

    async def post(self, address: str, request: Command) -> None:
        """Send one way: no answer is awaited and no failure after the write is seen (REM-12). Raises ConnectFailed."""
        ...


class Channel(Protocol):
    """One accepted connection, on which answers are written."""

    @property
    def remote(self) -> tuple[str, int]:
        """The caller's host and port."""
        ...

    @property
    def closing(self) -> bool:
        """Whether the connection is closed, or is about to be: no write can succeed."""
        ...

    def write(self, command: Command) -> None:
        """Send a command to the caller; a failure raises OSError."""
        ...


class Rejected(Exception):
    """An executor's queue is full."""


@dataclass(slots=True, eq=False)
class RequestTask:
    """What a thread is to do, and for which request: None for what is done behind an answer (REM-09).

    `created` is when it came into the queue, in milliseconds. `completes`: the request whose asynchronous processing is over, and its
    outcome (REM-09). `taken` is called when the task was taken from the queue and never runs.
    """

    work: Callable[[], Work[None]]
    channel: Channel | None = None
    request: Command | None = None
    created: int = 0
    completes: tuple[Command, Future[Any]] | None = None
    taken: Callable[[], None] | None = None


class Executor(Protocol):
    """A pool of threads with a queue, from which others than its threads may take (REM-10)."""

    @property
    def waiting(self) -> int:
        """How many tasks are in the queue."""
        ...

    def submit(self, task: RequestTask) -> None:
        """Run the task as soon as a thread is free. Raises Rejected if the queue is full."""
        ...

    def head(self) -> RequestTask | None:
        """The task that waits longest, None if none does."""
        ...

    def take(self) -> RequestTask:
        """Remove the task that waits longest; it never runs. Raises IndexError if there is none."""
        ...
