"""Queries and commits of a group's offset in a queue (requests 14 and 15, ConsumerManageProcessor)."""

from __future__ import annotations

from rocketproof_protocol.codes import (
    QUERY_CONSUMER_OFFSET,
    QUERY_NOT_FOUND,
    SUBSCRIPTION_GROUP_NOT_EXIST,
    SUCCESS,
    TOPIC_NOT_EXIST,
    UPDATE_CONSUMER_OFFSET,
)

from ..java import null_pointer
from ..remoting.command import Command, response_to
from ..remoting.headers import QueryConsumerOffsetRequestHeader, UpdateConsumerOffsetRequestHeader, is_null, read
from ..remoting.ports import Channel
from .checking import refuse
from .parts import BrokerParts


class ConsumerManageProcessor:
    """Answers SUCCESS, except for a query without a known start offset, and in later releases for a commit to an unknown queue."""

    __slots__ = ("_broker", "codes")

    def __init__(self, broker: BrokerParts) -> None:
        self._broker = broker
        self.codes = (QUERY_CONSUMER_OFFSET, UPDATE_CONSUMER_OFFSET)

    async def process(self, _: Channel, request: Command) -> Command:
        response = response_to(request)
        response.code, response.remark = SUCCESS, None
        if request.code == UPDATE_CONSUMER_OFFSET:
            self._update(request, response)
        else:
            self._query(request, response)
        return response

    def _update(self, request: Command, response: Command) -> None:
        """Store the group's offset, even if it is smaller or beyond the queue's end. Raises JavaError."""
        header = read(UpdateConsumerOffsetRequestHeader, request.ext_fields, nulls=self._broker.profile.null_fields)
        refusal = self._unknown(header) if self._broker.profile.checks_commits else None
        if refusal is not None:
            refuse(response, *refusal)
            response.ext_fields = {}
            return
        self._broker.offsets.commit(header.consumer_group, header.topic, header.queue_id, header.commit_offset)

    def _unknown(self, header: UpdateConsumerOffsetRequestHeader) -> tuple[int, str] | None:
        """Return code and remark for a missing group, topic, queue id or offset. Raises JavaError if the topic is null."""
        broker = self._broker
        if is_null(header.topic):
            raise null_pointer()
        group = "null" if is_null(header.consumer_group) else header.consumer_group
        if broker.profile.checks_committers and group not in broker.groups.table:
            return SUBSCRIPTION_GROUP_NOT_EXIST, f"Group {group} not exist!"
        if broker.topics.select(header.topic) is None:
            return TOPIC_NOT_EXIST, f"Topic {header.topic} not exist!"
        for field, name in (("queue_id", "QueueId"), ("commit_offset", "Offset")):
            if header.lacks(field):
                if not broker.profile.names_null_commits:
                    raise null_pointer()
                return broker.profile.illegal_code, f"{name} is null, topic is {header.topic}"
        return None

    def _query(self, request: Command, response: Command) -> None:
        """Return the group's offset. Without one, it is 0 as long as the queue has its first message.

        The described system also checks that this message is in memory; here that is assumed.
        """
        header = read(QueryConsumerOffsetRequestHeader, request.ext_fields, nulls=self._broker.profile.null_fields)
        offset = self._broker.offsets.query(header.consumer_group, header.topic, header.queue_id)
        if offset is None or offset < 0:
            store, profile = self._broker.store, self._broker.profile
            if profile.heeds_set_zero and not header.set_zero_if_not_found:
                self._not_found(response, "Not found, do not set to zero, maybe this group boot first")
                return
            if is_null(header.topic):
                raise null_pointer()
            known = profile.begins_anywhere or store.queues.find(header.topic, header.queue_id) is not None
            if not known or store.min_offset(header.topic, header.queue_id) > 0:
                self._not_found(response, "Not found, V3_0_6_SNAPSHOT maybe this group consumer boot first")
                return
            offset = 0
        response.ext_fields = {"offset": str(offset)}

    @staticmethod
    def _not_found(response: Command, remark: str) -> None:
        refuse(response, QUERY_NOT_FOUND, remark)
