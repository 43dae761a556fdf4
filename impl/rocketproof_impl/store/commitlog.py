"""The commit log: the records of all queues one after the other, in files of equal size (G.2, G.3).

A put has three parts: preparation without the lock, the append under the lock, and the waits after it. The append assigns the offsets and
writes the record. If the record does not fit, a blank fills the file and the record goes to the next file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from rocketproof_profiles import Profile
from rocketproof_protocol.flags import COMMIT, HOSTS_IPV6, NOT, STORE_IPV6

from ..java import JavaError, wrap_long
from ..message import Message
from ..ports import Clock, Disk
from ..tasks import Lock, Pause
from . import record
from .batch import items
from .delay import delay_level, to_schedule_topic
from .files import MappedFile
from .flush import Durability
from .logreader import LogReader
from .record import BLANK_SIZE, PROPERTIES_LIMIT, RecordParts
from .result import AppendMessageStatus, AppendResult, PutMessageStatus, PutResult
from .settings import StoreSettings

APPENDS = Pause("appends")
Append = Callable[[MappedFile], AppendResult]

_PUT_STATUS = {
    AppendMessageStatus.PUT_OK: PutMessageStatus.PUT_OK,
    AppendMessageStatus.MESSAGE_SIZE_EXCEEDED: PutMessageStatus.MESSAGE_ILLEGAL,
    AppendMessageStatus.PROPERTIES_SIZE_EXCEEDED: PutMessageStatus.MESSAGE_ILLEGAL,
    AppendMessageStatus.UNKNOWN_ERROR: PutMessageStatus.UNKNOWN_ERROR,
}
# Profiles that check the sizes before the lock return a more exact status (APP-06).
_EARLY_STATUS = _PUT_STATUS | {AppendMessageStatus.PROPERTIES_SIZE_EXCEEDED: PutMessageStatus.PROPERTIES_SIZE_EXCEEDED}


@dataclass(slots=True)
class Statistics:
    """The store's counts: puts and bytes by topic, failed puts, and the longest put in milliseconds (CL-09, STO-05)."""

    put_times: dict[str, int] = field(default_factory=dict)
    put_sizes: dict[str, int] = field(default_factory=dict)
    put_failed: int = 0
    put_longest: int = 0

    def count(self, topic: str, times: int, size: int) -> None:
        self.put_times[topic] = self.put_times.get(topic, 0) + times
        self.put_sizes[topic] = self.put_sizes.get(topic, 0) + size


class CommitLog(LogReader):
    """The log of a store.

    `begin_time_in_lock` is 0 while no append runs (STO-03). The keys of `topic_queue_table` are "topic-queueId". `appended` is called after
    each append.
    """

    def __init__(
        self,
        settings: StoreSettings,
        profile: Profile,
        clock: Clock,
        disk: Disk,
        statistics: Statistics,
    ) -> None:
        super().__init__(settings, profile, disk)
        self._clock = clock
        self._statistics = statistics
        self.lock = Lock()
        self.begin_time_in_lock = 0
        self.topic_queue_table: dict[str, int] = {}
        self.appended: Callable[[], None] = _no_op

    # Puts

    def message(self, message: Message) -> Append | PutMessageStatus:
        """Prepare a message before the lock (CL-01, CL-02). Return the append function, or the status that rejects the message.

        Changes its time and checksum, and with a delay its topic and queue. A rejection here does not change the table of queues, except in
        releases that count a message before they encode it (APP-06). Raises JavaError.
        """
        message.store_timestamp = self._clock.now()
        message.body_crc = record.body_crc(message.body)
        self._flag_hosts(message)
        to_schedule_topic(message, trailing=self._profile.ends_properties)
        parts = None
        if self._profile.encode_first:
            parts = record.parts_of(message, hosts_by_flag=self._profile.hosts_by_flag)
            exceeded = self._exceeded(parts)
            if exceeded is not None:
                self._skip_offsets(message, 1)
                return _EARLY_STATUS[exceeded]
        return lambda mapped: self._append_message(mapped, message, parts)

    def batch(self, batch: Message) -> Append | PutMessageStatus:
        """Prepare the messages of a batch like `message`. All of them are appended or none (BAT-04). Raises JavaError."""
        batch.store_timestamp = self._clock.now()
        self._flag_hosts(batch)
        if batch.transaction != NOT:
            return PutMessageStatus.MESSAGE_ILLEGAL
        if delay_level(batch) > 0:
            return PutMessageStatus.MESSAGE_ILLEGAL
        profile, largest = self._profile, self._settings.max_message_size
        entries = items(
            batch,
            largest if profile.limits_record else None,
            batch.sys_flag & HOSTS_IPV6 if profile.hosts_by_flag else 0,
            most=largest if profile.throws_large_batch else None,
            with_batch_properties=profile.batch_properties,
            limits_batch_properties=profile.limits_batch_properties,
            separates=profile.separates_batch,
            trailing=profile.ends_properties,
        )
        return lambda mapped: self._append_batch(mapped, batch, entries)

    def _flag_hosts(self, message: Message) -> None:
        """Set the sysFlag's bits for IPv6 hosts, in releases that have them."""
        if self._profile.hosts_by_flag:
            message.sys_flag |= record.flags_of_hosts(message)

    async def put(self, message: Message, append: Append, durability: Durability) -> PutResult:
        """Lock, append, count, then wait for flush and replica (CL-04, CL-09). Raises JavaError.

        Profiles that encode under the lock select the last file before it (CL-03). The store timestamp is set again under the lock, so that
        the times in the log never decrease (CL-06). The time in the lock begins there and ends on every exit, except for an exception in
        older releases (CL-05, HAZ-23).
        """
        before = None if self._profile.encode_first else self.files.last()
        await self.lock.acquire()
        try:
            self.begin_time_in_lock = message.store_timestamp = self._clock.now()
            await APPENDS
            put = self._append(append, self.files.last() if self._profile.encode_first else before)
            self.begin_time_in_lock = 0
        except BaseException:
            if self._profile.resets_lock_time:
                self.begin_time_in_lock = 0
            raise
        finally:
            self.lock.release()
        if put.append is not None and put.append.status is AppendMessageStatus.END_OF_FILE:
            self._skip_offsets(message, put.append.msg_id.count(",") + 1)
        if put.status is PutMessageStatus.PUT_OK and put.append is not None:
            self._statistics.count(message.topic, put.append.msg_num, put.append.wrote_bytes)
            self.appended()
            await durability.complete(put, put.append, message)
        return put

    def _append(self, append: Append, mapped: MappedFile | None) -> PutResult:
        """Append to the file, or to the next one if it is full or the message does not fit (CL-07, CL-08).

        The result of the second attempt is not checked: a record larger than a file is answered PUT_OK and is not stored (HAZ-22).
        """
        if mapped is None or mapped.is_full:
            mapped = self.files.last_or_next()
        if mapped is None:
            return PutResult(PutMessageStatus.CREATE_MAPEDFILE_FAILED)
        result = append(mapped)
        if result.status is not AppendMessageStatus.END_OF_FILE:
            return PutResult(_PUT_STATUS[result.status], result)
        mapped = self.files.last_or_next()
        if mapped is None:
            return PutResult(PutMessageStatus.CREATE_MAPEDFILE_FAILED, result)
        return PutResult(PutMessageStatus.PUT_OK, append(mapped))

    # Appends

    def _append_message(self, mapped: MappedFile, message: Message, parts: RecordParts | None) -> AppendResult:
        """Write a record at the end of a file, or a blank if it does not fit.

        A full file accepts nothing (APP-01). Prepared and rolled back messages get the offset 0 and do not change the queue's (APP-04,
        APP-10). Without `parts` the sizes are checked here, when the queue has its offset already (APP-05, APP-06). Eight bytes remain free
        after a record, so the rest of a file has no bytes or at least eight (APP-07, APP-12). The record contains its position (APP-02,
        APP-08, APP-09).
        """
        position = mapped.wrote_position
        if position >= mapped.size:
            return AppendResult(AppendMessageStatus.UNKNOWN_ERROR)
        key, queue_offset = self._queue_offset(message)
        counted = message.transaction in (NOT, COMMIT)
        if not counted:
            queue_offset = 0
        if parts is None:
            parts = record.parts_of(message, hosts_by_flag=self._profile.hosts_by_flag)
            exceeded = self._exceeded(parts)
            if exceeded is not None:
                return self._wrote(mapped, AppendResult(exceeded))
        wrote_offset = mapped.file_from_offset + position
        if parts.size + BLANK_SIZE > mapped.size - position:
            return self._end_of_file(mapped, message, queue_offset, self._message_id(message, wrote_offset))
        message.queue_offset = queue_offset
        message.physical_offset = wrote_offset
        mapped.write(position, record.encode(message, parts))
        if counted:
            self.topic_queue_table[key] = wrap_long(queue_offset + 1)
        return self._wrote(
            mapped,
            AppendResult(
                AppendMessageStatus.PUT_OK,
                wrote_offset,
                parts.size,
                self._message_id(message, wrote_offset),
                message.store_timestamp,
                queue_offset,
            ),
        )

    def _append_batch(self, mapped: MappedFile, batch: Message, entries: list[tuple[Message, RecordParts]]) -> AppendResult:
        """Write all records of a batch into one file, with consecutive queue offsets (BAT-04). Raises JavaError."""
        position = mapped.wrote_position
        if position >= mapped.size:
            return AppendResult(AppendMessageStatus.UNKNOWN_ERROR)
        key, first = self._queue_offset(batch)
        size = sum(parts.size for _, parts in entries)
        if size + BLANK_SIZE > mapped.size - position:
            return self._end_of_file(mapped, batch, first, self._lost_ids(mapped, batch, entries))
        if missing := record.missing_bytes(batch, entries[0][1].host_flags) if entries else 0:
            raise _misread(entries, missing)
        where = wrote_offset = mapped.file_from_offset + position
        records: list[bytes] = []
        ids: list[str] = []
        for number, (message, parts) in enumerate(entries):
            message.store_timestamp = batch.store_timestamp
            message.queue_offset = wrap_long(first + number)
            message.physical_offset = where
            records.append(record.encode(message, parts))
            ids.append(self._message_id(batch, where))
            where += parts.size
        mapped.write(position, b"".join(records))
        self.topic_queue_table[key] = wrap_long(first + len(entries))
        return self._wrote(
            mapped,
            AppendResult(AppendMessageStatus.PUT_OK, wrote_offset, size, ",".join(ids), batch.store_timestamp, first, len(entries)),
        )

    async def append_data(self, start_offset: int, data: bytes) -> bool:
        """Append a piece of a master's log. `start_offset` is its position, where an empty slave's log begins. Return False if it does
        not fit into the file."""
        await self.lock.acquire()
        try:
            mapped = self.files.last_or_next(start_offset)
            if mapped is None or mapped.wrote_position + len(data) > mapped.size:
                return False
            mapped.write(mapped.wrote_position, data)
            mapped.wrote_position += len(data)
        finally:
            self.lock.release()
        self.appended()
        return True

    def _exceeded(self, parts: RecordParts) -> AppendMessageStatus | None:
        """Return the limit that a message exceeds: on the bytes of its properties, or on the size of record or body (APP-05, APP-06)."""
        if len(parts.properties) > PROPERTIES_LIMIT:
            return AppendMessageStatus.PROPERTIES_SIZE_EXCEEDED
        limited = parts.size if self._profile.limits_record else len(parts.body)
        if limited > self._settings.max_message_size:
            return AppendMessageStatus.MESSAGE_SIZE_EXCEEDED
        return None

    def _queue_offset(self, message: Message) -> tuple[str, int]:
        """Return the queue's key and its next offset. A new queue gets 0 immediately, whether the append succeeds or not (APP-03)."""
        key = f"{message.topic}-{message.queue_id}"
        return key, self.topic_queue_table.setdefault(key, 0)

    def _skip_offsets(self, message: Message, count: int) -> None:
        """Skip the offsets of messages that are not stored, in releases that count before they know it (APP-03)."""
        if self._profile.counts_refused and message.transaction in (NOT, COMMIT):
            key, first = self._queue_offset(message)
            self.topic_queue_table[key] = wrap_long(first + count)

    def _end_of_file(self, mapped: MappedFile, message: Message, queue_offset: int, msg_id: str) -> AppendResult:
        """Fill the file with a blank: the remaining size and the blank magic number. Queues are unchanged (APP-07)."""
        position = mapped.wrote_position
        left = mapped.size - position
        where = mapped.file_from_offset + position
        mapped.write(position, record.blank(left))
        return self._wrote(
            mapped,
            AppendResult(
                AppendMessageStatus.END_OF_FILE,
                where,
                left,
                msg_id,
                message.store_timestamp,
                queue_offset,
            ),
        )

    def _message_id(self, message: Message, offset: int) -> str:
        """Return the id of a record at this offset. The flag decides how many bytes its host takes (APP-02, HAZ-51)."""
        longer = self._profile.hosts_by_flag and bool(message.sys_flag & STORE_IPV6)
        return record.message_id(message.store_host, offset, longer=longer)

    def _wrote(self, mapped: MappedFile, result: AppendResult) -> AppendResult:
        """Advance the write position, and store the time. For a rejected message both values are 0 (APP-11)."""
        mapped.wrote_position += result.wrote_bytes
        mapped.store_timestamp = result.store_timestamp
        return result

    def _lost_ids(self, mapped: MappedFile, batch: Message, entries: list[tuple[Message, RecordParts]]) -> str:
        """Return the ids in the response to a batch that does not fit: the positions of the messages that would have fitted.

        Releases that create ids last add position 0 for each other message (HAZ-22).
        """
        left = mapped.size - mapped.wrote_position - BLANK_SIZE
        where = mapped.file_from_offset + mapped.wrote_position
        offsets = []
        for _, parts in entries:
            left -= parts.size
            if left < 0:
                break
            offsets.append(where)
            where += parts.size
        if self._profile.encode_first:
            offsets += [0] * (len(entries) - len(offsets))
        return ",".join(self._message_id(batch, offset) for offset in offsets)


def _misread(entries: list[tuple[Message, RecordParts]], missing: int) -> JavaError:
    """Return the exception for a batch whose records are `missing` bytes shorter than their sizes (HAZ-51).

    The reader of the records looks for a record after the last one, or beyond the bytes of the only one.
    """
    if len(entries) == 1:
        size = entries[0][1].size
        return JavaError("java.lang.IllegalArgumentException", f"newPosition > limit: ({size} > {size - missing})")
    return JavaError("java.lang.ArrayIndexOutOfBoundsException", f"Index {len(entries)} out of bounds for length {len(entries)}")


def _no_op() -> None:
    pass
