"""Scopes: the finite sizes of a run, and the parts of the specification that it includes.

Values that differ between cases of one scope are constants of the model instead, so one compiled kernel serves all cases.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from string import ascii_lowercase
from typing import Any, Final

from rocketproof_model.language import JAVA_INT, Int, Type
from rocketproof_profiles import NameClass

_TOPIC: Final[dict[NameClass, tuple[str, ...]]] = {
    "ordinary": ("orders",),
    "template": ("TBW102",),
    "cluster": ("DefaultCluster",),
    "retry": ("%RETRY%group",),
    "forbidden": ("SCHEDULE_TOPIC_XXXX", "RMQ_SYS_TRANS_HALF_TOPIC", "rmq_sys_wheel_timer"),
    "blank": ("a blank name",),
    "illegal": ("an illegal name",),
    "long": ("an overlong name",),
}
"""The names that are shown for the first topics of each class."""
LARGEST_OFFSET: Final = 1 << 60
"""The largest offset that a group may commit in an unbounded scope."""


@dataclass(frozen=True)
class Scope:
    """Sizes, and the parts of the specification. Topic 0 is the template; producers publish the last topic.

    `topics`: the name class of each topic.
    `requests`: raw clients send any header of these ranges. Its default topic is of the classes `defaults`.
    `placed`: the record of a request may be stored in another topic or queue; there are send-backs and ends of transactions.
    `progress`: the number of places for which groups commit offsets `told`. A place is a queue with a group.
    `limits`: the range of a group's retries and queues.
    `of_subject`: the places belong to the first retry topic's group and the last topic.
    `waits`: clients send messages that wait, to a broker with the three topics for them.
    `deletes`: an administrator deletes topics. `tells`: an administrator sets the routes at the name server.
    `configures`: an administrator changes settings of running brokers.
    `like`: a smaller scope with the same expected verdicts.
    `symmetric`: producers are interchangeable, and so are brokers. There is no round robin, which needs an order of brokers.
    """

    name: str
    about: str
    brokers: int = 1
    producers: int = 1
    topics: tuple[NameClass, ...] = ("template", "ordinary")
    queues: int = 2
    counts: Type = Int(0, 2)
    numbers: Type = Int(-1, 2)
    queue_ids: Type = Int(-1, 2)
    draws: Type = Int(0, 1)
    requests: bool = False
    defaults: tuple[NameClass, ...] = ("template", "cluster")
    routes: bool = True
    store: bool = False
    offsets: int = 2
    files: int = 2
    file_size: int = 4
    blank: int = 1
    sizes: Type = Int(1, 1)
    crashes: bool = False
    updates: bool = False
    placed: bool = False
    progress: int = 0
    told: Type = Int(-1, LARGEST_OFFSET)
    limits: Type = Int(*JAVA_INT)
    of_subject: bool = False
    waits: bool = False
    deletes: bool = False
    tells: bool = False
    configures: bool = False
    versions: int = 4
    sends: int = 2
    permissions: tuple[int, ...] = (4, 6, 7)
    symmetric: bool = False
    like: str = ""

    @property
    def broker_names(self) -> list[str]:
        """The names that are shown for the brokers."""
        return [f"broker-{letter}" for letter in ascii_lowercase[: self.brokers]]

    @property
    def producer_names(self) -> list[str]:
        """The names that are shown for the producers or raw clients."""
        return [f"{'client' if self.requests else 'producer'} {p}" for p in range(self.producers)]

    @property
    def topic_names(self) -> list[str]:
        """The names that are shown for the topics: the first unused name of the class, or its first name with a number."""
        names: list[str] = []
        for name_class in self.topics:
            names.append(next((name for name in _TOPIC[name_class] if name not in names), f"{_TOPIC[name_class][0]} {len(names)}"))
        return names

    @property
    def changes(self) -> bool:
        """Whether an administrator can change or delete a topic after a request has looked it up."""
        return self.updates or self.deletes

    @property
    def subject(self) -> int:
        """The topic that producers publish."""
        return len(self.topics) - 1

    def named(self, *classes: NameClass) -> list[int]:
        """Return the topics of these name classes."""
        return [t for t, c in enumerate(self.topics) if c in classes]


_ONE_QUEUE: Final[dict[str, Any]] = {
    "requests": True,
    "routes": False,
    "queues": 1,
    "counts": Int(0, 1),
    "numbers": Int(1, 1),
    "queue_ids": Int(-1, 0),
    "draws": Int(0, 0),
    "versions": 3,
}
"""The sizes of scopes that are about an administrator: one client, and topics with one queue."""

SCOPES: dict[str, Scope] = {
    s.name: s
    for s in (
        Scope(
            "tiny",
            "one broker, one producer: small enough to draw",
            sends=1,
            queues=1,
            counts=Int(0, 1),
            numbers=Int(0, 1),
            queue_ids=Int(-1, 0),
            draws=Int(0, 0),
        ),
        Scope(
            "small",
            "two brokers, two producers with routes: the smallest scope with the auto-create skew",
            brokers=2,
            producers=2,
            sends=2,
            queue_ids=Int(-1, 1),
            numbers=Int(0, 2),
            draws=Int(0, 0),
            versions=2,
        ),
        Scope(
            "creation",
            "one broker, two clients with any header: concurrent first sends",
            producers=2,
            requests=True,
            routes=False,
            topics=("template", "cluster", "ordinary"),
            sends=1,
            versions=3,
        ),
        Scope(
            "names",
            "one broker, one client: every class of name, retry topics, permissions",
            requests=True,
            routes=False,
            store=True,
            topics=("template", "retry", "forbidden", "blank", "illegal", "long", "ordinary"),
            updates=True,
            permissions=(0, 4, 6),
            sends=2,
            versions=4,
            offsets=3,
            file_size=9,
        ),
        Scope(
            "restart",
            "one broker, two clients, crash and restart",
            producers=2,
            requests=True,
            routes=False,
            crashes=True,
            sends=1,
            queue_ids=Int(-1, 0),
            queues=1,
            counts=Int(0, 1),
            numbers=Int(0, 1),
            draws=Int(0, 0),
            versions=3,
        ),
        Scope(
            "store",
            "one broker, one client: transaction types, file end and roll, dispatch, flush",
            producers=1,
            requests=True,
            routes=False,
            store=True,
            queue_ids=Int(0, 1),
            counts=Int(0, 2),
            numbers=Int(2, 2),
            draws=Int(0, 0),
            sends=3,
            offsets=3,
            files=2,
            file_size=6,
            blank=2,
            sizes=Int(1, 5),
            versions=1,
        ),
        Scope(
            "deletions",
            "one broker, one client: topics that are deleted and created again",
            store=True,
            deletes=True,
            **_ONE_QUEUE,
            file_size=3,
        ),
        Scope(
            "settings",
            "one broker, one client: settings that are changed while the broker runs",
            configures=True,
            **_ONE_QUEUE,
        ),
        Scope(
            "told",
            "one broker, one client: topics that an administrator registers at the name server",
            tells=True,
            **_ONE_QUEUE,
            topics=("template", "ordinary", "ordinary"),
            permissions=(4, 6),
        ),
        Scope(
            "offsets",
            "one broker, one client, one group: the offset it commits for a queue whose topic is deleted",
            store=True,
            deletes=True,
            placed=True,
            progress=1,
            told=Int(-1, 1),
            limits=Int(1, 1),
            of_subject=True,
            **_ONE_QUEUE | {"versions": 2, "queue_ids": Int(0, 0)},
            topics=("template", "retry", "ordinary"),
            sends=1,
            file_size=3,
        ),
        Scope(
            "timers",
            "one broker, one client: messages that wait for a delay level or a delivery time",
            store=True,
            placed=True,
            waits=True,
            **_ONE_QUEUE,
            limits=Int(1, 1),
            topics=("template", "forbidden", "forbidden", "forbidden", "ordinary"),
            sends=1,
            file_size=3,
        ),
        Scope(
            "skew",
            "two brokers, one producer, four queues: the auto-create skew as real brokers show it",
            brokers=2,
            queues=4,
            counts=Int(0, 4),
            numbers=Int(0, 4),
            queue_ids=Int(-1, 3),
            draws=Int(0, 0),
            sends=16,
            versions=2,
        ),
    )
}
SCOPES |= {
    s.name: s
    for s in (
        replace(SCOPES["small"], name="medium", about="small with a third send: 0.9 million states", sends=3, like="small"),
        replace(SCOPES["store"], name="large", about="store with a fourth send: 8 million states", sends=4, like="store"),
        replace(
            SCOPES["small"],
            name="three",
            about="small with a third producer: 86 million states, 7 million up to symmetry",
            producers=3,
            symmetric=True,
            like="small",
        ),
        replace(
            SCOPES["creation"],
            name="topics",
            about="creation with a second topic: 2.5 million states, 1.2 million up to symmetry",
            topics=("template", "cluster", "ordinary", "ordinary"),
            symmetric=True,
            like="creation",
        ),
    )
}
