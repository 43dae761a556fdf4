"""Layout of the name table in memory: `names` allocates it, the kernel reads it and adds names."""

from __future__ import annotations

from typing import Final

LONGEST: Final = 255  # bytes of a name; longer ones get no number
SLOTS, MASK, STARTS, LENGTHS, HASHES, POOL, COUNT, USED, CAPACITY, ROOM = range(0, 80, 8)
"""Byte offsets in the table's state: the addresses of its arrays and four counts."""
