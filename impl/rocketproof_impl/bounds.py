"""Bounds on sizes and counts that another process chooses. Real brokers and name servers run out of memory instead."""

from __future__ import annotations

import zlib
from collections.abc import Collection
from typing import Final

from .java import JavaError

MAX_FRAME: Final = 16 * 1024 * 1024
"""Bytes of a frame, as in the described system."""
MAX_HEADER: Final = 2 * 1024 * 1024
"""Bytes of a frame's header. A message's properties take at most 32 KiB; JSON needs up to twenty times its size while it is parsed."""
MAX_INFLATED: Final = MAX_FRAME
"""Bytes of a compressed body after decompression: the same bound as for an uncompressed body."""
MAX_TOPICS: Final = 100_000
"""Topics of one registration, and pairs of topic and broker that a name server keeps. Each pair takes about 1 KiB there."""
MAX_BROKERS: Final = 10_000
"""Broker names, addresses, and ids of one broker name that a name server keeps."""
ENTRY: Final = 256
"""Bytes counted for an entry of a table in addition to its texts."""
MAX_TABLE: Final = 64 * 1024 * 1024
"""Bytes of a broker's table of topics, consumer groups or offsets: its names, and `ENTRY` for each entry."""
MAX_CLIENT_GROUPS: Final = 1000
"""Consumer groups, and producer groups, in one heartbeat. Each consumer group creates a topic and is written to a file."""
MAX_GROUPS: Final = 100_000
"""Producer groups, and consumer groups, of connected clients that a broker keeps."""
MAX_QUEUES: Final = 100_000
"""Queues of one topic that a request visits one by one. A longer list does not fit into a frame."""


MAX_RECORD: Final = MAX_FRAME + 128 * 1024
"""Bytes of a record: a frame's body and properties, and the broker's additions. A size inside a body is not trusted."""
MAX_BATCH: Final = 64 * 1024 * 1024
"""Bytes of the records of one batch, in profiles that limit only its body: each item also gets the batch's properties."""


def out_of_memory() -> JavaError:
    """Return the exception that the described system throws for sizes beyond its memory."""
    return JavaError("java.lang.OutOfMemoryError", "Java heap space")


def inflate(data: bytes) -> bytes:
    """Decompress zlib data. Raises ValueError for other data, truncated data, and more than MAX_INFLATED bytes."""
    stream = zlib.decompressobj()
    try:
        inflated = stream.decompress(data, MAX_INFLATED + 1)
    except zlib.error as error:
        raise ValueError(str(error)) from None
    if len(inflated) > MAX_INFLATED:
        raise ValueError(f"{len(data)} compressed bytes become more than {MAX_INFLATED}")
    if not stream.eof:
        raise ValueError("the compressed data end too early")
    return inflated


def limited(count: int, most: int) -> None:
    """Raise JavaError if `count` is greater than `most`."""
    if count > most:
        raise out_of_memory()


def room_for(key: object, table: Collection[object], most: int) -> None:
    """Raise JavaError if `table` would have more than `most` keys after adding `key`."""
    limited(len(table) + (key not in table), most)


def room_for_name(name: str, table: Collection[str]) -> None:
    """Raise JavaError if the names of a table would take more than MAX_TABLE bytes after adding `name`.

    It sums all names. That is affordable because such a table is written to a file after every change.
    """
    if name not in table:
        limited(sum(map(len, table)) + len(name) + ENTRY * (len(table) + 1), MAX_TABLE)


class TableBudget:
    """Counts the bytes of a table's entries: ENTRY plus the texts of each. Reading the table resets `used`."""

    __slots__ = ("_most", "used")

    def __init__(self, most: int) -> None:
        self._most = most
        self.used = 0

    def take(self, size: int) -> None:
        """Count an added entry, or the growth of a changed one. Raises JavaError, without counting, if the total exceeds `most`."""
        limited(self.used + size, self._most)
        self.used += size


def queue_ids(count: int) -> range:
    """Return the ids of a topic's queues. Raises JavaError for more than MAX_QUEUES."""
    limited(count, MAX_QUEUES)
    return range(count)
