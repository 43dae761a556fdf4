"""A broker under load, and what has to be there of it afterwards.

Several clients send at a time, each over its own connection; they make topics and groups as they go, and delay some messages. When a fault
has struck and the broker has started again on its files, these are read beside what it answers:

- each acknowledged message is in the log, at the place that its answer named (INV-06);
- the log is whole, and the offsets of each queue are 0, 1, 2 … in it (INV-34 and the other claims about whole logs), and in its consume
  queue, and the next message has the next one (REC-03);
- each topic to which a message was acknowledged, and each that an administrator made, is in the broker's table (INV-27), and so is each
group;
- and it starts at all.
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
from rocketproof_traces.history.exchange import Exchange
from rocketproof_traces.stored.queues import Queues
from rocketproof_traces.stored.record import LogRecords, StoredRecord

from ...brokers.comeback import NotBack, come_back
from ...brokers.deployment import Deployment, TargetError
from ...brokers.runs.client import PATIENCE, ProgramClient, places
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
from .found import FaultTests, Wrong

BROKER: Final = "broker-a"
QUEUES: Final = 4
LONGEST: Final = 0.4
"""Seconds of load before a fault strikes, at most."""
_FIRST_ANSWER: Final = 20.0
_SECONDS: Final = 5.0
_NEW_TOPIC: Final = 12  # one message of so many goes to a new topic
_OTHERS: Final = 30  # one step of so many is each of the others
END: Final = "end"
LATER: Final = "-later"
"""Ends the names of topics to which all messages are delayed."""
_TOLD: Final = 5
_PROBED: Final = 6  # queues to which one more message is sent after a start
_DELAYED: Final = 6.0  # seconds for a message of the first level

Place = tuple[int, int]
"""Where a record lies in the log, and its size."""
_NOTHING: Final = (0, 0)


@dataclass(frozen=True)
class Acknowledged:
    """A message whose sender was answered that it is stored, and where: offsets of its queue and of the log."""

    topic: str
    queue: int
    offset: int
    place: int
    body: bytes | None

    def is_(self, record: StoredRecord | None) -> bool:
        """Whether a record is this message."""
        mine = (self.topic, self.queue, self.offset, self.body)
        return record is not None and (record.topic, record.queue_id, record.queue_offset, record.body) == mine


@dataclass
class Promised:
    """What a broker has acknowledged: messages by their places in the log, topics and groups."""

    messages: dict[int, Acknowledged] = field(default_factory=dict)
    topics: set[str] = field(default_factory=set)
    groups: set[str] = field(default_factory=set)

    def copy(self) -> Promised:
        return Promised(dict(self.messages), set(self.topics), set(self.groups))


@dataclass
class Loaded:
    """What clients asked until a fault struck, and the bodies of the messages that nobody knows of."""

    asked: list[Exchange]

    @property
    def acknowledged(self) -> list[Exchange]:
        return [one for one in self.asked if one.code in OK]

    def until(self, seconds: float) -> Loaded:
        """What had an answer by then, on the wall clock."""
        return Loaded([one for one in self.asked if one.outcome.get("at", math.inf) < 1000 * seconds])

    @property
    def open(self) -> set[bytes | None]:
        return {body_of(one.request) for one in self.asked if one.op == "send" and one.closed != "ok"}


@dataclass(frozen=True)
class Mix:
    """What clients send: sizes of bodies, and one delayed message of so many."""

    sizes: tuple[int, ...] = (10, 200, 2000)
    later: int = 30


MIXED: Final = Mix()


def _steps(name: str, chance: random.Random, mix: Mix) -> Iterator[Step]:
    """What one client asks: messages to topics that it makes as it goes, some delayed, and an administrator's work now and then."""
    topics, made = [f"{name}-0"], set[str]()
    yield "group", {"group": f"{name}-g"}
    for number in itertools.count():
        other = chance.randrange(_OTHERS)
        if other == 0:
            yield "topic", {"topic": f"{name}-a{number}", "read": 2, "write": 2}
        elif other == 1:
            yield "group", {"group": f"{name}-g{number}"}
        elif other == 2 and topics[0] in made:
            yield "commit", {"topic": topics[0], "group": f"{name}-g", "offset": number}
        if chance.randrange(_NEW_TOPIC) == 0:
            topics.append(f"{name}-{len(topics)}")
        body: dict[str, Any] = {"body": f"{name} {number} ", "size": chance.choice(mix.sizes)}
        if chance.randrange(mix.later) == 0:
            yield "send", {"topic": f"{name}{LATER}", "properties": {DELAY: "1"}, **body}
        else:
            body["properties"] = {KEYS: f"k{number}"}
            topic = chance.choice(topics[-3:])
            made.add(topic)
            yield "send", {"topic": topic, "queue": chance.randrange(QUEUES), "nums": QUEUES, **body}


class PromisedStore:
    """One store of a campaign, and everything that was promised on it. `where` says in findings what happened to it."""

    def __init__(
        self,
        running: Deployment,
        profile: str,
        chance: random.Random,
        found: FaultTests,
        folder: Path,
        mix: Mix = MIXED,
        *,
        broker: str = BROKER,
    ) -> None:
        self.running = running
        self.broker = broker
        self.profile = profile
        self.chance = chance
        self.found = found
        self.promised = Promised()
        self.where = ""
        self.folder = folder
        self._mix = mix

    def beside(self, broker: str) -> PromisedStore:
        """The store of another broker of the deployment, of which the same is promised."""
        found = PromisedStore(self.running, self.profile, self.chance, self.found, self.folder, self._mix, broker=broker)
        found.promised, found.where = self.promised, f"{self.where}, {broker}"
        return found

    def load(self, count: int, strike: Callable[[], None], between: tuple[float, float] = (0, LONGEST)) -> Loaded:
        """What so many clients ask until the fault strikes, at a moment by chance."""
        number = self.found.rounds
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

    def take(self, loaded: Loaded, *, refused: bool = True) -> None:
        """Remember what was acknowledged; a refusal is a finding, if it is looked for. A broker that has too much to do is no finding: on a
        busy machine each has, now and then (REM-06)."""
        self.found.acknowledged += sum(one.op == "send" for one in loaded.acknowledged)
        odd = [one for one in loaded.asked if one.closed == "ok" and one.code not in OK and not one.refused] if refused else []
        remarks = Counter(f"{one.op}, code {one.code}: {one.outcome.get('remark')}" for one in odd)
        self.wrong("refused", (f"{times} times {what}" for what, times in remarks.items()))
        self.promise(loaded)

    def promise(self, loaded: Loaded) -> None:
        """Remember what was acknowledged."""
        for one in loaded.acknowledged:
            if one.op == "send":
                self.remember(one.fields, one.outcome.get("fields") or {}, body_of(one.request))
            elif one.op == "update_topic":
                self.promised.topics.add(one.fields["topic"])
            elif one.op == "update_group":
                self.promised.groups.add(json.loads(body_of(one.request) or b"{}")["groupName"])

    def restart(self, settings: Mapping[str, str] | None = None) -> bool:
        """Start the broker again, with some settings changed for good; that it does not is a finding."""
        try:
            come_back(self.running, self.broker, settings)
        except NotBack as problem:
            self.wrong("start", [str(problem)])
            return False
        self.wrong("unsized", self.running.unsized.pop(self.broker, []))
        return True

    def remember(self, request: Mapping[str, str], answer: Mapping[str, str], body: bytes | None) -> Acknowledged | None:
        """Note an acknowledged message; None if the answer does not say where it is."""
        queue, offset = java_int(answer.get("queueId", "")), java_long(answer.get("queueOffset", ""))
        if len(places(answer)) != 1 or queue is None or offset is None:
            self.wrong("place", [f"an answer names none: {dict(answer)}"])
            return None
        (place,) = places(answer)
        if place in self.promised.messages:
            self.wrong("place", [f"{place} of the log was given to two messages"])
        topic = request["topic"]
        self.promised.topics.add(topic)
        level = parse_properties(request.get("properties"), exact=False).get(DELAY)
        stored = (topic, queue) if level is None else (SCHEDULE, whole_number(level) - 1)
        found = Acknowledged(*stored, offset, place, body)
        self.promised.messages[place] = found
        return found

    def look(self, unanswered: Collection[bytes | None], *, flushed: bool = True) -> None:
        """Read files and answers of a broker that has started again. Without `flushed` no message was promised to be on the device."""
        last = self._last()
        found = files(self.running.store(self.broker))
        if found is None:
            self.wrong("log", ["its files cannot be read"])
            return
        data, size = found
        if last is not None:
            data = data[: last + int.from_bytes(data[last : last + 4])]
        log = log_of(data, size)
        records = {record.at: record for record in log.records}
        self.found.open += len(unanswered)
        self.found.kept += len(set(unanswered) & {record.body for record in log.records})
        lost = [place for place, one in self.promised.messages.items() if not one.is_(records.get(place))]
        if flushed:
            self.wrong("lost", (str(self.promised.messages[place])[:200] for place in lost))
        for place in lost:
            del self.promised.messages[place]
        counts = self.whole(log)
        self._tables()
        self.wrong("next offset", self.strange_next(counts))

    def whole(self, log: LogRecords) -> dict[tuple[str, int], int]:
        """Whether a log is whole and its queues lead to it; how many messages each queue has."""
        queues: dict[tuple[str, int], list[Place]] = {}
        for record in log.records:
            queues.setdefault((record.topic, record.queue_id), []).append((record.at, record.total_size))
        phantoms = {key for key in queues if self._entries(key)[:1] == [_NOTHING]}
        self.wrong("phantom", (f"{topic} {queue}: its first entry leads to nothing" for topic, queue in sorted(phantoms)))
        for key in phantoms:
            del queues[key]
        mine = replace(log, records=[record for record in log.records if (record.topic, record.queue_id) in queues])
        claims = decided(log, mine, self.broker, self.profile, frozenset())
        self.wrong("log", (f"{claim.id}: {claim.sentence}: {text}" for claim, _, text, _ in claims if text is not None))
        end = time.monotonic() + _SECONDS
        self.wrong("consume queue", filter(None, (self._undispatched(key, wanted, end) for key, wanted in queues.items())))
        return {key: len(entries) for key, entries in queues.items()}

    def _last(self) -> int | None:
        """The place of a message that is sent now, with which the log ends for the broker: behind it a loss of power may have left data."""
        try:
            with self.running.connect(self.broker) as line:
                answer = line.ask(plain("send", topic=END, body="end"), _SECONDS)
        except RemotingError as problem:
            self.unknown("log", worded(problem))
            return None
        return next(iter(places(answer.ext_fields or {})), None)

    def _tables(self) -> None:
        """Topics and groups that are gone; nobody asks for them again."""
        for what, promised, gone in (
            ("topic lost", self.promised.topics, self.missing("topics", self.promised.topics)),
            ("group lost", self.promised.groups, self.missing("groups", self.promised.groups)),
        ):
            self.wrong(what, [f"{len(gone)} of {len(promised)}: {', '.join(gone[:_TOLD])}"] if gone else [])
            promised.difference_update(gone)
        self.found.topics += len(self.promised.topics)

    def missing(self, what: str, promised: Collection[str]) -> list[str]:
        """Which of these the broker's table has not."""
        reader = Reader(self.running, self.broker)
        known = reader.topics() if what == "topics" else reader.groups() if promised else {}
        reader.close()
        if known is None:
            self.unknown(what, str(next(reversed(reader.faults), "the broker does not tell them")))
            return []
        return sorted(set(promised) - set(known))

    def strange_next(self, counts: Mapping[tuple[str, int], int]) -> Iterator[str]:
        """Queues whose next message has not the next offset."""
        plain_ones = sorted(key for key in counts if key[0] != SCHEDULE and not key[0].endswith(LATER))
        chosen = self.chance.sample(plain_ones, min(_PROBED, len(plain_ones)))
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
            self.unknown("next offset", worded(problem))

    def _undispatched(self, key: tuple[str, int], wanted: list[Place], end: float) -> str:
        """In what the consume queue does not lead to exactly these records, even at the end of a while; where the broker stores by itself,
        to them first. "" if it does."""
        most = len(wanted) if key[0] == SCHEDULE or key[0].endswith(LATER) else None
        found = until(lambda: self._entries(key)[:most], lambda one: one == wanted, end - time.monotonic(), 0.05)
        if found == wanted:
            return ""
        at = next((k for k, pair in enumerate(zip(found, wanted, strict=False)) if pair[0] != pair[1]), min(len(found), len(wanted)))
        leads, has = (f"{one[at]}" if at < len(one) else "nothing" for one in (found, wanted))
        return f"{key[0]} {key[1]}: entry {at} of {len(found)} leads to {leads}, and record {at} of {len(wanted)} is {has} (place, size)"

    def _entries(self, key: tuple[str, int]) -> list[Place]:
        """The entries of a queue, as many as the broker says: a start that ends a queue leaves its file as it is."""
        reader = Reader(self.running, self.broker)
        count = reader.next_offset(*key)
        reader.close()
        return queue_entries(self.running.store(self.broker), *key)[:count]

    def delays(self) -> None:
        """Whether a message that is delayed now is delivered."""
        topic = f"after{self.found.rounds}-{self.found.states}{LATER}"
        try:
            with self.running.connect(self.broker) as line:
                answer = line.ask(plain("send", topic=topic, properties={DELAY: "1"}, body="late"), _SECONDS)
            if answer.code in OK and not until(lambda: queue_entries(self.running.store(self.broker), topic, 0), bool, _DELAYED, 0.05):
                said = (answer.ext_fields or {}).get("queueOffset", "?")
                self.wrong("delayed", [f"a new message of the first level, {said} in its queue, is not delivered within {_DELAYED:g} s"])
        except RemotingError as problem:
            self.unknown("delayed", worded(problem))

    def undelivered(self) -> str:
        """Which delayed messages of this round are not delivered, or more than once; "" where all is well."""
        found = files(self.running.store(self.broker))
        mine = f"r{self.found.rounds}c".encode()  # a kill lets a broker deliver again what it has delivered last
        records = [one for one in log_of(*found).records if (one.body or b"").startswith(mine)] if found is not None else []
        waiting = Counter(record.body for record in records if record.topic == SCHEDULE)
        delivered = Counter(record.body for record in records if record.topic.endswith(LATER))
        never = len(waiting.keys() - delivered.keys())
        twice = sum(times > waiting[body] for body, times in delivered.items())
        said = [f"{never} of {len(waiting)} are never delivered"] if never else []
        return ", ".join([*said, *([f"{twice} are delivered more than once"] if twice else [])])

    def unknown(self, what: str, why: str) -> None:
        self.found.unknown.append(f"{self.where}: {what}: {why}")

    def wrong(self, claim: str, sentences: Iterable[str]) -> None:
        why = FAULT_CLAIMS[claim].why_not(self.found.kind, self.profile)
        self.found.wrong += [Wrong(self.where, claim, sentence, why) for sentence in sentences]


def queue_entries(store: Path, topic: str, queue: int) -> list[Place]:
    """The records that a consume queue leads to."""
    found = Queues([str(store)]).find(topic, queue)
    if found is None:
        return []
    entries = found.entries(0, found.max)
    return list(zip(entries.physicalOffset.tolist(), entries.size.tolist(), strict=True))
