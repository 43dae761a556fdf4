"""Java's arithmetic, strings, maps and exceptions, where they differ from Python's.

An int has 32 bits and wraps. A remainder has the sign of the dividend. The absolute value of the smallest int is itself. A string's length
counts UTF-16 units.
"""

from __future__ import annotations

import sys
from functools import lru_cache

from rocketproof_protocol.numbers import java_boolean, java_int, java_long

INT_MIN, INT_MAX = -(2**31), 2**31 - 1
LONG_MIN, LONG_MAX = -(2**63), 2**63 - 1
CACHED_NAMES = 512
"""The order of names is cached up to this many characters. Clients choose the names; the cache has 4096 entries."""
_UTF_16 = f"utf-16-{sys.byteorder[0]}e"  # in the machine's own order


class JavaError(Exception):
    """An exception of the described system: its Java class and message, as a remark shows them (REM-08)."""

    def __init__(self, kind: str, message: str | None = None) -> None:
        super().__init__(kind if message is None else f"{kind}: {message}")
        self.kind = kind
        self.message = message


def null_pointer() -> JavaError:
    """Return the exception that Java throws when a null is used."""
    return JavaError("java.lang.NullPointerException")


def wrap(value: int) -> int:
    """Return `value` as a 32-bit int."""
    return ((value + 2**31) & 0xFFFFFFFF) - 2**31


def wrap_long(value: int) -> int:
    """Return `value` as a 64-bit long."""
    return ((value + 2**63) & 0xFFFF_FFFF_FFFF_FFFF) - 2**63


def remainder(dividend: int, divisor: int) -> int:
    """Return Java's `%`, which has the sign of the dividend. Raises JavaError for a divisor of 0."""
    if divisor == 0:
        raise JavaError("java.lang.ArithmeticException", "/ by zero")
    rest = abs(dividend) % abs(divisor)
    return -rest if dividend < 0 else rest


def absolute(value: int) -> int:
    """Math.abs of an int: the smallest int stays negative."""
    return wrap(abs(value))


def length(text: str) -> int:
    """String.length(): the number of UTF-16 units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def utf8(text: str) -> bytes:
    """String.getBytes(UTF_8): an unpaired surrogate becomes a question mark (PER-09)."""
    return text.encode("utf-8", "replace")


def string_hash(text: str) -> int:
    """String.hashCode(): 32 bits, signed (REC-04)."""
    value = 0
    for unit in text.encode() if text.isascii() else memoryview(text.encode(_UTF_16, "surrogatepass")).cast("H"):
        value = (value * 31 + unit) & 0xFFFFFFFF
    return wrap(value)


def hash_map_order(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return names in the iteration order of Java's HashMap: by slot, and within a slot in the given order.

    At least a quarter of the slots stays empty.
    """
    return _short_order(names) if sum(map(len, names)) <= CACHED_NAMES else _order(names)


def _order(names: tuple[str, ...]) -> tuple[str, ...]:
    slots = 16
    while len(names) * 4 > slots * 3:
        slots *= 2
    return tuple(sorted(names, key=lambda name: _spread(name) & slots - 1))


_short_order = lru_cache(maxsize=4096)(_order)


def _spread(name: str) -> int:
    """HashMap.hash: mix the upper half of the hash code into the lower half."""
    code = string_hash(name) & 0xFFFFFFFF
    return code ^ code >> 16


@lru_cache(maxsize=1024)
def parse_int(text: str) -> int:
    """Integer.parseInt. Raises JavaError where Java throws. Cached, because the numbers in headers repeat."""
    return _parsed(java_int(text), text)


def parse_long(text: str) -> int:
    """Long.parseLong. Raises JavaError where Java throws."""
    return _parsed(java_long(text), text)


def _parsed(number: int | None, text: str) -> int:
    if number is None:
        raise JavaError("java.lang.NumberFormatException", f'For input string: "{text}"')
    return number


parse_boolean = java_boolean
"""Boolean.parseBoolean."""


def boolean_text(value: bool) -> str:
    """Boolean.toString."""
    return "true" if value else "false"
