"""What a state of the specification holds: the variables, the constants, and the words in which rules are written.

A request travels with its handler: `job[p]` is producer p's outstanding send, at most one, from the header that it put on
the wire to the answer that it received. Its `phase` is where it stands; the rules of the broker move it on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property, partial
from typing import Any

from rocketproof_model.errors import ModelError
from rocketproof_model.language import Bool, Enum, Expr, Field, Int, Maybe, Record, Row, all_of, any_of, ite
from rocketproof_profiles import NameClass

from .actors import CLIENT, HANDLER
from .arithmetic import INHERIT
from .commitlog import LogVariables
from .part import Part
from .placing import OF_STORES, SWITCHES, declare_places
from .scope import Scope
from .switches import PERMISSION, RELEASES, broker_permission, limited, make_changeable, published_perm, switches

Phase = Enum(
    "idle",  # no request
    "arrived",  # at the broker, before msgCheck
    "missing",  # topic unknown: creation is tried
    "locked",  # holds the broker lock, before the second look-up
    "template",  # the topic is still unknown
    "inherit",  # the template exists; its permission is asked next
    "built",  # the new configuration is made
    "put",  # in the table, before the new version
    "versioned",  # before persist
    "persisted",  # before unlock
    "found",  # second look-up found it, before unlock
    "refused",  # no template to inherit from, before unlock
    "unlocked",  # created, before the registration
    "failed",  # creation gave nothing
    "checked",  # a configuration is at hand, before the queue id check
    "append",  # accepted, before the store
    "answered",
)

CREATING = ("locked", "template", "inherit", "built", "put", "versioned", "persisted", "found", "refused")

Answer = Enum("none", "SUCCESS", "SYSTEM_ERROR", "NO_PERMISSION", "TOPIC_NOT_EXIST", "MESSAGE_ILLEGAL", "lost")
PlacedAnswer = Enum(*Answer.names, "SUBSCRIPTION_GROUP_NOT_EXIST", "SERVICE_NOT_AVAILABLE")
"""The answers where requests are placed."""
Kind = Enum("not", "prepared", "commit", "rollback")

Declares = Callable[..., Callable[[Callable[..., None]], Callable[..., None]]]
"""What declares an action: `@declares(rules=..., more parameters)`."""

_FORMER = {"letter": "registration", "letter_version": "registration_version", "letter_sent": "registration_in_flight"}


class Specification(Part):
    """The specification in one scope: its model and its vocabulary."""

    switches = tuple(name for name, *_ in RELEASES)

    def __init__(self, scope: Scope) -> None:
        """The variables and constants, no actions yet."""
        super().__init__(scope.name)
        self.scope = scope
        self.model.former |= _FORMER
        self.Broker = self.model.index("Broker", scope.broker_names, symmetric=scope.symmetric)
        self.Producer = self.model.index("Producer", scope.producer_names, symmetric=scope.symmetric)
        self.Topic, self.Queue = self.model.index("Topic", scope.topic_names), self.model.index("Queue", scope.queues)
        self.model.acting("administrator", self.Producer, self.Broker, "name server", "network")
        self.constant = switches(self.model, scope)
        self._tables()
        self._producers()
        if scope.configures:
            make_changeable(self.model, self.constant)
        m, counted = self.model, Int(0, 2)
        per_topic = (self.Broker, self.Topic)
        self.creations = m.var(
            "creations", counted, over=per_topic, init=0,
            sentence="how often the topic was created on the broker since it started, counted up to 2",
        )  # fmt: skip
        self.announcements = m.var(
            "announcements", counted, over=per_topic, init=0,
            sentence="how often the topic's creation was announced to the name server, counted up to 2",
        )  # fmt: skip
        self.crashes = m.var("crashes", Int(0, 1), init=0, sentence="how many crashes there were")
        self.losses = m.var("losses", Int(0, 1), init=0, sentence="how many registrations were lost")
        self.updates = m.var("updates", Int(0, 1), init=0, sentence="how many updates of topics there were")
        self.kept = LogVariables(m, scope, self.Broker, (self.Broker, self.Topic, self.Queue)) if scope.store else None
        shape = (m, self.constant, self.Broker, self.Producer, self.Topic, scope.progress, scope.told)
        self.places = declare_places(*shape) if scope.placed else None

    def _tables(self) -> None:
        """What brokers and the name server have of topics, and the requests on their way; `own` is each topic's configuration of the
        constructor's making (TCM-03), and `absent` the one of a topic that a table does not have."""
        m, scope, constant, counts = self.model, self.scope, self.constant, self.scope.counts
        version, broker, topics = Int(0, scope.versions), self.Broker, (self.Broker, self.Topic)
        self.Config = Record(
            known=Field(Bool, False, "whether it has the topic"),
            read=Field(counts, counts.lo, "readQueueNums"),
            write=Field(counts, counts.lo, "writeQueueNums"),
            perm=Field(PERMISSION, 0, "the permission's bits: 4 read, 2 write, 1 inherit"),
            order=Field(Bool, False, "whether it is an order topic"),
        )
        self.listed = Record(
            entries=Field(Int(0, 2), 0, "how many entries of the broker it has"),
            read=Field(counts, counts.lo, "readQueueNums"),
            write=Field(counts, counts.lo, "writeQueueNums"),
            perm=Field(PERMISSION, 0, "the permission's bits"),
        )
        self.absent = self.Config.start
        job = self._job()
        self.idle = job.start
        self.own = tuple(map(self._own, scope.topics))
        at_start = [started(self._filed(t), own) for t, own in enumerate(self.own)]

        def advertised(b: int, t: int) -> Row:
            start = at_start[t]
            perm = ite(start.known, published_perm(constant, start.perm), start.perm)
            return self.listed(entries=ite(start.known, 1, 0), read=start.read, write=start.write, perm=perm)

        self.up = m.var("up", Bool, over=broker, init=True, sentence="whether the broker runs")
        self.config = m.var(
            "config", self.Config, over=topics, init=lambda b, t: at_start[t], sentence="the broker's topic table, in memory"
        )
        self.version = m.var(
            "version", version, over=broker, init=0, sentence="the data version of the broker's topic table, counted from 0"
        )
        self.file = m.var(
            "file", self.Config, over=topics, init=lambda b, t: self._filed(t), sentence="the broker's topic table as its file has it"
        )
        self.file_version = m.var("file_version", version, over=broker, init=0, sentence="the data version in the topic table's file")
        self.lock = m.var(
            "lock", Maybe(self.Producer), over=broker, init=None, sentence="the request that holds the broker's lock of the topic table"
        )
        self.job = m.var("job", job, over=self.Producer, sentence="the producer's request")
        self.registration = m.var(
            "registration", self.Config, over=topics,
            sentence="the topics in the broker's registration that is on its way to the name server",
        )  # fmt: skip
        self.registration_version = m.var(
            "registration_version", version, over=broker, init=0, sentence="the data version in the registration that is on its way"
        )
        self.registration_in_flight = m.var(
            "registration_in_flight", Bool, over=broker, init=False,
            sentence="whether a registration of the broker is on its way to the name server",
        )  # fmt: skip
        self.route = m.var(
            "route", self.listed, over=topics, init=advertised, part="name server",
            sentence="what the name server has of the topic on this broker",
        )  # fmt: skip
        self.live = m.var(
            "live", Bool, over=broker, init=True, sentence="whether the name server takes the broker for alive", part="name server"
        )
        self.live_version = m.var(
            "live_version", version, over=broker, init=0, part="name server",
            sentence="the data version that the name server has of the broker",
        )  # fmt: skip

    def _own(self, name_class: NameClass) -> Row:
        """TCM-03: the table before the file is read."""
        if name_class == "template":
            return ite(self.given("auto_create"), self._given("template"), self.absent)
        if name_class == "cluster":
            most = self.scope.counts.hi
            return self.Config(known=True, read=most, write=most, perm=self.given("cluster_perm"), order=False)
        return self.absent

    def _filed(self, t: int) -> Row:
        """The table's file at the start: what an earlier run left there."""
        if t == self.scope.subject:
            existing = self._given("existing", self.given("order_topic"))
            return ite(self.given("existing"), existing, self.absent)
        kept = self.given("template_in_file") if self.scope.topics[t] == "template" else False
        return ite(kept, self._given("template"), self.absent)

    def _given(self, prefix: str, order: Expr | bool = False) -> Row:
        """The configuration that constants with this prefix give."""
        return self.Config(known=True, order=order, **{name: self.given(f"{prefix}_{name}") for name in ("read", "write", "perm")})

    def _job(self) -> Record:
        scope, counts = self.scope, self.scope.counts
        return Record(
            phase=Field(Phase, "idle", "where it stands"),
            broker=Field(Maybe(self.Broker), None, "the broker that it was sent to"),
            topic=Field(self.Topic, 0, "the header's topic"),
            default=Field(self.Topic, 0, "the header's defaultTopic"),
            numbers=Field(scope.numbers, scope.numbers.lo, "the header's defaultTopicQueueNums"),
            queue=Field(scope.queue_ids, scope.queue_ids.lo, "the header's queueId, and then the queue that the message is stored in"),
            kind=Field(Kind, "not", "the message's transaction type"),
            size=Field(scope.sizes, scope.sizes.lo, "the message's size, in the scope's units"),
            read=Field(counts, counts.lo, "readQueueNums of the configuration that is being made or was found"),
            write=Field(counts, counts.lo, "writeQueueNums of the configuration that is being made or was found"),
            perm=Field(PERMISSION, 0, "the permission of the configuration that is being made or was found"),
            fallback=Field(Bool, False, "whether it is the second try to create a retry topic"),
            created=Field(Bool, False, "whether it created its topic"),
            touched=Field(Bool, False, "whether it changed the topic table"),
            checks=Field(Bool, False, "whether it was refused by the checks of the header"),
            appended=Field(Int(0, 1), 0, "how many records were appended for it"),
            answer=Field(PlacedAnswer if scope.placed else Answer, "none", "the answer's code"),
            offset=Field(Int(0, scope.offsets), 0, "the answer's queueOffset"),
            tries=Field(Int(0, 2), 0, "how often it was sent again"),
        )

    def _producers(self) -> None:
        m, scope, producer, most = self.model, self.scope, self.Producer, max(self.scope.counts.hi, 1)
        self.known_route = m.var("known_route", Bool, over=producer, init=False, sentence="whether the producer has a route for its topic")
        self.queues = m.var(
            "queues", Int(0, max(scope.counts.hi, 0)), over=(producer, self.Broker), init=0,
            sentence="how many of the broker's queues the producer's route lists",
        )  # fmt: skip
        self.position = m.var(
            "position", Int(0, scope.brokers * most - 1), over=producer, init=0,
            sentence="where the producer stands in the row of its queues",
        )  # fmt: skip
        self.sent = m.var("sent", Int(0, max(scope.sends, 1)), over=producer, init=0, sentence="how many messages the producer has sent")
        self.started = m.var(
            "started", Bool, over=producer, init=~self.given("round_robin"),
            sentence="whether the producer's counter of queues has its first value",
        )  # fmt: skip
        self.refreshed = m.var(
            "refreshed", Bool, over=producer, init=False, sentence="whether the producer's route was refreshed after the first messages"
        )

    @property
    def log(self) -> LogVariables:
        """What the scope keeps of the log; raises ModelError in a scope without one."""
        if self.kept is None:
            raise ModelError(f"scope {self.scope.name} keeps no log", "take a scope with store=True")
        return self.kept

    def given(self, name: str) -> Expr:
        return self.constant[name]

    def of_class(self, topic: Expr, *classes: Any) -> Expr:
        """Whether the topic's name is of one of these classes."""
        return any_of(topic == t for t in self.scope.named(*classes))

    def at(self, job: Row, phase: str) -> Expr:
        return job.phase == phase

    def within(self, job: Row, phases: Iterable[str]) -> Expr:
        return any_of(job.phase == phase for phase in phases)

    def creates(self, job: Row, broker: Expr) -> Expr:
        """Whether the request is inside topic creation at this broker: it holds the lock."""
        return (job.broker == broker) & self.within(job, CREATING)

    @property
    def client(self) -> Declares:
        """Declares what producer p, or a raw client, does."""
        return partial(self.action, actor=CLIENT, fair="weak", p=self.Producer)

    @property
    def handler(self) -> Declares:
        """Declares a step of the broker's thread that serves p's request."""
        return partial(self.action, actor=HANDLER, fair="weak", p=self.Producer)

    @cached_property
    def permission(self) -> Expr:
        """brokerPermission."""
        return broker_permission(self.constant)

    def published(self, row: Row, alone: Expr | bool = False) -> Row:
        """NS-11: a broker that may not read or write registers copies with another permission; `alone`: this topic and no other."""
        order = ite(limited(self.constant), False, row.order)
        return Row({**row.fields, "perm": published_perm(self.constant, row.perm, alone), "order": order})

    @property
    def quiet(self) -> Expr:
        """Nothing is under way: no request, no registration. Deliveries take far less than a period of 30 s."""
        return all_of(self.at(self.job[p], "idle") for p in self.Producer) & all_of(~self.registration_in_flight[b] for b in self.Broker)


class Placed(Specification):
    """The specification in a scope whose requests are placed: more of it depends on the release."""

    switches = (*Specification.switches, *(name for name, *_ in (*SWITCHES, *OF_STORES)))


def started(filed: Row, own: Row) -> Row:
    """PER-04: a topic after a start: as the file has it, else as the constructor made it."""
    return ite(filed.known, filed, own)


def inherits(row: Row) -> Expr:
    """PERM-01: the topic's permission has INHERIT."""
    return (row.perm & INHERIT) == INHERIT
