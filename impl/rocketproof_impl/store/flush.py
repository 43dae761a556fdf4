"""What a put waits for after its append: its bytes on the device, then on a replica (FLU-02, FLU-07, FLU-08).

Who flushes and who copies are ports. The simplest flush is here, one on demand; the threads are in flushing.py and ha.py.
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
    """Brings the log to the device, up to an offset in bytes."""

    def request(self, next_offset: int) -> Future[bool]:
        """Whether the log is on the device up to there, once that is known."""
        ...

    def wakeup(self) -> None:
        """There is something to flush; nobody waits for it."""
        ...


class Replicas(Protocol):
    """The slaves: how many are connected, and the largest offset that one of them has."""

    connections: int
    push2_slave_max_offset: int

    def request(self, next_offset: int) -> Future[bool]:
        """Whether a slave has the log up to there, once that is known."""
        ...


class FlushOnDemand:
    """Flushes everything at once when it is asked, and otherwise not."""

    __slots__ = ("_flush",)

    def __init__(self, flush: Callable[[], int]) -> None:
        self._flush = flush

    def request(self, next_offset: int) -> Future[bool]:
        answer: Future[bool] = Future()
        answer.complete(self._flush() >= next_offset)
        return answer

    def wakeup(self) -> None:
        """Something was appended that nobody waits for: the next request flushes it too."""


@dataclass(slots=True)
class AwaitedFlush:
    """A future that a put waits for, how many milliseconds at most, and the status if it does not come true."""

    future: Future[bool]
    millis: int
    otherwise: PutMessageStatus

    async def fulfilled(self, millis: int) -> bool:
        return await Wait(self.future, millis) and self.future.result()


@dataclass(slots=True)
class Durability:
    """The waiting of one store."""

    settings: StoreSettings
    profile: Profile
    clock: Clock
    flush: Flush
    replicas: Replicas

    def complete(self, put: PutResult, appended: AppendResult, message: Message) -> Awaitable[None]:
        """Wait for the flush, then for the replica; each failure overwrites the status, so the replica's has the last word (FLU-08).

        Otherwise both are asked for before either is awaited, where puts complete a future.
        """
        wait = self._together if self.profile.asynchronous else self._one_by_one
        return wait(put, appended, message)

    async def _one_by_one(self, put: PutResult, appended: AppendResult, message: Message) -> None:
        for ask in (self.ask_flush, self.ask_replica):
            wanted = ask(appended, message)
            if wanted is not None and not await wanted.fulfilled(wanted.millis):
                put.status = wanted.otherwise

    async def _together(self, put: PutResult, appended: AppendResult, message: Message) -> None:
        flush, replica = self.ask_flush(appended, message), self.ask_replica(appended, message)
        if flush is None and replica is None:
            return
        wanted = [each for each in (flush, replica) if each is not None]
        began = self.clock.now()
        failed: list[AwaitedFlush] = []
        # The shorter time limit first: what is found finished later was then finished in time.
        for each in sorted(wanted, key=lambda each: each.millis):
            if not await each.fulfilled(max(0, began + each.millis - self.clock.now())):
                failed.append(each)
        for each in wanted:
            if each in failed:
                put.status = each.otherwise

    def ask_flush(self, appended: AppendResult, message: Message) -> AwaitedFlush | None:
        """A broker that flushes synchronously lets a message wait that wants to; any other put only wakes the flush (FLU-02, FLU-04)."""
        if self.settings.flush_disk_type == "SYNC_FLUSH" and message.waits:
            future = self.flush.request(next_offset(appended))
            return AwaitedFlush(future, self.settings.sync_flush_timeout, PutMessageStatus.FLUSH_DISK_TIMEOUT)
        self.flush.wakeup()
        return None

    def ask_replica(self, appended: AppendResult, message: Message) -> AwaitedFlush | None:
        """Only a SYNC_MASTER lets a waiting message wait for a slave; without a good slave the answer is there at once (FLU-07).

        A profile that counts replicas counts the master too: one is enough by default, and more are waited for whoever is
        connected.
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
        """A slave is connected, and the best one is less than 256 MiB behind (FLU-07)."""
        behind = master_put_where - self.replicas.push2_slave_max_offset
        return self.replicas.connections > 0 and behind < self.settings.ha_slave_fall_behind_max


def next_offset(appended: AppendResult) -> int:
    """The end of what was appended."""
    return appended.wrote_offset + appended.wrote_bytes
