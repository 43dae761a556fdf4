"""Milliseconds of a store as timestamps of Arrow."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .clauses import Mask

# Years 1 to 9999, the range of Spark and Python.
_FIRST, _LAST = -62_135_596_800_000, 253_402_300_799_999


def microseconds(milliseconds: NDArray[np.int64]) -> tuple[NDArray[np.int64], Mask]:
    """Return microseconds, and which are valid: a damaged record can contain a time outside of the calendar."""
    present = (milliseconds >= _FIRST) & (milliseconds <= _LAST)
    return np.where(present, milliseconds, 0) * 1000, present
