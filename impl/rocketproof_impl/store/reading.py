"""Reads of a queue from an offset on: stored records, or the reason why there are none (GetMessageResult)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import NamedTuple

from .commitlog import CommitLog
from .consumequeue import ENTRY_SIZE, ConsumeQueue

MOST_BYTES, MOST_MESSAGES = 256 * 1024, 32  # of a response, from memory
LEAST_ENTRIES = 800  # checked before a pull ends, if the filter matches none


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
    """`next_begin_offset` is the next offset to read; the others are the queue's first offset and the offset after its last."""

    status: GetMessageStatus
    next_begin_offset: int
    min_offset: int = 0
    max_offset: int = 0
    records: list[bytes] = field(default_factory=list)


class QueryMessageResult(NamedTuple):
    """Records of a key, and the index's last record: its store time (ms) and position, zeros if there is none."""

    records: list[bytes]
    timestamp: int = 0
    physical_offset: int = 0


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
    """Return at most `most` records whose tag hash matches. The first match is returned however large it is.

    An unknown queue counts as empty.

    - `corrects`: move an offset outside the queue into it. A slave does not.
    - `resets`: move an offset after the end to the first one, if that is 0.
    - `early`: a pull of at most n messages, n above 1, returns n - 1.
    """
    first, end = (0, 0) if queue is None else (queue.min_offset, queue.max_offset)
    if queue is None or end == 0:
        status, corrected = GetMessageStatus.NO_MESSAGE_IN_QUEUE, 0
    elif offset < first:
        status, corrected = GetMessageStatus.OFFSET_TOO_SMALL, first
    elif offset == end:
        status, corrected = GetMessageStatus.OFFSET_OVERFLOW_ONE, offset
    elif offset > end:
        status, corrected = GetMessageStatus.OFFSET_OVERFLOW_BADLY, first if resets and first == 0 else end
    else:
        result = GetMessageResult(GetMessageStatus.NO_MATCHED_MESSAGE, offset, first, end)
        return _read(queue, log, result, most, matches, early=early)
    return GetMessageResult(status, corrected if corrects else offset, first, end)


def _read(
    queue: ConsumeQueue, log: CommitLog, result: GetMessageResult, most: int, matches: Callable[[int], bool], *, early: bool
) -> GetMessageResult:
    """Read from the offset to the end of the queue's file. An entry whose record is not in the log was removed."""
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
