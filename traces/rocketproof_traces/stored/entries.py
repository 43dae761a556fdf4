"""The kernel that looks up the entries of records in windows of the consume queues."""

# Numba's functions have no types that a checker knows.
# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc,import-untyped,untyped-decorator"
# pyright: basic, reportCallIssue=false
from __future__ import annotations

from numba import njit

from rocketproof_model.compiled import compiled

from .facts import LIMIT
from .layout import ENTRY, ENTRY_SIZE, FILLER, FILLER_SIZE, NO_ENTRY, NO_QUEUE
from .memory import big32, big64

_FACTOR = -7046029254386353131


@njit(nogil=True, inline="always")
def _start(key, mask):
    return ((key * _FACTOR) >> 40) & mask


@compiled
def place_key(key, slot, keys, slots):
    """Note the slot of a key; there is room."""
    mask = keys.size - 1
    at = _start(key, mask)
    while keys[at] >= 0:
        at = (at + 1) & mask
    keys[at] = key
    slots[at] = slot


@compiled
def find_entries(topic, queue_id, queue_offset, row, keys, slots, lines, out):
    """Fill in the lines of `out` (found, physical offset, size, tags code) from `row` on.

    Ends before a row whose queue has no slot yet (gives -1), or whose entry is not in the queue's window (gives its slot).
    """
    mask = keys.size - 1
    while row < topic.size:
        found, offset, size, code = NO_QUEUE, -1, 0, 0
        if topic[row] >= 0:
            key = topic[row] << 32 | queue_id[row] & 0xFFFFFFFF
            at = _start(key, mask)
            while keys[at] >= 0 and keys[at] != key:
                at = (at + 1) & mask
            if keys[at] < 0:
                return row, -1
            slot, index = slots[at], queue_offset[row]
            low, high, first, past, base = lines[slot, 0], lines[slot, 1], lines[slot, 2], lines[slot, 3], lines[slot, 4]
            if low <= index < high:
                if not first <= index < past:
                    return row, slot
                place = (index - first) * ENTRY_SIZE
                size = big32(base, place + 8)
                offset = min(max(big64(base, place), -LIMIT), LIMIT)
                code = min(max(big64(base, place + 12), -LIMIT), LIMIT)
                found = NO_ENTRY if size == 0 else FILLER if size == FILLER_SIZE else ENTRY
            elif high >= 0:
                found = NO_ENTRY
        out[0, row], out[1, row], out[2, row], out[3, row] = found, offset, size, code
        row += 1
    return row, 0
