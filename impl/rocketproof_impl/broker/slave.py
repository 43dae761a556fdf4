"""What a slave takes over from its master: where to follow its log, and the table of topics.

Consumer offsets, delay offsets and subscription groups, which the described system copies too, stay the slave's own: nobody here
reads them from a slave.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from rocketproof_protocol.codes import GET_ALL_TOPIC_CONFIG, SUCCESS

from ..periodic import Periodic
from ..remoting.command import Command
from ..remoting.errors import RemotingError
from ..remoting.ports import Network
from ..topic import table_from_data
from .log import log
from .settings import BrokerSettings
from .topics import TopicConfigManager

TIMEOUT_MILLIS = 3000


class SlaveSynchronize:
    """`follow` gets the address where the master listens for slaves. On a master nothing is ever done."""

    PERIODIC = (Periodic("sync_all", 3000, 10_000),)

    __slots__ = ("_follow", "_network", "_settings", "_topics", "master_addr")

    def __init__(self, settings: BrokerSettings, topics: TopicConfigManager, network: Network, follow: Callable[[str], None]) -> None:
        self.master_addr: str | None = None
        self._settings = settings
        self._topics = topics
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
        """Make the table the master's, if that has another version (request 21); failures are logged and nothing else."""
        address = self.master_addr
        if self._settings.broker_role != "SLAVE" or address is None or address == self._settings.address:
            return
        try:
            answer = await self._network.call(address, Command(GET_ALL_TOPIC_CONFIG), TIMEOUT_MILLIS)
            if answer.code != SUCCESS or not answer.body:
                log.error("SyncTopicConfig: %s answered %d %s", address, answer.code, answer.remark)
                return
            table, version = table_from_data(json.loads(answer.body))
        except (RemotingError, ValueError) as problem:
            log.error("SyncTopicConfig Exception, %s: %s", address, problem)
            return
        if version is not None and version != self._topics.data_version:
            self._topics.data_version = version
            self._topics.table.clear()
            self._topics.table.update(table)
            self._topics.persist()
            log.info("Update slave topic config from master, %s", address)
