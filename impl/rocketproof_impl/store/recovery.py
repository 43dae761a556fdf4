"""What a new process makes of the files that it finds: where the log ends, and what of the queues goes with it (REC-02, REC-03).

After a clean stop the last three files of the log are read. After a crash it is everything from the last file that is older
than the checkpoint, and what is read is dispatched once more, since queues and index may have lost it. What lies behind the end
stays in the files; nobody wipes it.
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


def recover(log: CommitLog, queues: ConsumeQueues, checkpoint: StoreCheckpoint, again: Dispatch | None, *, index_safe: bool) -> None:
    """End log and queues at the last whole record. `again` is given after a crash. Raises OSError, and what `again` raises.

    Queues are cut only if one of them knows more than the log has. Without a log they are deleted.
    """
    known = queues.recover()
    files = log.files.files
    if not files:
        log.files.flushed_where = log.files.committed_where = 0
        queues.destroy_all()
        return
    first = max(0, len(files) - LAST_FILES) if again is None else _checkpointed(files, checkpoint.min_timestamp(with_index=index_safe))
    end = _end(log, first, again)
    log.files.truncate(end)
    if known >= end:
        queues.truncate(end)


def _checkpointed(files: list[MappedFile], timestamp: int) -> int:
    """The number of the last file whose first record is not younger than that; the first one's if there is none."""
    for number in range(len(files) - 1, 0, -1):
        if _is_older(files[number], timestamp):
            return number
    return 0


def _is_older(mapped: MappedFile, timestamp: int) -> bool:
    """A file that does not begin with a record, or has one without a time, is not."""
    _, magic = record.size_and_magic(mapped.region.read(0, record.BLANK_SIZE))
    (stored,) = _STORE_TIMESTAMP.unpack(mapped.region.read(_STORE_TIMESTAMP_AT, _STORE_TIMESTAMP.size))
    return magic == record.MESSAGE_MAGIC and 0 < stored <= timestamp


def _end(log: CommitLog, first: int, again: Dispatch | None) -> int:
    """Where the last whole record ends. A blank leads to the next file; a last file that a blank fills ends before it."""
    end = 0
    for mapped in log.files.files[first:]:
        position, blank = _scan(log, mapped, again)
        end = mapped.file_from_offset + position
        if not blank:
            break
    return end


def _scan(log: CommitLog, mapped: MappedFile, again: Dispatch | None) -> tuple[int, bool]:
    """Where the records of a file end, and whether a blank follows there."""
    position = 0
    while position + record.BLANK_SIZE <= mapped.size:
        size, magic = record.size_and_magic(mapped.region.read(position, record.BLANK_SIZE))
        if magic == record.BLANK_MAGIC:
            return position, True
        if not 0 < size <= mapped.size - position:
            break
        data = log.whole_record(mapped, position, size)
        if data is None:
            log_.error("%s is broken: the log ends before it", log.place(mapped.file_from_offset + position))
            break
        if again is not None and (message := log.decode(data)) is not None:
            again(message)
        position += size
    return position, False
