"""Kernels for index files: the previous entry of each entry in its slot, and whether a record has a key with a hash."""

# Numba's functions have no types that a checker knows.
# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc,import-untyped,untyped-decorator"
# pyright: basic, reportCallIssue=false
from __future__ import annotations

from typing import Final

from numba import njit

from rocketproof_model.routines.compiled import compiled
from rocketproof_protocol.flags import BORN_IPV6, STORE_IPV6

from .layout import (
    BODY_AT,
    FIXED_SIZE,
    IPV6_MORE,
    MAGIC_AT,
    MESSAGE_MAGIC,
    MESSAGE_MAGIC_V2,
    NAME_END,
    PROPERTY_END,
    STORE_TIMESTAMP_AT,
    SYS_FLAG_AT,
)
from .memory import big16, big32, big64, byte
from .texts import java_hash

_KEYS, _UNIQUE, _TAGS = (int.from_bytes(name, "little") for name in (b"KEYS", b"UNIQ_KEY", b"TAGS"))
_SEPARATOR: Final = ord("#")
_TAG: Final = ord("T")
_BLANK: Final = ord(" ")


@compiled
def chain(hashes, first, last, previous):
    """Write to `previous` the number of the previous entry of each entry's slot.

    Entries are numbered from `first` on. `last` has the newest entry of each slot and is updated.
    """
    slots = last.size
    for n in range(hashes.size):
        slot = abs(hashes[n]) % slots
        previous[n] = last[slot]
        last[slot] = first + n


@njit(nogil=True)
def _units(base, at, length):
    """Return how many 16-bit units a text has."""
    count = 0
    for n in range(length):
        octet = byte(base, at + n)
        count += (octet & 0xC0 != 0x80) + (octet >= 0xF0)
    return count


@njit(nogil=True)
def _hash(topic, base, at, length):
    """Return Java's hash of `topic#key`, made positive; `topic` is the topic's hash."""
    value = topic * 31 + _SEPARATOR
    for _ in range(_units(base, at, length)):
        value = value * 31 & 0xFFFFFFFF
    value = (value + java_hash(base, at, length)[1]) & 0xFFFFFFFF
    value = (value ^ 0x80000000) - 0x80000000
    return 0 if value == -0x80000000 else abs(value)


@njit(nogil=True)
def _has(base, topic, begin, end, wanted):
    """Return whether properties contain a key with this hash.

    Keys are UNIQ_KEY, each part of KEYS between blanks, and from 5.4 on TAGS with the prefix T.
    """
    tags = (topic * 31 + _SEPARATOR) * 31 + _TAG & 0xFFFFFFFF
    while begin < end:
        name_end = begin
        while name_end < end and byte(base, name_end) != NAME_END and byte(base, name_end) != PROPERTY_END:
            name_end += 1
        value = name_end + 1
        past = value
        while past < end and byte(base, past) != PROPERTY_END:
            past += 1
        name = 0
        if name_end - begin in (4, 8) and name_end < end and byte(base, name_end) == NAME_END:
            for n in range(name_end - begin):
                name |= byte(base, begin + n) << 8 * n
        if name == _UNIQUE and _hash(topic, base, value, past - value) == wanted:
            return True
        if name == _TAGS and _hash(tags, base, value, past - value) == wanted:
            return True
        if name == _KEYS:
            at = value
            for n in range(value, past + 1):
                if n == past or byte(base, n) == _BLANK:
                    if n > at and _hash(topic, base, at, n - at) == wanted:
                        return True
                    at = n + 1
        begin = past + 1 if name_end < end and byte(base, name_end) == NAME_END else name_end + 1
    return False


@compiled
def look_up(base, start, end, begins, hosts, offsets, hashes, n, facts):
    """Fill in lines of `facts` for the entries from number `n` on.

    The lines are: the entry points at a record; this record has the key; its store timestamp. The memory contains the physical offsets
    [start, end). Stops at the first entry whose record is not completely in memory and returns its number. A record at `begins` is decided
    even if its size exceeds the memory. `hosts`: the bits of sysFlag that make a host longer.
    """
    while n < offsets.size:
        if offsets[n] < start or offsets[n] + FIXED_SIZE > end:
            if offsets[n] != begins:
                return n
            facts[0, n] = 0
            n += 1
            continue
        at = offsets[n] - start
        size, magic = big32(base, at), big32(base, at + MAGIC_AT) & 0xFFFFFFFF
        facts[0, n] = facts[1, n] = facts[2, n] = 0
        if magic in (MESSAGE_MAGIC, MESSAGE_MAGIC_V2) and size >= FIXED_SIZE:
            if offsets[n] + size > end:
                if offsets[n] != begins:
                    return n
                n += 1
                continue
            system = big32(base, at + SYS_FLAG_AT) & hosts
            more = IPV6_MORE if system & BORN_IPV6 else 0
            body_at = at + BODY_AT + more + (IPV6_MORE if system & STORE_IPV6 else 0)
            length = big32(base, body_at - 4)
            wide = 1 if magic == MESSAGE_MAGIC_V2 else 0
            topic_at = body_at + length + 1 + wide
            facts[0, n] = 1
            facts[2, n] = big64(base, at + more + STORE_TIMESTAMP_AT)
            if length >= 0 and topic_at + 2 <= at + size:
                count = big16(base, topic_at - 2) if wide else byte(base, topic_at - 1)
                properties = topic_at + count + 2
                if count >= 0 and properties <= at + size and properties + big16(base, properties - 2) == at + size:
                    topic = java_hash(base, topic_at, count)[1] & 0xFFFFFFFF
                    facts[1, n] = _has(base, topic, properties, at + size, hashes[n])
                else:
                    facts[0, n] = 0
            else:
                facts[0, n] = 0
        n += 1
    return n
