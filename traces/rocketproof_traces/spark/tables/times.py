"""Milliseconds of a store as timestamps of Arrow."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .clauses import Mask

# Years 1 to 9999: what Spark and Python can show.
_FIRST, _LAST = -62_135_596_800_000, 253_402_300_799_999


def microseconds(milliseconds: NDArray[np.int64]) -> tuple[NDArray[np.int64], Mask]:
    """Microseconds, and where there are any: a damaged record may name a time that no calendar has."""
    present = (milliseconds >= _FIRST) & (milliseconds <= _LAST)
    return np.where(present, milliseconds, 0) * 1000, present
