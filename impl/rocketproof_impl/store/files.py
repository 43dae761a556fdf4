"""A sequence of files of equal size, each named by the offset of its first byte: the commit log's, and each consume queue's.

Written data are in a mapped region, and a flush syncs them to the device. With a transient pool they are first in a buffer that cannot be
read; a commit copies them to the region (FLU-06).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from operator import attrgetter
from typing import NamedTuple

from rocketproof_protocol.numbers import LONG, is_digits, java_long

from ..java import JavaError
from ..ports import Disk, Region
from ..tasks import Future, Wait
from .log import log
from .transient import TransientStorePool

PAGE = 4096
_FROM = attrgetter("file_from_offset")

RunBlocking = Callable[[Callable[[], bool]], Future[bool]]
"""Runs a blocking function, such as a sync to the device, without blocking the caller. Returns a future of its result."""


def run_immediately(action: Callable[[], bool]) -> Future[bool]:
    """A `RunBlocking` that blocks the caller."""
    result: Future[bool] = Future()
    result.complete(action())
    return result


class MappedFile:
    """A file. Its positions are bytes from its start. `write_buffer` exists until the whole file is committed."""

    __slots__ = (
        "_pool",
        "committed_position",
        "file_from_offset",
        "flushed_position",
        "path",
        "region",
        "size",
        "store_timestamp",
        "write_buffer",
        "wrote_position",
    )

    def __init__(self, path: str, file_from_offset: int, region: Region, pool: TransientStorePool | None = None) -> None:
        self.path = path
        self.file_from_offset = file_from_offset
        self.region = region
        self.size = region.size
        self.wrote_position = 0
        self.committed_position = 0
        self.flushed_position = 0
        self.store_timestamp = 0
        self._pool = pool
        self.write_buffer = None if pool is None else pool.borrow()

    @property
    def is_full(self) -> bool:
        return self.wrote_position == self.size

    @property
    def read_position(self) -> int:
        """The end of the readable bytes. Bytes that are only in the buffer are not readable."""
        return self.wrote_position if self.write_buffer is None else self.committed_position

    def holds(self, offset: int) -> bool:
        """Return whether an offset of the sequence is in this file."""
        return self.file_from_offset <= offset < self.file_from_offset + self.size

    def write(self, position: int, data: bytes) -> None:
        """Write bytes without moving the write position. Raises JavaError as a mapped buffer does."""
        if self.write_buffer is not None:
            self.write_buffer[position : position + len(data)] = data
            return
        try:
            self.region.write(position, data)
        except OSError as problem:
            raise JavaError("java.lang.InternalError", f"a fault occurred in an unsafe memory access: {problem}") from problem

    def append(self, data: bytes) -> None:
        """Write bytes at the write position. Raises JavaError."""
        self.write(self.wrote_position, data)
        self.wrote_position += len(data)

    def end(self, position: int) -> None:
        """Set the written, committed and flushed positions."""
        self.wrote_position = self.committed_position = self.flushed_position = position

    def select(self, position: int, size: int) -> bytes | None:
        """Return written bytes, None if some of them are not written."""
        if position < 0 or size < 0 or position + size > self.read_position:
            return None
        return self.region.read(position, size)

    def new(self, least_pages: int = 0) -> int | None:
        """Return the position up to which the file can be flushed. Return None if nothing is new, or if the new bytes do not span
        `least_pages` and the file is not full."""
        start, end = self.flushed_position, self.read_position
        return end if end > start and self._enough(start, end, least_pages) else None

    def force(self) -> bool:
        """Sync the file to the device. Return whether that succeeded; a failure is logged."""
        try:
            self.region.force()
        except OSError as problem:
            log.error("Error occurred when force data to disk: %s", problem)
            return False
        return True

    def commit(self, least_pages: int = 0) -> int:
        """Copy the buffer to the region, if `least_pages` are new or the file is full. Return the end of the readable bytes (FLU-06).

        A file that is committed completely returns its buffer to the pool. Bytes that cannot be written remain in the buffer.
        """
        buffer = self.write_buffer
        if buffer is None:
            return self.wrote_position
        start, end = self.committed_position, self.wrote_position
        if start < end and self._enough(start, end, least_pages):
            try:
                self.region.write(start, memoryview(buffer)[start:end])
                self.committed_position = end
            except OSError as problem:
                log.error("Error occurred when commit data to FileChannel: %s", problem)
        if self.committed_position == self.size and self._pool is not None:
            self._pool.give_back(buffer)
            self.write_buffer = None
        return self.committed_position

    def _enough(self, start: int, end: int, least_pages: int) -> bool:
        """Return whether the new bytes cross `least_pages` page boundaries, or the file is full."""
        if self.is_full:
            return True
        return end // PAGE - start // PAGE >= least_pages if least_pages > 0 else end > start


class _Flush(NamedTuple):
    """A planned flush: the file, its target position (None: nothing is new), and its store timestamp at that time."""

    mapped: MappedFile
    new: int | None
    timestamp: int


class MappedFileQueue:
    """The files of a folder. Offsets count from the first byte of the file named 0.

    `store_timestamp` is the last flushed file's store timestamp, taken before the flush: all messages up to it are on the device. New files
    take their buffers from `pool`, if there is one. `advanced` is called when `flushed_where` has increased. With `trusts_failed_force` it
    also increases after a failed sync.
    """

    __slots__ = (
        "_disk",
        "_folder",
        "_trusts_failed_force",
        "advanced",
        "committed_where",
        "file_size",
        "files",
        "flushed_where",
        "pool",
        "store_timestamp",
    )

    def __init__(self, disk: Disk, folder: str, file_size: int, *, trusts_failed_force: bool = True) -> None:
        self._disk = disk
        self._folder = folder
        self._trusts_failed_force = trusts_failed_force
        self.advanced: Callable[[], None] = _no_op
        self.file_size = file_size
        self.files: list[MappedFile] = []
        self.flushed_where = 0
        self.committed_where = 0
        self.store_timestamp = 0
        self.pool: TransientStorePool | None = None

    def load(self, wrong_length: str) -> None:
        """Open every file of the folder in order, as if it were full. The profile decides about a file of another length.

        Raises OSError, also for a rejected file.
        """
        self.files = []
        names = sorted(filter(is_digits, self._disk.names(self._folder)), key=_in_order)
        for name in names:
            path = f"{self._folder}/{name}"
            length = self._disk.size(path)
            offset = java_long(name)
            if offset is None:
                raise OSError(f"{path} is named by an offset above {LONG.stop - 1}: remove it from the store")
            if length == self.file_size:
                self.files.append(self._map(path, offset))
            elif wrong_length == "passed over":
                break
            elif wrong_length == "deleted" and length == 0 and name == names[-1]:
                self._disk.delete(path)
            else:
                raise OSError(f"{path} has {length} bytes, and by the settings {self.file_size}: start with the settings it was made with")
        for mapped in self.files:
            mapped.end(mapped.size)

    def last(self) -> MappedFile | None:
        """Return the last file, full or not; None if there is none."""
        return self.files[-1] if self.files else None

    def last_or_next(self, start_offset: int = 0) -> MappedFile | None:
        """Return the last file; if it is missing or full, create the next one. Return None if that fails (CL-07)."""
        last = self.last()
        if last is not None and not last.is_full:
            return last
        offset = start_offset - start_offset % self.file_size if last is None else last.file_from_offset + self.file_size
        try:
            created = self._map(f"{self._folder}/{offset:020d}", offset, self.pool)
        except OSError:
            return None
        self.files.append(created)
        return created

    def find(self, offset: int) -> MappedFile | None:
        """Return the file that contains an offset, even if a file of the sequence is missing."""
        if not self.files:
            return None
        index = offset // self.file_size - self.files[0].file_from_offset // self.file_size
        if not (0 <= index < len(self.files) and self.files[index].holds(offset)):
            index = bisect_right(self.files, offset, key=_FROM) - 1
        return self.files[index] if index >= 0 and self.files[index].holds(offset) else None

    def left(self, offset: int) -> int:
        """Return how many bytes are readable from an offset to the end of its file."""
        mapped = self.find(offset)
        return 0 if mapped is None else max(0, mapped.file_from_offset + mapped.read_position - offset)

    def select(self, offset: int, size: int) -> bytes | None:
        """Return written bytes of one file, None if they are not all written in one file."""
        mapped = self.find(offset)
        return None if mapped is None else mapped.select(offset - mapped.file_from_offset, size)

    @property
    def max_offset(self) -> int:
        """The end of the readable bytes."""
        last = self.last()
        return 0 if last is None else last.file_from_offset + last.read_position

    @property
    def min_offset(self) -> int:
        """The start of the first file. A slave's log need not begin at 0."""
        return self.files[0].file_from_offset if self.files else 0

    def flush(self, least_pages: int = 0) -> bool:
        """Flush the file that contains `flushed_where`. Return whether nothing was new (FLU-03, FLU-05)."""
        planned = self._plan(least_pages)
        done = planned is None or not planned.new or planned.mapped.force()
        return self._flushed(planned, least_pages, done=done)

    async def flush_concurrently(self, run_blocking: RunBlocking, least_pages: int = 0) -> bool:
        """Flush like `flush` while other threads run. Bytes appended meanwhile are not flushed. Only one thread may call this."""
        planned = self._plan(least_pages)
        done = True
        if planned is not None and planned.new:
            forced = run_blocking(planned.mapped.force)
            await Wait(forced)
            done = forced.result()
        return self._flushed(planned, least_pages, done=done)

    def _plan(self, least_pages: int) -> _Flush | None:
        mapped = self._at(self.flushed_where)
        return None if mapped is None else _Flush(mapped, mapped.new(least_pages), mapped.store_timestamp)

    def _flushed(self, planned: _Flush | None, least_pages: int, *, done: bool) -> bool:
        """Record that the file is on the device up to the planned position, unless the file was deleted meanwhile."""
        where = self.flushed_where
        if planned is None or planned.mapped is not self._at(where) or not (done or self._trusts_failed_force):
            return True
        mapped = planned.mapped
        if planned.new:
            mapped.flushed_position = planned.new
        self.flushed_where = mapped.file_from_offset + mapped.flushed_position
        if least_pages == 0:
            self.store_timestamp = planned.timestamp
        if self.flushed_where != where:
            self.advanced()
        return self.flushed_where == where

    def commit(self, least_pages: int = 0) -> bool:
        """Commit the file that contains `committed_where`. Return whether nothing was new (FLU-06)."""
        where = self.committed_where
        mapped = self._at(where)
        if mapped is not None:
            self.committed_where = mapped.file_from_offset + mapped.commit(least_pages)
        return self.committed_where == where

    def _at(self, where: int) -> MappedFile | None:
        """Return the file that contains an offset; for the 0 of a log that begins elsewhere, the first file."""
        mapped = self.find(where)
        return self.files[0] if mapped is None and where == 0 and self.files else mapped

    def flush_all(self) -> None:
        """Flush all files up to the end."""
        while not self.flush():
            pass

    def truncate(self, offset: int) -> None:
        """Set the end: files before it are full, files after it are deleted. Everything read from the disk counts as flushed (REC-02).

        A file that begins at the end remains, empty.
        """
        kept = [mapped for mapped in self.files if mapped.file_from_offset <= offset]
        self._delete(self.files[len(kept) :])
        for mapped in kept:
            mapped.end(min(mapped.size, offset - mapped.file_from_offset))
        self.files = kept
        self.flushed_where = self.committed_where = self.max_offset

    def delete_last(self) -> None:
        self._delete([self.files.pop()])

    def destroy(self) -> None:
        """Delete every file. Offsets start again at 0."""
        self._delete(self.files)
        self.files = []
        self.flushed_where = self.committed_where = 0

    def _delete(self, files: list[MappedFile]) -> None:
        for mapped in files:
            self._disk.delete(mapped.path)

    def _map(self, path: str, offset: int, pool: TransientStorePool | None = None) -> MappedFile:
        return MappedFile(path, offset, self._disk.map(path, self.file_size), pool)


def _in_order(name: str) -> tuple[int, str]:
    """Return a sort key for file names by offset, with any number of digits."""
    digits = name.lstrip("0")
    return len(digits), digits


def _no_op() -> None:
    pass
