"""A broker under load, and the checks after a fault.

Several clients send concurrently, each over its own connection. They create topics and groups and delay some messages. When the broker has
started again after a fault, its files and responses are checked:

- Each acknowledged message is in the log, at the place that its response named (INV-06).
- The log is intact (INV-34 and the other claims about whole logs).
- The offsets of each queue are 0, 1, 2 … in the log and in its consume queue. The next message has the next offset (REC-03).
- Each topic to which a message was acknowledged, and each topic and group that an administrator created, is in the broker's table (INV-27).
- The broker starts.
"""

from __future__ import annotations

import itertools
import json
import math
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from rocketproof_impl.message import parse_properties
from rocketproof_impl.remoting.errors import RemotingError
from rocketproof_model import interrupts
from rocketproof_protocol.numbers import java_int, java_long, whole_number
from rocketproof_protocol.properties import DELAY, KEYS
from rocketproof_protocol.topics import SCHEDULE
from rocketproof_traces.history.exchange import Exchange, places
from rocketproof_traces.stored.queues import Queues
from rocketproof_traces.stored.record import LogRecords, StoredRecord

from ...brokers.comeback import NotBack, come_back
from ...brokers.deployment import Deployment, TargetError
from ...brokers.runs.client import PATIENCE, ProgramClient
from ...brokers.runs.parsed import load
from ...brokers.runs.readback import Reader
from ...brokers.runs.recording import HistoryRecorder, body_of, worded
from ...brokers.runs.waiting import until
from ...catalogue.history import OK
from ...judging.wholelog import decided, files, log_of
from ...programs.call import Context
from ...programs.names import ProgramNames
from ...programs.vocabulary import Step, plain
from .claims import FAULT_CLAIMS
from .found import FaultTests, FaultViolation

BROKER: Final = "broker-a"
QUEUES: Final = 4
LONGEST: Final = 0.4
"""Maximum seconds of load before a fault."""
_FIRST_ANSWER: Final = 20.0
_SECONDS: Final = 5.0
_NEW_TOPIC: Final = 12  # one message in 12 goes to a new topic
_OTHERS: Final = 30  # each other step has a probability of 1 in 30
END: Final = "end"
LATER: Final = "-later"
"""Suffix of the names of topics with delayed messages."""
_LISTED: Final = 5
_PROBED: Final = 6  # number of queues that get a further message after a restart
_DELAYED: Final = 6.0  # seconds to wait for a message of the first delay level

Place = tuple[int, int]
"""The place of a record in the log, and its size."""
_NOTHING: Final = (0, 0)


@dataclass(frozen=True)
class Acknowledged:
    """A message that was acknowledged as stored, with its queue offset and its place in the log."""

    topic: str
    queue: int
    offset: int
    place: int
    body: bytes | None

    def matches(self, record: StoredRecord | None) -> bool:
        """Return whether a record is this message."""
        expected = (self.topic, self.queue, self.offset, self.body)
        return record is not None and (record.topic, record.queue_id, record.queue_offset, record.body) == expected


@dataclass
class Promised:
    """What a broker has acknowledged: messages by place in the log, topics and groups."""

    messages: dict[int, Acknowledged] = field(default_factory=dict)
    topics: set[str] = field(default_factory=set)
    groups: set[str] = field(default_factory=set)

    def copy(self) -> Promised:
        return Promised(dict(self.messages), set(self.topics), set(self.groups))


@dataclass
class Loaded:
    """The requests of all clients until a fault."""

    asked: list[Exchange]

    @property
    def acknowledged(self) -> list[Exchange]:
        return [exchange for exchange in self.asked if exchange.code in OK]

    def answered_by(self, seconds: float) -> Loaded:
        """Return the requests that were answered by this time of the wall clock, in seconds."""
        return Loaded([exchange for exchange in self.asked if exchange.outcome.get("at", math.inf) < 1000 * seconds])

    @property
    def open(self) -> set[bytes | None]:
        return {body_of(exchange.request) for exchange in self.asked if exchange.op == "send" and exchange.closed != "ok"}


@dataclass(frozen=True)
class Mix:
    """What clients send: the sizes of bodies, and one delayed message in `later` messages."""

    sizes: tuple[int, ...] = (10, 200, 2000)
    later: int = 30


MIXED: Final = Mix()


def _steps(name: str, chance: random.Random, mix: Mix) -> Iterator[Step]:
    """Yield the steps of a client: messages to topics that it creates, some delayed, and occasionally an administrator's request."""
    topics, used = [f"{name}-0"], set[str]()
    yield "group", {"group": f"{name}-g"}
    for number in itertools.count():
        other = chance.randrange(_OTHERS)
        if other == 0:
            yield "topic", {"topic": f"{name}-a{number}", "read": 2, "write": 2}
        elif other == 1:
            yield "group", {"group": f"{name}-g{number}"}
        elif other == 2 and topics[0] in used:
            yield "commit", {"topic": topics[0], "group": f"{name}-g", "offset": number}
        if chance.randrange(_NEW_TOPIC) == 0:
            topics.append(f"{name}-{len(topics)}")
        body: dict[str, Any] = {"body": f"{name} {number} ", "size": chance.choice(mix.sizes)}
        if chance.randrange(mix.later) == 0:
            yield "send", {"topic": f"{name}{LATER}", "properties": {DELAY: "1"}, **body}
        else:
            body["properties"] = {KEYS: f"k{number}"}
            topic = chance.choice(topics[-3:])
            used.add(topic)
            yield "send", {"topic": topic, "queue": chance.randrange(QUEUES), "nums": QUEUES, **body}


class PromisedStore:
    """One store of a campaign, and everything that was promised on it. `where` describes the current fault in findings."""

    def __init__(
        self,
        running: Deployment,
        profile: str,
        chance: random.Random,
        results: FaultTests,
        folder: Path,
        mix: Mix = MIXED,
        *,
        broker: str = BROKER,
    ) -> None:
        self.running = running
        self.broker = broker
        self.profile = profile
        self.chance = chance
        self.results = results
        self.promised = Promised()
        self.where = ""
        self.folder = folder
        self._mix = mix

    def of_broker(self, broker: str) -> PromisedStore:
        """Return the store of another broker of the deployment, with the same promises."""
        other = PromisedStore(self.running, self.profile, self.chance, self.results, self.folder, self._mix, broker=broker)
        other.promised, other.where = self.promised, f"{self.where}, {broker}"
        return other

    def load(self, count: int, strike: Callable[[], None], between: tuple[float, float] = (0, LONGEST)) -> Loaded:
        """Run `count` clients until the fault at a random time, and return their requests."""
        number = self.results.rounds
        path = self.folder / f"{number}.ndjson"
        recording = HistoryRecorder(path, {})
        contexts = [Context(ProgramNames("", 0), self.broker) for _ in range(count)]
        clients = [ProgramClient(k, self.running, context, recording) for k, context in enumerate(contexts)]
        over = threading.Event()

        def work(client: ProgramClient, steps: Iterator[Step]) -> None:
            for step in steps:
                if over.is_set() or client.lost:
                    return
                client.step(step)

        named = [(client, f"r{number}c{k}") for k, client in enumerate(clients)]
        load_ = [
            threading.Thread(target=work, args=(client, _steps(name, random.Random(self.chance.randrange(2**32)), self._mix)), daemon=True)
            for client, name in named
        ]
        for thread in load_:
            thread.start()
        if not until(lambda: any(context.known for context in contexts), bool, _FIRST_ANSWER, 0.001):
            raise TargetError(f"{self.running.name}: no send was answered in {_FIRST_ANSWER:g} s")
        interrupts.pause(self.chance.uniform(*between))
        strike()
        over.set()
        for thread, client in zip(load_, clients, strict=True):
            thread.join(2 * PATIENCE)
            client.close()
        recording.close()
        return Loaded(load(path).exchanges)

    def record_acknowledged(self, loaded: Loaded, *, refused: bool = True) -> None:
        """Record what was acknowledged.

        With `refused`, report rejected requests. A rejection by an overloaded broker is not reported, because every broker rejects requests
        on a busy machine (REM-06).
        """
        self.results.acknowledged += sum(exchange.op == "send" for exchange in loaded.acknowledged)
        rejected = (
            [exchange for exchange in loaded.asked if exchange.closed == "ok" and exchange.code not in OK and not exchange.refused]
            if refused
            else []
        )
        remarks = Counter(f"{exchange.op}, code {exchange.code}: {exchange.outcome.get('remark')}" for exchange in rejected)
        self.report("refused", (f"{times} times {what}" for what, times in remarks.items()))
        self.promise(loaded)

    def promise(self, loaded: Loaded) -> None:
        """Record what was acknowledged."""
        for exchange in loaded.acknowledged:
            if exchange.op == "send":
                self.remember(exchange.fields, exchange.outcome.get("fields") or {}, body_of(exchange.request))
            elif exchange.op == "update_topic":
                self.promised.topics.add(exchange.fields["topic"])
            elif exchange.op == "update_group":
                self.promised.groups.add(json.loads(body_of(exchange.request) or b"{}")["groupName"])

    def restart(self, settings: Mapping[str, str] | None = None) -> bool:
        """Start the broker again, with some settings permanently changed. Report a failure and return False."""
        try:
            come_back(self.running, self.broker, settings)
        except NotBack as problem:
            self.report("start", [str(problem)])
            return False
        self.report("unsized", self.running.unsized.pop(self.broker, []))
        return True

    def remember(self, request: Mapping[str, str], answer: Mapping[str, str], body: bytes | None) -> Acknowledged | None:
        """Record an acknowledged message; return None if the response does not name its place."""
        queue, offset = java_int(answer.get("queueId", "")), java_long(answer.get("queueOffset", ""))
        if len(places(answer)) != 1 or queue is None or offset is None:
            self.report("place", [f"an answer names none: {dict(answer)}"])
            return None
        (place,) = places(answer)
        if place in self.promised.messages:
            self.report("place", [f"{place} of the log was given to two messages"])
        topic = request["topic"]
        self.promised.topics.add(topic)
        level = parse_properties(request.get("properties"), exact=False).get(DELAY)
        stored = (topic, queue) if level is None else (SCHEDULE, whole_number(level) - 1)
        message = Acknowledged(*stored, offset, place, body)
        self.promised.messages[place] = message
        return message

    def check(self, unanswered: Collection[bytes | None], *, flushed: bool = True) -> None:
        """Check the files and responses of a restarted broker. Without `flushed`, no message was promised to be on the device."""
        last = self._end_of_log()
        log_files = files(self.running.store(self.broker))
        if log_files is None:
            self.report("log", ["its files cannot be read"])
            return
        data, size = log_files
        if last is not None:
            data = data[: last + int.from_bytes(data[last : last + 4])]
        log = log_of(data, size)
        records = {record.at: record for record in log.records}
        self.results.open += len(unanswered)
        self.results.kept += len(set(unanswered) & {record.body for record in log.records})
        lost = [place for place, message in self.promised.messages.items() if not message.matches(records.get(place))]
        if flushed:
            self.report("lost", (str(self.promised.messages[place])[:200] for place in lost))
        for place in lost:
            del self.promised.messages[place]
        counts = self.check_log(log)
        self._check_tables()
        self.report("next offset", self.wrong_next_offsets(counts))

    def check_log(self, log: LogRecords) -> dict[tuple[str, int], int]:
        """Check that a log is intact and its queues lead to it. Return the number of messages of each queue."""
        queues: dict[tuple[str, int], list[Place]] = {}
        for record in log.records:
            queues.setdefault((record.topic, record.queue_id), []).append((record.at, record.total_size))
        phantoms = {key for key in queues if self._entries(key)[:1] == [_NOTHING]}
        self.report("phantom", (f"{topic} {queue}: its first entry leads to nothing" for topic, queue in sorted(phantoms)))
        for key in phantoms:
            del queues[key]
        readable = replace(log, records=[record for record in log.records if (record.topic, record.queue_id) in queues])
        claims = decided(log, readable, self.broker, self.profile, frozenset())
        self.report("log", (f"{claim.id}: {claim.sentence}: {text}" for claim, _, text, _ in claims if text is not None))
        end = time.monotonic() + _SECONDS
        self.report("consume queue", filter(None, (self._undispatched(key, expected, end) for key, expected in queues.items())))
        return {key: len(entries) for key, entries in queues.items()}

    def _end_of_log(self) -> int | None:
        """Send a message that ends the log for the broker, and return its place. A power loss may have left data after it."""
        try:
            with self.running.connect(self.broker) as line:
                answer = line.ask(plain("send", topic=END, body="end"), _SECONDS)
        except RemotingError as problem:
            self.report_unknown("log", worded(problem))
            return None
        return next(iter(places(answer.ext_fields or {})), None)

    def _check_tables(self) -> None:
        """Report missing topics and groups, each once."""
        for what, promised, missing in (
            ("topic lost", self.promised.topics, self.missing("topics", self.promised.topics)),
            ("group lost", self.promised.groups, self.missing("groups", self.promised.groups)),
        ):
            self.report(what, [f"{len(missing)} of {len(promised)}: {', '.join(missing[:_LISTED])}"] if missing else [])
            promised.difference_update(missing)
        self.results.topics += len(self.promised.topics)

    def missing(self, what: str, promised: Collection[str]) -> list[str]:
        """Return the promised names that the broker's table lacks."""
        reader = Reader(self.running, self.broker)
        known = reader.topics() if what == "topics" else reader.groups() if promised else {}
        reader.close()
        if known is None:
            self.report_unknown(what, str(next(reversed(reader.faults), "the broker does not tell them")))
            return []
        return sorted(set(promised) - set(known))

    def wrong_next_offsets(self, counts: Mapping[tuple[str, int], int]) -> Iterator[str]:
        """Yield queues whose next message does not get the next offset."""
        queues = sorted(key for key in counts if key[0] != SCHEDULE and not key[0].endswith(LATER))
        chosen = self.chance.sample(queues, min(_PROBED, len(queues)))
        try:
            with self.running.connect(self.broker) as line:
                for topic, queue in chosen:
                    answer = line.ask(plain("send", topic=topic, queue=queue, body="probe"), _SECONDS)
                    if answer.code not in OK:
                        yield f"{topic} {queue}: a send is answered {answer.code} {answer.remark}"
                        continue
                    stored = self.remember({"topic": topic}, answer.ext_fields or {}, b"probe")
                    if stored is not None and stored.offset != counts[topic, queue]:
                        yield f"{topic} {queue}: {stored.offset} after {counts[topic, queue]} messages"
        except RemotingError as problem:
            self.report_unknown("next offset", worded(problem))

    def _undispatched(self, key: tuple[str, int], expected: list[Place], end: float) -> str:
        """Return how the consume queue differs from these records at the time `end`; "" if it does not.

        For queues in which the broker stores messages itself, only the first entries are compared.
        """
        most = len(expected) if key[0] == SCHEDULE or key[0].endswith(LATER) else None
        entries = until(lambda: self._entries(key)[:most], lambda actual: actual == expected, end - time.monotonic(), 0.05)
        if entries == expected:
            return ""
        at = next(
            (k for k, pair in enumerate(zip(entries, expected, strict=False)) if pair[0] != pair[1]), min(len(entries), len(expected))
        )
        leads, has = (f"{places_[at]}" if at < len(places_) else "nothing" for places_ in (entries, expected))
        return (
            f"{key[0]} {key[1]}: entry {at} of {len(entries)} leads to {leads}, and record {at} of {len(expected)} is {has} (place, size)"
        )

    def _entries(self, key: tuple[str, int]) -> list[Place]:
        """Return the entries of a queue, limited to the number that the broker reports.

        A restart that shortens a queue does not change its file.
        """
        reader = Reader(self.running, self.broker)
        count = reader.next_offset(*key)
        reader.close()
        return queue_entries(self.running.store(self.broker), *key)[:count]

    def check_delays(self) -> None:
        """Report if a message that is delayed now is not delivered."""
        topic = f"after{self.results.rounds}-{self.results.states}{LATER}"
        try:
            with self.running.connect(self.broker) as line:
                answer = line.ask(plain("send", topic=topic, properties={DELAY: "1"}, body="late"), _SECONDS)
            if answer.code in OK and not until(lambda: queue_entries(self.running.store(self.broker), topic, 0), bool, _DELAYED, 0.05):
                offset = (answer.ext_fields or {}).get("queueOffset", "?")
                self.report("delayed", [f"a new message of the first level, {offset} in its queue, is not delivered within {_DELAYED:g} s"])
        except RemotingError as problem:
            self.report_unknown("delayed", worded(problem))

    def undelivered(self) -> str:
        """Return which delayed messages of this round are not delivered, or are delivered more than once; "" if there are none."""
        log_files = files(self.running.store(self.broker))
        prefix = f"r{self.results.rounds}c".encode()  # after a kill a broker may repeat its last deliveries of earlier rounds
        records = (
            [stored for stored in log_of(*log_files).records if (stored.body or b"").startswith(prefix)] if log_files is not None else []
        )
        waiting = Counter(record.body for record in records if record.topic == SCHEDULE)
        delivered = Counter(record.body for record in records if record.topic.endswith(LATER))
        never = len(waiting.keys() - delivered.keys())
        twice = sum(times > waiting[body] for body, times in delivered.items())
        problems = [f"{never} of {len(waiting)} are never delivered"] if never else []
        return ", ".join([*problems, *([f"{twice} are delivered more than once"] if twice else [])])

    def report_unknown(self, what: str, why: str) -> None:
        self.results.unknown.append(f"{self.where}: {what}: {why}")

    def report(self, claim: str, sentences: Iterable[str]) -> None:
        why = FAULT_CLAIMS[claim].why_not(self.results.kind, self.profile)
        self.results.wrong += [FaultViolation(self.where, claim, sentence, why) for sentence in sentences]


def queue_entries(store: Path, topic: str, queue: int) -> list[Place]:
    """Return the places and sizes of the records that a consume queue refers to."""
    consume_queue = Queues([str(store)]).find(topic, queue)
    if consume_queue is None:
        return []
    entries = consume_queue.entries(0, consume_queue.max)
    return list(zip(entries.physicalOffset.tolist(), entries.size.tolist(), strict=True))
