"""Messages of retry topics: their group, its retry limit, and the dead-letter topic (DLQ-01 to DLQ-07, BACK-03, BACK-11)."""

from __future__ import annotations

from rocketproof_protocol.codes import SUBSCRIPTION_GROUP_NOT_EXIST, SYSTEM_ERROR
from rocketproof_protocol.flags import MULTI_TAGS
from rocketproof_protocol.properties import DELAY
from rocketproof_protocol.topics import DLQ_PREFIX, RETRY_PREFIX

from ..java import null_pointer
from ..message import Message
from ..remoting.command import V3_4_9, Command
from ..remoting.faq import suggestion
from ..remoting.headers import SendMessageRequestHeader
from ..store.service import PLACED
from ..topic import MULTI_TAG, TopicConfig
from .checking import refuse
from .groups import SubscriptionGroupConfig
from .parts import BrokerParts
from .queue_id import random_queue_id

DLQ_NUMS_PER_GROUP = 1
NOT_DELAYED = "-1"


async def handle_retry_and_dlq(
    broker: BrokerParts, header: SendMessageRequestHeader, request: Command, response: Command, message: Message, config: TopicConfig | None
) -> bool:
    """Redirect a message that reached its retry limit to the dead-letter topic, and set the system flag of every message.

    Some releases also redirect each message of a group that holds a queue lock: they take its consumers for ones that process messages in
    order, which send a message back only after their last retry (DLQ-07).

    Return False if `response` is a rejection. Topic and queue of `message` are set; only messages of retry topics are redirected (DLQ-01).
    Raises JavaError if the topic was deleted meanwhile.
    """
    if header.topic.startswith(RETRY_PREFIX):
        group = header.topic[len(RETRY_PREFIX) :]
        group_config = find_group(broker, group, response)
        if group_config is None:
            return False
        most = max_reconsume_times(group_config, request, header.max_reconsume_times, null=broker.profile.null_send_limit)
        locked = broker.profile.dlq_while_locked and broker.locks.holds_any(group)
        if locked or (header.reconsume_times or 0) >= most + broker.profile.dlq_beyond:
            config = await to_dead_letter_topic(broker, group, message, response)
            if config is None:
                return False
            if broker.profile.dlq_keeps_delay:
                message.properties[DELAY] = NOT_DELAYED
        await PLACED.carrying(message)
    message.sys_flag = sys_flag_of(header.sys_flag, config)
    return True


def find_group(broker: BrokerParts, group: str, response: Command) -> SubscriptionGroupConfig | None:
    """Return the group, which the look-up may create. Otherwise reject in `response` (DLQ-02, BACK-03)."""
    config = broker.groups.find(group)
    if config is None:
        refuse(response, SUBSCRIPTION_GROUP_NOT_EXIST, f"subscription group not exist, {group} {suggestion(broker.profile.faq)}")
    return config


def max_reconsume_times(group: SubscriptionGroupConfig, request: Command, requested: int | None, *, null: bool) -> int:
    """Return the retry limit: the request's for clients from 3.4.9 on, else the group's (DLQ-03, BACK-11).

    Raises JavaError if such a client sends none, unless `null` selects the group's (HAZ-33). The specification repeats this rule (its
    module bounds) on purpose: implementation and judge share no code.
    """
    if request.version < V3_4_9:
        return group.retry_max_times
    if requested is not None:
        return requested
    if null:
        return group.retry_max_times
    raise null_pointer()


async def to_dead_letter_topic(broker: BrokerParts, group: str, message: Message, response: Command) -> TopicConfig | None:
    """Move the message to the group's dead-letter topic, created if missing. Return None if it cannot be, and reject in `response` (DLQ-04,
    BACK-12).

    Up to 4.9.1 a topic that is created here cannot be read (HAZ-31), and a delay level is kept.
    """
    profile = broker.profile
    topic = DLQ_PREFIX + group
    queue_id = random_queue_id(broker.random, DLQ_NUMS_PER_GROUP, signed=profile.signed_random)
    config = await broker.topics.create_topic_in_send_message_back(topic, DLQ_NUMS_PER_GROUP, profile.dlq_perm, 0)
    message.topic, message.queue_id = topic, queue_id
    if profile.dlq_clears_delay:
        message.properties[DELAY] = "0"
    if config is None:
        refuse(response, SYSTEM_ERROR, f"topic[{topic}] not exist")
    return config


def sys_flag_of(sys_flag: int, config: TopicConfig | None) -> int:
    """Return the header's flag, with MULTI_TAGS for topics with that filter type (DLQ-05). Raises JavaError without a topic (SEND-21)."""
    if config is None:
        raise null_pointer()
    return sys_flag | MULTI_TAGS if config.topic_filter_type == MULTI_TAG else sys_flag
