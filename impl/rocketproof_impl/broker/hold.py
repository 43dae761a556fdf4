"""Held pulls: a pull that found no message waits for the next one of its queue or for its timeout (PullRequestHoldService)."""

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
    """A waiting pull; `until` is its deadline in milliseconds."""

    channel: Channel
    request: Command
    offset: int
    until: int
    subscription: SubscriptionData


class PullRequestHoldService:
    """Held pulls by topic and queue. No thread waits: a task of the executor serves a woken pull again.

    `under_way` counts the pulls that are held, or woken and not answered yet.
    """

    __slots__ = ("_again", "_clock", "_executor", "_max_offset", "held", "under_way")

    def __init__(self, clock: Clock, executor: Executor, max_offset: Callable[[str, int], int], again: Again) -> None:
        self._clock = clock
        self._executor = executor
        self._max_offset = max_offset
        self._again = again
        self.held: dict[tuple[str, int], list[tuple[HeldPull, int]]] = {}
        self.under_way = UnderWay(HELD)

    def suspend(self, topic: str, queue_id: int, pull: HeldPull) -> bool:
        """Hold a pull. Return False if it exceeds the memory budget."""
        size = self.under_way.enter(pull.channel, pull.request)
        if size is not None:
            self._add((topic, queue_id), pull, size)
        return size is not None

    def _add(self, queue: tuple[str, int], pull: HeldPull, size: int) -> None:
        self.held.setdefault(queue, []).append((pull, size))

    def check_held(self) -> None:
        """Wake pulls that missed a message or timed out. It runs every 5 seconds, so timeouts have that resolution."""
        for topic, queue_id in list(self.held):
            self.arriving(topic, queue_id, self._max_offset(topic, queue_id), None)

    def arriving(self, topic: str, queue_id: int, max_offset: int, tags_code: int | None) -> None:
        """Wake the matching pulls of a queue that has received a message and now has `max_offset` entries."""
        waiting = self.held.pop((topic, queue_id), None)
        if waiting is None:
            return
        now = self._clock.now()
        for pull, size in waiting:
            wanted = max_offset > pull.offset and pull.subscription.matches(tags_code)
            if wanted or now >= pull.until:
                self._wake(pull, size)
            else:
                self._add((topic, queue_id), pull, size)

    def channel_closed(self, channel: Channel) -> None:
        """Drop the held pulls of a lost connection."""
        for queue in list(self.held):
            for pull, size in self.held.pop(queue):
                if pull.channel is channel:
                    self.under_way.leave(channel, size)
                else:
                    self._add(queue, pull, size)

    def _wake(self, pull: HeldPull, size: int) -> None:
        """Submit a task that serves the pull again. If its connection is closing, no messages are read, because no response could be
        written."""

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
