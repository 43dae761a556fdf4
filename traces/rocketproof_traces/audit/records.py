"""Look up single records of a log by physical offset: those that entries point at, and the first records of send-back chains."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..stored.layout import BODY_AT, MESSAGE_MAGIC, MESSAGE_MAGIC_V2
from ..stored.paths import KeptOpen, read
from ..stored.record import Head, RecordPlaces, head_of, parts_of, properties_of
from ..stored.segments import LogFile

if TYPE_CHECKING:
    from ..stored.paths import LocalFile, RemoteFile

_FIRST = 256  # bytes that contain the fixed part of most records, and the topic after a short body


@dataclass(frozen=True)
class LogRecord:
    """A record at position `place` of a file with `limit` bytes.

    `first`: the first bytes of the record, which are already read. Parts that exceed the end of the file are empty.
    """

    source: LocalFile | RemoteFile
    place: int
    limit: int
    first: bytes
    head: Head

    @cached_property
    def parts(self) -> RecordPlaces:
        return parts_of(self._bytes, self.place, self.limit, self.head)

    @cached_property
    def topic(self) -> bytes:
        return self._bytes(self.parts.topic_at, self.parts.topic_length)

    @cached_property
    def properties(self) -> dict[bytes, bytes]:
        parts = self.parts
        return properties_of(self._bytes(parts.topic_at + parts.topic_length + 2, parts.properties_length))

    def _bytes(self, at: int, length: int) -> bytes:
        here = at - self.place
        if length <= 0:
            return b""
        return self.first[here : here + length] if here + length <= len(self.first) else read(self.source, at, length)


class Records(KeptOpen):
    """The records of a log, read from its files, which stay open until the context ends.

    `problems`: callers add a description for each file that cannot be read. Checks that depend on such a file are undecided.
    """

    def __init__(self, files: Sequence[LogFile]) -> None:
        super().__init__()
        self.problems: list[str] = []
        self._files = sorted(files, key=lambda file: file.base)
        self._bases = [file.base for file in self._files]

    @property
    def start(self) -> int:
        """The physical offset at which the log begins."""
        return self._bases[0] if self._bases else 0

    def has(self, offsets: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which of these physical offsets are in one of the files."""
        if not self._files:
            return np.zeros(len(offsets), np.bool_)
        bases = np.array(self._bases, np.int64)
        ends = bases + np.array([file.length for file in self._files], np.int64)
        numbers = np.searchsorted(bases, offsets, side="right") - 1
        mask: NDArray[np.bool_] = (numbers >= 0) & (offsets < ends[numbers])
        return mask

    def at(self, offset: int) -> LogRecord | None:
        """Return the record at a physical offset, None if there is none. Raises StoredError for a file that cannot be read."""
        number = bisect.bisect_right(self._bases, offset) - 1
        if number < 0 or offset + BODY_AT > self._files[number].base + self._files[number].length:
            return None
        file = self._files[number]
        source = self.source(file.path)
        place = offset - file.base
        first = read(source, place, min(_FIRST, file.length - place))
        head = head_of(first, hosts_by_flag=file.hosts_by_flag)
        if head is None or head.magic not in (MESSAGE_MAGIC, MESSAGE_MAGIC_V2):
            return None
        return LogRecord(source, place, file.length, first, head)
