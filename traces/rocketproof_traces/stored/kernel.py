"""The kernel of a walk: read record after record of a buffer into rows of facts.

It continues while everything is regular: a magic number, a size that fits, lengths that add up to it. At an irregular position it stops and
returns the position, which slower code then classifies. For any bytes it reads only the buffer and up to MARGIN bytes around it.
"""

# Numba's functions have no types that a checker knows.
# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc,import-untyped,untyped-decorator"
# pyright: basic, reportCallIssue=false
from __future__ import annotations

from typing import Final

from numba import njit

from rocketproof_model.routines.compiled import compiled
from rocketproof_protocol.flags import BORN_IPV6, STORE_IPV6

from .crc import crc32
from .facts import LIMIT
from .kinds import RowKind
from .layout import (
    BLANK_MAGIC,
    BODY_AT,
    BODY_CRC_AT,
    BODY_LENGTH_AT,
    BORN_HOST_AT,
    BORN_TIMESTAMP_AT,
    FIXED_SIZE,
    FLAG_AT,
    IPV6_MORE,
    MESSAGE_MAGIC,
    MESSAGE_MAGIC_V2,
    PHYSICAL_OFFSET_AT,
    PREPARED_OFFSET_AT,
    QUEUE_ID_AT,
    QUEUE_OFFSET_AT,
    RECONSUME_TIMES_AT,
    STORE_HOST_AT,
    STORE_TIMESTAMP_AT,
    SYS_FLAG_AT,
    TOPIC_LIMIT,
)
from .memory import big16, big32, big64, byte, lowest, put, same, word
from .nametable import CAPACITY, COUNT, LONGEST, ROOM, USED
from .numbering import number_in
from .properties import CRC, RARE, read_properties
from .table import COLUMN_COUNT, LINE, line

PROPERTIES: Final = 2  # the flag for properties; `properties.CRC` is 1
SHORT_HOSTS: Final = 4  # the flag for IPv4 hosts regardless of sysFlag
FULL, STOP, MORE, ODD, GROW = range(5)
"""Why the kernel returns.

- FULL: no row is left.
- STOP: the stop is reached.
- MORE: the next record is not completely in the buffer.
- ODD: something is irregular.
- GROW: the name table has no room.
"""

_BLANK, _MESSAGE, _MESSAGE_V2 = RowKind.BLANK.value, RowKind.MESSAGE.value, RowKind.MESSAGE_V2.value
_FIRST, _SECOND, _BLANK_MAGIC = MESSAGE_MAGIC, MESSAGE_MAGIC_V2, BLANK_MAGIC

_KIND, _PHYSICAL, _SIZE, _PARTS, _STORED = map(line, ("kind", "physicalOffset", "size", "partsSize", "storedPhysicalOffset"))
_QUEUE_ID, _QUEUE_OFFSET, _FLAG, _SYS_FLAG = map(line, ("queueId", "queueOffset", "flag", "sysFlag"))
_BORN, _BORN_ADDRESS, _BORN_PORT = map(line, ("bornTimestamp", "bornAddress", "bornPort"))
_STORE, _STORE_ADDRESS, _STORE_PORT = map(line, ("storeTimestamp", "storeAddress", "storePort"))
_RECONSUMES, _PREPARED = map(line, ("reconsumeTimes", "preparedTransactionOffset"))
_BODY_LENGTH, _BODY_CRC, _COMPUTED = map(line, ("bodyLength", "bodyCRC", "computedCRC"))
_TOPIC, _TOPIC_LENGTH, _PROPERTIES_LENGTH = map(line, ("topic", "topicLength", "propertiesLength"))
_PRESENT, _ODD, _ITEMS, _IGNORED = map(line, ("properties", "odd", "items", "ignoredItems"))
_TAGS_HASH, _TAGS_AT, _TAGS_LENGTH, _KEYS_AT, _KEYS_LENGTH = map(line, ("tagsHash", "tagsAt", "tagsLength", "keysAt", "keysLength"))
_DELAY, _REAL_TOPIC, _REAL_QUEUE, _RETRY_TOPIC = map(line, ("delayLevel", "realTopic", "realQueueId", "retryTopic"))
_RECONSUME, _MAX_RECONSUME, _INNER = map(line, ("reconsumeTime", "maxReconsumeTimes", "innerNumber"))
_RECORD_CRC, _COMPUTED_RECORD = map(line, ("recordCRC", "computedRecordCRC"))
_REASON: Final = line("reason")


@njit(nogil=True, inline="always")
def _cut(value):
    return min(max(value, -LIMIT), LIMIT)


@njit(nogil=True, inline="always")
def _row(base, at, origin, flags, out, table, size, parts, body_at, body_length, topic_at, topic_length, properties_length):
    """Write the row of a record at `out`. A length of -1 means that the part is not read."""
    if word(out, _KIND) == 0 or word(out, _PRESENT) & RARE:
        # These columns are written only when they change: in new memory, and over a row with other values.
        put(out, _REASON, 0)
        put(out, _DELAY, 0)
        put(out, _REAL_TOPIC, -1)
        put(out, _REAL_QUEUE, -1)
        put(out, _RETRY_TOPIC, -1)
        put(out, _RECONSUME, -1)
        put(out, _MAX_RECONSUME, -1)
        put(out, _RECORD_CRC, -1)
        put(out, _COMPUTED_RECORD, -1)
        put(out, _INNER, 1)
    second = byte(base, at + 7) == _SECOND & 0xFF
    system = big32(base, at + SYS_FLAG_AT)
    hosts = 0 if flags & SHORT_HOSTS else system
    put(out, _KIND, _MESSAGE_V2 if second else _MESSAGE)
    put(out, _PHYSICAL, origin + at)
    put(out, _SIZE, size)
    put(out, _PARTS, parts)
    put(out, _STORED, _cut(big64(base, at + PHYSICAL_OFFSET_AT)))
    put(out, _QUEUE_ID, big32(base, at + QUEUE_ID_AT))
    put(out, _QUEUE_OFFSET, _cut(big64(base, at + QUEUE_OFFSET_AT)))
    put(out, _FLAG, big32(base, at + FLAG_AT))
    put(out, _SYS_FLAG, system)
    put(out, _BORN, _cut(big64(base, at + BORN_TIMESTAMP_AT)))
    born_more = IPV6_MORE if hosts & BORN_IPV6 else 0
    put(out, _BORN_ADDRESS, -1 if born_more else big32(base, at + BORN_HOST_AT) & 0xFFFFFFFF)
    put(out, _BORN_PORT, big32(base, at + BORN_HOST_AT + 4 + born_more))
    shifted_at = at + born_more
    put(out, _STORE, _cut(big64(base, shifted_at + STORE_TIMESTAMP_AT)))
    store_more = IPV6_MORE if hosts & STORE_IPV6 else 0
    put(out, _STORE_ADDRESS, -1 if store_more else big32(base, shifted_at + STORE_HOST_AT) & 0xFFFFFFFF)
    put(out, _STORE_PORT, big32(base, shifted_at + STORE_HOST_AT + 4 + store_more))
    shifted_at += store_more
    put(out, _RECONSUMES, big32(base, shifted_at + RECONSUME_TIMES_AT))
    put(out, _PREPARED, _cut(big64(base, shifted_at + PREPARED_OFFSET_AT)))
    put(out, _BODY_LENGTH, big32(base, shifted_at + BODY_LENGTH_AT))
    put(out, _BODY_CRC, big32(base, at + BODY_CRC_AT))
    wanted = flags & CRC and body_length >= 0
    put(out, _COMPUTED, crc32(base, body_at, body_length) & 0x7FFFFFFF if wanted else -1)
    put(out, _TOPIC, number_in(base, topic_at, topic_length, table) if 0 <= topic_length <= LONGEST else -1)
    put(out, _TOPIC_LENGTH, topic_length)
    put(out, _PROPERTIES_LENGTH, properties_length)
    if flags & PROPERTIES and properties_length > 0:
        read_properties(base, at, parts, flags, out, table, topic_at + topic_length + 2, properties_length)
    else:
        put(out, _PRESENT, 0)
        put(out, _ODD, 0)
        put(out, _ITEMS, 0)
        put(out, _IGNORED, 0)
        put(out, _TAGS_HASH, 0)
        put(out, _TAGS_AT, 0)
        put(out, _TAGS_LENGTH, 0)
        put(out, _KEYS_AT, 0)
        put(out, _KEYS_LENGTH, 0)


@compiled
def blank_row(out, kind, reason, position, size):
    """Write the row of a blank or of a corrupt stretch."""
    for column in range(COLUMN_COUNT):
        put(out, column * LINE, -1)
    put(out, _KIND, kind)
    put(out, _REASON, reason)
    put(out, _PHYSICAL, position)
    put(out, _SIZE, size)


@compiled
def walk(base, at, end, stop, limit, origin, flags, out, row, rows, table, known_lengths, header):
    """Walk from `at` on and write rows from `row` on; return the next row, the next position, and the reason of the stop.

    Positions count from the buffer's start at address `base`. The buffer contains bytes up to `end`, the file up to `limit`. No record is
    begun at or after `stop`. `origin` is the physical offset of position 0; `out` is the address of the row table, `table` that of the name
    table.

    `known_lengths`, if it is not 0, is the address of seven words about one record, which is completely in the buffer. The words are: size,
    sum of parts, offsets of body and topic in the record, lengths of body, topic and properties. The kernel writes only the row of this
    record.

    `header`: bytes between a record and the next, which are not examined.
    """
    while True:
        if at >= stop:
            return row, at, STOP
        if row >= rows:
            return row, at, FULL
        if known_lengths:
            size, parts = word(known_lengths, 0), word(known_lengths, 8)
            body_at, topic_at = at + word(known_lengths, 16), at + word(known_lengths, 24)
            body_length, topic_length, properties_length = word(known_lengths, 32), word(known_lengths, 40), word(known_lengths, 48)
        else:
            if at + 8 > end:
                return row, at, MORE if at + 8 <= limit else ODD
            size = big32(base, at)
            magic = big32(base, at + 4) & 0xFFFFFFFF
            if magic not in (_FIRST, _SECOND):
                if magic != _BLANK_MAGIC or header or size != limit - at:
                    return row, at, ODD
                blank_row(out + row * 8, _BLANK, 0, origin + at, size)
                row += 1
                at = limit
                continue
            if size < FIXED_SIZE or size > limit - at:
                return row, at, ODD
            if at + size > end:
                return row, at, MORE
            if word(table, COUNT) + 3 > word(table, CAPACITY) or word(table, USED) + 3 * LONGEST > word(table, ROOM):
                return row, at, GROW
            hosts = 0 if flags & SHORT_HOSTS else big32(base, at + SYS_FLAG_AT)
            body_at = at + BODY_AT + (IPV6_MORE if hosts & BORN_IPV6 else 0) + (IPV6_MORE if hosts & STORE_IPV6 else 0)
            body_length = big32(base, body_at - 4)
            wide = 1 if magic == _SECOND else 0
            topic_at = body_at + body_length + 1 + wide
            if body_length < 0 or topic_at + 2 > at + size:
                return row, at, ODD
            topic_length = big16(base, topic_at - 2) if wide else byte(base, topic_at - 1)
            properties_at = topic_at + topic_length + 2
            if topic_length < 0 or (not wide and topic_length > TOPIC_LIMIT) or properties_at > at + size:
                return row, at, ODD
            properties_length = big16(base, properties_at - 2)
            parts = properties_at + properties_length - at
            if properties_length < 0 or parts != size:
                return row, at, ODD
        _row(
            base, at, origin, flags, out + row * 8, table, size, parts, body_at, body_length, topic_at, topic_length, properties_length
        )  # fmt: skip
        row += 1
        at += size + header
        if known_lengths:
            return row, at, FULL


@compiled
def find_magic(base, at, end):
    """Return the first position in [at, end) with one of the three magic numbers, which ends before `end`; `end` for none."""
    while at + 4 <= end:
        marks = same(base, at, _FIRST >> 24) | same(base, at, _BLANK_MAGIC >> 24)
        while marks:
            here = at + lowest(marks)
            if here + 4 > end:
                return end
            magic = big32(base, here) & 0xFFFFFFFF
            if magic in (_FIRST, _SECOND, _BLANK_MAGIC):
                return here
            marks &= marks - 1
        at += 64
    return end


@compiled
def find_reaching(base, at, end):
    """Return the first position in [at, end) with a magic number whose preceding size extends beyond `end`; `end` for none."""
    here = find_magic(base, at, end)
    while here < end and here - 4 + big32(base, here - 4) <= end:
        here = find_magic(base, here + 1, end)
    return here


@compiled
def find_data(base, at, end):
    """Return the first and the last position in [at, end) that is not zero; `end` and `at` - 1 for none."""
    first = at
    while first < end and (first + 8 > end or word(base, first) == 0):
        if first + 8 > end and byte(base, first) != 0:
            break
        first += 1 if first + 8 > end else 8
    while first < end and byte(base, first) == 0:
        first += 1
    last = end - 1
    while last > first and byte(base, last) == 0:
        last -= 1
    return (first, last) if first < end else (end, at - 1)
