"""Thread pools with a fixed number of threads and a bounded queue. The spawner that runs the threads is passed in.

Waiting tasks are data, so that fast failure can remove them from the head of the queue (REM-10).
"""

from __future__ import annotations

from collections import deque
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from .broker.settings import BrokerSettings
from .ports import Clock
from .remoting.ports import Rejected, RequestTask
from .tasks import Future, Work


class Ending(Protocol):
    """A spawned thread, as a pool sees it."""

    @property
    def done(self) -> Future[Any]: ...


TaskT = TypeVar("TaskT", bound=Ending)
TaskOut = TypeVar("TaskOut", bound=Ending, covariant=True)


class Spawner(Protocol[TaskOut]):
    """Runs threads, on its clock."""

    @property
    def clock(self) -> Clock: ...

    def spawn(self, work: Work[None], name: str = ...) -> TaskOut: ...


class ThreadPool(Generic[TaskT]):
    """A pool of threads with a queue. `threads` or `capacity` None means no bound. `running` contains the running tasks."""

    __slots__ = ("_queue", "_spawner", "capacity", "name", "running", "threads")

    def __init__(self, spawner: Spawner[TaskT], name: str, threads: int | None = None, capacity: int | None = None) -> None:
        self._spawner = spawner
        self.name = name
        self.threads = threads
        self.capacity = capacity
        self.running: list[TaskT] = []
        self._queue: deque[RequestTask] = deque()

    def submit(self, task: RequestTask) -> None:
        if self.threads is None or len(self.running) < self.threads:
            self._start(task)
        elif self.capacity is None or len(self._queue) < self.capacity:
            task.created = self._spawner.clock.now()
            self._queue.append(task)
        else:
            raise Rejected(f"{self.name}: {self.threads} threads and {self.capacity} places are taken")

    @property
    def waiting(self) -> int:
        return len(self._queue)

    def head(self) -> RequestTask | None:
        return self._queue[0] if self._queue else None

    def take(self) -> RequestTask:
        task = self._queue.popleft()
        if task.taken is not None:
            task.taken()
        return task

    def _start(self, task: RequestTask) -> None:
        thread = self._spawner.spawn(task.work(), self.name)
        self.running.append(thread)
        thread.done.then(lambda _: self._ended(thread))

    def _ended(self, thread: TaskT) -> None:
        self.running.remove(thread)
        if self._queue:
            self._start(self._queue.popleft())


class PoolSize(NamedTuple):
    """The names of the settings with a pool's number of threads and its queue's capacity (None: no bound)."""

    threads: str
    capacity: str | None


POOLS = {
    "send": PoolSize("send_message_thread_pool_nums", "send_thread_pool_queue_capacity"),
    "pull": PoolSize("pull_message_thread_pool_nums", "pull_thread_pool_queue_capacity"),
    "query": PoolSize("query_message_thread_pool_nums", "query_thread_pool_queue_capacity"),
    "admin": PoolSize("admin_broker_thread_pool_nums", None),
    "client": PoolSize("client_manage_thread_pool_nums", "client_manager_thread_pool_queue_capacity"),
    "consumer": PoolSize("consumer_manage_thread_pool_nums", None),
    "heartbeat": PoolSize("heartbeat_thread_pool_nums", "heartbeat_thread_pool_queue_capacity"),
    "transaction": PoolSize("end_transaction_thread_pool_nums", "end_transaction_pool_queue_capacity"),
}
"""A broker's pools, by the names that its processors use."""


def sized_pools(spawner: Spawner[TaskT], settings: BrokerSettings) -> dict[str, ThreadPool[TaskT]]:
    """Return a broker's pools, sized by its settings."""
    return {
        name: ThreadPool(
            spawner,
            f"{settings.broker_name}/{name}",
            getattr(settings, size.threads),
            None if size.capacity is None else getattr(settings, size.capacity),
        )
        for name, size in POOLS.items()
    }
