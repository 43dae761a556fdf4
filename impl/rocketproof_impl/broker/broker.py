"""A broker: which processor serves which request, on which threads, and its periodic tasks.

A broker starts no thread and no timer. The code that runs the broker runs its store's threads and the tasks of `PERIODIC`.
"""

from __future__ import annotations

from rocketproof_profiles import Profile
from rocketproof_protocol.codes import (
    CONSUMER_SEND_MSG_BACK,
    END_TRANSACTION,
    GET_CONSUMER_LIST_BY_GROUP,
    HEART_BEAT,
    LITE_PULL_MESSAGE,
    LOCK_BATCH_MQ,
    PULL_MESSAGE,
    QUERY_MESSAGE,
    SEND_BATCH_MESSAGE,
    SEND_MESSAGE,
    SEND_MESSAGE_V2,
    UNLOCK_BATCH_MQ,
    UNREGISTER_CLIENT,
    VIEW_MESSAGE_BY_ID,
)

from ..periodic import Periodic
from ..ports import Clock, Disk, Randomness
from ..remoting.command import Command
from ..remoting.dispatch import Dispatcher, Processor, leave_unknown, refuse_unknown
from ..remoting.ports import Channel, Executor, Network
from ..service import Service, run_all
from .admin import AdminBrokerProcessor
from .fastfailure import BrokerFastFailure
from .heartbeat import ClientManageProcessor
from .inspection import InspectionProcessor
from .operations import INTERVAL_MILLIS as OPERATIONS_MILLIS
from .operations import GatheredOperations
from .parts import BrokerParts
from .progress import ConsumerManageProcessor
from .pull import PullMessageProcessor
from .rebalance import RebalanceProcessor
from .sending import SendMessageProcessor
from .settings import BrokerSettings
from .transaction import EndTransactionProcessor
from .transactioncheck import TransactionalMessageCheckService

SEND_CODES = (SEND_MESSAGE, SEND_MESSAGE_V2, SEND_BATCH_MESSAGE, CONSUMER_SEND_MSG_BACK)


class Broker(BrokerParts):
    """A broker process. `executors` are the pools of `executor.POOLS`. Call `load` before it receives requests."""

    PERIODIC = (
        Periodic("fail_fast", 1000, 10),
        Periodic("deliver_delayed", 1000, 100),
        Periodic("persist_delay_offsets", 10_000, 10_000),
        Periodic("persist_offsets", 10_000, 5000),
        Periodic("check_held", 5000, 5000),
        Periodic("write_operations", OPERATIONS_MILLIS, OPERATIONS_MILLIS),
        Periodic("scan_clients", 10_000, 10_000),
    )

    __slots__ = ("_clients", "_pull", "dispatcher", "fast_failure", "operations", "transaction_check")

    def __init__(
        self,
        settings: BrokerSettings,
        profile: Profile,
        clock: Clock,
        disk: Disk,
        network: Network,
        random: Randomness,
        executors: dict[str, Executor],
        host: str | None = None,
    ) -> None:
        super().__init__(settings, profile, clock, disk, network, random, host)
        self.transaction_check = TransactionalMessageCheckService(self)
        self.operations = GatheredOperations(self)
        self.fast_failure = BrokerFastFailure(settings, self.store, clock, executors)
        self.dispatcher = Dispatcher(heeds_one_way=profile.heeds_one_way)
        self._pull = PullMessageProcessor(self, executors["pull"])
        self._clients = ClientManageProcessor(self)
        self.store.arriving = self._pull.hold.arriving
        self._register_processors(executors)

    def _register_processors(self, executors: dict[str, Executor]) -> None:
        """Assign processors to request codes.

        Other codes are not supported (REM-05); recorded releases answer them by a default processor. Profiles without half messages do not
        serve END_TRANSACTION.
        """
        processors = self.dispatcher.processors
        if self.profile.leaves_unknown:
            self.dispatcher.default = Processor(leave_unknown, executors["admin"])
        elif self.profile.default_processor:
            self.dispatcher.default = Processor(refuse_unknown, executors["admin"])
        send = SendMessageProcessor(self)
        processors |= {code: Processor(send.process, executors["send"], send.rejects) for code in SEND_CODES}
        admin, inspection, consumers = AdminBrokerProcessor(self), InspectionProcessor(self), ConsumerManageProcessor(self)
        rebalance = RebalanceProcessor(self)
        for pool, process, codes in (
            ("admin", admin.process, admin.codes),
            ("admin", inspection.process, inspection.codes),
            ("query", inspection.process, (QUERY_MESSAGE, VIEW_MESSAGE_BY_ID)),
            ("consumer", consumers.process, consumers.codes),
            ("consumer", rebalance.process, (GET_CONSUMER_LIST_BY_GROUP,)),
            ("admin", rebalance.process, (LOCK_BATCH_MQ, UNLOCK_BATCH_MQ)),
            ("heartbeat", self._clients.process, (HEART_BEAT,)),
            ("client", self._clients.process, (UNREGISTER_CLIENT,)),
        ):
            processors |= {code: Processor(process, executors[pool]) for code in codes}
        processors[PULL_MESSAGE] = Processor(self._pull.process, executors["pull"], self._pull.rejects)
        if self.profile.lite_pulls:
            processors[LITE_PULL_MESSAGE] = processors[PULL_MESSAGE]
        if self.profile.half_messages:
            ends = EndTransactionProcessor(self, self.operations.note)
            processors[END_TRANSACTION] = Processor(ends.process, executors["transaction"])

    def receive(self, channel: Channel, command: Command) -> None:
        """Handle a command received on a connection."""
        self.dispatcher.receive(channel, command)

    def channel_closed(self, channel: Channel) -> None:
        """Remove the clients and the held pulls of a lost connection."""
        self._clients.channel_closed(channel)
        self._pull.hold.channel_closed(channel)

    def load(self) -> bool:
        """Read the files. Return False if the broker must not start (PER-03)."""
        return self.topics.load() and self.offsets.load() and self.groups.load() and self.store.load()

    async def start(self) -> None:
        """Start the store and register with the name servers (NS-10). Raises OSError."""
        self.store.start()
        await self.registration.register_all(True, False, True)

    async def stop(self) -> None:
        """Unregister from the name servers (request 104), and persist the consumer offsets. Requests in progress continue."""
        await run_all((("leaving the name servers", self.registration.unregister_all), ("offsets of consumers", self.persist_offsets)))

    def services(self) -> tuple[Service, ...]:
        """Return the broker's own threads. Only a master checks producers' transactions."""
        checks = self.profile.half_messages and self.settings.broker_role != "SLAVE"
        return (self.transaction_check,) if checks else ()

    def fail_fast(self) -> None:
        """Answer requests that have waited too long (REM-10)."""
        self.fast_failure.clean()

    async def deliver_delayed(self) -> None:
        """Deliver the delayed messages that are due (REC-05)."""
        await self.store.deliver_delayed()

    async def write_operations(self) -> None:
        """Put the gathered records that end half messages (TRX-05)."""
        await self.operations.write()

    def persist_delay_offsets(self) -> None:
        """Persist how far delayed messages are delivered."""
        self.store.persist_delays()

    def persist_offsets(self) -> None:
        """Persist the consumer offsets."""
        self.offsets.persist()

    def check_held(self) -> None:
        """Answer held pulls that timed out or missed their message."""
        self._pull.hold.check_held()

    def scan_clients(self) -> list[Channel]:
        """Remove clients that were silent for too long. Return their connections, which the caller closes."""
        return self._clients.scan()
