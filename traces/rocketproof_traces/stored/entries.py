"""The kernel that looks up the entries of records in windows of the consume queues."""

# Numba's functions have no types that a checker knows.
# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc,import-untyped,untyped-decorator"
# pyright: basic, reportCallIssue=false
from __future__ import annotations

from typing import Final

from rocketproof_model.compiled import compiled

from .facts import LIMIT
from .layout import ENTRY, ENTRY_SIZE, FILLER, FILLER_SIZE, NO_ENTRY, NO_QUEUE
from .memory import big32, big64

LOW, HIGH, FIRST, PAST, WINDOW, NAMED = range(6)
"""Of a queue: its first index and one past its last, the same of its window, the window's address, and whether it is among the missing."""
UNKNOWN: Final = -2
"""The end of a queue that nobody has looked for yet."""

_FACTOR = -7046029254386353131


@compiled
def find_entries(
    topic, queue_id, queue_offset, asked, keys, slots, queues, known, missing, found, offset, size, code
):  # pragma: no cover (compiled)
    """Fill in found, physical offset, size and tags code of the rows `asked`.

    Rows whose queue is not known yet, or whose entry is not in its queue's window, come to the begin of `asked`, and the first one of each
    such queue into `missing` with the queue's line. Returns how many they are of either, and how many queues are known; `keys` has room.
    """
    mask = keys.size - 1
    rows = absent = 0
    for number in range(asked.size):
        row = asked[number]
        found[row], offset[row], size[row], code[row] = NO_QUEUE, -1, 0, 0
        if topic[row] < 0:
            continue
        key = topic[row] << 32 | queue_id[row] & 0xFFFFFFFF
        at = ((key * _FACTOR) >> 40) & mask
        while keys[at] >= 0 and keys[at] != key:
            at = (at + 1) & mask
        if keys[at] < 0:
            keys[at], slots[at], queues[known, HIGH] = key, known, UNKNOWN
            known += 1
        queue, index = slots[at], queue_offset[row]
        low, high, base = queues[queue, LOW], queues[queue, HIGH], queues[queue, WINDOW]
        if high == UNKNOWN or (low <= index < high and not queues[queue, FIRST] <= index < queues[queue, PAST]):
            asked[rows] = row
            rows += 1
            if not queues[queue, NAMED]:
                queues[queue, NAMED] = 1
                missing[0, absent], missing[1, absent] = row, queue
                absent += 1
        elif low <= index < high:
            place = (index - queues[queue, FIRST]) * ENTRY_SIZE
            size[row] = big32(base, place + 8)
            offset[row] = min(max(big64(base, place), -LIMIT), LIMIT)
            code[row] = min(max(big64(base, place + 12), -LIMIT), LIMIT)
            found[row] = NO_ENTRY if size[row] == 0 else FILLER if size[row] == FILLER_SIZE else ENTRY
        elif high >= 0:
            found[row] = NO_ENTRY
    return rows, absent, known
