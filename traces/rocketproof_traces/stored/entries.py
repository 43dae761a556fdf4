"""The kernel that looks up the consume queue entries of records in windows of the queues."""

# Numba's functions have no types that a checker knows.
# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc,import-untyped,untyped-decorator"
# pyright: basic, reportCallIssue=false
from __future__ import annotations

from typing import Final

from numba import njit

from rocketproof_model.routines.compiled import compiled

from .facts import LIMIT
from .layout import ENTRY, ENTRY_SIZE, FILLER, FILLER_SIZE, NO_ENTRY, NO_QUEUE
from .memory import big32, big64

LOW, HIGH, FIRST, PAST, WINDOW, NAMED = range(6)
"""Columns of a queue's line: its first index and one past its last, the same of its window, the window's address, and whether it is already
among the missing."""
UNKNOWN: Final = -2
"""The end of a queue that has not been looked up yet."""

_FACTOR: Final = -7046029254386353131


@njit(nogil=True, inline="always")
def key_of(topic, queue_id):
    """Return a queue as one number >= 0; the topic is a name's number."""
    return topic << 32 | queue_id & 0xFFFFFFFF


@njit(nogil=True, inline="always")
def place_of(key, keys):
    """Return the slot of a key in a table of 2^n keys, or the empty slot (-1) for it. The table is never full."""
    mask = keys.size - 1
    at = ((key * _FACTOR) >> 40) & mask  # bits that depend on all of the key
    while keys[at] >= 0 and keys[at] != key:
        at = (at + 1) & mask
    return at


@compiled
def find_entries(
    topic, queue_id, queue_offset, pending, keys, slots, queues, known, missing, kinds, offset, size, code
):  # pragma: no cover (compiled)
    """Fill in `kinds`, physical offset, size and tags code of the rows `pending`.

    Some rows cannot be decided: their queue is not known yet, or their entry is not in the queue's window. These rows move to the start of
    `pending`. The first row of each such queue goes into `missing`, with the queue's line. Returns how many rows and how many queues are
    missing, and how many queues are known. `keys` must have room for all queues of these rows.
    """
    rows = absent = 0
    for number in range(pending.size):
        row = pending[number]
        kinds[row], offset[row], size[row], code[row] = NO_QUEUE, -1, 0, 0
        if topic[row] < 0:
            continue
        key = key_of(topic[row], queue_id[row])
        at = place_of(key, keys)
        if keys[at] < 0:
            keys[at], slots[at], queues[known, HIGH] = key, known, UNKNOWN
            known += 1
        queue, index = slots[at], queue_offset[row]
        low, high, base = queues[queue, LOW], queues[queue, HIGH], queues[queue, WINDOW]
        if high == UNKNOWN or (low <= index < high and not queues[queue, FIRST] <= index < queues[queue, PAST]):
            pending[rows] = row
            rows += 1
            if not queues[queue, NAMED]:
                queues[queue, NAMED] = 1
                missing[0, absent], missing[1, absent] = row, queue
                absent += 1
        elif low <= index < high:
            place = (index - queues[queue, FIRST]) * ENTRY_SIZE
            stored_size = big32(base, place + 8)
            offset[row] = min(max(big64(base, place), -LIMIT), LIMIT)
            code[row] = min(max(big64(base, place + 12), -LIMIT), LIMIT)
            size[row] = stored_size
            kinds[row] = NO_ENTRY if stored_size == 0 else FILLER if stored_size == FILLER_SIZE else ENTRY
        elif high >= 0:
            kinds[row] = NO_ENTRY
    return rows, absent, known


@compiled
def last_entry(base, count):  # pragma: no cover (compiled)
    """Return the number of the last of `count` entries at an address that is not zero; -1 for none."""
    last = count - 1
    while last >= 0 and big32(base, last * ENTRY_SIZE + 8) == 0:
        last -= 1
    return last
