"""Threads on an asyncio loop: the coroutines of `tasks`, stepped as their events occur, all in the loop's own thread.

A spawned thread runs immediately up to its first wait, or after the current step of another thread. So a request that does not wait is
served inside the call that read it from the connection, without an asyncio task.
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
    """A thread: its current wait, and its result when it has ended."""

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
    """The threads of one process, or of one of several nodes in a loop. `close` ends them all where they are."""

    def __init__(self, loop: asyncio.AbstractEventLoop | None = None, clock: Clock | None = None) -> None:
        self.loop = loop or asyncio.get_running_loop()
        self.clock = clock or SystemClock()
        self.closed = False
        self._ready: deque[tuple[ServerThread[Any], Any]] = deque()
        self._parked: dict[ServerThread[Any], None] = {}
        self._timers: set[asyncio.TimerHandle] = set()
        self._coroutines: set[asyncio.Task[Any]] = set()
        self._endings: list[Callable[[], None]] = []
        self._stepping = False

    def spawn(self, work: Work[T], name: str = "thread") -> ServerThread[T]:
        """Start a thread. It never runs if the process has ended."""
        task = ServerThread(work, name)
        if self.closed:
            work.close()
            return task
        self._ready.append((task, None))
        if not self._stepping:
            self._settle()
        return task

    def after(self, millis: int, action: Callable[[], None]) -> None:
        """Call `action` after `millis`."""
        self._at(self.loop.time() + millis / 1000, action)

    def every(self, first: int, period: int, action: Callable[[], None]) -> None:
        """Call `action` repeatedly at a fixed rate. Missed calls are skipped."""
        due = self.loop.time() + first / 1000

        def again() -> None:
            nonlocal due
            due = max(due + period / 1000, self.loop.time())
            self._at(due, again)
            action()

        self._at(due, again)

    def run_coroutine(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        """Run an asyncio coroutine concurrently, and return a future of its result or exception. It is cancelled when the process ends."""
        future: Future[T] = Future()
        task = self.loop.create_task(coroutine)
        self._coroutines.add(task)

        def ended(task: asyncio.Task[T]) -> None:
            self._coroutines.discard(task)
            problem = asyncio.CancelledError() if task.cancelled() else task.exception()
            if problem is None:
                future.complete(task.result())
            else:
                future.fail(problem)

        task.add_done_callback(ended)
        return future

    def run_blocking(self, action: Callable[[], T]) -> Future[T]:
        """Run a blocking function, such as a sync to the device, in a thread of the operating system."""
        return self.run_coroutine(asyncio.to_thread(action))

    def at_end(self, action: Callable[[], None]) -> None:
        """Call `action` when the process ends, for example to close its connections."""
        self._endings.append(action)

    async def outcome(self, future: Future[T]) -> T:
        """Wait for the future in an asyncio coroutine. Return its result or raise its exception."""
        bridge: asyncio.Future[None] = self.loop.create_future()
        future.then(lambda _: None if bridge.done() else bridge.set_result(None))
        await bridge
        return future.result()

    def close(self) -> None:
        """End the process: no thread takes another step, and nothing planned happens."""
        self.closed = True
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()
        ready = [task for task, _ in self._ready]
        self._ready.clear()
        for action in self._endings:
            action()
        for coroutine in self._coroutines:
            coroutine.cancel()
        parked, self._parked = self._parked, {}
        for task in parked:
            _forget(task)
        for task in (*ready, *parked):
            try:
                task.work.close()
            except RuntimeError as problem:  # the thread awaits something while it is closed
                log.warning("%r: %s", task, problem)

    def _at(self, when: float, action: Callable[[], None]) -> None:
        def due() -> None:
            self._timers.discard(timer)
            action()

        if not self.closed:
            timer = self.loop.call_at(when, due)
            self._timers.add(timer)

    def _settle(self) -> None:
        """Step all ready threads."""
        self._stepping = True
        ready = self._ready
        try:
            while ready:
                task, value = ready.popleft()
                effect = advance(task.work, task.done, value)
                if isinstance(effect, Wait):
                    self._park(task, effect)
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
            return  # the process has ended, or another event woke it
        self._parked.pop(task, None)
        _forget(task)
        self._ready.append((task, value))
        if not self._stepping:
            self._settle()


def _forget(task: ServerThread[Any]) -> None:
    """Cancel the thread's wait."""
    task.waiting = None
    if task.timer is not None:
        task.timer.cancel()
        task.timer = None
