"""The threads of a store, and the order in which they end (FLU-01)."""

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
from .files import RunBlocking
from .flushing import CommitRealTimeService, FlushConsumeQueueService, FlushRealTimeService, GroupCommitService
from .ha import HAService
from .haclient import HAClient
from .reput import ReputMessageService
from .settings import StoreSettings

LAST_PUTS, LONG_FLUSH = 1000, 300_000


class ThreadedStore(Protocol):
    """The parts of a store that its threads use."""

    commit_log: CommitLog
    queues: ConsumeQueues
    ha: HAService
    ha_client: HAClient

    def dispatch(self, limit: int | None = None) -> int: ...

    def behind(self) -> int: ...

    def log_flushed(self, store_timestamp: int) -> None: ...

    def queues_flushed(self) -> None: ...


class StoreThreads:
    """The threads selected by the settings at a store's start. While they run, this is the store's `Flush` (flush.py)."""

    def __init__(self, store: ThreadedStore, settings: StoreSettings, profile: Profile, clock: Clock, run_blocking: RunBlocking) -> None:
        log, files = store.commit_log, store.commit_log.files
        self._ha = store.ha
        self._ha_client = store.ha_client
        self.reput = ReputMessageService(store.dispatch, store.behind)
        self.flush: GroupCommitService | FlushRealTimeService = (
            GroupCommitService(files, profile, store.log_flushed, run_blocking)
            if settings.flush_disk_type == "SYNC_FLUSH"
            else FlushRealTimeService(files, settings, clock, store.log_flushed, run_blocking)
        )
        self.commit = CommitRealTimeService(files, settings, clock, self._committed) if files.pool is not None else None
        self.flush_queues = FlushConsumeQueueService(store.queues, settings, clock, store.queues_flushed, run_blocking)
        log.appended = self.reput.wakeup
        if profile.dispatches_flushed:
            files.advanced = self.reput.wakeup
        self._woken: Callable[[], None] = self.flush.wakeup if self.commit is None else self.commit.wakeup

    @property
    def services(self) -> tuple[Service, ...]:
        """The threads that a driver spawns, in the order of the described system."""
        commit = () if self.commit is None else (self.commit,)
        return (self.reput, self._ha.transfers, self._ha_client, self.flush_queues, self.flush, *commit)

    def request(self, next_offset: int) -> Future[bool]:
        """Return a future of whether the log is on the device up to this offset. Raises JavaError if the kind of flush was changed at
        run time."""
        return self.flush.request(next_offset)

    def wakeup(self) -> None:
        """Announce new data: with a transient pool they are committed first, otherwise flushed (FLU-04)."""
        self._woken()

    def _committed(self) -> None:
        self.flush.wakeup()
        self.reput.wakeup()

    async def shutdown(self) -> None:
        """Wait a second for the last puts. Then end replication, commit, flush, dispatch and the flush of the queues, in this order."""
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
