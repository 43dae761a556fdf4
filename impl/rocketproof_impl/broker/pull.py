"""Consumers' pulls of messages of one queue (request 11, PullMessageProcessor).

The response's remark is the status of the read, its header contains the next offset. A pull that may wait and finds no message is held
until a message arrives or it times out.
"""

from __future__ import annotations

from rocketproof_protocol.codes import (
    NO_PERMISSION,
    PULL_NOT_FOUND,
    PULL_OFFSET_MOVED,
    PULL_RETRY_IMMEDIATELY,
    SUBSCRIPTION_GROUP_NOT_EXIST,
    SUBSCRIPTION_NOT_EXIST,
    SUBSCRIPTION_NOT_LATEST,
    SUBSCRIPTION_PARSE_FAILED,
    SUCCESS,
    SYSTEM_ERROR,
    TOPIC_NOT_EXIST,
)
from rocketproof_protocol.flags import PULL_COMMITS_OFFSET, PULL_SUBSCRIBES, PULL_SUSPENDS
from rocketproof_protocol.properties import DELAY, KEYS, TAGS
from rocketproof_protocol.remarks import NOT_EXIST
from rocketproof_protocol.topics import OFFSET_MOVED_TOPIC

from ..message import Message, properties_text
from ..remoting.command import RESPONSE, Command, response_to
from ..remoting.dispatch import remote_address, write
from ..remoting.faq import suggestion
from ..remoting.headers import PullMessageRequestHeader, read
from ..remoting.ports import Channel, Executor
from ..route import encode_json
from ..store.reading import GetMessageResult, GetMessageStatus
from ..topic import is_readable
from .checking import refuse
from .groups import SubscriptionGroupConfig
from .hold import HeldPull, PullRequestHoldService
from .log import log
from .parts import BrokerParts
from .subscription import SubscriptionData, build

CODES = {
    GetMessageStatus.FOUND: SUCCESS,
    GetMessageStatus.NO_MATCHED_MESSAGE: PULL_RETRY_IMMEDIATELY,
    GetMessageStatus.MESSAGE_WAS_REMOVING: PULL_RETRY_IMMEDIATELY,
    GetMessageStatus.NO_MESSAGE_IN_QUEUE: PULL_NOT_FOUND,
    GetMessageStatus.OFFSET_OVERFLOW_ONE: PULL_NOT_FOUND,
    GetMessageStatus.OFFSET_OVERFLOW_BADLY: PULL_OFFSET_MOVED,
    GetMessageStatus.OFFSET_TOO_SMALL: PULL_OFFSET_MOVED,
    GetMessageStatus.OFFSET_FOUND_NULL: PULL_NOT_FOUND,
}
BY_BROKER, BY_GROUP, BY_TOPIC, BY_BROADCASTING = 1, 2, 3, 4
"""The values of `forbiddenType` in a response: the part that forbids the pull."""


class PullMessageProcessor:
    """Serves pulls; `hold` contains the waiting ones."""

    __slots__ = ("_broker", "hold")

    def __init__(self, broker: BrokerParts, executor: Executor) -> None:
        self._broker = broker
        self.hold = PullRequestHoldService(broker.clock, executor, broker.store.max_offset, self._again)

    async def process(self, channel: Channel, request: Command) -> Command | None:
        """Return the response, None if it is written later. Raises JavaError."""
        return await self._answer(channel, request, may_wait=True)

    def rejects(self) -> bool:
        """Return whether all pulls are rejected: on a slave that must not be read (REM-06)."""
        settings = self._broker.settings
        return self._broker.profile.slave_rejects_pulls and settings.broker_role == "SLAVE" and not settings.slave_read_enable

    async def _again(self, channel: Channel, request: Command) -> None:
        """Serve a held pull again, without holding it again. Some releases answer even a one-way request (HAZ-26)."""
        try:
            response = await self._answer(channel, request, may_wait=False)
        except Exception as error:  # noqa: BLE001 - there is no caller to raise it to
            log.error("execute request when wakeup failed: %r", error)
            return
        if response is not None and not (request.is_one_way and self._broker.profile.heeds_one_way):
            response.flag |= RESPONSE
            write(channel, response)

    async def _answer(self, channel: Channel, request: Command, *, may_wait: bool) -> Command | None:
        broker = self._broker
        response = response_to(request)
        response.ext_fields = {}
        strict = not broker.profile.null_pull_numbers
        header = read(PullMessageRequestHeader, request.ext_fields, nulls=broker.profile.null_fields, numbers=strict)
        group = self._may_pull(channel, header, response)
        if group is None:
            return response
        subscription = self._subscription(header, group, response)
        if subscription is None:
            return response
        slave = broker.settings.broker_role == "SLAVE"
        is_held = False
        result = broker.store.pull(header.topic, header.queue_id, header.queue_offset, header.max_msg_nums, subscription.matches)
        if result is None:
            refuse(response, SYSTEM_ERROR, "store getMessage return null")
        else:
            fill(response, result, header.queue_offset)
            if broker.profile.tells_more:
                topic = broker.topics.table.get(header.topic)
                response.ext_fields |= {"groupSysFlag": "0", "topicSysFlag": str(topic.topic_sys_flag if topic else 0)}
            if response.code == PULL_NOT_FOUND and may_wait and header.sys_flag & PULL_SUSPENDS:
                until = broker.clock.now() + header.suspend_timeout_millis
                held = HeldPull(channel, request, header.queue_offset, until, subscription)
                is_held = self.hold.suspend(header.topic, header.queue_id, held)
            elif response.code == PULL_OFFSET_MOVED and slave:
                response.code = PULL_RETRY_IMMEDIATELY
                response.ext_fields["suggestWhichBrokerId"] = str(group.broker_id)
            elif response.code == PULL_OFFSET_MOVED:
                await broker.store.put_message(self._offset_moved(header, result.next_begin_offset))
        if may_wait and header.sys_flag & PULL_COMMITS_OFFSET and not slave:
            broker.offsets.commit(header.consumer_group, header.topic, header.queue_id, header.commit_offset)
        return None if is_held else response

    def _forbid(self, response: Command, by: int, remark: str) -> None:
        """Reject the pull with NO_PERMISSION. Later releases also name the cause in `forbiddenType`."""
        refuse(response, NO_PERMISSION, remark)
        profile = self._broker.profile
        if profile.tells_more and (by != BY_BROKER or profile.tells_broker_forbids):
            response.ext_fields = {"forbiddenType": str(by)}

    def _may_pull(self, channel: Channel, header: PullMessageRequestHeader, response: Command) -> SubscriptionGroupConfig | None:
        """Return the group, which the look-up may create. Return None if broker, group, topic or queue forbid the pull."""
        broker = self._broker
        if not broker.settings.readable:
            self._forbid(response, BY_BROKER, f"the broker[{broker.settings.broker_ip1}] pulling message is forbidden")
            return None
        group = broker.groups.find(header.consumer_group)
        if group is None:
            remark = f"subscription group [{header.consumer_group}] does not exist, {suggestion(broker.profile.faq)}"
            refuse(response, SUBSCRIPTION_GROUP_NOT_EXIST, remark)
            return None
        if not group.consume_enable:
            self._forbid(response, BY_GROUP, f"subscription group no permission, {header.consumer_group}")
            return None
        _read_first(header, broker.profile.pull_reads_first)
        topic = header.topic
        config = broker.topics.select(topic)
        if config is None:
            refuse(response, TOPIC_NOT_EXIST, f"{NOT_EXIST.format(topic)} {suggestion(broker.profile.faq)}")
        elif not is_readable(config.perm):
            self._forbid(response, BY_TOPIC, f"the topic[{topic}] pulling message is forbidden")
        elif not 0 <= header.queue_id < config.read_queue_nums:
            nums = f"topicConfig.readQueueNums:[{config.read_queue_nums}]"
            remark = f"queueId[{header.queue_id}] is illegal, topic:[{topic}] {nums} consumer:[/{remote_address(channel)}]"
            refuse(response, broker.profile.illegal_code, remark)
        else:
            return group
        return None

    def _subscription(self, header: PullMessageRequestHeader, group: SubscriptionGroupConfig, response: Command) -> SubscriptionData | None:
        """Return the subscription in the request or, without one, that of the group's last heartbeat."""
        subscription = self._requested(header, response) if header.sys_flag & PULL_SUBSCRIBES else self._registered(header, group, response)
        if subscription is not None and not subscription.by_tag:
            refuse(response, SYSTEM_ERROR, f"The broker does not support consumer to filter message by {subscription.expression_type}")
            return None
        return subscription

    def _requested(self, header: PullMessageRequestHeader, response: Command) -> SubscriptionData | None:
        try:
            return build(header.topic, header.subscription, header.expression_type)
        except ValueError as error:
            log.warning("parse the consumer's subscription[%s] failed: %s", header.subscription, error)
            refuse(response, SUBSCRIPTION_PARSE_FAILED, "parse the consumer's subscription failed")
            return None

    def _registered(self, header: PullMessageRequestHeader, group: SubscriptionGroupConfig, response: Command) -> SubscriptionData | None:
        info = self._broker.consumers.groups.get(header.consumer_group)
        if info is None:
            refuse(response, SUBSCRIPTION_NOT_EXIST, f"the consumer's group info not exist{suggestion(self._broker.profile.faq)}")
            return None
        if not group.consume_broadcast_enable and info.message_model == "BROADCASTING":
            self._forbid(response, BY_BROADCASTING, f"the consumer group[{header.consumer_group}] can not consume by broadcast way")
            return None
        subscription = info.subscriptions.get(header.topic)
        if subscription is None:
            refuse(response, SUBSCRIPTION_NOT_EXIST, f"the consumer's subscription not exist{suggestion(self._broker.profile.faq)}")
        elif subscription.sub_version < header.sub_version:
            refuse(response, SUBSCRIPTION_NOT_LATEST, "the consumer's subscription not latest")
        else:
            return subscription
        return None

    def _offset_moved(self, header: PullMessageRequestHeader, offset: int) -> Message:
        """Return the message that records a consumer whose offset was moved."""
        settings = self._broker.settings
        queue = {"brokerName": settings.broker_name, "queueId": header.queue_id, "topic": header.topic}
        event = {
            "consumerGroup": header.consumer_group,
            "messageQueue": queue,
            "offsetNew": offset,
            "offsetRequest": header.queue_offset,
        }
        properties = {TAGS: header.consumer_group, DELAY: "0", KEYS: header.consumer_group}
        return Message(
            OFFSET_MOVED_TOPIC,
            body=encode_json(event),
            properties=properties,
            properties_text=properties_text(properties, trailing=self._broker.profile.ends_properties),
            born_timestamp=self._broker.clock.now(),
            born_host=self._broker.store_host,
            store_host=self._broker.store_host,
        )


def _read_first(header: PullMessageRequestHeader, fields: str) -> None:
    """Read the fields that a release reads before it looks up the topic: the flags, and the timeout of a pull that may wait.

    Raises JavaError if one is null.
    """
    if "flags" not in fields:
        return
    waits = header.sys_flag & PULL_SUSPENDS
    if waits and "time" in fields:
        _ = header.suspend_timeout_millis


def fill(response: Command, result: GetMessageResult, offset: int) -> None:
    """Fill the response from the result. The suggested broker is always the master, because slaves are not read."""
    empty = result.status is GetMessageStatus.NO_MESSAGE_IN_QUEUE
    response.code = PULL_OFFSET_MOVED if empty and offset != 0 else CODES[result.status]
    response.remark = result.status.name
    response.ext_fields = {
        "suggestWhichBrokerId": "0",
        "nextBeginOffset": str(result.next_begin_offset),
        "minOffset": str(result.min_offset),
        "maxOffset": str(result.max_offset),
    }
    if result.records:
        response.body = b"".join(result.records)
