"""What consumers ask to share the queues of a topic: the members of their group (request 38), and locks of queues (41 and 42).

Each consumer divides the sorted queues among the sorted members by itself. An orderly consumer pulls only from queues that it has locked.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from rocketproof_protocol.codes import GET_CONSUMER_LIST_BY_GROUP, LOCK_BATCH_MQ, SUCCESS, SYSTEM_ERROR, UNLOCK_BATCH_MQ
from rocketproof_protocol.fastjson import loads
from rocketproof_protocol.numbers import INT, whole_number

from ..bounds import MAX_QUEUES, limited
from ..java import null_pointer
from ..remoting.command import Command, response_to
from ..remoting.headers import GetConsumerListByGroupRequestHeader, is_null, read
from ..remoting.ports import Channel
from ..route import encode_json
from .checking import refuse
from .locks import LockedQueue
from .parts import BrokerParts


class RebalanceProcessor:
    """Serves each request code with one method, listed in `codes`."""

    __slots__ = ("_broker", "codes")

    def __init__(self, broker: BrokerParts) -> None:
        self._broker = broker
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
        held = self._broker.locks.lock(*_body(request))
        response.body = encode_json(
            {"lockOKMQSet": [{"brokerName": queue.broker_name, "queueId": queue.queue_id, "topic": queue.topic} for queue in held]}
        )

    async def _unlock(self, request: Command, _: Command) -> None:
        """Free the client's locks of these queues. Raises JavaError."""
        self._broker.locks.unlock(*_body(request))


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
