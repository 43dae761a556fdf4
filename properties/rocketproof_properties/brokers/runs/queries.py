"""Queries after a program: read-only requests about its queues and groups, each sent twice.

The queries are steps of the vocabulary with unchanged names, so that other code can send the same ones.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, Protocol

from rocketproof_impl.remoting.command import Command
from rocketproof_protocol.codes import SUCCESS
from rocketproof_protocol.groups import SYSTEM_GROUPS
from rocketproof_protocol.numbers import whole_number
from rocketproof_traces.stored.record import place_of, records_in

from ...programs.vocabulary import SECOND, Step

MOST_QUEUES: Final = 6
"""The maximum number of a program's queues that are queried."""
MOST_TAGS: Final = 2
MOST_SEARCHED: Final = 1
"""The maximum number of queues that are searched by time, those with the most times first. Each takes ten queries, sent twice."""
MOST_KEYS: Final = 2
"""The maximum number of keys that are queried."""
READER: Final = SYSTEM_GROUPS[0]
"""A group that every broker has."""
NO_TAG: Final = "rocketproof-none"
"""A tag that no message has."""
NO_KEY: Final = "rocketproof-none"
"""A key that no message has."""
REACHES: Final = ("indexLastUpdateTimestamp", "indexLastUpdatePhyoffset")
"""Fields of a response to a query by key that state the extent of the index: store time and place of its last record."""
_QUEUE: Final = re.compile(r'\{[^{}]*"queueId":([0-9]+)[^{}]*\}:(\{[^{}]*\})')
"""An entry of a map with queues as keys, which JSON parsers reject."""


class Asks(Protocol):
    """A reader or a deployment that answers steps."""

    def ask(self, name: str, **given: Any) -> Command | None: ...


def questions(
    topics: Collection[str],
    queues: Sequence[tuple[str, int, int]],
    tags: Mapping[tuple[str, int], Collection[str]],
    times: Mapping[tuple[str, int], Collection[int]],
    groups: Collection[str],
    keys: Mapping[tuple[str, str], Sequence[int]],
) -> Iterator[Step]:
    """Yield the queries for topics and for queues with their next offsets.

    - `tags`: the tags of a queue's messages.
    - `times`: the store times of a queue's messages in ms.
    - `keys`: the keys of a topic's messages, with their store times.
    """
    for topic in topics:
        yield "stats", {"topic": topic}
        yield "find", {"topic": topic, "key": NO_KEY}
    for (topic, key), since in sorted(keys.items())[:MOST_KEYS]:
        yield from sought(topic, key, since)
    for (topic, queue), stored in sorted(times.items(), key=lambda row: (-len({*row[1]}), row[0]))[:MOST_SEARCHED]:
        for time in around(stored):
            yield "search", {"topic": topic, "queue": queue, "time": time}
        for time in between(stored):
            yield "search", {"topic": topic, "queue": queue, "time": time, "upper": True}
    for topic, queue, end in sorted(queues, key=lambda row: not row[2])[:MOST_QUEUES]:
        queue_args = {"topic": topic, "queue": queue}
        yield "min_offset", queue_args
        yield "earliest", queue_args
        yield "pull", {**queue_args, "group": READER, "offset": end}
        for tag in (*sorted(tags.get((topic, queue), ()))[:MOST_TAGS], NO_TAG) if end else ():
            yield "pull", {**queue_args, "group": READER, "tags": tag}
        for group in groups:
            yield "progress", {**queue_args, "group": group}


def sought(topic: str, key: str, times: Sequence[int]) -> Iterator[Step]:
    """Yield the queries for a key: all records, the last one, and the records at both ends of the store times."""
    args = {"topic": topic, "key": key}
    yield "find", args
    yield "find", {**args, "most": 1}
    yield "find", {**args, "most": 0, "unique": True}
    yield "find", {**args, "end": min(times)}
    yield "find", {**args, "end": min(times) - 2 * SECOND}
    yield "find", {**args, "begin": max(times) - SECOND}
    yield "find", {**args, "begin": max(times) + 1}
    yield "find", {**args, "begin": min(times) - SECOND, "end": max(times)}


def around(times: Collection[int]) -> list[int]:
    """Return the store times in ms of a queue's first and last message, with times just outside and two in between."""
    first, last = min(times), max(times)
    return sorted({first - 1, last + 1, *between(times)})


def between(times: Collection[int]) -> list[int]:
    """Return the first time, the last, and two in between."""
    first, last = min(times), max(times)
    return sorted({first, (2 * first + last) // 3, (first + 2 * last) // 3, last})


def steady(look: Mapping[str, Any]) -> dict[str, Any]:
    """Return a query result without the extent of the index, which other programs may change meanwhile."""
    return {**look, "fields": {name: text for name, text in look["fields"].items() if name not in REACHES}}


def consumption(topic: str, queue: int, end: int, group: str) -> list[Step]:
    """Return the steps of a consumer on a queue: it pulls beyond the end, commits, subscribes and leaves."""
    args = {"topic": topic, "queue": queue, "group": group}
    return [
        ("pull", {**args, "group": READER, "offset": end + 5}),
        ("pull", {**args, "commit": 1}),
        ("progress", args),
        ("consumer", {"group": group, "topic": topic, "version": 5}),
        ("pull", {**args, "tags": None, "version": 5}),
        ("pull", {**args, "tags": None, "version": 6}),
        ("leave", {"group": group}),
        ("pull", {**args, "tags": None, "version": 5}),
    ]


def run_queries(asks: Asks, queries: Sequence[Step]) -> list[dict[str, Any]]:
    """Return the queries with their results, without those that got no response."""
    return [
        {"name": name, "args": args, **response_data(answer)} for name, args in queries if (answer := asks.ask(name, **args)) is not None
    ]


def response_data(answer: Command) -> dict[str, Any]:
    """Return a response as it is recorded: instead of records their places, and the offsets of each queue of a topic."""
    recorded: dict[str, Any] = {"code": answer.code, "remark": answer.remark, "fields": dict(answer.ext_fields or {})}
    body = answer.body or b""
    if body[:1] == b"{":
        queues = _QUEUE.findall(body.decode("utf-8", "replace"))
        return recorded | {"queues": {number: _ends(text) for number, text in queues}}
    return recorded | {"places": [place_of(data) for data in records_in(body)]}


def _ends(text: str) -> dict[str, Any]:
    """Return the offsets of a queue; empty for invalid JSON, which a broker should not send."""
    with suppress(ValueError):
        return dict(json.loads(text))
    return {}


def offset_of(answer: Command | None) -> int | None:
    """Return the offset in a response; None if there is no response or no offset in it."""
    if answer is None or answer.code != SUCCESS:
        return None
    with suppress(KeyError, ValueError):
        return whole_number((answer.ext_fields or {})["offset"])
    return None
