"""What a slave takes over from its master: where to follow its log, and the tables of topics and of consumer groups.

Consumer offsets and delay offsets, which the described system copies too, stay the slave's own: no master here tells them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from rocketproof_protocol.codes import GET_ALL_SUBSCRIPTIONGROUP_CONFIG, GET_ALL_TOPIC_CONFIG, SUCCESS

from ..periodic import Periodic
from ..remoting.command import Command
from ..remoting.errors import RemotingError
from ..remoting.ports import Network
from ..topic import table_from_data
from .groups import SubscriptionGroupManager
from .log import log
from .settings import BrokerSettings
from .topics import TopicConfigManager

TIMEOUT_MILLIS = 3000


class SlaveSynchronize:
    """`follow` gets the address where the master listens for slaves. On a master nothing is ever done."""

    PERIODIC = (Periodic("sync_all", 3000, 10_000),)

    __slots__ = ("_follow", "_groups", "_network", "_settings", "_topics", "master_addr")

    def __init__(
        self,
        settings: BrokerSettings,
        topics: TopicConfigManager,
        groups: SubscriptionGroupManager,
        network: Network,
        follow: Callable[[str], None],
    ) -> None:
        self.master_addr: str | None = None
        self._settings = settings
        self._topics = topics
        self._groups = groups
        self._network = network
        self._follow = follow

    def registered(self, answer: Command) -> None:
        """A name server says who the master is, if it knows one (NS-02)."""
        if self._settings.broker_role != "SLAVE":
            return
        fields = answer.ext_fields or {}
        self.master_addr = fields.get("masterAddr")
        if address := fields.get("haServerAddr"):
            self._follow(address)

    async def sync_all(self) -> None:
        """Make each table the master's, if that has another version (requests 21 and 201); failures are logged and nothing else."""
        address = self.master_addr
        if self._settings.broker_role != "SLAVE" or address is None or address == self._settings.address:
            return
        await self._sync("topic", address, GET_ALL_TOPIC_CONFIG, self._take_topics)
        await self._sync("group", address, GET_ALL_SUBSCRIPTIONGROUP_CONFIG, self._groups.take)

    async def _sync(self, what: str, address: str, code: int, take: Callable[[Any], bool]) -> None:
        """Ask for a table and let `take` have it, which says whether it is another one."""
        try:
            answer = await self._network.call(address, Command(code), TIMEOUT_MILLIS)
            if answer.code != SUCCESS or not answer.body:
                log.error("sync of %s table: %s answered %d %s", what, address, answer.code, answer.remark)
            elif take(json.loads(answer.body)):
                log.info("Update slave %s config from master, %s", what, address)
        except (RemotingError, ValueError, LookupError, TypeError, AttributeError) as problem:
            log.error("sync of %s table failed, %s: %s", what, address, problem)

    def _take_topics(self, data: Any) -> bool:
        table, version = table_from_data(data)
        if version is None or version == self._topics.data_version:
            return False
        self._topics.data_version = version
        self._topics.table.clear()
        self._topics.table.update(table)
        self._topics.persist()
        return True
