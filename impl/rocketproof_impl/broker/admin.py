"""What administrators change in a broker: topics, groups, settings at run time (requests 17, 25, 200, 207, 215)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from rocketproof_protocol.codes import (
    DELETE_SUBSCRIPTIONGROUP,
    DELETE_TOPIC_IN_BROKER,
    SUCCESS,
    SYSTEM_ERROR,
    UPDATE_AND_CREATE_SUBSCRIPTIONGROUP,
    UPDATE_AND_CREATE_TOPIC,
    UPDATE_BROKER_CONFIG,
)
from rocketproof_protocol.fastjson import loads
from rocketproof_protocol.remarks import RESERVED
from rocketproof_protocol.topics import SYSTEM_PREFIX, SYSTEM_TOPICS

from ..java import null_pointer, parse_boolean
from ..names import group_problem, is_blank, topic_problem
from ..remoting.command import Command, response_to
from ..remoting.dispatch import write
from ..remoting.headers import CreateTopicRequestHeader, DeleteGroupRequestHeader, DeleteTopicRequestHeader, is_null, read
from ..remoting.ports import Channel
from ..tasks import Lock, Pause
from ..topic import TopicConfig
from .checking import named_wrongly, refuse
from .groups import group_from_data
from .parts import BrokerParts
from .settingstext import update_settings

ANSWERED = Pause("answered")
NOT_ON_A_SLAVE = "Can't modify topic or subscription group from slave broker, please execute it from master broker."
NO_WHEEL = (
    'Cannot invoke "org.apache.rocketmq.store.timer.TimerMessageStore.getTimerMetrics()" because the return value of '
    '"org.apache.rocketmq.store.MessageStore.getTimerMessageStore()" is null'
)


class AdminBrokerProcessor:
    """One method a request code, in `codes`."""

    __slots__ = ("_broker", "_topics", "codes")

    def __init__(self, broker: BrokerParts) -> None:
        self._broker = broker
        self._topics = Lock()  # one change of a topic at a time, with its registration
        self.codes: dict[int, Callable[[Command, Command], Awaitable[None]]] = {
            UPDATE_AND_CREATE_TOPIC: self._update_and_create_topic,
            DELETE_TOPIC_IN_BROKER: self._delete_topic,
            UPDATE_AND_CREATE_SUBSCRIPTIONGROUP: self._update_and_create_group,
            DELETE_SUBSCRIPTIONGROUP: self._delete_group,
            UPDATE_BROKER_CONFIG: self._update_broker_config,
        }

    async def process(self, channel: Channel, request: Command) -> Command | None:
        """The answer, None if it has been given. A topic is updated or deleted once the change before it has ended, its registration
        included. Raises JavaError."""
        response = response_to(request)
        if request.code not in (UPDATE_AND_CREATE_TOPIC, DELETE_TOPIC_IN_BROKER):
            await self.codes[request.code](request, response)
            return response
        await self._topics.acquire()
        try:
            if request.code == UPDATE_AND_CREATE_TOPIC and not self._broker.profile.answers_when_changed:
                return await self._answer_before(channel, request, response)
            await self.codes[request.code](request, response)
            return response
        finally:
            self._topics.release()

    async def _answer_before(self, channel: Channel, request: Command, response: Command) -> Command | None:
        """Answer a request to change a topic whose name will do, whoever waits, and change it then: who is told SUCCESS may find it as it
        was (TCM-30). Raises JavaError, also for what is wrong with the rest of such a request, which is a second answer."""
        header = self._named(request, response)
        if header is None:
            return response
        response.code, response.remark = SUCCESS, None
        write(channel, response)
        await ANSWERED
        await self._change_topic(header)
        return None

    async def _update_and_create_topic(self, request: Command, response: Command) -> None:
        """Put the topic into the table and register (TCM-30). The answer keeps the remark it was born with. Raises JavaError."""
        header = self._named(request, response)
        if header is not None:
            await self._change_topic(header)
            response.code = SUCCESS

    def _named(self, request: Command, response: Command) -> CreateTopicRequestHeader | None:
        """The header of a request to change a topic, None if `response` refuses it for the topic's name. Raises JavaError."""
        profile = self._broker.profile
        if self._is_slave(response):
            return None
        header = read(CreateTopicRequestHeader, request.ext_fields, nulls=profile.null_fields)
        if self._is_not_for_administrators(header.topic, response):
            return None
        if not profile.guards_topics:
            reserved = header.topic == self._broker.settings.broker_cluster_name
            refused = (SYSTEM_ERROR, RESERVED.format(header.topic)) if reserved else named_wrongly(header.topic, profile)
            if refused is not None:
                refuse(response, *refused)
                return None
        return header

    async def _change_topic(self, header: CreateTopicRequestHeader) -> None:
        """The header may say that the topic is ordered, but in most profiles only the name server can make it so (NS-12). Later ones
        leave an equal topic alone. Raises JavaError for a filter type that is none."""
        profile = self._broker.profile
        config = TopicConfig(
            header.topic,
            header.read_queue_nums,
            header.write_queue_nums,
            header.perm,
            header.topic_filter_type,
            header.topic_sys_flag,
            order=profile.keeps_order and header.order,
            attributes={} if profile.topic_attributes else None,
        )
        if not (profile.skips_equal_topic and config == self._broker.topics.select(header.topic)):
            self._broker.topics.update(config)
            await self._broker.registration.register_updated(config)

    async def _delete_topic(self, request: Command, response: Command) -> None:
        """Take the topic out of the table (TCM-31), and the queues of every topic that is not there; in later releases what groups have
        told of it, too. Name servers are not told (HAZ-36). 5.3 and later count a topic's timers, and fail behind all that where there
        are none."""
        if self._is_slave(response):
            return
        header = read(DeleteTopicRequestHeader, request.ext_fields, nulls=self._broker.profile.null_fields)
        if self._is_not_for_administrators(header.topic, response, any_name=self._broker.profile.deletes_any_name):
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
        """The body is the group as JSON. Raises JavaError if there is none."""
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
        """Forget the group, if there is one, and if it is asked for the offsets of that name, whether there is one or not; the retry
        topic stays. Raises JavaError for no name."""
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
        """Lines of `name=value`. A changed permission is a new version of the topic table, and is registered (NS-11)."""
        changed = update_settings(self._broker.settings, (request.body or b"").decode("utf-8", "replace"))
        self._broker.settings_version.next_version(self._broker.clock.now())
        if "brokerPermission" in changed:
            self._broker.topics.data_version.next_version(self._broker.clock.now())
            await self._broker.registration.register_all(False, False, True)
        response.code, response.remark = SUCCESS, None

    def _is_slave(self, response: Command) -> bool:
        """Whether this is a slave, in the profiles whose slaves take no changes."""
        slave = self._broker.settings.broker_role == "SLAVE" and not self._broker.profile.slave_creates
        if slave:
            refuse(response, SYSTEM_ERROR, NOT_ON_A_SLAVE)
        return slave

    def _is_not_for_administrators(self, topic: str, response: Command, *, any_name: bool = False) -> bool:
        """Whether the name is not legal, with `any_name` only if it is blank, or the topic is one of the broker's own. Raises JavaError for
        null in profiles that guard no topics: any other name will do there."""
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
        """By name, by prefix, or because the broker is called so."""
        settings = self._broker.settings
        own = (settings.broker_name, settings.broker_cluster_name, f"{settings.broker_cluster_name}_REPLY_TOPIC")
        return topic in SYSTEM_TOPICS or topic.startswith(SYSTEM_PREFIX) or topic in own
