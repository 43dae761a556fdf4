"""Kernels for files of the index: which entry comes before which in a slot, and whether a record has a key of a hash."""

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
    """Of entries in order, numbered from `first` on, the number of the one before each in its slot; `last` has the newest of each slot."""
    slots = last.size
    for n in range(hashes.size):
        slot = abs(hashes[n]) % slots
        previous[n] = last[slot]
        last[slot] = first + n


@njit(nogil=True)
def _units(base, at, length):
    """How many units of 16 bits a text has."""
    count = 0
    for n in range(length):
        each = byte(base, at + n)
        count += (each & 0xC0 != 0x80) + (each >= 0xF0)
    return count


@njit(nogil=True)
def _hash(topic, base, at, length):
    """The hash of a key behind a topic's: Java's, made positive."""
    value = topic * 31 + _SEPARATOR
    for _ in range(_units(base, at, length)):
        value = value * 31 & 0xFFFFFFFF
    value = (value + java_hash(base, at, length)[1]) & 0xFFFFFFFF
    value = (value ^ 0x80000000) - 0x80000000
    return 0 if value == -0x80000000 else abs(value)


@njit(nogil=True)
def _has(base, topic, begin, end, wanted):
    """Whether properties have a key of this hash: UNIQ_KEY, one of KEYS, which blanks part, or from 5.4 on TAGS behind a T of its own."""
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
def look_up(base, start, end, begins, hosts, offsets, hashes, n, found):
    """Fill in lines of `found` (a record is there, it has the key, its store timestamp) for entries from number `n` on; ends at one whose
    record is not whole in [start, end), the physical offsets of what is in memory, and gives its number. A record at `begins` is taken as
    it is, though its size leads out of these bytes. `hosts`: the bits of sysFlag that make a host longer."""
    while n < offsets.size:
        if offsets[n] < start or offsets[n] + FIXED_SIZE > end:
            if offsets[n] != begins:
                return n
            found[0, n] = 0
            n += 1
            continue
        at = offsets[n] - start
        size, magic = big32(base, at), big32(base, at + MAGIC_AT) & 0xFFFFFFFF
        found[0, n] = found[1, n] = found[2, n] = 0
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
            found[0, n] = 1
            found[2, n] = big64(base, at + more + STORE_TIMESTAMP_AT)
            if length >= 0 and topic_at + 2 <= at + size:
                count = big16(base, topic_at - 2) if wide else byte(base, topic_at - 1)
                properties = topic_at + count + 2
                if count >= 0 and properties <= at + size and properties + big16(base, properties - 2) == at + size:
                    topic = java_hash(base, topic_at, count)[1] & 0xFFFFFFFF
                    found[1, n] = _has(base, topic, properties, at + size, hashes[n])
                else:
                    found[0, n] = 0
            else:
                found[0, n] = 0
        n += 1
    return n
