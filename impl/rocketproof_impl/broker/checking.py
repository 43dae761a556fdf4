"""The checks of a send request before anything is put: preSend and msgCheck (SEND-10 to SEND-13, CHK-01 to CHK-11).

The order of the checks is guaranteed. The first failing check determines the response, and the effects of earlier ones remain: a topic that
is created here stays, even if its first message is rejected.
"""

from __future__ import annotations

import time

from rocketproof_profiles import Profile
from rocketproof_protocol.codes import NO_PERMISSION, SYSTEM_ERROR, TOPIC_NOT_EXIST, UNDECIDED
from rocketproof_protocol.flags import READ, WRITE
from rocketproof_protocol.remarks import CONFLICTING, FORBIDDEN, NO_WRITING, NOT_EXIST, QUEUE_ILLEGAL, RESERVED
from rocketproof_protocol.topics import RETRY_PREFIX

from ..java import null_pointer
from ..names import topic_problem
from ..remoting.command import Command, response_to
from ..remoting.dispatch import remote_address
from ..remoting.faq import suggestion
from ..remoting.headers import SendMessageRequestHeader, is_null
from ..remoting.ports import Channel
from ..tasks import Pause
from ..topic import TopicConfig
from .hooks import traced
from .parts import BrokerParts
from .settings import BrokerSettings
from .topics import UNIT, UNIT_SUB

RETRY_TOPIC_QUEUE_NUMS = 1

FAILED = Pause("failed")
CHECKED = Pause("checked")
APPEND = Pause("append")  # the callers pause here, before they look up the topic again


async def pre_send(broker: BrokerParts, channel: Channel, request: Command, header: SendMessageRequestHeader) -> Command:
    """Check a send request. Return its response, which is a rejection unless its code is UNDECIDED (SEND-13).

    The response has the request's opaque (SEND-10), and region and trace switch in every case (SEND-11, SEND-46). A broker rejects all
    requests before its start time (SEND-12).
    """
    response = response_to(request)
    response.ext_fields = traced(broker.settings)
    starts = broker.settings.start_accept_send_request_timestamp
    if broker.clock.now() < starts:
        refuse(response, SYSTEM_ERROR, f"broker unable to service, until {human_time(starts)}")
        return response
    response.code = UNDECIDED
    await msg_check(broker, channel, header, response)
    return response


def human_time(millis: int) -> str:
    """Return local time as `yyyy-MM-dd HH:mm:ss,SSS`."""
    return f"{time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(millis // 1000))},{millis % 1000:03d}"


def refuse(response: Command, code: int, remark: str) -> None:
    """Make the response a rejection with this code and remark."""
    response.code, response.remark = code, remark


async def msg_check(broker: BrokerParts, channel: Channel, header: SendMessageRequestHeader, response: Command) -> None:
    """Check broker, topic name, topic and queue, in this order. The first failure is the response.

    An unknown topic (CHK-05) that cannot be created does not exist, even if only the lock was not acquired (CHK-09). The topic's own
    permission is not checked (CHK-11).
    """
    topic = header.topic
    problem = forbidden_by_broker(broker, topic) or forbidden_by_name(topic, broker.profile)
    if problem is not None:
        refuse(response, *problem)
        return
    config = broker.topics.select(topic)
    if config is None:
        config = await create_topic(broker, channel, header)
    if config is None:
        refuse(response, TOPIC_NOT_EXIST, f"{NOT_EXIST.format(topic)}{suggestion(broker.profile.faq)}")
        return
    await CHECKED.carrying(config)
    if is_queue_id_illegal(header.queue_id, config):
        refuse(
            response,
            broker.profile.illegal_code,
            f"{QUEUE_ILLEGAL.format(header.queue_id)}, {config} Producer: {remote_address(channel)}",
        )


def forbidden_by_broker(broker: BrokerParts, topic: str) -> tuple[int, str] | None:
    """Return the rejection by a broker without WRITE, which rejects only order topics (CHK-01, HAZ-06).

    Raises JavaError if the topic is null.
    """
    if not broker.settings.writable and broker.topics.is_order_topic(topic):
        return NO_PERMISSION, sending_is_forbidden(broker.settings)
    return None


def sending_is_forbidden(settings: BrokerSettings) -> str:
    return NO_WRITING.format(settings.broker_ip1)


def forbidden_by_name(topic: str, profile: Profile) -> tuple[int, str] | None:
    """Return the rejection of a topic name, or None.

    Later releases check the characters (CHK-02) and a list (CHK-03, HAZ-42). Earlier ones reject only the template (CHK-04). One in between
    checks the characters and the template. Raises JavaError if the topic is null and its characters are not checked.
    """
    if profile.check_names:
        wrong = name_problem(topic, profile)
    elif is_null(topic):
        raise null_pointer()
    else:
        wrong = (SYSTEM_ERROR, RESERVED.format(topic)) if profile.reserves_template and topic == profile.template else None
    if wrong is None and topic in profile.forbidden:
        wrong = NO_PERMISSION, FORBIDDEN.format(topic)
    return wrong


def name_problem(topic: str, profile: Profile) -> tuple[int, str] | None:
    """Return the rejection of a name in profiles that check names: illegal text, or the template's name. Return None otherwise."""
    if not profile.check_names:
        return None
    problem = topic_problem(topic, profile)
    if problem is not None:
        return profile.illegal_code, problem
    return (SYSTEM_ERROR, CONFLICTING) if profile.reserves_template and topic == profile.template else None


async def create_topic(broker: BrokerParts, channel: Channel, header: SendMessageRequestHeader) -> TopicConfig | None:
    """Return the unknown topic, created from the sender's template, or without a template for a retry topic (CHK-07, CHK-08).

    The template is tried first for retry topics too, so these get the template's queues if it may be used (HAZ-41).
    """
    topic = header.topic
    sys_flag = topic_sys_flag(topic, header.unit_mode)
    remote, nums = remote_address(channel), header.default_topic_queue_nums
    config = await broker.topics.create_topic_in_send_message(topic, header.default_topic, remote, nums, sys_flag)
    if config is None:
        await FAILED
        if topic.startswith(RETRY_PREFIX):
            config = await broker.topics.create_topic_in_send_message_back(topic, RETRY_TOPIC_QUEUE_NUMS, READ | WRITE, sys_flag)
            if config is None:
                await FAILED
    return config


def topic_sys_flag(topic: str, unit_mode: bool) -> int:
    """Return the flag of a topic created in unit mode: UNIT_SUB for retry topics, UNIT for others (CHK-06)."""
    if not unit_mode:
        return 0
    return UNIT_SUB if topic.startswith(RETRY_PREFIX) else UNIT


def is_queue_id_illegal(queue_id: int, config: TopicConfig) -> bool:
    """Return whether the id is not below the larger of the two queue counts. A negative id is never illegal (CHK-10, HAZ-16)."""
    return queue_id >= max(config.write_queue_nums, config.read_queue_nums)
