"""The index: the records with a key, by the hash of "topic#key", in files named by their creation time."""

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
        """Open the files. After a crash, delete those newer than the checkpoint; dispatch builds them again. Raises OSError."""
        self.files = []
        for name in self._disk.names(self._folder):
            file = self._map(name)
            file.load()
            if not clean and file.header.end_timestamp > self._checkpoint.index_msg_timestamp:
                self._disk.delete(file.path)
            else:
                self.files.append(file)

    def build(self, message: Message) -> None:
        """Add the keys of a record: its unique key, then each of its KEYS. Records that the last file has already are skipped.

        The first file is created even for a message without keys. Rolled back messages get no entries, prepared ones do. Raises OSError if
        no file can be created.
        """
        file = self._last_or_next()
        if message.physical_offset < file.header.end_physical_offset or message.transaction == ROLLBACK:
            return
        for key in keys_of(message):
            while not file.put(key, message.physical_offset, message.store_timestamp):
                file = self._last_or_next()

    @property
    def reaches(self) -> tuple[int, int]:
        """The store time (ms) and the position of the last record with a key, zeros if there is none."""
        last = self.files[-1].header if self.files else IndexHeader()
        return last.end_timestamp, last.end_physical_offset

    def query(self, topic: str, key: str, most: int, begin: int, end: int) -> list[int]:
        """Return the positions of at most `most` records (and at most 64) stored between two times, newest first. Raises JavaError.

        Keys with an equal hash match too; the caller compares the records' keys.
        """
        if most < 0:
            raise JavaError("java.lang.IllegalArgumentException", f"Illegal Capacity: {most}")
        offsets: list[int] = []
        most = min(most, MOST_FOUND)
        for file in reversed(self.files):
            if file.touches(begin, end):
                for offset in file.find(f"{topic}#{key}", begin, end):
                    if len(offsets) >= most:
                        break
                    offsets.append(offset)
            if file.header.begin_timestamp < begin or len(offsets) >= most:
                break
        return offsets

    def flush_all(self) -> None:
        """Flush every file. Raises OSError."""
        for file in self.files:
            file.flush()

    def _last_or_next(self) -> MappedIndexFile:
        """Return the last file, or a new one if it is missing or full. A full file is flushed, and recorded in the checkpoint."""
        last = self.files[-1] if self.files else None
        if last is not None and not last.is_full:
            return last
        created = self._map(self._free_name())
        if last is not None:
            created.follow(last)
        self.files.append(created)
        if last is not None:
            last.flush()
            self._checkpoint.index_msg_timestamp = last.header.end_timestamp
            self._checkpoint.flush()
        return created

    def _free_name(self) -> str:
        """Return the current time as a file name. If it is taken, which happens only with a simulated clock, use the next free
        millisecond."""
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
    """Return yyyyMMddHHmmssSSS in the machine's time zone."""
    return f"{datetime.fromtimestamp(millis // 1000).astimezone():%Y%m%d%H%M%S}{millis % 1000:03d}"


def keys_of(message: Message) -> Iterator[str]:
    """Yield the index keys of a record."""
    unique = message.properties.get(UNIQ_KEY)
    if unique is not None:
        yield f"{message.topic}#{unique}"
    for key in message.properties.get(KEYS, "").split(" "):
        if key:
            yield f"{message.topic}#{key}"
