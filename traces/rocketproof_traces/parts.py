"""A history in parts that can be judged one by one: the requests about one topic of one broker.

Queue offsets are a topic's own. What couples topics is seen to so that a part never refuses what the whole explains: a default
topic that is no system topic is in one part with the topics made from it; another topic's creation may hold the lock or take
INHERIT from the template at any time. What the specification has no word for ends a part there, with the reason; what such requests
may have stored is allowed for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from rocketproof_model.specification.constructor import system_topics
from rocketproof_profiles import RETRY_PREFIX, TEMPLATE

from .operations import NAME_SERVER, Break, Operation, Operations, Snapshot
from .recording import Config

DLQ_PREFIX = "%DLQ%"
SENDS = ("send", "batch")
JUDGED = (*SENDS, "update_topic", "topic_config", "max_offset")
MAY_RETRY = ("send_back", "heartbeat", "update_group")  # what lets a broker make and fill retry topics by itself
COMMIT = 8
UNREADABLE = "headers that do not decode"
"""Why `reach` leaves out a send whose fields no broker can read."""


@dataclass
class Part:
    """What is judged together. `cut` is the event from which on the part is out of reach, `why` says why.

    `own`: places (topic, queue) where the broker may have stored a record by itself, with the event from which on.
    `initial`: what the broker knew of a topic before the first event. `fresh`: its topics' queues were certainly empty then. `switches`:
    the values of autoCreateTopicEnable that are possible. `alone`: its broker has no other part.
    """

    broker: str
    topics: tuple[str, ...]
    asked: list[Operation] = field(default_factory=list)
    snapshots: list[Snapshot] = field(default_factory=list)
    own: list[tuple[int, str, int]] = field(default_factory=list)
    initial: dict[str, Config] = field(default_factory=dict)
    fresh: bool = True
    switches: tuple[bool, ...] = (True, False)
    alone: bool = True
    cut: int | None = None
    why: str = ""

    @property
    def name(self) -> str:
        return f"{', '.join(self.topics)} at {self.broker}"

    def cut_at(self, seq: int, why: str) -> None:
        if self.cut is None or seq < self.cut:
            self.cut, self.why = seq, why


@dataclass(frozen=True)
class Parted:
    """The parts of a history, and what belongs to none, by reason."""

    parts: tuple[Part, ...]
    left_out: Counter[str]


def parted(found: Operations, cluster: str = "DefaultCluster") -> Parted:
    """Divide a history."""
    left_out: Counter[str] = Counter()
    mine: list[Operation] = []
    for one in found.asked:
        if one.broker == NAME_SERVER:
            left_out["asked of the name server"] += 1
        elif one.op in JUDGED and "topic" in one.fields:
            mine.append(one)
        else:
            left_out[f"requests of the kind {one.op}"] += 1
    groups = _coupled(mine, cluster)
    parts = {key: Part(key[0], tuple(topics)) for key, topics in groups.items()}
    of = {(key[0], topic): key for key, topics in groups.items() for topic in topics}
    for one in mine:
        parts[of[one.broker, one.topic]].asked.append(one)
    _know(parts.values(), found.snapshots, cluster)
    _cut(parts, of, found)
    _allow(parts, of, found.asked)
    number = Counter(part.broker for part in parts.values())
    for part in parts.values():
        part.alone = number[part.broker] == 1
    return Parted(tuple(parts.values()), left_out)


def _coupled(asked: Iterable[Operation], cluster: str) -> dict[tuple[str, str], list[str]]:
    """Topics of a broker that belong together, by the first of them."""
    head: dict[tuple[str, str], tuple[str, str]] = {}

    def first(key: tuple[str, str]) -> tuple[str, str]:
        while head[key] != key:
            key = head[key]
        return key

    for one in asked:
        key = (one.broker, one.topic)
        head.setdefault(key, key)
        default = one.fields.get("defaultTopic", TEMPLATE) if one.op in SENDS else TEMPLATE
        if default not in (TEMPLATE, cluster, one.broker, one.topic):
            other = (one.broker, default)
            head.setdefault(other, other)
            head[first(key)] = first(other)
    groups: dict[tuple[str, str], list[str]] = {}
    for key in head:
        groups.setdefault(first(key), []).append(key[1])
    return groups


def _know(parts: Iterable[Part], snapshots: Sequence[Snapshot], cluster: str) -> None:
    """What each part's broker had at the start: what it said before the first request, else what a new broker has."""
    begun = {part.broker: min(one.opened for one in part.asked) if part.asked else 0 for part in parts}
    for part in parts:
        begun[part.broker] = min(begun[part.broker], min((one.opened for one in part.asked), default=0))
    for part in parts:
        said = [s for s in snapshots if s.broker == part.broker]
        before = [s for s in said if s.seq < begun[part.broker]]
        if before:
            table: Mapping[str, Config] = before[-1].topics
            part.fresh = not any(topic in table for topic in part.topics)
        else:
            table = {name: Config(n, n, perm, False) for name, (n, perm) in system_topics(cluster, part.broker, auto_create=True).items()}
        part.initial = dict(table)
        template = table.get(TEMPLATE)
        part.switches = (True, False) if template is not None and template.perm & 1 else (False,)
        part.snapshots = [s for s in said if s not in before]


def _cut(parts: Mapping[tuple[str, str], Part], of: Mapping[tuple[str, str], tuple[str, str]], found: Operations) -> None:
    """End parts where the specification has no word for what happens."""
    stops: list[Break] = list(found.breaks)
    for part in parts.values():
        for stop in stops:
            if stop.broker == part.broker:
                part.cut_at(stop.seq, stop.why)
        if any(topic.startswith(DLQ_PREFIX) for topic in part.topics):
            part.cut_at(0, "the broker fills dead-letter topics by itself")
    for one in found.asked:
        mine = parts[of[one.broker, one.topic]] if (one.broker, one.topic) in of else None
        if mine is not None and one.op == "delete_topic":
            mine.cut_at(one.opened, "the topic was deleted")
        elif mine is not None and one.op == "update_topic" and str(one.fields.get("order", "")).lower() == "true":
            mine.cut_at(one.opened, "order topics")
        elif one.op in MAY_RETRY:
            for part in parts.values():
                if part.broker == one.broker and any(topic.startswith(RETRY_PREFIX) for topic in part.topics):
                    part.cut_at(one.opened, "the broker makes and fills retry topics by itself")
        elif mine is not None and one.op in SENDS and one.reason == UNREADABLE:
            mine.cut_at(one.opened, UNREADABLE)  # the topic may have been made with whatever could be read
        elif mine is not None and one.op == "batch" and one.messages is None:
            mine.cut_at(one.opened, "batches without their body")


def _allow(parts: Mapping[tuple[str, str], Part], of: Mapping[tuple[str, str], tuple[str, str]], asked: Iterable[Operation]) -> None:
    """Grant the records that a broker stores by itself: delayed messages when their time has come, half messages when committed."""
    half: dict[str, list[tuple[str, int]]] = {}
    for one in asked:
        if (one.broker, one.topic) not in of and one.op != "end_transaction":
            continue
        if one.op == "send" and one.reason == "delayed messages":
            parts[of[one.broker, one.topic]].own.append((one.opened, one.topic, one.number("queueId")))
        elif one.op == "send" and one.reason == "transactional messages":
            half.setdefault(one.broker, []).append((one.topic, one.number("queueId")))
        elif one.op == "end_transaction" and one.number("commitOrRollback") == COMMIT:
            for topic, queue in half.get(one.broker, ()):
                parts[of[one.broker, topic]].own.append((one.opened, topic, queue))


__all__ = ["JUDGED", "SENDS", "Part", "Parted", "parted"]
