"""What others said, for terminals and files: names, remarks and bodies may hold anything, also what a terminal takes for a command."""

from __future__ import annotations

import json
from typing import Any


def printable(text: str) -> str:
    """The text with a dot for each control character and each half of a surrogate pair, which XML 1.0 cannot hold either; tabs and ends
    of lines stay. It is as long as before but for ends of lines."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text if text.isascii() and text.isprintable() else "".join([c if _is_printable(c) else "·" for c in text])


def _is_printable(c: str) -> bool:
    return c in "\n\t" or (" " <= c and not "\x7f" <= c <= "\x9f" and not "\ud800" <= c <= "\udfff" and c not in "\ufffe\uffff")


def one_line(text: str) -> str:
    """All of it in one line."""
    return " ".join(printable(text).split())


def json_text(value: Any, **options: Any) -> str:
    """JSON that a file in UTF-8 can hold: letters stay as they are, and half a surrogate pair is the escape that JSON has for it."""
    text = json.dumps(value, ensure_ascii=False, **options)
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()
