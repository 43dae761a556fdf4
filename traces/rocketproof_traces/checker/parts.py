"""A history in parts that can be judged one by one: the requests about one topic of one broker.

Queue offsets are a topic's own. What couples topics is seen to so that a part never refuses what the whole explains: a default
topic that is no system topic is in one part with the topics made from it; another topic's creation may hold the lock or take
INHERIT from the template at any time. What the specification has no word for ends a part there, with the reason; what such requests
may have stored is allowed for. A topic that a broker reports though nobody asked for it is a part without requests.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rocketproof_protocol.flags import COMMIT
from rocketproof_protocol.numbers import java_boolean
from rocketproof_protocol.topics import DLQ_PREFIX, RETRY_PREFIX, SYSTEM_PREFIX, SYSTEM_TOPICS, TEMPLATE, TEMPLATES

from ..history.cases import ATTRIBUTES, UNREADABLE, Config
from ..history.exchange import Exchange
from ..history.exchanges import CONFIGURE, JUDGED, NAME_SERVER, PROGRESS, SENDS, Break, RecordedExchanges, Snapshot, is_specified
from .places import tells_unheard
from .ways import PLACING, linked, subject_of

MAKE_NONE = (
    *("topic_config", "max_offset", "search", "earliest", "pull", "progress", "commit", "find", "view", "topics", "settings"),
    *("delete_topic", "delete_group", "end_transaction", "configure"),
)
"""Requests by which a broker makes no topic. Those that do are sends, send-backs, heartbeats and updates (TCM-10 to TCM-30)."""
_OF_A_TOPIC = frozenset((*JUDGED, *PLACING, *PROGRESS))
_MAKE_NO_OTHER = frozenset((*MAKE_NONE, *PLACING))


def name_of(broker: str, topics: Sequence[str], *, recorded: bool = False) -> str:
    """The name of the part of these topics."""
    return f"all topics at {broker}" if recorded else f"{', '.join(topics)} at {broker}"


@dataclass
class HistoryPartition:
    """What is judged together. `cut` is the event from which on the part is out of reach, `why` is the reason.

    `own`: places (topic, queue) where the broker may have stored a record by itself, with the event from which on.
    `initial`: the topics that the broker had before the first event; `new`: it did not report them, so it is taken as new. `fresh`: its
    topics' queues were certainly empty then. `switches`: the values of autoCreateTopicEnable that are possible. `alone`: its broker makes
    no other topics. `placed`: its records may lie elsewhere than asked for. `recorded`: it is a recording of single requests, with all that
    its broker was asked. `unheard`: the first event after which offsets of groups may be others than the part's requests tell.
    """

    broker: str
    topics: tuple[str, ...]
    asked: list[Exchange] = field(default_factory=list)
    snapshots: list[Snapshot] = field(default_factory=list)
    own: list[tuple[int, str, int]] = field(default_factory=list)
    initial: dict[str, Config] = field(default_factory=dict)
    new: bool = True
    fresh: bool = True
    switches: tuple[bool, ...] = (True, False)
    alone: bool = True
    recorded: bool = False
    placed: bool = False
    unheard: int | None = None
    cut: int | None = None
    why: str = ""

    @property
    def name(self) -> str:
        return name_of(self.broker, self.topics, recorded=self.recorded)

    def cut_at(self, seq: int, why: str) -> None:
        if self.cut is None or seq < self.cut:
            self.cut, self.why = seq, why


@dataclass(frozen=True)
class Parted:
    """The parts of a history, and what belongs to none, by reason."""

    parts: tuple[HistoryPartition, ...]
    left_out: Counter[str]


Place = tuple[str, str]
"""A topic of a broker: (broker, topic)."""


@dataclass
class Survey:
    """What a part must know of the rest of its history. It grows with topics and brokers, not with events.

    `seen`: when a topic is first met; `told`: when a broker first reported it. `links`: topics that belong together. `begun`, `breaks`,
    `retries`: of each broker the first request about a topic, the first break, the first request that lets it make retry topics
    unseen from here; `unknown`: the first that may make any topic. `placed`: topics whose records may lie in another. `commits`: the ends
    of transactions that commit; `unheard`: the first request by which offsets of groups may change unseen from a part. A recording
    (`recorded`) is one part for each broker. `left_out` counts requests that belong to no part, by reason.
    """

    cluster: str = "DefaultCluster"
    recorded: bool = False
    seen: dict[Place, tuple[int, int]] = field(default_factory=dict)
    told: dict[Place, int] = field(default_factory=dict)
    links: set[tuple[Place, Place]] = field(default_factory=set)
    placed: set[Place] = field(default_factory=set)
    begun: dict[str, int] = field(default_factory=dict)
    breaks: dict[str, tuple[int, str]] = field(default_factory=dict)
    retries: dict[str, int] = field(default_factory=dict)
    unknown: dict[str, int] = field(default_factory=dict)
    commits: dict[str, list[int]] = field(default_factory=dict)
    unheard: dict[str, int] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)

    def ask(self, op: str, broker: str, opened: int, topic: str | None, default: str, linked: Sequence[str] | None = None) -> None:
        """Take in a request; `topic` is the one that it is about, None if it names none; `linked` as in `ways`."""
        if self.recorded:
            self._meet(broker, opened, topic or "", default if op in SENDS else TEMPLATE)
        elif broker == NAME_SERVER:
            self.left_out["asked of the name server"] += 1
        elif op in _OF_A_TOPIC and topic is not None:
            self._meet(broker, opened, topic, default if op in SENDS else TEMPLATE)
            for other in linked or ():
                self._meet(broker, opened, topic, other)
            if linked is not None:
                self.placed.add((broker, topic))
        else:
            self.left_out[f"requests of the kind {op}"] += 1
        if op == "heartbeat" or (op in PLACING and topic is None):
            self.retries[broker] = min(self.retries.get(broker, opened), opened)
        elif (op not in JUDGED or topic is None) and op not in _MAKE_NO_OTHER:
            self.unknown[broker] = min(self.unknown.get(broker, opened), opened)

    def _meet(self, broker: str, opened: int, topic: str, default: str) -> None:
        place = (broker, topic)
        self.begun[broker] = min(self.begun.get(broker, opened), opened)
        if place not in self.seen or opened < self.seen[place][0]:
            self.seen[place] = (opened, 0)
        if default not in (*TEMPLATES, self.cluster, broker, topic):
            other = (broker, default)
            self.seen[other] = min(self.seen.get(other, (opened, 1)), (opened, 1))
            self.links.add((place, other))

    def commit(self, broker: str, opened: int) -> None:
        """Take in the end of a transaction that commits."""
        self.commits.setdefault(broker, []).append(opened)

    def hear(self, op: str, broker: str, opened: int, fields: Mapping[str, str]) -> None:
        """Take in that a request may change offsets of groups that no part knows of."""
        if broker != NAME_SERVER and tells_unheard(op, fields):
            self.unheard[broker] = min(self.unheard.get(broker, opened), opened)

    def stop(self, found: Break) -> None:
        """Take in a break."""
        if found.broker not in self.breaks or found.seq < self.breaks[found.broker][0]:
            self.breaks[found.broker] = (found.seq, found.why)

    def report(self, broker: str, seq: int, topics: Iterable[str]) -> None:
        """Take in the names of the topics that a broker reported."""
        for topic in topics:
            place = (broker, topic)
            self.told[place] = min(self.told.get(place, seq), seq)

    def _unasked(self) -> Iterator[Place]:
        """The topics that a broker reported after its first request and before anything that the specification has no word for, and that
        neither a request nor the broker itself makes."""
        for (broker, topic), seq in self.told.items():
            ends = [end for end in (self.unknown.get(broker), self.breaks.get(broker, (None,))[0]) if end is not None]
            ends += [self.retries[broker]] if broker in self.retries and topic.startswith(RETRY_PREFIX) else []
            own = topic in SYSTEM_TOPICS or topic.lower().startswith(SYSTEM_PREFIX) or topic.startswith((self.cluster, broker, DLQ_PREFIX))
            if (broker, topic) not in self.seen and not own and self.begun.get(broker, seq) < seq < min(ends, default=seq + 1):
                yield broker, topic

    def groups(self) -> list[tuple[str, tuple[str, ...]]]:
        """Brokers with the topics that are judged together, in the order in which they are met."""
        head = {place: place for place in self.seen}

        def first(place: Place) -> Place:
            while head[place] != place:
                head[place] = head[head[place]]
                place = head[place]
            return place

        for one, other in self.links:
            head[first(one)] = first(other)
        groups: dict[Place, list[str]] = {}
        for place in sorted(self.seen, key=self.seen.__getitem__):
            groups.setdefault((place[0], "") if self.recorded else first(place), []).append(place[1])
        if not self.recorded:
            groups |= {place: [place[1]] for place in self._unasked()}
        return [(broker, tuple(topics)) for (broker, _), topics in groups.items()]

    def is_setting(self, op: str, asked: Mapping[str, Any]) -> bool:
        """Whether a request changes settings of its broker as the specification says, which is judged with every part of it."""
        return op == CONFIGURE and not self.recorded and is_specified(asked)

    def belongs(self, op: str, topic: str | None) -> bool:
        """Whether a request is judged with the others about its topic of its broker; `topic` is None if it names none."""
        return self.recorded or (op in _OF_A_TOPIC and topic is not None)

    def is_placed(self, broker: str, topics: Iterable[str]) -> bool:
        """Whether records of a part's topics may lie elsewhere than asked for."""
        return any((broker, topic) in self.placed for topic in topics)


def parted(found: RecordedExchanges, cluster: str = "DefaultCluster", *, recorded: bool = False) -> Parted:
    """Divide a history."""
    survey = Survey(cluster, recorded)
    topics_of = [one.topic if recorded else subject_of(one) for one in found.asked]
    for one, topic in zip(found.asked, topics_of, strict=True):
        if not one.again and not survey.is_setting(one.op, one.request):
            survey.ask(one.op, one.broker, one.seq, topic, default_of(one.fields), None if recorded else linked(one))
            survey.hear(one.op, one.broker, one.seq, one.fields)
        if commits(one):
            survey.commit(one.broker, one.seq)
    for stop in found.breaks:
        survey.stop(stop)
    for look in found.snapshots:
        survey.report(look.broker, look.seq, look.topics)
    groups = survey.groups()
    of = {(broker, topic): number for number, (broker, topics) in enumerate(groups) for topic in topics}
    mine: list[list[Exchange]] = [[] for _ in groups]
    for one, topic in zip(found.asked, topics_of, strict=True):
        if survey.is_setting(one.op, one.request):
            for asked, (broker, _) in zip(mine, groups, strict=True):
                asked += [one] if broker == one.broker else []
            continue
        number = of.get((one.broker, topic or ""))
        if number is not None and survey.belongs(one.op, topic):
            mine[number].append(one)
    number_of = Counter(broker for broker, _ in groups)
    parts = []
    for (broker, topics), asked in zip(groups, mine, strict=True):
        reports = [s for s in found.snapshots if s.broker == broker]
        parts.append(part_of(survey, broker, topics, asked, reports, alone=number_of[broker] == 1, placed=survey.is_placed(broker, topics)))
    return Parted(tuple(parts), survey.left_out)


def default_of(fields: Mapping[str, str]) -> str:
    """The default topic that a request names."""
    return str(fields.get("defaultTopic", TEMPLATE))


def commits(one: Exchange) -> bool:
    """Whether a request ends a transaction so that its messages are stored."""
    return one.op == "end_transaction" and one.number("commitOrRollback") == COMMIT


def part_of(
    survey: Survey,
    broker: str,
    topics: tuple[str, ...],
    asked: Sequence[Exchange],
    reports: Sequence[Snapshot],
    *,
    alone: bool,
    placed: bool = False,
) -> HistoryPartition:
    """The part of these topics: `asked` are the requests about them that are judged, `reports` what the broker reported of its topics,
    both in order. Of these only these topics, their defaults and the template count. `alone`: no other topic of the broker is asked for."""
    if survey.recorded:
        return HistoryPartition(broker, topics, list(asked), recorded=True)
    alone = alone and broker not in survey.retries  # a retry topic is made under the same lock
    judged = (*JUDGED, *PLACING, *PROGRESS, CONFIGURE) if placed else (*JUDGED, CONFIGURE)
    unheard = survey.unheard.get(broker)
    part = HistoryPartition(broker, topics, [one for one in asked if one.op in judged], alone=alone, placed=placed, unheard=unheard)
    _know(part, reports, survey)
    _cut(part, asked, survey)
    if not placed:
        _allow(part, survey.commits.get(broker, ()))
    return part


def _know(part: HistoryPartition, reports: Sequence[Snapshot], survey: Survey) -> None:
    """What the part's broker had at the start, if it reported that before the first request."""
    begun = survey.begun[part.broker]
    before = [s for s in reports if s.seq < begun]
    if before:
        table = before[-1].topics
        part.initial, part.new = dict(table), False
        part.fresh = not any(topic in table for topic in part.topics)
        part.switches = (True, False) if any(name in table and table[name].perm & 1 for name in TEMPLATES) else (False,)
    part.snapshots = [s for s in reports if s.seq >= begun]


def _cut(part: HistoryPartition, asked: Sequence[Exchange], survey: Survey) -> None:
    """End the part where the specification has no word for what happens."""
    if part.broker in survey.breaks:
        part.cut_at(*survey.breaks[part.broker])
    if not part.placed and any(topic.startswith(DLQ_PREFIX) for topic in part.topics):
        part.cut_at(0, "the broker fills dead-letter topics by itself")
    if part.broker in survey.retries and any(topic.startswith(RETRY_PREFIX) for topic in part.topics):
        part.cut_at(survey.retries[part.broker], "the broker makes and fills retry topics by itself")
    for one in asked:
        if one.op == "update_topic" and java_boolean(str(one.fields.get("order", ""))):
            part.cut_at(one.seq, "order topics")
        elif one.op == "update_topic" and one.reason == ATTRIBUTES:
            part.cut_at(one.seq, ATTRIBUTES)
        elif one.op in SENDS and one.reason == UNREADABLE:
            part.cut_at(one.seq, UNREADABLE)  # the topic may have been made with whatever could be read
        elif one.op == "batch" and one.messages is None:
            part.cut_at(one.seq, "batches without their body")


def _allow(part: HistoryPartition, committed: Sequence[int]) -> None:
    """Grant the records that a broker stores by itself: delayed messages when their time has come, half messages when committed."""
    half: list[tuple[int, str, int]] = []
    for one in part.asked:
        if one.op == "send" and one.reason == "delayed messages":
            part.own.append((one.seq, one.topic, one.number("queueId")))
        elif one.op == "send" and one.reason == "transactional messages":
            half.append((one.seq, one.topic, one.number("queueId")))
    if half:
        part.own += [(seq, topic, queue) for seq in committed for opened, topic, queue in half if opened < seq]
        part.own.sort(key=lambda own: own[0])


__all__ = ["UNREADABLE", "HistoryPartition", "Parted", "Survey", "commits", "default_of", "name_of", "part_of", "parted"]
