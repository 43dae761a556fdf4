"""Hooks that observe a request before and after it is served (SEND-03 to SEND-06, SEND-43, SEND-44, BACK-02)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from rocketproof_profiles import Profile
from rocketproof_protocol.properties import MSG_REGION, TRACE_ON, UNIQ_KEY

from ..java import null_pointer
from ..message import parse_properties, properties_text
from ..names import is_blank
from ..remoting.command import Command
from ..remoting.dispatch import remote_address
from ..remoting.headers import SendMessageBackRequestHeader, SendMessageRequestHeader
from ..remoting.ports import Channel
from ..store.result import AppendResult
from .log import log
from .settings import BrokerSettings

SEND_SUCCESS, SEND_FAILURE, SEND_BACK = "SEND_SUCCESS", "SEND_FAILURE", "SEND_BACK"
SIZE_PER_COUNT = 65536
OWNER = "Owner"


@dataclass(slots=True)
class SendMessageContext:
    """The data passed to a send hook. The fields from `msg_id` on are set after the put; `times` is the number of units charged to the
    owner."""

    producer_group: str
    topic: str
    msg_props: str | None
    born_host: str
    broker_addr: str
    broker_region_id: str
    born_timestamp: int
    msg_unique_key: str
    msg_id: str | None = None
    queue_id: int | None = None
    queue_offset: int | None = None
    code: int | None = None
    error_msg: str | None = None
    commercial_owner: str | None = None
    commercial_send_stats: str | None = None
    commercial_send_times: int = 0
    commercial_send_size: int = 0


@dataclass(slots=True)
class ConsumeMessageContext:
    """The data passed to a consume hook about a message that is sent back."""

    consumer_group: str
    topic: str | None
    commercial_rcv_stats: str
    commercial_rcv_times: int
    commercial_owner: str | None


class SendMessageHook(Protocol):
    def send_message_before(self, context: SendMessageContext) -> None: ...

    def send_message_after(self, context: SendMessageContext) -> None: ...


class ConsumeMessageHook(Protocol):
    def consume_message_after(self, context: ConsumeMessageContext) -> None: ...


@dataclass(slots=True)
class Hooks:
    """The registered hooks, in the order in which they run."""

    send: list[SendMessageHook] = field(default_factory=list)
    consume: list[ConsumeMessageHook] = field(default_factory=list)


def build_message_context(
    hooks: Hooks, settings: BrokerSettings, channel: Channel, header: SendMessageRequestHeader, profile: Profile
) -> SendMessageContext | None:
    """Return the context of a send; None without hooks, unless the profile always creates one (SEND-03).

    The header's properties are then rewritten with region and trace switch, and stored in that form: a hook changes the stored message
    (HAZ-19).
    """
    if not hooks.send and not profile.always_traced:
        return None
    properties = parse_properties(header.properties, exact=profile.exact_properties)
    context = SendMessageContext(
        header.producer_group,
        header.topic,
        header.properties,
        remote_address(channel),
        settings.address,
        settings.region_id,
        header.born_timestamp,
        properties.get(UNIQ_KEY, ""),
    )
    properties |= traced(settings)
    header.properties = properties_text(properties, trailing=profile.ends_properties)
    return context


def traced(settings: BrokerSettings) -> dict[str, str]:
    """Return region and trace switch, which responses and traced messages contain (SEND-03, SEND-11)."""
    return {MSG_REGION: settings.region_id, TRACE_ON: "true" if settings.trace_on else "false"}


def execute_send_before(hooks: Hooks, context: SendMessageContext | None) -> None:
    """Run all hooks in order. An exception in a hook does not stop the others (SEND-04)."""
    if context is not None:
        for hook in hooks.send:
            _run_hook(hook.send_message_before, context)


def execute_send_after(hooks: Hooks, context: SendMessageContext | None, response: Command | None) -> None:
    """Run all hooks in order. The context gets a code only from a response that is still to be written (SEND-06)."""
    if context is not None:
        if response is not None:
            context.code, context.error_msg = response.code, response.remark
        for hook in hooks.send:
            _run_hook(hook.send_message_after, context)


def note_success(context: SendMessageContext, request: Command, append: AppendResult, queue_id: int, base_count: int) -> None:
    """Record a successful put: its position and its cost (SEND-43)."""
    context.msg_id, context.queue_id, context.queue_offset = append.msg_id, queue_id, append.queue_offset
    context.commercial_send_stats = SEND_SUCCESS
    context.commercial_send_times = counts(append.wrote_bytes) * base_count
    context.commercial_send_size = append.wrote_bytes
    context.commercial_owner = owner(request)


def note_failure(context: SendMessageContext, request: Command) -> None:
    """Record a failed put: the body's size, and a count without the base count (SEND-44). Raises JavaError without a body."""
    if request.body is None:
        raise null_pointer()
    context.commercial_send_stats = SEND_FAILURE
    context.commercial_send_times = counts(len(request.body))
    context.commercial_send_size = len(request.body)
    context.commercial_owner = owner(request)


def counts(size: int) -> int:
    """Return how many units of 64 KiB a size starts: 1 for a single byte (SEND-43)."""
    return -(-size // SIZE_PER_COUNT)


def owner(request: Command) -> str | None:
    """Return the account that is charged (SEND-45). Raises JavaError without extFields."""
    if request.ext_fields is None:
        raise null_pointer()
    return request.ext_fields.get(OWNER)


def execute_consume_after(hooks: Hooks, header: SendMessageBackRequestHeader, request: Command) -> None:
    """Report a message that is sent back, before anything is checked, if the request has its message id (BACK-02)."""
    if hooks.consume and not is_blank(header.origin_msg_id):
        context = ConsumeMessageContext(header.group, header.origin_topic, SEND_BACK, 1, owner(request))
        for hook in hooks.consume:
            _run_hook(hook.consume_message_after, context)


def _run_hook(hook: Callable[[object], None] | Callable[..., None], context: object) -> None:
    try:
        hook(context)
    except Exception as error:  # noqa: BLE001 - SEND-04 covers every exception of a hook
        log.error("hook exception: %r", error)
