"""Texts in kernels: numbers and hashes as Java makes them of strings."""

# Numba's functions have no types that a checker knows.
# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc,import-untyped,untyped-decorator"
# pyright: basic, reportCallIssue=false
from __future__ import annotations

import unicodedata
from typing import Final

import numpy as np
from numba import njit

from .memory import byte, word

_P2, _P4, _P8 = (31**power & 0xFFFFFFFF for power in (2, 4, 8))
_EVEN_BYTES, _EVEN_PAIRS = 0x00FF00FF00FF00FF, 0x0000FFFF0000FFFF
_HIGH_BITS: Final = 0x8080808080808080 - (1 << 64)
_ZEROS: Final = np.array([code for code in range(0x80, 0x10000) if unicodedata.decimal(chr(code), -1) == 0], np.int64)
_NO_INT: Final = 1 << 32
_TRUE: Final = int.from_bytes(b"true", "little")


@njit(nogil=True, inline="always")
def head(base, at, length):
    """The first bytes of a text, at most eight, as a word."""
    found = word(base, at)
    return found if length >= 8 else found & ((1 << 8 * length) - 1)


@njit(nogil=True)
def integer(base, at, length):
    """Whether a text is an int as `java_int` reads one, and which."""
    first = byte(base, at)
    here = at + 1 if first in (43, 45) else at
    end = at + length
    if here >= end:
        return False, 0
    value = 0
    while here < end:
        digit = byte(base, here) - 48
        size = 1
        if digit >= 80:
            digit, size = _wide_digit(base, here, end)
        if digit < 0 or digit > 9:
            return False, 0
        value = min(value * 10 + digit, _NO_INT)
        here += size
    if first == 45:
        value = -value
    return -2147483648 <= value <= 2147483647, value


@njit(nogil=True)
def _wide_digit(base, at, end):
    """The value of a decimal digit in two or three bytes, -1 for anything else, and how many bytes."""
    first = byte(base, at)
    more = 1 if 0xC2 <= first <= 0xDF else 2 if first & 0xF0 == 0xE0 else 0
    if more == 0 or at + more >= end:
        return -1, 1
    unit = first & (0x1F if more == 1 else 0x0F)
    for each in range(1, more + 1):
        following = byte(base, at + each)
        if following & 0xC0 != 0x80:
            return -1, 1
        unit = unit << 6 | following & 0x3F
    if more == 1 or unit >= 0x800:
        for zero in _ZEROS:
            if zero <= unit <= zero + 9:
                return unit - zero, more + 1
    return -1, 1


def integer_of(text: bytes) -> int | None:
    """Return the int that the kernel reads in a text, None where it reads none."""
    data = text + b"\0"  # the kernel looks at the first byte of an empty text too
    fine: bool
    value: int
    fine, value = integer(np.frombuffer(data, np.uint8).ctypes.data, 0, len(text))
    return value if fine else None


@njit(nogil=True)
def backward(base, at, length):
    """Whether a text is ten digits, and their number, the first digit being the lowest."""
    if length != 10:
        return False, 0
    value = 0
    for each in range(9, -1, -1):
        digit = byte(base, at + each) - 48
        if digit < 0 or digit > 9:
            return False, 0
        value = value * 10 + digit
    return True, value


@njit(nogil=True, inline="always")
def is_true(base, at, length):
    return length == 4 and (word(base, at) | 0x20202020) & 0xFFFFFFFF == _TRUE


@njit(nogil=True, inline="always")
def java_hash(base, at, length):
    """Whether a text is UTF-8, and the hash that Java gives it: over units of 16 bits."""
    value, done = 0, length & 7
    # Eight bytes at a time, the first ones with zeros before them, which the hash does not see.
    found = word(base, at) << 8 * (8 - done) if done else 0
    while True:
        if found & _HIGH_BITS:
            return _wide_hash(base, at, length)
        # Pairs of bytes, pairs of these, and again: Horner's rule in lanes of 16, 32 and 64 bits.
        pairs = (found & _EVEN_BYTES) * 31 + (found >> 8 & _EVEN_BYTES)
        fours = (pairs & _EVEN_PAIRS) * _P2 + (pairs >> 16 & _EVEN_PAIRS)
        value = value * _P8 + (fours & 0xFFFFFFFF) * _P4 + (fours >> 32)
        if done >= length:
            break
        found = word(base, at + done)
        done += 8
    return True, (value & 0xFFFFFFFF ^ 0x80000000) - 0x80000000


@njit(nogil=True, inline="always")
def is_text(base, at, length):
    """Whether bytes are UTF-8."""
    end = at + length
    while at < end:
        found = word(base, at) if end - at >= 8 else word(base, at) & ((1 << 8 * (end - at)) - 1)
        if found & _HIGH_BITS:
            return _wide_hash(base, at, end - at)[0]
        at += 8
    return True


@njit(nogil=True)
def _wide_hash(base, at, length):
    """The same, unit by unit."""
    value = 0
    here, end = at, at + length
    while here < end:
        first = byte(base, here)
        if first < 0x80:
            value = (value * 31 + first) & 0xFFFFFFFF
            here += 1
            continue
        more = 1 if 0xC2 <= first <= 0xDF else 2 if first & 0xF0 == 0xE0 else 3 if 0xF0 <= first <= 0xF4 else 0
        if more == 0 or here + more >= end:
            return False, 0
        point = first & (0x1F if more == 1 else 0x0F if more == 2 else 0x07)
        for each in range(1, more + 1):
            following = byte(base, here + each)
            if following & 0xC0 != 0x80:
                return False, 0
            point = point << 6 | following & 0x3F
        if (more == 2 and (point < 0x800 or 0xD800 <= point <= 0xDFFF)) or (more == 3 and (point < 0x10000 or point > 0x10FFFF)):
            return False, 0
        if point >= 0x10000:
            point -= 0x10000
            value = (value * 31 + (0xD800 | point >> 10)) & 0xFFFFFFFF
            point = 0xDC00 | point & 0x3FF
        value = (value * 31 + point) & 0xFFFFFFFF
        here += more + 1
    return True, (value ^ 0x80000000) - 0x80000000
