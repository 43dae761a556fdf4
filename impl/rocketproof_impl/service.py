"""A thread that runs rounds until it is stopped and sleeps between them (the described system's ServiceThread)."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager

from .java import JavaError
from .tasks import Future, Wait

log = logging.getLogger("rocketproof_impl.service")
log.addHandler(logging.NullHandler())

PAUSE_AFTER_FAILURE = 1000
"""Milliseconds between a failed round and the next round. `wakeup` ends the pause early."""


class Service:
    """A background thread: a driver spawns `run`. After `stop` the thread ends its round and runs `finish`; `ended` completes when it has
    ended.

    A round may raise any exception, for example because of a record from a hostile client. The service logs the error and runs the next
    round a second later.
    """

    __slots__ = ("_notified", "_wake", "ended", "name", "started", "stopped")

    def __init__(self, name: str) -> None:
        self.name = name
        self.started = False
        self.stopped = False
        self.ended: Future[None] = Future()
        self._notified = False
        self._wake: Future[None] = Future()

    async def run(self) -> None:
        """Run rounds until stopped."""
        self.started = True
        try:
            while not self.stopped:
                if not await self._succeeds(self.round()):
                    await self.failed()
            await self._succeeds(self.finish())
        finally:
            self.release()
            self.ended.complete(None)

    async def round(self) -> None:
        """Run one round, including its sleep."""
        raise NotImplementedError

    async def finish(self) -> None:
        """Run once after the last round."""

    async def failed(self) -> None:
        """Run after a round that raised an exception."""
        await self.wait_for_running(PAUSE_AFTER_FAILURE)

    def release(self) -> None:
        """Release what the thread holds. Called however the thread ends."""

    async def _succeeds(self, work: Awaitable[None]) -> bool:
        try:
            await work
        except (OSError, JavaError) as problem:
            log.warning("%s has exception: %s", self.name, problem)
            return False
        except Exception:
            log.exception("%s has an exception that no release has", self.name)
            return False
        return True

    def wakeup(self) -> None:
        """End the current sleep, or skip the next one if the thread is not sleeping."""
        if not self._notified:
            self._notified = True
            self._wake.complete(None)

    def stop(self) -> None:
        """Ask the thread to end after its current round."""
        self.stopped = True
        self.wakeup()

    async def shutdown(self, millis: int = 90_000) -> None:
        """Stop the thread and wait up to `millis` for its end. Return immediately if it was never started."""
        self.stop()
        if self.started:
            await Wait(self.ended, millis)

    async def wait_for_running(self, millis: int) -> None:
        """Sleep for `millis` or until `wakeup`. Return immediately if `wakeup` was called since the last sleep."""
        if not self._notified:
            await Wait(self._wake, millis)
        self._notified = False
        self._wake = Future()


async def sleep(millis: int) -> None:
    """Sleep for `millis`; nothing ends the sleep early."""
    await Wait(Future(), millis)


@contextmanager
def contained(what: Callable[[], str]) -> Iterator[None]:
    """Log an exception that the described system does not have, with the text of `what`, and continue.

    Bytes from other processes can raise such exceptions in this implementation. OSError and JavaError belong to the described system and
    are raised.
    """
    try:
        yield
    except (OSError, JavaError):
        raise
    except Exception:
        log.exception("%s", what())


Step = tuple[str, Callable[[], Awaitable[None] | None]]
"""A step of a shutdown: its name for the log, and a function that may return an awaitable."""


async def run_all(steps: Iterable[Step]) -> None:
    """Run every step of a shutdown in order, also after a step that fails. Log each error; raise the first one at the end."""
    first: Exception | None = None
    for name, step in steps:
        try:
            waits_for = step()
            if waits_for is not None:
                await waits_for
        except Exception as problem:  # noqa: BLE001 - the other steps must run
            log.error("shutdown: %s failed: %r", name, problem)
            first = first or problem
    if first is not None:
        raise first
