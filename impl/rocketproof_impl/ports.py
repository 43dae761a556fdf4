"""The ports of the implementation: clock, disk and randomness. The simulator and real servers provide them.

Network, connections and executors, which carry commands, are in `remoting.ports`.
"""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """Milliseconds since the epoch. A simulated clock starts at 10 000 001 or later (STO-03)."""

    def now(self) -> int: ...


class Randomness(Protocol):
    def below(self, limit: int) -> int:
        """Return a number in [0, limit)."""
        ...

    def int32(self) -> int:
        """Return any 32-bit int."""
        ...


class Region(Protocol):
    """A mapped file: bytes of a fixed length. Written bytes survive a crash of the process; forced bytes survive a power loss."""

    @property
    def size(self) -> int: ...

    def write(self, position: int, data: bytes | bytearray | memoryview) -> None: ...

    def read(self, position: int, size: int) -> bytes: ...

    def force(self) -> None:
        """Sync all written bytes to the device."""
        ...


class Disk(Protocol):
    """Files by path, with `/` between folders. Any operation may raise OSError, and the process may end inside it."""

    def read(self, path: str) -> bytes | None:
        """Return the whole content, None if there is no such file."""
        ...

    def write(self, path: str, data: bytes) -> None:
        """Truncate the file, write it and close it; create it and its folders if missing. Nothing is synced to the device."""
        ...

    def delete(self, path: str) -> bool:
        """Delete the file. Return whether it existed."""
        ...

    def rename(self, old: str, new: str) -> bool:
        """Rename `old`, replacing `new`. Return whether `old` existed."""
        ...

    def names(self, folder: str) -> list[str]:
        """Return the sorted names of files and folders directly in a folder; [] if there is no such folder."""
        ...

    def size(self, path: str) -> int | None:
        """Return the length of a file in bytes, None if there is no such file."""
        ...

    def map(self, path: str, size: int) -> Region:
        """Return the file as a mapped region of this size, created and filled with zeros if missing. Raises OSError."""
        ...
