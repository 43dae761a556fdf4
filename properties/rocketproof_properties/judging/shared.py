"""Topics that programs share, judged by the specification over all programs that touch them.

Where a queue of the cluster's topic stands, or whether TBW102 still inherits, is the work of every program on a broker, so that one
program's history explains nothing of it. Here the requests of all programs under the same settings about one such topic are one history, in
the order of the machine's clock. It begins with the topic as the broker had it before the first program, and each program adds how it saw
the topic at its end. What programs under earlier settings have left under way (delayed messages, commits) may still arrive, and a topic
that one of them has made is there.

A topic is left out where more than the programs' requests decides what it is: on brokers that were not started for the run, where a program
filled a topic that the broker fills by itself, and where a topic that was not there was made from a program's own template.
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
from rocketproof_traces.checker.steps import SearchBound
from rocketproof_traces.history import Header
from rocketproof_traces.history.cases import Config
from rocketproof_traces.history.exchange import Exchange, config_of
from rocketproof_traces.history.exchanges import JUDGED, SENDS, Snapshot, read_exchanges

from ..brokers.runs.parsed import ParsedHistory
from ..catalogue.history import OK

FILLED: Final = frozenset({SCHEDULE, HALF_TOPIC, OP_HALF_TOPIC})
"""Topics that a broker makes and fills by itself."""
_BEFORE: Final = -1
"""A time before all others."""


@dataclass(frozen=True)
class Touched:
    """What one program asked of a broker about topics that programs share, and what it saw of them; with the ends of its transactions.

    Requests begin and end at nanoseconds of the machine's clock; `seqs` has the history's number of the event at such a time. `topics`: the
    shared topics before the first program. `deployment` is equal for programs on the same brokers, `needs` for those under equal settings.
    """

    path: Path
    deployment: tuple[str, ...]
    broker: str
    needs: str
    header: Header
    topics: Mapping[str, Config]
    asked: tuple[Exchange, ...]
    seqs: Mapping[int, int]

    def part(self, topic: str) -> HistoryPartition | None:
        """The program's requests about a topic as a part of a history, None if there are none."""
        mine = [one for one in self.asked if one.topic == topic]
        if not any(one.op in JUDGED for one in mine):
            return None
        survey = Survey(cluster_of(self.header))
        for one in mine:
            survey.add_request(one.op, one.broker, one.seq, topic, TEMPLATE)
        for one in self.asked:
            if commits(one):
                survey.add_commit(one.broker, one.seq)
        return partition_of(survey, self.broker, (topic,), mine, [Snapshot(_BEFORE, self.broker, self.topics)], alone=False)


@dataclass(frozen=True)
class Shared:
    """A topic's verdict over all programs under the same settings. `finding` names the event by its number in the history at `path`."""

    topic: str
    path: Path
    verdict: PartitionVerdict
    finding: UnexplainedEvent | None


def touched(parsed: ParsedHistory, path: Path) -> Touched | None:
    """What a program's history has to say of shared topics; None if it has nothing, or nobody knows how they were before."""
    began, before = parsed.origin.get("began"), parsed.origin.get("shared")
    if began is None or before is None:
        return None
    names = parsed.names
    topics = {name: config for name, entry in before.items() if (config := config_of(entry)) is not None}
    times = {event.seq: whole_number(began) + (event.time or 0) for event in parsed.events}

    def timed(one: Exchange) -> Exchange:
        end = None if one.end is None else times[one.end]
        return replace(one, process=f"{one.process} of {path.stem}", seq=times[one.seq], end=end)

    def counts(one: Exchange) -> bool:
        if one.op not in JUDGED or "topic" not in one.fields or names.is_mine(one.topic):
            return commits(one)
        unread = one.reason == UNREADABLE and one.end is not None and one.code not in OK
        return not (unread and one.topic in topics)  # what was refused unread changes nothing of a topic that is there

    found = [timed(one) for one in read_exchanges(parsed.events).exchanges if one.broker == parsed.broker and counts(one)]
    found += _seen(parsed, times)
    if not any(one.op in JUDGED for one in found):
        return None
    mark = names.prefix.removesuffix(f"{names.number}-")
    deployment = (mark, *(f"{name} {address}" for name, address in sorted(parsed.origin.get("brokers", {}).items())))
    seqs = {time: seq for seq, time in times.items()}
    return Touched(path, deployment, parsed.broker, parsed.program.needs, parsed.header, topics, tuple(found), seqs)


def _seen(parsed: ParsedHistory, times: Mapping[int, int]) -> Iterator[Exchange]:
    """The shared topics as they were read back, some time after the program's last request."""
    for last, event in pairwise(parsed.events):
        if (event.type, event.op) != ("state", "topics"):
            continue
        known: Mapping[str, Any] = event.value["topics"]
        for topic in (*known, *event.value.get("asked", ())):
            if parsed.names.is_mine(topic) or topic in FILLED:
                continue
            body = base64.b64encode(json.dumps(known.get(topic)).encode()).decode()
            answer = {"code": SUCCESS, "body": body} if topic in known else {"code": TOPIC_NOT_EXIST}
            asked = {"to": parsed.broker, "fields": {"topic": topic}}
            yield Exchange("reader", "topic_config", parsed.broker, times[last.seq], asked, "ok", answer, times[event.seq])


def judge_topics(programs: Sequence[Touched], profile: str, bound: SearchBound) -> Iterator[Shared]:
    """The verdict of each shared topic that can be judged, for each broker and its settings. `bound` as in `judge_partition`."""
    groups: dict[tuple[Any, ...], list[Touched]] = {}
    for one in sorted(programs, key=lambda one: min(each.seq for each in one.asked)):
        groups.setdefault((one.deployment, one.broker, one.needs), []).append(one)
    left: dict[tuple[Any, ...], list[tuple[int, str, int]]] = {}
    made: dict[tuple[Any, ...], dict[str, Config]] = {}
    for (deployment, broker, _), programs_of in groups.items():
        earlier_made = made.setdefault((deployment, broker), {})
        group = [replace(one, topics={**earlier_made, **one.topics}) for one in programs_of]
        earlier_made |= _made(programs_of)
        for topic in sorted({each.topic for one in group for each in one.asked if each.op in JUDGED}):
            parts = [(one, part) for one in group if (part := one.part(topic)) is not None]
            earlier = left.setdefault((deployment, broker, topic), [])
            part = _joined([part for _, part in parts], earlier)
            earlier += [(_BEFORE, where, queue) for _, where, queue in part.own]
            if _decided_elsewhere(part, PROFILES[profile], cluster_of(group[0].header)):
                continue
            part.exchanges = [_plain(one) for one in part.exchanges]
            yield _shared(topic, [one for one, _ in parts], judge_partition(part, group[0].header, profile, bound))


def _made(group: Sequence[Touched]) -> dict[str, Config]:
    """The topics as programs saw them last that the broker did not have before the first one. Nobody deletes what all share."""
    looks = [one for each in group for one in each.asked if one.op == "topic_config" and one.topic not in each.topics]
    last = {one.topic: one.config() for one in sorted(looks, key=lambda one: one.seq)}
    return {topic: config for topic, config in last.items() if config is not None}


def _joined(parts: Sequence[HistoryPartition], earlier: Sequence[tuple[int, str, int]]) -> HistoryPartition:
    """The parts of all programs as one, with what earlier ones have left under way."""
    asked = sorted((one for part in parts for one in part.exchanges), key=lambda one: one.seq)
    own = sorted((*earlier, *(one for part in parts for one in part.own)), key=lambda one: one[0])
    joined = replace(parts[0], exchanges=asked, own=own, cut=None, why="")
    for part in parts:
        if part.cut is not None:
            joined.cut_at(part.cut, part.why)
    return joined


def _decided_elsewhere(part: HistoryPartition, profile: Profile, cluster: str) -> bool:
    """Whether more than the requests of the part decides what the topic is and holds."""
    (topic,) = part.topics
    sends = [one for one in part.exchanges if one.op in SENDS]
    if topic in FILLED:
        return any(one.code in OK for one in sends)
    made = topic not in part.initial and classify(topic, profile) == "ordinary"
    return made and any(default_of(one.fields) not in (*TEMPLATES, cluster, part.broker) for one in sends)


def _plain(one: Exchange) -> Exchange:
    """The request with a default topic that all programs have: to a topic that is there, or that nobody makes, it is all the same."""
    if one.op not in SENDS or default_of(one.fields) in TEMPLATES:
        return one
    return replace(one, request={**one.request, "fields": {**one.fields, "defaultTopic": TEMPLATE}})


def _shared(topic: str, programs: Sequence[Touched], verdict: PartitionVerdict) -> Shared:
    """The verdict with the program in which the event is that no state explains."""
    if not verdict.findings:
        return Shared(topic, programs[0].path, verdict, None)
    (found,) = verdict.findings
    where = next((one for one in programs if found.seq in one.seqs), programs[0])
    return Shared(topic, where.path, verdict, replace(found, seq=where.seqs.get(found.seq, found.seq)))
