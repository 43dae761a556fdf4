"""Text as the formats take it: what a broker or a file said may hold control characters, markup and commands of a build's log."""

from __future__ import annotations

import re
from typing import Final

_SPECIAL: Final = re.compile(r"([\\`*_{}\[\]<>#|~!&$@])")
_ENTITIES: Final = {"<": "&lt;", ">": "&gt;", "&": "&amp;", "@": "&#64;"}


def printable(text: str) -> str:
    """Without what XML 1.0 cannot hold: a dot stands for each control character; tabs and ends of lines stay."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return "".join(c if _is_printable(c) else "·" for c in text)


def _is_printable(c: str) -> bool:
    return c in "\n\t" or (" " <= c and not "\x7f" <= c <= "\x9f" and not "\ud800" <= c <= "\udfff" and c not in "\ufffe\uffff")


def one_line(text: str) -> str:
    """All of it in one line."""
    return " ".join(printable(text).split())


def shortened(text: str, most: int) -> str:
    """At most so many characters."""
    return text if len(text) <= most else text[: most - 1] + "…"


def in_markdown(text: str) -> str:
    """One line that Markdown, also in a cell of a table, shows as it is."""
    return _SPECIAL.sub(lambda found: _ENTITIES.get(found[0], f"\\{found[0]}"), one_line(text))


def code_block(text: str) -> str:
    """Lines that Markdown shows as they are; the fence is longer than any in the text."""
    body = printable(text).rstrip("\n")
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", body)), default=0))
    return f"{fence}text\n{body}\n{fence}"
