"""Restart each broker after its programs, gracefully or by kill -9, and check that it kept its data.

A name server is restarted too, without data, and brokers get a further name server. Each must know all topics when the brokers have
registered.
"""

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
from rocketproof_traces.stored.record import born_of, place_of, record_at

from ..brokers.comeback import come_back
from ..brokers.connection import TcpConnection
from ..brokers.deployment import Deployment
from ..brokers.runs.parsed import load
from ..brokers.runs.queries import READER, offset_of, response_data
from ..brokers.runs.readback import SECONDS, Reader, keys_of, width
from ..brokers.runs.recording import HistoryRecorder, wall
from ..brokers.runs.waiting import until
from ..judging import restarts
from ..judging.verdicts import JudgedProgram
from ..judging.wholelog import LOGS, judge_log
from ..programs.names import ProgramNames
from ..programs.parts import NAME_SERVER, Capability
from ..programs.program import Program
from ..programs.vocabulary import plain

MOST_TOPICS: Final = 150
MOST_GROUPS: Final = 20
"""Maximum number of topics for which a group has an offset."""
MOST_QUEUES: Final = 8
"""Per topic."""
MOST_RECORDS: Final = 64
"""Per queue, or per key."""
MOST_KEYS: Final = 40
LATEST: Final = 5000
"""Maximum delay in milliseconds of a delayed message."""
STARTED: Final = 30.0
"""Seconds within which a restarted broker must dispatch, register and deliver messages that became due.

It normally needs two or three seconds. The limit is only reached on a busy machine, or if data is missing.
"""
REGISTERED: Final = 45.0
"""Seconds within which a broker registers again: it does so every 30 s."""
SERVERS: Final = "namesrvAddr"
_LOOK: Final = 0.05


class Late(NamedTuple):
    """A delayed message: its topic and queue, its time of birth, which identifies it, and its due time."""

    topic: str
    queue: int
    born: int
    due: int


@dataclass
class RestartReport:
    """The histories of restarts in a report's folder, after the `known` existing ones. `origin` is the origin in their headers."""

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
    """Yield the delayed messages that programs have left, according to their histories."""
    for path in paths:
        parsed = load(path)
        records = [stored for at, data in parsed.records.items() if (stored := record_at(data, at)) is not None]
        # Includes a message that was sent back to its own topic.
        present = {(stored.topic, stored.queue_id, stored.born_timestamp) for stored in records}
        for record in records:
            if record.topic != SCHEDULE or not record.counted:
                continue
            level, queue = record.queue_id, java_int(record.properties.get(REAL_QID, ""))
            topic = record.properties.get(REAL_TOPIC, "")
            known = (topic, queue, record.born_timestamp) in present or topic in parsed.deleted
            if queue is not None and level < len(DELAYS) and not known and parsed.names.is_mine(topic):
                yield Late(topic, queue, record.born_timestamp, record.store_timestamp + DELAYS[level])


def restart_each(
    running: Deployment, how: str, late: Sequence[Late], names: ProgramNames, report: RestartReport, servers: Sequence[str] = ()
) -> Iterator[JudgedProgram]:
    """Restart each broker in one of the two ways, if the target can; record its state before and after, and judge it.

    `late` are messages that may have been delivered meanwhile. `servers` are the addresses of the name servers that brokers use from then
    on, if they report theirs. Raises NotBack for a broker that does not start.
    """
    killed = how == restarts.KILLED
    if not {Capability.RESTART, Capability.KILL if killed else Capability.STOP} <= running.offers:
        return
    for broker in running.brokers:
        _commit(running, broker, names)
        before = until(partial(view, running, broker, names, late), in_time, STARTED, _LOOK)
        reports_servers = _servers(running, broker) is not None
        (running.kill if killed else running.stop)(broker)
        come_back(running, broker, {SERVERS: ";".join(servers)} if servers and reports_servers else None)
        others = servers[1:] if _servers(running, broker) == ";".join(servers) else ()
        state_after = _settled(running, broker, names, before, late, killed=killed, others=others)
        after = {**state_after, "unsized": running.unsized.pop(broker, [])}
        yield _judged(broker, {"how": how, "before": before, "after": after}, report)


def restart_name_server(running: Deployment, names: ProgramNames, report: RestartReport) -> Iterator[JudgedProgram]:
    """Restart the name server, if the target can.

    It must know all topics when its brokers have registered again. Raises TargetError if it does not start.
    """
    if running.name_server is None or not {Capability.RESTART, Capability.STOP} <= running.offers:
        return
    running.stop(NAME_SERVER)
    running.restart(NAME_SERVER)

    def known(state: Mapping[str, Any]) -> bool:
        return in_time(state) and state["routes"] is not None and next(restarts.unrouted(state), None) is None

    for broker in running.brokers:
        after = until(partial(view, running, broker, names), known, REGISTERED, 1.0)
        yield _judged(broker, {"how": restarts.FORGOTTEN, "before": {}, "after": after}, report)


def _judged(broker: str, state: Mapping[str, Any], report: RestartReport) -> JudgedProgram:
    """Record the observed state of a broker and judge it."""
    path = report.next()
    recording = HistoryRecorder(path, {**report.origin, "program": Program(0, restarts.SOURCE, (), report.needs).data(), "broker": broker})
    recording.add("state", broker, restarts.STATE, state)
    recording.close()
    return judge_log(path, report.profile)


def in_time(state: Mapping[str, Any]) -> bool:
    """Return whether every query was answered and each due delayed message is there. A broker that has just started may need a moment."""
    return not state["missed"] and all(delivered >= due for _, due, _, delivered in state["delayed"])


def _servers(running: Deployment, broker: str) -> str | None:
    """Return the name servers that a broker reports, None if it does not report them."""
    reader = Reader(running, broker)
    try:
        return (reader.settings() or {}).get(SERVERS)
    finally:
        reader.close()


def _commit(running: Deployment, broker: str, names: ProgramNames) -> None:
    """Commit offsets of a group in some queues."""
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
    """Return a broker's state as soon as nothing is missing, or after a while."""

    def complete(after: Mapping[str, Any]) -> bool:
        routed = running.name_server is None or None not in (after["routes"], *after["others"])
        return routed and not after["missed"] and next(restarts.breaches(before, after, killed=killed), None) is None

    return until(partial(view, running, broker, names, late, others), complete, STARTED, _LOOK)


def view(running: Deployment, broker: str, names: ProgramNames, late: Sequence[Late] = (), others: Sequence[str] = ()) -> dict[str, Any]:
    """Return the state of a broker as far as it can be read over the wire. Include its routes at its name server and at `others`."""
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
                messages = list(reader.pull(topic, queue, ends[0] or 0, min(ends[1] or 0, MOST_RECORDS))) if ends[1] else []
                places = [str(place_of(data)) for data in messages]
                queues[f"queue {queue} of {topic}"] = [*ends, places]
                records |= dict(zip(places, map(zlib.crc32, messages), strict=True))
                decoded = (record_at(data, place_of(data)) for data in messages)
                keys |= {(topic, key): None for item in decoded if item is not None for key in keys_of(item)}
                if len(messages) == (ends[1] or 0) - (ends[0] or 0):
                    born[topic, queue] = Counter(map(born_of, messages))
        offsets = {topic: offset_of(reader.ask("progress", group=READER, topic=topic)) for topic in sorted(topics)[:MOST_GROUPS]}
        progress = {f"{READER} in queue 0 of {topic}": offset for topic, offset in offsets.items()}
        by_key = {f"key {key} of {topic}": _found(reader, topic, key) for topic, key in [*keys][:MOST_KEYS]}
        routed_topics = sorted(topics)[-MOST_TOPICS:]
        routes = None if running.name_server is None else _routes(running.name_server, broker, routed_topics)
        further = [_routes(server, broker, routed_topics) for server in others]
        _, missed = reader.take()
    finally:
        reader.close()
    delayed_, due = Counter(item[:3] for item in late), Counter(item[:3] for item in late if item.due + LATEST < now)
    deliveries = [
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
        "delayed": deliveries,
        "missed": missed,
    }


def _found(reader: Reader, topic: str, key: str) -> list[str] | None:
    """Return the places of the records that a broker finds by a key, None if it does not report them."""
    answer = reader.ask("find", topic=topic, key=key, most=MOST_RECORDS)
    if answer is None or answer.code not in (codes.SUCCESS, codes.QUERY_NOT_FOUND):
        return None
    return list(map(str, response_data(answer).get("places", ())))


def _routes(server: str, broker: str, topics: list[str]) -> dict[str, Any] | None:
    """Return this broker's entry in a name server's route of each topic, None if it is not in it; None if the server does not answer."""
    entries: dict[str, Any] = {}
    try:
        with TcpConnection(server) as line:
            for topic in topics:
                answer = line.ask(plain("route", topic=topic), SECONDS)
                rows = fastjson.loads(answer.body or b"{}").get("queueDatas") or () if answer.code == codes.SUCCESS else ()
                entry = next((row for row in rows if row.get("brokerName") == broker), None)
                entries[topic] = entry and {name: value for name, value in entry.items() if name in restarts.ROUTED}
    except (RemotingError, ValueError, AttributeError):
        return None
    return entries
