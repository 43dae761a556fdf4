"""The client instance: what all producers of one client id share (CLI-06): routes, brokers' addresses, the periodic tasks.

A route is asked for by one thread at a time. What is learnt goes to every producer of the instance, also to those that never
sent to the topic, and only if it is news (CLI-19).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from enum import Enum
from typing import NamedTuple

from rocketproof_protocol.codes import GET_ROUTEINFO_BY_TOPIC, HEART_BEAT, SUCCESS
from rocketproof_protocol.topics import TEMPLATE

from ..java import JavaError, string_hash
from ..periodic import Periodic
from ..ports import Clock
from ..remoting.command import Command
from ..remoting.errors import ConnectFailed, RemotingError
from ..remoting.ports import Network
from ..route import MASTER_ID, TopicRouteData, decode_route, encode_json
from ..tasks import Lock, TaskInterrupted
from .errors import ClientError
from .log import log
from .publish import PublishInfo, publish_info, route_changed
from .validate import CLIENT_INNER_PRODUCER

LOCK_TIMEOUT_MILLIS = 3000
TIMEOUT_MILLIS = 3000

PublishTable = dict[str, PublishInfo]
FetchNameServers = Callable[[], Awaitable[tuple[str, ...]]]


class ServiceState(Enum):
    CREATE_JUST = "CREATE_JUST"
    START_FAILED = "START_FAILED"
    RUNNING = "RUNNING"
    SHUTDOWN_ALREADY = "SHUTDOWN_ALREADY"


class DefaultTopic(NamedTuple):
    """The template whose route serves for an unknown topic, and with how many queues at most (CLI-16)."""

    topic: str
    queue_nums: int


class ClientInstance:
    """MQClientInstance, as far as producers need it.

    `producer_table`: group to the publish table of its producer. `topic_route_table`: the cached routes.
    `broker_addr_table`: broker name to its addresses by id. `fetch` finds the name servers where none is configured.
    """

    def __init__(
        self, client_id: str, clock: Clock, network: Network, name_servers: tuple[str, ...], fetch: FetchNameServers | None = None
    ) -> None:
        self.client_id = client_id
        self.name_servers = name_servers
        self.state = ServiceState.CREATE_JUST
        self.producer_table: dict[str, PublishTable] = {}
        self.topic_route_table: dict[str, TopicRouteData] = {}
        self.broker_addr_table: dict[str, dict[int, str]] = {}
        self.name_server_lock = Lock()
        self._clock = clock
        self._network = network
        self._fetch = None if name_servers else fetch
        self._start_lock = Lock()
        self._heartbeat_lock = Lock()
        self._unique_prefix = f"{string_hash(client_id) & 0xFFFFFFFF:020X}"
        self._unique_count = 0

    # Life

    async def start(self) -> None:
        """Start once, whoever comes first (CLI-06). Raises ClientError if an earlier start failed.

        The instance has a producer of its own, which publishes the template too. Connections need no start here, and there
        are no consumers whose services would start; the driver starts the periodic tasks.
        """
        await self._start_lock.acquire()
        try:
            if self.state is ServiceState.START_FAILED:
                raise ClientError(f"The Factory object[{self.client_id}] has been created before, and failed.")
            if self.state is ServiceState.CREATE_JUST:
                self.state = ServiceState.START_FAILED
                if self._fetch is not None:
                    await self.fetch_name_servers()
                self.register(CLIENT_INNER_PRODUCER, {TEMPLATE: PublishInfo()})
                self.state = ServiceState.RUNNING
        finally:
            self._start_lock.release()

    def periodic(self) -> tuple[Periodic, ...]:
        """What a driver has to call, and when (CLI-07)."""
        tasks = (Periodic("refresh_all", 10, 30_000), Periodic("maintain_brokers", 1000, 30_000))
        return tasks if self._fetch is None else (Periodic("fetch_name_servers", 10_000, 120_000), *tasks)

    async def fetch_name_servers(self) -> None:
        """Ask for the name servers' addresses again (CLI-07); an empty answer changes nothing."""
        if self._fetch is not None:
            self.name_servers = await self._fetch() or self.name_servers

    def register(self, group: str, table: PublishTable) -> bool:
        """Make a producer known; False if its group is taken (CLI-03)."""
        return self.producer_table.setdefault(group, table) is table

    def unique_id(self) -> str:
        """The next id of a message of this client: 32 digits, as UNIQ_KEY carries it."""
        self._unique_count += 1
        return f"{self._unique_prefix}{self._clock.now() & 0xFFFFFFFF:08X}{self._unique_count & 0xFFFF:04X}"

    # Routes

    async def update_route(self, topic: str, default: DefaultTopic | None = None) -> bool:
        """Ask for the topic's route, or for the default topic's in its place; whether the cache changed (CLI-15 to CLI-19).

        What a name server refuses is swallowed, and the cache stays as it was (CLI-17); a transport failure raises
        JavaError, as the described one does.
        """
        try:
            if not await self.name_server_lock.acquire(LOCK_TIMEOUT_MILLIS):
                log.warning("updateTopicRouteInfoFromNameServer tryLock timeout %dms", LOCK_TIMEOUT_MILLIS)
                return False
            try:
                route = await (self._topic_route(topic) if default is None else self._default_route(default))
                return self._learn(topic, route)
            except ClientError as refused:
                log.warning("updateTopicRouteInfoFromNameServer of %s: %s", topic, refused)
            except RemotingError as error:
                raise JavaError("java.lang.IllegalStateException", f"{type(error).__name__}: {error}") from error
            finally:
                self.name_server_lock.release()
        except TaskInterrupted:
            log.warning("updateTopicRouteInfoFromNameServer of %s is interrupted", topic)
        return False

    async def _default_route(self, default: DefaultTopic) -> TopicRouteData:
        """The template's route with min(wished, read) queues of both kinds in every entry (CLI-16)."""
        route = await self._topic_route(default.topic)
        for entry in route.queue_datas:
            queue_nums = min(default.queue_nums, entry.read_queue_nums)
            entry.read_queue_nums = queue_nums
            entry.write_queue_nums = queue_nums
        return route

    async def _topic_route(self, topic: str) -> TopicRouteData:
        """Request 105 (CLI-17). Raises ClientError for any answer without a route, RemotingError if there is none."""
        answer = await self._ask_name_server(Command(GET_ROUTEINFO_BY_TOPIC, {"topic": topic}))
        if answer.code == SUCCESS and answer.body:
            return decode_route(answer.body)
        raise ClientError(answer.remark or "", answer.code)

    async def _ask_name_server(self, request: Command) -> Command:
        """The answer of the first name server that can be reached.

        Raises ClientError if none is configured, so that a send ends with CLI-33.
        """
        unreachable: ConnectFailed | None = None
        for address in self.name_servers:
            try:
                return await self._network.call(address, request, TIMEOUT_MILLIS)
            except ConnectFailed as error:
                unreachable = error
        if unreachable is not None:
            raise unreachable
        raise ClientError("no name server address")

    def _learn(self, topic: str, route: TopicRouteData) -> bool:
        """Spread a route if it is news or somebody lacks queues (CLI-19)."""
        changed = route_changed(self.topic_route_table.get(topic), route) or self._needs_update(topic)
        if changed:
            cached = route.copy()
            for broker in route.broker_datas:
                self.broker_addr_table[broker.broker_name] = broker.broker_addrs
            info = publish_info(topic, route)
            for table in self.producer_table.values():
                table[topic] = info
            self.topic_route_table[topic] = cached
        return changed

    def _needs_update(self, topic: str) -> bool:
        """Whether a producer has no queues for the topic (CLI-19)."""
        infos = (table.get(topic) for table in self.producer_table.values())
        return any(info is None or not info.ok for info in infos)

    def find_broker_address_in_publish(self, broker_name: str) -> str | None:
        """The master's address, None if it is not known."""
        return self.broker_addr_table.get(broker_name, {}).get(MASTER_ID)

    # Periodic tasks

    async def refresh_all(self) -> None:
        """Refresh every published topic, the template's too (CLI-05, CLI-21). A transport failure ends this round."""
        topics = dict.fromkeys(topic for table in self.producer_table.values() for topic in table)
        try:
            for topic in topics:
                await self.update_route(topic)
        except JavaError as error:
            log.error("updateTopicRouteInfoFromNameServer exception: %s", error)

    async def maintain_brokers(self) -> None:
        """Forget brokers that left all routes, then send heartbeats (CLI-07)."""
        await self.clean_offline_brokers()
        await self.heartbeat()

    async def clean_offline_brokers(self) -> None:
        """Forget addresses that no cached route has."""
        if await self.name_server_lock.acquire(LOCK_TIMEOUT_MILLIS):
            brokers = [broker for route in self.topic_route_table.values() for broker in route.broker_datas]
            known = {address for broker in brokers for address in broker.broker_addrs.values()}
            for name, addresses in list(self.broker_addr_table.items()):
                left = {broker_id: address for broker_id, address in addresses.items() if address in known}
                self.broker_addr_table[name] = left
                if not left:
                    del self.broker_addr_table[name]
            self.name_server_lock.release()

    async def heartbeat(self) -> None:
        """Tell every known master which groups there are; failures are only logged, and one round at a time is enough."""
        if self._heartbeat_lock.held:
            return
        await self._heartbeat_lock.acquire()
        try:
            groups = [{"groupName": group} for group in self.producer_table]
            data = {"clientID": self.client_id, "consumerDataSet": [], "producerDataSet": groups}
            for addresses in list(self.broker_addr_table.values()):
                if MASTER_ID in addresses:
                    await self._beat(addresses[MASTER_ID], Command(HEART_BEAT, body=encode_json(data)))
        finally:
            self._heartbeat_lock.release()

    async def _beat(self, address: str, request: Command) -> None:
        try:
            await self._network.call(address, request, TIMEOUT_MILLIS)
        except RemotingError as error:
            log.info("send heartbeat to broker %s failed: %s", address, error)
