"""The queue offset for a store time, for searches by time (request 29).

Later releases return a bound of the messages stored at that time. Earlier ones return the entry that a binary search hits, or the nearest.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from operator import itemgetter

from .consumequeue import ENTRY_SIZE, ConsumeQueue

StoredAt = Callable[[int], int | None]
"""Returns when the message at a queue offset was stored (ms), None if the log does not have it any more."""


def offset_at(queue: ConsumeQueue, stored_at: StoredAt, time: int, *, bounds: str, upper: bool) -> int:
    """Return the offset for a time (ms), 0 for a queue without messages. `bounds` is the profile's `bounds_by_time`.

    With `upper` this is the last offset stored at that time or earlier, 0 if there is none. Otherwise it is the first one stored at that
    time or later, the queue's end if there is none.
    """
    first, end = queue.min_offset, queue.max_offset
    if first >= end:
        return 0
    if bounds == "none":
        return _nearest(stored_at, first, end - 1, time, queue.files.file_size // ENTRY_SIZE)
    if not upper or bounds == "lower":
        return first + bisect_left(range(first, end), time, key=lambda offset: stored_at(offset) or 0)
    upper_bound = bisect_right(range(first, end), time, key=lambda offset: stored_at(offset) or 0)
    return first + upper_bound - 1 if upper_bound else 0


def _nearest(stored_at: StoredAt, first: int, last: int, time: int, per_file: int) -> int:
    """Return an offset stored at `time`, the first one that halving hits; without one, the nearer of its neighbours, the earlier of two
    equally near.

    A file has `per_file` offsets. Only the first file whose last message was stored at `time` or later is searched, or the last file. The
    described releases use the file's modification time instead, which is slightly later.
    """
    low, stop = first, first - first % per_file + per_file
    while stop <= last and (stored_at(stop - 1) or 0) < time:
        low, stop = stop, stop + per_file
    high = min(last, stop - 1)
    neighbours: dict[bool, tuple[int, int]] = {}
    while low <= high:
        middle = (low + high) // 2
        stored = stored_at(middle)
        if stored == time:
            return middle
        later = stored is not None and stored > time
        if stored is not None:
            neighbours[later] = (abs(time - stored), middle)
        low, high = (low, middle - 1) if later else (middle + 1, high)
    return min((neighbours[later] for later in sorted(neighbours)), key=itemgetter(0), default=(0, 0))[1]
