"""Pulls that found nothing wait for the next message of their queue, or for their time to be over (PullRequestHoldService)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from ..ports import Clock
from ..remoting.command import Command
from ..remoting.ports import Channel, Executor, Rejected, RequestTask
from ..remoting.underway import HELD, UnderWay
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
    """Pulls by topic and queue. No thread waits with them: whoever is woken is served again by a task of the executor. `under_way`: the
    pulls that are held, or woken and not answered yet."""

    __slots__ = ("_again", "_clock", "_executor", "_max_offset", "held", "under_way")

    def __init__(self, clock: Clock, executor: Executor, max_offset: Callable[[str, int], int], again: Again) -> None:
        self._clock = clock
        self._executor = executor
        self._max_offset = max_offset
        self._again = again
        self.held: dict[tuple[str, int], list[tuple[HeldPull, int]]] = {}
        self.under_way = UnderWay(HELD)

    def suspend(self, topic: str, queue_id: int, pull: HeldPull) -> bool:
        """Hold a pull; return False if there is no room for it."""
        size = self.under_way.enter(pull.channel, pull.request)
        if size is not None:
            self._keep((topic, queue_id), pull, size)
        return size is not None

    def _keep(self, place: tuple[str, int], pull: HeldPull, size: int) -> None:
        self.held.setdefault(place, []).append((pull, size))

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
        for pull, size in waiting:
            wanted = max_offset > pull.offset and pull.subscription.matches(tags_code)
            if wanted or now >= pull.until:
                self._wake(pull, size)
            else:
                self._keep((topic, queue_id), pull, size)

    def channel_closed(self, channel: Channel) -> None:
        """Nobody is there to be answered any more."""
        for place in list(self.held):
            for pull, size in self.held.pop(place):
                if pull.channel is channel:
                    self.under_way.leave(channel, size)
                else:
                    self._keep(place, pull, size)

    def _wake(self, pull: HeldPull, size: int) -> None:
        """Let a thread serve a pull again. On a connection that is closing none looks for messages: they could not be written."""

        async def again() -> None:
            try:
                if not pull.channel.closing:
                    await self._again(pull.channel, pull.request)
            finally:
                self.under_way.leave(pull.channel, size)

        try:
            self._executor.submit(RequestTask(again))
        except Rejected as error:
            self.under_way.leave(pull.channel, size)
            log.error("a pull that was held is not answered: %s", error)
