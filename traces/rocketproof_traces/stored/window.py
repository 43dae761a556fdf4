"""The part of a file that is in memory: a buffer with spare bytes at both ends, filled anew as the walk goes on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .memory import MARGIN
from .paths import OpenSource, read

WINDOW_SIZE = 1 << 20


def new_room(size: int = WINDOW_SIZE) -> NDArray[np.uint8]:
    """Memory for a window of so many bytes."""
    return np.zeros(size + 2 * MARGIN, np.uint8)


class Window:
    """Bytes [start, end) of a file, in a room of `new_room`. `base` is the physical offset of the file's first byte."""

    def __init__(self, source: OpenSource, base: int, room: NDArray[np.uint8]) -> None:
        self.source = source
        self._base = base
        self._room = room
        self.start = self.end = 0

    @property
    def address(self) -> int:
        """Where the byte at `start` is in memory."""
        return int(self._room.ctypes.data) + MARGIN

    @property
    def size(self) -> int:
        return len(self._room) - 2 * MARGIN

    @property
    def offset_of_zero(self) -> int:
        """The physical offset of the byte at `start`."""
        return self._base + self.start

    def fill(self, start: int, least: int = 0) -> None:
        """Read from a place in the file on, `least` bytes or more if the file has them. Raises StoredError.

        With `least` the room may become another one.
        """
        if least > self.size:
            self._room = new_room(least)
        self.start = self.end = start
        count = min(self.size, self.source.length - start)
        self.source.read_into(start, self._room[MARGIN : MARGIN + count].data)
        self.end = start + count

    def has(self, start: int, end: int) -> bool:
        return self.start <= start and end <= self.end

    def bytes_at(self, start: int, length: int) -> bytes:
        """Bytes of the file, from memory or from the file. Raises StoredError."""
        if not self.has(start, start + length):
            return read(self.source, start, length)
        at = MARGIN + start - self.start
        return self._room[at : at + length].tobytes()
