"""Consume queues: where the messages of a topic's queue are in the log, 20 bytes a message, built by dispatch (REC-04)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from struct import Struct
from typing import NamedTuple

from rocketproof_profiles import SCHEDULE

from ..java import parse_int, string_hash
from ..message import DELAY, TAGS, Message
from ..ports import Disk
from .files import MappedFile, MappedFileQueue

ENTRY_SIZE = 20
_ENTRY = Struct(">qiq")
_READ_AT_ONCE = 1000


class Entry(NamedTuple):
    """Where a record is and how long, in bytes, and the hash of its tags or its deliver time."""

    physical_offset: int
    size: int
    tags_code: int


def tags_code(message: Message, deliver_time: Callable[[int, int], int]) -> int:
    """The hash of the tags, 0 without any; in the schedule topic the time at which the message is due, in milliseconds (REC-04).

    A message without a level that was sent to the schedule topic by its name has the hash (HAZ-42).
    `deliver_time` gives the time from level and store timestamp. Raises JavaError for a level that is no number.
    """
    if message.topic == SCHEDULE and (text := message.properties.get(DELAY)) is not None and (level := parse_int(text)) > 0:
        return deliver_time(level, message.store_timestamp)
    tags = message.properties.get(TAGS)
    return string_hash(tags) if tags else 0


class ConsumeQueue:
    """One queue of one topic. `max_physical_offset` is the end of the last record it knows."""

    __slots__ = ("files", "max_physical_offset")

    def __init__(self, files: MappedFileQueue) -> None:
        self.files = files
        self.max_physical_offset = 0

    @property
    def max_offset(self) -> int:
        """One more than the index of the last entry."""
        return self.files.max_offset // ENTRY_SIZE

    def put(self, index: int, entry: Entry) -> None:
        """Write an entry at its index; one that is built already is skipped (REC-04). Raises OSError if there is no file for it."""
        if entry.physical_offset + entry.size <= self.max_physical_offset or index < self.max_offset:
            return
        offset = index * ENTRY_SIZE
        mapped = self._file_for(offset)
        mapped.write(offset - mapped.file_from_offset, _ENTRY.pack(*entry))
        mapped.wrote_position = offset + ENTRY_SIZE - mapped.file_from_offset
        self.max_physical_offset = entry.physical_offset + entry.size

    def _file_for(self, offset: int) -> MappedFile:
        while True:
            mapped = self.files.last_or_next(offset)
            if mapped is None:
                raise OSError("the next file of a consume queue cannot be made")
            if offset < mapped.file_from_offset + mapped.size:
                return mapped
            mapped.wrote_position = mapped.size

    def entry(self, index: int) -> Entry | None:
        """The entry at an index, None if there is none."""
        data = self.files.select(index * ENTRY_SIZE, ENTRY_SIZE) if index >= 0 else None
        return None if data is None else Entry._make(_ENTRY.unpack(data))

    def load(self, max_phy_offset: int) -> None:
        """Open the files and keep the entries of records that are in the log; those behind them are wiped (REC-02).

        Raises OSError.
        """
        self.files.load()
        kept = 0
        for entry, mapped, position in self._stored():
            if entry.physical_offset + entry.size <= max_phy_offset:
                kept = mapped.file_from_offset + position + ENTRY_SIZE
                self.max_physical_offset = entry.physical_offset + entry.size
            else:
                mapped.write(position, bytes(ENTRY_SIZE))
        self.files.truncate(kept)

    def _stored(self) -> Iterator[tuple[Entry, MappedFile, int]]:
        """What the files hold, up to the first empty place: entry, file, position in the file."""
        for mapped in self.files.files:
            for start in range(0, mapped.size, _READ_AT_ONCE * ENTRY_SIZE):
                data = mapped.region.read(start, min(_READ_AT_ONCE * ENTRY_SIZE, mapped.size - start))
                for number, fields in enumerate(_ENTRY.iter_unpack(data)):
                    entry = Entry._make(fields)
                    if entry.physical_offset < 0 or entry.size <= 0:
                        return
                    yield entry, mapped, start + number * ENTRY_SIZE


class ConsumeQueues:
    """All consume queues of a store, in folders by topic and queue id."""

    __slots__ = ("_disk", "_file_size", "_folder", "queues")

    def __init__(self, disk: Disk, folder: str, file_size: int) -> None:
        self._disk = disk
        self._folder = folder
        self._file_size = file_size // ENTRY_SIZE * ENTRY_SIZE
        self.queues: dict[tuple[str, int], ConsumeQueue] = {}

    def find(self, topic: str, queue_id: int) -> ConsumeQueue | None:
        return self.queues.get((topic, queue_id))

    def find_or_create(self, topic: str, queue_id: int) -> ConsumeQueue:
        queue = self.queues.get((topic, queue_id))
        if queue is None:
            queue = ConsumeQueue(MappedFileQueue(self._disk, f"{self._folder}/{topic}/{queue_id}", self._file_size))
            self.queues[topic, queue_id] = queue
        return queue

    def load(self, max_phy_offset: int) -> None:
        """Open every queue that is on the disk. Raises OSError."""
        for topic in self._disk.names(self._folder):
            for queue_id in self._disk.names(f"{self._folder}/{topic}"):
                if queue_id.isdigit():
                    self.find_or_create(topic, int(queue_id)).load(max_phy_offset)

    def destroy(self, topic: str, queue_id: int) -> None:
        """Forget a queue, and delete its files."""
        self.queues.pop((topic, queue_id)).files.truncate(0)

    @property
    def max_physical_offset(self) -> int:
        """The end of the last record that any queue knows."""
        return max((queue.max_physical_offset for queue in self.queues.values()), default=0)

    def flush_all(self) -> None:
        for queue in self.queues.values():
            queue.files.flush_all()
