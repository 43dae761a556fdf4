"""Files of one size in a row, each named by the offset of its first byte: the commit log's, and each consume queue's."""

from __future__ import annotations

from ..java import JavaError
from ..ports import Disk, Region


class MappedFile:
    """One file. `wrote_position` and `flushed_position` count from its start, in bytes."""

    __slots__ = ("file_from_offset", "flushed_position", "path", "region", "size", "store_timestamp", "wrote_position")

    def __init__(self, path: str, file_from_offset: int, region: Region) -> None:
        self.path = path
        self.file_from_offset = file_from_offset
        self.region = region
        self.size = region.size
        self.wrote_position = 0
        self.flushed_position = 0
        self.store_timestamp = 0

    @property
    def is_full(self) -> bool:
        return self.wrote_position == self.size

    def write(self, position: int, data: bytes) -> None:
        """Put bytes at a position without moving the write position. Raises JavaError as a mapped buffer does."""
        try:
            self.region.write(position, data)
        except OSError as problem:
            raise JavaError("java.lang.InternalError", f"a fault occurred in an unsafe memory access: {problem}") from problem

    def select(self, position: int, size: int) -> bytes | None:
        """Bytes that were written, None if some of them were not."""
        if position < 0 or size < 0 or position + size > self.wrote_position:
            return None
        return self.region.read(position, size)

    def flush(self) -> int:
        """Bring what was written to the device; the flushed position."""
        if self.flushed_position < self.wrote_position:
            self.region.force()
            self.flushed_position = self.wrote_position
        return self.flushed_position


class MappedFileQueue:
    """The files of a folder. Offsets count from the first byte of the file named 0."""

    __slots__ = ("_disk", "_folder", "file_size", "files", "flushed_where")

    def __init__(self, disk: Disk, folder: str, file_size: int) -> None:
        self._disk = disk
        self._folder = folder
        self.file_size = file_size
        self.files: list[MappedFile] = []
        self.flushed_where = 0

    def load(self) -> None:
        """Open every file of the folder, in order. Raises OSError."""
        names = (name for name in self._disk.names(self._folder) if name.isdigit())
        self.files = [self._map(int(name)) for name in names]

    def last(self) -> MappedFile | None:
        """The last file, full or not; None if there is none."""
        return self.files[-1] if self.files else None

    def last_or_next(self, start_offset: int = 0) -> MappedFile | None:
        """The last file; where it is missing or full, the next one, newly made. None if that cannot be made (CL-07)."""
        last = self.last()
        if last is not None and not last.is_full:
            return last
        offset = start_offset - start_offset % self.file_size if last is None else last.file_from_offset + self.file_size
        try:
            made = self._map(offset)
        except OSError:
            return None
        self.files.append(made)
        return made

    def find(self, offset: int) -> MappedFile | None:
        """The file that holds an offset."""
        if not self.files:
            return None
        index = offset // self.file_size - self.files[0].file_from_offset // self.file_size
        return self.files[index] if 0 <= index < len(self.files) else None

    def select(self, offset: int, size: int) -> bytes | None:
        """Bytes that were written, all in one file; else None."""
        mapped = self.find(offset)
        return None if mapped is None else mapped.select(offset % self.file_size, size)

    @property
    def max_offset(self) -> int:
        """The end of what was written."""
        last = self.last()
        return 0 if last is None else last.file_from_offset + last.wrote_position

    def flush(self) -> bool:
        """Flush the one file in which `flushed_where` lies; whether that brought nothing new (FLU-03)."""
        where = self.flushed_where
        mapped = self.find(where)
        if mapped is not None:
            self.flushed_where = mapped.file_from_offset + mapped.flush()
        return self.flushed_where == where

    def flush_all(self) -> None:
        """Flush file after file up to the end."""
        while not self.flush():
            pass

    def truncate(self, offset: int) -> None:
        """Set the end: files before it are full, files behind it are deleted, and what was read from the disk is flushed (REC-02)."""
        kept = [mapped for mapped in self.files if mapped.file_from_offset < offset]
        for mapped in self.files[len(kept) :]:
            self._disk.delete(mapped.path)
        for mapped in kept:
            mapped.wrote_position = mapped.flushed_position = min(mapped.size, offset - mapped.file_from_offset)
        self.files = kept
        self.flushed_where = self.max_offset

    def _map(self, offset: int) -> MappedFile:
        path = f"{self._folder}/{offset:020d}"
        return MappedFile(path, offset, self._disk.map(path, self.file_size))
