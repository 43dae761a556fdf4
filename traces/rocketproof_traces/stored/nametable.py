"""The table of names in memory, as `names` makes it and the kernel reads and adds to it."""

from __future__ import annotations

from typing import Final

LONGEST: Final = 255  # bytes of a name; longer ones get no number
SLOTS, MASK, STARTS, LENGTHS, HASHES, POOL, COUNT, USED, CAPACITY, ROOM = range(0, 80, 8)
"""Where the kernel finds, behind the table's address, the addresses of the arrays and the four counts."""
