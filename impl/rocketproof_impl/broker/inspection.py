"""Read-only requests: topics, groups and settings, first and last offsets of a queue, a record, records by key (requests 12, 21, 26, 29
to 33, 43, 45, 201, 202)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from rocketproof_protocol.codes import (
    GET_ALL_CONSUMER_OFFSET,
    GET_ALL_DELAY_OFFSET,
    GET_ALL_SUBSCRIPTIONGROUP_CONFIG,
    GET_ALL_TOPIC_CONFIG,
    GET_BROKER_CONFIG,
    GET_EARLIEST_MSG_STORETIME,
    GET_MAX_OFFSET,
    GET_MIN_OFFSET,
    GET_TOPIC_STATS_INFO,
    QUERY_MESSAGE,
    QUERY_NOT_FOUND,
    SEARCH_OFFSET_BY_TIMESTAMP,
    SUCCESS,
    SYSTEM_ERROR,
    TOPIC_NOT_EXIST,
    VIEW_MESSAGE_BY_ID,
)
from rocketproof_protocol.fastjson import dumps, map_text

from ..bounds import queue_ids
from ..java import utf8
from ..remoting.command import Command, response_to
from ..remoting.headers import (
    QueryMessageRequestHeader,
    QueueRequestHeader,
    SearchOffsetRequestHeader,
    TopicRequestHeader,
    ViewMessageRequestHeader,
    is_null,
    read,
)
from ..remoting.ports import Channel
from ..route import encode_json
from ..topic import table_to_data, version_to_data
from .checking import refuse
from .parts import BrokerParts
from .settingstext import FIELDS, settings_text

ASKS_UNIQUE = "_UNIQUE_KEY_QUERY"
"""The field of a query by unique message key. The broker then limits the number of results to MOST_UNIQUE."""
MOST_UNIQUE = 32
UPPER = "UPPER"
"""The upper bound in a search by time. Any other or absent value means the lower bound."""


class InspectionProcessor:
    """Serves each request code with one method, listed in `codes`. The response is SUCCESS unless the request is rejected."""

    __slots__ = ("_broker", "codes")

    def __init__(self, broker: BrokerParts) -> None:
        self._broker = broker
        self.codes: dict[int, Callable[[Command, Command], Awaitable[None]]] = {
            GET_ALL_TOPIC_CONFIG: self._get_all_topic_config,
            GET_ALL_CONSUMER_OFFSET: self._get_all_offsets,
            GET_ALL_DELAY_OFFSET: self._get_all_delays,
            GET_ALL_SUBSCRIPTIONGROUP_CONFIG: self._get_all_groups,
            GET_BROKER_CONFIG: self._get_broker_config,
            GET_MAX_OFFSET: self._get_max_offset,
            GET_MIN_OFFSET: self._get_min_offset,
            SEARCH_OFFSET_BY_TIMESTAMP: self._search_offset,
            GET_EARLIEST_MSG_STORETIME: self._get_earliest_msg_storetime,
            QUERY_MESSAGE: self._query_message,
            VIEW_MESSAGE_BY_ID: self._view_message_by_id,
            GET_TOPIC_STATS_INFO: self._get_topic_stats,
        }

    async def process(self, _: Channel, request: Command) -> Command:
        response = response_to(request)
        response.code, response.remark = SUCCESS, None
        await self.codes[request.code](request, response)
        return response

    async def _get_all_topic_config(self, _: Command, response: Command) -> None:
        """Return the whole table with its version, as a registration contains it."""
        topics = self._broker.topics
        response.body = encode_json(table_to_data(topics.table, topics.data_version))
        self._tell_total("totalTopicNum", len(topics.table), response)

    async def _get_all_offsets(self, _: Command, response: Command) -> None:
        """Return the offsets of all groups, for a slave."""
        response.body = utf8(self._broker.offsets.text())

    async def _get_all_delays(self, _: Command, response: Command) -> None:
        """Return how far delayed messages are delivered, for a slave."""
        response.body = utf8(self._broker.store.schedule.text())

    async def _get_all_groups(self, _: Command, response: Command) -> None:
        """Return the whole table of consumer groups with its version."""
        response.body = encode_json(self._broker.groups.data())
        self._tell_total("totalGroupNum", len(self._broker.groups.table), response)

    def _tell_total(self, name: str, total: int, response: Command) -> None:
        """State the size of the whole table in profiles whose brokers can also return a part of it."""
        if self._broker.profile.tells_totals:
            response.ext_fields = {name: str(total)}

    async def _get_broker_config(self, _: Command, response: Command) -> None:
        """Return lines of `name=value`, and the version of the settings changed at run time."""
        response.ext_fields = {"version": dumps(version_to_data(self._broker.settings_version))}
        response.body = utf8(settings_text(self._broker.settings, FIELDS))

    async def _get_max_offset(self, request: Command, response: Command) -> None:
        """Return the offset after a queue's last dispatched message, 0 for an unknown queue."""
        header = read(QueueRequestHeader, request.ext_fields, nulls=self._broker.profile.null_fields)
        response.ext_fields = {"offset": str(self._broker.store.max_offset(header.topic, header.queue_id))}

    async def _get_min_offset(self, request: Command, response: Command) -> None:
        """Return the offset of a queue's first remaining message, 0 for an unknown queue."""
        header = read(QueueRequestHeader, request.ext_fields, nulls=self._broker.profile.null_fields)
        response.remark = self._broker.profile.min_offset_remark
        response.ext_fields = {"offset": str(self._broker.store.min_offset(header.topic, header.queue_id))}

    async def _search_offset(self, request: Command, response: Command) -> None:
        """Return the offset of a queue's dispatched message stored at a time, 0 for an unknown or empty queue."""
        header = read(SearchOffsetRequestHeader, request.ext_fields, nulls=self._broker.profile.null_fields)
        upper = (header.boundary_type or "").upper() == UPPER
        offset = self._broker.store.offset_at(header.topic, header.queue_id, header.timestamp, upper=upper)
        response.ext_fields = {"offset": str(offset)}

    async def _get_earliest_msg_storetime(self, request: Command, response: Command) -> None:
        """Return the store time (ms) of a queue's first remaining message, -1 for an unknown or empty queue."""
        header = read(QueueRequestHeader, request.ext_fields, nulls=self._broker.profile.null_fields)
        store = self._broker.store
        first = store.get_message(header.topic, header.queue_id, store.min_offset(header.topic, header.queue_id))
        response.ext_fields = {"timestamp": str(-1 if first is None else first.store_timestamp)}

    async def _view_message_by_id(self, request: Command, response: Command) -> None:
        """Return the stored bytes at an offset of the log. They may be a blank, if an acknowledged message was lost (HAZ-22)."""
        header = read(ViewMessageRequestHeader, request.ext_fields, nulls=self._broker.profile.null_fields)
        stored = self._broker.store.select_one_message_by_offset(header.offset)
        if stored is None:
            refuse(response, SYSTEM_ERROR, f"can not find message by the offset, {header.offset}")
            return
        response.body = stored

    async def _query_message(self, request: Command, response: Command) -> None:
        """Return the newest records of a key in the index, in log order, and the position up to which the log is indexed."""
        header = read(QueryMessageRequestHeader, request.ext_fields, nulls=self._broker.profile.null_fields)
        topic, key = ("null" if is_null(name) else name for name in (header.topic, header.key))
        most = MOST_UNIQUE if (request.ext_fields or {}).get(ASKS_UNIQUE) == "true" else header.max_num
        result = self._broker.store.query_message(topic, key, most, header.begin_timestamp, header.end_timestamp)
        response.ext_fields = {"indexLastUpdateTimestamp": str(result.timestamp), "indexLastUpdatePhyoffset": str(result.physical_offset)}
        if not result.records:
            refuse(response, QUERY_NOT_FOUND, "can not find message, maybe time range not correct")
            return
        response.body = b"".join(result.records)

    async def _get_topic_stats(self, request: Command, response: Command) -> None:
        """Return first and last offset of each writable queue, and the store time (ms) of its last message.

        Raises JavaError for more queues than MAX_QUEUES: an administrator can give a topic any number.
        """
        topic = read(TopicRequestHeader, request.ext_fields, nulls=self._broker.profile.null_fields).topic
        config = self._broker.topics.select(topic)
        if config is None:
            refuse(response, TOPIC_NOT_EXIST, f"topic[{topic}] not exist")
            return
        queues = [(self._queue(topic, queue_id), self._offsets(topic, queue_id)) for queue_id in queue_ids(config.write_queue_nums)]
        response.body = f'{{"offsetTable":{map_text(queues)}}}'.encode()

    def _queue(self, topic: str, queue_id: int) -> dict[str, Any]:
        return {"brokerName": self._broker.settings.broker_name, "queueId": queue_id, "topic": topic}

    def _offsets(self, topic: str, queue_id: int) -> dict[str, int]:
        store = self._broker.store
        end = store.max_offset(topic, queue_id)
        last = store.get_message(topic, queue_id, end - 1) if end > 0 else None
        last_update = 0 if end == 0 else -1 if last is None else last.store_timestamp
        return {"minOffset": store.min_offset(topic, queue_id), "maxOffset": end, "lastUpdateTimestamp": last_update}
