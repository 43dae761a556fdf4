"""The threads that bring a store to the device: which one the kind of flush chooses, and what each does in a round (FLU-01).

They differ in how they wait and in how much has to be new. A flush of the log takes one file only, from where the last one
ended.
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
from .files import Beside, MappedFileQueue, at_once
from .settings import StoreSettings

GROUP_WAIT = 10
LOOKS = Pause("looks")
LOG_RETRIES, QUEUE_RETRIES = 10, 3

Noted = Callable[[int], None]
"""Hears the store timestamp up to which the log is on the device."""


@dataclass(slots=True)
class GroupCommitRequest:
    """A put that waits until the log is on the device up to an offset."""

    next_offset: int
    flushed: Future[bool] = field(default_factory=Future)


class GroupCommitService(Service):
    """Synchronous flush: all who came in the meantime are served by one flush (FLU-03).

    Requests are written to one list and read from another, and each round begins by exchanging the two.
    """

    __slots__ = ("_beside", "_files", "_noted", "_profile", "_requests_read", "_requests_write")

    def __init__(self, files: MappedFileQueue, profile: Profile, noted: Noted, beside: Beside = at_once) -> None:
        super().__init__("GroupCommitService")
        self._beside = beside
        self._files = files
        self._profile = profile
        self._noted = noted
        self._requests_write: list[GroupCommitRequest] = []
        self._requests_read: list[GroupCommitRequest] = []

    def request(self, next_offset: int) -> Future[bool]:
        """Whether the log is on the device up to there, once that was looked at."""
        request = GroupCommitRequest(next_offset)
        self._requests_write.append(request)
        self.wakeup()
        return request.flushed

    async def round(self) -> None:
        """Flush at most 10 ms after the last flush (FLU-03)."""
        await self.wait_for_running(GROUP_WAIT)
        await sleep(0)  # who is about to append may come along
        await self._commit()

    async def finish(self) -> None:
        """Flush for those who came late."""
        await sleep(GROUP_WAIT)
        await self._commit()

    async def _commit(self) -> None:
        self._requests_write, self._requests_read = self._requests_read, self._requests_write
        if not self._requests_read:
            await self._files.flush_beside(self._beside)  # for messages that do not wait
            return
        for request in self._requests_read:
            request.flushed.complete(await self._flush_to(request.next_offset))
        if self._files.store_timestamp > 0:
            self._noted(self._files.store_timestamp)
        self._requests_read.clear()

    async def _flush_to(self, next_offset: int) -> bool:
        """Look and flush, twice, as the message may be in the file after the one that is flushed.

        Older releases do not look again after the second flush, and so take a message for late that is on the device (HAZ-21).
        """
        for _ in range(2):
            await LOOKS
            if self._files.flushed_where >= next_offset:
                return True
            await self._files.flush_beside(self._beside)
        await LOOKS
        return self._profile.rechecks_after_flush and self._files.flushed_where >= next_offset


class FlushRealTimeService(Service):
    """Asynchronous flush: of four pages or more, and every ten seconds of whatever there is (FLU-05).

    Where the flush is timed, puts do not shorten its sleep.
    """

    __slots__ = ("_beside", "_clock", "_files", "_last_flush", "_noted", "_settings")

    def __init__(self, files: MappedFileQueue, settings: StoreSettings, clock: Clock, noted: Noted, beside: Beside = at_once) -> None:
        super().__init__("FlushRealTimeService")
        self._beside = beside
        self._files = files
        self._settings = settings
        self._clock = clock
        self._noted = noted
        self._last_flush = 0

    def request(self, next_offset: int) -> Future[bool]:
        """Nobody waits for this thread, unless the kind of flush was changed under a running store: an error then."""
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
        await self._files.flush_beside(self._beside, least_pages)
        if self._files.store_timestamp > 0:
            self._noted(self._files.store_timestamp)

    async def finish(self) -> None:
        """Flush up to ten times, until a flush brings nothing new."""
        await again(LOG_RETRIES, partial(self._files.flush_beside, self._beside))


class CommitRealTimeService(Service):
    """With a transient pool: brings the buffers to the files, and lets the flush know (FLU-06).

    The thorough interval is as long as a round, so that the least pages count only for rounds that a put began.
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
        """Commit up to ten times, until a commit brings nothing new (FLU-06)."""
        for _ in range(LOG_RETRIES):
            if self._files.commit():
                break
        self._committed()


class FlushConsumeQueueService(Service):
    """Flushes the consume queues every second: two pages of each or more, and every minute whatever there is.

    `thorough` is called after each flush of everything: the checkpoint may tell of it.
    """

    __slots__ = ("_beside", "_clock", "_last_flush", "_queues", "_settings", "_thorough")

    def __init__(
        self, queues: ConsumeQueues, settings: StoreSettings, clock: Clock, thorough: Callable[[], None], beside: Beside = at_once
    ) -> None:
        super().__init__("FlushConsumeQueueService")
        self._beside = beside
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
        """Flush everything, with up to three files of each queue."""
        await self._flush(QUEUE_RETRIES, 0)

    async def _flush(self, times: int, least_pages: int) -> None:
        for queue in list(self._queues.queues.values()):
            await again(times, partial(queue.files.flush_beside, self._beside, least_pages))
        if least_pages == 0:
            self._thorough()


async def again(times: int, step: Callable[[], Awaitable[bool]]) -> None:
    """Do something so many times, or until it reports that there was nothing to do."""
    for _ in range(times):
        if await step():
            break
