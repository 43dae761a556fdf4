"""Threads of the described system as coroutines, and the two effects that they await.

Code that may wait is an `async def`. It awaits a Pause, where other threads may run, or a Wait for an event or a time. A driver steps these
coroutines: the simulator one at a time in any order, a server as their events occur. This module uses no clock and no event loop.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Coroutine, Generator
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Pause:
    """A named point between two steps of a thread. Drivers may run other threads here, or continue at once.

    `carries` is for observers: a value that the thread has made and that no table contains yet.
    """

    __slots__ = ("carries", "name")

    def __init__(self, name: str, carries: object = None) -> None:
        self.name = name
        self.carries = carries

    def carrying(self, value: object) -> Pause:
        """Return this pause with a value for observers."""
        return Pause(self.name, value)

    def __await__(self) -> Generator[Pause, Any, None]:
        return iter((self,))  # type: ignore[return-value] # faster than a generator, with the same effect

    def __repr__(self) -> str:
        return f"Pause({self.name})"


class Future(Generic[T]):
    """A value that is set once, later: a result or an exception."""

    __slots__ = ("_callbacks", "_error", "_value", "done")

    _value: T

    def __init__(self) -> None:
        self.done = False
        self._error: BaseException | None = None
        self._callbacks: tuple[Callable[[Future[T]], None], ...] = ()

    def complete(self, value: T) -> bool:
        """Set the value. Return False if the future is done already."""
        if self.done:
            return False
        self._value = value
        self._finish()
        return True

    def fail(self, error: BaseException) -> bool:
        """Set an exception. Return False if the future is done already."""
        if self.done:
            return False
        self._error = error
        self._finish()
        return True

    def _finish(self) -> None:
        self.done = True
        for callback in self._callbacks:
            callback(self)
        self._callbacks = ()

    def then(self, callback: Callable[[Future[T]], None]) -> None:
        """Call `callback` when the future is done, immediately if it is."""
        if self.done:
            callback(self)
        else:
            self._callbacks += (callback,)

    def result(self) -> T:
        """Return the value, or raise the exception that was set."""
        if self._error is not None:
            raise self._error
        return self._value


class Wait:
    """Wait for a future, at most `millis` (None: no limit). Awaiting it returns whether the future was done in time."""

    __slots__ = ("future", "millis")

    def __init__(self, future: Future[Any], millis: int | None = None) -> None:
        self.future = future
        self.millis = millis

    def __await__(self) -> Generator[Wait, bool, bool]:
        if self.future.done:
            return True
        return (yield self)


Effect = Pause | Wait
Work = Coroutine[Effect, Any, T]


def advance(
    work: Work[T],
    done: Future[T],
    value: object = None,
    error: BaseException | None = None,
    stops: Callable[[Pause], bool] | None = None,
) -> Effect | None:
    """Run a thread up to its next stop and return it: a wait, or a pause for which `stops` is true. Return None when the thread has ended.

    The thread resumes with `value` or with the exception `error`. Its result or exception is set in `done`.
    """
    try:
        effect: Effect = work.send(value) if error is None else work.throw(error)
        while True:
            if isinstance(effect, Pause):
                if stops is not None and stops(effect):
                    return effect
                effect = work.send(None)
            elif effect.future.done:
                effect = work.send(True)
            else:
                return effect
    except StopIteration as end:
        done.complete(end.value)
    except Exception as problem:  # noqa: BLE001 - raised in the code that awaits `done`
        done.fail(problem)
    return None


class TaskInterrupted(Exception):
    """The waiting thread was interrupted. A driver raises it inside a coroutine."""


class Lock:
    """A lock with a time limit on acquiring it. Threads in `waiting` get it in the order of their requests."""

    __slots__ = ("held", "waiting")

    def __init__(self) -> None:
        self.held = False
        self.waiting: deque[Future[None]] = deque()

    async def acquire(self, millis: int | None = None) -> bool:
        """Return whether the lock was acquired in time; the caller then has to release it. Raises TaskInterrupted."""
        if not self.held:
            self.held = True
            return True
        turn: Future[None] = Future()
        self.waiting.append(turn)
        try:
            acquired = await Wait(turn, millis)
        except BaseException:
            self._leave(turn)
            raise
        if not acquired:
            self._leave(turn)
        return acquired

    def _leave(self, turn: Future[None]) -> None:
        if turn.done:
            self.release()
        else:
            self.waiting.remove(turn)

    def release(self) -> None:
        """Release the lock, or pass it to the thread that has waited longest."""
        if self.waiting:
            self.waiting.popleft().complete(None)
        else:
            self.held = False
