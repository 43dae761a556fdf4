"""The message store of a broker: checks of puts, the commit log, its consume queues, and delayed delivery (G.1, G.5)."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass

from rocketproof_profiles import Profile
from rocketproof_protocol.flags import COMMIT, INNER_BATCH, NOT
from rocketproof_protocol.properties import INNER_NUM
from rocketproof_protocol.topics import OP_HALF_TOPIC, SCHEDULE

from ..bounds import MAX_RECORD, out_of_memory
from ..java import JavaError, length, null_pointer, utf8
from ..link import Dial
from ..message import Message
from ..names import is_system_name
from ..ports import Clock, Disk
from ..service import Service, Step, contained, run_all
from ..tasks import Pause, Work
from .bytime import offset_at
from .checkpoint import StoreCheckpoint
from .commitlog import Append, CommitLog, Statistics
from .consumequeue import ConsumeQueueEntry, ConsumeQueues, tags_code
from .delay import ScheduleMessageService, deliver_time
from .files import RunBlocking, run_immediately
from .flush import Durability, Flush, FlushOnDemand, Replicas
from .ha import HAService
from .haclient import HAClient
from .index import IndexService
from .log import log
from .reading import GetMessageResult, QueryMessageResult, get_message
from .record import PROPERTIES_LIMIT, TOPIC_LIMIT
from .recovery import recover
from .result import PutMessageStatus, PutResult
from .settings import StoreSettings
from .threads import StoreThreads
from .timers import TimerMessageStore, to_timer_topic
from .transient import TransientStorePool

BUSY_BEFORE = 10_000_000
SLOW = 500

PLACED = Pause("placed")  # the message has another topic or queue than it requested

NOT_WRITEABLE, WRITE_LOGICS_QUEUE_ERROR, WRITE_INDEX_FILE_ERROR, DISK_FULL = 2, 4, 8, 16


Check = Callable[[Message], PutMessageStatus | None]
Arriving = Callable[[str, int, int, int], None]
"""Topic, queue id, the current number of entries of the queue, and the last entry's tag hash."""


@dataclass(slots=True)
class RunningFlags:
    """The reasons why the store is not writable, as bits (STO-04)."""

    bits: int = 0

    @property
    def writable(self) -> bool:
        return not self.bits & (NOT_WRITEABLE | WRITE_LOGICS_QUEUE_ERROR | WRITE_INDEX_FILE_ERROR | DISK_FULL)


class MessageStore:
    """DefaultMessageStore. Offsets are bytes in the log, queue offsets are entries of a queue, times are milliseconds.

    `flush` and `replicas` are ports and may be replaced before the first put. `dispatched_to` is the offset up to which the consume queues
    are built.
    """

    def __init__(self, settings: StoreSettings, profile: Profile, clock: Clock, disk: Disk) -> None:
        self._settings = settings
        self._profile = profile
        self._clock = clock
        self.shutdown = False
        self.flags = RunningFlags()
        self.statistics = Statistics()
        self.commit_log = CommitLog(settings, profile, clock, disk, self.statistics)
        root = settings.store_path_root_dir
        self.queues = ConsumeQueues(disk, f"{root}/consumequeue", settings.mapped_file_size_consume_queue)
        self.checkpoint = StoreCheckpoint(disk, f"{root}/checkpoint")
        self.index = IndexService(settings, clock, disk, self.checkpoint)
        self._disk = disk
        self._abort = f"{root}/abort"
        self.dispatched_to = 0
        self.arriving: Arriving | None = None
        self.ha = HAService(settings, profile, clock, self.commit_log)
        self.durability = Durability(settings, profile, clock, FlushOnDemand(self._flush_on_demand), self.ha)
        self.ha_client = HAClient(settings, clock, self.commit_log)
        self._threads: StoreThreads | None = None
        self.schedule = ScheduleMessageService(
            f"{root}/config/delayOffset.json", profile, clock, disk, self.queues.find, self.look_message_by_offset, self.put_message
        )

        self.timers = TimerMessageStore(
            f"{root}/config/timercheck",
            settings,
            clock,
            disk,
            self.queues.find,
            self.look_message_by_offset,
            self.put_message,
            trailing=profile.ends_properties,
            by_topic=profile.recalls_by_topic,
        )

    @property
    def flush(self) -> Flush:
        return self.durability.flush

    @flush.setter
    def flush(self, flush: Flush) -> None:
        self.durability.flush = flush

    @property
    def replicas(self) -> Replicas:
        return self.durability.replicas

    @replicas.setter
    def replicas(self, replicas: Replicas) -> None:
        self.durability.replicas = replicas

    @property
    def topic_queue_table(self) -> dict[str, int]:
        """The next offset of each queue, by "topic-queueId" (APP-03)."""
        return self.commit_log.topic_queue_table

    @property
    def max_phy_offset(self) -> int:
        """The end of the log."""
        return self.commit_log.files.max_offset

    @property
    def flushed_where(self) -> int:
        """The offset up to which the log is on the device."""
        return self.commit_log.files.flushed_where

    # Puts

    def put_message(self, message: Message) -> Work[PutResult]:
        """Put a message. A put that is rejected here has no append result (STO-01, STO-02). Raises JavaError."""
        return self._put(message, self._check_message, self.commit_log.message)

    def put_messages(self, batch: Message) -> Work[PutResult]:
        """Put the messages in a batch's body (BAT-04). Raises JavaError."""
        return self._put(batch, self._check_batch, self.commit_log.batch)

    async def _put(self, message: Message, check: Check, prepare: Callable[[Message], Append | PutMessageStatus]) -> PutResult:
        """Reject a message, or put it, and update the statistics (STO-05)."""
        requested_text = message.properties_text
        refusal = self._refusal(message, check) or self._check_later(message)
        if refusal is not None:
            return PutResult(refusal)
        began = self._clock.now()
        append = prepare(message)
        if message.properties_text is not requested_text:
            await PLACED.carrying(message)
        result = PutResult(append) if isinstance(append, PutMessageStatus) else await self.commit_log.put(message, append, self.durability)
        elapsed = self._clock.now() - began
        if elapsed > SLOW:
            log.warning("not in lock elapsed time(ms)=%d", elapsed)
        self.statistics.put_longest = max(self.statistics.put_longest, elapsed)
        if not result.ok:
            self.statistics.put_failed += 1
        return result

    def _refusal(self, message: Message, check: Check) -> PutMessageStatus | None:
        """Return why nothing is put: the store's state, then the message and the page cache, or the page cache first.

        The limit on light message queues, the last check in 4.9, never rejects: its result is compared with the wrong status (STO-02).
        """
        if self.shutdown or self._settings.broker_role == "SLAVE" or not self.flags.writable:
            return PutMessageStatus.SERVICE_NOT_AVAILABLE
        if self._profile.busy_first:
            return self._check_busy() or check(message)
        return check(message) or self._check_busy()

    def _check_later(self, message: Message) -> PutMessageStatus | None:
        """Run the checks of later releases: inner batches, for which no topic exists here, and timers. Raises JavaError.

        For a batch only the header's properties are checked.
        """
        if self._profile.refuses_inner and (INNER_NUM in message.properties or message.sys_flag & INNER_BATCH):
            return PutMessageStatus.MESSAGE_ILLEGAL
        if self._profile.timers:
            return to_timer_topic(message, self._settings, self._clock.now(), trailing=self._profile.ends_properties)
        return None

    def _check_busy(self) -> PutMessageStatus | None:
        return PutMessageStatus.OS_PAGECACHE_BUSY if self.is_os_page_cache_busy() else None

    def _check_message(self, message: Message) -> PutMessageStatus | None:
        """Check lengths in characters. Too long properties have their own status in profiles that check the page cache last."""
        if self._is_long(message.topic):
            return PutMessageStatus.MESSAGE_ILLEGAL
        if self._profile.wants_body and message.body is None:
            return PutMessageStatus.MESSAGE_ILLEGAL
        counted = None if self._profile.counts_bytes else message.properties_text
        if counted is not None and length(counted) > PROPERTIES_LIMIT:
            return PutMessageStatus.MESSAGE_ILLEGAL if self._profile.busy_first else PutMessageStatus.PROPERTIES_SIZE_EXCEEDED
        return None

    def _is_long(self, topic: str) -> bool:
        """Return whether the name has too many characters or, in profiles that count bytes, too many bytes."""
        return length(topic) > TOPIC_LIMIT or (self._profile.limits_name_bytes and len(utf8(topic)) > TOPIC_LIMIT)

    def _check_batch(self, batch: Message) -> PutMessageStatus | None:
        if self._is_long(batch.topic):
            return PutMessageStatus.MESSAGE_ILLEGAL
        if batch.body is None and self._profile.wants_body:
            return PutMessageStatus.MESSAGE_ILLEGAL
        if batch.body is None:
            raise null_pointer()
        if len(batch.body) > self._settings.max_message_size and not self._profile.throws_large_batch:
            return PutMessageStatus.MESSAGE_ILLEGAL
        return None

    def is_os_page_cache_busy(self) -> bool:
        """Return whether the put lock has been held for more than a second (by default), and less than 10,000 seconds.

        The upper bound excludes the 0 of a free lock (STO-03).
        """
        in_lock = self._clock.now() - self.commit_log.begin_time_in_lock
        return self._settings.os_page_cache_busy_time_out_mills < in_lock < BUSY_BEFORE

    def is_transient_store_pool_deficient(self) -> bool:
        """Return whether appends use the transient pool, and none of its buffers is free (REM-06)."""
        pool = self.commit_log.files.pool
        return pool is not None and pool.available == 0

    # Reading

    def select_one_message_by_offset(self, offset: int) -> bytes | None:
        """Return the bytes at an offset of the log, whether they are a record or not; None outside the log."""
        return self.commit_log.select(offset)

    def look_message_by_offset(self, offset: int) -> Message | None:
        """Return the message whose record starts at an offset of the log. None outside it; garbage or None inside a record (REC-01)."""
        return self.commit_log.look(offset)

    def get_message(self, topic: str, queue_id: int, queue_offset: int) -> Message | None:
        """Return the dispatched message at a queue offset.

        None for a filler entry before the queue's first one: it specifies more bytes than the log's file has (REC-04).
        """
        queue = self.queues.find(topic, queue_id)
        entry = None if queue is None else queue.entry(queue_offset)
        data = None if entry is None else self.commit_log.bytes_of(entry.physical_offset, entry.size)
        return None if data is None else self.commit_log.decode(data)

    def offset_at(self, topic: str, queue_id: int, time: int, *, upper: bool = False) -> int:
        """Return a queue's offset by the store time (ms) of its message, 0 for an unknown queue (see `bytime`)."""
        queue = self.queues.find(topic, queue_id)
        if queue is None:
            return 0

        def stored_at(offset: int) -> int | None:
            message = self.get_message(topic, queue_id, offset)
            return None if message is None else message.store_timestamp

        return offset_at(queue, stored_at, time, bounds=self._profile.bounds_by_time, upper=upper)

    def query_message(self, topic: str, key: str, most: int, begin: int, end: int) -> QueryMessageResult:
        """Return the records of a key that are still in the log, in log order. Raises JavaError, also for more bytes than a client can
        read."""
        offsets = sorted(self.index.query(topic, key, most, begin, end))
        records, size = [], 0
        for offset in offsets:
            data = self.commit_log.select(offset)
            if data is not None and self.commit_log.decode(data) is not None:
                records.append(data)
                size += len(data)
            if size > MAX_RECORD:
                raise out_of_memory()
        return QueryMessageResult(records, *self.index.reaches) if offsets else QueryMessageResult([])

    def pull(self, topic: str, queue_id: int, offset: int, most: int, matches: Callable[[int], bool]) -> GetMessageResult | None:
        """Return at most `most` records of a queue from an offset on whose tag hash matches; None if the store is shut down."""
        if self.shutdown:
            return None
        queue = self.queues.find(topic, queue_id)
        corrects, resets = self._settings.broker_role != "SLAVE", self._profile.resets_far_pulls
        early = self._profile.stops_pulls_early
        return get_message(queue, self.commit_log, offset, most, matches, corrects=corrects, resets=resets, early=early)

    def min_offset(self, topic: str, queue_id: int) -> int:
        """Return the index of a consume queue's first remaining entry."""
        queue = self.queues.find(topic, queue_id)
        return 0 if queue is None else queue.min_offset

    def max_offset(self, topic: str, queue_id: int) -> int:
        """Return the number of entries of a consume queue."""
        queue = self.queues.find(topic, queue_id)
        return 0 if queue is None else queue.max_offset

    def records(self, start: int = 0) -> Iterator[Message]:
        """Return every message of the log from this offset on, in order, without the blanks."""
        return (message for _, message in self.commit_log.records(start, self.max_phy_offset) if message is not None)

    # Threads of the store

    def services(self, dial: Dial | None = None, run_blocking: RunBlocking = run_immediately) -> tuple[Service, ...]:
        """Return the threads that a driver spawns once the store is loaded, according to the settings (FLU-01, FLU-06).

        Without this call no thread runs, and a flush happens on request. A slave follows its master if the driver provides `dial`. The
        driver passes connections of slaves to `ha.accept`. `run_blocking` is how the driver waits for a device.
        """
        self.ha_client.dial = dial
        if self._threads is None:
            if self._settings.transient_store_pool:
                self.commit_log.files.pool = TransientStorePool(self._settings.transient_store_pool_size, self.commit_log.files.file_size)
            self._threads = StoreThreads(self, self._settings, self._profile, self._clock, run_blocking)
            self.flush = self._threads
        return self._threads.services

    async def stop(self) -> None:
        """Reject puts from now on, end the threads one after the other, and sync everything to the device.

        Every step runs, even after a failing one; the file `abort` then remains. Raises the first error.
        """
        if self.shutdown:
            return
        self.shutdown = True
        try:
            await run_all(self._last_steps())
        except Exception:
            log.warning("the store may be wrong, so shutdown abnormally, and keep abort file.")
            raise
        if self.flags.writable and self.behind() == 0:
            self._disk.delete(self._abort)
        else:
            log.warning("the store may be wrong, so shutdown abnormally, and keep abort file.")

    def _last_steps(self) -> Iterator[Step]:
        if self._threads is not None:
            yield "store threads", self._threads.shutdown
        if self._settings.broker_role != "SLAVE":
            yield from self._positions()
        yield "flush of the commit log", self._flush_log
        yield "flush of the consume queues", self.queues.flush_all
        yield "checkpoint", self._flush_checkpoint

    def behind(self) -> int:
        """Return how many dispatchable bytes of the log are not dispatched; negative if the dispatcher is beyond its end."""
        return self._dispatch_end - self.dispatched_to

    @property
    def _dispatch_end(self) -> int:
        """The end of the dispatchable log. Later releases with synchronous flush dispatch only flushed records."""
        flushed = self._profile.dispatches_flushed and self._settings.flush_disk_type == "SYNC_FLUSH"
        return self.flushed_where if flushed else self.max_phy_offset

    def log_flushed(self, store_timestamp: int) -> None:
        """Record that every message up to this time is on the device. 0 means unknown."""
        if store_timestamp > 0:
            self.checkpoint.physic_msg_timestamp = store_timestamp

    def queues_flushed(self) -> None:
        """Record that all consume queues are on the device as far as they are built."""
        self._flush_checkpoint()

    def _flush_checkpoint(self) -> None:
        try:
            self.checkpoint.flush()
        except OSError as problem:
            log.error("the checkpoint cannot be written: %s", problem)

    def dispatch(self, limit: int | None = None) -> int:
        """Build consume queues and index from the log in order, for at most `limit` records. Return how many were read (REC-04).

        Raises OSError or JavaError if a queue cannot be extended; the next call continues there. After an unreadable record it continues at
        the log's end, or beyond (HAZ-49, HAZ-50). A record that has no possible entry, or raises an exception unknown to the release, is
        logged and gets none; the records after it get theirs.
        """
        done = 0
        self.dispatched_to = max(self.dispatched_to, self.commit_log.files.min_offset)
        for next_offset, message in self.commit_log.records(self.dispatched_to, self._dispatch_end, dispatching=True):
            if message is not None:
                with self._contained(message):
                    hashed = self._dispatch(message)
                    if self.arriving is not None and hashed is not None and self._settings.broker_role != "SLAVE":
                        self.arriving(message.topic, message.queue_id, message.queue_offset + 1, hashed)
                done += 1
            self.dispatched_to = next_offset
            if done == limit:
                break
        return done

    def _contained(self, message: Message) -> AbstractContextManager[None]:
        return contained(lambda: f"{self.commit_log.describe(message.physical_offset)} is set aside")

    def _redispatch(self, message: Message) -> None:
        """Add the entries of a record that a crash may have lost."""
        with self._contained(message):
            self._dispatch(message)

    def _dispatch(self, message: Message) -> int | None:
        """Add a record's entries and return its tag hash. Prepared and rolled back messages get no entry in a queue (REC-04)."""
        hashed = None
        if message.transaction in (NOT, COMMIT):
            try:
                hashed = tags_code(message, deliver_time)
            except JavaError as problem:
                log.error("%s is set aside, and in no queue: %s", self.commit_log.describe(message.physical_offset), problem)
                return None
            entry = ConsumeQueueEntry(message.physical_offset, message.store_size, hashed)
            self.queues.find_or_create(message.topic, message.queue_id).put(message.queue_offset, entry)
            self.checkpoint.logics_msg_timestamp = message.store_timestamp
        if self._settings.message_index_enable and not self.flags.bits & WRITE_INDEX_FILE_ERROR:
            try:
                self.index.build(message)
            except OSError as problem:
                log.error("build index error, stop building index: %s", problem)
                self.flags.bits |= WRITE_INDEX_FILE_ERROR
        return hashed

    def clean_unused_topics(self, topics: Container[str]) -> None:
        """Destroy the consume queues of every topic that is not in `topics`, after a topic was deleted.

        The queues start again at 0. The half topic is not excepted, although a broker's topic table need not contain it. So the deletion of
        any topic can remove pending transactions (recorded as A-276, with its store). Some releases also destroy the queue of the records
        that end half messages. Later releases keep the queues of all system topics, such as the timers'.
        """
        for topic, queue_id in list(self.queues.queues):
            if topic not in topics and not self._keeps_queues(topic):
                self.queues.destroy(topic, queue_id)
                self.topic_queue_table.pop(f"{topic}-{queue_id}", None)

    def _keeps_queues(self, topic: str) -> bool:
        """Return whether the deletion of another topic keeps a topic's queues although the topic is in no table."""
        if self._profile.keeps_system_queues:
            return is_system_name(topic)
        return topic == SCHEDULE or (topic == OP_HALF_TOPIC and self._profile.keeps_operations)

    async def deliver_delayed(self) -> int:
        """Deliver the due delayed messages, and in later releases timers (REC-05). Return their number. A slave replicates them from its
        master."""
        if self._settings.broker_role == "SLAVE":
            return 0
        return await self.schedule.deliver_due() + (await self.timers.deliver_due() if self._profile.timers else 0)

    def persist_delays(self) -> None:
        """Persist how far delayed messages and timers are delivered. Raises OSError."""
        for _, write in self._positions():
            write()

    def _positions(self) -> Iterator[tuple[str, Callable[[], None]]]:
        """Yield the functions that persist how far delayed messages and timers are delivered."""
        yield "offsets of delayed messages", self.schedule.persist
        if self._profile.timers and self._settings.timer_wheel_enable:
            yield "positions of the timers", self.timers.persist

    def flush_now(self) -> None:
        """Sync the log and the consume queues to the device."""
        self._flush_log()
        self.queues.flush_all()

    def _flush_log(self) -> None:
        self.commit_log.files.flush_all()
        self.log_flushed(self.commit_log.files.store_timestamp)

    def _flush_on_demand(self) -> int:
        self._flush_log()
        return self.flushed_where

    def load(self) -> bool:
        """Open the files and recover them, after a crash (the file `abort` exists) or after a clean stop (REC-02).

        Dispatch continues after the last record in any queue. The queues' lengths are the next offsets: prepared messages do not count, and
        a lost queue contains only the records that are dispatched again (REC-03). Return False if a file cannot be opened.
        """
        try:
            clean = self._disk.size(self._abort) is None
            self.commit_log.files.load(self._profile.wrong_length)
            self.queues.load(self._profile.wrong_length)
            self.checkpoint.load()
            self.index.load(clean=clean)
            safe, later = self._settings.message_index_safe, self._profile.dispatches_after_stop == "later"
            recover(self.commit_log, self.queues, self.checkpoint, self._redispatch, clean=clean, later=later, index_safe=safe)
            self._recover_topic_queue_table()
            if not self.schedule.load():
                return False
            if self._profile.timers and self._settings.timer_wheel_enable:
                self.timers.load()
            self.dispatched_to = self._first_dispatched()
            self._dispatch_all()
        except (OSError, JavaError) as problem:
            log.error("load exception: %s", problem)
            return False
        except Exception:  # noqa: BLE001 - foreign files may raise any exception
            log.exception("load exception that no release has")
            return False
        self._recover_topic_queue_table()
        return True

    def _dispatch_all(self) -> None:
        """Dispatch up to the log's end, also beyond unreadable records. Stop where a file of the log is missing."""
        before = -1
        while before < self.dispatched_to < self._dispatch_end:
            before = self.dispatched_to
            self.dispatch()

    def _first_dispatched(self) -> int:
        """Return where dispatch begins after a start: at the largest end of a record in any queue, or in later releases at the log's end.

        A queue that contains only filler before its first entry claims an end at the largest int (HAZ-52).
        """
        return max(0, self.queues.max_physical_offset) if self._profile.dispatches_after_stop == "all" else self.max_phy_offset

    def _recover_topic_queue_table(self) -> None:
        """Set each queue's next offset to its length (REC-03), and its first offset by the log's start."""
        table = {}
        for (topic, queue_id), queue in self.queues.queues.items():
            table[f"{topic}-{queue_id}"] = queue.max_offset
            queue.correct_min_offset(self.commit_log.files.min_offset, keeps=self._profile.keeps_first_entry)
        self.commit_log.topic_queue_table = table

    def start(self) -> None:
        """Mark the store as in use: the file `abort` exists until `stop`. Raises OSError."""
        if self._disk.size(self._abort) is None:
            self._disk.write(self._abort, b"")
