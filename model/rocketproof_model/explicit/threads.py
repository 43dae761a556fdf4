"""Work on a range of numbers in pieces, by threads; it pays for code that runs without the interpreter's lock."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")

PIECE = 1 << 16


def in_pieces(work: Callable[[int, int], T], total: int, workers: int, piece: int = PIECE) -> list[T]:
    """What `work(first, last)` gives for each piece first to last - 1 of 0 to total - 1, in their order.

    What a call raises is raised here. After that, and after Ctrl-C, no other piece is begun.
    """
    firsts = range(0, total, piece)
    with ThreadPoolExecutor(max(workers, 1)) as pool:
        return list(pool.map(work, firsts, [min(first + piece, total) for first in firsts]))
