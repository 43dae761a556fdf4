"""Reads of the commit log: bytes and records by offset, and where a dispatcher continues after an unreadable record (REC-01, REC-04)."""

from __future__ import annotations

from collections.abc import Iterator

from rocketproof_profiles import Profile

from ..bounds import MAX_RECORD
from ..message import Message
from ..ports import Disk
from . import record
from .files import MappedFile, MappedFileQueue
from .log import log
from .record import BLANK_SIZE
from .settings import StoreSettings

_READ_AT_ONCE = 4096  # one read for most records
_LARGE = 8 << 20  # bytes; the lengths inside a larger record are read before all of it is


class LogReader:
    """The files of a commit log, and reads of them. `CommitLog` adds the appends."""

    def __init__(self, settings: StoreSettings, profile: Profile, disk: Disk) -> None:
        self._settings = settings
        self._profile = profile
        self.files = MappedFileQueue(
            disk,
            f"{settings.store_path_root_dir}/commitlog",
            settings.mapped_file_size_commit_log,
            trusts_failed_force=profile.trusts_failed_force,
        )

    def data_from(self, offset: int, limit: int) -> bytes | None:
        """Return at most `limit` bytes from an offset up to the end of its file, None if there are none yet."""
        mapped = self.files.find(offset)
        if mapped is None:
            return None
        position = offset - mapped.file_from_offset
        return mapped.region.read(position, min(limit, mapped.read_position - position)) if position < mapped.read_position else None

    def select(self, offset: int) -> bytes | None:
        """Return the bytes at an offset, as many as the first four bytes specify. None as in `bytes_of`."""
        data = self.files.select(offset, 4)
        return None if data is None else self.bytes_of(offset, int.from_bytes(data, "big", signed=True))

    def look(self, offset: int) -> Message | None:
        """Return the message at an offset: four bytes of size, then the record (REC-01)."""
        data = self.select(offset)
        return None if data is None else self.decode(data)

    def decode(self, data: bytes, *, whole: bool = False) -> Message | None:
        """Return the message of a record's bytes, None for a malformed one; with `whole`, also if its lengths do not add up to its size.

        As in the release, a record whose bytes raise an exception is not a message.
        """
        profile = self._profile
        try:
            return record.decode(data, exact=profile.exact_properties, hosts_by_flag=profile.hosts_by_flag, whole=whole)
        except Exception:  # noqa: BLE001 - foreign bytes may raise any exception
            log.exception("a record of %d bytes cannot be decoded: %s", len(data), data[:BLANK_SIZE].hex())
            return None

    def whole_record(self, mapped: MappedFile, position: int, size: int) -> bytes | None:
        """Return the bytes of an undamaged record in a file, None if there is none of this size (REC-02)."""
        if size > _LARGE and self._extent(mapped.file_from_offset + position, size) != size:
            return None
        data = mapped.region.read(position, size)
        return data if record.is_whole(data, hosts_by_flag=self._profile.hosts_by_flag) else None

    def records(self, start: int, end: int, *, dispatching: bool = False) -> Iterator[tuple[int, Message | None]]:
        """Yield the records from one offset to another, each with the offset after it; None for bytes that are not a message.

        A blank, whatever its size, leads to the next file. A record that cannot be read is skipped by its size. A dispatcher cannot
        continue after such a record: it continues at the offset of `_lost`, and skips everything before.
        """
        data = b""  # bytes read in advance, from `start` on
        while start < end:
            if len(data) < BLANK_SIZE:
                data = self.data_from(start, _READ_AT_ONCE) or b""
                if not data:
                    return
            size, magic = record.size_and_magic(data) if len(data) >= BLANK_SIZE else (0, 0)
            if magic == record.BLANK_MAGIC:
                start, data = start - start % self.files.file_size + self.files.file_size, b""
                yield start, None
                continue
            is_inside = 0 < size <= self.files.max_offset - start
            message = None
            if is_inside and (magic == record.MESSAGE_MAGIC or not dispatching):
                whole = data[:size] if size <= len(data) else self.bytes_of(start, size)
                message = None if whole is None else self.decode(whole, whole=dispatching)
            if dispatching and message is None:
                yield self._lost(start, size if magic == record.MESSAGE_MAGIC else 0), None
                return
            if not is_inside:
                return  # not a record, or a record that a slave has received in part
            start, data = start + size, data[size:]
            yield start, message

    def bytes_of(self, start: int, size: int) -> bytes | None:
        """Return the bytes of a record with this (possibly wrong) size, None outside the log.

        Of a large record, return only the bytes that its lengths add up to, and None if these exceed MAX_RECORD. So a damaged size does not
        fill the memory; a release maps its files instead.
        """
        if size <= _LARGE:
            return self.files.select(start, size)
        length = self._extent(start, size) if size <= self.files.left(start) else None
        return None if length is None or length > MAX_RECORD else self.files.select(start, length)

    def describe(self, offset: int) -> str:
        """Return a description of a record's position for the log, with its file."""
        mapped = self.files.find(offset)
        return f"the record at {offset}" + ("" if mapped is None else f" in {mapped.path}, byte {offset - mapped.file_from_offset},")

    def _extent(self, start: int, size: int) -> int | None:
        """Return how many bytes the lengths inside a record add up to, None if they exceed its `size`."""

        def read(at: int, length: int) -> bytes:
            return self.data_from(start + at, length) or b""

        return record.extent(read, size, hosts_by_flag=self._profile.hosts_by_flag)

    def _lost(self, start: int, size: int) -> int:
        """Return where a dispatcher continues after a record that it cannot read and that specifies `size` bytes (REC-04, HAZ-49 to
        HAZ-51).

        A slave's dispatcher stays there. A master's continues at the current end of the file. If the record's lengths add up to another
        size, the master first skips `size` bytes and so continues beyond that end. Profiles with `dispatch_ends` do not skip if the log
        ends after them.
        """
        mapped = self.files.find(start)
        if mapped is None or self._settings.broker_role == "SLAVE":
            return start
        log.error("%s cannot be read, and dispatch goes on behind all that is there", self.describe(start))
        end = mapped.file_from_offset + mapped.read_position
        length = self._extent(start, min(size, end - start)) if size > 0 else None
        if length is None or length == size:
            return end
        return end if self._profile.dispatch_ends and start + size == self.files.max_offset else end + size
