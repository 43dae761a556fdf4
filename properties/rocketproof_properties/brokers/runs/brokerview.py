"""The data of a broker as clients can read it: topics, groups, and queues with their records and keys."""

from __future__ import annotations

import zlib
from collections import Counter
from typing import Any, Final

from rocketproof_protocol import codes
from rocketproof_traces.stored.record import born_of, place_of, record_at

from ...programs.names import ProgramNames
from .queries import offset_of, response_data
from .readback import Reader, keys_of, width

MOST_TOPICS: Final = 150
MOST_QUEUES: Final = 8
"""Per topic."""
MOST_RECORDS: Final = 64
"""Per queue, or per key."""
MOST_KEYS: Final = 40

Born = dict[tuple[str, int], Counter[int]]
"""By topic and queue the times of birth of its messages, only for queues whose messages were all read."""


def tables(reader: Reader, names: ProgramNames) -> dict[str, Any]:
    """Return the broker's `topics` and `groups` with these names. Lost responses are in the reader's `missed`."""
    return {
        "topics": {name: entry for name, entry in (reader.topics() or {}).items() if names.is_mine(name)},
        "groups": {name: entry for name, entry in (reader.groups() or {}).items() if names.is_mine(name)},
    }


def last_topics(topics: dict[str, Any]) -> list[str]:
    """Return the names of the topics that are read in detail."""
    return sorted(topics)[-MOST_TOPICS:]


def contents(reader: Reader, topics: dict[str, Any]) -> tuple[dict[str, Any], Born]:
    """Return what these topics contain, and the times of birth of their messages.

    - `queues`: by topic and queue the first offset, the next offset and the places of the records.
    - `records`: a checksum by place.
    - `keys`: by topic and key the places of the records found.
    """
    queues: dict[str, Any] = {}
    records: dict[str, int] = {}
    keys: dict[tuple[str, str], None] = {}
    born: Born = {}
    for topic in last_topics(topics):
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
    by_key = {f"key {key} of {topic}": _found(reader, topic, key) for topic, key in [*keys][:MOST_KEYS]}
    found = {name: places for name, places in by_key.items() if places is not None and len(places) < MOST_RECORDS}
    return {"queues": queues, "records": records, "keys": found}, born


def _found(reader: Reader, topic: str, key: str) -> list[str] | None:
    """Return the places of the records that a broker finds by a key, None if it does not report them."""
    answer = reader.ask("find", topic=topic, key=key, most=MOST_RECORDS)
    if answer is None or answer.code not in (codes.SUCCESS, codes.QUERY_NOT_FOUND):
        return None
    return list(map(str, response_data(answer).get("places", ())))
