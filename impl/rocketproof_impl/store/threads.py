"""The threads of one store: which there are, and in which order they end (FLU-01)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Protocol

from rocketproof_profiles import Profile

from ..ports import Clock
from ..service import Service, Step, run_all, sleep
from ..tasks import Future
from .commitlog import CommitLog
from .consumequeue import ConsumeQueues
from .files import Beside
from .flushing import CommitRealTimeService, FlushConsumeQueueService, FlushRealTimeService, GroupCommitService
from .ha import HAService
from .haclient import HAClient
from .reput import ReputMessageService
from .settings import StoreSettings

LAST_PUTS, LONG_FLUSH = 1000, 300_000


class ThreadedStore(Protocol):
    """What the threads need of a store."""

    commit_log: CommitLog
    queues: ConsumeQueues
    ha: HAService
    ha_client: HAClient

    def dispatch(self, limit: int | None = None) -> int: ...

    def behind(self) -> int: ...

    def log_flushed(self, store_timestamp: int) -> None: ...

    def queues_flushed(self) -> None: ...


class StoreThreads:
    """Made by the settings at a store's start. It is the store's `Flush` (flush.py) as long as they run."""

    def __init__(self, store: ThreadedStore, settings: StoreSettings, profile: Profile, clock: Clock, beside: Beside) -> None:
        log, files = store.commit_log, store.commit_log.files
        self._ha = store.ha
        self._ha_client = store.ha_client
        self.reput = ReputMessageService(store.dispatch, store.behind)
        self.flush: GroupCommitService | FlushRealTimeService = (
            GroupCommitService(files, profile, store.log_flushed, beside)
            if settings.flush_disk_type == "SYNC_FLUSH"
            else FlushRealTimeService(files, settings, clock, store.log_flushed, beside)
        )
        self.commit = CommitRealTimeService(files, settings, clock, self._committed) if files.pool is not None else None
        self.flush_queues = FlushConsumeQueueService(store.queues, settings, clock, store.queues_flushed, beside)
        log.appended = self.reput.wakeup
        if profile.dispatches_flushed:
            files.advanced = self.reput.wakeup
        self._woken: Callable[[], None] = self.flush.wakeup if self.commit is None else self.commit.wakeup

    @property
    def services(self) -> tuple[Service, ...]:
        """What a driver has to spawn, in the order of the described system."""
        commit = () if self.commit is None else (self.commit,)
        return (self.reput, self._ha.transfers, self._ha_client, self.flush_queues, self.flush, *commit)

    def request(self, next_offset: int) -> Future[bool]:
        """Whether the log is on the device up to there. Raises JavaError if the threads are those of another kind of flush."""
        return self.flush.request(next_offset)

    def wakeup(self) -> None:
        """There is something new: with a transient pool to be committed, otherwise to be flushed (FLU-04)."""
        self._woken()

    def _committed(self) -> None:
        self.flush.wakeup()
        self.reput.wakeup()

    async def shutdown(self) -> None:
        """Leave a second to the last puts; then replication, commit, flush, dispatch and the flush of its queues end, in this order."""
        await sleep(LAST_PUTS)
        await run_all(self._endings())

    def _endings(self) -> Iterator[Step]:
        yield "the slave's side of replication", self._ha_client.shutdown
        yield "the master's side of replication", self._ha.shutdown
        if self.commit is not None:
            yield self.commit.name, self.commit.shutdown
        yield self.flush.name, partial(self.flush.shutdown, LONG_FLUSH)
        yield self.reput.name, self.reput.shutdown
        yield self.flush_queues.name, self.flush_queues.shutdown
