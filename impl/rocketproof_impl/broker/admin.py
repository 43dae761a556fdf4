"""Administrators' changes of a broker: topics, groups, settings at run time (requests 17, 25, 200, 207, 215)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from rocketproof_protocol.codes import (
    DELETE_SUBSCRIPTIONGROUP,
    DELETE_TOPIC_IN_BROKER,
    INVALID_PARAMETER,
    SUCCESS,
    SYSTEM_ERROR,
    UPDATE_AND_CREATE_SUBSCRIPTIONGROUP,
    UPDATE_AND_CREATE_TOPIC,
    UPDATE_BROKER_CONFIG,
)
from rocketproof_protocol.fastjson import loads
from rocketproof_protocol.remarks import RESERVED

from ..java import JavaError, null_pointer, parse_boolean
from ..names import group_problem, is_blank, is_system_name, topic_problem
from ..remoting.command import Command, response_to
from ..remoting.dispatch import write
from ..remoting.headers import CreateTopicRequestHeader, DeleteGroupRequestHeader, DeleteTopicRequestHeader, is_null, read
from ..remoting.ports import Channel
from ..tasks import Lock, Pause
from ..topic import TopicConfig
from .attributes import ADD, MESSAGE_TYPE, MIXED, MalformedChange, altered, parsed_change
from .checking import name_problem, refuse
from .groups import group_from_data
from .parts import BrokerParts
from .settingstext import update_settings

ANSWERED = Pause("answered")
NOT_ON_A_SLAVE = "Can't modify topic or subscription group from slave broker, please execute it from master broker."
NO_MIXED = "MIXED message type is not supported."
NO_WHEEL = (
    'Cannot invoke "org.apache.rocketmq.store.timer.TimerMessageStore.getTimerMetrics()" because the return value of '
    '"org.apache.rocketmq.store.MessageStore.getTimerMessageStore()" is null'
)


class AdminBrokerProcessor:
    """Serves each request code with one method, listed in `codes`."""

    __slots__ = ("_broker", "_topics", "codes")

    def __init__(self, broker: BrokerParts) -> None:
        self._broker = broker
        self._topics = Lock()  # held during a change of a topic and its registration
        self.codes: dict[int, Callable[[Command, Command], Awaitable[None]]] = {
            UPDATE_AND_CREATE_TOPIC: self._update_and_create_topic,
            DELETE_TOPIC_IN_BROKER: self._delete_topic,
            UPDATE_AND_CREATE_SUBSCRIPTIONGROUP: self._update_and_create_group,
            DELETE_SUBSCRIPTIONGROUP: self._delete_group,
            UPDATE_BROKER_CONFIG: self._update_broker_config,
        }

    async def process(self, channel: Channel, request: Command) -> Command | None:
        """Return the response, None if it is already written. Raises JavaError.

        Changes of topics run one after the other, each including its registration.
        """
        response = response_to(request)
        if request.code not in (UPDATE_AND_CREATE_TOPIC, DELETE_TOPIC_IN_BROKER):
            await self.codes[request.code](request, response)
            return response
        await self._topics.acquire()
        try:
            if request.code == UPDATE_AND_CREATE_TOPIC and not self._broker.profile.answers_when_changed:
                return await self._answer_then_change(channel, request, response)
            await self.codes[request.code](request, response)
            return response
        finally:
            self._topics.release()

    async def _answer_then_change(self, channel: Channel, request: Command, response: Command) -> Command | None:
        """Answer a request to change a topic, then change it. The client may see SUCCESS before the change (TCM-30).

        Only the topic's name is checked first. Raises JavaError for errors in the other fields; that is a second response.
        """
        header = self._checked_header(request, response)
        if header is None:
            return response
        response.code, response.remark = SUCCESS, None
        write(channel, response)
        await ANSWERED
        await self._change_topic(header)
        return None

    async def _update_and_create_topic(self, request: Command, response: Command) -> None:
        """Store the topic and register it (TCM-30). The response keeps its initial remark. Raises JavaError."""
        header = self._checked_header(request, response)
        if header is None:
            return
        change: dict[str, str] = {}
        attributes = None
        if self._broker.profile.topic_attributes:
            try:
                change = parsed_change(header.attributes)
                if self._broker.profile.refuses_mixed and change.get(ADD + MESSAGE_TYPE) == MIXED:
                    refuse(response, INVALID_PARAMETER, NO_MIXED)
                    return
                attributes = self._altered(header.topic, change)
            except JavaError as problem:
                if isinstance(problem, MalformedChange) and not self._broker.profile.catches_malformed_attributes:
                    raise
                refuse(response, SYSTEM_ERROR, problem.message or "")
                return
        await self._change_topic(header, change, attributes)
        response.code = SUCCESS

    def _altered(self, topic: str, change: Mapping[str, str]) -> dict[str, str]:
        """Return a topic's attributes after a change. Raises JavaError for a change that the release does not accept."""
        stored = self._broker.topics.select(topic)
        return altered(None if stored is None else stored.attributes or {}, change, self._broker.profile)

    def _checked_header(self, request: Command, response: Command) -> CreateTopicRequestHeader | None:
        """Return the header of a request to change a topic, or None after rejecting the topic's name in `response`. Raises JavaError."""
        profile = self._broker.profile
        if self._is_slave(response):
            return None
        header = read(CreateTopicRequestHeader, request.ext_fields, nulls=profile.null_fields)
        if self._rejects_name(header.topic, response):
            return None
        if not profile.guards_topics:
            reserved = header.topic == self._broker.settings.broker_cluster_name
            problem = (SYSTEM_ERROR, RESERVED.format(header.topic)) if reserved else name_problem(header.topic, profile)
            if problem is not None:
                refuse(response, *problem)
                return None
        return header

    async def _change_topic(
        self, header: CreateTopicRequestHeader, change: Mapping[str, str] | None = None, attributes: dict[str, str] | None = None
    ) -> None:
        """Store the topic and register it. `change`: of its attributes by the request. `attributes`: those after the change.

        In most profiles only the name server can make a topic ordered, whatever the header contains (NS-12). Later profiles skip an equal
        topic, unless the request names attributes or the topic has some: they compare the change with the stored attributes. Raises
        JavaError for an unknown filter type.
        """
        profile = self._broker.profile
        config = TopicConfig(
            header.topic,
            header.read_queue_nums,
            header.write_queue_nums,
            header.perm,
            header.topic_filter_type,
            header.topic_sys_flag,
            order=profile.keeps_order and header.order,
            attributes=attributes,
        )
        compares = profile.skips_equal_topic and not change and not attributes
        if not (compares and config == self._broker.topics.select(header.topic)):
            self._broker.topics.update(config)
            await self._broker.registration.register_updated(config)

    async def _delete_topic(self, request: Command, response: Command) -> None:
        """Remove the topic from the table (TCM-31), and the queues of every topic without an entry.

        Later releases also remove the groups' offsets of the topic. Name servers are not notified (HAZ-36). 5.3 and later count the topic's
        timers at the end, which fails if timers are disabled.
        """
        if self._is_slave(response):
            return
        header = read(DeleteTopicRequestHeader, request.ext_fields, nulls=self._broker.profile.null_fields)
        if self._rejects_name(header.topic, response, any_name=self._broker.profile.deletes_any_name):
            return
        self._broker.topics.delete(header.topic)
        if self._broker.profile.deletes_offsets:
            self._broker.offsets.remove_topic(header.topic)
        self._broker.store.clean_unused_topics(self._broker.topics.table)
        if self._broker.profile.counts_timers and not self._broker.settings.timer_wheel_enable:
            refuse(response, SYSTEM_ERROR, NO_WHEEL)
            return
        response.code, response.remark = SUCCESS, None

    async def _update_and_create_group(self, request: Command, response: Command) -> None:
        """Store the group from the JSON body. Raises JavaError if there is no body."""
        if self._is_slave(response):
            return
        profile, data = self._broker.profile, None if request.body is None else loads(request.body)
        group = None if data is None else data.get("groupName")
        if data is not None and profile.tests_groups and (problem := group_problem(group or "", profile.group_limit)):
            refuse(response, profile.illegal_code, problem)
            return
        if group is None:
            raise null_pointer()
        self._broker.groups.update(group_from_data(group, data))
        response.code, response.remark = SUCCESS, None

    async def _delete_group(self, request: Command, response: Command) -> None:
        """Delete the group if it exists. If the request asks for it, also delete the offsets stored under that name.

        The retry topic remains. Raises JavaError if the name is absent.
        """
        if self._is_slave(response):
            return
        profile = self._broker.profile
        header = read(DeleteGroupRequestHeader, request.ext_fields, nulls=profile.null_fields)
        if is_null(header.group_name):
            raise null_pointer()
        self._broker.groups.delete(header.group_name)
        if parse_boolean((request.ext_fields or {}).get(profile.clean_offsets)):
            self._broker.offsets.remove(header.group_name)
        elif profile.remakes_groups:
            self._broker.groups.find(header.group_name)
        response.code, response.remark = SUCCESS, None

    async def _update_broker_config(self, request: Command, response: Command) -> None:
        """Change settings from lines of `name=value`. A changed permission sets a new version of the topic table and is registered
        (NS-11)."""
        changed = update_settings(self._broker.settings, (request.body or b"").decode("utf-8", "replace"))
        self._broker.settings_version.next_version(self._broker.clock.now())
        if "brokerPermission" in changed:
            self._broker.topics.data_version.next_version(self._broker.clock.now())
            await self._broker.registration.register_all(False, False, True)
        response.code, response.remark = SUCCESS, None

    def _is_slave(self, response: Command) -> bool:
        """Reject the request and return True on a slave, in profiles whose slaves accept no changes."""
        slave = self._broker.settings.broker_role == "SLAVE" and not self._broker.profile.slave_creates
        if slave:
            refuse(response, SYSTEM_ERROR, NOT_ON_A_SLAVE)
        return slave

    def _rejects_name(self, topic: str, response: Command, *, any_name: bool = False) -> bool:
        """Reject an illegal topic name (with `any_name`, only a blank name) or a system topic, and return whether it was rejected.

        Profiles without `guards_topics` accept every name, and raise JavaError for null.
        """
        if not self._broker.profile.guards_topics:
            if is_null(topic):
                raise null_pointer()
            return False
        problem = topic_problem(topic, self._broker.profile)
        if any_name and not is_blank(topic):
            problem = None
        if problem is None and self._is_system_topic(topic):
            problem = f"The topic[{topic}] is conflict with system topic."
        if problem is not None:
            refuse(response, self._broker.profile.illegal_code, problem)
        return problem is not None

    def _is_system_topic(self, topic: str) -> bool:
        """Return whether the topic is a system topic: by its name, by its prefix, or because it is the name of the broker or cluster."""
        settings = self._broker.settings
        own = (settings.broker_name, settings.broker_cluster_name, f"{settings.broker_cluster_name}_REPLY_TOPIC")
        return is_system_name(topic) or topic in own
