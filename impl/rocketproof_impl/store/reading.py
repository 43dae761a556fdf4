"""What a consumer finds in a queue from an offset on: records as they are stored, or why there are none (GetMessageResult)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import NamedTuple

from .commitlog import CommitLog
from .consumequeue import ENTRY_SIZE, ConsumeQueue

MOST_BYTES, MOST_MESSAGES = 256 * 1024, 32  # of one answer, from memory
LEAST_ENTRIES = 800  # looked at before a pull gives up, if the filter takes none


class GetMessageStatus(Enum):
    FOUND = auto()
    NO_MATCHED_MESSAGE = auto()
    MESSAGE_WAS_REMOVING = auto()
    OFFSET_OVERFLOW_BADLY = auto()
    OFFSET_OVERFLOW_ONE = auto()
    OFFSET_TOO_SMALL = auto()
    OFFSET_FOUND_NULL = auto()
    NO_MESSAGE_IN_QUEUE = auto()


@dataclass(slots=True)
class GetMessageResult:
    """`next_begin_offset` is where to go on; the others are the queue's first offset and the one behind its last."""

    status: GetMessageStatus
    next_begin_offset: int
    min_offset: int = 0
    max_offset: int = 0
    records: list[bytes] = field(default_factory=list)


class QueryMessageResult(NamedTuple):
    """Records under a key, and how far the index goes: when its last record was stored (ms) and where that is; zeros where it has none."""

    records: list[bytes]
    timestamp: int = 0
    place: int = 0


def get_message(
    queue: ConsumeQueue | None,
    log: CommitLog,
    offset: int,
    most: int,
    matches: Callable[[int], bool],
    *,
    corrects: bool = True,
    resets: bool = False,
    early: bool = False,
) -> GetMessageResult:
    """At most so many records whose hash of tags matches; at least one if there is one, however large it is.

    A queue that nobody knows is an empty one. `corrects`: whether an offset outside the queue is moved into it, which a slave does not.
    `resets`: one behind the end is moved to the first one, if that is 0. `early`: a pull of at most n messages, n above 1, returns n - 1.
    """
    first, end = (0, 0) if queue is None else (queue.min_offset, queue.max_offset)
    if queue is None or end == 0:
        status, right = GetMessageStatus.NO_MESSAGE_IN_QUEUE, 0
    elif offset < first:
        status, right = GetMessageStatus.OFFSET_TOO_SMALL, first
    elif offset == end:
        status, right = GetMessageStatus.OFFSET_OVERFLOW_ONE, offset
    elif offset > end:
        status, right = GetMessageStatus.OFFSET_OVERFLOW_BADLY, first if resets and first == 0 else end
    else:
        found = GetMessageResult(GetMessageStatus.NO_MATCHED_MESSAGE, offset, first, end)
        return _read(queue, log, found, most, matches, early=early)
    return GetMessageResult(status, right if corrects else offset, first, end)


def _read(
    queue: ConsumeQueue, log: CommitLog, result: GetMessageResult, most: int, matches: Callable[[int], bool], *, early: bool
) -> GetMessageResult:
    """Read on from the offset to the end of the queue's file, no further. What is in the queue and not in the log was removed."""
    start = result.next_begin_offset
    per_file = queue.files.file_size // ENTRY_SIZE
    next_file = start - start % per_file + per_file
    end = min(result.max_offset, next_file, start + max(LEAST_ENTRIES, most))
    limit = min(most - 1 if early else most, MOST_MESSAGES)
    size = 0
    for index in range(start, end):
        entry = queue.entry(index)
        if entry is None:  # a file of the queue is missing
            if not result.records:
                result.status, result.next_begin_offset = GetMessageStatus.OFFSET_FOUND_NULL, next_file
            break
        if result.records and (len(result.records) >= limit or size + entry.size > MOST_BYTES):
            break
        result.next_begin_offset = index + 1
        if not matches(entry.tags_code):
            continue
        record = log.bytes_of(entry.physical_offset, entry.size)
        if record is None:
            if not result.records:
                result.status = GetMessageStatus.MESSAGE_WAS_REMOVING
            continue
        result.records.append(record)
        result.status = GetMessageStatus.FOUND
        size += entry.size
    return result
