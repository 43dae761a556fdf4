"""Escape text for each report format. A broker's text or a file may contain control characters, markup and workflow commands."""

from __future__ import annotations

import re
from typing import Final

from rocketproof_protocol.shown import one_line, printable

_SPECIAL: Final = re.compile(r"([\\`*_{}\[\]<>#|~!&$@])")
_ENTITIES: Final = {"<": "&lt;", ">": "&gt;", "&": "&amp;", "@": "&#64;"}


def shortened(text: str, most: int) -> str:
    """Cut a text to at most `most` characters."""
    return text if len(text) <= most else text[: most - 1] + "…"


def in_markdown(text: str) -> str:
    """Return a text as one line that Markdown shows literally, also in a table cell."""
    return _SPECIAL.sub(lambda match: _ENTITIES.get(match[0], f"\\{match[0]}"), one_line(text))


def code_block(text: str) -> str:
    """Return lines as a code block. Its fence is longer than any sequence of backticks in the text."""
    body = printable(text).rstrip("\n")
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", body)), default=0))
    return f"{fence}text\n{body}\n{fence}"
