"""A thread that works in rounds until it is stopped, and sleeps between them (the described system's ServiceThread)."""

from __future__ import annotations

from .tasks import Future, Wait


class Service:
    """`run` is the thread; a driver spawns it. `stop` lets it end, after what `work` does last; `ended` tells when it has."""

    __slots__ = ("_notified", "_wake", "ended", "name", "started", "stopped")

    def __init__(self, name: str) -> None:
        self.name = name
        self.started = False
        self.stopped = False
        self.ended: Future[None] = Future()
        self._notified = False
        self._wake: Future[None] = Future()

    async def run(self) -> None:
        """Work until stopped."""
        self.started = True
        try:
            await self.work()
        finally:
            self.ended.complete(None)

    async def work(self) -> None:
        """The rounds, and what comes after the last one."""
        raise NotImplementedError

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
