"""The waits of a put after its append: for its bytes on the device, then on a replica (FLU-02, FLU-07, FLU-08).

Flushing and replication are ports. The simplest flush, on demand, is here; the threads are in flushing.py and ha.py.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from rocketproof_profiles import Profile

from ..message import Message
from ..ports import Clock
from ..tasks import Future, Wait
from .result import AppendResult, PutMessageStatus, PutResult
from .settings import StoreSettings


class Flush(Protocol):
    """Syncs the log to the device, up to an offset in bytes."""

    def request(self, next_offset: int) -> Future[bool]:
        """Return a future of whether the log is on the device up to this offset."""
        ...

    def wakeup(self) -> None:
        """Announce new data that no put waits for."""
        ...


class Replicas(Protocol):
    """The slaves: how many are connected, and the largest offset that one of them has."""

    connections: int
    push2_slave_max_offset: int

    def request(self, next_offset: int) -> Future[bool]:
        """Return a future of whether a slave has the log up to this offset."""
        ...


class FlushOnDemand:
    """Flushes everything when it is requested, and only then."""

    __slots__ = ("_flush",)

    def __init__(self, flush: Callable[[], int]) -> None:
        self._flush = flush

    def request(self, next_offset: int) -> Future[bool]:
        answer: Future[bool] = Future()
        answer.complete(self._flush() >= next_offset)
        return answer

    def wakeup(self) -> None:
        """Do nothing: the next request also flushes these data."""


@dataclass(slots=True)
class AwaitedFlush:
    """A future that a put waits for, the maximum wait in milliseconds, and the put's status if the future is false or late."""

    future: Future[bool]
    millis: int
    otherwise: PutMessageStatus

    async def fulfilled(self, millis: int) -> bool:
        return await Wait(self.future, millis) and self.future.result()


@dataclass(slots=True)
class Durability:
    """The waits of a store's puts."""

    settings: StoreSettings
    profile: Profile
    clock: Clock
    flush: Flush
    replicas: Replicas

    def complete(self, put: PutResult, appended: AppendResult, message: Message) -> Awaitable[None]:
        """Wait for the flush, then for the replica. Each failure overwrites the status, so the replica's failure is the result (FLU-08).

        In asynchronous profiles both are requested before either is awaited.
        """
        wait = self._together if self.profile.asynchronous else self._one_by_one
        return wait(put, appended, message)

    async def _one_by_one(self, put: PutResult, appended: AppendResult, message: Message) -> None:
        for ask in (self.ask_flush, self.ask_replica):
            awaited = ask(appended, message)
            if awaited is not None and not await awaited.fulfilled(awaited.millis):
                put.status = awaited.otherwise

    async def _together(self, put: PutResult, appended: AppendResult, message: Message) -> None:
        flush, replica = self.ask_flush(appended, message), self.ask_replica(appended, message)
        if flush is None and replica is None:
            return
        requested = [awaited for awaited in (flush, replica) if awaited is not None]
        began = self.clock.now()
        failed: list[AwaitedFlush] = []
        # Wait with the shorter timeout first: if the other future is done after that, it was done in time.
        for awaited in sorted(requested, key=lambda awaited: awaited.millis):
            if not await awaited.fulfilled(max(0, began + awaited.millis - self.clock.now())):
                failed.append(awaited)
        for awaited in requested:
            if awaited in failed:
                put.status = awaited.otherwise

    def ask_flush(self, appended: AppendResult, message: Message) -> AwaitedFlush | None:
        """Request a flush if the broker flushes synchronously and the message waits. Any other put only wakes the flush (FLU-02,
        FLU-04)."""
        if self.settings.flush_disk_type == "SYNC_FLUSH" and message.waits:
            future = self.flush.request(next_offset(appended))
            return AwaitedFlush(future, self.settings.sync_flush_timeout, PutMessageStatus.FLUSH_DISK_TIMEOUT)
        self.flush.wakeup()
        return None

    def ask_replica(self, appended: AppendResult, message: Message) -> AwaitedFlush | None:
        """Request a replica if the broker is a SYNC_MASTER and the message waits. Without an up-to-date slave the result is immediate
        (FLU-07).

        Profiles that count replicas include the master: the default of one needs no slave, and more are awaited even if none is connected.
        """
        if self.settings.broker_role != "SYNC_MASTER" or not message.waits:
            return None
        if self.profile.counts_replicas and self.settings.in_sync_replicas <= 1:
            return None
        where = next_offset(appended)
        if not self.profile.counts_replicas and not self.slave_ok(where):
            refused: Future[bool] = Future()
            refused.complete(False)
            return AwaitedFlush(refused, 0, PutMessageStatus.SLAVE_NOT_AVAILABLE)
        millis = self.settings.slave_timeout if self.profile.replica_wait is None else self.profile.replica_wait
        return AwaitedFlush(self.replicas.request(where), millis, PutMessageStatus.FLUSH_SLAVE_TIMEOUT)

    def slave_ok(self, master_put_where: int) -> bool:
        """Return whether a slave is connected, and the most advanced one lags less than 256 MiB (FLU-07)."""
        behind = master_put_where - self.replicas.push2_slave_max_offset
        return self.replicas.connections > 0 and behind < self.settings.ha_slave_fall_behind_max


def next_offset(appended: AppendResult) -> int:
    """Return the end of the appended bytes."""
    return appended.wrote_offset + appended.wrote_bytes
