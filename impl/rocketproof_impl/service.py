"""A thread that works in rounds until it is stopped, and sleeps between them (the described system's ServiceThread)."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager

from .java import JavaError
from .tasks import Future, Wait

log = logging.getLogger("rocketproof_impl.service")
log.addHandler(logging.NullHandler())

PAUSE_AFTER_FAILURE = 1000
"""Milliseconds between a round that failed and the next one, unless `wakeup` ends the pause."""


class Service:
    """`run` is the thread; a driver spawns it. `stop` lets it end after its round, then `finish` runs; `ended` tells when it has ended.

    A service outlives whatever its rounds raise, such as an error that a record from a hostile client causes: the error is logged, and
    the next round follows a second later.
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
        """Do rounds until stopped."""
        self.started = True
        try:
            while not self.stopped:
                if not await self._survives(self.round()):
                    await self.failed()
            await self._survives(self.finish())
        finally:
            self.release()
            self.ended.complete(None)

    async def round(self) -> None:
        """Do one round, with its sleep."""
        raise NotImplementedError

    async def finish(self) -> None:
        """Do what comes after the last round."""

    async def failed(self) -> None:
        """Do what follows a round that raised an error."""
        await self.wait_for_running(PAUSE_AFTER_FAILURE)

    def release(self) -> None:
        """Give back what the thread holds, however it ends."""

    async def _survives(self, work: Awaitable[None]) -> bool:
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
        """End the sleep, or the next one if the thread does not sleep."""
        if not self._notified:
            self._notified = True
            self._wake.complete(None)

    def stop(self) -> None:
        """Ask the thread to end after what it does now."""
        self.stopped = True
        self.wakeup()

    async def shutdown(self, millis: int = 90_000) -> None:
        """Stop the thread, and wait so long for its end; at once if it was never started."""
        self.stop()
        if self.started:
            await Wait(self.ended, millis)

    async def wait_for_running(self, millis: int) -> None:
        """Sleep so long, or until somebody calls `wakeup`; at once if somebody has since the last sleep."""
        if not self._notified:
            await Wait(self._wake, millis)
        self._notified = False
        self._wake = Future()


async def sleep(millis: int) -> None:
    """Sleep so long, whatever happens."""
    await Wait(Future(), millis)


@contextmanager
def contained(what: Callable[[], str]) -> Iterator[None]:
    """Log an exception that the described system does not have, with `what` it concerns, and go on.

    Foreign bytes may raise such an exception in this implementation. OSError and JavaError are the described system's own and pass.
    """
    try:
        yield
    except (OSError, JavaError):
        raise
    except Exception:
        log.exception("%s", what())


Step = tuple[str, Callable[[], Awaitable[None] | None]]
"""A step of a shutdown: its name for the log, and a function that may return something to await."""


async def run_all(steps: Iterable[Step]) -> None:
    """Run every step of a shutdown in order, also after one that fails. Log each error, and raise the first at the end."""
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
