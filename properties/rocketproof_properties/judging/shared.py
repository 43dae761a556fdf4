"""Judge topics that programs share by the specification, over all programs that use them.

Any program may change a shared topic: the offsets of its queues, or its settings. The history of one program is therefore not sufficient to
judge it. This module builds one history per broker, settings and shared topic:

- It begins with the topic's state before the first program.
- It contains the requests of all programs about the topic, ordered by the machine's clock.
- After its last request, each program contributes the topic as it read it.
- Delayed messages and commits of programs under earlier settings may still arrive.
- Topics that those earlier programs created exist.

A topic is not judged if its state depends on more than these requests:

- on brokers that were not started for the run;
- if a program filled a topic that the broker fills by itself;
- if a missing topic was created from a program's own template.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from rocketproof_profiles import PROFILES, Profile, classify
from rocketproof_protocol.codes import SUCCESS, TOPIC_NOT_EXIST
from rocketproof_protocol.numbers import whole_number
from rocketproof_protocol.topics import HALF_TOPIC, OP_HALF_TOPIC, SCHEDULE, TEMPLATE, TEMPLATES
from rocketproof_traces.checker.findings import UnexplainedEvent
from rocketproof_traces.checker.histories import PartitionVerdict, cluster_of, judge_partition
from rocketproof_traces.checker.partition import UNREADABLE, HistoryPartition, Survey, commits, default_of, partition_of
from rocketproof_traces.checker.requests import Snapshot, requests_of
from rocketproof_traces.checker.steps import SearchBound
from rocketproof_traces.history import Header
from rocketproof_traces.history.covered import Config
from rocketproof_traces.history.exchange import Exchange, config_of
from rocketproof_traces.history.exchanges import JUDGED, SENDS

from ..brokers.runs.parsed import ParsedHistory
from ..catalogue.history import OK

FILLED: Final = frozenset({SCHEDULE, HALF_TOPIC, OP_HALF_TOPIC})
"""Topics that a broker creates and fills by itself."""
_BEFORE: Final = -1
"""A time before all others."""


@dataclass(frozen=True)
class Touched:
    """One program's requests about shared topics, its reads of them, and the ends of its transactions.

    Times are nanoseconds of the machine's clock. `seqs` maps such a time to the number of the event in the history. `topics`: the shared
    topics before the first program. `deployment` is equal for programs on the same brokers, `needs` for programs under equal settings.
    """

    path: Path
    deployment: tuple[str, ...]
    broker: str
    needs: str
    header: Header
    topics: Mapping[str, Config]
    exchanges: tuple[Exchange, ...]
    seqs: Mapping[int, int]

    def part(self, topic: str) -> HistoryPartition | None:
        """Return the program's requests about a topic as a part of a history, None if there are none."""
        about_topic = [exchange for exchange in self.exchanges if exchange.topic == topic]
        if not any(exchange.op in JUDGED for exchange in about_topic):
            return None
        survey = Survey(cluster_of(self.header))
        for exchange in about_topic:
            survey.add_request(exchange.op, exchange.broker, exchange.seq, topic, TEMPLATE)
        for exchange in self.exchanges:
            if commits(exchange):
                survey.add_commit(exchange.broker, exchange.seq)
        return partition_of(survey, self.broker, (topic,), about_topic, [Snapshot(_BEFORE, self.broker, self.topics)], alone=False)


@dataclass(frozen=True)
class Shared:
    """A topic's verdict over all programs under the same settings. The event number in `finding` refers to the history at `path`."""

    topic: str
    path: Path
    verdict: PartitionVerdict
    finding: UnexplainedEvent | None


def touched(parsed: ParsedHistory, path: Path) -> Touched | None:
    """Return a program's exchanges about shared topics. None if there are none, or if the initial state of the topics is unknown."""
    began, before = parsed.origin.get("began"), parsed.origin.get("shared")
    if began is None or before is None:
        return None
    names = parsed.names
    topics = {name: config for name, entry in before.items() if (config := config_of(entry)) is not None}
    times = {event.seq: whole_number(began) + (event.time or 0) for event in parsed.events}

    def timed(exchange: Exchange) -> Exchange:
        end = None if exchange.end is None else times[exchange.end]
        return replace(exchange, process=f"{exchange.process} of {path.stem}", seq=times[exchange.seq], end=end)

    def counts(exchange: Exchange) -> bool:
        if exchange.op not in JUDGED or "topic" not in exchange.fields or names.is_mine(exchange.topic):
            return commits(exchange)
        unread = exchange.reason == UNREADABLE and exchange.end is not None and exchange.code not in OK
        return not (unread and exchange.topic in topics)  # a request rejected before it is read does not change an existing topic

    exchanges = [timed(each) for each in requests_of(parsed.recorded) if each.broker == parsed.broker and counts(each)]
    exchanges += _topic_reads(parsed, times)
    if not any(exchange.op in JUDGED for exchange in exchanges):
        return None
    mark = names.prefix.removesuffix(f"{names.number}-")
    deployment = (mark, *(f"{name} {address}" for name, address in sorted(parsed.origin.get("brokers", {}).items())))
    seqs = {time: seq for seq, time in times.items()}
    return Touched(path, deployment, parsed.broker, parsed.program.needs, parsed.header, topics, tuple(exchanges), seqs)


def _topic_reads(parsed: ParsedHistory, times: Mapping[int, int]) -> Iterator[Exchange]:
    """Yield the shared topics as they were read back, at some time after the program's last request."""
    for last, event in pairwise(parsed.events):
        if (event.type, event.op) != ("state", "topics"):
            continue
        known: Mapping[str, Any] = event.value["topics"]
        for topic in (*known, *event.value.get("asked", ())):
            if parsed.names.is_mine(topic) or topic in FILLED:
                continue
            body = base64.b64encode(json.dumps(known.get(topic)).encode()).decode()
            answer = {"code": SUCCESS, "body": body} if topic in known else {"code": TOPIC_NOT_EXIST}
            request = {"to": parsed.broker, "fields": {"topic": topic}}
            yield Exchange("reader", "topic_config", parsed.broker, times[last.seq], request, "ok", answer, times[event.seq])


def judge_topics(programs: Sequence[Touched], profile: str, bound: SearchBound) -> Iterator[Shared]:
    """Yield the verdict of each shared topic that can be judged, per broker and settings. `bound` as in `judge_partition`."""
    groups: dict[tuple[Any, ...], list[Touched]] = {}
    for program in sorted(programs, key=lambda program: min(exchange.seq for exchange in program.exchanges)):
        groups.setdefault((program.deployment, program.broker, program.needs), []).append(program)
    under_way: dict[tuple[Any, ...], list[tuple[int, str, int]]] = {}
    created: dict[tuple[Any, ...], dict[str, Config]] = {}
    for (deployment, broker, _), programs_of in groups.items():
        earlier_created = created.setdefault((deployment, broker), {})
        group = [replace(program, topics={**earlier_created, **program.topics}) for program in programs_of]
        earlier_created |= _created(programs_of)
        for topic in sorted({exchange.topic for program in group for exchange in program.exchanges if exchange.op in JUDGED}):
            parts = [(program, part) for program in group if (part := program.part(topic)) is not None]
            earlier = under_way.setdefault((deployment, broker, topic), [])
            part = _joined([part for _, part in parts], earlier)
            earlier += [(_BEFORE, where, queue) for _, where, queue in part.own]
            if _decided_elsewhere(part, PROFILES[profile], cluster_of(group[0].header)):
                continue
            part.exchanges = [_with_common_default(exchange) for exchange in part.exchanges]
            yield _shared(topic, [program for program, _ in parts], judge_partition(part, group[0].header, profile, bound))


def _created(group: Sequence[Touched]) -> dict[str, Config]:
    """Return the topics that did not exist before the first program, as they were last read. No program deletes a shared topic."""
    reads = [each for program in group for each in program.exchanges if each.op == "topic_config" and each.topic not in program.topics]
    last = {read.topic: read.config() for read in sorted(reads, key=lambda read: read.seq)}
    return {topic: config for topic, config in last.items() if config is not None}


def _joined(parts: Sequence[HistoryPartition], earlier: Sequence[tuple[int, str, int]]) -> HistoryPartition:
    """Join the parts of all programs, with the effects of earlier programs that may still arrive."""
    exchanges = sorted((exchange for part in parts for exchange in part.exchanges), key=lambda exchange: exchange.seq)
    own = sorted((*earlier, *(effect for part in parts for effect in part.own)), key=lambda effect: effect[0])
    joined = replace(parts[0], exchanges=exchanges, own=own, cut=None, why="")
    for part in parts:
        if part.cut is not None:
            joined.cut_at(part.cut, part.why)
    return joined


def _decided_elsewhere(part: HistoryPartition, profile: Profile, cluster: str) -> bool:
    """Whether more than the requests of the part decides the topic's state."""
    (topic,) = part.topics
    sends = [send for send in part.exchanges if send.op in SENDS]
    if topic in FILLED:
        return any(send.code in OK for send in sends)
    created = topic not in part.initial and classify(topic, profile) == "ordinary"
    return created and any(default_of(send.fields) not in (*TEMPLATES, cluster, part.broker) for send in sends)


def _with_common_default(exchange: Exchange) -> Exchange:
    """Replace the default topic by one that all programs have. It has no effect if the topic exists or is not created."""
    if exchange.op not in SENDS or default_of(exchange.fields) in TEMPLATES:
        return exchange
    return replace(exchange, request={**exchange.request, "fields": {**exchange.fields, "defaultTopic": TEMPLATE}})


def _shared(topic: str, programs: Sequence[Touched], verdict: PartitionVerdict) -> Shared:
    """Name the program whose history contains the unexplained event."""
    if not verdict.findings:
        return Shared(topic, programs[0].path, verdict, None)
    (event,) = verdict.findings
    program = next((each for each in programs if event.seq in each.seqs), programs[0])
    return Shared(topic, program.path, verdict, replace(event, seq=program.seqs.get(event.seq, event.seq)))
