"""The kernel that reads a record's properties: it splits their text like a broker and decodes the known values (SEND-26)."""

# Numba's functions have no types that a checker knows.
# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc,import-untyped,untyped-decorator"
# pyright: basic, reportCallIssue=false
from __future__ import annotations

from typing import Final

import numpy as np
from numba import njit

from rocketproof_protocol.properties import (
    CRC32,
    DELAY,
    KEYS,
    MAX_RECONSUME_TIMES,
    REAL_QID,
    REAL_TOPIC,
    RECONSUME_TIME,
    RETRY_TOPIC,
    TAGS,
    TRAN_MSG,
    WAIT,
)

from .crc import crc32
from .kinds import BIT, NO_TEXT, PROPERTIES, RUN_ON
from .layout import NAME_END, PROPERTY_END, RECORD_CRC_SIZE
from .memory import lowest, put, same, word
from .nametable import LONGEST
from .numbering import number_of
from .table import line
from .texts import backward, head, integer, is_text, is_true, java_hash

CRC: Final = 1
"""The flag for checksums."""
_PRESENT, _ODD, _ITEMS, _IGNORED = map(line, ("properties", "odd", "items", "ignoredItems"))
_TAGS_HASH, _TAGS_AT, _TAGS_LENGTH, _KEYS_AT, _KEYS_LENGTH = map(line, ("tagsHash", "tagsAt", "tagsLength", "keysAt", "keysLength"))
_DELAY, _REAL_TOPIC, _REAL_QUEUE, _RETRY_TOPIC = map(line, ("delayLevel", "realTopic", "realQueueId", "retryTopic"))
_RECONSUME, _MAX_RECONSUME, _INNER = map(line, ("reconsumeTime", "maxReconsumeTimes", "innerNumber"))
_RECORD_CRC, _COMPUTED_RECORD = map(line, ("recordCRC", "computedRecordCRC"))

_B_TAGS, _B_KEYS, _B_WAIT, _B_DELAY, _B_TRAN_MSG = (BIT[name] for name in (TAGS, KEYS, WAIT, DELAY, TRAN_MSG))
_B_REAL_TOPIC, _B_REAL_QID, _B_RETRY_TOPIC, _B_CRC = (BIT[name] for name in (REAL_TOPIC, REAL_QID, RETRY_TOPIC, CRC32))
_B_RECONSUME, _B_MAX = BIT[RECONSUME_TIME], BIT[MAX_RECONSUME_TIMES]
_DECODED: Final = sum(BIT[name] for name, form in PROPERTIES.items() if form and name != TAGS) | _B_CRC
RARE: Final = _DECODED & ~(_B_WAIT | _B_TRAN_MSG)
"""Properties with a column for their value."""
_LONG: Final = sum(bit for name, bit in BIT.items() if len(name) > 8)


def _spread(word: int, factor: int) -> int:
    return (word * factor >> 58) & 63


def _heads() -> tuple[int, np.ndarray]:
    """Return a factor that maps each known name to its own line, and the lines: first eight bytes, bit, length, last and second eight
    bytes."""
    words = {
        name: [int.from_bytes(part, "little") for part in (name.encode()[:8], name.encode()[-8:], name.encode()[8:16])] for name in BIT
    }
    factor = next(
        f for f in range(0x9E3779B97F4A7C15, 1 << 64, 2) if len({_spread(head, f) for head, _, _ in words.values()}) == len(words)
    )
    lines = np.zeros((64, 5), np.int64)
    for name, (first, last, second) in words.items():
        lines[_spread(first, factor)] = [first, BIT[name], len(name), last, second if len(name) > 16 else 0]
    return factor - (1 << 64), lines


_SPREAD, _HEADS = _heads()


@njit(nogil=True, inline="always")
def _known(base, at, length):
    """Return the bit of a property's name, 0 for an unknown name."""
    first = head(base, at, length)
    line = (first * _SPREAD >> 58) & 63
    bit = _HEADS[line, 1] if (_HEADS[line, 0] ^ first) | (_HEADS[line, 2] ^ length) == 0 else 0
    if bit & _LONG and not (word(base, at + length - 8) == _HEADS[line, 3] and (length <= 16 or word(base, at + 8) == _HEADS[line, 4])):
        return 0
    return bit


@njit(nogil=True)
def _property(base, record, size, flags, out, bit, at, length):
    """Write the value of a known property; return whether it is odd."""
    if bit in (_B_WAIT, _B_TRAN_MSG):
        return not is_true(base, at, length)
    if bit == _B_CRC:
        is_valid, value = backward(base, at, length)
        put(out, _RECORD_CRC, value if is_valid else -1)
        if flags & CRC and size > RECORD_CRC_SIZE:
            put(out, _COMPUTED_RECORD, crc32(base, record, size - RECORD_CRC_SIZE) & 0x7FFFFFFF)
        return not is_valid
    is_valid, value = integer(base, at, length)
    if bit == _B_DELAY:
        put(out, _DELAY, value if is_valid else 0)
    elif bit == _B_REAL_QID:
        put(out, _REAL_QUEUE, value if is_valid else -1)
    elif bit == _B_RECONSUME:
        put(out, _RECONSUME, value if is_valid else -1)
    elif bit == _B_MAX:
        put(out, _MAX_RECONSUME, value if is_valid else -1)
    else:
        put(out, _INNER, value if is_valid else 1)
    return not is_valid


@njit(nogil=True)
def _topic(base, out, column, table, at, length):
    """Write the number of a topic; return False if the name is too long for a number."""
    if length > LONGEST:
        return False
    put(out, column, number_of(base, at, length, table))
    return True


@njit(nogil=True, inline="always")
def _contains_name_end(base, at, length):
    """Return whether a text contains the byte that separates a name from its value."""
    while length >= 64:
        if same(base, at, NAME_END):
            return True
        at += 64
        length -= 64
    return same(base, at, NAME_END) & (1 << length) - 1 != 0


@njit(nogil=True, inline="always")
def read_properties(base, record, size, flags, out, table, begin, length):
    """Read the properties' text like a broker: the last value of a name wins (SEND-26)."""
    present, odd, items, ignored = 0, 0 if is_text(base, begin, length) else NO_TEXT, 0, 0
    tags_at, tags_length, keys_at, keys_length = record, 0, record, 0
    real_at, real_length, retry_at, retry_length = record, 0, record, 0
    end = begin + length
    block, name_end_before = begin, -1  # `name_end_before`: the end of the name of an item that began in an earlier block
    while True:
        left = end - block
        names, values = same(base, block, NAME_END), same(base, block, PROPERTY_END)
        if left < 64:
            # The end of the text ends an item too.
            names &= (1 << left) - 1
            values = values & (1 << left) - 1 | 1 << left
        while values:
            here = block + lowest(values)
            item_mask = values ^ (values - 1)
            name_end = name_end_before if name_end_before >= 0 else block + lowest(names & item_mask)
            if begin < name_end < here - 1:
                items += 1
                bit = _known(base, begin, name_end - begin)
                present |= bit
                at, count = name_end + 1, here - name_end - 1
                tags_at, tags_length = (at, count) if bit == _B_TAGS else (tags_at, tags_length)
                keys_at, keys_length = (at, count) if bit == _B_KEYS else (keys_at, keys_length)
                if bit == _B_REAL_TOPIC:
                    real_at, real_length = at, count
                elif bit == _B_RETRY_TOPIC:
                    retry_at, retry_length = at, count
                elif bit & _DECODED:
                    odd &= ~bit
                    if _property(base, record, size, flags, out, bit, at, count):
                        odd |= bit
            elif begin < end:
                ignored += 1
            begin, name_end_before = here + 1, -1
            names &= ~item_mask
            values &= values - 1
        if left < 64:
            break
        if name_end_before < 0 and names:
            name_end_before = block + lowest(names)
        block += 64
    # Only after the loop: the name table has room for one name of each kind.
    if real_length and not _topic(base, out, _REAL_TOPIC, table, real_at, real_length):
        odd |= _B_REAL_TOPIC
    if retry_length and not _topic(base, out, _RETRY_TOPIC, table, retry_at, retry_length):
        odd |= _B_RETRY_TOPIC
    is_utf8, value = java_hash(base, tags_at, tags_length)
    put(out, _TAGS_HASH, value)
    put(out, _TAGS_AT, tags_at - record)
    put(out, _TAGS_LENGTH, tags_length)
    put(out, _KEYS_AT, keys_at - record)
    put(out, _KEYS_LENGTH, keys_length)
    put(out, _PRESENT, present)
    if _contains_name_end(base, tags_at, tags_length):
        odd |= RUN_ON
    put(out, _ODD, odd if is_utf8 else odd | _B_TAGS)
    put(out, _ITEMS, items)
    put(out, _IGNORED, ignored)
