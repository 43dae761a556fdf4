"""The thread that builds what is derived from the log, some records at a time (REC-04)."""

from __future__ import annotations

from collections.abc import Callable

from ..service import Service, sleep

ROUND, IDLE, BATCH = 1, 1000, 100
STOP_LOOKS, STOP_PAUSE = 50, 100


class ReputMessageService(Service):
    """Dispatches a millisecond after an append, and goes on from millisecond to millisecond while there is more.

    `dispatch` reads at most so many records and returns how many it read; `behind` is how many bytes it has not read.
    """

    __slots__ = ("_behind", "_dispatch")

    def __init__(self, dispatch: Callable[[int], int], behind: Callable[[], int]) -> None:
        super().__init__("ReputMessageService")
        self._dispatch = dispatch
        self._behind = behind

    async def round(self) -> None:
        """Dispatch what there is. An error, such as a consume queue without room, is tried again in a second."""
        await self._catch_up()
        await self.wait_for_running(IDLE)

    async def _catch_up(self) -> None:
        done = BATCH
        while done == BATCH and not self.stopped:
            await sleep(ROUND)
            done = self._dispatch(BATCH)

    async def shutdown(self, millis: int = 90_000) -> None:
        """Wait up to five seconds until everything is dispatched, then stop."""
        for _ in range(STOP_LOOKS):
            if not self.started or self._behind() <= 0:
                break
            await sleep(STOP_PAUSE)
        await super().shutdown(millis)
