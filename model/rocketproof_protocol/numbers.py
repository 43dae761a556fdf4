"""Numbers and booleans in texts, as Java reads them: the only reader of numbers on the wire and in a broker's files.

The only exception is the kernel `stored/texts.integer` of rocketproof_traces, which reads the same ints. `Integer.parseInt` and
`Long.parseLong` accept an optional sign and then digits: ASCII digits or any other decimal digits of one UTF-16 unit (`"٣"`, `"３"`). They
reject blanks, `_` and the empty text; Python's `int` accepts some of these. `tests/data/java_numbers.json` was computed with Java 17, and a
slow test computes it again.
"""

from __future__ import annotations

import math
import re
import unicodedata
from typing import Final

INT: Final = range(-(2**31), 2**31)
"""The values of a Java int."""
LONG: Final = range(-(2**63), 2**63)
"""The values of a Java long."""
_DIGITS_OF_A_LONG: Final = 19
_HEXADECIMAL: Final = re.compile("[0-9A-Fa-f]+")


def java_int(text: str) -> int | None:
    """Return the result of `Integer.parseInt`, or None if it throws NumberFormatException."""
    return _parsed(text, INT)


def java_long(text: str) -> int | None:
    """Return the result of `Long.parseLong`, or None if it throws NumberFormatException."""
    return _parsed(text, LONG)


def is_digits(text: str) -> bool:
    """Return whether a text consists of ASCII digits only, like the file names of a store."""
    return text.isascii() and text.isdecimal()


def hexadecimal(text: str) -> int:
    """Return the number in a text of ASCII hexadecimal digits. Raises ValueError for any other text."""
    if not _HEXADECIMAL.fullmatch(text):
        raise ValueError(f"{text[:40]!r} is not a hexadecimal number")
    return int(text, 16)


def java_boolean(text: str | None) -> bool:
    """Return the result of `Boolean.parseBoolean`: true for "true" in any case, else false."""
    return text is not None and text.lower() == "true"


def whole_number(value: object, within: range = LONG) -> int:
    """Return the whole number in a JSON value or a text. A text is read as Java reads it, and a fraction is cut off.

    Raises ValueError for a text that is not a number and for a number that is not `within`, TypeError for any other value.
    """
    if isinstance(value, str):
        number = _parsed(value, within)
    elif isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        number = int(value) if int(value) in within else None
    elif isinstance(value, float):
        number = None
    else:
        raise TypeError(f"{type(value).__name__} instead of a number")
    if number is None:
        raise ValueError(f"{str(value)[:40]!r} is not a whole number from {within.start} to {within.stop - 1}")
    return number


def _parsed(text: str, within: range) -> int | None:
    digits = text[1:] if text.startswith(("+", "-")) else text
    if not digits.isdecimal() or (not digits.isascii() and max(digits) > "\uffff"):  # Java reads a text by its UTF-16 units
        return None
    if len(digits) > _DIGITS_OF_A_LONG:
        ascii_digits = digits if digits.isascii() else "".join(str(unicodedata.decimal(digit)) for digit in digits)
        digits = ascii_digits.lstrip("0") or "0"
        if len(digits) > len(str(within.stop)):
            return None
    number = -int(digits) if text.startswith("-") else int(digits)
    return number if number in within else None


__all__ = ["INT", "LONG", "hexadecimal", "is_digits", "java_boolean", "java_int", "java_long", "whole_number"]
