"""The transient pool: buffers outside the files, into which appends go first where the page cache is too slow (FLU-06)."""

from __future__ import annotations


class TransientStorePool:
    """So many buffers of the size of a file of the log, lent to the files that are not committed to their end."""

    __slots__ = ("_available",)

    def __init__(self, buffers: int, file_size: int) -> None:
        self._available = [bytearray(file_size) for _ in range(buffers)]

    @property
    def available(self) -> int:
        """The number of buffers that nobody has."""
        return len(self._available)

    def borrow(self) -> bytearray | None:
        """A buffer, None if all are lent: the file is then written to directly."""
        return self._available.pop() if self._available else None

    def give_back(self, buffer: bytearray) -> None:
        """Take a buffer back; what is in it is written over by its next borrower."""
        self._available.append(buffer)
