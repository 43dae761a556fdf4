"""What a slave copies from its master: the address for replication, topics, consumer groups, consumer offsets and delay offsets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rocketproof_protocol.codes import (
    GET_ALL_CONSUMER_OFFSET,
    GET_ALL_DELAY_OFFSET,
    GET_ALL_SUBSCRIPTIONGROUP_CONFIG,
    GET_ALL_TOPIC_CONFIG,
    SUCCESS,
)
from rocketproof_protocol.fastjson import loads

from ..periodic import Periodic
from ..remoting.command import Command
from ..remoting.errors import RemotingError
from ..remoting.ports import Network
from ..store.delay import ScheduleMessageService
from ..topic import table_from_data
from .groups import SubscriptionGroupManager
from .log import log
from .offsets import ConsumerOffsetManager
from .registration import UNREADABLE
from .settings import BrokerSettings
from .topics import TopicConfigManager

TIMEOUT_MILLIS = 3000


class SlaveSynchronize:
    """`follow` gets the address at which the master listens for slaves. Does nothing on a master."""

    PERIODIC = (Periodic("sync_all", 3000, 10_000),)

    __slots__ = ("_delays", "_follow", "_groups", "_network", "_offsets", "_settings", "_topics", "master_addr")

    def __init__(
        self,
        settings: BrokerSettings,
        topics: TopicConfigManager,
        groups: SubscriptionGroupManager,
        offsets: ConsumerOffsetManager,
        delays: ScheduleMessageService,
        network: Network,
        follow: Callable[[str], None],
    ) -> None:
        self.master_addr: str | None = None
        self._settings = settings
        self._topics = topics
        self._groups = groups
        self._offsets = offsets
        self._delays = delays
        self._network = network
        self._follow = follow

    def registered(self, answer: Command) -> None:
        """Read the master's addresses from a name server's response, if it has them (NS-02)."""
        if self._settings.broker_role != "SLAVE":
            return
        fields = answer.ext_fields or {}
        self.master_addr = fields.get("masterAddr")
        if address := fields.get("haServerAddr"):
            self._follow(address)

    async def sync_all(self) -> None:
        """Copy the master's data, tables only if their versions differ (requests 21, 43, 45, 201). Failures are only logged."""
        address = self.master_addr
        if self._settings.broker_role != "SLAVE" or address is None or address == self._settings.address:
            return
        await self._sync("topics", address, GET_ALL_TOPIC_CONFIG, lambda text: self._take_topics(loads(text)))
        await self._sync("consumer offsets", address, GET_ALL_CONSUMER_OFFSET, self._offsets.take)
        await self._sync("delay offsets", address, GET_ALL_DELAY_OFFSET, self._delays.take)
        await self._sync("groups", address, GET_ALL_SUBSCRIPTIONGROUP_CONFIG, lambda text: self._groups.take(loads(text)))

    async def _sync(self, what: str, address: str, code: int, take: Callable[[str], None]) -> None:
        """Request data from the master and pass the response's text to `take`."""
        try:
            answer = await self._network.call(address, Command(code), TIMEOUT_MILLIS)
            if answer.code == SUCCESS and answer.body:
                take(answer.body.decode())
            else:
                log.error("sync of %s: %s answered %d %s", what, address, answer.code, answer.remark)
        except (RemotingError, *UNREADABLE) as problem:
            log.error("sync of %s failed, %s: %s", what, address, problem)

    def _take_topics(self, data: Any) -> None:
        table, version = table_from_data(data)
        if version is not None and version != self._topics.data_version:
            self._topics.data_version = version
            self._topics.table.clear()
            self._topics.table.update(table)
            self._topics.persist()
