"""Looking around when a program is over: questions about its queues and groups, which change nothing, each of them asked twice.

The questions are steps of the vocabulary with names as they are, so that anything which knows the vocabulary can ask them too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from struct import Struct
from typing import Any, Final, Protocol

from rocketproof_impl.remoting.command import Command
from rocketproof_protocol.codes import SUCCESS
from rocketproof_protocol.groups import SYSTEM_GROUPS
from rocketproof_protocol.numbers import whole_number
from rocketproof_traces.stored.layout import BORN_TIMESTAMP_AT, PHYSICAL_OFFSET_AT, QUEUE_OFFSET_AT

from ...programs.vocabulary import SECOND, Step

MOST_QUEUES: Final = 6
"""Queues of a program that are asked about."""
MOST_TAGS: Final = 2
MOST_SEARCHED: Final = 1
"""Queues of a program whose messages are asked for by a time: each is ten questions, asked twice."""
MOST_KEYS: Final = 2
"""Keys of a program that are asked about."""
READER: Final = SYSTEM_GROUPS[0]
"""A group that every broker has."""
NO_TAG: Final = "rocketproof-none"
"""A tag that no message has."""
NO_KEY: Final = "rocketproof-none"
"""A key that no message has."""
REACHES: Final = ("indexLastUpdateTimestamp", "indexLastUpdatePhyoffset")
"""How far an index goes, as the answer to who asks by a key says: when its last record was stored, and where it is."""
_SIZE: Final = Struct(">i")
_QUEUE: Final = re.compile(r'\{[^{}]*"queueId":([0-9]+)[^{}]*\}:(\{[^{}]*\})')
"""An entry of a map whose names are queues, which no reader of JSON reads."""


class Asks(Protocol):
    """Who can be asked."""

    def ask(self, name: str, **given: Any) -> Command | None: ...


def questions(
    topics: Collection[str],
    queues: Sequence[tuple[str, int, int]],
    tags: Mapping[tuple[str, int], Collection[str]],
    times: Mapping[tuple[str, int], Collection[int]],
    groups: Collection[str],
    keys: Mapping[tuple[str, str], Sequence[int]],
) -> Iterator[Step]:
    """What is asked of topics and of queues with their next offsets; `tags` are those of a queue's messages, `times` are when they
    were stored (ms); `keys` are those of a topic's messages, with when these were stored."""
    for topic in topics:
        yield "stats", {"topic": topic}
        yield "find", {"topic": topic, "key": NO_KEY}
    for (topic, key), since in sorted(keys.items())[:MOST_KEYS]:
        yield from sought(topic, key, since)
    for (topic, queue), stored in sorted(times.items())[:MOST_SEARCHED]:
        for time in around(stored):
            yield "search", {"topic": topic, "queue": queue, "time": time}
        for time in between(stored):
            yield "search", {"topic": topic, "queue": queue, "time": time, "upper": True}
    for topic, queue, end in sorted(queues, key=lambda row: not row[2])[:MOST_QUEUES]:
        of = {"topic": topic, "queue": queue}
        yield "min_offset", of
        yield "earliest", of
        yield "pull", {**of, "group": READER, "offset": end}
        for tag in (*sorted(tags.get((topic, queue), ()))[:MOST_TAGS], NO_TAG) if end else ():
            yield "pull", {**of, "group": READER, "tags": tag}
        for group in groups:
            yield "progress", {**of, "group": group}


def sought(topic: str, key: str, times: Sequence[int]) -> Iterator[Step]:
    """What is asked about a key: all of its records, the last one, those of the first second and those of the last one."""
    of = {"topic": topic, "key": key}
    yield "find", of
    yield "find", {**of, "most": 1}
    yield "find", {**of, "most": 0, "unique": True}
    yield "find", {**of, "end": min(times)}
    yield "find", {**of, "end": min(times) - 2 * SECOND}
    yield "find", {**of, "begin": max(times) - SECOND}
    yield "find", {**of, "begin": max(times) + 1}
    yield "find", {**of, "begin": min(times) - SECOND, "end": max(times)}


def around(times: Collection[int]) -> list[int]:
    """The times of a queue's first and last message, and such beside them and between them, nearer to the one and to the other (ms)."""
    first, last = min(times), max(times)
    return sorted({first - 1, last + 1, *between(times)})


def between(times: Collection[int]) -> list[int]:
    """Those of the two, and such between them."""
    first, last = min(times), max(times)
    return sorted({first, (2 * first + last) // 3, (first + 2 * last) // 3, last})


def steady(look: Mapping[str, Any]) -> dict[str, Any]:
    """A look without what others may change meanwhile: how far the index goes."""
    return {**look, "fields": {name: text for name, text in look["fields"].items() if name not in REACHES}}


def consumption(topic: str, queue: int, end: int, group: str) -> list[Step]:
    """What a consumer does with a queue: it goes too far, says how far it is, subscribes and leaves; with what it is told of it."""
    of = {"topic": topic, "queue": queue, "group": group}
    return [
        ("pull", {**of, "group": READER, "offset": end + 5}),
        ("pull", {**of, "commit": 1}),
        ("progress", of),
        ("consumer", {"group": group, "topic": topic, "version": 5}),
        ("pull", {**of, "tags": None, "version": 5}),
        ("pull", {**of, "tags": None, "version": 6}),
        ("leave", {"group": group}),
        ("pull", {**of, "tags": None, "version": 5}),
    ]


def look_around(asks: Asks, asked: Sequence[Step]) -> list[dict[str, Any]]:
    """The questions with what is answered; without those that get no answer."""
    return [{"name": name, "args": args, **said(answer)} for name, args in asked if (answer := asks.ask(name, **args)) is not None]


def said(answer: Command) -> dict[str, Any]:
    """An answer as it is written down: of records their places, of a topic's queues the ends of each."""
    found: dict[str, Any] = {"code": answer.code, "remark": answer.remark, "fields": dict(answer.ext_fields or {})}
    body = answer.body or b""
    if body[:1] == b"{":
        queues = _QUEUE.findall(body.decode("utf-8", "replace"))
        return found | {"queues": {number: _ends(text) for number, text in queues}}
    return found | {"places": [place_of(data) for data in split(body)]}


def _ends(text: str) -> dict[str, Any]:
    """The ends of a queue; of what is no JSON nothing is known, which is not what a broker should say."""
    with suppress(ValueError):
        return dict(json.loads(text))
    return {}


def offset_of(answer: Command | None) -> int | None:
    """The offset that an answer tells; None where there is no answer, or it tells none."""
    if answer is None or answer.code != SUCCESS:
        return None
    with suppress(KeyError, ValueError):
        return whole_number((answer.ext_fields or {})["offset"])
    return None


def split(data: bytes) -> Iterator[bytes]:
    """The records of a pull's answer."""
    at = 0
    while at + _SIZE.size <= len(data):
        (size,) = _SIZE.unpack_from(data, at)
        if size <= 0:
            return
        yield data[at : at + size]
        at += size


def place_of(data: bytes) -> int:
    """At which place of the log a record says that it is."""
    return _long(data, PHYSICAL_OFFSET_AT)


def place_in_queue(data: bytes) -> int:
    """At which place of its queue a record says that it is."""
    return _long(data, QUEUE_OFFSET_AT)


def born_of(data: bytes) -> int:
    """When a record says that its message was born, in ms."""
    return _long(data, BORN_TIMESTAMP_AT)


def _long(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 8], "big")
