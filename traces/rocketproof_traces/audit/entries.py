"""The entries of a consume queue, each with the record at its physical offset."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from struct import Struct
from typing import TYPE_CHECKING

from rocketproof_protocol.numbers import java_long
from rocketproof_protocol.topics import LMQ_PREFIX

from ..stored.layout import ENTRY, ENTRY_SIZE
from ..stored.segments import LogFile
from .records import LogRecord, Records

if TYPE_CHECKING:
    from ..stored.queues import Entries, Queue

ROWS = 8192
_ENTRY = Struct(">qiq")
_NONE = {"recordThere": 0, "recordOffset": -1, "recordSize": 0, "sameTopic": 0, "recordQueueId": -1, "recordQueueOffset": -1, "sysFlag": 0}


def entry_rows(queue: Queue, first: int, files: Sequence[LogFile]) -> Iterator[tuple[dict[str, list[int]], list[tuple[str, int, str]]]]:
    """Yield columns of the vocabulary `entry` for the entries from number `first` on, some thousand at a time.

    With them, for each entry: its file, its position in the file, and its bytes in hexadecimal. Raises StoredError.
    """
    with Records(files) as log:
        for start, entries in _parts(queue, first):
            rows: dict[str, list[int]] = {}
            locations = []
            for n, (offset, size, tags) in enumerate(
                zip(entries.physicalOffset.tolist(), entries.size.tolist(), entries.tagsCode.tolist(), strict=True)
            ):
                row = {"index": start + n, "entryOffset": offset, "entrySize": size, "queueId": queue.queue_id}
                for name, value in (row | _record_facts(log.at(offset), offset, queue.topic)).items():
                    rows.setdefault(name, []).append(value)
                path, position = _place(queue, start + n)
                locations.append((path, position, _ENTRY.pack(offset, size, tags).hex()))
            if rows:
                yield rows, locations


def offsets_from(queue: Queue, first: int, end: int) -> Iterator[list[int]]:
    """Yield physical offsets at or after `end` in the entries from number `first` on, some thousand at a time.

    Raises StoredError.
    """
    for _, entries in _parts(queue, first):
        offsets = entries.physicalOffset[(entries.found == ENTRY) & (entries.physicalOffset >= end)]
        if len(offsets):
            yield offsets.tolist()


def _parts(queue: Queue, first: int) -> Iterator[tuple[int, Entries]]:
    """Yield the entries from number `first` on, some thousand at a time, each time with the number of the first entry."""
    for start in range(first, queue.max, ROWS):
        yield start, queue.entries(start, min(ROWS, queue.max - start))


def _place(queue: Queue, index: int) -> tuple[str, int]:
    """Return the file of an entry, and its position in the file."""
    file = next(file for file in reversed(queue.files) if file.base <= index * ENTRY_SIZE)
    return file.path, index * ENTRY_SIZE - file.base


def _record_facts(record: LogRecord | None, offset: int, topic: str) -> dict[str, int]:
    """Return what the record at a physical offset states about its position in the queues of a topic."""
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


def _light_queues(record: LogRecord) -> dict[bytes, int]:
    """Return the light message queues that contain a record, with its queue offset in each."""
    names = record.properties.get(b"INNER_MULTI_DISPATCH", b"").split(b",")
    offsets = record.properties.get(b"INNER_MULTI_QUEUE_OFFSET", b"").split(b",")
    return {
        name: queue_offset
        for name, offset in zip(names, offsets, strict=False)
        if (queue_offset := java_long(offset.decode("utf-8", "replace"))) is not None
    }
