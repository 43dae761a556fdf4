"""Consume queues: the positions in the log of the messages of a topic's queue, 20 bytes each, built by dispatch (REC-04)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from struct import Struct
from typing import NamedTuple

from rocketproof_protocol.folders import folder_of, topic_of
from rocketproof_protocol.numbers import java_int
from rocketproof_protocol.properties import DELAY, TAGS
from rocketproof_protocol.topics import SCHEDULE

from ..java import INT_MAX, parse_int, string_hash, wrap_long
from ..message import Message
from ..ports import Disk
from .files import MappedFile, MappedFileQueue
from .log import log

ENTRY_SIZE = 20
_ENTRY = Struct(">qiq")
LAST_FILES = 3
_READ_AT_ONCE = 1000


class ConsumeQueueEntry(NamedTuple):
    """A record's position and size in bytes, and the hash of its tags or its deliver time."""

    physical_offset: int
    size: int
    tags_code: int


def tags_code(message: Message, deliver_time: Callable[[int, int], int]) -> int:
    """Return the hash of the tags, 0 without tags; in the schedule topic the deliver time in milliseconds (REC-04).

    A message without a level that was sent directly to the schedule topic gets the hash (HAZ-42). `deliver_time` computes the time from
    level and store timestamp. Raises JavaError for a malformed level.
    """
    if message.topic == SCHEDULE and (text := message.properties.get(DELAY)) is not None and (level := parse_int(text)) > 0:
        return deliver_time(level, message.store_timestamp)
    tags = message.properties.get(TAGS)
    return string_hash(tags) if tags else 0


class ConsumeQueue:
    """A queue of a topic. `max_physical_offset` is the end of its last record in the log; `min_offset` is its first index."""

    __slots__ = ("files", "max_physical_offset", "min_offset")

    def __init__(self, files: MappedFileQueue) -> None:
        self.files = files
        self.max_physical_offset = -1
        self.min_offset = 0

    @property
    def max_offset(self) -> int:
        """The index after the last entry."""
        return self.files.max_offset // ENTRY_SIZE

    def put(self, index: int, entry: ConsumeQueueEntry) -> None:
        """Append the entry of a record. Records with an entry are skipped (REC-04). Raises OSError if its file cannot be created, and
        JavaError if the file has no room.

        In a queue without files the entry is stored at its index, and filler entries precede it in the file. In any other queue it follows
        the last entry, whatever its index is; a gap is only logged.
        """
        if entry.physical_offset + entry.size <= self.max_physical_offset:
            return
        first = not self.files.files
        mapped = self.files.last_or_next(wrap_long(index * ENTRY_SIZE))
        if mapped is None:
            raise OSError("the next file of a consume queue cannot be made")
        if first and index != 0:
            self._fill(mapped, index)
        if index != 0:
            next_index = self.max_offset
            if index < next_index:
                return
            if index != next_index:
                log.warning("[BUG]logic queue order maybe wrong, expectLogicOffset: %d currentLogicOffset: %d", index, next_index)
        mapped.append(_ENTRY.pack(*entry))
        self.max_physical_offset = entry.physical_offset + entry.size

    def _fill(self, mapped: MappedFile, index: int) -> None:
        """Begin at an index inside the first file. The entries before it belong to no record."""
        self.min_offset = index
        self.files.flushed_where = self.files.committed_where = index * ENTRY_SIZE
        mapped.append(_ENTRY.pack(0, INT_MAX, 0) * (index * ENTRY_SIZE % mapped.size // ENTRY_SIZE))

    def entry(self, index: int) -> ConsumeQueueEntry | None:
        """Return the entry at an index, None if there is none."""
        data = self.files.select(index * ENTRY_SIZE, ENTRY_SIZE) if index >= self.min_offset else None
        return None if data is None else ConsumeQueueEntry._make(_ENTRY.unpack(data))

    def recover(self) -> None:
        """Set the queue's end after its last entry, found in its last three files (REC-02)."""
        files = self.files.files
        if not files:
            return
        end = 0
        for mapped in files[max(0, len(files) - LAST_FILES) :]:
            position = 0
            for at, entry in _entries(mapped):
                if entry.physical_offset < 0 or entry.size <= 0:
                    break
                position = at + ENTRY_SIZE
                self.max_physical_offset = entry.physical_offset + entry.size
            end = mapped.file_from_offset + position
            if position < mapped.size:
                break
        self.files.truncate(end)

    def truncate(self, physical_offset: int) -> None:
        """Drop the entries of records from this offset of the log on (REC-02). They remain in the files after the queue's end.

        The size of a file's first entry is not checked: an empty file counts as one with an entry.
        """
        self.max_physical_offset = physical_offset
        while (mapped := self.files.last()) is not None:
            mapped.end(0)
            for position, entry in _entries(mapped):
                if position == 0 and entry.physical_offset >= physical_offset:
                    self.files.delete_last()
                    break
                if position > 0 and (not 0 <= entry.physical_offset < physical_offset or entry.size <= 0):
                    return
                mapped.end(position + ENTRY_SIZE)
                self.max_physical_offset = entry.physical_offset + entry.size
            else:
                return

    def correct_min_offset(self, min_phy_offset: int, *, keeps: bool) -> None:
        """Begin at the first entry of the first file whose record is still in the log. `keeps`: remain at an entry that has one."""
        if not self.files.files:
            return
        current = self.entry(self.min_offset) if keeps else None
        if current is not None and current.physical_offset >= min_phy_offset:
            return
        first = self.files.files[0]
        for position, entry in _entries(first):
            if position >= first.wrote_position:
                return
            if entry.physical_offset >= min_phy_offset:
                self.min_offset = (first.file_from_offset + position) // ENTRY_SIZE
                return

    def destroy(self) -> None:
        """Delete the files. Offsets start again at 0."""
        self.files.destroy()
        self.max_physical_offset = -1
        self.min_offset = 0


def _entries(mapped: MappedFile) -> Iterator[tuple[int, ConsumeQueueEntry]]:
    """Yield the contents of a file as entries, valid or not, with their positions."""
    for start in range(0, mapped.size, _READ_AT_ONCE * ENTRY_SIZE):
        data = mapped.region.read(start, min(_READ_AT_ONCE * ENTRY_SIZE, mapped.size - start))
        for number, fields in enumerate(_ENTRY.iter_unpack(data)):
            yield start + number * ENTRY_SIZE, ConsumeQueueEntry._make(fields)


class ConsumeQueues:
    """All consume queues of a store, in folders by topic and queue id."""

    __slots__ = ("_disk", "_file_size", "_folder", "queues")

    def __init__(self, disk: Disk, folder: str, file_size: int) -> None:
        self._disk = disk
        self._folder = folder
        self._file_size = -(-file_size // ENTRY_SIZE) * ENTRY_SIZE
        self.queues: dict[tuple[str, int], ConsumeQueue] = {}

    def find(self, topic: str, queue_id: int) -> ConsumeQueue | None:
        return self.queues.get((topic, queue_id))

    def find_or_create(self, topic: str, queue_id: int) -> ConsumeQueue:
        queue = self.queues.get((topic, queue_id))
        if queue is None:
            queue = ConsumeQueue(MappedFileQueue(self._disk, f"{self._folder}/{folder_of(topic)}/{queue_id}", self._file_size))
            self.queues[topic, queue_id] = queue
        return queue

    def load(self, wrong_length: str) -> None:
        """Open every queue on the disk (see `MappedFileQueue.load`). Raises OSError."""
        for folder in self._disk.names(self._folder):
            for name in self._disk.names(f"{self._folder}/{folder}"):
                queue_id = java_int(name)
                if queue_id is not None:
                    self.find_or_create(topic_of(folder), queue_id).files.load(wrong_length)

    def recover(self) -> int:
        """Set each queue's end after its last entry. Return the end of the last record in any queue, -1 for none (REC-02)."""
        for queue in self.queues.values():
            queue.recover()
        return self.max_physical_offset

    def truncate(self, physical_offset: int) -> None:
        """Drop the entries of records from this offset of the log on."""
        for queue in self.queues.values():
            queue.truncate(physical_offset)

    def destroy(self, topic: str, queue_id: int) -> None:
        """Remove a queue and delete its files."""
        self.queues.pop((topic, queue_id)).destroy()

    def destroy_all(self) -> None:
        """Delete the files of every queue. Offsets start again at 0."""
        for queue in self.queues.values():
            queue.destroy()

    @property
    def max_physical_offset(self) -> int:
        """The end of the last record in any queue, -1 for none."""
        return max((queue.max_physical_offset for queue in self.queues.values()), default=-1)

    def flush_all(self) -> None:
        for queue in self.queues.values():
            queue.files.flush_all()
