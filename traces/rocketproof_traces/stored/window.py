"""The part of a file that is in memory: a buffer with spare bytes at both ends, which is refilled during the walk."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .memory import MARGIN
from .paths import OpenSource, read

WINDOW_SIZE = 1 << 20


def new_buffer(size: int = WINDOW_SIZE) -> NDArray[np.uint8]:
    """Allocate the buffer of a window of `size` bytes."""
    return np.zeros(size + 2 * MARGIN, np.uint8)


class Window:
    """Bytes [start, end) of a file, in a buffer of `new_buffer`. `base` is the physical offset of the file's first byte."""

    def __init__(self, source: OpenSource, base: int, buffer: NDArray[np.uint8]) -> None:
        self.source = source
        self._base = base
        self._buffer = buffer
        self.start = self.end = 0

    @property
    def address(self) -> int:
        """The memory address of the byte at `start`."""
        return int(self._buffer.ctypes.data) + MARGIN

    @property
    def size(self) -> int:
        return len(self._buffer) - 2 * MARGIN

    @property
    def offset_of_zero(self) -> int:
        """The physical offset of the byte at `start`."""
        return self._base + self.start

    def fill(self, start: int, least: int = 0) -> None:
        """Read from position `start` of the file: at least `least` bytes, if the file has them. Raises StoredError.

        If the buffer is smaller than `least`, it is replaced.
        """
        if least > self.size:
            self._buffer = new_buffer(least)
        self.start = self.end = start
        count = min(self.size, self.source.length - start)
        self.source.read_into(start, self._buffer[MARGIN : MARGIN + count].data)
        self.end = start + count

    def has(self, start: int, end: int) -> bool:
        return self.start <= start and end <= self.end

    def bytes_at(self, start: int, length: int) -> bytes:
        """Return bytes of the file, from memory if they are there. Raises StoredError."""
        if not self.has(start, start + length):
            return read(self.source, start, length)
        at = MARGIN + start - self.start
        return self._buffer[at : at + length].tobytes()
