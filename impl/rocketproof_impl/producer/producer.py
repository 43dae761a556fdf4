"""The producer: check the message, find a route, select a queue, send, and retry if that may help (CLI-26).

A driver runs the periodic tasks of its client instance (`ClientInstance.periodic`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rocketproof_profiles import PROFILES, Profile
from rocketproof_protocol.properties import UNIQ_KEY

from ..message import Message
from ..ports import Clock, Randomness
from ..remoting.faq import suggestion
from ..remoting.ports import Network
from ..tasks import Pause
from .draft import Draft, batch_of
from .errors import (
    NO_NAME_SERVER_EXCEPTION,
    NOT_FOUND_TOPIC_EXCEPTION,
    ClientError,
)
from .instance import ClientInstance, DefaultTopic, FetchNameServers, PublishTable, ServiceState
from .publish import PublishInfo
from .result import SendResult
from .selection import Choice, LatencyFault, RoundRobin, random_counter
from .send import Sending
from .settings import ProducerSettings
from .validate import check_group, check_message

SEND_TIMEOUT_MILLIS = 3000

ROUTED = Pause("routed")
SendCallback = Callable[[SendResult | Exception], None]


class Producer:
    """DefaultMQProducer.

    - `clients` are the client instances of its process by client id; `instance_name` DEFAULT becomes the process id.
    - `choose` selects the next queue and may be replaced.
    - `topic_publish_info_table` contains this producer's routes.
    - `round_robin.counter.value` is the position of the default selection.
    - `profile` determines how properties are written (SEND-26).
    """

    def __init__(
        self,
        group: str,
        *,
        clock: Clock,
        network: Network,
        random: Randomness,
        name_servers: tuple[str, ...] = (),
        settings: ProducerSettings | None = None,
        profile: Profile = PROFILES["P49"],
        instance_name: str = "DEFAULT",
        clients: dict[str, ClientInstance] | None = None,
        client_ip: str = "127.0.0.1",
        process_id: int = 1,
        fetch_name_servers: FetchNameServers | None = None,
    ) -> None:
        self.group = group
        self.settings = settings or ProducerSettings()
        self.profile = profile
        self.instance_name = instance_name
        self.state = ServiceState.CREATE_JUST
        self.topic_publish_info_table: PublishTable = {}
        self.round_robin = RoundRobin(random_counter(random))
        self.latency_fault = LatencyFault(self.round_robin, clock, random) if self.settings.send_latency_fault_enable else None
        self.choose: Choice = self.latency_fault.choose if self.latency_fault else self.round_robin.choose
        self.clock = clock
        self.network = network
        self._name_servers = name_servers
        self._clients = {} if clients is None else clients
        self._client_ip = client_ip
        self._process_id = process_id
        self._fetch = fetch_name_servers
        self._client: ClientInstance | None = None

    # Start and shutdown

    @property
    def client(self) -> ClientInstance:
        """The shared client instance. Raises ClientError unless the producer runs."""
        if self._client is None or self.state is not ServiceState.RUNNING:
            raise ClientError(f"The producer service state not OK, {self.state.value}{suggestion()}")
        return self._client

    async def start(self) -> None:
        """Start once, in the order of CLI-02.

        Raises ClientError if it was started before (CLI-01), if its group is illegal (CLI-04) or taken (CLI-03), or if the client instance
        cannot start (CLI-06). If the group is taken, it may be started again.
        """
        if self.state is not ServiceState.CREATE_JUST:
            raise ClientError(f"The producer service state not OK, maybe started once, {self.state.value}{suggestion()}")
        self.state = ServiceState.START_FAILED
        check_group(self.group)
        if self.instance_name == "DEFAULT":
            self.instance_name = str(self._process_id)
        client = self._obtain_client()
        if not client.register(self.group, self.topic_publish_info_table):
            self.state = ServiceState.CREATE_JUST
            raise ClientError(f"The producer group[{self.group}] has been created before, specify another name please.{suggestion()}")
        self.topic_publish_info_table[self.settings.create_topic_key] = PublishInfo()
        await client.start()
        self._client = client
        self.state = ServiceState.RUNNING
        await client.heartbeat()

    def _obtain_client(self) -> ClientInstance:
        """Return the instance of this client id, created if missing (CLI-02)."""
        client_id = f"{self._client_ip}@{self.instance_name}"
        if client_id not in self._clients:
            self._clients[client_id] = ClientInstance(client_id, self.clock, self.network, self._name_servers, self._fetch)
        return self._clients[client_id]

    def shutdown(self) -> None:
        """Unregister from the client instance. The producer cannot be started again (CLI-01)."""
        if self.state is ServiceState.RUNNING:
            self.client.producer_table.pop(self.group, None)
            self.state = ServiceState.SHUTDOWN_ALREADY

    # Routes

    async def update_route(self, topic: str, is_default: bool = False) -> bool:
        """Refresh a topic's route, or use the create-topic key's route for it. Return whether it changed (CLI-15 to CLI-19)."""
        settings = self.settings
        default = DefaultTopic(settings.create_topic_key, settings.default_topic_queue_nums) if is_default else None
        return await self.client.update_route(topic, default)

    async def refresh_all(self) -> None:
        """Run the client instance's periodic refresh (CLI-21)."""
        await self.client.refresh_all()

    async def heartbeat(self) -> None:
        """Run the client instance's periodic heartbeat (CLI-07)."""
        await self.client.heartbeat()

    async def try_to_find_topic_publish_info(self, topic: str) -> PublishInfo:
        """Return the topic's publish info, querying first its own route and then the template's (CLI-13, CLI-14).

        A route without a writable queue ends the search: the template is used only without a route (HAZ-43). The template has a route only
        if a broker registered it (CLI-18). The topic then counts as known, even if no broker has it; the first broker that gets a message
        creates it (CLI-22).
        """
        table = self.topic_publish_info_table
        info = table.get(topic)
        if info is None or not info.ok:
            table.setdefault(topic, PublishInfo())
            await self.update_route(topic)
            info = table[topic]
        if info.have_topic_router_info or info.ok:
            return info
        await self.update_route(topic, is_default=True)
        return table[topic]

    async def _usable_route(self, topic: str) -> PublishInfo:
        """Return a publish info with queues. Raises ClientError if there is none (CLI-33)."""
        info = await self.try_to_find_topic_publish_info(topic)
        if info.ok:
            return info
        if not self.client.name_servers:
            raise ClientError(f"No name server address, please set it.{suggestion()}", NO_NAME_SERVER_EXCEPTION)
        raise ClientError(f"No route info of this topic: {topic}{suggestion()}", NOT_FOUND_TOPIC_EXCEPTION)

    # Sending

    async def send(self, message: Message | None, timeout: int = SEND_TIMEOUT_MILLIS) -> SendResult:
        """Send and wait for the result, with retries (CLI-27 to CLI-30).

        Raises ClientError (rejected by the client, or all attempts failed), BrokerError (an error response that is not retried),
        TooMuchRequest (timeout before an attempt), JavaError (no name server could be reached), TaskInterrupted.
        """
        sending = await self._begin(message, timeout)
        return await sending.attempt(1 + self.settings.retry_times_when_send_failed, sending.call)

    async def send_batch(self, messages: Sequence[Message], timeout: int = SEND_TIMEOUT_MILLIS) -> SendResult:
        """Send messages of one topic in one request (CLI-35), otherwise like `send`."""
        client = self.client
        for message in messages:
            check_message(message, self.settings.max_message_size)
        batch = batch_of(messages, client.unique_id, trailing=self.profile.ends_properties)
        sending = await self._begin(batch, timeout, batch_id=",".join(message.properties[UNIQ_KEY] for message in messages))
        return await sending.attempt(1 + self.settings.retry_times_when_send_failed, sending.call)

    async def send_oneway(self, message: Message | None, timeout: int = SEND_TIMEOUT_MILLIS) -> None:
        """Send once without waiting. Failures after the write are not reported (CLI-32); earlier ones raise the exceptions of `send`."""
        sending = await self._begin(message, timeout)
        await sending.attempt(1, sending.post)

    async def send_async(self, message: Message | None, callback: SendCallback, timeout: int = SEND_TIMEOUT_MILLIS) -> None:
        """Run an asynchronous send: call `callback` once with a result or an exception (CLI-31). Raises nothing."""
        outcome: SendResult | Exception
        try:
            sending = await self._begin(message, timeout)
            outcome = await sending.call_async(await sending.attempt(1, sending.prepare))
        except Exception as error:  # noqa: BLE001 - passed to the callback
            outcome = error
        callback(outcome)

    async def _begin(self, message: Message | None, timeout: int, *, batch_id: str | None = None) -> Sending:
        """Run the first steps of every send (CLI-26): check that the producer runs, check message and topic (CLI-08), find a route,
        prepare the message."""
        client = self.client
        checked = check_message(message, self.settings.max_message_size)
        begin = self.clock.now()
        info = await self._usable_route(checked.topic)
        await ROUTED
        if batch_id is None and UNIQ_KEY not in checked.properties:
            checked.properties[UNIQ_KEY] = client.unique_id()
        draft = Draft(checked, self.group, self.settings, batch=batch_id is not None, trailing=self.profile.ends_properties)
        return Sending(self, draft, info, begin, timeout, checked.properties[UNIQ_KEY] if batch_id is None else batch_id)
