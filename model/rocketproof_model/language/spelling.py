"""The text of a term as text that Python's parser takes: names that are none in Python stand in for themselves.

Elements may be called `broker-a` or `producer 0`, values of an enumeration `not` or `<busy>`, and `x'` is x after a step. Each of these
becomes a name of Python's, and so does the number of a tuple's part in `pair.0`; a column there is found again in the text that was typed.
"""

from __future__ import annotations

import keyword
import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

AFTER = "__after__"
"""The attribute that stands for a prime."""
PART = "__part__"
"""What comes before the number of a tuple's part, where that is an attribute."""
_NO_NAMES = ("True", "False", "None")
_CLOSES = r"(?=\s*(?:[)\]},]|$|[=!]=|if\b|else\b))"
"""What follows a name and cannot follow an operator of the same spelling, such as `not`."""


@dataclass(frozen=True)
class Spelled:
    """Text for Python's parser; `names` are the words that stand-ins mean, `starts` where pieces begin, here and in what was typed."""

    text: str
    names: dict[str, str]
    starts: tuple[tuple[int, int], ...]

    def column(self, offset: int) -> int:
        """The column, counted from 1, of what was typed, for an offset in bytes of UTF-8, as Python's parser counts."""
        at = len(self.text.encode()[:offset].decode(errors="ignore"))
        here, typed = self.starts[max(0, bisect_right(self.starts, (at, 1 << 30)) - 1)]
        return typed + (at - here) + 1


def spell(text: str, words: Iterable[str]) -> Spelled:
    """Put stand-ins for those of the words that are no names in Python."""
    odd = sorted({word for word in words if word and not word.isidentifier()}, key=len, reverse=True)
    reserved = sorted({word for word in words if keyword.iskeyword(word) and word not in _NO_NAMES})
    parts = [_bounded(word) for word in odd]
    parts += [rf"(?<![\w.]){word}(?!\w){_CLOSES}" for word in reserved]
    pattern = re.compile(
        "|".join(
            [
                *([f"(?P<name>{'|'.join(parts)})"] if parts else []),
                r"(?P<prime>(?<=[\w\])])')",
                r"(?P<number>(?<![\w.])\d+\.\d+)",
                r"(?P<part>(?<=[\w\]])\.\d+\b)",
                r"""(?P<quoted>"[^"\n]*"|'[^'\n]*')""",
                r"(?P<space>\s+)",
            ]
        )
    )
    pieces: list[str] = []
    starts: list[tuple[int, int]] = []
    names: dict[str, str] = {}
    here = done = 0

    def put(piece: str, typed: int) -> None:
        nonlocal here
        if piece:
            starts.append((here, typed))
            pieces.append(piece)
            here += len(piece)

    for found in pattern.finditer(text):
        put(text[done : found.start()], done)
        done = found.end()
        if found.lastgroup == "name":
            stand_in = f"__name_{len(names)}__"
            names[stand_in] = found[0]
            put(stand_in, found.start())
        elif found.lastgroup == "prime":
            put(f".{AFTER}", found.start())
        elif found.lastgroup == "part":
            put(f".{PART}{found[0][1:]}", found.start())
        else:
            put(" " if found.lastgroup == "space" else found[0], found.start())
    put(text[done:], done)
    return Spelled("".join(pieces), names, tuple(starts) or ((0, 0),))


def _bounded(word: str) -> str:
    """A pattern that finds the word where it is no part of a longer one."""
    before = r"(?<![\w-])" if re.match(r"\w", word) else ""
    after = r"(?![\w-])" if re.search(r"\w$", word) else ""
    return f"{before}{re.escape(word)}{after}"


__all__ = ["AFTER", "PART", "Spelled", "spell"]
