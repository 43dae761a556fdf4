"""A broker is killed again and again under load, and what it acknowledged has to be there afterwards.

Several clients send at a time, each over its own connection, and create topics as they go. At a random moment the broker's
process is killed; it starts again on its files, and these are read beside what it answers:

- each acknowledged message is in the log, at the place that its answer named (INV-06);
- each queue's offsets are 0, 1, 2 … in the log and in its consume queue, and the next message has the next one (INV-34, REC-03);
- each topic to which a message was acknowledged is in the broker's table (INV-27);
- and it starts at all.

The page cache outlives a process, so nothing here tells what a loss of power would take.
"""

from __future__ import annotations

import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from struct import Struct
from typing import Any, Final

from rocketproof_impl.remoting.command import Command
from rocketproof_impl.remoting.errors import RemotingError
from rocketproof_impl.store import record
from rocketproof_protocol import codes

from ..deployments.connection import Connection, TcpConnection
from ..deployments.deployment import Deployment, Setup, Target, TargetError
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
_ENTRY: Final = Struct(">qiq")
STORED: Final = (codes.SUCCESS, codes.FLUSH_DISK_TIMEOUT, codes.FLUSH_SLAVE_TIMEOUT, codes.SLAVE_NOT_AVAILABLE)


@dataclass(frozen=True)
class Acknowledged:
    """A message whose sender was told that it is stored, and where: offsets of its queue and of the log."""

    topic: str
    queue: int
    offset: int
    place: int
    body: bytes


@dataclass
class CrashTests:
    """What came of a campaign: how often the broker was killed, what it had acknowledged, and every finding as a sentence.

    `open`: messages without an answer; `kept`: those of them that are stored all the same.
    """

    kills: int = 0
    acknowledged: int = 0
    open: int = 0
    kept: int = 0
    topics: int = 0
    findings: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def data(self) -> dict[str, Any]:
        """As JSON."""
        return {**vars(self), "findings": list(self.findings), "seconds": round(self.seconds, 1)}


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
        with target.open(Setup(settings=settings)) as running:
            store = _Store(running, chance, found)
            usable, last = True, found.kills + min(ROUNDS_PER_STORE, times - found.kills)
            while usable and found.kills < last:
                usable = store.round(clients)
                found.kills += 1
                progress(found.kills, times)
    found.seconds = time.monotonic() - began
    return found


class _Client(threading.Thread):
    """Sends one message after the other until the connection is lost. `open` is the body that has no answer."""

    def __init__(self, address: str, name: str, seed: int) -> None:
        super().__init__(name=name, daemon=True)
        self._address = address
        self._chance = random.Random(seed)
        self._topics = [f"{name}-0"]
        self.acknowledged: list[Acknowledged] = []
        self.open: bytes | None = None
        self.refused: Counter[str] = Counter()

    def run(self) -> None:
        try:
            line = TcpConnection(self._address)
        except RemotingError:
            return
        try:
            for number in range(1_000_000):
                self._send(line, number)
        except RemotingError:
            pass  # the broker is gone
        finally:
            line.close()

    def _send(self, line: Connection, number: int) -> None:
        chance = self._chance
        if chance.randrange(_NEW_TOPIC) == 0:
            self._topics.append(f"{self.name}-{len(self._topics)}")
        topic, queue = chance.choice(self._topics[-3:]), chance.randrange(QUEUES)
        self.open = f"{self.name} {number} ".encode() + chance.randbytes(chance.choice((5, 100, 1000))).hex().encode()
        answer = line.ask(send_request(topic, queue, self.open), _SECONDS)
        if answer.code in STORED:
            self.acknowledged.append(acknowledged(topic, self.open, answer))
        else:
            self.refused[f"code {answer.code}: {answer.remark}"] += 1
        self.open = None


def send_request(topic: str, queue: int, body: bytes) -> Command:
    """Send a message; the topic is made if it is missing."""
    return plain("send", topic=topic, queue=queue, nums=QUEUES, body=body.decode())


def acknowledged(topic: str, body: bytes, answer: Command) -> Acknowledged:
    fields = answer.ext_fields or {}
    return Acknowledged(topic, int(fields["queueId"]), int(fields["queueOffset"]), int(fields["msgId"][16:], 16), body)


class _Store:
    """One store of the campaign, and everything that was acknowledged on it."""

    def __init__(self, running: Deployment, chance: random.Random, found: CrashTests) -> None:
        self._running = running
        self._chance = chance
        self._found = found
        self._first = found.kills
        self._acknowledged: dict[int, Acknowledged] = {}

    def round(self, clients: int) -> bool:
        """Load, kill, start, look; whether the broker started."""
        number = self._found.kills
        address = self._running.brokers[BROKER]
        load = [_Client(address, f"r{number}c{client}", self._chance.randrange(2**32)) for client in range(clients)]
        for client in load:
            client.start()
        self._wait_for_first(load)
        time.sleep(self._chance.uniform(0, _LONGEST))
        self._running.kill(BROKER)
        for client in load:
            client.join(_SECONDS)
        told = [each for client in load for each in client.acknowledged]
        refused = sum((client.refused for client in load), Counter[str]())
        self._found.acknowledged += len(told)
        self._finding("refused", (f"{times} times {what}" for what, times in refused.items()))
        self._remember(told)
        try:
            self._running.restart(BROKER)
        except TargetError as problem:
            self._finding("start", [str(problem)])
            return False
        self._look({client.open for client in load if client.open is not None})
        return True

    def _wait_for_first(self, load: list[_Client]) -> None:
        end = time.monotonic() + _FIRST_ANSWER
        while not any(client.acknowledged for client in load):
            if time.monotonic() > end:
                raise TargetError(f"{self._running.name}: no send was answered in {_FIRST_ANSWER:g} s")
            time.sleep(0.001)

    def _remember(self, told: list[Acknowledged]) -> None:
        for each in told:
            if each.place in self._acknowledged:
                self._finding("place", [f"{each.place} of the log was given to two messages"])
            self._acknowledged[each.place] = each

    def _look(self, unanswered: set[bytes]) -> None:
        records = dict(log_records(self._running.store(BROKER)))
        queues: dict[tuple[str, int], list[tuple[int, int, int]]] = {}
        bodies = set()
        for place, message in records.items():
            queues.setdefault((message.topic, message.queue_id), []).append((message.queue_offset, place, message.store_size))
            bodies.add(message.body)
        self._found.open += len(unanswered)
        self._found.kept += len(unanswered & bodies)
        self._finding("lost", (str(each)[:200] for each in self._acknowledged.values() if not _holds(records.get(each.place), each)))
        self._finding("offsets", (f"{key}: {_strange(entries)}" for key, entries in queues.items() if _strange(entries)))
        self._finding("consume queue", (f"{key}" for key, entries in queues.items() if not self._dispatched(key, entries)))
        with self._running.connect(BROKER) as line:
            self._finding("topic lost", self._missing_topics(line))
            self._finding("next offset", self._strange_next(line, queues))

    def _missing_topics(self, line: Connection) -> list[str]:
        answer = line.ask(plain("topics"), _SECONDS)
        known = json.loads(answer.body or b"{}").get("topicConfigTable", {})
        wanted = {each.topic for each in self._acknowledged.values()}
        self._found.topics += sum(topic.startswith(f"r{self._found.kills}c") for topic in wanted)
        return sorted(wanted - set(known))

    def _strange_next(self, line: Connection, queues: dict[tuple[str, int], list[tuple[int, int, int]]]) -> Iterator[str]:
        for topic, queue in self._chance.sample(sorted(queues), min(_PROBED, len(queues))):
            body = b"probe"
            answer = line.ask(send_request(topic, queue, body), _SECONDS)
            if answer.code not in STORED:
                yield f"{topic} {queue}: a send is answered {answer.code} {answer.remark}"
                continue
            told = acknowledged(topic, body, answer)
            if told.offset != len(queues[topic, queue]):
                yield f"{topic} {queue}: {told.offset} after {len(queues[topic, queue])} messages"
            self._remember([told])

    def _dispatched(self, key: tuple[str, int], entries: list[tuple[int, int, int]]) -> bool:
        """Whether the consume queue leads to exactly these records, within a while."""
        wanted = [(place, size) for _, place, size in sorted(entries)]
        end = time.monotonic() + _SECONDS
        while queue_entries(self._running.store(BROKER), *key) != wanted:
            if time.monotonic() > end:
                return False
            time.sleep(0.05)
        return True

    def _finding(self, what: str, sentences: Iterator[str] | list[str]) -> None:
        self._found.findings += [f"kill {self._found.kills + 1}, store {self._first}: {what}: {sentence}" for sentence in sentences]


def _holds(message: Any, told: Acknowledged) -> bool:
    return message is not None and (message.topic, message.queue_id, message.queue_offset, message.body) == (
        told.topic,
        told.queue,
        told.offset,
        told.body,
    )


def _strange(entries: list[tuple[int, int, int]]) -> str:
    """What is wrong with the offsets of a queue in the order of the log; empty if nothing is."""
    offsets = [offset for offset, _, _ in entries]
    wrong = next((number for number, offset in enumerate(offsets) if number != offset), None)
    return "" if wrong is None else f"offset {offsets[wrong]} where {wrong} was expected, of {len(offsets)}"


def log_records(store: Path) -> Iterator[tuple[int, Any]]:
    """The records of a store's log with their places, up to where it ends."""
    for path in sorted((store / "commitlog").iterdir()):
        data, position = path.read_bytes(), 0
        while position + record.BLANK_SIZE <= len(data):
            size, magic = record.size_and_magic(data[position : position + record.BLANK_SIZE])
            if magic == record.BLANK_MAGIC:
                break
            found = data[position : position + size]
            if size <= 0 or not record.is_whole(found):
                return
            yield int(path.name) + position, record.decode(found, exact=False)
            position += size


def queue_entries(store: Path, topic: str, queue: int) -> list[tuple[int, int]]:
    """Place and size of each record that a consume queue leads to."""
    found: list[tuple[int, int]] = []
    folder = store / "consumequeue" / topic / str(queue)
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        for place, size, _ in _ENTRY.iter_unpack(path.read_bytes()):
            if size == 0:
                return found
            found.append((place, size))
    return found
