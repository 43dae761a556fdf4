"""The table that a walk writes its rows of facts into.

It has a line of STRIDE words for each column. The stride is no power of two, as equal places in many lines would share one set of the
processor's cache.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from .facts import COLUMNS, NUMBER

ROWS: Final = 4096  # the most that a chunk has
STRIDE: Final = ROWS + 8
LINE: Final = STRIDE * 8
COLUMN_COUNT: Final = len(COLUMNS)


def line(name: str) -> int:
    """Where the line of a column begins, in bytes."""
    return NUMBER[name] * LINE


def new_table(more: int = 0) -> NDArray[np.int64]:
    """Room for ROWS rows, with so many lines more than a walk fills."""
    return np.zeros((COLUMN_COUNT + more, STRIDE), np.int64)
