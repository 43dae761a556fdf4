"""Drives a simulated broker, the name server and a producer by the model of a topic's discovery, second by second.

Packets stay on the wire until an action moves them. The timers have the implementation's periods. A refresh starts a millisecond late, so
that its timeout has not expired when the specification delivers its response. Later events in the same second count from the whole second.
"""

from __future__ import annotations

from rocketproof_impl.broker.registration import Registration
from rocketproof_impl.producer.publish import PublishInfo
from rocketproof_impl.remoting.command import ONE_WAY, Command
from rocketproof_impl.simulator.cluster import Cluster
from rocketproof_impl.simulator.network import HOLD, Packet
from rocketproof_impl.simulator.scheduler import SimulatedThread
from rocketproof_model import Instance
from rocketproof_profiles import Profile
from rocketproof_protocol import codes
from rocketproof_spec.deadlines import REQUEST, News

from ...programs.vocabulary import plain
from .base import Deviation, ModelDriver, Seen, accepted, require

SECOND = 1000
TOPIC = "topic"


class DiscoveryDriver(ModelDriver):
    """One broker that has just registered, and a producer that uses a topic that does not exist yet."""

    def __init__(self, specification: News, instance: Instance, profile: Profile) -> None:
        super().__init__(instance)
        self.cluster = Cluster(1, profile=profile)
        self.producer = self.cluster.producer()
        self.producer.topic_publish_info_table[TOPIC] = PublishInfo()
        self.serving = False
        self.cluster.network.plan = self._plan
        (periodic,) = Registration.PERIODIC
        self.registers = periodic.period
        self.refreshes = next(task.period for task in self.producer.client.periodic() if task.name == "refresh_all")
        self.register = self._now() + self.registers
        self.refresh = self._now() + self.refreshes
        self.begun = False
        self.asking: SimulatedThread[None] | None = None
        self.creates = False
        self.creation: SimulatedThread[Command] | None = None
        self.since: dict[str, int] = {}

    def _plan(self, packet: Packet) -> list[int] | str:
        """Hold the registration of a creation, and the producer's route query with its response, until an action.

        The registration has no response, or later releases register the new topic alone and wait for the response.
        """
        code = packet.command.code
        creation = code == codes.REGISTER_BROKER and (packet.command.flag & ONE_WAY or self.creates)
        asks = code == codes.GET_ROUTEINFO_BY_TOPIC and (packet.command.ext_fields or {}).get("topic") == TOPIC
        return HOLD if self.serving or (not packet.answer and (creation or asks)) else [0]

    # Actions

    def _performed(self) -> None:
        for event, happened in (("created", self._created), ("listed", self._listed)):
            if happened:
                self.since.setdefault(event, self._now())

    def _do_begin(self, offset: int) -> None:
        require(not self.begun, "the clocks run already: the specification starts them once")
        self.refresh = self._now() + self.refreshes - offset * SECOND
        self.begun = True

    def _do_create(self) -> None:
        """Another client sends a first message."""
        self.creates = True
        self.creation = self.cluster.calling(plain("send", topic=TOPIC))
        self.creates = False
        self._check_creation()

    def _check_creation(self) -> None:
        if self.creation is not None and self.creation.done.done:
            accepted(self.creation.result(), "a first message")

    def _do_announce(self) -> None:
        self.cluster.network.deliver(self._held("a creation's registration", codes.REGISTER_BROKER))
        self.cluster.scheduler.settle()
        self._check_creation()

    def _do_register(self) -> None:
        if self._until(self.register) > 0:
            raise Deviation(f"the next registration is in {self.register - self._now()} ms: the specification says that it is time now")
        self.cluster.scheduler.complete(self.cluster.broker().registration.register_periodically(), "registration")
        self.register = self._now() // SECOND * SECOND + self.registers

    def _do_ask(self) -> None:
        self.cluster.scheduler.advance(1)
        self.asking = self.cluster.scheduler.spawn(self.producer.client.refresh_all(), "refresh")
        self.cluster.scheduler.settle()
        self.refresh += self.refreshes

    def _do_serve(self) -> None:
        query = self._held("a question about the topic", codes.GET_ROUTEINFO_BY_TOPIC)
        self.serving = True
        self.cluster.network.deliver(query)
        self.cluster.scheduler.settle()
        self.serving = False

    def _do_learn(self) -> None:
        answer = self._answer
        if answer is None:
            raise Deviation("no answer about the topic is on its way: the specification has one")
        self.cluster.network.deliver(answer)
        self.cluster.scheduler.settle()

    def _do_second(self) -> None:
        """Advance the clock to the next whole second."""
        require(self.begun, "the clocks stand still: the specification lets a second pass")
        self.cluster.scheduler.advance(SECOND - self._now() % SECOND)

    # State

    def _now(self) -> int:
        return self.cluster.clock.now()

    def _held(self, what: str, code: int) -> Packet:
        packets = [packet for packet in self.cluster.network.held if not packet.answer and packet.command.code == code]
        require(packets, f"{what} is not on the wire: the specification has one there")
        return packets[-1]

    @property
    def _answer(self) -> Packet | None:
        return next((packet for packet in self.cluster.network.held if packet.answer), None)

    @property
    def _created(self) -> bool:
        return TOPIC in self.cluster.broker().topics.table

    @property
    def _listed(self) -> bool:
        return TOPIC in self.cluster.name_server.topic_queue_table

    def _until(self, when: int) -> int:
        """Return the whole seconds from now."""
        return -(-(when - self._now()) // SECOND)

    def _query_age(self) -> int:
        """Return the seconds that a query has waited, according to its timeout."""
        deadline = None if self.asking is None else self.asking.deadline
        return 0 if deadline is None else REQUEST - (deadline - self._now()) // SECOND

    def seen(self) -> Seen:
        waits = self.asking is not None and not self.asking.done.done
        answer = self._answer
        last = self.since.get("listed", self.since.get("created"))
        return {
            "begun": self.begun,
            "created": self._created,
            "listed": self._listed,
            "seen": self.producer.topic_publish_info_table[TOPIC].ok,
            "since": 0 if last is None else self._now() // SECOND - last // SECOND,
            "register": self._until(self.register),
            "refresh": self._until(self.refresh),
            "asking": "nothing" if not waits else "asked" if answer is None else "served",
            "asked": self._query_age() if waits else 0,
            "good": answer is not None and answer.command.code == codes.SUCCESS,
        }
