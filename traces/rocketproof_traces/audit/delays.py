"""Derive the waits of the delay levels from a store: no file contains this setting (REC-05).

An entry of a schedule topic's queue has the time of delivery, its record the time when it was stored. If most sampled entries of a level
agree on a wait of whole seconds, this is the level's wait. So a damaged entry is found in a store with any setting.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ..stored.layout import FILLER_SIZE
from ..stored.queues import Queue
from ..stored.segments import LogFile
from .records import Records

SECOND = 1000
SAMPLES = 15  # sampled entries of each level


def observed_delays(levels: Sequence[Queue], files: Sequence[LogFile]) -> dict[int, int]:
    """Return the wait in milliseconds of each level for which the queues of the schedule topic show one. Raises StoredError."""
    start = min((file.base for file in files), default=0)
    waits = {}
    with Records(files) as log:
        for queue in levels:
            first, past = queue.between(start, 1 << 62)
            step = max(1, (past - first) // SAMPLES)
            entries = queue.sample(range(first, past, step))
            counts = Counter(wait for entry in entries if (wait := _wait(entry, log)) is not None)
            for wait, times in counts.most_common(1):
                if 2 * times > counts.total() and wait > 0 and wait % SECOND == 0:
                    waits[queue.queue_id + 1] = wait
    return waits


def _wait(entry: tuple[int, int, int], log: Records) -> int | None:
    offset, size, due = entry
    record = log.at(offset) if size not in (0, FILLER_SIZE) else None
    return None if record is None else due - record.head.store_timestamp
