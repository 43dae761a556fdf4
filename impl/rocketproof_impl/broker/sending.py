"""How a broker serves a send request. Start here.

`process` is called with a request of code 10, 310, 320 or 36. A message goes through these steps, in this order:

    checking     is the broker open, is the name legal, is the topic known or can it be created, is the queue legal
    here         which queue, which properties are stored
    retry        a retry topic's group, and the dead-letter topic
    transaction  the check of transactional messages, and half messages
    store        the put
    answering    status to code and remark, statistics, the response

A step that rejects the message sets the response, and later steps do not run. Differences between releases are switches of the profile.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from rocketproof_profiles import Profile
from rocketproof_protocol.codes import CONSUMER_SEND_MSG_BACK, NO_PERMISSION, UNDECIDED
from rocketproof_protocol.properties import CLUSTER, UNIQ_KEY, WAIT

from ..java import null_pointer
from ..message import Message, parse_properties, properties_text
from ..remoting.command import Command
from ..remoting.headers import SendMessageRequestHeader, is_null, parse_request_header
from ..remoting.ports import Channel
from ..store.service import PLACED
from ..tasks import Future, Pause
from .answering import CompletedPut, handle_put_message_result
from .batch import send_batch_message
from .checking import APPEND, pre_send, refuse
from .hooks import SendMessageContext, build_message_context, execute_send_after, execute_send_before
from .parts import BrokerParts
from .queue_id import queue_id_of
from .retry import handle_retry_and_dlq
from .sendback import consumer_send_msg_back
from .settings import BrokerSettings
from .transaction import is_transactional, prepare

T = TypeVar("T")

ARRIVED = Pause("arrived")


class SendMessageProcessor:
    """SendMessageProcessor: from a request to its response, or a future of it (SEND-07)."""

    __slots__ = ("_broker",)

    def __init__(self, broker: BrokerParts) -> None:
        self._broker = broker

    async def process(self, channel: Channel, request: Command) -> Command | Future[Command | None] | None:
        """Serve a single message, a batch, or a message that is sent back (SEND-01, SEND-05). A code without a send header gets no response
        (SEND-02).

        In an asynchronous profile everything after the put, including its exceptions, is in the future (SEND-07, REM-09). Raises JavaError
        for earlier errors.
        """
        broker = self._broker
        if request.code == CONSUMER_SEND_MSG_BACK:
            response = await consumer_send_msg_back(broker, request)
            return self._finished(lambda: response)
        header = parse_request_header(request.code, request.ext_fields, broker.profile)
        if header is None:
            return None
        context = message_context(broker, channel, request, header)
        execute_send_before(broker.hooks, context)
        await ARRIVED
        if header.batch:
            sent = await send_batch_message(broker, channel, request, header, context)
        else:
            sent = await send_message(broker, channel, request, header, context)
        return self._finished(lambda: self._answer(sent, context, again=header.batch and broker.profile.repeats_batch_answer))

    def rejects(self) -> bool:
        """Return whether all sends are rejected now (REM-06)."""
        if self._broker.profile.slave_rejects and self._broker.settings.broker_role == "SLAVE":
            return True
        store = self._broker.store
        return store.is_os_page_cache_busy() or store.is_transient_store_pool_deficient()

    def _answer(self, sent: Command | CompletedPut, context: SendMessageContext | None, *, again: bool) -> Command | None:
        """Return a rejection unchanged, or the response to a put; then run the after-hooks of the profiles that have them (SEND-06).

        With `again`, a response that is already written is returned too, and so written again.
        """
        response = sent if isinstance(sent, Command) else handle_put_message_result(self._broker, sent)
        if again and isinstance(sent, CompletedPut):
            response = sent.response
        if self._broker.profile.after_hooks:
            execute_send_after(self._broker.hooks, context, response)
        return response

    def _finished(self, answer: Callable[[], T]) -> T | Future[T]:
        """Return the response, or its future in an asynchronous profile (SEND-07)."""
        return completed(answer) if self._broker.profile.asynchronous else answer()


def message_context(broker: BrokerParts, channel: Channel, request: Command, header: SendMessageRequestHeader) -> SendMessageContext | None:
    """Return the context for hooks (SEND-03). Raises JavaError.

    In profiles that always create it, a request without a body is an error here, and in some profiles also one without a topic.
    """
    profile = broker.profile
    if profile.wants_topic and is_null(header.topic):
        raise null_pointer()
    if profile.wants_request_body and request.body is None:
        raise null_pointer()
    return build_message_context(broker.hooks, broker.settings, channel, header, profile)


def completed(answer: Callable[[], T]) -> Future[T]:
    """Return a future with the function's result or exception."""
    future: Future[T] = Future()
    try:
        future.complete(answer())
    except Exception as error:  # noqa: BLE001 - raised by the future's result
        future.fail(error)
    return future


async def send_message(
    broker: BrokerParts, channel: Channel, request: Command, header: SendMessageRequestHeader, context: SendMessageContext | None
) -> Command | CompletedPut:
    """Check and put one message. Return a rejection, or the completed put.

    The topic is looked up again after the checks, because it may have been deleted since (SEND-21). The retry step may change topic and
    queue or reject the message (SEND-23). A transactional message is rejected last, after its topic was created (TRX-03, HAZ-40).
    """
    profile = broker.profile
    response = await pre_send(broker, channel, request, header)
    if response.code != UNDECIDED:
        return response
    await APPEND
    config = broker.topics.select(header.topic)
    queue_id = queue_id_of(header.queue_id, config, broker.random, profile)
    message = Message(header.topic, queue_id)
    if not await handle_retry_and_dlq(broker, header, request, response, message, config):
        return response
    fill(broker, message, channel, request, header)
    if is_transactional(message, profile):
        if broker.settings.reject_transaction_message:
            refuse(response, NO_PERMISSION, transaction_is_forbidden(broker.settings))
            return response
        if profile.half_messages:
            prepare(message, trailing=profile.ends_properties, named=profile.names_transaction)
            await PLACED.carrying(message)
    result = await broker.store.put_message(message)
    return CompletedPut(channel, request, response, message, queue_id, context, result)


def fill(broker: BrokerParts, message: Message, channel: Channel, request: Command, header: SendMessageRequestHeader) -> None:
    """Set the message's fields from the request and the broker (SEND-20, SEND-24).

    The property map is new: properties set by the retry step are lost (HAZ-17), or copied into the new map. A message without a client id
    may get one from the broker (SEND-46).
    """
    settings, profile = broker.settings, broker.profile
    written = message.properties if profile.dlq_keeps_delay else {}
    message.body = request.body
    message.flag = header.flag
    message.properties = parse_properties(header.properties, exact=profile.exact_properties) | written
    if profile.makes_unique_key and not message.properties.get(UNIQ_KEY):
        message.properties[UNIQ_KEY] = broker.unique_ids.next()
    message.properties_text = stored_properties(message.properties, header, settings, profile)
    message.born_timestamp = header.born_timestamp
    message.born_host = channel.remote
    message.store_host = broker.store_host
    message.reconsume_times = header.reconsume_times or 0


def stored_properties(
    properties: dict[str, str], header: SendMessageRequestHeader, settings: BrokerSettings, profile: Profile
) -> str | None:
    """Return the stored text: the header's own, or the map with CLUSTER and without WAIT (SEND-25).

    CLUSTER is the broker's, whatever the sender set (SEND-27). WAIT remains in the map, which decides whether the sender waits, and in some
    profiles also in the text.
    """
    if not profile.stores_parsed:
        return header.properties
    properties[CLUSTER] = settings.broker_cluster_name
    wait = None if profile.stores_wait else properties.pop(WAIT, None)
    text = properties_text(properties, trailing=profile.ends_properties)
    if wait is not None:
        properties[WAIT] = wait
    return text


def transaction_is_forbidden(settings: BrokerSettings) -> str:
    return f"the broker[{settings.broker_ip1}] sending transaction message is forbidden"
