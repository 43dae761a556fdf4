"""Safe output of received text in terminals and files: names, remarks and bodies may contain anything, also terminal commands."""

from __future__ import annotations

import json
from typing import Any


def printable(text: str) -> str:
    """Return the text with a dot for each control character and each unpaired surrogate, which XML 1.0 cannot contain either.

    Tabs and line ends stay. Only a change of line ends changes the length.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text if text.isascii() and text.isprintable() else "".join([c if _is_printable(c) else "·" for c in text])


def _is_printable(c: str) -> bool:
    return c in "\n\t" or (" " <= c and not "\x7f" <= c <= "\x9f" and not "\ud800" <= c <= "\udfff" and c not in "\ufffe\uffff")


def one_line(text: str) -> str:
    """Return the printable text in one line."""
    return " ".join(printable(text).split())


def json_text(value: Any, **options: Any) -> str:
    """Return JSON that a UTF-8 file can hold: letters stay as they are, and an unpaired surrogate becomes a JSON escape."""
    text = json.dumps(value, ensure_ascii=False, **options)
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()
