"""The state of the specification: its variables, its constants, and the words in which the rules are written.

A request has the same row as its handler. `job[p]` is the only pending send of producer p, from the header that it sends to the answer that
it receives. The rules of the broker advance its `phase`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, partial
from typing import Any

from rocketproof_model.errors import ModelError
from rocketproof_model.language import Bool, Enum, Expr, Field, Int, Maybe, Record, Row, all_of, any_of, coerce, ite
from rocketproof_profiles import NameClass
from rocketproof_protocol.codes import INVALID_PARAMETER

from .actors import CLIENT, HANDLER
from .arithmetic import INHERIT
from .commitlog import LogVariables
from .part import Part
from .placement import STORE_SWITCHES, Kind, declare_places
from .returning import SWITCHES
from .scope import Scope
from .switches import PERMISSION, RELEASES, broker_permission, limited, make_changeable, published_perm, switches

Phase = Enum(
    "idle",  # no request
    "arrived",  # at the broker, before msgCheck
    "missing",  # topic unknown: creation is tried
    "locked",  # holds the broker lock, before the second look-up
    "template",  # the topic is still unknown
    "inherit",  # the template exists; its permission is checked next
    "built",  # the new configuration is ready
    "put",  # in the table, before the new version
    "versioned",  # before persist
    "persisted",  # before unlock
    "found",  # the second look-up found the topic, before unlock
    "refused",  # no template to inherit from, before unlock
    "unlocked",  # created, before the registration
    "failed",  # creation failed
    "checked",  # the topic's configuration is known, before the queue id check
    "append",  # accepted, before the store
    "answered",
)

CREATING = ("locked", "template", "inherit", "built", "put", "versioned", "persisted", "found", "refused")

Answer = Enum("none", "SUCCESS", "SYSTEM_ERROR", "NO_PERMISSION", "TOPIC_NOT_EXIST", "MESSAGE_ILLEGAL", "lost", "INVALID_PARAMETER")
PlacedAnswer = Enum(*Answer.names, "SUBSCRIPTION_GROUP_NOT_EXIST", "SERVICE_NOT_AVAILABLE")
"""The answers in scopes whose requests are placed."""

Declares = Callable[..., Callable[[Callable[..., None]], Callable[..., None]]]
"""A decorator that declares an action: `@declares(rules=..., more parameters)`."""

_FORMER = {"letter": "registration", "letter_version": "registration_version", "letter_sent": "registration_in_flight"}


class Specification(Part):
    """The model of sending in one scope, with its variables, constants and predicates. `specify` adds the actions.

    `refusals`: the response, by action and guard, to a request that one action serves and that a guard of this action refuses.
    """

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
        self.refusals: dict[str, Mapping[str, Expr]] = {}
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
        """Declare the topic tables of brokers and name server, and the requests in flight.

        `own`: the configuration that the constructor makes for each topic (TCM-03). `absent`: the configuration of a topic that a table
        lacks.
        """
        m, scope, constant, counts = self.model, self.scope, self.constant, self.scope.counts
        version, broker, topics = Int(0, scope.versions), self.Broker, (self.Broker, self.Topic)
        self.Config = Record(
            known=Field(Bool, False, "whether the table has the topic"),
            read=Field(counts, counts.lo, "readQueueNums"),
            write=Field(counts, counts.lo, "writeQueueNums"),
            perm=Field(PERMISSION, 0, "the permission's bits: 4 read, 2 write, 1 inherit"),
            order=Field(Bool, False, "whether it is an order topic"),
        )
        self.listed = Record(
            entries=Field(Int(0, 2), 0, "how many entries of the broker the route has"),
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
            "config", self.Config, over=topics, init=lambda b, t: at_start[t], sentence="the broker's topic table in memory"
        )
        self.version = m.var(
            "version", version, over=broker, init=0, sentence="the data version of the broker's topic table, counted from 0"
        )
        self.file = m.var(
            "file", self.Config, over=topics, init=lambda b, t: self._filed(t), sentence="the topic table in the broker's file"
        )
        self.file_version = m.var("file_version", version, over=broker, init=0, sentence="the data version in the topic table's file")
        self.lock = m.var(
            "lock", Maybe(self.Producer), over=broker, init=None, sentence="the request that holds the broker's lock of the topic table"
        )
        self.job = m.var("job", job, over=self.Producer, sentence="the producer's request")
        self.registration = m.var(
            "registration", self.Config, over=topics,
            sentence="the topics in the broker's registration that is in flight to the name server",
        )  # fmt: skip
        self.registration_version = m.var(
            "registration_version", version, over=broker, init=0, sentence="the data version in the registration that is in flight"
        )
        self.registration_in_flight = m.var(
            "registration_in_flight", Bool, over=broker, init=False,
            sentence="whether a registration of the broker is in flight to the name server",
        )  # fmt: skip
        self.route = m.var(
            "route", self.listed, over=topics, init=advertised, part="name server",
            sentence="the topic on this broker in the name server's route",
        )  # fmt: skip
        self.live = m.var(
            "live", Bool, over=broker, init=True, sentence="whether the name server has the broker as alive", part="name server"
        )
        self.live_version = m.var(
            "live_version", version, over=broker, init=0, part="name server",
            sentence="the broker's data version at the name server",
        )  # fmt: skip

    def _own(self, name_class: NameClass) -> Row:
        """TCM-03: the topic in the broker's table before the file is read."""
        if name_class == "template":
            return ite(self.given("auto_create"), self._given("template"), self.absent)
        if name_class == "cluster":
            most = self.scope.counts.hi
            return self.Config(known=True, read=most, write=most, perm=self.given("cluster_perm"), order=False)
        return self.absent

    def _filed(self, t: int) -> Row:
        """The topic in the table's file at the start, from an earlier run."""
        if t == self.scope.subject:
            existing = self._given("existing", self.given("order_topic"))
            return ite(self.given("existing"), existing, self.absent)
        in_file = self.given("template_in_file") if self.scope.topics[t] == "template" else False
        return ite(in_file, self._given("template"), self.absent)

    def _given(self, prefix: str, order: Expr | bool = False) -> Row:
        """The configuration in the constants with this prefix."""
        return self.Config(known=True, order=order, **{name: self.given(f"{prefix}_{name}") for name in ("read", "write", "perm")})

    def _job(self) -> Record:
        scope, counts = self.scope, self.scope.counts
        return Record(
            phase=Field(Phase, "idle", "its phase"),
            broker=Field(Maybe(self.Broker), None, "the broker that it was sent to"),
            topic=Field(self.Topic, 0, "the header's topic"),
            default=Field(self.Topic, 0, "the header's defaultTopic"),
            numbers=Field(scope.numbers, scope.numbers.lo, "the header's defaultTopicQueueNums"),
            queue=Field(scope.queue_ids, scope.queue_ids.lo, "the header's queueId, and then the queue that the message is stored in"),
            kind=Field(Kind, "not", "the message's transaction type"),
            size=Field(scope.sizes, scope.sizes.lo, "the message's size, in the scope's units"),
            read=Field(counts, counts.lo, "readQueueNums of the configuration that is being created or was found"),
            write=Field(counts, counts.lo, "writeQueueNums of the configuration that is being created or was found"),
            perm=Field(PERMISSION, 0, "the permission of the configuration that is being created or was found"),
            fallback=Field(Bool, False, "whether it is the second attempt to create a retry topic"),
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
            sentence="the producer's position in its list of queues",
        )  # fmt: skip
        self.sent = m.var("sent", Int(0, max(scope.sends, 1)), over=producer, init=0, sentence="how many messages the producer has sent")
        self.started = m.var(
            "started", Bool, over=producer, init=~self.given("round_robin"),
            sentence="whether the producer's queue counter has its first value",
        )  # fmt: skip
        self.refreshed = m.var(
            "refreshed", Bool, over=producer, init=False, sentence="whether the producer's route was refreshed after the first messages"
        )

    @property
    def log(self) -> LogVariables:
        """The log's variables. Raises ModelError in a scope without a log."""
        if self.kept is None:
            raise ModelError(f"scope {self.scope.name} keeps no log", "take a scope with store=True")
        return self.kept

    def given(self, name: str) -> Expr:
        return self.constant[name]

    def of_class(self, topic: Expr, *classes: Any) -> Expr:
        """Whether the topic's name belongs to one of these classes."""
        return any_of(topic == t for t in self.scope.named(*classes))

    def at(self, job: Row, phase: str) -> Expr:
        return job.phase == phase

    def within(self, job: Row, phases: Iterable[str]) -> Expr:
        return any_of(job.phase == phase for phase in phases)

    def creates(self, job: Row, broker: Expr) -> Expr:
        """Whether the request is inside topic creation at this broker, where it holds the lock."""
        return (job.broker == broker) & self.within(job, CREATING)

    @property
    def client(self) -> Declares:
        """A decorator for an action of producer p, or of a raw client."""
        return partial(self.action, actor=CLIENT, fair="weak", p=self.Producer)

    @property
    def handler(self) -> Declares:
        """A decorator for a step of the broker's thread that serves p's request."""
        return partial(self.action, actor=HANDLER, fair="weak", p=self.Producer)

    def response(self, code: str) -> Expr:
        """Return the term for a response code."""
        return coerce(code, PlacedAnswer if self.scope.placed else Answer)

    @cached_property
    def illegal(self) -> Expr:
        """The response to an illegal name or queue id (CHK-02, CHK-10, TCM-30)."""
        return ite(self.given("illegal_code") == INVALID_PARAMETER, self.response("INVALID_PARAMETER"), self.response("SYSTEM_ERROR"))

    @cached_property
    def permission(self) -> Expr:
        """brokerPermission."""
        return broker_permission(self.constant)

    def published(self, row: Row, alone: Expr | bool = False) -> Row:
        """NS-11: a broker that lacks READ or WRITE registers copies with another permission. `alone`: this topic is registered alone."""
        order = ite(limited(self.constant), False, row.order)
        return Row({**row.fields, "perm": published_perm(self.constant, row.perm, alone), "order": order})

    @property
    def quiet(self) -> Expr:
        """Whether no request and no registration is pending. Deliveries take much less than the period of 30 s."""
        return all_of(self.at(self.job[p], "idle") for p in self.Producer) & all_of(~self.registration_in_flight[b] for b in self.Broker)


class Placed(Specification):
    """The specification in a scope with `placed` requests. It has more switches of releases."""

    switches = (*Specification.switches, *(name for name, *_ in (*SWITCHES, *STORE_SWITCHES)))


def started(filed: Row, own: Row) -> Row:
    """PER-04: a topic after a start: the file's configuration, else the constructor's."""
    return ite(filed.known, filed, own)


def inherits(row: Row) -> Expr:
    """PERM-01: whether the permission has INHERIT."""
    return (row.perm & INHERIT) == INHERIT
