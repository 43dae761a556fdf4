"""Threads of the simulator: coroutines stepped one at a time, in a fixed order, on a clock that only the simulator moves.

By default a thread runs through its pauses. A `stops` predicate makes it stop at a pause until `resume`, so that a test decides which
thread takes the next step.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Generic, TypeVar

from ..tasks import Future, Pause, Wait, Work, advance

T = TypeVar("T")
START = 1_700_000_000_000  # November 2023, far above STO-03's upper bound


class SimulatedClock:
    """A clock in milliseconds. `time` is the elapsed time, which only `Scheduler` moves; `now` is what the machine's clock shows."""

    __slots__ = ("ahead", "time")

    def __init__(self, start: int = START) -> None:
        self.time = start
        self.ahead = 0

    def now(self) -> int:
        return self.time + self.ahead

    def jump(self, millis: int) -> None:
        """Set the machine's clock forward or back. No time passes, and waiting threads keep waiting."""
        self.ahead += millis


class SimulatedThread(Generic[T]):
    """A thread: its position (`at` a pause, or `waiting`), and its result when it has ended."""

    __slots__ = ("at", "deadline", "done", "killed", "name", "waiting", "work")

    def __init__(self, work: Work[T], name: str) -> None:
        self.work = work
        self.name = name
        self.at: Pause | None = None
        self.waiting: Wait | None = None
        self.done: Future[T] = Future()
        self.deadline: int | None = None
        self.killed = False

    def result(self) -> T:
        """Return the thread's result, or raise its exception. Raises RuntimeError if it has not ended."""
        if not self.done.done:
            raise RuntimeError(f"{self!r} has not ended")
        return self.done.result()

    def __repr__(self) -> str:
        place = "ended" if self.done.done else f"at {self.at.name}" if self.at else "waiting" if self.waiting else "ready"
        return f"<thread {self.name}, {place}>"


class Scheduler:
    """Runs threads in the order in which they became ready. Time moves only when no thread is ready."""

    def __init__(self, clock: SimulatedClock | None = None) -> None:
        self.clock = clock or SimulatedClock()
        self.stops: Callable[[SimulatedThread[Any], Pause], bool] | None = None
        self._ready: deque[tuple[SimulatedThread[Any], Wait | None, Any]] = deque()
        self._timed: dict[SimulatedThread[Any], None] = {}
        self._timers: list[tuple[int, int, Callable[[], None]]] = []
        self._count = 0

    def spawn(self, work: Work[T], name: str = "thread") -> SimulatedThread[T]:
        """Start a thread, ready to run."""
        task = SimulatedThread(work, name)
        self._ready.append((task, None, None))
        return task

    def after(self, millis: int, action: Callable[[], None]) -> None:
        """Call `action` after `millis` of simulated time."""
        self._count += 1
        heapq.heappush(self._timers, (self.clock.time + millis, self._count, action))

    def every(self, first: int, period: int, action: Callable[[], None]) -> None:
        """Call `action` after `first` milliseconds and then every `period` milliseconds."""

        def again() -> None:
            self.after(period, again)
            action()

        self.after(first, again)

    def resume(self, task: SimulatedThread[Any]) -> None:
        """Let a thread that stopped at a pause take its next step, and run what is ready."""
        if task.at is None:
            raise RuntimeError(f"{task!r} does not stand at a pause")
        task.at = None
        self._advance(task, None)
        self.settle()

    def time_out(self, task: SimulatedThread[Any]) -> None:
        """End a thread's wait as if its time were over, without moving the clock."""
        self._wake(task, task.waiting, False)
        self.settle()

    def interrupt(self, task: SimulatedThread[Any], error: BaseException) -> None:
        """Raise an exception in a thread that waits or pauses."""
        task.at = task.waiting = task.deadline = None
        self._timed.pop(task, None)
        self._advance(task, None, error)
        self.settle()

    def kill(self, tasks: Iterable[SimulatedThread[Any]]) -> None:
        """End threads where they are, like the kill of their process. None of them takes another step."""
        doomed = list(tasks)
        for task in doomed:
            task.killed = True
            task.at = task.waiting = None
            self._timed.pop(task, None)
        for task in doomed:
            task.work.close()

    def settle(self) -> None:
        """Run all ready threads without moving time."""
        ready = self._ready
        while ready:
            task, wait, value = ready.popleft()
            if task.waiting is not wait:
                continue  # another event woke it
            task.waiting = None
            self._advance(task, value)

    def run(self, done: Future[T]) -> T:
        """Run, letting time pass as needed, until the future is done. Raises RuntimeError if nothing can complete it."""
        while True:
            self.settle()
            if done.done:
                return done.result()
            when = self._next()
            if when is None:
                raise RuntimeError("every thread waits for something that nobody will do")
            self._move(when)

    def complete(self, work: Work[T], name: str = "thread") -> T:
        """Run a thread to its end and return its result."""
        return self.run(self.spawn(work, name).done)

    def advance(self, millis: int) -> None:
        """Let `millis` pass. Everything due in that time happens at its time."""
        end = self.clock.time + millis
        self.settle()
        while (when := self._next()) is not None and when <= end:
            self._move(when)
            self.settle()
        self.clock.time = max(self.clock.time, end)  # a slow disk may have let more time pass

    def _next(self) -> int | None:
        times = [task.deadline for task in self._timed if task.deadline is not None]
        if self._timers:
            times.append(self._timers[0][0])
        return min(times, default=None)

    def _move(self, when: int) -> None:
        self.clock.time = max(self.clock.time, when)
        for task in sorted((t for t in self._timed if t.deadline is not None and t.deadline <= when), key=_due):
            self._wake(task, task.waiting, False)
        while self._timers and self._timers[0][0] <= when:
            heapq.heappop(self._timers)[2]()

    def _wake(self, task: SimulatedThread[Any], wait: Wait | None, value: bool) -> None:
        if wait is not None and task.waiting is wait:
            self._timed.pop(task, None)
            task.deadline = None
            self._ready.append((task, wait, value))

    def _advance(self, task: SimulatedThread[Any], value: Any, error: BaseException | None = None) -> None:
        """Run a thread up to its next stop."""
        if task.killed:
            return
        effect = advance(task.work, task.done, value, error, None if self.stops is None else partial(self.stops, task))
        if isinstance(effect, Pause):
            task.at = effect
        elif effect is not None:
            self._park(task, effect)

    def _park(self, task: SimulatedThread[Any], wait: Wait) -> None:
        task.waiting = wait
        if wait.millis is not None:
            task.deadline = self.clock.time + max(0, wait.millis)
            self._timed[task] = None
        wait.future.then(lambda _: self._wake(task, wait, True))


def _due(task: SimulatedThread[Any]) -> int:
    return task.deadline or 0
