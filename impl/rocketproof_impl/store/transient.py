"""The transient pool: buffers outside the files for appends while the page cache is too slow (FLU-06)."""

from __future__ import annotations


class TransientStorePool:
    """`buffers` buffers of the log's file size, lent to files that are not committed completely."""

    __slots__ = ("_available",)

    def __init__(self, buffers: int, file_size: int) -> None:
        self._available = [bytearray(file_size) for _ in range(buffers)]

    @property
    def available(self) -> int:
        """The number of free buffers."""
        return len(self._available)

    def borrow(self) -> bytearray | None:
        """Return a free buffer, None if there is none: the file is then written directly."""
        return self._available.pop() if self._available else None

    def give_back(self, buffer: bytearray) -> None:
        """Return a buffer to the pool. Its next borrower overwrites its content."""
        self._available.append(buffer)
