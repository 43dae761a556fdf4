"""Names of topics as numbers: a hash table that the kernel reads and extends.

A number is a row. The names known at the start have the first numbers in their order; other names are numbered as they occur.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .memory import MARGIN
from .nametable import CAPACITY, COUNT, LONGEST, ROOM, USED
from .numbering import number_of


class NameTable:
    """Names with their numbers, each name once."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        self._state = np.zeros(10, np.int64)
        self._starts = np.zeros(0, np.int64)
        self._lengths = np.zeros(0, np.int64)
        self._hashes = np.zeros(0, np.int64)
        self._pool = np.zeros(MARGIN, np.uint8)
        self._slots = np.zeros(2, np.int64)
        self._make_room(256, 1 << 14)
        for name in known:
            self.number(name)

    @property
    def address(self) -> int:
        return int(self._state.ctypes.data)

    def __len__(self) -> int:
        return int(self._state[COUNT // 8])

    def raw(self, number: int) -> bytes:
        """Return the bytes of a name."""
        start = self._starts[number]
        return self._pool[start : start + self._lengths[number]].tobytes()

    def texts(self) -> list[str]:
        """Return all names in the order of their numbers."""
        return [self.raw(number).decode("utf-8", "replace") for number in range(len(self))]

    def number(self, name: str | bytes) -> int:
        """Return the number of a name; a new name is added. Raises ValueError for more than LONGEST bytes."""
        data = name.encode() if isinstance(name, str) else name
        if len(data) > LONGEST:
            raise ValueError(f"a name has at most {LONGEST} bytes")
        self.grow()
        padded = np.zeros(LONGEST + MARGIN, np.uint8)
        padded[: len(data)] = np.frombuffer(data, np.uint8)
        return index(number_of(padded.ctypes.data, 0, len(data), self.address))

    def grow(self) -> None:
        """Make room for the names of one record, if there is too little."""
        count, used, capacity, pool_size = (int(self._state[at // 8]) for at in (COUNT, USED, CAPACITY, ROOM))
        if count + 3 > capacity or used + 3 * LONGEST > pool_size:
            self._make_room(2 * capacity, 2 * pool_size)

    def _make_room(self, capacity: int, pool_size: int) -> None:
        count, used = len(self), int(self._state[USED // 8])
        self._starts, self._lengths, self._hashes = (
            _extended(array, count, capacity) for array in (self._starts, self._lengths, self._hashes)
        )
        self._pool = _extended(self._pool, used, pool_size + MARGIN)
        self._slots = np.zeros(4 * capacity, np.int64)
        mask = len(self._slots) - 1
        for number in range(count):
            slot = int(self._hashes[number]) & mask
            while self._slots[slot]:
                slot = (slot + 1) & mask
            self._slots[slot] = number + 1
        places = [array.ctypes.data for array in (self._starts, self._lengths, self._hashes, self._pool)]
        self._state[:] = [self._slots.ctypes.data, mask, *places, count, used, capacity, pool_size]


def _extended(array: NDArray[Any], used: int, length: int) -> NDArray[Any]:
    copy = np.zeros(length, array.dtype)
    copy[:used] = array[:used]
    return copy
