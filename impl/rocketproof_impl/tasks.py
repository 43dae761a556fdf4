"""What a thread of the described system can wait for, without threads.

Code that may wait is an `async def`; what it awaits is a Pause (another thread may be seen here) or a Wait (something has
to happen first, or time to pass). A driver steps these coroutines: the simulator one at a time and in any order, a server
as they come. Nothing here knows a clock or a loop.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Coroutine, Generator
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Pause:
    """A named place between two steps of a thread. Drivers may run others here, or go on at once.

    `carries` is for who looks on: what the thread has made and no table shows yet.
    """

    __slots__ = ("carries", "name")

    def __init__(self, name: str, carries: object = None) -> None:
        self.name = name
        self.carries = carries

    def carrying(self, value: object) -> Pause:
        """This place, with what the thread has in hand."""
        return Pause(self.name, value)

    def __await__(self) -> Generator[Pause, Any, None]:
        return iter((self,))  # type: ignore[return-value] # quicker than a generator, which would do no more here

    def __repr__(self) -> str:
        return f"Pause({self.name})"


class Future(Generic[T]):
    """A value that comes later, set once: a result or an exception."""

    __slots__ = ("_callbacks", "_error", "_value", "done")

    _value: T

    def __init__(self) -> None:
        self.done = False
        self._error: BaseException | None = None
        self._callbacks: tuple[Callable[[Future[T]], None], ...] = ()

    def complete(self, value: T) -> bool:
        """Set the value; False if there is one already."""
        if self.done:
            return False
        self._value = value
        self._finish()
        return True

    def fail(self, error: BaseException) -> bool:
        """Set an exception; False if it is finished already."""
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
        """Call back when it is finished; at once if it is."""
        if self.done:
            callback(self)
        else:
            self._callbacks += (callback,)

    def result(self) -> T:
        """The value; raises the exception that was set."""
        if self._error is not None:
            raise self._error
        return self._value


class Wait:
    """Wait for a future, at most `millis` (None: for ever). Awaiting it gives whether the future finished in time."""

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
    """Run a thread up to its next stop, and give that: a wait, or a pause at which it `stops`; None when `done` has its end.

    `value` or `error` is what it finds where it stands.
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
    except Exception as problem:  # noqa: BLE001 - whoever waits for the thread gets it
        done.fail(problem)
    return None


class TaskInterrupted(Exception):
    """The waiting thread was interrupted. A driver throws it into a coroutine."""


class Lock:
    """A lock that one thread holds, with a time limit on waiting for it. First come, first served: `waiting` is the row."""

    __slots__ = ("held", "waiting")

    def __init__(self) -> None:
        self.held = False
        self.waiting: deque[Future[None]] = deque()

    async def acquire(self, millis: int | None = None) -> bool:
        """Whether the lock was got within the time; the caller then has to release it. Raises Interrupted."""
        if not self.held:
            self.held = True
            return True
        turn: Future[None] = Future()
        self.waiting.append(turn)
        try:
            got = await Wait(turn, millis)
        except BaseException:
            self._leave(turn)
            raise
        if not got:
            self._leave(turn)
        return got

    def _leave(self, turn: Future[None]) -> None:
        if turn.done:
            self.release()
        else:
            self.waiting.remove(turn)

    def release(self) -> None:
        """Give the lock to the thread that waits longest, if any."""
        if self.waiting:
            self.waiting.popleft().complete(None)
        else:
            self.held = False
