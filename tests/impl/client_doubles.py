"""A name server, scripted brokers and producers on the simulator."""

from __future__ import annotations

from collections import deque
from typing import Any

from rocketproof_impl.nameserver import NameServer
from rocketproof_impl.producer.instance import ClientInstance
from rocketproof_impl.producer.producer import Producer
from rocketproof_impl.producer.result import STATUS
from rocketproof_impl.remoting.command import Command, response_to
from rocketproof_impl.route import BrokerData, QueueData, TopicRouteData, encode_route
from rocketproof_impl.simulator.chance import SimulatedRandomness
from rocketproof_impl.simulator.network import Packet, SimulatedChannel, SimulatedNetwork
from rocketproof_impl.simulator.scheduler import Scheduler
from rocketproof_impl.tasks import Work
from rocketproof_impl.topic import DataVersion, TopicConfig
from rocketproof_protocol.codes import GET_ROUTEINFO_BY_TOPIC, HEART_BEAT, SUCCESS, TOPIC_NOT_EXIST

NAME_SERVER = "127.0.0.1:9876"
ADDRESS = {"broker-a": "127.0.0.1:10911", "broker-b": "127.0.0.1:10921", "broker-c": "127.0.0.1:10931"}


class ScriptedBroker:
    """Answers sends with the codes in `script`, then with success; None sends no answer."""

    def __init__(self) -> None:
        self.requests: list[Command] = []
        self.beats: list[Command] = []
        self.script: deque[int | None] = deque()

    def receive(self, channel: SimulatedChannel, command: Command) -> None:
        answer = response_to(command)
        answer.code, answer.remark = SUCCESS, None
        if command.code == HEART_BEAT:
            self.beats.append(command)
        else:
            self.requests.append(command)
            code = self.script.popleft() if self.script else SUCCESS
            if code is None or command.is_one_way:
                return
            answer.code, answer.remark = code, f"code {code}"
            if code in STATUS:
                queue_id = (command.ext_fields or {}).get("e", "0")
                answer.ext_fields = {"msgId": "7F0000", "queueId": queue_id, "queueOffset": "5"}
        channel.write(answer)


class RouteServer:
    """A name server with the routes that a test sets; `asked` lists the requested topics in order."""

    def __init__(self) -> None:
        self.routes: dict[str, TopicRouteData] = {}
        self.asked: list[str] = []

    def receive(self, channel: SimulatedChannel, command: Command) -> None:
        assert command.code == GET_ROUTEINFO_BY_TOPIC
        topic = (command.ext_fields or {})["topic"]
        self.asked.append(topic)
        answer = response_to(command)
        if topic in self.routes:
            answer.code, answer.remark, answer.body = SUCCESS, None, encode_route(self.routes[topic])
        else:
            answer.code, answer.remark = TOPIC_NOT_EXIST, "unknown"
        channel.write(answer)


def route(*entries: tuple[str, int, int, int], slaves: tuple[str, ...] = (), order: str | None = None) -> TopicRouteData:
    """Return a route with entries (broker name, read, write, perm); the brokers in `slaves` have no master."""
    names = dict.fromkeys(entry[0] for entry in entries)
    brokers = [BrokerData("DefaultCluster", name, {int(name in slaves): ADDRESS[name]}) for name in names]
    return TopicRouteData([QueueData(*entry) for entry in entries], brokers, order)


def register(server: NameServer, name: str, *topics: TopicConfig, version: int = 1, broker_id: int = 0, **more: Any) -> None:
    """Register a broker with these topics; `version` is the counter."""
    address = more.pop("address", ADDRESS[name] if broker_id == 0 else f"{ADDRESS[name]}{broker_id}")
    table = {config.topic_name: config for config in topics}
    server.register_broker("DefaultCluster", address, name, broker_id, f"ha-{address}", table, DataVersion(1000, version), **more)


class Field:
    """Two brokers and a scripted name server; `brokers` maps names to brokers. `producer` returns started producers."""

    def __init__(self) -> None:
        self.scheduler = Scheduler()
        self.clock = self.scheduler.clock
        self.network = SimulatedNetwork(self.scheduler)
        self.server = RouteServer()
        self.network.listen(NAME_SERVER, self.server)
        self.brokers = {name: ScriptedBroker() for name in ADDRESS}
        for name, broker in self.brokers.items():
            self.network.listen(ADDRESS[name], broker)
        self.random = SimulatedRandomness()
        self.clients: dict[str, ClientInstance] = {}

    def new(self, group: str = "group", **options: Any) -> Producer:
        """Return a producer that is not started; its counter is 0."""
        self.random.feed(0)
        return Producer(
            group,
            clock=self.clock,
            network=self.network.endpoint("127.0.0.1:50001"),
            random=self.random,
            **{"name_servers": (NAME_SERVER,), "clients": self.clients} | options,
        )

    def producer(self, group: str = "group", **options: Any) -> Producer:
        made = self.new(group, **options)
        self.run(made.start())
        return made

    def run(self, work: Work[Any]) -> Any:
        return self.scheduler.complete(work)

    def lose(self, *, to: str, answers: bool = False) -> None:
        """Lose all further requests to an address, or their answers."""
        self.network.plan = lambda packet: [] if _matches(packet, to, answers) else [0]

    def delay(self, *, to: str, millis: int) -> None:
        """Delay all further answers from an address by this time."""
        self.network.plan = lambda packet: [millis] if _matches(packet, to, True) else [0]


def _matches(packet: Packet, to: str, answers: bool) -> bool:
    return packet.answer == answers and (packet.source if answers else packet.target) == to
