"""The threads that sync a store to the device: which one the kind of flush selects, and their rounds (FLU-01).

They differ in how they wait and how many new bytes they need. A flush of the log covers only one file, from the end of the last flush.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial

from rocketproof_profiles import Profile

from ..java import JavaError
from ..ports import Clock
from ..service import Service, sleep
from ..tasks import Future, Pause
from .consumequeue import ConsumeQueues
from .files import MappedFileQueue, RunBlocking, run_immediately
from .settings import StoreSettings

GROUP_WAIT = 10
LOOKS = Pause("looks")
LOG_RETRIES, QUEUE_RETRIES = 10, 3

Noted = Callable[[int], None]
"""Called with the store timestamp up to which the log is on the device."""


@dataclass(slots=True)
class GroupCommitRequest:
    """A put that waits until the log is on the device up to an offset."""

    next_offset: int
    flushed: Future[bool] = field(default_factory=Future)


class GroupCommitService(Service):
    """Synchronous flush: one flush serves all requests since the last one (FLU-03).

    Requests are added to one list and served from another. Each round begins by exchanging the two.
    """

    __slots__ = ("_files", "_noted", "_profile", "_requests_read", "_requests_write", "_run_blocking")

    def __init__(self, files: MappedFileQueue, profile: Profile, noted: Noted, run_blocking: RunBlocking = run_immediately) -> None:
        super().__init__("GroupCommitService")
        self._run_blocking = run_blocking
        self._files = files
        self._profile = profile
        self._noted = noted
        self._requests_write: list[GroupCommitRequest] = []
        self._requests_read: list[GroupCommitRequest] = []

    def request(self, next_offset: int) -> Future[bool]:
        """Return a future of whether the log is on the device up to this offset."""
        request = GroupCommitRequest(next_offset)
        self._requests_write.append(request)
        self.wakeup()
        return request.flushed

    async def round(self) -> None:
        """Flush at most 10 ms after the last flush (FLU-03)."""
        await self.wait_for_running(GROUP_WAIT)
        await sleep(0)  # threads about to append run first and share this flush
        await self._commit()

    async def finish(self) -> None:
        """Flush for late requests."""
        await sleep(GROUP_WAIT)
        await self._commit()

    async def _commit(self) -> None:
        self._requests_write, self._requests_read = self._requests_read, self._requests_write
        if not self._requests_read:
            await self._files.flush_concurrently(self._run_blocking)  # for messages that do not wait
            return
        for request in self._requests_read:
            request.flushed.complete(await self._flush_to(request.next_offset))
        if self._files.store_timestamp > 0:
            self._noted(self._files.store_timestamp)
        self._requests_read.clear()

    async def _flush_to(self, next_offset: int) -> bool:
        """Check and flush, twice, because the message may be in the file after the flushed one.

        Older releases do not check after the second flush, and so report a timeout for a message that is on the device (HAZ-21).
        """
        for _ in range(2):
            await LOOKS
            if self._files.flushed_where >= next_offset:
                return True
            await self._files.flush_concurrently(self._run_blocking)
        await LOOKS
        return self._profile.rechecks_after_flush and self._files.flushed_where >= next_offset


class FlushRealTimeService(Service):
    """Asynchronous flush: of four pages or more, and of everything every ten seconds (FLU-05).

    If the flush is timed, puts do not end its sleep.
    """

    __slots__ = ("_clock", "_files", "_last_flush", "_noted", "_run_blocking", "_settings")

    def __init__(
        self, files: MappedFileQueue, settings: StoreSettings, clock: Clock, noted: Noted, run_blocking: RunBlocking = run_immediately
    ) -> None:
        super().__init__("FlushRealTimeService")
        self._run_blocking = run_blocking
        self._files = files
        self._settings = settings
        self._clock = clock
        self._noted = noted
        self._last_flush = 0

    def request(self, next_offset: int) -> Future[bool]:
        """Raise the release's exception: puts wait for this thread only if the kind of flush was changed while the store runs."""
        del next_offset
        raise JavaError("java.lang.ClassCastException", "FlushRealTimeService cannot be cast to GroupCommitService")

    async def round(self) -> None:
        """Sleep at most half a second, and flush."""
        settings = self._settings
        least_pages = settings.flush_commit_log_least_pages
        now = self._clock.now()
        if now >= self._last_flush + settings.flush_commit_log_thorough_interval:
            self._last_flush = now
            least_pages = 0
        pause = sleep if settings.flush_commit_log_timed else self.wait_for_running
        await pause(settings.flush_interval_commit_log)
        await self._files.flush_concurrently(self._run_blocking, least_pages)
        if self._files.store_timestamp > 0:
            self._noted(self._files.store_timestamp)

    async def finish(self) -> None:
        """Flush up to ten times, until nothing is new."""
        await repeat(LOG_RETRIES, partial(self._files.flush_concurrently, self._run_blocking))


class CommitRealTimeService(Service):
    """With a transient pool: copies the buffers to the files, and wakes the flush (FLU-06).

    The thorough interval equals a round, so the least pages count only for rounds that a put started.
    """

    __slots__ = ("_clock", "_committed", "_files", "_last_commit", "_settings")

    def __init__(self, files: MappedFileQueue, settings: StoreSettings, clock: Clock, committed: Callable[[], None]) -> None:
        super().__init__("CommitRealTimeService")
        self._files = files
        self._settings = settings
        self._clock = clock
        self._committed = committed
        self._last_commit = 0

    async def round(self) -> None:
        """Commit, and sleep at most 200 ms."""
        settings = self._settings
        least_pages = settings.commit_commit_log_least_pages
        now = self._clock.now()
        if now >= self._last_commit + settings.commit_commit_log_thorough_interval:
            self._last_commit = now
            least_pages = 0
        if not self._files.commit(least_pages):
            self._last_commit = self._clock.now()
            self._committed()
        await self.wait_for_running(settings.commit_interval_commit_log)

    async def finish(self) -> None:
        """Commit up to ten times, until nothing is new (FLU-06)."""
        for _ in range(LOG_RETRIES):
            if self._files.commit():
                break
        self._committed()


class FlushConsumeQueueService(Service):
    """Flushes the consume queues every second: two pages of each or more, and everything every minute.

    `thorough` is called after each flush of everything, so that the checkpoint can be written.
    """

    __slots__ = ("_clock", "_last_flush", "_queues", "_run_blocking", "_settings", "_thorough")

    def __init__(
        self,
        queues: ConsumeQueues,
        settings: StoreSettings,
        clock: Clock,
        thorough: Callable[[], None],
        run_blocking: RunBlocking = run_immediately,
    ) -> None:
        super().__init__("FlushConsumeQueueService")
        self._run_blocking = run_blocking
        self._queues = queues
        self._settings = settings
        self._clock = clock
        self._thorough = thorough
        self._last_flush = 0

    async def round(self) -> None:
        """Sleep at most a second, and flush."""
        settings = self._settings
        await self.wait_for_running(settings.flush_interval_consume_queue)
        least_pages = settings.flush_consume_queue_least_pages
        now = self._clock.now()
        if now >= self._last_flush + settings.flush_consume_queue_thorough_interval:
            self._last_flush = now
            least_pages = 0
        await self._flush(1, least_pages)

    async def finish(self) -> None:
        """Flush everything, up to three files of each queue."""
        await self._flush(QUEUE_RETRIES, 0)

    async def _flush(self, times: int, least_pages: int) -> None:
        for queue in list(self._queues.queues.values()):
            await repeat(times, partial(queue.files.flush_concurrently, self._run_blocking, least_pages))
        if least_pages == 0:
            self._thorough()


async def repeat(times: int, step: Callable[[], Awaitable[bool]]) -> None:
    """Run `step` up to `times` times, until it returns that nothing was new."""
    for _ in range(times):
        if await step():
            break
