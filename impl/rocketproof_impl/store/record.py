"""A record of the commit log: a message as bytes and back (APP-08).

All numbers are big-endian. The fixed part before the body has 88 bytes. After the body come the topic with a length of one byte, and the
properties with a length of two.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from ipaddress import ip_address
from struct import Struct
from typing import NamedTuple

from rocketproof_protocol.flags import BORN_IPV6, HOSTS_IPV6, STORE_IPV6

from ..java import utf8
from ..message import Host, Message, parse_properties

MESSAGE_MAGIC, BLANK_MAGIC = -626843481, -875286124
FIXED_SIZE = 91  # the smallest record: 88 bytes before the body, and three bytes for the lengths of topic and properties
BLANK_SIZE = 8  # the size and magic number of a blank, and the bytes that remain free after a record (APP-07)
TOPIC_LIMIT = 127  # the largest signed byte
PROPERTIES_LIMIT = 32767  # the largest signed short
IPV6_MORE = 12  # additional bytes of an IPv6 host

# totalSize magic bodyCRC queueId flag | queueOffset physicalOffset | sysFlag | bornTimestamp bornHost storeTimestamp storeHost
# | reconsumeTimes | preparedTransactionOffset | bodyLength
_FIXED = Struct(">iiiiiqqiq8sq8siqi")
_LONGER = {
    (BORN_IPV6 if born else 0) | (STORE_IPV6 if store else 0): Struct(f">iiiiiqqiq{20 if born else 8}sq{20 if store else 8}siqi")
    for born, store in ((True, False), (False, True), (True, True))
}
_LONGEST_HEAD = _LONGER[HOSTS_IPV6].size
_LAST_BYTE_OF_FLAG = 39
_STORE_TIMESTAMP = Struct(">q")
_STORE_TIMESTAMP_AT = 56
_BLANK = Struct(">ii")
_SHORT = Struct(">H")
_SIGNED_SHORT = Struct(">h")
_INT = Struct(">i")
_HOST_SIZE = 8
_LARGEST_PORT = 65535


@dataclass(slots=True)
class RecordParts:
    """The variable parts of a record as bytes, its host flags, and the size of the whole record.

    `host_flags` are the bits BORN_IPV6 and STORE_IPV6 of the sysFlag, 0 in releases without IPv6.
    """

    body: bytes
    topic: bytes
    properties: bytes
    size: int
    host_flags: int = 0


def parts_of(message: Message, *, hosts_by_flag: bool = True) -> RecordParts:
    """Return the parts of a message's record, which are needed before the record has its position (APP-06)."""
    text = message.properties_text
    properties = b"" if text is None else utf8(text)
    return make_parts(message.body or b"", message.topic, properties, message.sys_flag & HOSTS_IPV6 if hosts_by_flag else 0)


def make_parts(body: bytes, topic: str, properties: bytes, host_flags: int = 0) -> RecordParts:
    """Return the parts and the size of their record: 91 bytes, 12 per flagged host, and the variable parts (APP-06)."""
    name = utf8(topic)
    return RecordParts(body, name, properties, FIXED_SIZE + longer_hosts(host_flags) + len(body) + len(name) + len(properties), host_flags)


def longer_hosts(sys_flag: int) -> int:
    """Return the additional bytes of a record's hosts, according to its flag (APP-08)."""
    return IPV6_MORE * (bool(sys_flag & BORN_IPV6) + bool(sys_flag & STORE_IPV6))


def flags_of_hosts(message: Message) -> int:
    """Return the bits of sysFlag that a broker sets for IPv6 hosts."""
    return (BORN_IPV6 if ":" in message.born_host[0] else 0) | (STORE_IPV6 if ":" in message.store_host[0] else 0)


def missing_bytes(message: Message, host_flags: int) -> int:
    """Return how many bytes shorter than its size a record is written: 12 for each IPv4 host that is flagged as IPv6 (HAZ-51)."""
    return longer_hosts(host_flags & ~flags_of_hosts(message))


def encode(message: Message, parts: RecordParts) -> bytes:
    """Return the record of a message that has its offsets and times (APP-08, APP-09).

    The length of a host depends on its address. If a client sets the IPv6 flag for an IPv4 address, the record's size includes 12 bytes
    that are not written (HAZ-51). A release without IPv6 keeps the first four bytes of an IPv6 address.
    """
    body, topic, properties = parts.body, parts.topic, parts.properties
    by_flag, layout = parts.host_flags, _FIXED
    born_host, store_host = host_bytes(message.born_host), host_bytes(message.store_host)
    if len(born_host) + len(store_host) > 2 * _HOST_SIZE:
        born_host, store_host = _of_release(born_host, by_flag & BORN_IPV6), _of_release(store_host, by_flag & STORE_IPV6)
        layout = _layout(flags_of_hosts(message) & by_flag)
    fixed = layout.pack(
        parts.size,
        MESSAGE_MAGIC,
        message.body_crc,
        message.queue_id,
        message.flag,
        message.queue_offset,
        message.physical_offset,
        message.sys_flag,
        message.born_timestamp,
        born_host,
        message.store_timestamp,
        store_host,
        message.reconsume_times,
        message.prepared_transaction_offset,
        len(body),
    )
    # Java casts the lengths to a byte and a short: a longer topic loses the high bits.
    data = b"".join((fixed, body, bytes((len(topic) & 0xFF,)), topic, _SHORT.pack(len(properties) & 0xFFFF), properties))
    return data if len(data) == parts.size else _misplaced(message, data, parts.size)


def _layout(host_flags: int) -> Struct:
    """Return the layout of the fixed part for hosts of these kinds."""
    return _LONGER[host_flags] if host_flags else _FIXED


def _of_release(host: bytes, is_flagged: int) -> bytes:
    """Return the bytes of a host in a record. Without its flag there is room for only four bytes of its address."""
    return host if is_flagged or len(host) == _HOST_SIZE else host[:4] + host[-4:]


def _misplaced(message: Message, written: bytes, size: int) -> bytes:
    """Return the bytes of a record whose hosts are shorter than its size specifies.

    The store timestamp is also written where it would be after longer hosts. The missing bytes are zeros.
    """
    data = bytearray(written.ljust(size, b"\0"))
    if message.sys_flag & BORN_IPV6:
        _STORE_TIMESTAMP.pack_into(data, _STORE_TIMESTAMP_AT + IPV6_MORE, message.store_timestamp)
    return bytes(data)


class RecordLengths(Enum):
    """Whether a record's lengths add up to its size (WHOLE), to another size (UNEQUAL), or exceed it (UNREADABLE)."""

    WHOLE, UNEQUAL, UNREADABLE = range(3)


def shape(data: bytes, *, hosts_by_flag: bool = True) -> RecordLengths:
    """Return how the lengths inside a record relate to its size. Checksum and magic number are not checked."""
    length = extent(lambda at, size: data[at : at + size], len(data), hosts_by_flag=hosts_by_flag)
    if length is None:
        return RecordLengths.UNREADABLE
    return RecordLengths.WHOLE if length == size_and_magic(data)[0] == len(data) else RecordLengths.UNEQUAL


def extent(read: Callable[[int, int], bytes], size: int, *, hosts_by_flag: bool) -> int | None:
    """Return how many bytes the lengths inside a record add up to; None if one is negative or the sum exceeds `size` bytes.

    `read(at, size)` returns bytes of the record. Only its lengths are read, so a damaged record costs no more than a valid one.
    """
    head = read(0, min(size, _LONGEST_HEAD))
    if len(head) < FIXED_SIZE:
        return None
    body_at = _layout(head[_LAST_BYTE_OF_FLAG] & HOSTS_IPV6 if hosts_by_flag else 0).size
    if len(head) < body_at:
        return None
    body_end = body_at + _INT.unpack_from(head, body_at - _INT.size)[0]
    if not body_at <= body_end < size:
        return None
    topic_end = body_end + 1 + read(body_end, 1)[0]
    if topic_end > body_end + 1 + TOPIC_LIMIT or topic_end + 2 > size:
        return None
    end: int = topic_end + 2 + max(0, _SIGNED_SHORT.unpack(read(topic_end, 2))[0])
    return end if end <= size else None


def decode(data: bytes, *, exact: bool, hosts_by_flag: bool = True, whole: bool = False) -> Message | None:
    """Return the message of a record, None if the lengths inside exceed it (REC-01), or with `whole` if they do not add up.

    `exact` selects how properties are parsed (SEND-26). The magic number is not checked: an offset inside a record may give garbage. A
    record with a port above 65535 is not a message, but a dispatcher (`whole`) does not check hosts.
    """
    opened = _open(data, hosts_by_flag=hosts_by_flag)
    if opened is None or (whole and opened.size != opened.fixed.total_size):
        return None
    fixed, body, topic, properties, _ = opened
    text = properties.decode("utf-8", "replace") if properties else None
    born_host, store_host = read_host(fixed.born_host), read_host(fixed.store_host)
    if not whole and not (0 <= born_host[1] <= _LARGEST_PORT and 0 <= store_host[1] <= _LARGEST_PORT):
        return None
    return Message(
        topic=topic.decode("utf-8", "replace"),
        queue_id=fixed.queue_id,
        body=body or None,
        flag=fixed.flag,
        properties=parse_properties(text, exact=exact),
        properties_text=text,
        sys_flag=fixed.sys_flag,
        born_timestamp=fixed.born_timestamp,
        born_host=born_host,
        store_host=store_host,
        reconsume_times=fixed.reconsume_times,
        prepared_transaction_offset=fixed.prepared_transaction_offset,
        store_timestamp=fixed.store_timestamp,
        body_crc=fixed.body_crc,
        queue_offset=fixed.queue_offset,
        physical_offset=fixed.physical_offset,
        store_size=fixed.total_size,
        msg_id=message_id(store_host, fixed.physical_offset, longer=len(fixed.store_host) > _HOST_SIZE),
    )


def is_whole(data: bytes, *, hosts_by_flag: bool = True) -> bool:
    """Return whether the bytes are one undamaged record: magic number, checksum of the body, and recomputed length (REC-02)."""
    opened = _open(data, hosts_by_flag=hosts_by_flag)
    return (
        opened is not None
        and opened.fixed.magic == MESSAGE_MAGIC
        and opened.fixed.total_size == opened.size == len(data)
        and (not opened.body or opened.fixed.body_crc == body_crc(opened.body))
    )


class _Fixed(NamedTuple):
    total_size: int
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
    prepared_transaction_offset: int
    body_length: int


class _Opened(NamedTuple):
    """The fixed fields, body, topic and properties of a record; `size` is the sum of their lengths."""

    fixed: _Fixed
    body: bytes
    topic: bytes
    properties: bytes
    size: int


def _open(data: bytes, *, hosts_by_flag: bool) -> _Opened | None:
    """Return the fields of a record; None if a length is negative or exceeds the bytes. A negative length of the properties counts as 0."""
    if len(data) < FIXED_SIZE:
        return None
    layout = _layout(data[_LAST_BYTE_OF_FLAG] & HOSTS_IPV6 if hosts_by_flag else 0)
    body_at = layout.size
    if len(data) < body_at:
        return None
    fixed = _Fixed._make(layout.unpack_from(data))
    body_end = body_at + fixed.body_length
    if not body_at <= body_end < len(data):
        return None
    topic_length = data[body_end]
    topic_end = body_end + 1 + topic_length
    if topic_length > TOPIC_LIMIT or topic_end + 2 > len(data):
        return None
    end = topic_end + 2 + max(0, _SIGNED_SHORT.unpack_from(data, topic_end)[0])
    if end > len(data):
        return None
    return _Opened(fixed, data[body_at:body_end], data[body_end + 1 : topic_end], data[topic_end + 2 : end], end)


def size_and_magic(data: bytes) -> tuple[int, int]:
    """Return the first two numbers of a record or a blank."""
    size, magic = _BLANK.unpack_from(data)
    return size, magic


def blank(size: int) -> bytes:
    """Return the bytes that fill the rest of a file: its size and the blank magic number (APP-07)."""
    return _BLANK.pack(size, BLANK_MAGIC)


def body_crc(body: bytes | None) -> int:
    """Return the CRC-32 of the body without its highest bit, 0 without a body (CL-01)."""
    return 0 if body is None else zlib.crc32(body) & 0x7FFFFFFF


@lru_cache(maxsize=4096)
def host_bytes(host: Host) -> bytes:
    """Return the address, four bytes for IPv4 or sixteen for IPv6, and four bytes of port. Raises ValueError for a host name."""
    address, port = host
    return ip_address(address).packed + _INT.pack(port)


@lru_cache(maxsize=4096)
def read_host(data: bytes) -> Host:
    """Return the host of eight bytes, or of twenty: an IPv6 address as groups of four hexadecimal digits."""
    port: int = _INT.unpack_from(data, len(data) - _INT.size)[0]
    if len(data) > _HOST_SIZE:
        return data[:-4].hex(":", 2), port
    a, b, c, d = data[:4]
    return f"{a}.{b}.{c}.{d}", port


@lru_cache(maxsize=256)
def _host_text(host: Host, *, longer: bool) -> str:
    """Return a host as hexadecimal digits. With `longer`, an IPv4 address is padded with zeros."""
    data = _of_release(host_bytes(host), longer)
    return data.hex().upper().ljust(2 * (_HOST_SIZE + IPV6_MORE) if longer else 0, "0")


def message_id(store_host: Host, physical_offset: int, *, longer: bool = False) -> str:
    """Return store host and physical offset as 32 upper-case hexadecimal digits, 56 with a `longer` host (APP-02, INV-43)."""
    return f"{_host_text(store_host, longer=longer)}{physical_offset & 0xFFFF_FFFF_FFFF_FFFF:016X}"
