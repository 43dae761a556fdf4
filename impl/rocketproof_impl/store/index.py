"""The index: which records have a key, by the hash of "topic#key", in files named by the time they were made."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from rocketproof_protocol.flags import ROLLBACK
from rocketproof_protocol.properties import KEYS, UNIQ_KEY

from ..java import JavaError
from ..message import Message
from ..ports import Clock, Disk
from .checkpoint import StoreCheckpoint
from .indexfile import ENTRY_SIZE, HEADER_SIZE, SLOT_SIZE, IndexHeader, MappedIndexFile
from .log import log
from .settings import StoreSettings

MOST_FOUND = 64


class IndexService:
    """All index files of a store, built by dispatch."""

    def __init__(self, settings: StoreSettings, clock: Clock, disk: Disk, checkpoint: StoreCheckpoint) -> None:
        self._slots, self._limit = settings.max_hash_slot_num, settings.max_index_num
        self._clock = clock
        self._disk = disk
        self._checkpoint = checkpoint
        self._folder = f"{settings.store_path_root_dir}/index"
        self.files: list[MappedIndexFile] = []

    def load(self, *, clean: bool) -> None:
        """Open the files. After a crash those that are newer than the checkpoint are deleted, and dispatch builds them again.

        Raises OSError.
        """
        self.files = []
        for name in self._disk.names(self._folder):
            file = self._map(name)
            file.load()
            if not clean and file.header.end_timestamp > self._checkpoint.index_msg_timestamp:
                self._disk.delete(file.path)
            else:
                self.files.append(file)

    def build(self, message: Message) -> None:
        """Add the keys of a record: its unique key, then each of its KEYS. What the last file has already, it does not get again.

        A first file is made even for a message without keys. Rolled back messages have no entries, prepared ones have. Raises
        OSError if no file can be made.
        """
        file = self._last_or_next()
        if message.physical_offset < file.header.end_physical_offset or message.transaction == ROLLBACK:
            return
        for key in keys_of(message):
            while not file.put(key, message.physical_offset, message.store_timestamp):
                file = self._last_or_next()

    @property
    def reaches(self) -> tuple[int, int]:
        """When the last record with a key was stored (ms), and where it is; zeros without any."""
        last = self.files[-1].header if self.files else IndexHeader()
        return last.end_timestamp, last.end_physical_offset

    def query(self, topic: str, key: str, most: int, begin: int, end: int) -> list[int]:
        """Places in the log of at most so many records (64 whatever is asked), stored in that time, newest first. Raises JavaError.

        Keys with the same hash are found too; whoever asks looks at the record.
        """
        if most < 0:
            raise JavaError("java.lang.IllegalArgumentException", f"Illegal Capacity: {most}")
        found: list[int] = []
        most = min(most, MOST_FOUND)
        for file in reversed(self.files):
            if file.touches(begin, end):
                for offset in file.find(f"{topic}#{key}", begin, end):
                    if len(found) >= most:
                        break
                    found.append(offset)
            if file.header.begin_timestamp < begin or len(found) >= most:
                break
        return found

    def flush_all(self) -> None:
        """Raises OSError."""
        for file in self.files:
            file.flush()

    def _last_or_next(self) -> MappedIndexFile:
        """The last file; where it is missing or full, a new one. A full one is brought to the device, and the checkpoint knows."""
        last = self.files[-1] if self.files else None
        if last is not None and not last.is_full:
            return last
        made = self._map(self._free_name())
        if last is not None:
            made.follow(last)
        self.files.append(made)
        if last is not None:
            last.flush()
            self._checkpoint.index_msg_timestamp = last.header.end_timestamp
            self._checkpoint.flush()
        return made

    def _free_name(self) -> str:
        """The time in the zone of the machine. Two files of one millisecond, which only a simulated clock can bring about, differ."""
        taken = {file.path for file in self.files}
        millis = self._clock.now()
        while f"{self._folder}/{file_name(millis)}" in taken:
            millis += 1
        return file_name(millis)

    def _map(self, name: str) -> MappedIndexFile:
        path = f"{self._folder}/{name}"
        size = HEADER_SIZE + self._slots * SLOT_SIZE + self._limit * ENTRY_SIZE
        length = self._disk.size(path)
        if length is not None and length != size:
            log.warning("%s has %d bytes, and by the settings an index file has %d", path, length, size)
        return MappedIndexFile(path, self._disk.map(path, size), self._slots, self._limit)


def file_name(millis: int) -> str:
    """yyyyMMddHHmmssSSS in the machine's zone."""
    return f"{datetime.fromtimestamp(millis // 1000).astimezone():%Y%m%d%H%M%S}{millis % 1000:03d}"


def keys_of(message: Message) -> Iterator[str]:
    """What a record is found by."""
    unique = message.properties.get(UNIQ_KEY)
    if unique is not None:
        yield f"{message.topic}#{unique}"
    for key in message.properties.get(KEYS, "").split(" "):
        if key:
            yield f"{message.topic}#{key}"
