"""The entries of a consume queue, each with the record that it points at."""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Sequence
from struct import Struct
from typing import TYPE_CHECKING

from ..stored.layout import (
    BODY_AT,
    BODY_LENGTH_AT,
    BORN_IPV6,
    ENTRY_SIZE,
    IPV6_MORE,
    MAGIC_AT,
    MESSAGE_MAGIC,
    MESSAGE_MAGIC_V2,
    QUEUE_ID_AT,
    QUEUE_OFFSET_AT,
    SIZE_AT,
    STORE_IPV6,
    SYS_FLAG_AT,
)
from ..stored.paths import open_source, read
from ..stored.segments import LogFile

if TYPE_CHECKING:
    from ..stored.paths import LocalFile, RemoteFile
    from ..stored.queues import Queue

ROWS = 8192
_HEAD = 256  # bytes that hold the fixed places of most records, and a topic behind a short body
_INT, _UNSIGNED, _LONG, _ENTRY = Struct(">i"), Struct(">I"), Struct(">q"), Struct(">qiq")
_NONE = {"recordThere": 0, "recordOffset": -1, "recordSize": 0, "sameTopic": 0, "recordQueueId": -1, "recordQueueOffset": -1, "sysFlag": 0}


def facts(queue: Queue, first: int, files: Sequence[LogFile]) -> Iterator[tuple[dict[str, list[int]], list[tuple[str, int, str]]]]:
    """Columns of the vocabulary `entry` for the entries from number `first` on, some thousand at a time, and of each the file, the place in
    it, and its bytes. Raises StoredError."""
    with Log(files) as log:
        for start in range(first, queue.max, ROWS):
            found = queue.entries(start, min(ROWS, queue.max - start))
            rows: dict[str, list[int]] = {}
            places = []
            for n, (offset, size, tags) in enumerate(
                zip(found.physicalOffset.tolist(), found.size.tolist(), found.tagsCode.tolist(), strict=True)
            ):
                row = {
                    "index": start + n,
                    "entryOffset": offset,
                    "entrySize": size,
                    "queueId": queue.queue_id,
                    **log.record(offset, queue.topic),
                }
                for name, value in row.items():
                    rows.setdefault(name, []).append(value)
                path, at = _place(queue, start + n)
                places.append((path, at, _ENTRY.pack(offset, size, tags).hex()))
            if rows:
                yield rows, places


def _place(queue: Queue, index: int) -> tuple[str, int]:
    """The file of an entry, and the place in it."""
    file = next(each for each in reversed(queue.files) if each.base <= index * ENTRY_SIZE)
    return file.path, index * ENTRY_SIZE - file.base


class Log:
    """The records of a log by where they lie."""

    def __init__(self, files: Sequence[LogFile]) -> None:
        self._files = sorted(files, key=lambda file: file.base)
        self._bases = [file.base for file in self._files]
        self._open: dict[str, LocalFile | RemoteFile] = {}

    def __enter__(self) -> Log:
        return self

    def __exit__(self, *_: object) -> None:
        for source in self._open.values():
            source.close()

    def record(self, offset: int, topic: str) -> dict[str, int]:
        """What the record at a physical offset says; `topic` is what it is compared with."""
        at = bisect.bisect_right(self._bases, offset) - 1
        if at < 0 or offset + BODY_AT > self._files[at].base + self._files[at].length:
            return _NONE
        file = self._files[at]
        source = self._open.get(file.path)
        if source is None:
            source = self._open[file.path] = open_source(file.path)
        place = offset - file.base
        head = read(source, place, min(_HEAD, file.length - place))
        (magic,) = _UNSIGNED.unpack_from(head, MAGIC_AT)
        if magic not in (MESSAGE_MAGIC, MESSAGE_MAGIC_V2):
            return _NONE
        (flags,) = _INT.unpack_from(head, SYS_FLAG_AT)
        more = IPV6_MORE * (bool(flags & BORN_IPV6) + bool(flags & STORE_IPV6))
        (body,) = _INT.unpack_from(head, BODY_LENGTH_AT + more)
        wide = 2 if magic == MESSAGE_MAGIC_V2 else 1
        name = topic.encode()
        begin = BODY_AT + more + max(0, body)
        expected = len(name).to_bytes(wide, "big") + name
        if place + begin + len(expected) > file.length:
            said = b""
        else:
            said = head[begin : begin + len(expected)] if begin + len(expected) <= len(head) else read(source, place + begin, len(expected))
        return {
            "recordThere": 1,
            "recordOffset": offset,
            "recordSize": _INT.unpack_from(head, SIZE_AT)[0],
            "sameTopic": int(said == expected),
            "recordQueueId": _INT.unpack_from(head, QUEUE_ID_AT)[0],
            "recordQueueOffset": _LONG.unpack_from(head, QUEUE_OFFSET_AT)[0],
            "sysFlag": flags,
        }
