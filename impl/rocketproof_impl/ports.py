"""What the implementation asks of the world: clock, disk, randomness. The simulator and real servers provide them.

Network, connections and executors, which carry commands, are in `remoting.ports`.
"""

from __future__ import annotations

from typing import Protocol


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
