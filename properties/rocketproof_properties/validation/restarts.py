"""A broker is ended when its programs are done, gracefully or not, and started again: does it still have what it had?

A name server is started again, too, with nothing, and brokers get a further one: does each know all topics when brokers have registered?"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from rocketproof_impl.remoting.errors import RemotingError
from rocketproof_protocol import codes, fastjson
from rocketproof_protocol.numbers import java_int
from rocketproof_protocol.properties import REAL_QID, REAL_TOPIC
from rocketproof_protocol.topics import SCHEDULE
from rocketproof_spec.bounds import DELAYS
from rocketproof_traces.stored.record import record_at

from ..brokers.comeback import come_back
from ..brokers.connection import TcpConnection
from ..brokers.deployment import Deployment
from ..brokers.runs.parsed import load
from ..brokers.runs.queries import READER, born_of, offset_of, place_of, response_data
from ..brokers.runs.readback import SECONDS, Reader, keys_of, width
from ..brokers.runs.recording import HistoryRecorder, wall
from ..brokers.runs.waiting import until
from ..judging import restarts
from ..judging.judging import JudgedProgram
from ..judging.wholelog import LOGS, judge_log
from ..programs.names import ProgramNames
from ..programs.parts import NAME_SERVER, Capability
from ..programs.program import Program
from ..programs.vocabulary import plain

MOST_TOPICS: Final = 150
MOST_GROUPS: Final = 20
"""Topics in which a group is somewhere."""
MOST_QUEUES: Final = 8
"""Of a topic."""
MOST_RECORDS: Final = 64
"""Of a queue, or under a key."""
MOST_KEYS: Final = 40
LATEST: Final = 5000
"""Milliseconds that a delayed message may come late."""
STARTED: Final = 30.0
"""Seconds for one that has started to dispatch, to register and to deliver what became due meanwhile. A sound one is done in two or
three; on a busy machine it may take far longer, and only what is not there at the end is waited for so long."""
REGISTERED: Final = 45.0
"""Seconds for a broker to register again: it does so every 30 s."""
SERVERS: Final = "namesrvAddr"
_LOOK: Final = 0.05


class Late(NamedTuple):
    """A delayed message: its topic and queue, its time of birth, by which it is known again, and when it is to be there."""

    topic: str
    queue: int
    born: int
    due: int


@dataclass
class RestartReport:
    """Where it is written down: below a report's folder behind what is `known` already; `origin` is that of histories."""

    folder: Path
    known: int
    needs: str
    origin: Mapping[str, Any]
    profile: str

    def next(self) -> Path:
        self.known += 1
        (self.folder / LOGS).mkdir(exist_ok=True)
        return self.folder / LOGS / f"{self.known}.ndjson"


def delayed(paths: Iterable[Path]) -> Iterator[Late]:
    """The delayed messages that programs have left, as their histories show them."""
    for path in paths:
        parsed = load(path)
        records = [one for at, data in parsed.records.items() if (one := record_at(data, at)) is not None]
        there = {(one.topic, one.queue_id, one.born_timestamp) for one in records}  # what is given back to where it comes from
        for record in records:
            if record.topic != SCHEDULE or not record.counted:
                continue
            level, queue = record.queue_id, java_int(record.properties.get(REAL_QID, ""))
            topic = record.properties.get(REAL_TOPIC, "")
            known = (topic, queue, record.born_timestamp) in there or topic in parsed.deleted
            if queue is not None and level < len(DELAYS) and not known and parsed.names.is_mine(topic):
                yield Late(topic, queue, record.born_timestamp, record.store_timestamp + DELAYS[level])


def restart_each(
    running: Deployment, how: str, late: Sequence[Late], names: ProgramNames, report: RestartReport, servers: Sequence[str] = ()
) -> Iterator[JudgedProgram]:
    """End each broker in one of the two ways and start it again, if the target can; write down what it had and has, and judge it.

    `late` are the messages that may have come meanwhile; `servers` are the addresses of the name servers that brokers have from then on, if
    they tell which they have. Raises NotBack for a broker that does not start.
    """
    killed = how == restarts.KILLED
    if not {Capability.RESTART, Capability.KILL if killed else Capability.STOP} <= running.offers:
        return
    for broker in running.brokers:
        _commit(running, broker, names)
        before = until(partial(view, running, broker, names, late), in_time, STARTED, _LOOK)
        told = _servers(running, broker) is not None
        (running.kill if killed else running.stop)(broker)
        come_back(running, broker, {SERVERS: ";".join(servers)} if servers and told else None)
        others = servers[1:] if _servers(running, broker) == ";".join(servers) else ()
        settled = _settled(running, broker, names, before, late, killed=killed, others=others)
        after = {**settled, "unsized": running.unsized.pop(broker, [])}
        yield _judged(broker, {"how": how, "before": before, "after": after}, report)


def restart_name_server(running: Deployment, names: ProgramNames, report: RestartReport) -> Iterator[JudgedProgram]:
    """Stop the name server and start it again, if the target can: it has to hear of all topics from its brokers when they next register.
    Raises TargetError where it does not start."""
    if running.name_server is None or not {Capability.RESTART, Capability.STOP} <= running.offers:
        return
    running.stop(NAME_SERVER)
    running.restart(NAME_SERVER)

    def known(seen: Mapping[str, Any]) -> bool:
        return in_time(seen) and seen["routes"] is not None and next(restarts.unrouted(seen), None) is None

    for broker in running.brokers:
        after = until(partial(view, running, broker, names), known, REGISTERED, 1.0)
        yield _judged(broker, {"how": restarts.FORGOTTEN, "before": {}, "after": after}, report)


def _judged(broker: str, seen: Mapping[str, Any], report: RestartReport) -> JudgedProgram:
    """What was seen of a broker, written down and judged."""
    path = report.next()
    recording = HistoryRecorder(path, {**report.origin, "program": Program(0, restarts.SOURCE, (), report.needs).data(), "broker": broker})
    recording.add("state", broker, restarts.STATE, seen)
    recording.close()
    return judge_log(path, report.profile)


def in_time(seen: Mapping[str, Any]) -> bool:
    """Whether nothing is missing, and each delayed message is there that is due: the broker may have started a moment ago."""
    return not seen["missed"] and all(came >= due for _, due, _, came in seen["delayed"])


def _servers(running: Deployment, broker: str) -> str | None:
    """The name servers that a broker says that it has, None where it does not say."""
    reader = Reader(running, broker)
    try:
        return (reader.settings() or {}).get(SERVERS)
    finally:
        reader.close()


def _commit(running: Deployment, broker: str, names: ProgramNames) -> None:
    """Let a group be somewhere in some queues."""
    reader = Reader(running, broker)
    for number, topic in enumerate(sorted(filter(names.is_mine, reader.topics() or {}))[:MOST_GROUPS], 1):
        reader.ask("commit", group=READER, topic=topic, offset=number)
    reader.close()


def _settled(
    running: Deployment,
    broker: str,
    names: ProgramNames,
    before: Mapping[str, Any],
    late: Sequence[Late],
    *,
    killed: bool,
    others: Sequence[str],
) -> dict[str, Any]:
    """What a broker has as soon as nothing is missing, or after a while."""

    def whole(after: Mapping[str, Any]) -> bool:
        routed = running.name_server is None or None not in (after["routes"], *after["others"])
        return routed and not after["missed"] and next(restarts.breaches(before, after, killed=killed), None) is None

    return until(partial(view, running, broker, names, late, others), whole, STARTED, _LOOK)


def view(running: Deployment, broker: str, names: ProgramNames, late: Sequence[Late] = (), others: Sequence[str] = ()) -> dict[str, Any]:
    """What is seen of a broker over the wire, as far as it gives it out, and of its routes at its name server and at `others`."""
    reader = Reader(running, broker)
    now = wall()
    born: dict[tuple[str, int], Counter[int]] = {}
    try:
        topics = {name: entry for name, entry in (reader.topics() or {}).items() if names.is_mine(name)}
        groups = {name: entry for name, entry in (reader.groups() or {}).items() if names.is_mine(name)}
        queues: dict[str, Any] = {}
        records: dict[str, int] = {}
        keys: dict[tuple[str, str], None] = {}
        for topic in sorted(topics)[-MOST_TOPICS:]:
            for queue in range(min(width(topics[topic]), MOST_QUEUES)):
                ends = [offset_of(reader.ask(name, topic=topic, queue=queue)) for name in ("min_offset", "max_offset")]
                if None in ends:
                    continue
                found = list(reader.pull(topic, queue, ends[0] or 0, min(ends[1] or 0, MOST_RECORDS))) if ends[1] else []
                places = [str(place_of(data)) for data in found]
                queues[f"queue {queue} of {topic}"] = [*ends, places]
                records |= dict(zip(places, map(zlib.crc32, found), strict=True))
                decoded = (record_at(data, place_of(data)) for data in found)
                keys |= {(topic, key): None for one in decoded if one is not None for key in keys_of(one)}
                if len(found) == (ends[1] or 0) - (ends[0] or 0):
                    born[topic, queue] = Counter(map(born_of, found))
        told = {topic: offset_of(reader.ask("progress", group=READER, topic=topic)) for topic in sorted(topics)[:MOST_GROUPS]}
        progress = {f"{READER} in queue 0 of {topic}": offset for topic, offset in told.items()}
        by_key = {f"key {key} of {topic}": _found(reader, topic, key) for topic, key in [*keys][:MOST_KEYS]}
        asked = sorted(topics)[-MOST_TOPICS:]
        routes = None if running.name_server is None else _routes(running.name_server, broker, asked)
        further = [_routes(server, broker, asked) for server in others]
        _, missed = reader.take()
    finally:
        reader.close()
    delayed_, due = Counter(one[:3] for one in late), Counter(one[:3] for one in late if one.due + LATEST < now)
    came = [
        [f"queue {queue} of {topic}, born {when}", due[topic, queue, when], times, born[topic, queue][when]]
        for (topic, queue, when), times in delayed_.items()
        if (topic, queue) in born
    ]
    return {
        "topics": topics,
        "groups": groups,
        "queues": queues,
        "records": records,
        "progress": progress,
        "keys": {name: places for name, places in by_key.items() if places is not None and len(places) < MOST_RECORDS},
        "routes": routes,
        "others": further,
        "delayed": came,
        "missed": missed,
    }


def _found(reader: Reader, topic: str, key: str) -> list[str] | None:
    """The places of the records that a broker finds under a key, None where it does not say."""
    answer = reader.ask("find", topic=topic, key=key, most=MOST_RECORDS)
    if answer is None or answer.code not in (codes.SUCCESS, codes.QUERY_NOT_FOUND):
        return None
    return list(map(str, response_data(answer).get("places", ())))


def _routes(server: str, broker: str, topics: list[str]) -> dict[str, Any] | None:
    """For each topic what a name server tells of this broker, None for nothing; None at all where it does not answer."""
    found: dict[str, Any] = {}
    try:
        with TcpConnection(server) as line:
            for topic in topics:
                answer = line.ask(plain("route", topic=topic), SECONDS)
                rows = fastjson.loads(answer.body or b"{}").get("queueDatas") or () if answer.code == codes.SUCCESS else ()
                mine = next((row for row in rows if row.get("brokerName") == broker), None)
                found[topic] = mine and {name: value for name, value in mine.items() if name in restarts.ROUTED}
    except (RemotingError, ValueError, AttributeError):
        return None
    return found
