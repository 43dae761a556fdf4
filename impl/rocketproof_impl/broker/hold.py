"""Pulls that found nothing wait for the next message of their queue, or for their time to be over (PullRequestHoldService)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from ..ports import Clock
from ..remoting.command import Command
from ..remoting.ports import Channel, Executor, Rejected, RequestTask
from .log import log
from .subscription import SubscriptionData

Again = Callable[[Channel, Command], Awaitable[None]]


class HeldPull(NamedTuple):
    """A pull that waits; `until` in milliseconds."""

    channel: Channel
    request: Command
    offset: int
    until: int
    subscription: SubscriptionData


class PullRequestHoldService:
    """Pulls by topic and queue. No thread waits with them: whoever is woken is served again by a task of the executor."""

    __slots__ = ("_again", "_clock", "_executor", "_max_offset", "held")

    def __init__(self, clock: Clock, executor: Executor, max_offset: Callable[[str, int], int], again: Again) -> None:
        self._clock = clock
        self._executor = executor
        self._max_offset = max_offset
        self._again = again
        self.held: dict[tuple[str, int], list[HeldPull]] = {}

    def suspend(self, topic: str, queue_id: int, pull: HeldPull) -> None:
        self.held.setdefault((topic, queue_id), []).append(pull)

    def check_held(self) -> None:
        """Wake whoever missed a message, and whose time is over: this is looked at every 5 seconds and no oftener."""
        for topic, queue_id in list(self.held):
            self.arriving(topic, queue_id, self._max_offset(topic, queue_id), None)

    def arriving(self, topic: str, queue_id: int, max_offset: int, tags_code: int | None) -> None:
        """A message is in the queue, which has that many entries now; wake those that may want it."""
        waiting = self.held.pop((topic, queue_id), None)
        if waiting is None:
            return
        now = self._clock.now()
        for pull in waiting:
            wanted = max_offset > pull.offset and pull.subscription.matches(tags_code)
            if wanted or now >= pull.until:
                self._wake(pull)
            else:
                self.suspend(topic, queue_id, pull)

    def channel_closed(self, channel: Channel) -> None:
        """Nobody is there to be answered any more."""
        for place, waiting in list(self.held.items()):
            rest = [pull for pull in waiting if pull.channel is not channel]
            if rest:
                self.held[place] = rest
            else:
                del self.held[place]

    def _wake(self, pull: HeldPull) -> None:
        async def again() -> None:
            await self._again(pull.channel, pull.request)

        try:
            self._executor.submit(RequestTask(again))
        except Rejected as error:
            log.error("a pull that was held is not answered: %s", error)
