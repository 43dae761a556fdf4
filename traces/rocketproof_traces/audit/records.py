"""Records of a log, each looked up by the physical offset at which it lies: those that entries point at, and first ones of chains."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from struct import Struct
from typing import TYPE_CHECKING

from ..stored.layout import (
    BODY_AT,
    BODY_LENGTH_AT,
    BORN_IPV6,
    IPV6_MORE,
    MAGIC_AT,
    MESSAGE_MAGIC,
    MESSAGE_MAGIC_V2,
    NAME_END,
    PHYSICAL_OFFSET_AT,
    PROPERTY_END,
    QUEUE_ID_AT,
    QUEUE_OFFSET_AT,
    RECONSUME_TIMES_AT,
    SIZE_AT,
    STORE_HOST_AT,
    STORE_IPV6,
    STORE_TIMESTAMP_AT,
    SYS_FLAG_AT,
)
from ..stored.paths import KeptOpen, read
from ..stored.segments import LogFile

if TYPE_CHECKING:
    from ..stored.paths import LocalFile, RemoteFile

_HEAD = 256  # bytes that hold the fixed places of most records, and a topic behind a short body
_SHORT, _INT, _UNSIGNED, _LONG = Struct(">h"), Struct(">i"), Struct(">I"), Struct(">q")


@dataclass(frozen=True)
class Found:
    """What has a record's magic number at a place of a file, whose end is `limit`. Lengths that lead beyond the end give empty bytes."""

    source: LocalFile | RemoteFile
    place: int
    limit: int
    head: bytes

    @property
    def is_whole(self) -> bool:
        """All fixed places are there."""
        return len(self.head) >= BODY_AT + self._more

    @property
    def size(self) -> int:
        return self._int(SIZE_AT)

    @property
    def queue_id(self) -> int:
        return self._int(QUEUE_ID_AT)

    @property
    def queue_offset(self) -> int:
        return self._long(QUEUE_OFFSET_AT)

    @property
    def physical_offset(self) -> int:
        """Where the record says that it lies."""
        return self._long(PHYSICAL_OFFSET_AT)

    @property
    def sys_flag(self) -> int:
        return self._int(SYS_FLAG_AT)

    @property
    def store_timestamp(self) -> int:
        return self._long(STORE_TIMESTAMP_AT + self._born)

    @property
    def store_host(self) -> bytes:
        """Address and port, as they are in the record and in the ids of messages."""
        at = STORE_HOST_AT + self._born
        return self.head[at : at + 8 + (IPV6_MORE if self.sys_flag & STORE_IPV6 else 0)]

    @property
    def reconsume_times(self) -> int:
        return self._int(RECONSUME_TIMES_AT + self._more)

    @cached_property
    def topic(self) -> bytes:
        return self._bytes(*self._topic)

    @cached_property
    def properties(self) -> dict[bytes, bytes]:
        """Of two values of a name the later one (SEND-26)."""
        at = sum(self._topic)
        length = self._bytes(at, _SHORT.size)
        text = self._bytes(at + _SHORT.size, _SHORT.unpack(length)[0]) if length else b""
        items = (item.partition(bytes([NAME_END])) for item in text.split(bytes([PROPERTY_END])))
        return {name: value for name, _, value in items if name and value}

    @property
    def _topic(self) -> tuple[int, int]:
        """Where the topic's text begins, and how many bytes it has."""
        wide = 2 if _UNSIGNED.unpack_from(self.head, MAGIC_AT)[0] == MESSAGE_MAGIC_V2 else 1
        at = BODY_AT + self._more + max(0, self._int(BODY_LENGTH_AT + self._more))
        return at + wide, int.from_bytes(self._bytes(at, wide), "big")

    @property
    def _born(self) -> int:
        return IPV6_MORE if self.sys_flag & BORN_IPV6 else 0

    @property
    def _more(self) -> int:
        return self._born + (IPV6_MORE if self.sys_flag & STORE_IPV6 else 0)

    def _int(self, at: int) -> int:
        number: int = _INT.unpack_from(self.head, at)[0]
        return number

    def _long(self, at: int) -> int:
        number: int = _LONG.unpack_from(self.head, at)[0]
        return number

    def _bytes(self, at: int, length: int) -> bytes:
        if length <= 0 or self.place + at + length > self.limit:
            return b""
        if at + length <= len(self.head):
            return self.head[at : at + length]
        return read(self.source, self.place + at, length)


class Records(KeptOpen):
    """The records of a log, whose files stay open. Raises StoredError."""

    def __init__(self, files: Sequence[LogFile]) -> None:
        super().__init__()
        self._files = sorted(files, key=lambda file: file.base)
        self._bases = [file.base for file in self._files]

    def at(self, offset: int) -> Found | None:
        """What lies at a physical offset, None if that is no record."""
        number = bisect.bisect_right(self._bases, offset) - 1
        if number < 0 or offset + BODY_AT > self._files[number].base + self._files[number].length:
            return None
        file = self._files[number]
        source = self.source(file.path)
        place = offset - file.base
        head = read(source, place, min(_HEAD, file.length - place))
        if _UNSIGNED.unpack_from(head, MAGIC_AT)[0] not in (MESSAGE_MAGIC, MESSAGE_MAGIC_V2):
            return None
        found = Found(source, place, file.length, head)
        return found if found.is_whole else None
