"""What the implementation asks of the world: clock, disk, network, randomness, executors. The simulator and real servers provide them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from .remoting.command import Command
from .tasks import Work


class Clock(Protocol):
    """Milliseconds since the epoch. A simulated clock starts at 10 000 001 or later (STO-03)."""

    def now(self) -> int: ...


class Randomness(Protocol):
    def below(self, limit: int) -> int:
        """A number in [0, limit)."""
        ...

    def int32(self) -> int:
        """Any 32-bit int."""
        ...


class Region(Protocol):
    """A mapped file: bytes of a fixed length. What is written survives the process; what is forced survives the machine."""

    @property
    def size(self) -> int: ...

    def write(self, position: int, data: bytes | bytearray | memoryview) -> None: ...

    def read(self, position: int, size: int) -> bytes: ...

    def force(self) -> None:
        """Bring everything written to the device."""
        ...


class Disk(Protocol):
    """Files by path, with `/` between folders. An operation may raise OSError, and the process may end inside it."""

    def read(self, path: str) -> bytes | None:
        """The whole content, None if there is no such file."""
        ...

    def write(self, path: str, data: bytes) -> None:
        """Truncate the file, create it and its folders where missing, write, close. Nothing is forced to the device."""
        ...

    def delete(self, path: str) -> bool:
        """Whether the file was there and is gone."""
        ...

    def rename(self, old: str, new: str) -> bool:
        """Whether `old` was there; it replaces `new`."""
        ...

    def names(self, folder: str) -> list[str]:
        """The names of files and folders directly in a folder, sorted; [] if there is none."""
        ...

    def size(self, path: str) -> int | None:
        """The length of a file in bytes, None if there is none."""
        ...

    def map(self, path: str, size: int) -> Region:
        """The file as a mapped region of this size, created and filled with zeros where missing. Raises OSError."""
        ...


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

    def write(self, command: Command) -> None:
        """Send a command to the caller; a failure raises OSError."""
        ...


class Rejected(Exception):
    """An executor's queue is full."""


@dataclass(slots=True, eq=False)
class RequestTask:
    """What a thread is to do, and for which request: None for what is done behind an answer (REM-09).

    `created` is when it came into the queue, in milliseconds.
    """

    work: Callable[[], Work[None]]
    channel: Channel | None = None
    request: Command | None = None
    created: int = 0


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


Spawn = Callable[[Awaitable[None]], None]
