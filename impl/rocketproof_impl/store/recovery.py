"""Recovery of the files by a new process: the end of the log, and which entries of the queues are dropped (REC-02, REC-03).

After a clean stop the last three files of the log are read. After a crash everything is read from the last file older than the checkpoint,
and dispatched again, because queues and index may have lost it. Bytes after the end remain in the files.

Releases differ in what they dispatch again after a clean stop (`dispatches_after_stop`). From 5.3.2 on a start passes over the first record
without an entry: it compares where a record begins with where the last one in the queues ends.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct

from ..message import Message
from . import record
from .checkpoint import StoreCheckpoint
from .commitlog import CommitLog
from .consumequeue import ConsumeQueues
from .files import MappedFile
from .log import log as log_

LAST_FILES = 3
_STORE_TIMESTAMP = Struct(">q")
_STORE_TIMESTAMP_AT = 56

Dispatch = Callable[[Message], object]


def recover(
    log: CommitLog, queues: ConsumeQueues, checkpoint: StoreCheckpoint, redispatch: Dispatch, *, clean: bool, later: bool, index_safe: bool
) -> None:
    """Set the ends of log and queues to the last whole record. Raises OSError, and the exceptions of `redispatch`.

    `redispatch` gets each record after a crash. After a clean stop it gets those that begin beyond the end of the last record in any queue
    if `later`, otherwise none. Queues are truncated only if one of them has a record after the log's end. Without a log they are deleted.
    """
    known = queues.recover()
    files = log.files.files
    if not files:
        log.files.flushed_where = log.files.committed_where = 0
        queues.destroy_all()
        return
    first = max(0, len(files) - LAST_FILES) if clean else _checkpointed(files, checkpoint.min_timestamp(with_index=index_safe))
    after = -1 if not clean else known if later else None
    end = _end(log, first, redispatch, after)
    log.files.truncate(end)
    if known >= end:
        queues.truncate(end)


def _checkpointed(files: list[MappedFile], timestamp: int) -> int:
    """Return the number of the last file whose first record is not newer than `timestamp`, 0 if there is none."""
    for number in range(len(files) - 1, 0, -1):
        if _is_older(files[number], timestamp):
            return number
    return 0


def _is_older(mapped: MappedFile, timestamp: int) -> bool:
    """Return whether a file begins with a record that has a time not newer than `timestamp`."""
    _, magic = record.size_and_magic(mapped.region.read(0, record.BLANK_SIZE))
    (stored,) = _STORE_TIMESTAMP.unpack(mapped.region.read(_STORE_TIMESTAMP_AT, _STORE_TIMESTAMP.size))
    return magic == record.MESSAGE_MAGIC and 0 < stored <= timestamp


def _end(log: CommitLog, first: int, redispatch: Dispatch, after: int | None) -> int:
    """Return the end of the last whole record. A blank leads to the next file; if a blank fills the last file, the end is before it.

    Records that begin after the place `after` are dispatched again; none if it is None.
    """
    end = 0
    for mapped in log.files.files[first:]:
        position, blank = _scan(log, mapped, redispatch, after)
        end = mapped.file_from_offset + position
        if not blank:
            break
    return end


def _scan(log: CommitLog, mapped: MappedFile, redispatch: Dispatch, after: int | None) -> tuple[int, bool]:
    """Return the end of a file's records, and whether a blank follows."""
    position = 0
    while position + record.BLANK_SIZE <= mapped.size:
        size, magic = record.size_and_magic(mapped.region.read(position, record.BLANK_SIZE))
        if magic == record.BLANK_MAGIC:
            return position, True
        if not 0 < size <= mapped.size - position:
            break
        data = log.whole_record(mapped, position, size)
        if data is None:
            log_.error("%s is broken: the log ends before it", log.describe(mapped.file_from_offset + position))
            break
        begins = mapped.file_from_offset + position
        if after is not None and begins > after and (message := log.decode(data)) is not None:
            redispatch(message)
        position += size
    return position, False
