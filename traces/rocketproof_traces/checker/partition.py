"""Divide a history into partitions that can be judged separately: the requests about one topic of one broker.

Queue offsets belong to one topic. Couplings between topics are handled so that no partition is refused if the whole history can be
explained:

* A default topic that is not a system topic is in one partition with the topics made from it.
* The creation of another topic may hold the lock, or take INHERIT from the template, at any time.
* A partition ends, with a reason, at the first request that the specification does not cover. Records that such requests may have stored
  are allowed.
* A topic that a broker reports although no request names it is a partition without requests.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rocketproof_protocol.flags import COMMIT
from rocketproof_protocol.numbers import java_boolean
from rocketproof_protocol.topics import DLQ_PREFIX, RETRY_PREFIX, SYSTEM_PREFIX, SYSTEM_TOPICS, TEMPLATE, TEMPLATES

from ..history.covered import ATTRIBUTES, UNREADABLE, Config
from ..history.exchange import Exchange
from ..history.exchanges import CONFIGURE, JUDGED, NAME_SERVER, PROGRESS, QUERIES, SENDS, RecordedExchanges
from .group_offsets import changes_offsets_unseen
from .placement import PLACEMENT_OPS, linked_topics, subject_of
from .requests import Break, Snapshot, breaks_of, is_specified, requests_of, snapshots_of

MAKE_NONE = (*QUERIES, "pull", "commit", "leave", "lock", "unlock", "delete_topic", "delete_group", "end_transaction", "configure")
"""Requests by which a broker creates no topic. Sends, send-backs, heartbeats and updates do create topics (TCM-10 to TCM-30)."""
_OF_A_TOPIC = frozenset((*JUDGED, *PLACEMENT_OPS, *PROGRESS))
_MAKE_NO_OTHER = frozenset((*MAKE_NONE, *PLACEMENT_OPS))


def name_of(broker: str, topics: Sequence[str], *, recorded: bool = False) -> str:
    """Return the name of the partition of these topics."""
    return f"all topics at {broker}" if recorded else f"{', '.join(topics)} at {broker}"


@dataclass
class HistoryPartition:
    """Exchanges that are judged together. `cut` is the event from which on the partition is not judged, `why` the reason.

    * `own`: places (topic, queue) where the broker may have stored a record by itself, each with the first event of that possibility.
    * `initial`: the broker's topics before the first event. `new`: it did not report them, so it is taken as new.
    * `fresh`: the queues of the topics were certainly empty before the first event.
    * `switches`: the possible values of autoCreateTopicEnable.
    * `alone`: the broker creates no other topics.
    * `placed`: records may be stored elsewhere than requested.
    * `recorded`: the partition is a recording of single requests, with all requests to its broker.
    * `unseen_from`: the first event after which offsets of groups may differ from what the partition's requests commit.
    """

    broker: str
    topics: tuple[str, ...]
    exchanges: list[Exchange] = field(default_factory=list)
    snapshots: list[Snapshot] = field(default_factory=list)
    own: list[tuple[int, str, int]] = field(default_factory=list)
    initial: dict[str, Config] = field(default_factory=dict)
    new: bool = True
    fresh: bool = True
    switches: tuple[bool, ...] = (True, False)
    alone: bool = True
    recorded: bool = False
    placed: bool = False
    unseen_from: int | None = None
    cut: int | None = None
    why: str = ""

    @property
    def name(self) -> str:
        return name_of(self.broker, self.topics, recorded=self.recorded)

    def cut_at(self, seq: int, why: str) -> None:
        if self.cut is None or seq < self.cut:
            self.cut, self.why = seq, why


@dataclass(frozen=True)
class PartitionedHistory:
    """The partitions of a history, and the number of requests that belong to none, by reason."""

    parts: tuple[HistoryPartition, ...]
    left_out: Counter[str]


Place = tuple[str, str]
"""A topic of a broker: (broker, topic)."""


@dataclass
class Survey:
    """The facts about a whole history that its partitions need. It grows with topics and brokers, not with events.

    * `seen`: the first event of each topic. `reported`: the event at which a broker first reported it. `links`: pairs of topics that are
      judged together.
    * `first_requests`, `breaks`, `retries`: for each broker the first request about a topic, the first break, and the first request that
      lets the broker create retry topics unseen.
    * `unknown`: for each broker the first request that may create any topic.
    * `placed`: topics whose records may be stored in another topic.
    * `commits`: the ends of transactions that commit.
    * `unseen_from`: for each broker the first request by which offsets of groups may change unseen by a partition.
    * `recorded`: the history is a recording, which is one partition for each broker.
    * `left_out`: the number of requests that belong to no partition, by reason.
    """

    cluster: str = "DefaultCluster"
    recorded: bool = False
    seen: dict[Place, tuple[int, int]] = field(default_factory=dict)
    reported: dict[Place, int] = field(default_factory=dict)
    links: set[tuple[Place, Place]] = field(default_factory=set)
    placed: set[Place] = field(default_factory=set)
    first_requests: dict[str, int] = field(default_factory=dict)
    breaks: dict[str, tuple[int, str]] = field(default_factory=dict)
    retries: dict[str, int] = field(default_factory=dict)
    unknown: dict[str, int] = field(default_factory=dict)
    commits: dict[str, list[int]] = field(default_factory=dict)
    unseen_from: dict[str, int] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)

    def add_request(self, op: str, broker: str, opened: int, topic: str | None, default: str, linked: Sequence[str] | None = None) -> None:
        """Add a request. `topic` is the topic it is about, None if it names none; `linked` is the result of `linked_topics`."""
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
        if op == "heartbeat" or (op in PLACEMENT_OPS and topic is None):
            self.retries[broker] = min(self.retries.get(broker, opened), opened)
        elif (op not in JUDGED or topic is None) and op not in _MAKE_NO_OTHER:
            self.unknown[broker] = min(self.unknown.get(broker, opened), opened)

    def _meet(self, broker: str, opened: int, topic: str, default: str) -> None:
        place = (broker, topic)
        self.first_requests[broker] = min(self.first_requests.get(broker, opened), opened)
        if place not in self.seen or opened < self.seen[place][0]:
            self.seen[place] = (opened, 0)
        if default not in (*TEMPLATES, self.cluster, broker, topic):
            other = (broker, default)
            self.seen[other] = min(self.seen.get(other, (opened, 1)), (opened, 1))
            self.links.add((place, other))

    def add_commit(self, broker: str, opened: int) -> None:
        """Add the end of a transaction that commits."""
        self.commits.setdefault(broker, []).append(opened)

    def add_offset_change(self, op: str, broker: str, opened: int, fields: Mapping[str, str]) -> None:
        """Add a request if it may change offsets of groups unseen by all partitions."""
        if broker != NAME_SERVER and changes_offsets_unseen(op, fields):
            self.unseen_from[broker] = min(self.unseen_from.get(broker, opened), opened)

    def add_break(self, break_: Break) -> None:
        """Add a break."""
        if break_.broker not in self.breaks or break_.seq < self.breaks[break_.broker][0]:
            self.breaks[break_.broker] = (break_.seq, break_.why)

    def add_topics(self, broker: str, seq: int, topics: Iterable[str]) -> None:
        """Add the names of the topics that a broker reported."""
        for topic in topics:
            place = (broker, topic)
            self.reported[place] = min(self.reported.get(place, seq), seq)

    def _created_unseen(self) -> Iterator[Place]:
        """Yield topics that neither a request nor the broker itself creates, although the broker reported them. Reports count after the
        broker's first request and before the first event that the specification does not cover."""
        for (broker, topic), seq in self.reported.items():
            ends = [end for end in (self.unknown.get(broker), self.breaks.get(broker, (None,))[0]) if end is not None]
            ends += [self.retries[broker]] if broker in self.retries and topic.startswith(RETRY_PREFIX) else []
            own = topic in SYSTEM_TOPICS or topic.lower().startswith(SYSTEM_PREFIX) or topic.startswith((self.cluster, broker, DLQ_PREFIX))
            if (broker, topic) not in self.seen and not own and self.first_requests.get(broker, seq) < seq < min(ends, default=seq + 1):
                yield broker, topic

    def groups(self) -> list[tuple[str, tuple[str, ...]]]:
        """Return the brokers with the topics that are judged together, ordered by their first events."""
        head = {place: place for place in self.seen}

        def first(place: Place) -> Place:
            while head[place] != place:
                head[place] = head[head[place]]
                place = head[place]
            return place

        for place, other in self.links:
            head[first(place)] = first(other)
        groups: dict[Place, list[str]] = {}
        for place in sorted(self.seen, key=self.seen.__getitem__):
            groups.setdefault((place[0], "") if self.recorded else first(place), []).append(place[1])
        if not self.recorded:
            groups |= {place: [place[1]] for place in self._created_unseen()}
        return [(broker, tuple(topics)) for (broker, _), topics in groups.items()]

    def is_setting(self, op: str, asked: Mapping[str, Any]) -> bool:
        """Whether a request changes broker settings that the specification covers. It is judged with every partition of its broker."""
        return op == CONFIGURE and not self.recorded and is_specified(asked)

    def belongs(self, op: str, topic: str | None) -> bool:
        """Whether a request is judged with the other requests about its topic. `topic` is None if it names none."""
        return self.recorded or (op in _OF_A_TOPIC and topic is not None)

    def is_placed(self, broker: str, topics: Iterable[str]) -> bool:
        """Whether records of these topics may be stored elsewhere than requested."""
        return any((broker, topic) in self.placed for topic in topics)


def partition_history(
    recorded_exchanges: RecordedExchanges, cluster: str = "DefaultCluster", *, recorded: bool = False
) -> PartitionedHistory:
    """Divide a history into partitions. `recorded`: it is a recording of single requests. Raises TraceError for a malformed event."""
    survey = Survey(cluster, recorded)
    requests, snapshots = requests_of(recorded_exchanges), snapshots_of(recorded_exchanges)
    topics_of = [exchange.topic if recorded else subject_of(exchange) for exchange in requests]
    for exchange, topic in zip(requests, topics_of, strict=True):
        if not exchange.again and not survey.is_setting(exchange.op, exchange.request):
            survey.add_request(
                exchange.op,
                exchange.broker,
                exchange.seq,
                topic,
                default_of(exchange.fields),
                None if recorded else linked_topics(exchange),
            )
            survey.add_offset_change(exchange.op, exchange.broker, exchange.seq, exchange.fields)
        if commits(exchange):
            survey.add_commit(exchange.broker, exchange.seq)
    for break_ in breaks_of(recorded_exchanges):
        survey.add_break(break_)
    for snapshot in snapshots:
        survey.add_topics(snapshot.broker, snapshot.seq, snapshot.topics)
    groups = survey.groups()
    of = {(broker, topic): number for number, (broker, topics) in enumerate(groups) for topic in topics}
    exchanges_of: list[list[Exchange]] = [[] for _ in groups]
    for exchange, topic in zip(requests, topics_of, strict=True):
        if survey.is_setting(exchange.op, exchange.request):
            for exchanges, (broker, _) in zip(exchanges_of, groups, strict=True):
                exchanges += [exchange] if broker == exchange.broker else []
            continue
        number = of.get((exchange.broker, topic or ""))
        if number is not None and survey.belongs(exchange.op, topic):
            exchanges_of[number].append(exchange)
    number_of = Counter(broker for broker, _ in groups)
    parts = []
    for (broker, topics), exchanges in zip(groups, exchanges_of, strict=True):
        reports = [snapshot for snapshot in snapshots if snapshot.broker == broker]
        parts.append(
            partition_of(survey, broker, topics, exchanges, reports, alone=number_of[broker] == 1, placed=survey.is_placed(broker, topics))
        )
    return PartitionedHistory(tuple(parts), survey.left_out)


def default_of(fields: Mapping[str, str]) -> str:
    """Return the default topic that a request names."""
    return str(fields.get("defaultTopic", TEMPLATE))


def commits(exchange: Exchange) -> bool:
    """Whether a request ends a transaction with a commit."""
    return exchange.op == "end_transaction" and exchange.number("commitOrRollback") == COMMIT


def partition_of(
    survey: Survey,
    broker: str,
    topics: tuple[str, ...],
    exchanges: Sequence[Exchange],
    snapshots: Sequence[Snapshot],
    *,
    alone: bool,
    placed: bool = False,
) -> HistoryPartition:
    """Return the partition of these topics.

    `exchanges` are the requests about them and `snapshots` the broker's reports of its topics, both in order. In the reports only
    these topics, their defaults and the template count. `alone`: no request names another topic of the broker.
    """
    if survey.recorded:
        return HistoryPartition(broker, topics, list(exchanges), recorded=True)
    alone = alone and broker not in survey.retries  # a retry topic is made under the same lock
    judged = (*JUDGED, *PLACEMENT_OPS, *PROGRESS, CONFIGURE) if placed else (*JUDGED, CONFIGURE)
    unseen_from = survey.unseen_from.get(broker)
    part = HistoryPartition(
        broker, topics, [exchange for exchange in exchanges if exchange.op in judged], alone=alone, placed=placed, unseen_from=unseen_from
    )
    _set_initial_state(part, snapshots, survey)
    _cut(part, exchanges, survey)
    if not placed:
        _add_broker_records(part, survey.commits.get(broker, ()))
    return part


def _set_initial_state(part: HistoryPartition, snapshots: Sequence[Snapshot], survey: Survey) -> None:
    """Set what the broker had at the start, if it reported that before the first request."""
    first = survey.first_requests[part.broker]
    before = [snapshot for snapshot in snapshots if snapshot.seq < first]
    if before:
        table = before[-1].topics
        part.initial, part.new = dict(table), False
        part.fresh = not any(topic in table for topic in part.topics)
        part.switches = (True, False) if any(name in table and table[name].perm & 1 for name in TEMPLATES) else (False,)
    part.snapshots = [snapshot for snapshot in snapshots if snapshot.seq >= first]


def _cut(part: HistoryPartition, exchanges: Sequence[Exchange], survey: Survey) -> None:
    """End the partition at the first event that the specification does not cover."""
    if part.broker in survey.breaks:
        part.cut_at(*survey.breaks[part.broker])
    if not part.placed and any(topic.startswith(DLQ_PREFIX) for topic in part.topics):
        part.cut_at(0, "the broker fills dead-letter topics by itself")
    if part.broker in survey.retries and any(topic.startswith(RETRY_PREFIX) for topic in part.topics):
        part.cut_at(survey.retries[part.broker], "the broker makes and fills retry topics by itself")
    for exchange in exchanges:
        if exchange.op == "update_topic" and java_boolean(str(exchange.fields.get("order", ""))):
            part.cut_at(exchange.seq, "order topics")
        elif exchange.op == "update_topic" and exchange.reason == ATTRIBUTES and not exchange.code:
            part.cut_at(exchange.seq, ATTRIBUTES)
        elif exchange.op in SENDS and exchange.reason == UNREADABLE:
            part.cut_at(exchange.seq, UNREADABLE)  # the topic may have been made with whatever could be read
        elif exchange.op == "batch" and exchange.messages is None:
            part.cut_at(exchange.seq, "batches without their body")


def _add_broker_records(part: HistoryPartition, committed: Sequence[int]) -> None:
    """Allow the records that a broker stores by itself: delayed messages when they are due, half messages when committed."""
    half: list[tuple[int, str, int]] = []
    for exchange in part.exchanges:
        if exchange.op == "send" and exchange.reason == "delayed messages":
            part.own.append((exchange.seq, exchange.topic, exchange.number("queueId")))
        elif exchange.op == "send" and exchange.reason == "transactional messages":
            half.append((exchange.seq, exchange.topic, exchange.number("queueId")))
    if half:
        part.own += [(seq, topic, queue) for seq in committed for opened, topic, queue in half if opened < seq]
        part.own.sort(key=lambda own: own[0])


__all__ = [
    "UNREADABLE",
    "HistoryPartition",
    "PartitionedHistory",
    "Survey",
    "commits",
    "default_of",
    "name_of",
    "partition_of",
    "partition_history",
]
