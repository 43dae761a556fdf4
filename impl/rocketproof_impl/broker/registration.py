"""A broker's registrations at the name servers: at its start, every 30 seconds, and after each change (NS-10).

A registration contains the whole table, so the next one makes up for a lost one (HAZ-11). An old one that arrives late is accepted
nevertheless, because name servers compare versions by inequality (HAZ-37). In later profiles a changed topic is registered alone, with the
table's version at the time when the request is written. Another change included in this version is hidden (HAZ-55).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from rocketproof_profiles import Profile
from rocketproof_protocol.codes import QUERY_DATA_VERSION, REGISTER_BROKER, REGISTER_TOPIC, SUCCESS, UNREGISTER_BROKER
from rocketproof_protocol.fastjson import loads

from ..java import utf8
from ..periodic import Periodic
from ..remoting.command import Command
from ..remoting.errors import RemotingError
from ..remoting.ports import Network
from ..route import QueueData, queue_to_data
from ..tasks import Lock, Pause
from ..topic import TopicConfig, is_readable, is_writeable, table_to_data, version_from_data, version_to_data
from .log import log
from .settings import BrokerSettings
from .topics import TopicConfigManager

WANTED = Pause("registration wanted")
TIMEOUT_MILLIS = 6000
UNREADABLE = (ValueError, LookupError, TypeError, AttributeError)
"""The exceptions of reading another process's JSON."""
TOPIC_MILLIS = 3000
LEAVE_MILLIS = 3000


def period_millis(configured: int = 30_000) -> int:
    """Return the time between periodic registrations: the configured one, limited to 10 to 60 seconds (NS-10)."""
    return max(10_000, min(configured, 60_000))


def registered_table(
    table: dict[str, TopicConfig], broker_permission: int, *, masks: bool = False, flags: bool = False
) -> dict[str, TopicConfig]:
    """Return the topics as a registration contains them (NS-11).

    A broker without READ or WRITE sends copies with its own permission; with `masks`, the intersection of both permissions. In the copies,
    filter type and order have their defaults, and so has sysFlag unless `flags` keeps it. The table itself is unchanged (HAZ-06). A broker
    with both permissions sends the table.
    """
    if is_readable(broker_permission) and is_writeable(broker_permission):
        return table
    return {
        name: TopicConfig(
            name,
            config.read_queue_nums,
            config.write_queue_nums,
            config.perm & broker_permission if masks else broker_permission,
            topic_sys_flag=config.topic_sys_flag if flags else 0,
        )
        for name, config in table.items()
    }


class Registration:
    """A broker's registrations, one at a time: a one-way registration waits for a slow one before it. `registered` gets the first
    response."""

    PERIODIC = (Periodic("register_periodically", 10_000, period_millis()),)

    __slots__ = ("_lock", "_network", "_profile", "_settings", "_topics", "registered")

    def __init__(
        self,
        settings: BrokerSettings,
        profile: Profile,
        topics: TopicConfigManager,
        network: Network,
        registered: Callable[[Command], None],
    ) -> None:
        self._settings = settings
        self._profile = profile
        self._topics = topics
        self._network = network
        self._lock = Lock()
        self.registered = registered

    async def register_all(self, check_order_config: bool, oneway: bool, force: bool) -> None:
        """Send the table to every name server, one after the other. Failures are only logged (HAZ-11).

        Unless `force`, the name servers are first asked for their versions (NS-09), and nothing is sent if none differs. Releases up to 4.2
        never ask (TCM-34). With `check_order_config`, the first response's order topics are applied to the table (NS-12). A one-way
        registration has no response.
        """
        await WANTED
        await self._lock.acquire()
        try:
            if force or await self._needed():
                await self._register(self._registered(self._topics.table, alone=False), check_order_config, oneway)
        finally:
            self._lock.release()

    async def register_created(self, config: TopicConfig) -> None:
        """Register a topic that a message has created, or whose unit flag was set: one-way with all others, or alone (TCM-17, TCM-32)."""
        if self._profile.registers_created_alone:
            await self._register_alone(config)
        else:
            await self.register_all(False, True, True)

    async def register_updated(self, config: TopicConfig) -> None:
        """Register a topic that an administrator has changed: with all others, or alone (TCM-30)."""
        if self._profile.registers_updated_alone:
            await self._register_alone(config)
        else:
            await self.register_all(True, False, True)

    async def _register_alone(self, config: TopicConfig) -> None:
        """Send one topic to every name server, without asking for versions, and wait for the responses (TCM-34).

        The version is the table's when the request is written, including later changes (HAZ-55).
        """
        await WANTED
        if self._profile.registers_topics and self._settings.enable_single_topic_register:
            await self._register_without_version(config)
            return
        await self._lock.acquire()
        try:
            await self._register(self._registered({config.topic_name: config}, alone=True), True, False)
        finally:
            self._lock.release()

    async def _register_without_version(self, config: TopicConfig) -> None:
        """Register one topic without a version (request 217), if `enableSingleTopicRegister` is on.

        No change hides another one, and a name server that does not know the broker ignores the request. A name server that does not know
        the request may not answer it; the caller then waits for the timeout.
        """
        queues = self.queues_of(config, alone=True)
        request = Command(REGISTER_TOPIC, {"topic": config.topic_name}, _json({"queueDatas": [queue_to_data(queues)]}))
        await self._call_all(request, oneway=False, millis=TOPIC_MILLIS)

    async def _register(self, sent: dict[str, TopicConfig], check_order_config: bool, oneway: bool) -> None:
        answers = await self._send(sent, oneway)
        if answers:
            self.registered(answers[0])
            if check_order_config:
                self._apply_order(answers[0])

    async def register_periodically(self) -> None:
        """Run one round of the periodic task: wait for responses, apply order topics, and force, because forceRegister is on (NS-10)."""
        await self.register_all(True, False, True)

    async def unregister_all(self) -> None:
        """Unregister at every name server (request 104). Failures are only logged."""
        request = Command(UNREGISTER_BROKER, self._identity())
        for address in self._settings.name_servers:
            try:
                await self._network.call(address, request, LEAVE_MILLIS)
            except RemotingError as error:
                log.warning("unregister broker at name server %s failed: %s", address, error)

    async def _needed(self) -> bool:
        """Return whether a name server has another version or does not respond (NS-09)."""
        body = _json(version_to_data(self._topics.data_version))
        request = Command(QUERY_DATA_VERSION, self._identity(), body)
        needed = False
        for address in self._settings.name_servers:
            try:
                answer = await self._network.call(address, request, TIMEOUT_MILLIS)
            except RemotingError as error:
                log.error("query data version from name server %s failed: %s", address, error)
                needed = True
            else:
                needed |= answer.code == SUCCESS and self._differs(answer)
        return needed

    def _differs(self, answer: Command) -> bool:
        """Return the name server's answer, or whether the version in its body differs.

        True if it has neither, or if its body is not a version.
        """
        try:
            if answer.body and version_from_data(loads(answer.body)) != self._topics.data_version:
                return True
        except UNREADABLE as problem:
            log.error("a name server's version cannot be read: %r", problem)
            return True
        return (answer.ext_fields or {}).get("changed") != "false"

    async def _send(self, sent: dict[str, TopicConfig], oneway: bool) -> list[Command]:
        """Register at every name server (request 103). Return the successful responses, none if one-way."""
        return await self._call_all(Command(REGISTER_BROKER, self._header(), self._body(sent)), oneway)

    async def _call_all(self, request: Command, oneway: bool, millis: int = TIMEOUT_MILLIS) -> list[Command]:
        answers = []
        for address in self._settings.name_servers:
            try:
                if oneway:
                    await self._network.post(address, request)
                    continue
                answer = await self._network.call(address, request, millis)
            except RemotingError as error:
                log.warning("register broker at name server %s failed: %s", address, error)
                continue
            if answer.code == SUCCESS:
                answers.append(answer)
            else:
                log.warning("name server %s refused the registration: %d %s", address, answer.code, answer.remark)
        return answers

    def _identity(self) -> dict[str, str]:
        settings = self._settings
        return {
            "brokerName": settings.broker_name,
            "brokerAddr": settings.address,
            "clusterName": settings.broker_cluster_name,
            "brokerId": str(settings.broker_id),
        }

    def _header(self) -> dict[str, str]:
        return self._identity() | {"haServerAddr": self._settings.ha_address}

    def _body(self, sent: dict[str, TopicConfig]) -> bytes:
        return _json({"filterServerList": [], "topicConfigSerializeWrapper": table_to_data(sent, self._topics.data_version)})

    def queues_of(self, config: TopicConfig, *, alone: bool) -> QueueData:
        """Return one topic's queue data as it is registered, `alone` or with all others."""
        entry = self._registered({config.topic_name: config}, alone=alone)[config.topic_name]
        return QueueData(self._settings.broker_name, entry.read_queue_nums, entry.write_queue_nums, entry.perm, entry.topic_sys_flag)

    def _registered(self, table: dict[str, TopicConfig], *, alone: bool) -> dict[str, TopicConfig]:
        """Return the table, or the topic that is registered `alone`, as it is sent."""
        profile = self._profile
        masks = profile.masks_alone if alone else profile.masks_permission
        return registered_table(table, self._settings.broker_permission, masks=masks, flags=profile.registers_flag)

    def _apply_order(self, answer: Command) -> None:
        """Set the table's order flags to those of the response, if it contains order topics (NS-12)."""
        try:
            listed = loads(answer.body).get("table") if answer.body else None
            if listed is not None:
                self._topics.update_order(set(listed))
        except UNREADABLE as problem:
            log.error("a name server's order topics cannot be read: %r", problem)


def _json(data: Any) -> bytes:
    return utf8(json.dumps(data, separators=(",", ":"), ensure_ascii=False))
