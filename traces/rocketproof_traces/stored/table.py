"""The table into which a walk writes its rows of facts.

Each column has a line of STRIDE words. The stride is not a power of two, because equal positions in many lines would then share one set of
the processor's cache.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from .facts import COLUMNS, NUMBER

ROWS: Final = 4096  # the most rows of a chunk
STRIDE: Final = ROWS + 8
LINE: Final = STRIDE * 8
COLUMN_COUNT: Final = len(COLUMNS)


def line(name: str) -> int:
    """Return the byte offset of a column's line."""
    return NUMBER[name] * LINE


def new_table(more: int = 0) -> NDArray[np.int64]:
    """Allocate a table for ROWS rows, with `more` lines in addition to those of a walk."""
    return np.zeros((COLUMN_COUNT + more, STRIDE), np.int64)
