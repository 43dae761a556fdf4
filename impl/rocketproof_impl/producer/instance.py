"""The client instance shared by all producers of a client id (CLI-06): routes, broker addresses, periodic tasks.

One thread at a time queries routes. A changed route is passed to every producer of the instance, also to those that never sent to the topic
(CLI-19).
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
    """The template topic whose route is used for an unknown topic, and the maximum number of its queues (CLI-16)."""

    topic: str
    queue_nums: int


class ClientInstance:
    """The part of MQClientInstance that producers need.

    `producer_table` maps a group to the publish table of its producer, `topic_route_table` a topic to its cached route, `broker_addr_table`
    a broker name to its addresses by id. `fetch` returns the name servers if none is configured.
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

    # Start and shutdown

    async def start(self) -> None:
        """Start the instance unless it runs (CLI-06). Raises ClientError if an earlier start failed.

        The instance has an inner producer, which also publishes the template. Connections and consumer services need no start here. The
        driver starts the periodic tasks.
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
        """Return the periodic tasks that a driver has to run (CLI-07)."""
        tasks = (Periodic("refresh_all", 10, 30_000), Periodic("maintain_brokers", 1000, 30_000))
        return tasks if self._fetch is None else (Periodic("fetch_name_servers", 10_000, 120_000), *tasks)

    async def fetch_name_servers(self) -> None:
        """Fetch the name servers' addresses again (CLI-07). An empty result changes nothing."""
        if self._fetch is not None:
            self.name_servers = await self._fetch() or self.name_servers

    def register(self, group: str, table: PublishTable) -> bool:
        """Register a producer. Return False if its group is taken (CLI-03)."""
        return self.producer_table.setdefault(group, table) is table

    def unique_id(self) -> str:
        """Return the next message id of this client: 32 digits, as in UNIQ_KEY."""
        self._unique_count += 1
        return f"{self._unique_prefix}{self._clock.now() & 0xFFFFFFFF:08X}{self._unique_count & 0xFFFF:04X}"

    # Routes

    async def update_route(self, topic: str, default: DefaultTopic | None = None) -> bool:
        """Query the topic's route, or use the default topic's for it. Return whether the cache changed (CLI-15 to CLI-19).

        An error response is only logged, and the cache is unchanged (CLI-17). A network error raises JavaError, as in the described client.
        """
        try:
            if not await self.name_server_lock.acquire(LOCK_TIMEOUT_MILLIS):
                log.warning("updateTopicRouteInfoFromNameServer tryLock timeout %dms", LOCK_TIMEOUT_MILLIS)
                return False
            try:
                route = await (self._topic_route(topic) if default is None else self._default_route(default))
                return self._store_route(topic, route)
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
        """Return the template's route with min(requested, read) queues of both kinds in every entry (CLI-16)."""
        route = await self._topic_route(default.topic)
        for entry in route.queue_datas:
            queue_nums = min(default.queue_nums, entry.read_queue_nums)
            entry.read_queue_nums = queue_nums
            entry.write_queue_nums = queue_nums
        return route

    async def _topic_route(self, topic: str) -> TopicRouteData:
        """Send request 105 (CLI-17). Raises ClientError for a response without a route, RemotingError without a response."""
        answer = await self._ask_name_server(Command(GET_ROUTEINFO_BY_TOPIC, {"topic": topic}))
        if answer.code == SUCCESS and answer.body:
            return decode_route(answer.body)
        raise ClientError(answer.remark or "", answer.code)

    async def _ask_name_server(self, request: Command) -> Command:
        """Return the response of the first name server that can be reached.

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

    def _store_route(self, topic: str, route: TopicRouteData) -> bool:
        """Store a route for all producers if it changed, or if a producer has no queues for the topic (CLI-19)."""
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
        """Return whether a producer has no queues for the topic (CLI-19)."""
        infos = (table.get(topic) for table in self.producer_table.values())
        return any(info is None or not info.ok for info in infos)

    def find_broker_address_in_publish(self, broker_name: str) -> str | None:
        """Return the master's address, None if unknown."""
        return self.broker_addr_table.get(broker_name, {}).get(MASTER_ID)

    # Periodic tasks

    async def refresh_all(self) -> None:
        """Refresh the routes of all published topics and the template (CLI-05, CLI-21). A network error ends the round."""
        topics = dict.fromkeys(topic for table in self.producer_table.values() for topic in table)
        try:
            for topic in topics:
                await self.update_route(topic)
        except JavaError as error:
            log.error("updateTopicRouteInfoFromNameServer exception: %s", error)

    async def maintain_brokers(self) -> None:
        """Remove brokers that are in no route any more, then send heartbeats (CLI-07)."""
        await self.clean_offline_brokers()
        await self.heartbeat()

    async def clean_offline_brokers(self) -> None:
        """Remove addresses that no cached route contains."""
        if await self.name_server_lock.acquire(LOCK_TIMEOUT_MILLIS):
            brokers = [broker for route in self.topic_route_table.values() for broker in route.broker_datas]
            known = {address for broker in brokers for address in broker.broker_addrs.values()}
            for name, addresses in list(self.broker_addr_table.items()):
                remaining = {broker_id: address for broker_id, address in addresses.items() if address in known}
                self.broker_addr_table[name] = remaining
                if not remaining:
                    del self.broker_addr_table[name]
            self.name_server_lock.release()

    async def heartbeat(self) -> None:
        """Send the producer groups to every known master. Failures are only logged. Do nothing while another round runs."""
        if self._heartbeat_lock.held:
            return
        await self._heartbeat_lock.acquire()
        try:
            groups = [{"groupName": group} for group in self.producer_table]
            data = {"clientID": self.client_id, "consumerDataSet": [], "producerDataSet": groups}
            for addresses in list(self.broker_addr_table.values()):
                if MASTER_ID in addresses:
                    await self._send_heartbeat(addresses[MASTER_ID], Command(HEART_BEAT, body=encode_json(data)))
        finally:
            self._heartbeat_lock.release()

    async def _send_heartbeat(self, address: str, request: Command) -> None:
        try:
            await self._network.call(address, request, TIMEOUT_MILLIS)
        except RemotingError as error:
            log.info("send heartbeat to broker %s failed: %s", address, error)
