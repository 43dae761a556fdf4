"""Which offset of a queue belongs to a time: what somebody is told who looks for messages by when they were stored (request 29).

Later releases give a bound of what was stored then; earlier ones the entry that a binary search comes upon, or the nearest.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from operator import itemgetter

from .consumequeue import ENTRY_SIZE, ConsumeQueue

StoredAt = Callable[[int], int | None]
"""When the message at an offset of the queue was stored (ms), None where the log has it no more."""


def offset_at(queue: ConsumeQueue, stored_at: StoredAt, time: int, *, bounds: str, upper: bool) -> int:
    """The offset for a time (ms); 0 for a queue without messages. `bounds` is the profile's `bounds_by_time`; `upper`: of two bounds the
    last offset stored then or earlier is asked for, 0 if there is none, and not the first one stored then or later, the end if there is
    none."""
    first, end = queue.min_offset, queue.max_offset
    if first >= end:
        return 0
    if bounds == "none":
        return _nearest(stored_at, first, end - 1, time, queue.files.file_size // ENTRY_SIZE)
    if not upper or bounds == "lower":
        return first + bisect_left(range(first, end), time, key=lambda offset: stored_at(offset) or 0)
    behind = bisect_right(range(first, end), time, key=lambda offset: stored_at(offset) or 0)
    return first + behind - 1 if behind else 0


def _nearest(stored_at: StoredAt, first: int, last: int, time: int, per_file: int) -> int:
    """An offset stored at `time`, of several the one that halving comes upon; else the nearer of the two beside it, of two as near the
    earlier one. A file has so many offsets; the first file that goes up to `time` is looked through, or the last. How far one goes its last
    message says here, and in those releases when the file was changed, a moment later."""
    low, stop = first, first - first % per_file + per_file
    while stop <= last and (stored_at(stop - 1) or 0) < time:
        low, stop = stop, stop + per_file
    high = min(last, stop - 1)
    beside: dict[bool, tuple[int, int]] = {}
    while low <= high:
        middle = (low + high) // 2
        stored = stored_at(middle)
        if stored == time:
            return middle
        later = stored is not None and stored > time
        if stored is not None:
            beside[later] = (abs(time - stored), middle)
        low, high = (low, middle - 1) if later else (middle + 1, high)
    return min((beside[later] for later in sorted(beside)), key=itemgetter(0), default=(0, 0))[1]
