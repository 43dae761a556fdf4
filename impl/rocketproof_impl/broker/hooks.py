"""Hooks: what others may see of a request, before it and after it (SEND-03 to SEND-06, SEND-43, SEND-44, BACK-02)."""

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
    """What a send hook sees. The fields from `msg_id` on are known after the put; `times` is what the owner is charged for."""

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
    """What a consume hook sees of a message that comes back."""

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
    """The context of a send, None without hooks unless the profile always makes one (SEND-03).

    With it the header's properties are written anew, with region and trace switch, and are stored so: a hook changes what
    is stored (HAZ-19).
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
    """Region and trace switch, as answers and traced messages carry them (SEND-03, SEND-11)."""
    return {MSG_REGION: settings.region_id, TRACE_ON: "true" if settings.trace_on else "false"}


def execute_send_before(hooks: Hooks, context: SendMessageContext | None) -> None:
    """All hooks in order; what one throws stops none of the others (SEND-04)."""
    if context is not None:
        for hook in hooks.send:
            _quietly(hook.send_message_before, context)


def execute_send_after(hooks: Hooks, context: SendMessageContext | None, response: Command | None) -> None:
    """All hooks in order; only an answer that is still to be written gives them a code (SEND-06)."""
    if context is not None:
        if response is not None:
            context.code, context.error_msg = response.code, response.remark
        for hook in hooks.send:
            _quietly(hook.send_message_after, context)


def note_success(context: SendMessageContext, request: Command, append: AppendResult, queue_id: int, base_count: int) -> None:
    """The put succeeded: where it is, and what it costs (SEND-43)."""
    context.msg_id, context.queue_id, context.queue_offset = append.msg_id, queue_id, append.queue_offset
    context.commercial_send_stats = SEND_SUCCESS
    context.commercial_send_times = counts(append.wrote_bytes) * base_count
    context.commercial_send_size = append.wrote_bytes
    context.commercial_owner = owner(request)


def note_failure(context: SendMessageContext, request: Command) -> None:
    """The put failed: the body's size, and a count that knows no base count (SEND-44). Raises JavaError without a body."""
    if request.body is None:
        raise null_pointer()
    context.commercial_send_stats = SEND_FAILURE
    context.commercial_send_times = counts(len(request.body))
    context.commercial_send_size = len(request.body)
    context.commercial_owner = owner(request)


def counts(size: int) -> int:
    """How many units of 64 KiB a size begins: 1 for a single byte (SEND-43)."""
    return -(-size // SIZE_PER_COUNT)


def owner(request: Command) -> str | None:
    """The account that pays (SEND-45). Raises JavaError without extFields."""
    if request.ext_fields is None:
        raise null_pointer()
    return request.ext_fields.get(OWNER)


def execute_consume_after(hooks: Hooks, header: SendMessageBackRequestHeader, request: Command) -> None:
    """A message comes back: reported before anything is checked, if it names its message (BACK-02)."""
    if hooks.consume and not is_blank(header.origin_msg_id):
        context = ConsumeMessageContext(header.group, header.origin_topic, SEND_BACK, 1, owner(request))
        for hook in hooks.consume:
            _quietly(hook.consume_message_after, context)


def _quietly(hook: Callable[[object], None] | Callable[..., None], context: object) -> None:
    try:
        hook(context)
    except Exception as error:  # noqa: BLE001 - the rule says: whatever a hook throws
        log.error("hook exception: %r", error)
