"""Kernels for texts: the numbers and hashes that Java makes of strings."""

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
    """Return the first bytes of a text, at most eight, as a word."""
    first = word(base, at)
    return first if length >= 8 else first & ((1 << 8 * length) - 1)


@njit(nogil=True)
def integer(base, at, length):
    """Return whether a text is an int that `java_int` reads, and its value."""
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
    """Return the value of a decimal digit in two or three bytes (-1 for anything else) and its number of bytes."""
    first = byte(base, at)
    more = 1 if 0xC2 <= first <= 0xDF else 2 if first & 0xF0 == 0xE0 else 0
    if more == 0 or at + more >= end:
        return -1, 1
    unit = first & (0x1F if more == 1 else 0x0F)
    for n in range(1, more + 1):
        following = byte(base, at + n)
        if following & 0xC0 != 0x80:
            return -1, 1
        unit = unit << 6 | following & 0x3F
    if more == 1 or unit >= 0x800:
        for zero in _ZEROS:
            if zero <= unit <= zero + 9:
                return unit - zero, more + 1
    return -1, 1


def integer_of(text: bytes) -> int | None:
    """Return the int that the kernel reads from a text, None if it reads none."""
    data = text + b"\0"  # the kernel reads the first byte of an empty text too
    is_int: bool
    value: int
    is_int, value = integer(np.frombuffer(data, np.uint8).ctypes.data, 0, len(text))
    return value if is_int else None


@njit(nogil=True)
def backward(base, at, length):
    """Return whether a text is ten digits, and their number; the first digit is the lowest."""
    if length != 10:
        return False, 0
    value = 0
    for n in range(9, -1, -1):
        digit = byte(base, at + n) - 48
        if digit < 0 or digit > 9:
            return False, 0
        value = value * 10 + digit
    return True, value


@njit(nogil=True, inline="always")
def is_true(base, at, length):
    return length == 4 and (word(base, at) | 0x20202020) & 0xFFFFFFFF == _TRUE


@njit(nogil=True, inline="always")
def java_hash(base, at, length):
    """Return whether a text is UTF-8, and its hash in Java, which is computed over units of 16 bits."""
    value, done = 0, length & 7
    # Eight bytes at a time. Zeros in front of the first bytes do not change the hash.
    block = word(base, at) << 8 * (8 - done) if done else 0
    while True:
        if block & _HIGH_BITS:
            return _wide_hash(base, at, length)
        # Horner's rule in lanes: combine bytes to pairs, pairs to fours, fours to eights.
        pairs = (block & _EVEN_BYTES) * 31 + (block >> 8 & _EVEN_BYTES)
        fours = (pairs & _EVEN_PAIRS) * _P2 + (pairs >> 16 & _EVEN_PAIRS)
        value = value * _P8 + (fours & 0xFFFFFFFF) * _P4 + (fours >> 32)
        if done >= length:
            break
        block = word(base, at + done)
        done += 8
    return True, (value & 0xFFFFFFFF ^ 0x80000000) - 0x80000000


@njit(nogil=True, inline="always")
def is_text(base, at, length):
    """Return whether bytes are UTF-8."""
    end = at + length
    while at < end:
        block = word(base, at) if end - at >= 8 else word(base, at) & ((1 << 8 * (end - at)) - 1)
        if block & _HIGH_BITS:
            return _wide_hash(base, at, end - at)[0]
        at += 8
    return True


@njit(nogil=True)
def _wide_hash(base, at, length):
    """Return the same as `java_hash`, unit by unit."""
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
        for n in range(1, more + 1):
            following = byte(base, here + n)
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
