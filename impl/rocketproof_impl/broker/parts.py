"""The parts of a broker: settings, tables, clients, store. Its processors use only these."""

from __future__ import annotations

from rocketproof_profiles import Profile

from ..ports import Clock, Disk, Randomness
from ..remoting.ports import Network
from ..store.service import MessageStore
from ..topic import DataVersion, TopicConfig
from ..unique import UniqueIds
from .clients import ConsumerManager, ProducerManager
from .groups import SubscriptionGroupManager
from .hooks import Hooks
from .locks import RebalanceLockManager
from .offsets import ConsumerOffsetManager
from .registration import Registration
from .settings import BrokerSettings
from .slave import SlaveSynchronize
from .statistics import BrokerStatistics
from .topics import TopicConfigManager


class BrokerParts:
    """The parts of a broker. `settings_version` counts changes of the settings at run time."""

    __slots__ = (
        "clock",
        "consumers",
        "groups",
        "hooks",
        "locks",
        "offsets",
        "producers",
        "profile",
        "random",
        "registration",
        "settings",
        "settings_version",
        "slave",
        "statistics",
        "store",
        "store_host",
        "topics",
        "unique_ids",
    )

    def __init__(
        self,
        settings: BrokerSettings,
        profile: Profile,
        clock: Clock,
        disk: Disk,
        network: Network,
        random: Randomness,
        host: str | None = None,
    ) -> None:
        """`host` is the IP address of brokerIP1, None if brokerIP1 is an IP address.

        Records contain it. As in the release, a later change of brokerIP1 does not change it.
        """
        self.settings = settings
        self.store_host = (host or settings.broker_ip1, settings.listen_port)
        self.profile = profile
        self.clock = clock
        self.random = random
        self.settings_version = DataVersion(clock.now())
        self.hooks = Hooks()
        self.statistics = BrokerStatistics()
        self.store = MessageStore(settings, profile, clock, disk)
        self.groups = SubscriptionGroupManager(settings, profile, disk, clock)
        self.topics = TopicConfigManager(settings, profile, clock, disk, self._register)
        self.offsets = ConsumerOffsetManager(settings, profile, disk)
        self.producers = ProducerManager(clock)
        self.consumers = ConsumerManager(clock)
        self.locks = RebalanceLockManager(clock)
        follow, delays = self.store.ha_client.update_master_address, self.store.schedule
        self.slave = SlaveSynchronize(settings, self.topics, self.groups, self.offsets, delays, network, follow)
        self.registration = Registration(settings, profile, self.topics, network, self.slave.registered)
        self.unique_ids = UniqueIds(clock, *self.store_host)

    async def _register(self, config: TopicConfig) -> None:
        await self.registration.register_created(config)
