"""A broker: its parts, and which of them serves which request.

Nothing happens by itself here. Threads of the store, periodic registration and delivery of delayed messages are run by whoever
runs the broker.
"""

from __future__ import annotations

from rocketproof_profiles import Profile

from ..ports import Channel, Clock, Disk, Executor, Network, Randomness
from ..remoting.codes import CONSUMER_SEND_MSG_BACK, END_TRANSACTION, SEND_BATCH_MESSAGE, SEND_MESSAGE, SEND_MESSAGE_V2
from ..remoting.command import Command
from ..remoting.dispatch import Dispatcher, Processor
from ..store.service import MessageStore
from .admin import AdminBrokerProcessor
from .groups import SubscriptionGroupManager
from .hooks import Hooks
from .registration import Registration
from .sending import SendMessageProcessor
from .settings import BrokerSettings
from .statistics import BrokerStatistics
from .topics import TopicConfigManager
from .transaction import EndTransactionProcessor

SEND_CODES = (SEND_MESSAGE, SEND_MESSAGE_V2, SEND_BATCH_MESSAGE, CONSUMER_SEND_MSG_BACK)


class Broker:
    """One broker process. `executors`: "send", "admin" and "transaction" are used. Load it before it receives anything."""

    __slots__ = (
        "clock",
        "dispatcher",
        "groups",
        "hooks",
        "profile",
        "random",
        "registration",
        "settings",
        "statistics",
        "store",
        "topics",
    )

    def __init__(
        self,
        settings: BrokerSettings,
        profile: Profile,
        clock: Clock,
        disk: Disk,
        network: Network,
        random: Randomness,
        executors: dict[str, Executor],
    ) -> None:
        self.settings = settings
        self.profile = profile
        self.clock = clock
        self.random = random
        self.hooks = Hooks()
        self.statistics = BrokerStatistics()
        self.store = MessageStore(settings, profile, clock, disk)
        self.groups = SubscriptionGroupManager(settings, disk, clock)
        self.topics = TopicConfigManager(settings, profile, clock, disk, self._register)
        self.registration = Registration(settings, self.topics, network)
        self.dispatcher = Dispatcher()
        self._register_processors(executors)

    def _register_processors(self, executors: dict[str, Executor]) -> None:
        """Codes that are not named here are not supported (REM-05). Profiles without half messages know no end of a
        transaction."""
        processors = self.dispatcher.processors
        send = SendMessageProcessor(self)
        processors |= {code: Processor(send.process, executors["send"]) for code in SEND_CODES}
        admin = AdminBrokerProcessor(self)
        processors |= {code: Processor(admin.process, executors["admin"]) for code in admin.codes}
        if self.profile.half_messages:
            processors[END_TRANSACTION] = Processor(EndTransactionProcessor(self).process, executors["transaction"])

    def receive(self, channel: Channel, command: Command) -> None:
        """A command has arrived on a connection. Raises Rejected if the executor that serves it is full."""
        self.dispatcher.receive(channel, command)

    def load(self) -> bool:
        """Read what is on the disk; False if the broker must not start (PER-03)."""
        return self.topics.load() and self.groups.load() and self.store.load()

    async def start(self) -> None:
        """Make itself known to the name servers (NS-10)."""
        await self.registration.register_all(True, False, True)

    async def _register(self, check_order_config: bool, oneway: bool, force: bool) -> None:
        await self.registration.register_all(check_order_config, oneway, force)
