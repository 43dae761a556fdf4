"""Rewrites the text of a term for Python's parser: names that are not identifiers in Python get substitutes.

Elements may be called `broker-a` or `producer 0`, values of an enumeration `not` or `<busy>`, and `x'` is x after a step. Each becomes an
identifier, and so does the number of a tuple's part in `pair.0`. Columns are mapped back to the text that was typed.
"""

from __future__ import annotations

import keyword
import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

AFTER = "__after__"
"""The attribute that represents a prime."""
PART = "__part__"
"""The prefix of the attribute for the number of a tuple's part."""
_NO_NAMES = ("True", "False", "None")
_CLOSES = r"(?=\s*(?:[)\]},]|$|[=!]=|if\b|else\b))"
"""Text that can follow a name but not an operator of the same spelling, such as `not`."""


@dataclass(frozen=True)
class Spelled:
    """Text for Python's parser. `names` maps substitutes to names; `starts` are where pieces begin, here and in the typed text."""

    text: str
    names: dict[str, str]
    starts: tuple[tuple[int, int], ...]

    def column(self, offset: int) -> int:
        """Return the column in the typed text, counted from 1, for an offset in bytes of UTF-8, as Python's parser counts."""
        at = len(self.text.encode()[:offset].decode(errors="ignore"))
        here, typed = self.starts[max(0, bisect_right(self.starts, (at, 1 << 30)) - 1)]
        return typed + (at - here) + 1


def spell(text: str, words: Iterable[str]) -> Spelled:
    """Replace the words that are no identifiers in Python by substitutes."""
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
                r"(?P<joined>(?<![\w.])\d+(?=(?:if|else|and|or|in|is|for|not)\b))",  # Python warns about `1if`
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

    for match in pattern.finditer(text):
        put(text[done : match.start()], done)
        done = match.end()
        if match.lastgroup == "name":
            substitute = f"__name_{len(names)}__"
            names[substitute] = match[0]
            put(substitute, match.start())
        elif match.lastgroup == "joined":
            put(f"{match[0]} ", match.start())
        elif match.lastgroup == "prime":
            put(f".{AFTER} ", match.start())
        elif match.lastgroup == "part":
            put(f".{PART}{match[0][1:]}", match.start())
        else:
            put(" " if match.lastgroup == "space" else match[0], match.start())
    put(text[done:], done)
    return Spelled("".join(pieces), names, tuple(starts) or ((0, 0),))


def _bounded(word: str) -> str:
    """Return a pattern that matches the word where it is no part of a longer word."""
    before = r"(?<![\w-])" if re.match(r"\w", word) else ""
    after = r"(?![\w-])" if re.search(r"\w$", word) else ""
    return f"{before}{re.escape(word)}{after}"


__all__ = ["AFTER", "PART", "Spelled", "spell"]
