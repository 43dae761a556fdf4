"""What a broker waits on its delay levels, as its store shows: which setting it had is in no file (REC-05).

An entry of the schedule topic's queues has the time of delivery, its record the time when it was stored. Where most of some entries of a
level agree on a wait of whole seconds, that is the level's; so a damaged entry is found in a store of any setting.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ..stored.layout import FILLER_SIZE
from ..stored.queues import Queue
from ..stored.segments import LogFile
from .records import Records

SECOND = 1000
SAMPLES = 15  # entries of each level that are looked at


def shown(levels: Sequence[Queue], files: Sequence[LogFile]) -> dict[int, int]:
    """The wait of each level in milliseconds, where the queues of the schedule topic show one. Raises StoredError."""
    start = min((file.base for file in files), default=0)
    waits = {}
    with Records(files) as log:
        for queue in levels:
            first, past = queue.between(start, 1 << 62)
            step = max(1, (past - first) // SAMPLES)
            entries = queue.sample(range(first, past, step))
            seen = Counter(wait for entry in entries if (wait := _wait(entry, log)) is not None)
            for wait, times in seen.most_common(1):
                if 2 * times > seen.total() and wait > 0 and wait % SECOND == 0:
                    waits[queue.queue_id + 1] = wait
    return waits


def _wait(entry: tuple[int, int, int], log: Records) -> int | None:
    place, size, due = entry
    record = log.at(place) if size not in (0, FILLER_SIZE) else None
    return None if record is None else due - record.head.store_timestamp
