"""A broker is killed again and again under load, and what it acknowledged has to be there afterwards.

Several clients send at a time, each over its own connection, and create topics as they go. At a random moment the broker's
process is killed; it starts again on its files, and these are read beside what it answers:

- each acknowledged message is in the log, at the place that its answer named (INV-06);
- the log is whole, and the offsets of each queue are 0, 1, 2 … in it (INV-34 and the other claims about whole logs), and in its consume
  queue, and the next message has the next one (REC-03);
- each topic to which a message was acknowledged is in the broker's table (INV-27);
- and it starts at all.

The page cache outlives a process, so nothing here shows what a loss of power would take.
"""

from __future__ import annotations

import itertools
import random
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from rocketproof_impl.remoting.errors import RemotingError
from rocketproof_traces.stored.queues import Queues
from rocketproof_traces.stored.record import Record

from ..deployments.comeback import NotBack, come_back
from ..deployments.deployment import Deployment, Setup, Target, TargetError
from ..histories.history import OK
from ..judging.wholelog import decided, files, log_of
from ..runs.client import PATIENCE, Client, places
from ..runs.parsed import Asked, load
from ..runs.readback import Reader
from ..runs.recording import Recording, body_of, worded
from ..runs.waiting import until
from ..steps.call import Context
from ..steps.names import Names
from ..steps.parts import Capability
from ..steps.vocabulary import plain

BROKER: Final = "broker-a"
SETTINGS: Final = {"flushDiskType": "SYNC_FLUSH"}
QUEUES: Final = 4
NEEDED: Final = frozenset({Capability.START, Capability.KILL, Capability.RESTART, Capability.STORE})
"""What a target has to offer."""
ROUNDS_PER_STORE: Final = 20
_LONGEST: Final = 0.4  # seconds of load before a kill
_FIRST_ANSWER: Final = 20.0
_SECONDS: Final = 5.0
_NEW_TOPIC: Final = 12  # one message of so many goes to a new topic
_PROBED: Final = 6  # queues to which one more message is sent after a start

Place = tuple[int, int]
"""Where a record lies in the log, and its size."""


@dataclass(frozen=True)
class Acknowledged:
    """A message whose sender was answered that it is stored, and where: offsets of its queue and of the log."""

    topic: str
    queue: int
    offset: int
    place: int
    body: bytes | None

    def is_(self, record: Record | None) -> bool:
        """Whether a record is this message."""
        mine = (self.topic, self.queue, self.offset, self.body)
        return record is not None and (record.topic, record.queue_id, record.queue_offset, record.body) == mine


@dataclass
class CrashTests:
    """What came of a campaign: how often the broker was killed, what it had acknowledged, and every finding as a sentence.

    `open`: messages without an answer; `kept`: those of them that are stored all the same. `unknown`: what could not be looked at, since an
    answer was lost.
    """

    kills: int = 0
    acknowledged: int = 0
    open: int = 0
    kept: int = 0
    topics: int = 0
    findings: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def data(self) -> dict[str, Any]:
        """As JSON."""
        return {**vars(self), "findings": list(self.findings), "unknown": list(self.unknown), "seconds": round(self.seconds, 1)}


def crash_test(
    target: Target,
    times: int,
    *,
    seed: int = 0,
    clients: int = 4,
    settings: Mapping[str, str] = SETTINGS,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> CrashTests:
    """Kill a target's broker so many times, each time in other surroundings by the seed. Raises TargetError, NotOffered."""
    began, found, chance = time.monotonic(), CrashTests(), random.Random(seed)
    while found.kills < times:
        with tempfile.TemporaryDirectory(prefix="rocketproof-") as folder, target.open(Setup(settings=settings)) as running:
            store = _Store(running, target.profile, chance, found, Path(folder))
            usable, last = True, found.kills + min(ROUNDS_PER_STORE, times - found.kills)
            while usable and found.kills < last:
                usable = store.round(clients)
                found.kills += 1
                progress(found.kills, times)
    found.seconds = time.monotonic() - began
    return found


def _sends(client: Client, name: str, seed: int) -> None:
    """Send one message after the other until the connection is lost."""
    chance, topics = random.Random(seed), [f"{name}-0"]
    for number in itertools.count():
        if chance.randrange(_NEW_TOPIC) == 0:
            topics.append(f"{name}-{len(topics)}")
        body = {"body": f"{name} {number} ", "size": chance.choice((10, 200, 2000))}
        client.step(("send", {"topic": chance.choice(topics[-3:]), "queue": chance.randrange(QUEUES), "nums": QUEUES, **body}))
        if client.lost:
            return


class _Store:
    """One store of the campaign, and everything that was acknowledged on it."""

    def __init__(self, running: Deployment, profile: str, chance: random.Random, found: CrashTests, folder: Path) -> None:
        self._running = running
        self._profile = profile
        self._chance = chance
        self._found = found
        self._folder = folder
        self._first = found.kills
        self._acknowledged: dict[int, Acknowledged] = {}

    def round(self, clients: int) -> bool:
        """Load, kill, start, look; whether the broker started."""
        asked = self._load(clients)
        acknowledged = [one for one in asked if one.code in OK]
        refused = Counter(f"code {one.code}: {one.answer.get('remark')}" for one in asked if one.closed == "ok" and one.code not in OK)
        self._found.acknowledged += len(acknowledged)
        self._finding("refused", (f"{times} times {what}" for what, times in refused.items()))
        for one in acknowledged:
            self._remember(one.fields, one.answer.get("fields") or {}, body_of(one.value))
        try:
            come_back(self._running, BROKER)
        except NotBack as problem:
            self._finding("start", [str(problem)])
            return False
        self._look({body_of(one.value) for one in asked if one.closed != "ok"})
        return True

    def _load(self, count: int) -> list[Asked]:
        """What clients asked until the broker was killed."""
        number = self._found.kills
        path = self._folder / f"{number}.ndjson"
        recording = Recording(path, {})
        contexts = [Context(Names("", 0), BROKER) for _ in range(count)]
        clients = [Client(k, self._running, context, recording) for k, context in enumerate(contexts)]
        load_ = [
            threading.Thread(target=_sends, args=(client, f"r{number}c{k}", self._chance.randrange(2**32)), daemon=True)
            for k, client in enumerate(clients)
        ]
        for thread in load_:
            thread.start()
        if not until(lambda: any(context.known for context in contexts), bool, _FIRST_ANSWER, 0.001):
            raise TargetError(f"{self._running.name}: no send was answered in {_FIRST_ANSWER:g} s")
        time.sleep(self._chance.uniform(0, _LONGEST))
        self._running.kill(BROKER)
        for thread, client in zip(load_, clients, strict=True):
            thread.join(2 * PATIENCE)
            client.close()
        recording.close()
        return load(path).asked

    def _remember(self, request: Mapping[str, str], answer: Mapping[str, str], body: bytes | None) -> Acknowledged | None:
        """Note an acknowledged message; None if the answer does not say where it is."""
        numbers = [answer.get(name, "") for name in ("queueId", "queueOffset")]
        if len(places(answer)) != 1 or not all(text.isdecimal() for text in numbers):
            self._finding("place", [f"an answer names none: {dict(answer)}"])
            return None
        (place,) = places(answer)
        if place in self._acknowledged:
            self._finding("place", [f"{place} of the log was given to two messages"])
        found = Acknowledged(request["topic"], int(answer["queueId"]), int(answer["queueOffset"]), place, body)
        self._acknowledged[place] = found
        return found

    def _look(self, unanswered: set[bytes | None]) -> None:
        found = files(self._running.store(BROKER))
        if found is None:
            self._finding("log", ["its files cannot be read"])
            return
        log = log_of(*found)
        records = {record.at: record for record in log.records}
        queues: dict[tuple[str, int], list[Place]] = {}
        for record in log.records:
            queues.setdefault((record.topic, record.queue_id), []).append((record.at, record.total_size))
        self._found.open += len(unanswered)
        self._found.kept += len(unanswered & {record.body for record in log.records})
        self._finding("lost", (str(one)[:200] for one in self._acknowledged.values() if not one.is_(records.get(one.place))))
        claims = decided(log, log, BROKER, self._profile, frozenset())
        self._finding("log", (f"{claim.id}: {claim.sentence}: {text}" for claim, _, text, _ in claims if text is not None))
        self._finding("consume queue", (f"{key}" for key, wanted in queues.items() if not self._dispatched(key, wanted)))
        self._finding("topic lost", self._missing_topics())
        self._finding("next offset", self._strange_next({key: len(entries) for key, entries in queues.items()}))

    def _missing_topics(self) -> list[str]:
        reader = Reader(self._running, BROKER)
        known = reader.topics()
        reader.close()
        if known is None:
            self._unknown("topics", str(next(reversed(reader.faults), "the broker does not tell them")))
            return []
        wanted = {one.topic for one in self._acknowledged.values()}
        self._found.topics += sum(topic.startswith(f"r{self._found.kills}c") for topic in wanted)
        return sorted(wanted - set(known))

    def _strange_next(self, counts: Mapping[tuple[str, int], int]) -> Iterator[str]:
        """Queues whose next message has not the next offset."""
        chosen = self._chance.sample(sorted(counts), min(_PROBED, len(counts)))
        try:
            with self._running.connect(BROKER) as line:
                for topic, queue in chosen:
                    answer = line.ask(plain("send", topic=topic, queue=queue, body="probe"), _SECONDS)
                    if answer.code not in OK:
                        yield f"{topic} {queue}: a send is answered {answer.code} {answer.remark}"
                        continue
                    stored = self._remember({"topic": topic}, answer.ext_fields or {}, b"probe")
                    if stored is not None and stored.offset != counts[topic, queue]:
                        yield f"{topic} {queue}: {stored.offset} after {counts[topic, queue]} messages"
        except RemotingError as problem:
            self._unknown("next offset", worded(problem))

    def _dispatched(self, key: tuple[str, int], wanted: list[Place]) -> bool:
        """Whether the consume queue leads to exactly these records, within a while."""
        return until(lambda: queue_entries(self._running.store(BROKER), *key) == wanted, bool, _SECONDS, 0.05)

    def _unknown(self, what: str, why: str) -> None:
        self._found.unknown.append(f"kill {self._found.kills + 1}, store {self._first}: {what}: {why}")

    def _finding(self, what: str, sentences: Iterable[str]) -> None:
        self._found.findings += [f"kill {self._found.kills + 1}, store {self._first}: {what}: {sentence}" for sentence in sentences]


def queue_entries(store: Path, topic: str, queue: int) -> list[Place]:
    """The records that a consume queue leads to."""
    found = Queues([str(store)]).find(topic, queue)
    if found is None:
        return []
    entries = found.entries(0, found.max)
    return list(zip(entries.physicalOffset.tolist(), entries.size.tolist(), strict=True))
