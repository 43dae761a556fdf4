"""Messages of retry topics: their group, how often it retries, and the dead-letter topic (DLQ-01 to DLQ-06, BACK-03, BACK-11)."""

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
    """Send a message that was retried often enough to its dead-letter topic, and set the system flag of every message.

    False if `response` is a refusal. `message` has topic and queue; only topics with the retry prefix may lose them (DLQ-01).
    Raises JavaError if the topic was deleted meanwhile.
    """
    if header.topic.startswith(RETRY_PREFIX):
        group = header.topic[len(RETRY_PREFIX) :]
        group_config = find_group(broker, group, response)
        if group_config is None:
            return False
        most = max_reconsume_times(group_config, request, header.max_reconsume_times, null=broker.profile.null_send_limit)
        if (header.reconsume_times or 0) >= most + broker.profile.dlq_beyond:
            config = await to_dead_letter_topic(broker, group, message, response)
            if config is None:
                return False
            if broker.profile.dlq_keeps_delay:
                message.properties[DELAY] = NOT_DELAYED
        await PLACED.carrying(message)
    message.sys_flag = sys_flag_of(header.sys_flag, config)
    return True


def find_group(broker: BrokerParts, group: str, response: Command) -> SubscriptionGroupConfig | None:
    """The group, made by the look-up if it may be; otherwise `response` refuses (DLQ-02, BACK-03)."""
    config = broker.groups.find(group)
    if config is None:
        refuse(response, SUBSCRIPTION_GROUP_NOT_EXIST, f"subscription group not exist, {group} {suggestion(broker.profile.faq)}")
    return config


def max_reconsume_times(group: SubscriptionGroupConfig, request: Command, requested: int | None, *, null: bool) -> int:
    """How often a message is retried: what a caller from 3.4.9 on asks for, else what the group has (DLQ-03, BACK-11).

    Raises JavaError for a caller who could say and does not, unless `null` stands for the group's (HAZ-33). The rule is written once more
    in the specification (its module bounds), on purpose: what is judged shares no code with what judges it.
    """
    if request.version < V3_4_9:
        return group.retry_max_times
    if requested is not None:
        return requested
    if null:
        return group.retry_max_times
    raise null_pointer()


async def to_dead_letter_topic(broker: BrokerParts, group: str, message: Message, response: Command) -> TopicConfig | None:
    """Give the message the group's dead-letter topic, made where missing; None if it cannot be, and `response` refuses
    (DLQ-04, BACK-12).

    Up to 4.9.1 nobody may read a topic that is made here (HAZ-31), and a delay level stays.
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
    """The header's flag, with MULTI_TAGS for topics that filter so (DLQ-05). Raises JavaError without a topic (SEND-21)."""
    if config is None:
        raise null_pointer()
    return sys_flag | MULTI_TAGS if config.topic_filter_type == MULTI_TAG else sys_flag
