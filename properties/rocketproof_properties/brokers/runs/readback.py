"""Reading back what a program left: its topics, its queues with their records, and what was acknowledged.

Everything is asked for on the wire, so that any broker can be read; what a broker does not give out is left out. The events are
`state` ones of the broker: `topics` as the broker has them, `queues` with the next offset of each, `records` as their bytes, with the
acknowledged places where the broker has none.
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
from rocketproof_traces.stored.record import StoredRecord, record_at

from ...programs.names import ProgramNames
from ...programs.parts import NAME_SERVER
from ...programs.vocabulary import Step, plain
from ..connection import Connection
from ..deployment import Deployment
from .queries import born_of, look_around, place_of, questions, split, steady
from .recording import KEPT, worded
from .waiting import until

T = TypeVar("T")
_SEPARATOR: Final = re.compile("[=:]")
_SIMPLE: Final = re.compile(r"[\w-]+")
"""A tag that a subscription can name as it is."""
MOST_QUEUES: Final = 64
MOST_RECORDS: Final = 500
MOST_ENDS: Final = 8
COUNTS: Final = ("readQueueNums", "writeQueueNums")
"""Of a topic's entry, its numbers of queues."""
SECONDS: Final = 3.0
_PAUSES: Final = (0.01, 0.05, 0.1, 0.2, 0.4)
"""Seconds before a question whose answer was lost is asked again."""
_DISPATCHED: Final = 3.0  # seconds for a broker to dispatch what it has stored
_LOOK: Final = 0.005
_SETTLING: Final = 0.01  # seconds for what a broker stores behind its answers


@dataclass
class Reader:
    """A connection to one broker for looking; not a client of the program.

    Looking changes nothing, so a question whose answer is lost is asked again for a while. What is still not known then is None everywhere,
    never a value. `faults` are the lost answers and `missed` the questions that got none; `take` empties both. `unsupported` are kinds of
    questions that are not asked (any more), `refused` the last answers that were errors, by the kind of the question.
    """

    deployment: Deployment
    broker: str
    _line: Connection | None = None
    unsupported: set[str] = field(default_factory=set)
    faults: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    refused: dict[str, Command] = field(default_factory=dict)

    def ask(self, name: str, **given: Any) -> Command | None:
        """The answer to a step, None where none comes or the broker does not know such a request."""
        if name in self.unsupported:
            return None
        for pause in (*_PAUSES, None) if not self.missed else (None,):
            try:
                answer = self._asked(name, given)
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
        self.missed.append(" ".join(str(one) for one in (name, *given.values())))
        return None

    def _asked(self, name: str, given: Mapping[str, Any]) -> Command:
        if self._line is None:
            self._line = self.deployment.connect(self.broker)
        return self._line.ask(plain(name, **given), SECONDS)

    def _read(self, name: str, answer: Command, read: Callable[[Command], T]) -> T | None:
        """What the answer to a step says, None where that cannot be read."""
        try:
            return read(answer)
        except (ValueError, KeyError, TypeError, AttributeError):
            self.missed.append(f"{name}, whose answer says nothing that can be read")
            return None

    def take(self) -> tuple[list[str], list[str]]:
        """The faults and what was missed since the last time."""
        faults, missed = self.faults, self.missed
        self.faults, self.missed = [], []
        return faults, missed

    def close(self) -> None:
        if self._line is not None:
            self._line.close()
            self._line = None

    def topics(self) -> dict[str, dict[str, Any]] | None:
        """The broker's whole table; None also where an entry does not say how many queues its topic has."""
        return self._table("topics", "topicConfigTable", COUNTS)

    def groups(self) -> dict[str, dict[str, Any]] | None:
        """The broker's whole table of consumer groups."""
        return self._table("groups", "subscriptionGroupTable")

    def _table(self, name: str, key: str, numbers: Collection[str] = ()) -> dict[str, dict[str, Any]] | None:
        """A table that has its data version beside it; each entry has these numbers."""

        def read(answer: Command) -> dict[str, dict[str, Any]]:
            table = json.loads(answer.body or b"")[key].items()
            return {str(entry): {**config, **{each: whole_number(config[each]) for each in numbers}} for entry, config in table}

        answer = self.ask(name)
        return None if answer is None or answer.code != codes.SUCCESS else self._read(name, answer, read)

    def settings(self) -> dict[str, str] | None:
        """The broker's settings by RocketMQ's names of today, which misspelt some up to 4.5.1; none where it does not tell them."""
        answer = self.ask("settings")
        if answer is None:
            return {} if "settings" in self.unsupported else None
        return _settings(answer) if answer.code == codes.SUCCESS else {}

    def next_offset(self, topic: str, queue: int, refused: int | None = None) -> int | None:
        """A queue's next offset; `refused` where the broker answers with an error."""
        answer = self.ask("max_offset", topic=topic, queue=queue)
        if answer is not None and answer.code != codes.SUCCESS:
            return refused
        return None if answer is None else self._read("max_offset", answer, _offset)

    def view(self, place: int) -> bytes | None:
        """The record at a place, without bytes where the broker has none; None where it is not known."""
        answer = self.ask("view", place=place)
        return None if answer is None else (answer.body or b"") if answer.code == codes.SUCCESS else b""

    def pull(self, topic: str, queue: int, start: int, end: int) -> Iterator[bytes]:
        """The records of a queue from one offset up to another, as far as they are known."""
        while start < end:
            answer = self.ask("pull", topic=topic, queue=queue, offset=start)
            if answer is None or answer.code != codes.SUCCESS:
                return
            found = list(split(answer.body or b""))
            yield from found
            after = java_long((answer.ext_fields or {}).get("nextBeginOffset", ""))
            after = start + len(found) if after is None else after
            if after <= start:
                return
            start = after


def _offset(answer: Command) -> int:
    return whole_number((answer.ext_fields or {})["offset"])


def _settings(answer: Command) -> dict[str, str]:
    """Properties, whose names end at the first sign of equality or colon, as those of Java do."""
    text = (answer.body or b"").decode("utf-8", "replace")
    lines = (_SEPARATOR.split(line, maxsplit=1) for line in text.splitlines() if line[:1] not in "#")
    return {name.strip().replace("maped", "mapped"): "".join(value).strip() for name, *value in lines if name.strip()}


LATE: Final = (*((SCHEDULE, level) for level in range(DELAY_LEVELS)), (HALF_TOPIC, 0))
"""The queues of all programs in which delayed messages wait, or to which they may be delivered (HAZ-39)."""
Ends = Sequence[int | None]
"""The next offsets of the queues in `LATE`, None for one that is not known."""


def late_ends(reader: Reader) -> Ends:
    """Where the queues in `LATE` end now. What others have left there lies before."""
    return [reader.next_offset(topic, queue, refused=0) for topic, queue in LATE]


def _noted_ends(reader: Reader, records: Mapping[int, bytes]) -> list[dict[str, Any]]:
    """What a broker has noted of half messages that ended. Nobody can pull that; it lies behind the message that was committed, or behind
    the half message that was not, unless something else was stored in between."""
    behind = {place + len(data) for place, data in records.items()}
    found = ((place, reader.view(place)) for place in sorted(behind - records.keys())[:MOST_ENDS])
    return [_data(place, data) for place, data in found if data and _is_noted(place, data)]


def _is_noted(place: int, data: bytes) -> bool:
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
    ended: bool = False,
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The values of the state events. `before`: where the queues in `LATE` ended at the start, None if nothing was delayed. `ended`: half
    messages may have ended, and what the broker notes of that is looked for.

    `born`: the times of birth of this program's messages, by which they are known among those of others. A queue is read when it has
    what the acknowledged records say, which a broker may take a moment to dispatch; those in `LATE` also when all are there that were
    `sent_back`, whose answers name no place. Where answers were lost, `unread` has what was asked in vain, and how often it was.
    """
    interrupts.pause(_SETTLING)
    table = reader.topics()
    named = set(topics)
    if table is not None:
        mine = {name: config for name, config in table.items() if names.is_mine(name) or name in named}
        yield "topics", {"topics": mine, "asked": sorted(named - mine.keys())}
        named |= mine.keys()
    queues: list[list[Any]] = []
    records: dict[int, bytes] = {}
    nowhere = []
    for place in places:
        data = reader.view(place)
        if data:
            records[place] = data
        elif data is not None:
            nowhere.append(place)
    expected = _expected(records)
    _catch_up(reader, records, table)
    for topic in sorted(name for name in named if names.is_mine(name)):
        config = (table or {}).get(topic)
        if table is not None and config is None:
            continue
        for queue in range(min(8 if config is None else width(config), MOST_QUEUES)):
            end = _dispatched(reader, topic, queue, expected.get((topic, queue), 0))
            if end is None:
                continue
            found = [place_of(data) for data in _kept(reader.pull(topic, queue, 0, min(end, MOST_RECORDS)), records)] if end else []
            queues.append([topic, queue, end, found])
    pulled = "pull" not in reader.unsupported and all(len(found) == end for _, _, end, found in queues)
    if before is not None:
        pulled &= _late(reader, before, records, born, len(places) + sent_back)
    faults, missed = reader.take()
    pulled &= not missed
    if faults or missed:
        yield "unread", {"missed": missed, "faults": faults}
    yield "queues", {"queues": queues, "pulled": pulled}
    kept = {*places, *(place for *_, found in queues for place in found)}
    own = {place: data for place, data in sorted(records.items()) if place in kept or born_of(data) in born}
    yield "records", {"records": [_data(place, data) for place, data in own.items()], "nowhere": nowhere}
    if ended:
        yield "ends", {"records": _noted_ends(reader, own)}
        reader.take()
    yield from _looks(reader, names, table, queues, records, groups)


def width(config: Mapping[str, Any]) -> int:
    """In how many queues of a topic there may be records, by its entry in the broker's table.

    A topic without queues may have some all the same: what is given up goes to queue 0, which nobody can pull from then.
    """
    return max(1, *(whole_number(config[name]) for name in COUNTS))


def _looks(
    reader: Reader,
    names: ProgramNames,
    table: Mapping[str, Mapping[str, Any]] | None,
    queues: Sequence[Sequence[Any]],
    records: Mapping[int, bytes],
    groups: Collection[str],
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The groups, then everything that can be asked about topics and queues, asked twice, and what has changed while it was asked."""
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
    asked = list(questions(mine, [(topic, queue, end) for topic, queue, end, _ in queues], tags, times, sorted(groups), keys))
    first, again = look_around(reader, asked), look_around(reader, asked)
    moved = [[topic, queue, end, now] for topic, queue, end, _ in queues if (now := reader.next_offset(topic, queue)) not in (None, end)]
    after = reader.topics()
    changed = [] if table is None or after is None else sorted(name for name in mine if table[name] != after.get(name))
    faults, missed = reader.take()
    if not (faults or missed):
        both = zip(map(steady, first), map(steady, again), strict=True)
        twice = [[one, other] for one, other in both if one != other]
        yield "looks", {"looks": first, "twice": twice, "moved": moved, "changed": changed}


def keys_of(record: StoredRecord) -> list[str]:
    """What a record can be found by."""
    found = [record.properties.get(UNIQ_KEY, ""), *record.properties.get(KEYS, "").split(" ")]
    return [key for key in dict.fromkeys(found) if key]


def _late(reader: Reader, before: Ends, records: dict[int, bytes], born: range, expected: int) -> bool:
    """Whether all that the delay levels have got could be pulled, when `expected` records of the program are there or after a while."""

    def pulled() -> bool:
        whole = True
        for (topic, queue), start in zip(LATE, before, strict=True):
            end = reader.next_offset(topic, queue, refused=0)
            past = 0 if start is None or end is None else min(end, start + MOST_RECORDS)
            found = [] if start is None else list(_kept(reader.pull(topic, queue, start, past), records))
            if topic == SCHEDULE:  # up to 4.6 the half topic is in no table until something makes it, and is not pulled from
                # Some releases let anybody make this topic, with fewer queues than there are levels; nobody can pull from the others.
                whole &= start is not None and past == end and len(found) >= past - start
        return whole

    return _awaited(pulled, lambda _: sum(born_of(data) in born for data in records.values()) >= expected)


def _expected(records: dict[int, bytes]) -> dict[tuple[str, int], int]:
    """For a topic and queue the next offset that these records show."""
    found: dict[tuple[str, int], int] = {}
    for place, data in records.items():
        record = record_at(data, place)
        if record is not None and record.counted:
            key = (record.topic, record.queue_id)
            found[key] = max(found.get(key, 0), record.queue_offset + 1)
    return found


def _dispatched(reader: Reader, topic: str, queue: int, expected: int) -> int | None:
    """The next offset, as soon as it is what the answers say, or what it is after a while."""
    return _awaited(lambda: reader.next_offset(topic, queue), lambda found: found is None or found >= expected)


def _catch_up(reader: Reader, records: Mapping[int, bytes], table: Collection[str] | None) -> None:
    """Wait until the last of these records is dispatched, and with it what lies before it in the log, such as a dead letter that no answer
    tells of and nobody can read."""
    known = (record_at(data, place) for place, data in sorted(records.items(), reverse=True))
    last = next((one for one in known if one is not None and one.counted and (table is None or one.topic in table)), None)
    if last is not None:
        _dispatched(reader, last.topic, last.queue_id, last.queue_offset + 1)


def _awaited(look: Callable[[], T], enough: Callable[[T], bool]) -> T:
    """What is seen as soon as it is enough, or when a broker has had the time to dispatch."""
    return until(look, enough, _DISPATCHED, _LOOK)


def _kept(found: Iterable[bytes], records: dict[int, bytes]) -> Iterator[bytes]:
    for data in found:
        records[place_of(data)] = data
        yield data


def _data(place: int, data: bytes) -> dict[str, Any]:
    if len(data) > KEPT:
        return {"at": place, "size": len(data)}
    return {"at": place, "data": base64.b64encode(data).decode()}


def clean_up(
    reader: Reader, names: ProgramNames, topics: Sequence[str], groups: Iterable[str], queues: Iterable[tuple[str, int]]
) -> dict[str, Any]:
    """Take away what the program made, as far as the broker lets us; what it answers, and what is left of the topics and their queues, if
    all of that could be asked.

    Only for brokers that nobody else needs, and for programs whose messages are all where they belong: a 4.9.4 that stores one of a topic
    while it deletes it may end with a segmentation fault.
    """
    asked: list[Step] = [("delete", {"topic": topic}) for topic in topics]
    asked += [("max_offset", {"topic": topic, "queue": queue}) for topic, queue in queues]
    found = look_around(reader, asked)
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
    return {"topics": list(topics), "looks": found, "left": sorted(name for name in table if names.is_mine(name))}
