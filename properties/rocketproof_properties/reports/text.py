"""Text as the formats take it: what a broker or a file said may hold control characters, markup and commands of a build's log."""

from __future__ import annotations

import re
from typing import Final

from rocketproof_protocol.shown import one_line, printable

_SPECIAL: Final = re.compile(r"([\\`*_{}\[\]<>#|~!&$@])")
_ENTITIES: Final = {"<": "&lt;", ">": "&gt;", "&": "&amp;", "@": "&#64;"}


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
