"""The commit log: every record of every queue, one after the other, in files of one size (G.2, G.3).

A put has three parts: what needs no lock, the append under the lock, the waiting after it. An append finds its place, gives
the message its offsets and writes it; what does not fit fills the file with a blank and goes to the next file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from rocketproof_profiles import Profile
from rocketproof_protocol.flags import COMMIT, HOSTS_IPV6, NOT, STORE_IPV6

from ..bounds import MAX_RECORD
from ..java import JavaError, wrap_long
from ..message import Message
from ..ports import Clock, Disk
from ..tasks import Lock, Pause
from . import record
from .batch import items
from .delay import delay_level, to_schedule_topic
from .files import MappedFile, MappedFileQueue
from .flush import Durability
from .log import log
from .record import BLANK_SIZE, PROPERTIES_LIMIT, RecordParts
from .result import AppendMessageStatus, AppendResult, PutMessageStatus, PutResult
from .settings import StoreSettings

APPENDS = Pause("appends")
Append = Callable[[MappedFile], AppendResult]

_READ_AT_ONCE = 4096  # one read for most records
_LARGE = 8 << 20  # bytes; the lengths inside a larger record are read before all of it is
_PUT_STATUS = {
    AppendMessageStatus.PUT_OK: PutMessageStatus.PUT_OK,
    AppendMessageStatus.MESSAGE_SIZE_EXCEEDED: PutMessageStatus.MESSAGE_ILLEGAL,
    AppendMessageStatus.PROPERTIES_SIZE_EXCEEDED: PutMessageStatus.MESSAGE_ILLEGAL,
    AppendMessageStatus.UNKNOWN_ERROR: PutMessageStatus.UNKNOWN_ERROR,
}
# Where the sizes are tested before the lock, one of the statuses is more exact (APP-06).
_EARLY_STATUS = _PUT_STATUS | {AppendMessageStatus.PROPERTIES_SIZE_EXCEEDED: PutMessageStatus.PROPERTIES_SIZE_EXCEEDED}


@dataclass(slots=True)
class Statistics:
    """What the store counts: puts and bytes by topic, puts that failed, and the longest put in milliseconds (CL-09, STO-05)."""

    put_times: dict[str, int] = field(default_factory=dict)
    put_sizes: dict[str, int] = field(default_factory=dict)
    put_failed: int = 0
    put_longest: int = 0

    def count(self, topic: str, times: int, size: int) -> None:
        self.put_times[topic] = self.put_times.get(topic, 0) + times
        self.put_sizes[topic] = self.put_sizes.get(topic, 0) + size


class CommitLog:
    """The log of one store. `begin_time_in_lock` is 0 while nobody appends (STO-03); `topic_queue_table` is keyed "topic-queueId".

    `appended` is called after each append.
    """

    def __init__(
        self,
        settings: StoreSettings,
        profile: Profile,
        clock: Clock,
        disk: Disk,
        statistics: Statistics,
    ) -> None:
        self._settings = settings
        self._profile = profile
        self._clock = clock
        self._statistics = statistics
        self.files = MappedFileQueue(
            disk,
            f"{settings.store_path_root_dir}/commitlog",
            settings.mapped_file_size_commit_log,
            trusts_failed_force=profile.trusts_failed_force,
        )
        self.lock = Lock()
        self.begin_time_in_lock = 0
        self.topic_queue_table: dict[str, int] = {}
        self.appended: Callable[[], None] = _nobody

    # Puts

    def message(self, message: Message) -> Append | PutMessageStatus:
        """What is done for one message before the lock (CL-01, CL-02): how it is appended, or why it is not.

        Changes its time and checksum, and with a delay its topic and queue. What is tested here leaves no trace in the table of
        queues, but in the releases that count a message before they encode it (APP-06). Raises JavaError.
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
                self._pass_over(message, 1)
                return _EARLY_STATUS[exceeded]
        return lambda mapped: self._append_message(mapped, message, parts)

    def batch(self, batch: Message) -> Append | PutMessageStatus:
        """The same for the messages of a batch, of which all are appended or none (BAT-04). Raises JavaError."""
        batch.store_timestamp = self._clock.now()
        self._flag_hosts(batch)
        if batch.transaction != NOT:
            return PutMessageStatus.MESSAGE_ILLEGAL
        if delay_level(batch) > 0:
            return PutMessageStatus.MESSAGE_ILLEGAL
        profile, largest = self._profile, self._settings.max_message_size
        found = items(
            batch,
            largest if profile.limits_record else None,
            batch.sys_flag & HOSTS_IPV6 if profile.hosts_by_flag else 0,
            most=largest if profile.throws_large_batch else None,
            with_batch_properties=profile.batch_properties,
            limits_batch_properties=profile.limits_batch_properties,
            separates=profile.separates_batch,
            trailing=profile.ends_properties,
        )
        return lambda mapped: self._append_batch(mapped, batch, found)

    def _flag_hosts(self, message: Message) -> None:
        """Set the sysFlag's bits for hosts that are IPv6 addresses, in releases that have them."""
        if self._profile.hosts_by_flag:
            message.sys_flag |= record.flags_of_hosts(message)

    async def put(self, message: Message, append: Append, durability: Durability) -> PutResult:
        """Lock, append, count, then wait for flush and replica (CL-04, CL-09). Raises JavaError.

        Where nothing is encoded before the lock, the last file is taken there (CL-03). The store timestamp is set again in the lock, so
        that the times in the log never decrease (CL-06). The time in the lock starts there, and ends on every way out but one: an
        exception, in the older releases (CL-05, HAZ-23).
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
            self._pass_over(message, put.append.msg_id.count(",") + 1)
        if put.status is PutMessageStatus.PUT_OK and put.append is not None:
            self._statistics.count(message.topic, put.append.msg_num, put.append.wrote_bytes)
            self.appended()
            await durability.complete(put, put.append, message)
        return put

    def _append(self, append: Append, mapped: MappedFile | None) -> PutResult:
        """Append to the file, or to the next one if it is full or the message does not fit (CL-07, CL-08).

        What comes of the second try is not looked at: a record larger than a file is answered PUT_OK and is nowhere (HAZ-22).
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
        """Write one record at the end of a file, or a blank where it does not fit.

        A full file takes nothing (APP-01). Prepared and rolled back messages have the offset 0 and leave the queue's alone
        (APP-04, APP-10). Without `parts` the sizes are tested here, when the queue has its offset already (APP-05, APP-06).
        Eight bytes stay free behind a record, so what is left of a file is nothing or at least that (APP-07, APP-12).
        The record has its place in it (APP-02, APP-08, APP-09).
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

    def _append_batch(self, mapped: MappedFile, batch: Message, found: list[tuple[Message, RecordParts]]) -> AppendResult:
        """Write all records of a batch into one file, with consecutive queue offsets (BAT-04). Raises JavaError."""
        position = mapped.wrote_position
        if position >= mapped.size:
            return AppendResult(AppendMessageStatus.UNKNOWN_ERROR)
        key, first = self._queue_offset(batch)
        size = sum(parts.size for _, parts in found)
        if size + BLANK_SIZE > mapped.size - position:
            return self._end_of_file(mapped, batch, first, self._lost_ids(mapped, batch, found))
        if missing := record.missing_bytes(batch, found[0][1].host_flags) if found else 0:
            raise _misread(found, missing)
        where = wrote_offset = mapped.file_from_offset + position
        records: list[bytes] = []
        ids: list[str] = []
        for number, (message, parts) in enumerate(found):
            message.store_timestamp = batch.store_timestamp
            message.queue_offset = wrap_long(first + number)
            message.physical_offset = where
            records.append(record.encode(message, parts))
            ids.append(self._message_id(batch, where))
            where += parts.size
        mapped.write(position, b"".join(records))
        self.topic_queue_table[key] = wrap_long(first + len(found))
        return self._wrote(
            mapped,
            AppendResult(AppendMessageStatus.PUT_OK, wrote_offset, size, ",".join(ids), batch.store_timestamp, first, len(found)),
        )

    async def append_data(self, start_offset: int, data: bytes) -> bool:
        """Append what a master sent of its log, which starts there on an empty slave; False if it does not fit into the file."""
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
        """Which limit a message is over: that on the properties' bytes, or that on the size of the record or the body (APP-05, APP-06)."""
        if len(parts.properties) > PROPERTIES_LIMIT:
            return AppendMessageStatus.PROPERTIES_SIZE_EXCEEDED
        limited = parts.size if self._profile.limits_record else len(parts.body)
        if limited > self._settings.max_message_size:
            return AppendMessageStatus.MESSAGE_SIZE_EXCEEDED
        return None

    def _queue_offset(self, message: Message) -> tuple[str, int]:
        """The queue's key and its next offset; a new queue gets 0 at once, whatever becomes of the append (APP-03)."""
        key = f"{message.topic}-{message.queue_id}"
        return key, self.topic_queue_table.setdefault(key, 0)

    def _pass_over(self, message: Message, count: int) -> None:
        """The offsets of what is not stored are taken, in the releases that count it before they know (APP-03)."""
        if self._profile.counts_refused and message.transaction in (NOT, COMMIT):
            key, first = self._queue_offset(message)
            self.topic_queue_table[key] = wrap_long(first + count)

    def _end_of_file(self, mapped: MappedFile, message: Message, queue_offset: int, msg_id: str) -> AppendResult:
        """Fill the file: the size of what is left and the blank magic number; queues stay as they are (APP-07)."""
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
        """The id of a record there: its host's place is as long as the flag says (APP-02, HAZ-51)."""
        longer = self._profile.hosts_by_flag and bool(message.sys_flag & STORE_IPV6)
        return record.message_id(message.store_host, offset, longer=longer)

    def _wrote(self, mapped: MappedFile, result: AppendResult) -> AppendResult:
        """Move the write position on, and take the time; a refused message has neither bytes nor time, so that is 0 then (APP-11)."""
        mapped.wrote_position += result.wrote_bytes
        mapped.store_timestamp = result.store_timestamp
        return result

    def _lost_ids(self, mapped: MappedFile, batch: Message, found: list[tuple[Message, RecordParts]]) -> str:
        """What a batch that does not fit is answered with: the places of those messages that would have fitted, and where
        ids are made last, place 0 for each of the others (HAZ-22)."""
        left = mapped.size - mapped.wrote_position - BLANK_SIZE
        where = mapped.file_from_offset + mapped.wrote_position
        places = []
        for _, parts in found:
            left -= parts.size
            if left < 0:
                break
            places.append(where)
            where += parts.size
        if self._profile.encode_first:
            places += [0] * (len(found) - len(places))
        return ",".join(self._message_id(batch, place) for place in places)

    # Reading

    def data_from(self, offset: int, limit: int) -> bytes | None:
        """At most so many bytes from an offset on, up to the end of its file; None if there are none yet."""
        mapped = self.files.find(offset)
        if mapped is None:
            return None
        position = offset - mapped.file_from_offset
        return mapped.region.read(position, min(limit, mapped.read_position - position)) if position < mapped.read_position else None

    def select(self, offset: int) -> bytes | None:
        """The bytes at an offset, as many as the first four of them say; None as of `bytes_of`."""
        data = self.files.select(offset, 4)
        return None if data is None else self.bytes_of(offset, int.from_bytes(data, "big", signed=True))

    def look(self, offset: int) -> Message | None:
        """The message at an offset: four bytes of size, then the record (REC-01)."""
        data = self.select(offset)
        return None if data is None else self.decode(data)

    def decode(self, data: bytes, *, whole: bool = False) -> Message | None:
        """The message of a record's bytes, None for what is none; with `whole` only if its lengths add up to its size.

        As in the release, a record whose bytes raise anything is no message.
        """
        profile = self._profile
        try:
            return record.decode(data, exact=profile.exact_properties, hosts_by_flag=profile.hosts_by_flag, whole=whole)
        except Exception:  # noqa: BLE001 - whatever foreign bytes raise
            log.exception("a record of %d bytes cannot be decoded: %s", len(data), data[:BLANK_SIZE].hex())
            return None

    def whole_record(self, mapped: MappedFile, position: int, size: int) -> bytes | None:
        """The bytes of an undamaged record in a file, None if there is none of that size (REC-02)."""
        if size > _LARGE and self._extent(mapped.file_from_offset + position, size) != size:
            return None
        data = mapped.region.read(position, size)
        return data if record.is_whole(data, hosts_by_flag=self._profile.hosts_by_flag) else None

    def records(self, start: int, end: int, *, dispatching: bool = False) -> Iterator[tuple[int, Message | None]]:
        """The records from one offset to another, each with the offset after it; None for what is not a message.

        A blank leads to the next file, whatever size it says it has. A record that cannot be read is passed over in the same way. A
        dispatcher cannot go on after such a record: it continues where `_lost` says, and skips what lies in between.
        """
        data = b""  # what is read already, from `start` on
        while start < end:
            if len(data) < BLANK_SIZE:
                data = self.data_from(start, _READ_AT_ONCE) or b""
                if not data:
                    return
            size, magic = record.size_and_magic(data) if len(data) >= BLANK_SIZE else (0, 0)
            if magic == record.BLANK_MAGIC:
                start, data = start - start % self.files.file_size + self.files.file_size, b""
                yield start, None
                continue
            is_inside = 0 < size <= self.files.max_offset - start
            message = None
            if is_inside and (magic == record.MESSAGE_MAGIC or not dispatching):
                whole = data[:size] if size <= len(data) else self.bytes_of(start, size)
                message = None if whole is None else self.decode(whole, whole=dispatching)
            if dispatching and message is None:
                yield self._lost(start, size if magic == record.MESSAGE_MAGIC else 0), None
                return
            if not is_inside:
                return  # no record, or a slave has only a part of it yet
            start, data = start + size, data[size:]
            yield start, message

    def bytes_of(self, start: int, size: int) -> bytes | None:
        """The bytes of a record that has or claims a size; None outside the log. Of a large one no more than its lengths come to, and
        none where these are more than MAX_RECORD, so that a damaged size does not fill the memory: a release maps its files."""
        if size <= _LARGE:
            return self.files.select(start, size)
        length = self._extent(start, size) if size <= self.files.left(start) else None
        return None if length is None or length > MAX_RECORD else self.files.select(start, length)

    def place(self, offset: int) -> str:
        """A place of the log in words, with its file."""
        mapped = self.files.find(offset)
        return f"the record at {offset}" + ("" if mapped is None else f" in {mapped.path}, byte {offset - mapped.file_from_offset},")

    def _extent(self, start: int, size: int) -> int | None:
        """How many bytes the lengths inside a record come to, None if they lead out of its `size`."""

        def read(at: int, length: int) -> bytes:
            return self.data_from(start + at, length) or b""

        return record.extent(read, size, hosts_by_flag=self._profile.hosts_by_flag)

    def _lost(self, start: int, size: int) -> int:
        """Where a dispatcher goes on that cannot read what begins there and says that it has `size` bytes (REC-04, HAZ-49 to HAZ-51).

        A slave's stays. A master's goes to the end of what the file has now. After a record whose lengths add up to another size
        than it says it first takes the step of that size, and so comes as far beyond that end, unless it looks whether the log ends there.
        """
        mapped = self.files.find(start)
        if mapped is None or self._settings.broker_role == "SLAVE":
            return start
        log.error("%s cannot be read, and dispatch goes on behind all that is there", self.place(start))
        end = mapped.file_from_offset + mapped.read_position
        length = self._extent(start, min(size, end - start)) if size > 0 else None
        if length is None or length == size:
            return end
        return end if self._profile.dispatch_ends and start + size == self.files.max_offset else end + size


def _misread(found: list[tuple[Message, RecordParts]], missing: int) -> JavaError:
    """What comes of a batch whose records are `missing` bytes shorter than their sizes say: who goes over them looks for one behind the
    last, or beyond the bytes of the only one (HAZ-51)."""
    if len(found) == 1:
        size = found[0][1].size
        return JavaError("java.lang.IllegalArgumentException", f"newPosition > limit: ({size} > {size - missing})")
    return JavaError("java.lang.ArrayIndexOutOfBoundsException", f"Index {len(found)} out of bounds for length {len(found)}")


def _nobody() -> None:
    """Nobody listens to appends."""
