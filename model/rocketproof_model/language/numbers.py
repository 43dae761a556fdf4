"""The meaning of operations on numbers: Java's remainder and 32-bit folding in plain Python."""

from __future__ import annotations

from collections.abc import Callable


def java_rem(x: int, y: int) -> int:
    """Return Java's %: truncated, with the sign of the dividend. Raises ZeroDivisionError like the JVM's ArithmeticException."""
    r = abs(x) % abs(y)
    return -r if x < 0 else r


def fold32(x: int) -> int:
    """Return the two's complement of the low 32 bits."""
    return (x + 2**31) % 2**32 - 2**31


# The operations of two numbers, for folding constants and for the interpreter.
BINARY: dict[str, Callable[[int, int], int]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "rem": java_rem,
    "owner": lambda x, y: x // y,
    "bitand": lambda x, y: x & y,
    "bitor": lambda x, y: x | y,
    "bitandnot": lambda x, y: x & ~y,
    "lt": lambda x, y: int(x < y),
    "le": lambda x, y: int(x <= y),
    "eq": lambda x, y: int(x == y),
}
