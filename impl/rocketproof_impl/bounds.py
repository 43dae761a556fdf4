"""Bounds on sizes and counts that another process chooses. Real brokers and name servers run out of memory instead."""

from __future__ import annotations

import zlib
from collections.abc import Collection
from typing import Final

from .java import JavaError

MAX_FRAME: Final = 16 * 1024 * 1024
"""Bytes of a frame, as in the described system."""
MAX_HEADER: Final = 2 * 1024 * 1024
"""Bytes of a frame's header. A message's properties take 32 KiB at most; JSON needs up to twenty times its size while it is read."""
MAX_INFLATED: Final = MAX_FRAME
"""Bytes of a compressed body once it is decompressed: as many as one that is not compressed can have."""
MAX_TOPICS: Final = 100_000
"""Topics of one registration, and entries of topics and brokers that a name server keeps. Each takes about 1 KiB there."""
MAX_BROKERS: Final = 10_000
"""Names of brokers, their addresses, and ids of one name, that a name server keeps."""
ENTRY: Final = 256
"""Bytes that an entry of a table is counted as besides its texts."""
MAX_TABLE: Final = 64 * 1024 * 1024
"""Bytes of a broker's table of topics, of groups of consumers, or of their offsets: its names, and `ENTRY` for each entry."""
MAX_CLIENT_GROUPS: Final = 1000
"""Groups of consumers that one heartbeat names, and of producers. Each group of consumers makes a topic, and is written to a file."""
MAX_GROUPS: Final = 100_000
"""Groups of connected producers that a broker keeps, and of consumers."""
MAX_QUEUES: Final = 100_000
"""Queues of one topic that are visited one by one. An answer that lists more does not fit into a frame."""


MAX_RECORD: Final = MAX_FRAME + 128 * 1024
"""Bytes of a record: a frame's body and properties, and what the broker adds. A size inside a body can be anything."""
MAX_BATCH: Final = 64 * 1024 * 1024
"""Bytes of the records of one batch, in profiles that limit its body alone: each item also gets the batch's properties."""


def out_of_memory() -> JavaError:
    """Return what the described system throws for sizes that exceed its memory."""
    return JavaError("java.lang.OutOfMemoryError", "Java heap space")


def inflate(data: bytes) -> bytes:
    """Decompress zlib data. Raises ValueError for other data, data that end too early, and more than MAX_INFLATED bytes."""
    stream = zlib.decompressobj()
    try:
        found = stream.decompress(data, MAX_INFLATED + 1)
    except zlib.error as error:
        raise ValueError(str(error)) from None
    if len(found) > MAX_INFLATED:
        raise ValueError(f"{len(data)} compressed bytes become more than {MAX_INFLATED}")
    if not stream.eof:
        raise ValueError("the compressed data end too early")
    return found


def limited(count: int, most: int) -> None:
    """Raise JavaError for a count of more than `most`."""
    if count > most:
        raise out_of_memory()


def room_for(key: object, table: Collection[object], most: int) -> None:
    """Raise JavaError if a table would have more than `most` keys with this one."""
    limited(len(table) + (key not in table), most)


def room_for_name(name: str, table: Collection[str]) -> None:
    """Raise JavaError if the names of a table would take more than MAX_TABLE bytes with this one. It sums all names, as a table may that
    is written to a file whenever it changes."""
    if name not in table:
        limited(sum(map(len, table)) + len(name) + ENTRY * (len(table) + 1), MAX_TABLE)


class TableBudget:
    """Counts the bytes that the entries of a table take: ENTRY and its texts each. `used` is set again where the table is read."""

    __slots__ = ("_most", "used")

    def __init__(self, most: int) -> None:
        self._most = most
        self.used = 0

    def take(self, size: int) -> None:
        """Count an entry that is added, or how much a changed one grows. Raises JavaError, and counts nothing, for more than `most`."""
        limited(self.used + size, self._most)
        self.used += size


def queue_ids(count: int) -> range:
    """The ids of a topic's queues. Raises JavaError for more than MAX_QUEUES."""
    limited(count, MAX_QUEUES)
    return range(count)
