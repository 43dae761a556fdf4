"""Restart each broker after its programs, gracefully or by kill -9, and check that it kept its data.

A name server is restarted too, without data, and brokers get a further name server. Each must know all topics when the brokers have
registered.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from ..brokers.runs.brokerview import contents, last_topics, tables
from ..brokers.runs.parsed import load
from ..brokers.runs.queries import READER, offset_of
from ..brokers.runs.readback import SECONDS, Reader
from ..brokers.runs.recording import wall
from ..brokers.runs.waiting import until
from ..judging import restarts
from ..judging.verdicts import JudgedProgram
from ..programs.names import ProgramNames
from ..programs.parts import NAME_SERVER, Capability
from ..programs.vocabulary import plain
from .states import StateReport

MOST_GROUPS: Final = 20
"""Maximum number of topics for which a group has an offset."""
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
    running: Deployment, how: str, late: Sequence[Late], names: ProgramNames, report: StateReport, servers: Sequence[str] = ()
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
        yield report.judged(broker, restarts.STATE, restarts.SOURCE, {"how": how, "before": before, "after": after})


def restart_name_server(running: Deployment, names: ProgramNames, report: StateReport) -> Iterator[JudgedProgram]:
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
        yield report.judged(broker, restarts.STATE, restarts.SOURCE, {"how": restarts.FORGOTTEN, "before": {}, "after": after})


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
    try:
        found = tables(reader, names)
        topics = found["topics"]
        inside, born = contents(reader, topics)
        offsets = {topic: offset_of(reader.ask("progress", group=READER, topic=topic)) for topic in sorted(topics)[:MOST_GROUPS]}
        progress = {f"{READER} in queue 0 of {topic}": offset for topic, offset in offsets.items()}
        routed_topics = last_topics(topics)
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
        **found,
        **inside,
        "progress": progress,
        "routes": routes,
        "others": further,
        "delayed": deliveries,
        "missed": missed,
    }


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
