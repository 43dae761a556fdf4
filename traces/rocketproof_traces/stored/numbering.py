"""The kernel's part of the name table: return the number of a name; a new name is added."""

# Numba's functions have no types that a checker knows.
# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc,import-untyped,untyped-decorator"
# pyright: basic, reportCallIssue=false
from __future__ import annotations

from numba import njit

from rocketproof_model.routines.compiled import compiled

from .memory import byte, put, put_byte, word
from .nametable import COUNT, HASHES, LENGTHS, MASK, POOL, SLOTS, STARTS, USED
from .texts import head

_FACTOR, _FACTOR_2, _FACTOR_3 = -7046029254386353131, -4658895280553007687, -7723592293110705685  # odd numbers with random bits


@njit(nogil=True, inline="always")
def _hash(base, at, length):
    """Hash the first, middle and last eight bytes: all bytes of names up to 24 bytes."""
    if length < 8:
        value = head(base, at, length) * _FACTOR
    else:
        value = word(base, at) * _FACTOR ^ word(base, at + (length >> 1) - 4) * _FACTOR_2 ^ word(base, at + length - 8) * _FACTOR_3
    value = (value ^ value >> 29) * _FACTOR + length
    return value ^ value >> 32


@njit(nogil=True, inline="always")
def _is(number, value, base, at, length, table):
    """Return whether a name has this number: compare the hash, the length and the hashed bytes (all of them up to 24)."""
    there = word(table, POOL) + word(word(table, STARTS), number * 8)
    if word(word(table, HASHES), number * 8) != value or word(word(table, LENGTHS), number * 8) != length:
        return False
    if length < 8:
        return head(base, at, length) == head(there, 0, length)
    middle, last = (length >> 1) - 4, length - 8
    differ = word(base, at) ^ word(there, 0)
    differ |= word(base, at + middle) ^ word(there, middle)
    differ |= word(base, at + last) ^ word(there, last)
    return differ == 0


@compiled
def number_of(base, at, length, table):
    """Return the number of a name; a new name is added, for which there must be room."""
    value = _hash(base, at, length)
    slots, mask = word(table, SLOTS), word(table, MASK)
    slot = value & mask
    while True:
        number = word(slots, slot * 8) - 1
        if number < 0:
            break
        if _is(number, value, base, at, length, table):
            there = word(table, POOL) + word(word(table, STARTS), number * 8)
            done = 8
            while done < length - 8 and word(base, at + done) == word(there, done):
                done += 8
            if done >= length - 8:
                return number
        slot = (slot + 1) & mask
    number, used = word(table, COUNT), word(table, USED)
    put(slots, slot * 8, number + 1)
    put(word(table, HASHES), number * 8, value)
    put(word(table, LENGTHS), number * 8, length)
    put(word(table, STARTS), number * 8, used)
    for n in range(length):
        put_byte(word(table, POOL), used + n, byte(base, at + n))
    put(table, COUNT, number + 1)
    put(table, USED, used + length)
    return number


@njit(nogil=True, inline="always")
def number_in(base, at, length, table):
    """Return the same, for a loop over records. It has only the usual case inline, so that the compiler does not inline the case of long
    names."""
    value = _hash(base, at, length)
    number = word(word(table, SLOTS), (value & word(table, MASK)) * 8) - 1
    if number >= 0 and length <= 24 and _is(number, value, base, at, length, table):
        return number
    return number_of(base, at, length, table)
