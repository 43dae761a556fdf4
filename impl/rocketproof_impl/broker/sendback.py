"""Messages that consumers send back, to be retried later or never (BACK-01 to BACK-18, request 36).

The message is copied from the log to the group's retry topic with a growing delay, or to the group's dead-letter topic. The old record
remains.
"""

from __future__ import annotations

from rocketproof_protocol.codes import NO_PERMISSION, SUCCESS, SYSTEM_ERROR
from rocketproof_protocol.flags import READ, WRITE
from rocketproof_protocol.properties import DELAY, ORIGIN_MESSAGE_ID, RETRY_TOPIC, WAIT
from rocketproof_protocol.topics import RETRY_PREFIX, SCHEDULE

from ..java import null_pointer
from ..message import Message, properties_text
from ..names import is_blank
from ..remoting.command import Command, response_to
from ..remoting.headers import SendMessageBackRequestHeader, read
from ..store.result import AppendResult, PutMessageStatus, PutResult
from ..topic import is_writeable
from .checking import refuse, sending_is_forbidden
from .groups import SubscriptionGroupConfig
from .hooks import execute_consume_after
from .parts import BrokerParts
from .queue_id import random_queue_id
from .retry import find_group, max_reconsume_times, to_dead_letter_topic
from .topics import UNIT_SUB

FIRST_DELAY_LEVEL = 3


async def consumer_send_msg_back(broker: BrokerParts, request: Command) -> Command:
    """Put a copy of the message and answer, without extFields (BACK-01). Each success adds one record (BACK-18). Raises JavaError.

    Checked in this order:

    - the group (BACK-03)
    - the broker's permission, whether the topic is ordered or not (BACK-04)
    - the group's retry queues: without any, the message is dropped and the response is SUCCESS (BACK-05, HAZ-30)
    - the retry topic
    - that the message exists (BACK-09), in some releases also that its topic is the one in the request
    """
    response = response_to(request)
    header = back_header(broker, request)
    execute_consume_after(broker.hooks, header, request)
    group = find_group(broker, header.group, response)
    if group is None:
        return response
    if not broker.settings.writable:
        refuse(response, NO_PERMISSION, sending_is_forbidden(broker.settings))
        return response
    if group.retry_queue_nums <= 0:
        response.code, response.remark = SUCCESS, None
        return response
    queue_id = random_queue_id(broker.random, group.retry_queue_nums, signed=broker.profile.signed_random)
    topic = await retry_topic(broker, header, group, response)
    if topic is None:
        return response
    original = broker.store.look_message_by_offset(header.offset)
    if original is None:
        refuse(response, SYSTEM_ERROR, f"look message by offset failed, {header.offset}")
        return response
    if broker.profile.checks_origin and header.origin_topic is not None and header.origin_topic != original.topic:
        refuse(response, SYSTEM_ERROR, f"look message by offset failed to check the topic name{header.offset}")
        return response
    mark(original)
    message = copy_for_retry(broker, original)
    message.topic, message.queue_id = topic, queue_id
    most = max_reconsume_times(group, request, header.max_reconsume_times, null=broker.profile.null_limit)
    if is_dead(original, header.delay_level, most):
        if broker.profile.wants_origin and header.origin_topic is None:
            raise null_pointer()
        if await to_dead_letter_topic(broker, header.group, message, response) is None:
            return response
    else:
        message.properties[DELAY] = str(next_delay_level(original, header.delay_level))
    name_origin(broker, original, message)
    answer_put(broker, header.group, original, message, await broker.store.put_message(message), response)
    return response


def back_header(broker: BrokerParts, request: Command) -> SendMessageBackRequestHeader:
    """Return the header of request 36 (BACK-01). Raises JavaError."""
    return read(SendMessageBackRequestHeader, request.ext_fields, nulls=broker.profile.null_fields)


async def retry_topic(
    broker: BrokerParts, header: SendMessageBackRequestHeader, group: SubscriptionGroupConfig, response: Command
) -> str | None:
    """Return the group's retry topic, created if missing with any name (BACK-06, BACK-07, HAZ-20). Return None if `response` is a
    rejection.

    An existing topic may have fewer queues than the group retries over. The topic's permission is checked here (BACK-08).
    """
    topic = RETRY_PREFIX + header.group
    sys_flag = UNIT_SUB if header.unit_mode else 0
    config = await broker.topics.create_topic_in_send_message_back(topic, group.retry_queue_nums, READ | WRITE, sys_flag)
    if config is None:
        refuse(response, SYSTEM_ERROR, f"topic[{topic}] not exist")
        return None
    if not is_writeable(config.perm):
        refuse(response, NO_PERMISSION, f"the topic[{topic}] sending message is forbidden")
        return None
    return topic


def mark(original: Message) -> None:
    """Record the original topic of the first round, and that the put does not wait for its flush (BACK-10)."""
    original.properties.setdefault(RETRY_TOPIC, original.topic)
    original.properties[WAIT] = "false"


def is_dead(original: Message, delay_level: int, most: int) -> bool:
    """Return whether the message reached its retry limit, or the consumer rejects it (BACK-12)."""
    return original.reconsume_times >= most or delay_level < 0


def next_delay_level(original: Message, delay_level: int) -> int:
    """Return the consumer's delay level, or one that grows with each round (BACK-13)."""
    return delay_level if delay_level > 0 else FIRST_DELAY_LEVEL + original.reconsume_times


def copy_for_retry(broker: BrokerParts, original: Message) -> Message:
    """Return the message to put: the original's content and the same property map, with one retry more (BACK-14).

    It keeps the system flag. A prepared message is therefore prepared again and never delivered (BACK-17).
    """
    return Message(
        original.topic,
        body=original.body,
        flag=original.flag,
        properties=original.properties,
        sys_flag=original.sys_flag,
        born_timestamp=original.born_timestamp,
        born_host=original.born_host,
        store_host=original.store_host if broker.profile.keeps_store_host else broker.store_host,
        reconsume_times=original.reconsume_times + 1,
    )


def name_origin(broker: BrokerParts, original: Message, message: Message) -> None:
    """Set the stored text, and store the id of the first record in the map (BACK-15).

    Earlier profiles set the text before the id. Only a message that the store serialises again, because of its delay, then keeps the id
    (HAZ-32).
    """
    trailing = broker.profile.ends_properties
    message.properties_text = properties_text(message.properties, trailing=trailing)
    origin = message.properties.get(ORIGIN_MESSAGE_ID)
    message.properties[ORIGIN_MESSAGE_ID] = original.msg_id if origin is None or is_blank(origin) else origin
    if broker.profile.names_origin:
        message.properties_text = properties_text(message.properties, trailing=trailing)


def answer_put(broker: BrokerParts, group: str, original: Message, message: Message, result: PutResult | None, response: Command) -> None:
    """Answer the put: every status except PUT_OK is an error with the status as its remark (BACK-16)."""
    if result is None:
        refuse(response, SYSTEM_ERROR, "putMessageResult is null")
    elif result.status is not PutMessageStatus.PUT_OK:
        refuse(response, SYSTEM_ERROR, result.status.name)
    else:
        assert result.append is not None, "a message that was put has a position"
        count_back(broker, group, original, message, result.append)
        response.code, response.remark = SUCCESS, None


def count_back(broker: BrokerParts, group: str, original: Message, message: Message, append: AppendResult) -> None:
    """Count the message for the group and its original topic; if it is delayed, also for the delay queue (BACK-16)."""
    if message.topic == SCHEDULE and broker.profile.queue_statistics:
        broker.statistics.count_topic(message.topic, 1, append.wrote_bytes)
        broker.statistics.count_queue(message.topic, message.queue_id, 1, append.wrote_bytes)
    broker.statistics.send_back_nums[group, original.properties.get(RETRY_TOPIC, original.topic)] += 1
