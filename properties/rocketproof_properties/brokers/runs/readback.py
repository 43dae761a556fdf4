"""Reading back the state after a program: its topics, its queues with their records, and its acknowledged messages.

Everything is requested on the wire, so that any broker can be read. Unavailable data are left out. The events are `state` events of the
broker:

- `topics`: the broker's entries.
- `queues`: the next offset of each queue.
- `records`: their bytes, and the acknowledged places without a record.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from rocketproof_impl.remoting.command import Command
from rocketproof_impl.remoting.errors import RemotingError
from rocketproof_model import interrupts
from rocketproof_protocol import codes
from rocketproof_protocol.numbers import java_long, whole_number
from rocketproof_protocol.properties import KEYS, TAGS, UNIQ_KEY
from rocketproof_protocol.topics import HALF_TOPIC, OP_HALF_TOPIC, SCHEDULE
from rocketproof_spec.bounds import DELAY_LEVELS
from rocketproof_traces.stored.record import StoredRecord, born_of, place_of, record_at, records_in

from ...programs.names import ProgramNames
from ...programs.parts import NAME_SERVER
from ...programs.vocabulary import Step, plain
from ..connection import Connection
from ..deployment import Deployment
from .queries import questions, run_queries, steady
from .recording import KEPT, worded
from .waiting import until

T = TypeVar("T")
_SEPARATOR: Final = re.compile("[=:]")
_SIMPLE: Final = re.compile(r"[\w-]+")
"""A tag that can be used in a subscription unchanged."""
MOST_QUEUES: Final = 64
MOST_RECORDS: Final = 500
MOST_ENDS: Final = 8
COUNTS: Final = ("readQueueNums", "writeQueueNums")
"""The queue numbers in a topic's entry."""
SECONDS: Final = 3.0
_PAUSES: Final = (0.01, 0.05, 0.1, 0.2, 0.4)
"""Pauses in seconds before a query without response is retried."""
_DISPATCHED: Final = 3.0  # seconds for a broker to dispatch stored messages
_LOOK: Final = 0.005
_SETTLING: Final = 0.01  # seconds for what a broker stores after its responses


@dataclass
class Reader:
    """A connection to one broker for queries; not a client of the program.

    Queries change nothing and are retried for a while if there is no response. A value that is still unknown then is None.

    - `faults`: the lost responses. `missed`: the queries that got none. `take` empties both.
    - `unsupported`: kinds of queries that are not sent (any more).
    - `refused`: the last error response by kind of query.
    """

    deployment: Deployment
    broker: str
    _line: Connection | None = None
    unsupported: set[str] = field(default_factory=set)
    faults: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    refused: dict[str, Command] = field(default_factory=dict)

    def ask(self, name: str, **arguments: Any) -> Command | None:
        """Return the response to a step; None if there is none or the broker does not support the request."""
        if name in self.unsupported:
            return None
        for pause in (*_PAUSES, None) if not self.missed else (None,):
            try:
                answer = self._asked(name, arguments)
            except RemotingError as problem:
                self.close()
                self.faults.append(worded(problem))
                if pause is not None:
                    interrupts.pause(pause)
                continue
            if answer.code == codes.REQUEST_CODE_NOT_SUPPORTED:
                self.unsupported.add(name)
                return None
            if answer.code != codes.SUCCESS:
                self.refused[name] = answer
            return answer
        self.missed.append(" ".join(str(value) for value in (name, *arguments.values())))
        return None

    def _asked(self, name: str, arguments: Mapping[str, Any]) -> Command:
        if self._line is None:
            self._line = self.deployment.connect(self.broker)
        return self._line.ask(plain(name, **arguments), SECONDS)

    def _read(self, name: str, answer: Command, read: Callable[[Command], T]) -> T | None:
        """Return the parsed response, None if it cannot be parsed."""
        try:
            return read(answer)
        except (ValueError, KeyError, TypeError, AttributeError):
            self.missed.append(f"{name}, whose answer says nothing that can be read")
            return None

    def take(self) -> tuple[list[str], list[str]]:
        """Return the faults and missed queries since the last call."""
        faults, missed = self.faults, self.missed
        self.faults, self.missed = [], []
        return faults, missed

    def close(self) -> None:
        if self._line is not None:
            self._line.close()
            self._line = None

    def topics(self) -> dict[str, dict[str, Any]] | None:
        """Return the broker's whole topic table; None also if an entry has no number of queues."""
        return self._table("topics", "topicConfigTable", COUNTS)

    def groups(self) -> dict[str, dict[str, Any]] | None:
        """Return the broker's whole table of consumer groups."""
        return self._table("groups", "subscriptionGroupTable")

    def _table(self, name: str, key: str, numbers: Collection[str] = ()) -> dict[str, dict[str, Any]] | None:
        """Return a table that is sent together with its data version. `numbers`: fields that each entry must have."""

        def read(answer: Command) -> dict[str, dict[str, Any]]:
            table = json.loads(answer.body or b"")[key].items()
            return {str(entry): {**config, **{number: whole_number(config[number]) for number in numbers}} for entry, config in table}

        answer = self.ask(name)
        return None if answer is None or answer.code != codes.SUCCESS else self._read(name, answer, read)

    def settings(self) -> dict[str, str] | None:
        """Return the broker's settings by RocketMQ's current names, which are misspelt up to 4.5.1; empty if the broker does not return
        them."""
        answer = self.ask("settings")
        if answer is None:
            return {} if "settings" in self.unsupported else None
        return _settings(answer) if answer.code == codes.SUCCESS else {}

    def next_offset(self, topic: str, queue: int, refused: int | None = None) -> int | None:
        """Return a queue's next offset; `refused` if the response is an error."""
        answer = self.ask("max_offset", topic=topic, queue=queue)
        if answer is not None and answer.code != codes.SUCCESS:
            return refused
        return None if answer is None else self._read("max_offset", answer, _offset)

    def view(self, place: int) -> bytes | None:
        """Return the record at a place, empty if there is none; None if unknown."""
        answer = self.ask("view", place=place)
        return None if answer is None else (answer.body or b"") if answer.code == codes.SUCCESS else b""

    def pull(self, topic: str, queue: int, start: int, end: int) -> Iterator[bytes]:
        """Yield the records of a queue between two offsets, as far as they are known."""
        while start < end:
            answer = self.ask("pull", topic=topic, queue=queue, offset=start)
            if answer is None or answer.code != codes.SUCCESS:
                return
            records = list(records_in(answer.body or b""))
            yield from records
            next_start = java_long((answer.ext_fields or {}).get("nextBeginOffset", ""))
            next_start = start + len(records) if next_start is None else next_start
            if next_start <= start:
                return
            start = next_start


def _offset(answer: Command) -> int:
    return whole_number((answer.ext_fields or {})["offset"])


def _settings(answer: Command) -> dict[str, str]:
    """Parse properties. A name ends at the first equals sign or colon, as in Java."""
    text = (answer.body or b"").decode("utf-8", "replace")
    lines = (_SEPARATOR.split(line, maxsplit=1) for line in text.splitlines() if line[:1] not in "#")
    return {name.strip().replace("maped", "mapped"): "".join(value).strip() for name, *value in lines if name.strip()}


LATE: Final = (*((SCHEDULE, level) for level in range(DELAY_LEVELS)), (HALF_TOPIC, 0))
"""The shared queues in which delayed messages wait, or to which they may be delivered (HAZ-39)."""
Ends = Sequence[int | None]
"""The next offsets of the queues in `LATE`, None for unknown ones."""


def late_ends(reader: Reader) -> Ends:
    """Return the present ends of the queues in `LATE`. Earlier records are not of this program."""
    return [reader.next_offset(topic, queue, refused=0) for topic, queue in LATE]


def _half_message_ends(reader: Reader, records: Mapping[int, bytes]) -> list[dict[str, Any]]:
    """Return what a broker has stored about ended half messages.

    These records cannot be pulled. They follow the committed message or the half message, unless something else was stored in between.
    """
    ends = {place + len(data) for place, data in records.items()}
    viewed = ((place, reader.view(place)) for place in sorted(ends - records.keys())[:MOST_ENDS])
    return [_data(place, data) for place, data in viewed if data and _is_half_message_end(place, data)]


def _is_half_message_end(place: int, data: bytes) -> bool:
    record = record_at(data, place)
    return record is not None and record.topic == OP_HALF_TOPIC


def read_back(
    reader: Reader,
    names: ProgramNames,
    topics: Iterable[str],
    places: Sequence[int],
    before: Ends | None,
    born: range,
    sent_back: int = 0,
    groups: Collection[str] = (),
    *,
    gone: Collection[int] = (),
    ended: bool = False,
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the values of the state events.

    - `before`: the ends of the queues in `LATE` at the start, None if no message was delayed.
    - `born`: the born timestamps of this program's messages, which identify them among others.
    - `ended`: half messages may have ended; the broker's records about that are read too.
    - `gone`: the places whose topic was deleted later. No queue is expected to have these records.
    - `sent_back`: the number of messages sent back that are stored. Their responses state no place.

    A queue is read when it has what the acknowledged records require, because dispatching may take a moment. The queues in `LATE` are also
    read again until all `sent_back` records are there. If responses were lost, `unread` has the failed queries and the faults.
    """
    interrupts.pause(_SETTLING)
    table = reader.topics()
    named = set(topics)
    if table is not None:
        mine = {name: config for name, config in table.items() if names.is_mine(name) or name in named}
        yield "topics", {"topics": mine, "asked": sorted(named - mine.keys())}
        named |= mine.keys()
    records, nowhere = _acknowledged(reader, places)
    queues = _read_queues(reader, names, named, table, records, gone)
    late = True
    if before is not None:
        expected = len(places) + sent_back
        late = _late(reader, before, records, born, expected)
        if _count(records, born) < expected:  # a dead letter has no place in a response, and may have been dispatched only now
            queues = _read_queues(reader, names, named, table, records, gone)
    pulled = late and "pull" not in reader.unsupported and all(len(queue_places) == end for _, _, end, queue_places in queues)
    faults, missed = reader.take()
    pulled &= not missed
    if faults or missed:
        yield "unread", {"missed": missed, "faults": faults}
    yield "queues", {"queues": queues, "pulled": pulled}
    kept = {*places, *(place for *_, queue_places in queues for place in queue_places)}
    own = {place: data for place, data in sorted(records.items()) if place in kept or born_of(data) in born}
    yield "records", {"records": [_data(place, data) for place, data in own.items()], "nowhere": nowhere}
    if ended:
        yield "ends", {"records": _half_message_ends(reader, own)}
        reader.take()
    yield from _query_results(reader, names, table, queues, records, groups)


def _acknowledged(reader: Reader, places: Sequence[int]) -> tuple[dict[int, bytes], list[int]]:
    """Return the records at these places, and the places at which the broker has none. Unknown ones are in neither."""
    records: dict[int, bytes] = {}
    nowhere = []
    for place in places:
        data = reader.view(place)
        if data:
            records[place] = data
        elif data is not None:
            nowhere.append(place)
    return records, nowhere


def _read_queues(
    reader: Reader,
    names: ProgramNames,
    topics: Iterable[str],
    table: Mapping[str, Mapping[str, Any]] | None,
    records: dict[int, bytes],
    gone: Collection[int],
) -> list[list[Any]]:
    """Return topic, queue, next offset and the places of the records for each of the program's queues, as far as they are known.

    `table`: the broker's topics, None if unknown. Adds the records to `records`. Waits for the records that are not `gone`.
    """
    queues: list[list[Any]] = []
    present = {place: data for place, data in records.items() if place not in gone}
    expected = _expected(present)
    _catch_up(reader, present, table)
    for topic in sorted(name for name in topics if names.is_mine(name)):
        config = (table or {}).get(topic)
        if table is not None and config is None:
            continue
        for queue in range(min(8 if config is None else width(config), MOST_QUEUES)):
            end = _dispatched(reader, topic, queue, expected.get((topic, queue), 0))
            if end is None:
                continue
            pulled = _kept(reader.pull(topic, queue, 0, min(end, MOST_RECORDS)), records) if end else ()
            queues.append([topic, queue, end, [place_of(data) for data in pulled]])
    return queues


def width(config: Mapping[str, Any]) -> int:
    """Return the number of queues of a topic that may contain records, from its entry in the broker's table.

    A topic without queues may still have records: messages that were given up go to queue 0, which then cannot be pulled.
    """
    return max(1, *(whole_number(config[name]) for name in COUNTS))


def _query_results(
    reader: Reader,
    names: ProgramNames,
    table: Mapping[str, Mapping[str, Any]] | None,
    queues: Sequence[Sequence[Any]],
    records: Mapping[int, bytes],
    groups: Collection[str],
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the groups and the results of all queries about topics and queues, sent twice, with what changed meanwhile."""
    known = reader.groups()
    if known is not None:
        yield "groups", {"groups": {name: config for name, config in known.items() if names.is_mine(name)}}
    tags: dict[tuple[str, int], set[str]] = {}
    times: dict[tuple[str, int], list[int]] = {}
    keys: dict[tuple[str, str], list[int]] = {}
    for data in records.values():
        record = record_at(data, place_of(data))
        if record is None:
            continue
        if names.is_mine(record.topic):
            times.setdefault((record.topic, record.queue_id), []).append(record.store_timestamp)
            for key in keys_of(record):
                keys.setdefault((record.topic, key), []).append(record.store_timestamp)
        tag = record.properties.get(TAGS)
        if tag and _SIMPLE.fullmatch(tag):
            tags.setdefault((record.topic, record.queue_id), set()).add(tag)
    mine = sorted(name for name in table or {} if names.is_mine(name))
    queries = list(questions(mine, [(topic, queue, end) for topic, queue, end, _ in queues], tags, times, sorted(groups), keys))
    first, second = run_queries(reader, queries), run_queries(reader, queries)
    moved = [[topic, queue, end, now] for topic, queue, end, _ in queues if (now := reader.next_offset(topic, queue)) not in (None, end)]
    after = reader.topics()
    changed = [] if table is None or after is None else sorted(name for name in mine if table[name] != after.get(name))
    faults, missed = reader.take()
    if not (faults or missed):
        both = zip(map(steady, first), map(steady, second), strict=True)
        twice = [[result, other] for result, other in both if result != other]
        yield "looks", {"looks": first, "twice": twice, "moved": moved, "changed": changed}


def keys_of(record: StoredRecord) -> list[str]:
    """Return the keys by which a record can be found."""
    keys = [record.properties.get(UNIQ_KEY, ""), *record.properties.get(KEYS, "").split(" ")]
    return [key for key in dict.fromkeys(keys) if key]


def _late(reader: Reader, before: Ends, records: dict[int, bytes], born: range, expected: int) -> bool:
    """Return whether all records of the delay levels could be pulled.

    Waits until `expected` records of the program are there, or until the timeout.
    """

    def pulled() -> bool:
        whole = True
        for (topic, queue), start in zip(LATE, before, strict=True):
            end = reader.next_offset(topic, queue, refused=0)
            past = 0 if start is None or end is None else min(end, start + MOST_RECORDS)
            found = [] if start is None else list(_kept(reader.pull(topic, queue, start, past), records))
            if topic == SCHEDULE:  # up to 4.6 the half topic is in no table at first, and cannot be pulled
                # Some releases let clients create this topic with fewer queues than levels; the other queues cannot be pulled.
                whole &= start is not None and past == end and len(found) >= past - start
        return whole

    return _awaited(pulled, lambda _: _count(records, born) >= expected)


def _count(records: Mapping[int, bytes], born: range) -> int:
    """Return how many of these records were made of the program's messages."""
    return sum(born_of(data) in born for data in records.values())


def _expected(records: Mapping[int, bytes]) -> dict[tuple[str, int], int]:
    """Return the next offset by topic and queue that these records require."""
    next_offsets: dict[tuple[str, int], int] = {}
    for place, data in records.items():
        record = record_at(data, place)
        if record is not None and record.counted:
            key = (record.topic, record.queue_id)
            next_offsets[key] = max(next_offsets.get(key, 0), record.queue_offset + 1)
    return next_offsets


def _dispatched(reader: Reader, topic: str, queue: int, expected: int) -> int | None:
    """Return the next offset as soon as it is at least `expected`, or after the timeout."""
    return _awaited(lambda: reader.next_offset(topic, queue), lambda offset: offset is None or offset >= expected)


def _catch_up(reader: Reader, records: Mapping[int, bytes], table: Collection[str] | None) -> None:
    """Wait until the last of these records is dispatched, and with it everything before it in the log.

    That includes dead letters that no response confirms and that cannot be read.
    """
    known = (record_at(data, place) for place, data in sorted(records.items(), reverse=True))
    last = next((record for record in known if record is not None and record.counted and (table is None or record.topic in table)), None)
    if last is not None:
        _dispatched(reader, last.topic, last.queue_id, last.queue_offset + 1)


def _awaited(query: Callable[[], T], enough: Callable[[T], bool]) -> T:
    """Return the value as soon as it is enough, or when a broker has had the time to dispatch."""
    return until(query, enough, _DISPATCHED, _LOOK)


def _kept(pulled: Iterable[bytes], records: dict[int, bytes]) -> Iterator[bytes]:
    for data in pulled:
        records[place_of(data)] = data
        yield data


def _data(place: int, data: bytes) -> dict[str, Any]:
    if len(data) > KEPT:
        return {"at": place, "size": len(data)}
    return {"at": place, "data": base64.b64encode(data).decode()}


def clean_up(
    reader: Reader, names: ProgramNames, topics: Sequence[str], groups: Iterable[str], queues: Iterable[tuple[str, int]]
) -> dict[str, Any]:
    """Delete what the program created, as far as the broker permits. Return the responses and what is left, if all queries were answered.

    Only for brokers that are used by no one else, and for programs whose messages are all dispatched: if a 4.9.4 broker stores a message of
    a topic during its deletion, it may crash with a segmentation fault.
    """
    steps: list[Step] = [("delete", {"topic": topic}) for topic in topics]
    steps += [("max_offset", {"topic": topic, "queue": queue}) for topic, queue in queues]
    results = run_queries(reader, steps)
    table = reader.topics()
    for group in groups:
        reader.ask("delete_group", group=group)
    if reader.deployment.name_server is not None:
        with suppress(RemotingError), reader.deployment.connect(NAME_SERVER) as connection:
            for topic in topics:
                connection.ask(plain("forget_topic", topic=topic), SECONDS)
    faults, missed = reader.take()
    if table is None or faults or missed:
        return {"topics": list(topics)}
    return {"topics": list(topics), "looks": results, "left": sorted(name for name in table if names.is_mine(name))}
