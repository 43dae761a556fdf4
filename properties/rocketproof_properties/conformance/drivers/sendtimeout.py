"""Drives a simulated producer by the model of send timeouts: its waits for the lock, the name server and the broker.

Another thread holds the client's lock whenever the send wants it, and packets stay on the wire. A second is one millisecond shorter, so
that a wait which is due has not yet ended when its action runs.
"""

from __future__ import annotations

from typing import Any

from rocketproof_impl.message import Message
from rocketproof_impl.producer.instance import ClientInstance, DefaultTopic
from rocketproof_impl.producer.producer import ROUTED
from rocketproof_impl.producer.publish import MessageQueue, PublishInfo
from rocketproof_impl.producer.send import FAILED
from rocketproof_impl.remoting.command import response_to
from rocketproof_impl.remoting.errors import SendFailed
from rocketproof_impl.route import MASTER_ID
from rocketproof_impl.simulator.cluster import Cluster
from rocketproof_impl.simulator.network import HOLD, Packet
from rocketproof_impl.simulator.scheduler import SimulatedThread
from rocketproof_impl.topic import TopicConfig
from rocketproof_model import Instance
from rocketproof_profiles import Profile
from rocketproof_protocol import codes
from rocketproof_spec.deadlines import LOCK, REQUEST, Patience

from .base import Deviation, ModelDriver, Seen, require

SECOND = 999
TOPIC = "topic"
BROKER = "broker-a"
QUEUE = MessageQueue(TOPIC, BROKER, 0)


class SendTimeoutDriver(ModelDriver):
    """A producer that has not sent yet, and a broker with the topic."""

    def __init__(self, specification: Patience, instance: Instance, profile: Profile) -> None:
        super().__init__(instance)
        self.timeout = 1000 * self.constants["timeout"]
        self.cluster = Cluster(1, profile=profile)
        broker = self.cluster.broker()
        broker.topics.update(TopicConfig(TOPIC, 1, 1))
        self.cluster.scheduler.complete(broker.registration.register_periodically())
        self.producer = self.cluster.producer()
        self.cluster.scheduler.stops = lambda task, pause: pause in (ROUTED, FAILED)
        self.cluster.network.plan = lambda packet: [0] if packet.answer else HOLD
        self.producer.choose = self._choose
        self.update_route = self.client.update_route
        vars(self.client)["update_route"] = self._update_route
        self.send: SimulatedThread[Any] | None = None
        self.begun = 0
        self.chosen = self.attempts = 0
        self.look = 1
        self._take_lock()

    @property
    def client(self) -> ClientInstance:
        return self.producer.client

    def _take_lock(self) -> None:
        """Let another thread acquire the lock, now or as the next in line."""
        self.cluster.scheduler.spawn(self.client.name_server_lock.acquire(), "somebody")
        self.cluster.scheduler.settle()

    def _choose(self, info: PublishInfo, last_broker_name: str | None) -> MessageQueue:
        self.chosen += 1
        return QUEUE

    async def _update_route(self, topic: str, default: DefaultTopic | None = None) -> bool:
        self.look = 1 if default is None else 2
        return await self.update_route(topic, default)

    # Actions

    def _performed(self) -> None:
        self.cluster.scheduler.settle()

    def _do_begin(self, known: int) -> None:
        if known:
            self._publish(QUEUE)
        self.begun = self._now()
        self.send = self.cluster.scheduler.spawn(self.producer.send(Message(TOPIC, body=b"hello"), self.timeout), "send")

    def _publish(self, *queues: MessageQueue) -> None:
        self.producer.topic_publish_info_table[TOPIC] = PublishInfo(list(queues))

    def _do_get_lock(self) -> None:
        self.client.name_server_lock.release()
        self._take_lock()

    def _do_lock_times_out(self) -> None:
        self._time_out()

    def _do_route_found(self) -> None:
        self.cluster.network.deliver(self._packet())

    _do_answered = _do_route_found

    def _do_no_route(self) -> None:
        query = self._packet()
        answer = response_to(query.command)
        answer.code = codes.TOPIC_NOT_EXIST
        query.channel.write(answer)

    def _do_no_answer(self) -> None:
        """Time out the request if it is due, otherwise lose the connection."""
        if 0 < self._left() < SECOND:
            self._time_out()
        else:
            packet = self._packet()
            packet.channel.pending.pop(packet.command.opaque).fail(SendFailed("the connection is lost"))

    _do_fails = _do_no_answer

    def _do_attempt(self, known: int) -> None:
        """Let the producer make an attempt. An unknown address is queried only if the routes have been forgotten too."""
        self.look = 1
        if known:
            self.client.broker_addr_table[BROKER] = {MASTER_ID: self.cluster.node(BROKER).settings.address}
        else:
            self.client.broker_addr_table.clear()
            self._publish()
        before = self.chosen
        self._resume()
        self.attempts += self.chosen - before

    def _resume(self) -> None:
        self.cluster.scheduler.resume(self._sending)

    _do_stop = _resume

    def _do_second(self) -> None:
        self.cluster.scheduler.advance(SECOND)

    def _time_out(self) -> None:
        left = self._left()
        require(0 < left < SECOND, f"the send waits for {left} ms more: the specification says that its time is up")
        self.cluster.scheduler.time_out(self._sending)

    # State

    def _now(self) -> int:
        return self.cluster.clock.now()

    @property
    def _sending(self) -> SimulatedThread[Any]:
        if self.send is None:
            raise Deviation("no send has begun: the specification has one")
        return self.send

    def _left(self) -> int:
        """Return the ms until the wait times out."""
        return (self._sending.deadline or 0) - self._now()

    def _packets(self) -> list[Packet]:
        """Return the requests with outstanding responses."""
        return [packet for packet in self.cluster.network.held if packet.command.opaque in packet.channel.pending]

    def _packet(self) -> Packet:
        packets = self._packets()
        require(len(packets) == 1, f"{len(packets)} requests wait for an answer: the specification has one")
        return packets[0]

    def _doing(self) -> str:
        if self.send is None:
            return "nothing"
        if self.send.done.done:
            return "over"
        if self.send.at is not None:
            return "choice"
        packets = self._packets()
        if not packets:
            return "lock"
        if packets[0].command.code == codes.GET_ROUTEINFO_BY_TOPIC:
            return "ask"
        end = self.begun + self.timeout
        if self.send.deadline != end:
            raise Deviation(f"an attempt ends at {self.send.deadline}: the specification leaves it the rest of the time, until {end}")
        return "attempt"

    def seen(self) -> Seen:
        doing = self._doing()
        limit = {"lock": LOCK, "ask": REQUEST}.get(doing)
        return {
            "doing": doing,
            "cost": 0 if self.send is None else (self._now() - self.begun) // SECOND,
            "now": 0 if limit is None else (1000 * limit - self._left()) // SECOND,
            "look": self.look,
            "inside": self.attempts > 0,
            "attempts": self.attempts,
        }
