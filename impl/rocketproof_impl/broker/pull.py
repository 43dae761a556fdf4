"""A consumer pulls messages of one queue (request 11, PullMessageProcessor).

The answer names in its remark what was found, and in its header where to go on. A pull that may wait and finds nothing is held until
there is a message or its time is over.
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
"""Who forbids a pull, as the answer tells it."""


class PullMessageProcessor:
    """`hold` are the pulls that wait."""

    __slots__ = ("_broker", "hold")

    def __init__(self, broker: BrokerParts, executor: Executor) -> None:
        self._broker = broker
        self.hold = PullRequestHoldService(broker.clock, executor, broker.store.max_offset, self._again)

    async def process(self, channel: Channel, request: Command) -> Command | None:
        """The answer, None if it comes later. Raises JavaError."""
        return await self._answer(channel, request, may_wait=True)

    def rejects(self) -> bool:
        """Whether no pull is taken: by a slave that nobody may read from (REM-06)."""
        settings = self._broker.settings
        return self._broker.profile.slave_rejects_pulls and settings.broker_role == "SLAVE" and not settings.slave_read_enable

    async def _again(self, channel: Channel, request: Command) -> None:
        """Serve a pull that was held; it is not held a second time. Not every release asks whether its caller wants an answer (HAZ-26)."""
        try:
            response = await self._answer(channel, request, may_wait=False)
        except Exception as error:  # noqa: BLE001 - nobody is there to hear of it
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
        found = broker.store.pull(header.topic, header.queue_id, header.queue_offset, header.max_msg_nums, subscription.matches)
        if found is None:
            refuse(response, SYSTEM_ERROR, "store getMessage return null")
        else:
            fill(response, found, header.queue_offset)
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
                await broker.store.put_message(self._offset_moved(header, found.next_begin_offset))
        if may_wait and header.sys_flag & PULL_COMMITS_OFFSET and not slave:
            broker.offsets.commit(header.consumer_group, header.topic, header.queue_id, header.commit_offset)
        return None if is_held else response

    def _forbid(self, response: Command, by: int, remark: str) -> None:
        """Refuse, and tell who forbids it where a release tells that."""
        refuse(response, NO_PERMISSION, remark)
        profile = self._broker.profile
        if profile.tells_more and (by != BY_BROKER or profile.tells_broker_forbids):
            response.ext_fields = {"forbiddenType": str(by)}

    def _may_pull(self, channel: Channel, header: PullMessageRequestHeader, response: Command) -> SubscriptionGroupConfig | None:
        """The group, which the look-up may make; None if it, the broker, the topic or the queue does not allow it."""
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
        """What the pull asks for, or else what the last heart beat of the group did."""
        found = self._told(header, response) if header.sys_flag & PULL_SUBSCRIBES else self._registered(header, group, response)
        if found is not None and not found.by_tag:
            refuse(response, SYSTEM_ERROR, f"The broker does not support consumer to filter message by {found.expression_type}")
            return None
        return found

    def _told(self, header: PullMessageRequestHeader, response: Command) -> SubscriptionData | None:
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
        found = info.subscriptions.get(header.topic)
        if found is None:
            refuse(response, SUBSCRIPTION_NOT_EXIST, f"the consumer's subscription not exist{suggestion(self._broker.profile.faq)}")
        elif found.sub_version < header.sub_version:
            refuse(response, SUBSCRIPTION_NOT_LATEST, "the consumer's subscription not latest")
        else:
            return found
        return None

    def _offset_moved(self, header: PullMessageRequestHeader, offset: int) -> Message:
        """The message in which the broker notes that a consumer was sent elsewhere."""
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
    """Read what a release reads before it looks for the topic: the flags, and the time too of a pull that may wait. Raises JavaError for
    one that is null."""
    if "flags" not in fields:
        return
    waits = header.sys_flag & PULL_SUSPENDS
    if waits and "time" in fields:
        _ = header.suspend_timeout_millis


def fill(response: Command, found: GetMessageResult, offset: int) -> None:
    """What was found. The broker to ask next is always the master, as slaves are not to be read from."""
    empty = found.status is GetMessageStatus.NO_MESSAGE_IN_QUEUE
    response.code = PULL_OFFSET_MOVED if empty and offset != 0 else CODES[found.status]
    response.remark = found.status.name
    response.ext_fields = {
        "suggestWhichBrokerId": "0",
        "nextBeginOffset": str(found.next_begin_offset),
        "minOffset": str(found.min_offset),
        "maxOffset": str(found.max_offset),
    }
    if found.records:
        response.body = b"".join(found.records)
