"""Read one record of a commit log from its bytes, and a log in memory record by record (APP-08).

Only this module and the kernel read records; the kernel walks files of gigabytes in machine code. No code is shared with a broker, so that
a mistake in a broker's layout is detected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from mmap import mmap
from struct import Struct
from types import MappingProxyType
from typing import NamedTuple

from rocketproof_protocol.flags import BORN_IPV6, COMMIT, HOSTS_IPV6, NOT, STORE_IPV6, TRANSACTION_BITS

from .kinds import Reason
from .layout import (
    BLANK_MAGIC,
    BLANK_SIZE,
    BODY_AT,
    BORN_TIMESTAMP_AT,
    IPV6_MORE,
    MESSAGE_MAGIC,
    MESSAGE_MAGIC_V2,
    NAME_END,
    PHYSICAL_OFFSET_AT,
    PROPERTY_END,
    QUEUE_OFFSET_AT,
    SYS_FLAG_AT,
    TOPIC_LIMIT,
)

Read = Callable[[int, int], bytes]
"""Return `count` bytes from a position: `read(position, count)`."""

_PAIR, _INT, _SHORT = Struct(">iI"), Struct(">i"), Struct(">h")
_HOST = Struct(">4Bi")
# size, magic, body's checksum, queue id, flag, queue offset, physical offset, sysFlag, born at, born host, stored at, store host,
# reconsumeTimes, preparedTransactionOffset, body's length; hosts of IPv6 are longer.
_HEADS = {
    (BORN_IPV6 if born else 0) | (STORE_IPV6 if store else 0): Struct(f">iIiiiqqiq{20 if born else 8}sq{20 if store else 8}siqi")
    for born in (False, True)
    for store in (False, True)
}


class Head(NamedTuple):
    """The fixed part of a record. Hosts are address and port, as they are in message ids."""

    size: int
    magic: int
    body_crc: int
    queue_id: int
    flag: int
    queue_offset: int
    physical_offset: int
    sys_flag: int
    born_timestamp: int
    born_host: bytes
    store_timestamp: int
    store_host: bytes
    reconsume_times: int
    prepared_offset: int
    body_length: int

    @property
    def length(self) -> int:
        """Bytes of the fixed part; the body follows it."""
        return BODY_AT + len(self.born_host) + len(self.store_host) - 2 * _HOST.size


LONGEST_HEAD = BODY_AT + 2 * IPV6_MORE


def head_of(data: bytes | mmap, at: int = 0, *, hosts_by_flag: bool = True) -> Head | None:
    """Return the fixed part of the record at `at`; None if the data is too short. `hosts_by_flag`: see `segments.LogFile`."""
    if at + BODY_AT > len(data):
        return None
    form = _HEADS[_INT.unpack_from(data, at + SYS_FLAG_AT)[0] & HOSTS_IPV6 if hosts_by_flag else 0]
    return Head(*form.unpack_from(data, at)) if at + form.size <= len(data) else None


@dataclass(frozen=True, slots=True)
class RecordPlaces:
    """Positions and lengths of a record's parts inside the file. From the first length that exceeds the file on, lengths are -1.

    `size` is the stored size. `parts` is the sum of the lengths, -1 if they exceed the file.
    """

    size: int
    stored_offset: int
    body_at: int
    body_length: int
    topic_at: int
    topic_length: int
    properties_length: int
    parts: int


def parts_of(read: Read, at: int, length: int, head: Head) -> RecordPlaces:
    """Return the parts of the record at position `at` of a source of `length` bytes."""
    body_at = at + head.length
    second = head.magic == MESSAGE_MAGIC_V2
    topic_at = body_at + head.body_length + (2 if second else 1)
    if head.body_length < 0 or topic_at + 2 > length:
        return RecordPlaces(head.size, head.physical_offset, body_at, -1, -1, -1, -1, -1)
    count = read(topic_at - 2, 2)
    topic_length = _SHORT.unpack(count)[0] if second else count[1]
    properties_at = topic_at + topic_length + 2
    if topic_length < 0 or (not second and topic_length > TOPIC_LIMIT) or properties_at > length:
        return RecordPlaces(head.size, head.physical_offset, body_at, head.body_length, topic_at, -1, -1, -1)
    (properties_length,) = _SHORT.unpack(read(properties_at - 2, 2))
    end = properties_at + properties_length
    if properties_length < 0 or end > length:
        return RecordPlaces(head.size, head.physical_offset, body_at, head.body_length, topic_at, topic_length, -1, -1)
    return RecordPlaces(head.size, head.physical_offset, body_at, head.body_length, topic_at, topic_length, properties_length, end - at)


def properties_of(text: bytes) -> dict[bytes, bytes]:
    """Return the properties in a record's text. The last value of a name wins (SEND-26)."""
    items = (item.partition(bytes([NAME_END])) for item in text.split(bytes([PROPERTY_END])))
    return {name: value for name, _, value in items if name and value}


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """A complete record of a log; `at` is the position of its first byte."""

    at: int
    total_size: int
    body_crc: int
    queue_id: int
    flag: int
    queue_offset: int
    physical_offset: int
    sys_flag: int
    born_timestamp: int
    born_host: tuple[str, int]
    store_timestamp: int
    store_host: tuple[str, int]
    reconsume_times: int
    body: bytes
    topic: str
    properties_text: str
    parts_size: int
    """The sum of its lengths in bytes. The texts do not show it: invalid UTF-8 is replaced in them."""

    @property
    def transaction(self) -> int:
        return self.sys_flag & TRANSACTION_BITS

    @property
    def counted(self) -> bool:
        """Whether the record has an offset in its queue."""
        return self.transaction in (NOT, COMMIT)

    @property
    def end(self) -> int:
        return self.at + self.total_size

    @property
    def properties(self) -> Mapping[str, str]:
        return _parsed(self.properties_text)

    def __str__(self) -> str:
        return f"the record at {self.at} ({self.topic}, queue {self.queue_id})"


@lru_cache(maxsize=4096)
def _parsed(text: str) -> Mapping[str, str]:
    """Return the properties in a record's text. Many rules need them. An item without byte 1 is skipped."""
    pairs = (item.split("\x01", 1) for item in text.split("\x02"))
    return MappingProxyType({pair[0]: pair[1] for pair in pairs if len(pair) == 2})


class Damage(NamedTuple):
    """Where reading a log stops, and why."""

    at: int
    length: int
    reason: Reason

    def __str__(self) -> str:
        return f"{self.reason.sentence} at {self.at}"


@dataclass(slots=True)
class LogRecords:
    """A commit log up to `end`, in files of `file_size` bytes."""

    file_size: int
    end: int = 0
    records: list[StoredRecord] = field(default_factory=list)
    blanks: list[tuple[int, int]] = field(default_factory=list)
    damage: Damage | None = None

    def at(self, place: int) -> StoredRecord | None:
        return next((r for r in self.records if r.at == place), None)


def read_log(
    data: bytes | mmap, file_size: int, end: int | None = None, *, written: int | None = None, hosts_by_flag: bool = True
) -> LogRecords:
    """Read the joined files of a log from the first byte to `end` or the first damage.

    The default `end` is where only zeros follow. `written`: the position after which only zeros follow, if the caller knows it.
    `hosts_by_flag`: see `segments.LogFile`.
    """
    if written is None:
        written = len(data[:].rstrip(b"\0")) if end is None else 0
    log = LogRecords(file_size, len(data) if end is None else end)
    at = 0
    while at < log.end:
        if at + BLANK_SIZE > len(data):
            log.damage = Damage(at, log.end - at, Reason.TRUNCATED)
            break
        size, magic = _PAIR.unpack_from(data, at)
        if end is None and at >= written:
            log.end = at
            break
        if magic == BLANK_MAGIC:
            if at + size != (at // file_size + 1) * file_size or at + size > log.end:
                log.damage = Damage(at, log.end - at, Reason.BLANK)
                break
            log.blanks.append((at, size))
            at += size
            continue
        record = _record(data, at, hosts_by_flag=hosts_by_flag)
        if record is None:
            reason = Reason.LENGTHS if magic in (MESSAGE_MAGIC, MESSAGE_MAGIC_V2) else Reason.MAGIC if magic or size else Reason.HOLE
            log.damage = Damage(at, log.end - at, reason)
            break
        log.records.append(record)
        at += size
    return log


def records_in(data: bytes) -> Iterator[bytes]:
    """Yield the records in the body of a response to a pull or a query."""
    at = 0
    while at + _INT.size <= len(data):
        (size,) = _INT.unpack_from(data, at)
        if size <= 0:
            return
        yield data[at : at + size]
        at += size


def place_of(data: bytes) -> int:
    """Return the place in the log that a record contains."""
    return _long(data, PHYSICAL_OFFSET_AT)


def place_in_queue(data: bytes) -> int:
    """Return the queue offset that a record contains."""
    return _long(data, QUEUE_OFFSET_AT)


def born_of(data: bytes) -> int:
    """Return the born timestamp that a record contains, in ms."""
    return _long(data, BORN_TIMESTAMP_AT)


def _long(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 8], "big")


def record_at(data: bytes, place: int, *, hosts_by_flag: bool = True) -> StoredRecord | None:
    """Return the record in these bytes at `place` of a log; None if they are no record. `hosts_by_flag`: see `segments.LogFile`."""
    record = _record(data, 0, hosts_by_flag=hosts_by_flag)
    return None if record is None else replace(record, at=place)


def _record(data: bytes | mmap, at: int, *, hosts_by_flag: bool) -> StoredRecord | None:
    """Return the record at `at`, None if its lengths do not fit."""
    head = head_of(data, at, hosts_by_flag=hosts_by_flag)
    if head is None or head.magic not in (MESSAGE_MAGIC, MESSAGE_MAGIC_V2):
        return None
    parts = parts_of(lambda place, count: data[place : place + count], at, len(data), head)
    if parts.parts != head.size:
        return None
    body_end, topic_end = parts.body_at + parts.body_length, parts.topic_at + parts.topic_length
    return StoredRecord(
        at,
        head.size,
        head.body_crc,
        head.queue_id,
        head.flag,
        head.queue_offset,
        head.physical_offset,
        head.sys_flag,
        head.born_timestamp,
        host_of(head.born_host),
        head.store_timestamp,
        host_of(head.store_host),
        head.reconsume_times,
        data[parts.body_at : body_end],
        data[parts.topic_at : topic_end].decode("utf-8", "replace"),
        data[topic_end + _SHORT.size : at + head.size].decode("utf-8", "replace"),
        parts.parts,
    )


def host_of(data: bytes) -> tuple[str, int]:
    """Return the address and port in these bytes."""
    if len(data) == _HOST.size:
        a, b, c, d, port = _HOST.unpack(data)
        return f"{a}.{b}.{c}.{d}", port
    return data[: -_INT.size].hex(":", 2), _INT.unpack(data[-_INT.size :])[0]
