"""The kernel's side of the table of names: the number of a name, which is added where it is new."""

# Numba's functions have no types that a checker knows.
# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc,import-untyped,untyped-decorator"
# pyright: basic, reportCallIssue=false
from __future__ import annotations

from numba import njit

from rocketproof_model.routines.compiled import compiled

from .memory import byte, put, put_byte, word
from .nametable import COUNT, HASHES, LENGTHS, MASK, POOL, SLOTS, STARTS, USED
from .texts import head

_FACTOR, _FACTOR_2, _FACTOR_3 = -7046029254386353131, -4658895280553007687, -7723592293110705685  # odd, their bits as if by chance


@njit(nogil=True, inline="always")
def _hash(base, at, length):
    """Of the first, middle and last eight bytes: names of up to 24 bytes are seen as a whole."""
    if length < 8:
        value = head(base, at, length) * _FACTOR
    else:
        value = word(base, at) * _FACTOR ^ word(base, at + (length >> 1) - 4) * _FACTOR_2 ^ word(base, at + length - 8) * _FACTOR_3
    value = (value ^ value >> 29) * _FACTOR + length
    return value ^ value >> 32


@njit(nogil=True, inline="always")
def _is(number, value, base, at, length, table):
    """Whether a name has a number, by its hash, its length and the bytes that the hash is of: all of them up to 24."""
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
    """The number of a name, which is added where it is new. There must be room for a new one."""
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
    for each in range(length):
        put_byte(word(table, POOL), used + each, byte(base, at + each))
    put(table, COUNT, number + 1)
    put(table, USED, used + length)
    return number


@njit(nogil=True, inline="always")
def number_in(base, at, length, table):
    """The same for a loop over records: it has only the usual case, as the compiler would do for each name what long ones need."""
    value = _hash(base, at, length)
    number = word(word(table, SLOTS), (value & word(table, MASK)) * 8) - 1
    if number >= 0 and length <= 24 and _is(number, value, base, at, length, table):
        return number
    return number_of(base, at, length, table)
