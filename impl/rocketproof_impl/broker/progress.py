"""How far a group is in a queue, asked and told by its consumers (requests 14 and 15, ConsumerManageProcessor)."""

from __future__ import annotations

from rocketproof_protocol.codes import QUERY_CONSUMER_OFFSET, QUERY_NOT_FOUND, SUCCESS, UPDATE_CONSUMER_OFFSET

from ..remoting.command import Command, response_to
from ..remoting.headers import QueryConsumerOffsetRequestHeader, UpdateConsumerOffsetRequestHeader, read
from ..remoting.ports import Channel
from .checking import refuse
from .parts import BrokerParts


class ConsumerManageProcessor:
    """Both answer SUCCESS, unless nobody can say where a group begins."""

    __slots__ = ("_broker", "codes")

    def __init__(self, broker: BrokerParts) -> None:
        self._broker = broker
        self.codes = (QUERY_CONSUMER_OFFSET, UPDATE_CONSUMER_OFFSET)

    async def process(self, _: Channel, request: Command) -> Command:
        response = response_to(request)
        response.code, response.remark = SUCCESS, None
        if request.code == UPDATE_CONSUMER_OFFSET:
            self._update(request)
        else:
            self._query(request, response)
        return response

    def _update(self, request: Command) -> None:
        """Whatever the group says is its offset from now on: one that is smaller, and one beyond the queue's end, too."""
        header = read(UpdateConsumerOffsetRequestHeader, request.ext_fields, nulls=self._broker.profile.null_fields)
        self._broker.offsets.commit(header.consumer_group, header.topic, header.queue_id, header.commit_offset)

    def _query(self, request: Command, response: Command) -> None:
        """A group that has told nothing begins at 0, as long as the queue has its first message; that this lies in memory is taken for
        granted."""
        header = read(QueryConsumerOffsetRequestHeader, request.ext_fields, nulls=self._broker.profile.null_fields)
        offset = self._broker.offsets.query(header.consumer_group, header.topic, header.queue_id)
        if offset is None or offset < 0:
            if self._broker.store.min_offset(header.topic, header.queue_id) > 0:
                refuse(response, QUERY_NOT_FOUND, "Not found, V3_0_6_SNAPSHOT maybe this group consumer boot first")
                return
            offset = 0
        response.ext_fields = {"offset": str(offset)}
