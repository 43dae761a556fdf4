"""The dispatch thread, which builds consume queues and index from the log in small steps (REC-04)."""

from __future__ import annotations

from collections.abc import Callable

from ..service import Service, sleep

ROUND, IDLE, BATCH = 1, 1000, 100
STOP_CHECKS, STOP_PAUSE = 50, 100


class ReputMessageService(Service):
    """Dispatches a millisecond after an append, and continues every millisecond while there is more.

    `dispatch` reads up to a number of records and returns how many it read; `behind` returns the number of undispatched bytes.
    """

    __slots__ = ("_behind", "_dispatch")

    def __init__(self, dispatch: Callable[[int], int], behind: Callable[[], int]) -> None:
        super().__init__("ReputMessageService")
        self._dispatch = dispatch
        self._behind = behind

    async def round(self) -> None:
        """Dispatch all records. After an error, such as a consume queue without room, it tries again in a second."""
        await self._catch_up()
        await self.wait_for_running(IDLE)

    async def _catch_up(self) -> None:
        done = BATCH
        while done == BATCH and not self.stopped:
            await sleep(ROUND)
            done = self._dispatch(BATCH)

    async def shutdown(self, millis: int = 90_000) -> None:
        """Wait up to five seconds until everything is dispatched, then stop."""
        for _ in range(STOP_CHECKS):
            if not self.started or self._behind() <= 0:
                break
            await sleep(STOP_PAUSE)
        await super().shutdown(millis)
