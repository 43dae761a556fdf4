"""Send requests with several messages (BAT-01 to BAT-04).

The messages share topic, queue and header. A batch is checked for neither the dead-letter topic nor transactions.
"""

from __future__ import annotations

from rocketproof_protocol.codes import MESSAGE_ILLEGAL, UNDECIDED
from rocketproof_protocol.properties import CLUSTER
from rocketproof_protocol.topics import RETRY_PREFIX

from ..java import length
from ..message import Message, parse_properties
from ..remoting.command import Command
from ..remoting.headers import SendMessageRequestHeader
from ..remoting.ports import Channel
from .answering import CompletedPut
from .checking import APPEND, pre_send, refuse
from .hooks import SendMessageContext
from .parts import BrokerParts
from .queue_id import queue_id_of
from .retry import sys_flag_of

TOPIC_LENGTH = 127


async def send_batch_message(
    broker: BrokerParts, channel: Channel, request: Command, header: SendMessageRequestHeader, context: SendMessageContext | None
) -> Command | CompletedPut:
    """Check and put a batch. Return a rejection, or the completed put (BAT-01).

    The store splits the batch (BAT-04). Group and transaction flags are not checked (HAZ-38).
    """
    response = await pre_send(broker, channel, request, header)
    if response.code != UNDECIDED:
        return response
    await APPEND
    config = broker.topics.select(header.topic)
    queue_id = queue_id_of(header.queue_id, config, broker.random, broker.profile)
    problem = batch_problem(header.topic, batch_retry=broker.profile.batch_retry)
    if problem is not None:
        refuse(response, MESSAGE_ILLEGAL, problem)
        return response
    message = batch_message(broker, channel, request, header)
    message.queue_id, message.sys_flag = queue_id, sys_flag_of(header.sys_flag, config)
    result = await broker.store.put_messages(message)
    return CompletedPut(channel, request, response, message, queue_id, context, result)


def batch_problem(topic: str, *, batch_retry: bool) -> str | None:
    """Return the remark that rejects a batch's topic: it is too long or, in the earliest profile, a retry topic (BAT-02)."""
    if length(topic) > TOPIC_LENGTH:
        return f"message topic length too long {length(topic)}"
    if topic.startswith(RETRY_PREFIX) and not batch_retry:
        return f"batch request does not support retry group {topic}"
    return None


def batch_message(broker: BrokerParts, channel: Channel, request: Command, header: SendMessageRequestHeader) -> Message:
    """Return the batch as one message with an encoded body. In profiles that store parsed properties they include CLUSTER (BAT-03)."""
    settings, profile = broker.settings, broker.profile
    message = Message(header.topic, body=request.body, flag=header.flag)
    message.properties = parse_properties(header.properties, exact=profile.exact_properties)
    if profile.stores_parsed:
        message.properties[CLUSTER] = settings.broker_cluster_name
    message.born_timestamp = header.born_timestamp
    message.born_host = channel.remote
    message.store_host = broker.store_host
    message.reconsume_times = header.reconsume_times or 0
    return message
