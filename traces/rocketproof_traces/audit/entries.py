"""The entries of a consume queue, each with the record that it points at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from struct import Struct
from typing import TYPE_CHECKING

from rocketproof_protocol.numbers import java_long
from rocketproof_protocol.topics import LMQ_PREFIX

from ..stored.layout import ENTRY, ENTRY_SIZE
from ..stored.segments import LogFile
from .records import FoundRecords, Records

if TYPE_CHECKING:
    from ..stored.queues import Entries, Queue

ROWS = 8192
_ENTRY = Struct(">qiq")
_NONE = {"recordThere": 0, "recordOffset": -1, "recordSize": 0, "sameTopic": 0, "recordQueueId": -1, "recordQueueOffset": -1, "sysFlag": 0}


def facts(queue: Queue, first: int, files: Sequence[LogFile]) -> Iterator[tuple[dict[str, list[int]], list[tuple[str, int, str]]]]:
    """Columns of the vocabulary `entry` for the entries from number `first` on, some thousand at a time, and of each the file, the place in
    it, and its bytes. Raises StoredError."""
    with Records(files) as log:
        for start, found in _parts(queue, first):
            rows: dict[str, list[int]] = {}
            places = []
            for n, (offset, size, tags) in enumerate(
                zip(found.physicalOffset.tolist(), found.size.tolist(), found.tagsCode.tolist(), strict=True)
            ):
                row = {"index": start + n, "entryOffset": offset, "entrySize": size, "queueId": queue.queue_id}
                for name, value in (row | _said(log.at(offset), offset, queue.topic)).items():
                    rows.setdefault(name, []).append(value)
                path, at = _place(queue, start + n)
                places.append((path, at, _ENTRY.pack(offset, size, tags).hex()))
            if rows:
                yield rows, places


def places_behind(queue: Queue, first: int, end: int) -> Iterator[list[int]]:
    """The physical offsets of the entries from number `first` on that point at `end` or behind it, some thousand each time. Raises
    StoredError."""
    for _, found in _parts(queue, first):
        places = found.physicalOffset[(found.found == ENTRY) & (found.physicalOffset >= end)]
        if len(places):
            yield places.tolist()


def _parts(queue: Queue, first: int) -> Iterator[tuple[int, Entries]]:
    """The entries from number `first` on, some thousand at a time, each time with the number of the first."""
    for start in range(first, queue.max, ROWS):
        yield start, queue.entries(start, min(ROWS, queue.max - start))


def _place(queue: Queue, index: int) -> tuple[str, int]:
    """The file of an entry, and the place in it."""
    file = next(each for each in reversed(queue.files) if each.base <= index * ENTRY_SIZE)
    return file.path, index * ENTRY_SIZE - file.base


def _said(record: FoundRecords | None, offset: int, topic: str) -> dict[str, int]:
    """What the record at a physical offset says of its place in the queues of a topic."""
    if record is None:
        return _NONE
    name = topic.encode("utf-8", "surrogateescape")
    light = _light_queues(record) if topic.startswith(LMQ_PREFIX) else {}
    return {
        "recordThere": 1,
        "recordOffset": offset,
        "recordSize": record.head.size,
        "sameTopic": int(record.topic == name or name in light),
        "recordQueueId": 0 if name in light else record.head.queue_id,
        "recordQueueOffset": light.get(name, record.head.queue_offset),
        "sysFlag": record.head.sys_flag,
    }


def _light_queues(record: FoundRecords) -> dict[bytes, int]:
    """The light queues in which a record is too, and its queue offset in each."""
    names = record.properties.get(b"INNER_MULTI_DISPATCH", b"").split(b",")
    offsets = record.properties.get(b"INNER_MULTI_QUEUE_OFFSET", b"").split(b",")
    return {
        name: place
        for name, offset in zip(names, offsets, strict=False)
        if (place := java_long(offset.decode("utf-8", "replace"))) is not None
    }
