"""Locks of queues, by which only one consumer of a group pulls from a queue (requests 41 and 42).

Consumers that process messages in order renew their locks every 20 s. A message that is sent to a retry topic depends on them (DLQ-07).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

from ..bounds import MAX_GROUPS, MAX_QUEUES, room_for
from ..ports import Clock

LOCKED_MILLIS: Final = 60_000
"""A lock that its consumer has not renewed for longer is free."""


class LockedQueue(NamedTuple):
    """A queue as the client names it."""

    topic: str
    broker_name: str
    queue_id: int


@dataclass(slots=True)
class QueueLock:
    """The client that holds a lock, and the time of its last request for it (milliseconds)."""

    client_id: str
    renewed: int


class RebalanceLockManager:
    """Locks of queues by group, in memory only: after a restart all queues are free."""

    __slots__ = ("_clock", "_groups")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._groups: dict[str, dict[LockedQueue, QueueLock]] = {}

    def lock(self, group: str, queues: Iterable[LockedQueue], client_id: str) -> list[LockedQueue]:
        """Lock or renew each queue that no other client holds. Return the queues that the client holds now.

        Raises JavaError for more than MAX_GROUPS groups or MAX_QUEUES locks of a group.
        """
        room_for(group, self._groups, MAX_GROUPS)
        locks, now = self._groups.setdefault(group, {}), self._clock.now()
        held = []
        for queue in queues:
            known = locks.get(queue)
            if known is not None and known.client_id != client_id and now - known.renewed <= LOCKED_MILLIS:
                continue
            room_for(queue, locks, MAX_QUEUES)
            locks[queue] = QueueLock(client_id, now)
            held.append(queue)
        return held

    def holds_any(self, group: str) -> bool:
        """Return whether any client holds a lock of the group."""
        now = self._clock.now()
        return any(now - lock.renewed <= LOCKED_MILLIS for lock in self._groups.get(group, {}).values())

    def unlock(self, group: str, queues: Iterable[LockedQueue], client_id: str) -> None:
        """Free those of the queues that the client holds."""
        locks = self._groups.get(group, {})
        for queue in queues:
            if queue in locks and locks[queue].client_id == client_id:
                del locks[queue]
