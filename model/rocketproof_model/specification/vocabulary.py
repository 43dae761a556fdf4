"""What a state of the specification holds: the variables, the constants, and the words in which rules are written.

A request travels with its handler: `job[p]` is producer p's outstanding send, at most one, from the header that it put on
the wire to the answer that it received. Its `phase` is where it stands; the rules of the broker move it on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar

from rocketproof_profiles import NameClass

from ..errors import ModelError
from ..language import Bool, Enum, Expr, Index, Int, Maybe, Model, Record, Row, Table, Variable, all_of, any_of, ite
from .actors import CLIENT, HANDLER
from .arithmetic import INHERIT
from .commitlog import Log, declare_log
from .placing import Places, declare_places
from .scope import Scope
from .switches import PERMISSION, broker_permission, limited, published_perm, switches

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


@dataclass(frozen=True, eq=False)
class Specification:
    """The specification in one scope: its model and its vocabulary; `switches` are the profile's that it reads."""

    switches: ClassVar[tuple[str, ...]] = (
        "check_names",
        "signed_random",
        "masks_permission",
        "skips_equal_topic",
        "takes_unknown_topics",
        "registers_updated_alone",
        "registers_created_alone",
    )
    scope: Scope
    model: Model
    Broker: Index
    Producer: Index
    Topic: Index
    Queue: Index
    Config: Record
    constant: dict[str, Expr]
    up: Variable
    config: Table
    version: Variable
    file: Table
    file_version: Variable
    lock: Variable
    job: Table
    registration: Table
    registration_version: Variable
    registration_in_flight: Variable
    route: Table
    live: Variable
    live_version: Variable
    job_record: Record
    listed: Record  # a broker's queue data of a topic, at the name server
    absent: Row  # the configuration of a topic that a table does not have
    known_route: Variable
    queues: Variable
    position: Variable
    sent: Variable
    started: Variable
    refreshed: Variable
    creations: Variable
    announcements: Variable
    crashes: Expr
    losses: Expr
    updates: Expr
    own: tuple[Row, ...]  # each topic's configuration of the constructor's making (TCM-03)
    kept: Log | None
    places: Places | None

    @property
    def log(self) -> Log:
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
        return partial(self.model.action, actor=CLIENT, fair="weak", p=self.Producer)

    @property
    def handler(self) -> Declares:
        """Declares a step of the broker's thread that serves p's request."""
        return partial(self.model.action, actor=HANDLER, fair="weak", p=self.Producer)

    @cached_property
    def permission(self) -> Expr:
        """brokerPermission."""
        return broker_permission(self.constant)

    def published(self, row: Row) -> Row:
        """NS-11: a broker that may not read or write registers copies with another permission."""
        order = ite(limited(self.constant), False, row.order)
        return Row({**row.fields, "perm": published_perm(self.constant, row.perm), "order": order})

    @property
    def quiet(self) -> Expr:
        """Nothing is under way: no request, no registration. Deliveries take far less than a period of 30 s."""
        return all_of(self.at(self.job[p], "idle") for p in self.Producer) & all_of(~self.registration_in_flight[b] for b in self.Broker)


def declare(scope: Scope) -> Specification:
    """The empty specification: variables and constants, no actions yet."""
    m = Model(f"specification/{scope.name}", former=dict(_FORMER))
    broker = m.index("Broker", scope.broker_names, symmetric=scope.symmetric)
    producer = m.index("Producer", scope.producer_names, symmetric=scope.symmetric)
    topic, queue = m.index("Topic", scope.topic_names), m.index("Queue", scope.queues)
    m.acting("administrator", producer, broker, "name server", "network")
    counts, perm = scope.counts, PERMISSION
    config = Record(known=Bool, read=counts, write=counts, perm=perm, order=Bool).described(
        known="whether it has the topic",
        read="readQueueNums",
        write="writeQueueNums",
        perm="the permission's bits: 4 read, 2 write, 1 inherit",
        order="whether it is an order topic",
    )
    constant = switches(m, scope)
    absent: Row = config(known=False, read=counts.lo, write=counts.lo, perm=0, order=False)

    def topic_row(prefix: str, order: Expr | bool = False) -> Row:
        fields = {name: constant[f"{prefix}_{name}"] for name in ("read", "write", "perm")}
        row: Row = config(known=True, order=order, **fields)
        return row

    def own(name_class: NameClass) -> Row:
        """TCM-03: the table before the file is read."""
        if name_class == "template":
            return ite(constant["auto_create"], topic_row("template"), absent)  # type: ignore[no-any-return]
        if name_class == "cluster":
            return config(known=True, read=counts.hi, write=counts.hi, perm=constant["cluster_perm"], order=False)
        return absent

    def filed(t: int) -> Row:
        """The table's file at the start: what an earlier run left there."""
        if t == scope.subject:
            return ite(constant["existing"], topic_row("existing", constant["order_topic"]), absent)  # type: ignore[no-any-return]
        kept = constant["template_in_file"] if scope.topics[t] == "template" else False
        return ite(kept, topic_row("template"), absent)  # type: ignore[no-any-return]

    owned = tuple(own(name_class) for name_class in scope.topics)
    at_start = [started(filed(t), owned[t]) for t in range(len(scope.topics))]
    job = Record(
        phase=Phase,
        broker=Maybe(broker),
        topic=topic,
        default=topic,
        numbers=scope.numbers,
        queue=scope.queue_ids,
        kind=Kind,
        size=scope.sizes,
        read=counts,
        write=counts,
        perm=perm,
        fallback=Bool,
        created=Bool,
        touched=Bool,
        checks=Bool,
        appended=Int(0, 1),
        answer=PlacedAnswer if scope.placed else Answer,
        offset=Int(0, scope.offsets),
        tries=Int(0, 2),
    ).described(
        phase="where it stands",
        broker="the broker that it was sent to",
        topic="the header's topic",
        default="the header's defaultTopic",
        numbers="the header's defaultTopicQueueNums",
        queue="the header's queueId, and then the queue that the message is stored in",
        kind="the message's transaction type",
        size="the message's size, in the scope's units",
        read="readQueueNums of the configuration that is being made or was found",
        write="writeQueueNums of the configuration that is being made or was found",
        perm="the permission of the configuration that is being made or was found",
        fallback="whether it is the second try to create a retry topic",
        created="whether it created its topic",
        touched="whether it changed the topic table",
        checks="whether it was refused by the checks of the header",
        appended="how many records were appended for it",
        answer="the answer's code",
        offset="the answer's queueOffset",
        tries="how often it was sent again",
    )
    listed = Record(entries=Int(0, 2), read=counts, write=counts, perm=perm).described(
        entries="how many entries of the broker it has", read="readQueueNums", write="writeQueueNums", perm="the permission's bits"
    )
    length = scope.brokers * max(counts.hi, 1)

    def advertised(b: int, t: int) -> Row:
        start = at_start[t]
        perm = ite(start.known, published_perm(constant, start.perm), start.perm)
        entry: Row = listed(entries=ite(start.known, 1, 0), read=start.read, write=start.write, perm=perm)
        return entry

    return Specification(
        scope=scope,
        model=m,
        job_record=job,
        listed=listed,
        absent=absent,
        Broker=broker,
        Producer=producer,
        Topic=topic,
        Queue=queue,
        Config=config,
        constant=constant,
        up=m.var("up", Bool, over=broker, init=True, sentence="whether the broker runs"),
        config=m.var("config", config, over=(broker, topic), init=lambda b, t: at_start[t], sentence="the broker's topic table, in memory"),
        version=m.var(
            "version", Int(0, scope.versions), over=broker, init=0, sentence="the data version of the broker's topic table, counted from 0"
        ),
        file=m.var(
            "file", config, over=(broker, topic), init=lambda b, t: filed(t), sentence="the broker's topic table as its file has it"
        ),
        file_version=m.var(
            "file_version", Int(0, scope.versions), over=broker, init=0, sentence="the data version in the topic table's file"
        ),
        lock=m.var("lock", Maybe(producer), over=broker, init=None, sentence="the request that holds the broker's lock of the topic table"),
        job=m.var("job", job, over=producer, init=idle(job, scope), sentence="the producer's request"),
        registration=m.var(
            "registration",
            config,
            over=(broker, topic),
            init=absent,
            sentence="the topics in the broker's registration that is on its way to the name server",
        ),
        registration_version=m.var(
            "registration_version",
            Int(0, scope.versions),
            over=broker,
            init=0,
            sentence="the data version in the registration that is on its way",
        ),
        registration_in_flight=m.var(
            "registration_in_flight",
            Bool,
            over=broker,
            init=False,
            sentence="whether a registration of the broker is on its way to the name server",
        ),
        route=m.var(
            "route",
            listed,
            over=(broker, topic),
            init=advertised,
            sentence="what the name server has of the topic on this broker",
            part="name server",
        ),
        live=m.var("live", Bool, over=broker, init=True, sentence="whether the name server takes the broker for alive", part="name server"),
        live_version=m.var(
            "live_version",
            Int(0, scope.versions),
            over=broker,
            init=0,
            sentence="the data version that the name server has of the broker",
            part="name server",
        ),
        known_route=m.var("known_route", Bool, over=producer, init=False, sentence="whether the producer has a route for its topic"),
        queues=m.var(
            "queues",
            Int(0, max(counts.hi, 0)),
            over=(producer, broker),
            init=0,
            sentence="how many of the broker's queues the producer's route lists",
        ),
        position=m.var(
            "position", Int(0, length - 1), over=producer, init=0, sentence="where the producer stands in the row of its queues"
        ),
        sent=m.var("sent", Int(0, max(scope.sends, 1)), over=producer, init=0, sentence="how many messages the producer has sent"),
        started=m.var(
            "started",
            Bool,
            over=producer,
            init=~constant["round_robin"],
            sentence="whether the producer's counter of queues has its first value",
        ),
        refreshed=m.var(
            "refreshed", Bool, over=producer, init=False, sentence="whether the producer's route was refreshed after the first messages"
        ),
        creations=m.var(
            "creations",
            Int(0, 2),
            over=(broker, topic),
            init=0,
            sentence="how often the topic was created on the broker since it started, counted up to 2",
        ),
        announcements=m.var(
            "announcements",
            Int(0, 2),
            over=(broker, topic),
            init=0,
            sentence="how often the topic's creation was announced to the name server, counted up to 2",
        ),
        crashes=m.var("crashes", Int(0, 1), init=0, sentence="how many crashes there were"),
        losses=m.var("losses", Int(0, 1), init=0, sentence="how many registrations were lost"),
        updates=m.var("updates", Int(0, 1), init=0, sentence="how many updates of topics there were"),
        own=owned,
        kept=declare_log(m, scope, broker, (broker, topic, queue)) if scope.store else None,
        places=declare_places(m, constant, broker, producer, topic) if scope.placed else None,
    )


def idle(job: Record, scope: Scope) -> Row:
    """A handler without a request."""
    row: Row = job(
        phase="idle",
        broker=None,
        topic=0,
        default=0,
        numbers=scope.numbers.lo,
        queue=scope.queue_ids.lo,
        kind="not",
        size=scope.sizes.lo,
        read=scope.counts.lo,
        write=scope.counts.lo,
        perm=0,
        fallback=False,
        created=False,
        touched=False,
        checks=False,
        appended=0,
        answer="none",
        offset=0,
        tries=0,
    )
    return row


def started(filed: Row, own: Row) -> Row:
    """PER-04: a topic after a start: as the file has it, else as the constructor made it."""
    row: Row = ite(filed.known, filed, own)
    return row


def inherits(row: Row) -> Expr:
    """PERM-01: the topic's permission has INHERIT."""
    return (row.perm & INHERIT) == INHERIT
