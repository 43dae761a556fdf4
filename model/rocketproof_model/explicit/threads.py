"""Processes a range of numbers in pieces, by threads. Useful for code that runs without the interpreter's lock."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")

PIECE = 1 << 16


def in_pieces(work: Callable[[int, int], T], total: int, workers: int, piece: int = PIECE) -> list[T]:
    """Return `work(first, last)` for the pieces of 0 to `total` - 1, in order; a piece is first to last - 1.

    An exception of a call is raised here. After an exception or Ctrl-C no further piece begins.
    """
    firsts = range(0, total, piece)
    with ThreadPoolExecutor(max(workers, 1)) as pool:
        return list(pool.map(work, firsts, [min(first + piece, total) for first in firsts]))
