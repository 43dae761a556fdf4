"""Thread pools of the simulator: so many threads, so many places in the queue, and no more."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from ..ports import Rejected
from ..tasks import Future, Work
from .scheduler import Scheduler, Task


class SimulatedExecutor:
    """`threads` and `capacity` None: as many as are asked for. `running` are the tasks under way."""

    def __init__(self, scheduler: Scheduler, name: str, threads: int | None = None, capacity: int | None = None) -> None:
        self._scheduler = scheduler
        self.name = name
        self.threads = threads
        self.capacity = capacity
        self.running: list[Task[None]] = []
        self._queue: deque[Callable[[], Work[None]]] = deque()

    def submit(self, work: Callable[[], Work[None]]) -> None:
        if self.threads is None or len(self.running) < self.threads:
            self._start(work)
        elif self.capacity is None or len(self._queue) < self.capacity:
            self._queue.append(work)
        else:
            raise Rejected(f"{self.name}: {self.threads} threads and {self.capacity} places are taken")

    def _start(self, work: Callable[[], Work[None]]) -> None:
        task = self._scheduler.spawn(work(), self.name)
        self.running.append(task)

        def ended(_: Future[None]) -> None:
            self.running.remove(task)
            if self._queue:
                self._start(self._queue.popleft())

        task.done.then(ended)
