"""Scopes: the finite sizes of a run, and which parts of the specification it has. Values that differ between cases of one
scope are constants of the model instead, so that one compiled kernel serves them all."""

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
"""What the first topics of each class are called where a person reads of them."""
MOST_TOLD: Final = 1 << 60
"""The largest offset that a group may tell where no scope bounds it."""


@dataclass(frozen=True)
class Scope:
    """Sizes. `topics` gives the name class of each topic; topic 0 is the template, the last one is what producers publish.

    `requests`: raw clients put any header of these ranges on the wire, their default topic of the classes `defaults`.
    `placed`: messages may come to lie elsewhere than they ask for, be sent back, and end transactions. `progress`: of how many places,
    each a queue and a group, such groups tell their offsets, `told`; `limits`: of their retries and queues. `of_subject`: these places are
    of the first retry topic's group and the last topic. `waits`: clients send messages that wait, to a broker with the three topics for it.
    `deletes`: an administrator deletes topics. `tells`: and tells the name server which topics there are.
    `configures`: an administrator changes settings of brokers that run.
    `like` names a smaller scope whose verdicts are expected here too. In a `symmetric` scope producers are interchangeable, and so are
    brokers: nobody takes queues in turn, which would need an order of brokers.
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
    told: Type = Int(-1, MOST_TOLD)
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
        """What the brokers are called where a person reads of them."""
        return [f"broker-{letter}" for letter in ascii_lowercase[: self.brokers]]

    @property
    def producer_names(self) -> list[str]:
        """What the producers are called, or the raw clients."""
        return [f"{'client' if self.requests else 'producer'} {p}" for p in range(self.producers)]

    @property
    def topic_names(self) -> list[str]:
        """What the topics are called: one of its class each, with a number where there are several."""
        found: list[str] = []
        for each in self.topics:
            found.append(next((name for name in _TOPIC[each] if name not in found), f"{_TOPIC[each][0]} {len(found)}"))
        return found

    @property
    def changes(self) -> bool:
        """Whether an administrator changes or deletes topics that requests have looked up."""
        return self.updates or self.deletes

    @property
    def subject(self) -> int:
        """The topic that producers publish."""
        return len(self.topics) - 1

    def named(self, *classes: NameClass) -> list[int]:
        """The topics of these classes."""
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
"""A client whose topics have one queue: what an administrator does meanwhile is the point."""

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
            "two brokers, two producers with routes: where the auto-create skew lives",
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
            "one broker, one client: topics that are deleted and made again",
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
            "one broker, one client: topics that an administrator tells the name server",
            tells=True,
            **_ONE_QUEUE,
            topics=("template", "ordinary", "ordinary"),
            permissions=(4, 6),
        ),
        Scope(
            "offsets",
            "one broker, one client, one group: what it tells of a queue whose topic is deleted",
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
            "one broker, one client: messages that wait for a delay level or a time of their own",
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
