"""What consumers ask to share the queues of a topic: the members of their group (request 38), and locks of queues (41 and 42).

Each consumer divides the sorted queues among the sorted members by itself. An orderly consumer pulls only from queues that it has locked.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from rocketproof_protocol.codes import GET_CONSUMER_LIST_BY_GROUP, LOCK_BATCH_MQ, SUCCESS, SYSTEM_ERROR, UNLOCK_BATCH_MQ
from rocketproof_protocol.fastjson import loads
from rocketproof_protocol.numbers import INT, whole_number

from ..bounds import MAX_GROUPS, MAX_QUEUES, limited, room_for
from ..java import null_pointer
from ..ports import Clock
from ..remoting.command import Command, response_to
from ..remoting.headers import GetConsumerListByGroupRequestHeader, is_null, read
from ..remoting.ports import Channel
from ..route import encode_json
from .checking import refuse
from .parts import BrokerParts

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

    def unlock(self, group: str, queues: Iterable[LockedQueue], client_id: str) -> None:
        """Free those of the queues that the client holds."""
        locks = self._groups.get(group, {})
        for queue in queues:
            if queue in locks and locks[queue].client_id == client_id:
                del locks[queue]


class RebalanceProcessor:
    """Serves each request code with one method, listed in `codes`."""

    __slots__ = ("_broker", "_locks", "codes")

    def __init__(self, broker: BrokerParts) -> None:
        self._broker = broker
        self._locks = RebalanceLockManager(broker.clock)
        self.codes: dict[int, Callable[[Command, Command], Awaitable[None]]] = {
            GET_CONSUMER_LIST_BY_GROUP: self._members,
            LOCK_BATCH_MQ: self._lock,
            UNLOCK_BATCH_MQ: self._unlock,
        }

    async def process(self, _: Channel, request: Command) -> Command:
        """Return the response. Raises JavaError."""
        response = response_to(request)
        response.code, response.remark = SUCCESS, None
        await self.codes[request.code](request, response)
        return response

    async def _members(self, request: Command, response: Command) -> None:
        """Return the client ids of a group's consumers, SYSTEM_ERROR without any. Raises JavaError."""
        header = read(GetConsumerListByGroupRequestHeader, request.ext_fields, nulls=self._broker.profile.null_fields)
        if is_null(header.consumer_group):
            raise null_pointer()
        info = self._broker.consumers.groups.get(header.consumer_group)
        if info is None or not info.channels:
            refuse(response, SYSTEM_ERROR, f"no consumer for this group, {header.consumer_group}")
            return
        response.body = encode_json({"consumerIdList": [client.client_id for client in info.channels.values()]})

    async def _lock(self, request: Command, response: Command) -> None:
        """Return the queues that the client holds after this request. Raises JavaError."""
        held = self._locks.lock(*_body(request))
        response.body = encode_json(
            {"lockOKMQSet": [{"brokerName": queue.broker_name, "queueId": queue.queue_id, "topic": queue.topic} for queue in held]}
        )

    async def _unlock(self, request: Command, _: Command) -> None:
        """Free the client's locks of these queues. Raises JavaError."""
        self._locks.unlock(*_body(request))


def _body(request: Command) -> tuple[str, list[LockedQueue], str]:
    """Return the group, the queues and the client id of a request. Raises JavaError without a body, a group or a client id."""
    data: Any = loads(request.body) if request.body else None
    if not isinstance(data, dict) or not isinstance(data.get("consumerGroup"), str) or not isinstance(data.get("clientId"), str):
        raise null_pointer()
    queues = data.get("mqSet") or ()
    limited(len(queues), MAX_QUEUES)
    return data["consumerGroup"], [_queue(queue) for queue in queues], data["clientId"]


def _queue(data: Any) -> LockedQueue:
    """Return a queue of a request's list. Raises JavaError for null, and ValueError or TypeError for an illegal number."""
    if not isinstance(data, dict):
        raise null_pointer()
    return LockedQueue(str(data.get("topic") or ""), str(data.get("brokerName") or ""), whole_number(data.get("queueId") or 0, INT))
