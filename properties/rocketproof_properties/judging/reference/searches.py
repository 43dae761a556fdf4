"""The offset that a search by time has to return, by the target's own store times.

The clocks of target and reference implementation differ, so that a time of the target says nothing about the records here.
"""

from __future__ import annotations

from rocketproof_impl.store.bytime import StoredAt, offset_at
from rocketproof_impl.store.consumequeue import ConsumeQueue


def offset_by_time(queue: ConsumeQueue | None, stored_at: StoredAt, time: int, *, bounds: str, upper: bool) -> int | None:
    """Return the offset for a time of the target in ms, 0 for an unknown queue; None if the store time of one of its messages is unknown.

    - `queue`: the queue here. `stored_at`: returns the target's store time of the message at an offset, None if it is unknown.
    - `bounds`: the profile's `bounds_by_time`. `upper`: the upper bound is wanted.
    """
    if queue is None:
        return 0
    if any(stored_at(offset) is None for offset in range(queue.min_offset, queue.max_offset)):
        return None
    return offset_at(queue, stored_at, time, bounds=bounds, upper=upper)
