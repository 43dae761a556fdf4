"""How a broker serves a send request. Start here.

`process` is called with a request of code 10, 310, 320 or 36. A message goes through these steps, in this order:

    checking     is the broker open, is the name legal, is the topic known or can it be made, is the queue one of its queues
    here         which queue, what is stored as properties
    retry        a retry topic's group, and the dead-letter topic
    transaction  the gate for transactional messages, and half messages
    store        the put
    answering    status to code and remark, statistics, the answer itself

A step that refuses gives its answer, and the later ones are not reached. What differs between releases is a switch of the
profile.
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
    """SendMessageProcessor: from a request to its answer, or to the future of it (SEND-07)."""

    __slots__ = ("_broker",)

    def __init__(self, broker: BrokerParts) -> None:
        self._broker = broker

    async def process(self, channel: Channel, request: Command) -> Command | Future[Command | None] | None:
        """Single message, batch, or a message that comes back (SEND-01, SEND-05). A code without a send header is answered with
        nothing (SEND-02).

        In an asynchronous profile everything behind the put is in the future, and so is what it throws (SEND-07, REM-09).
        Raises JavaError for what goes wrong before.
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
        """Whether no send is taken at the moment (REM-06)."""
        if self._broker.profile.slave_rejects and self._broker.settings.broker_role == "SLAVE":
            return True
        store = self._broker.store
        return store.is_os_page_cache_busy() or store.is_transient_store_pool_deficient()

    def _answer(self, sent: Command | CompletedPut, context: SendMessageContext | None, *, again: bool) -> Command | None:
        """A refusal as it is, or the put's result mapped; then the after-hooks of the profiles that have them (SEND-06). `again`: an answer
        that has been written is given once more."""
        response = sent if isinstance(sent, Command) else handle_put_message_result(self._broker, sent)
        if again and isinstance(sent, CompletedPut):
            response = sent.response
        if self._broker.profile.after_hooks:
            execute_send_after(self._broker.hooks, context, response)
        return response

    def _finished(self, answer: Callable[[], T]) -> T | Future[T]:
        """The answer, or its future in an asynchronous profile (SEND-07)."""
        return completed(answer) if self._broker.profile.asynchronous else answer()


def message_context(broker: BrokerParts, channel: Channel, request: Command, header: SendMessageRequestHeader) -> SendMessageContext | None:
    """What hooks will see (SEND-03). Where it is always made, a request without a body gets no further, and some profiles want a topic
    first. Raises JavaError."""
    profile = broker.profile
    if profile.wants_topic and is_null(header.topic):
        raise null_pointer()
    if profile.wants_request_body and request.body is None:
        raise null_pointer()
    return build_message_context(broker.hooks, broker.settings, channel, header, profile)


def completed(answer: Callable[[], T]) -> Future[T]:
    """A future finished with what the function gives or throws."""
    future: Future[T] = Future()
    try:
        future.complete(answer())
    except Exception as error:  # noqa: BLE001 - whatever it is, the future has it
        future.fail(error)
    return future


async def send_message(
    broker: BrokerParts, channel: Channel, request: Command, header: SendMessageRequestHeader, context: SendMessageContext | None
) -> Command | CompletedPut:
    """One message, from its checks to its put: a refusal, or a result to be answered.

    The topic is looked up again after the checks, as it may have been deleted since (SEND-21). The retry step may change topic and
    queue or refuse (SEND-23). A transactional message is refused last, when its topic is made already (TRX-03, HAZ-40).
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
    """Everything the sender and the broker say of the message (SEND-20, SEND-24).

    The map of properties is a new one: what the retry step wrote into the old one is lost (HAZ-17), or comes into the new one. A
    message may get an id that its client did not give it (SEND-46).
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
    """The text that is stored: the header's own, or the map with CLUSTER and without WAIT (SEND-25).

    CLUSTER is the broker's, whatever the sender wrote (SEND-27). WAIT stays in the map, where it decides who waits, and in some
    profiles in the text too.
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
