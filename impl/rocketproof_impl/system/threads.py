"""Threads on an asyncio loop: the coroutines of `tasks`, stepped as they come, all in the loop's own thread.

A thread that is spawned runs at once, up to its first wait, unless another one is being stepped: then it comes after that. So a
request that waits for nothing is served inside the call that read it from the connection, and costs no asyncio task.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

from ..ports import Clock
from ..tasks import Future, Wait, Work, advance
from .clock import SystemClock

T = TypeVar("T")

log = logging.getLogger("rocketproof_impl.system")
log.addHandler(logging.NullHandler())


class ServerThread(Generic[T]):
    """A thread: what it waits for, and its result when it has ended."""

    __slots__ = ("done", "name", "timer", "waiting", "work")

    def __init__(self, work: Work[T], name: str) -> None:
        self.work = work
        self.name = name
        self.waiting: Wait | None = None
        self.timer: asyncio.TimerHandle | None = None
        self.done: Future[T] = Future()

    def __repr__(self) -> str:
        return f"<thread {self.name}, {'ended' if self.done.done else 'waiting' if self.waiting else 'ready'}>"


class Threads:
    """The threads of one process, real or of many in one loop. `close` ends them all where they stand."""

    def __init__(self, loop: asyncio.AbstractEventLoop | None = None, clock: Clock | None = None) -> None:
        self.loop = loop or asyncio.get_running_loop()
        self.clock = clock or SystemClock()
        self.closed = False
        self._ready: deque[tuple[ServerThread[Any], Any]] = deque()
        self._parked: dict[ServerThread[Any], None] = {}
        self._timers: set[asyncio.TimerHandle] = set()
        self._beside: set[asyncio.Task[Any]] = set()
        self._endings: list[Callable[[], None]] = []
        self._stepping = False

    def spawn(self, work: Work[T], name: str = "thread") -> ServerThread[T]:
        """A new thread. It never starts if the process has ended."""
        task = ServerThread(work, name)
        if self.closed:
            work.close()
            return task
        self._ready.append((task, None))
        if not self._stepping:
            self._settle()
        return task

    def after(self, millis: int, action: Callable[[], None]) -> None:
        """Do something when that much time has passed."""
        self._at(self.loop.time() + millis / 1000, action)

    def every(self, first: int, period: int, action: Callable[[], None]) -> None:
        """Do something again and again, at a fixed rate; what was missed is not made up for."""
        due = self.loop.time() + first / 1000

        def again() -> None:
            nonlocal due
            due = max(due + period / 1000, self.loop.time())
            self._at(due, again)
            action()

        self._at(due, again)

    def beside(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        """Run a coroutine of asyncio beside the threads; what it gives or raises. It is cancelled when the process ends."""
        future: Future[T] = Future()
        task = self.loop.create_task(coroutine)
        self._beside.add(task)

        def ended(task: asyncio.Task[T]) -> None:
            self._beside.discard(task)
            problem = asyncio.CancelledError() if task.cancelled() else task.exception()
            if problem is None:
                future.complete(task.result())
            else:
                future.fail(problem)

        task.add_done_callback(ended)
        return future

    def aside(self, action: Callable[[], T]) -> Future[T]:
        """Do what blocks, such as waiting for a device, in a thread of the system, while the threads here go on."""
        return self.beside(asyncio.to_thread(action))

    def at_end(self, action: Callable[[], None]) -> None:
        """Do something when the process ends, such as closing its connections."""
        self._endings.append(action)

    async def outcome(self, future: Future[T]) -> T:
        """What the future gives, for a caller that is a coroutine of asyncio; raises what it raises."""
        bridge: asyncio.Future[None] = self.loop.create_future()
        future.then(lambda _: None if bridge.done() else bridge.set_result(None))
        await bridge
        return future.result()

    def close(self) -> None:
        """The end of the process: no thread takes another step, and nothing that was planned happens."""
        self.closed = True
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()
        ready = [task for task, _ in self._ready]
        self._ready.clear()
        for action in self._endings:
            action()
        for beside in self._beside:
            beside.cancel()
        parked, self._parked = self._parked, {}
        for task in parked:
            _forget(task)
        for task in (*ready, *parked):
            try:
                task.work.close()
            except RuntimeError as problem:  # it waits for something on its way out
                log.warning("%r: %s", task, problem)

    def _at(self, when: float, action: Callable[[], None]) -> None:
        def due() -> None:
            self._timers.discard(timer)
            action()

        if not self.closed:
            timer = self.loop.call_at(when, due)
            self._timers.add(timer)

    def _settle(self) -> None:
        """Step whatever is ready."""
        self._stepping = True
        ready = self._ready
        try:
            while ready:
                task, value = ready.popleft()
                stands = advance(task.work, task.done, value)
                if isinstance(stands, Wait):
                    self._park(task, stands)
        finally:
            self._stepping = False

    def _park(self, task: ServerThread[Any], wait: Wait) -> None:
        task.waiting = wait
        self._parked[task] = None
        if wait.millis is not None:
            task.timer = self.loop.call_later(max(0, wait.millis) / 1000, self._wake, task, wait, False)
        wait.future.then(lambda _: self._wake(task, wait, True))

    def _wake(self, task: ServerThread[Any], wait: Wait, value: bool) -> None:
        if self.closed or task.waiting is not wait:
            return  # its process has ended, or it was woken by something else
        self._parked.pop(task, None)
        _forget(task)
        self._ready.append((task, value))
        if not self._stepping:
            self._settle()


def _forget(task: ServerThread[Any]) -> None:
    """The task does not wait any more."""
    task.waiting = None
    if task.timer is not None:
        task.timer.cancel()
        task.timer = None
