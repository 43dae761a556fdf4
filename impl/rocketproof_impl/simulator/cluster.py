"""A cluster in one process: name server, brokers and producers on the simulated clock, disk and network.

Time passes and periodic tasks run only when a test lets them. The same seed and the same calls give the same run.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from rocketproof_profiles import Profile, profile_of

from ..broker.broker import Broker
from ..broker.settings import BrokerSettings
from ..executor import POOLS, ThreadPool
from ..link import Link
from ..nameserver import NameServer
from ..nameserversettings import NameServerSettings
from ..producer.producer import Producer
from ..remoting.command import Command
from ..routeinfo import DEFAULTS
from ..service import Service
from .chance import SimulatedRandomness
from .disk import SimulatedDisk
from .journal import PowerLoss
from .network import Endpoint, SimulatedNetwork
from .scheduler import Scheduler, SimulatedThread
from .streams import SimulatedStreams

NAME_SERVER = "127.0.0.1:9876"
CALLER_PORT = 50_000


@dataclass(eq=False)
class Node:
    """A broker's machine. Settings and disk survive the process; `broker` is None while no process runs."""

    settings: BrokerSettings
    disk: SimulatedDisk
    random: SimulatedRandomness
    executors: dict[str, ThreadPool[SimulatedThread[None]]] = field(default_factory=dict)
    broker: Broker | None = None
    threads: list[SimulatedThread[None]] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.settings.broker_name

    @property
    def running(self) -> Broker:
        """The running process. Raises RuntimeError if there is none."""
        if self.broker is None:
            raise RuntimeError(f"{self.name} does not run")
        return self.broker


class Cluster:
    """Brokers `broker-a`, `broker-b` and so on at ports 10911, 10921 …, all with the same settings, and a name server with `name_server`.

    With `services` the threads of their stores run: flush, dispatch and replication take time, and masters serve slaves.
    """

    def __init__(
        self,
        brokers: int = 1,
        *,
        profile: Profile | str = "P49",
        seed: int = 0,
        services: bool = False,
        name_server: NameServerSettings = DEFAULTS,
        **settings: Any,
    ) -> None:
        self.profile = profile_of(profile)
        self.scheduler = Scheduler()
        self.clock = self.scheduler.clock
        self.network = SimulatedNetwork(self.scheduler)
        self.streams = SimulatedStreams(self.scheduler)
        self.services = services
        self.seed = seed
        self.name_server = NameServer(self.clock, settings=name_server, profile=self.profile)
        self.network.listen(NAME_SERVER, self.name_server)
        self.nodes: dict[str, Node] = {}
        self._callers = 0
        self._clients: dict[str, Endpoint] = {}
        for number in range(brokers):
            name = f"broker-{chr(ord('a') + number)}"
            defaults = BrokerSettings(broker_name=name, listen_port=10911 + 10 * number, name_servers=(NAME_SERVER,))
            self.add(replace(defaults, **settings))

    def add(self, settings: BrokerSettings, *, start: bool = True) -> Node:
        """Add a machine, and start its broker unless `start` is false."""
        node = Node(settings, SimulatedDisk(), SimulatedRandomness(self.seed + len(self.nodes)))
        node.disk.sleep = self.scheduler.advance
        self.nodes[f"{settings.broker_name}:{settings.broker_id}" if settings.broker_id else settings.broker_name] = node
        if start:
            self.start(node)
        return node

    def node(self, name: str = "broker-a") -> Node:
        return self.nodes[name]

    def broker(self, name: str = "broker-a") -> Broker:
        """Return the running process of this name."""
        return self.nodes[name].running

    def start(self, node: Node, *, register: bool = True) -> bool:
        """Start a broker's process on its disk. Return False if its table cannot be loaded (PER-03)."""
        node.executors = {name: ThreadPool(self.scheduler, f"{node.name}/{name}") for name in POOLS}
        endpoint = self.network.endpoint(_outgoing(node.settings))
        broker = Broker(node.settings, self.profile, self.clock, node.disk, endpoint, node.random, dict(node.executors))
        if not broker.load():
            return False
        node.broker = broker
        self.network.listen(node.settings.address, broker)
        if self.services:
            self._run_services(node, broker)
        if register:
            self.scheduler.complete(broker.start(), f"{node.name}/start")
        else:
            broker.store.start()
        return True

    def _run_services(self, node: Node, broker: Broker) -> None:
        """Run the threads of a broker's store; a master also accepts connections of slaves."""

        def spawn(services: Iterable[Service]) -> None:
            node.threads = [task for task in node.threads if not task.done.done]
            node.threads += [self.scheduler.spawn(service.run(), f"{node.name}/{service.name}") for service in services]

        async def dial(address: str) -> Link:
            return self.streams.dial(node.settings.ha_address, address)

        spawn(broker.store.services(dial))
        if node.settings.broker_role != "SLAVE":
            self.streams.listen(node.settings.ha_address, lambda link: spawn(broker.store.ha.accept(link)))

    def crash(self, name: str = "broker-a", *, silent: bool = False) -> None:
        """Kill a broker's process: its memory, threads and connections are lost, its disk remains.

        With `silent`, neither the name server nor callers notice that their connections are closed.
        """
        node = self.nodes[name]
        node.broker = None
        self.scheduler.kill(task for executor in node.executors.values() for task in list(executor.running))
        self.scheduler.kill(node.threads)
        self.streams.close(node.settings.ha_address)
        closed = self.network.close(node.settings.address, silent=silent)
        closed += self.network.close(_outgoing(node.settings), silent=silent)
        for channel in closed:
            if channel.server == NAME_SERVER and not silent:
                self.name_server.channel_closed(channel)

    def power_loss(self, name: str = "broker-a", loss: PowerLoss | None = None) -> None:
        """Stop a broker's machine: data that was not forced may be lost. No peer notices that its connection is closed."""
        if self.nodes[name].broker is not None:
            self.crash(name, silent=True)
        self.nodes[name].disk.power_loss(loss or PowerLoss(self.seed))

    def restart(self, name: str = "broker-a", **settings: Any) -> bool:
        """Start the process again, with changed settings if given."""
        node = self.nodes[name]
        for key, value in settings.items():
            setattr(node.settings, key, value)
        return self.start(node)

    def restart_name_server(self) -> None:
        """Restart the name server, which loses its tables. Callers reconnect with their next request."""
        self.network.close(NAME_SERVER)
        self.name_server = NameServer(self.clock, settings=self.name_server.settings, profile=self.profile)
        self.network.listen(NAME_SERVER, self.name_server)

    def producer(self, group: str = "group", **options: Any) -> Producer:
        """Return a started producer in its own process."""
        self._callers += 1
        address = f"127.0.0.1:{CALLER_PORT + self._callers}"
        producer = Producer(
            group,
            clock=self.clock,
            network=self.network.endpoint(address),
            random=SimulatedRandomness(self.seed + 1000 + self._callers),
            name_servers=(NAME_SERVER,),
            profile=self.profile,
            instance_name=str(CALLER_PORT + self._callers),
            **options,
        )
        self.scheduler.complete(producer.start(), f"{group}/start")
        return producer

    def caller(self, name: str = "client") -> Endpoint:
        """Return a client's endpoint for raw requests. The same name returns the same endpoint."""
        if name not in self._clients:
            self._callers += 1
            self._clients[name] = self.network.endpoint(f"127.0.0.1:{CALLER_PORT + self._callers}")
        return self._clients[name]

    def call(self, request: Command, to: str = "broker-a", *, client: str = "client", millis: int = 60_000) -> Command:
        """Send a raw request and run until its response arrives. Raises a RemotingError if none arrives."""
        return self.scheduler.run(self.calling(request, to, client=client, millis=millis).done)

    def calling(self, request: Command, to: str = "broker-a", *, client: str = "client", millis: int = 60_000) -> SimulatedThread[Command]:
        """Send a raw request in a new thread and run what is ready. Return the thread."""
        address = NAME_SERVER if to == "name server" else self.nodes[to].settings.address
        task = self.scheduler.spawn(self.caller(client).call(address, request, millis), f"call {request.code}")
        self.scheduler.settle()
        return task

    def dispatch(self) -> None:
        """Dispatch the whole log of every running broker."""
        for node in self.nodes.values():
            if node.broker is not None:
                node.broker.store.dispatch()


def _outgoing(settings: BrokerSettings) -> str:
    """Return the address from which a broker sends its own requests."""
    return f"{settings.broker_ip1}:{settings.listen_port + 30_000}"
