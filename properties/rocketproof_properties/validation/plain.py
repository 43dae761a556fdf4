"""Values without what depends on a program, so that the values of different programs can be compared."""

from __future__ import annotations

import json
import re
from typing import Any

from ..brokers.runs.parsed import ParsedHistory

_NUMBER = re.compile(r"-?[0-9]+")
_INSIDE = re.compile(r"\[[^\]\[]*\]")
_ID = re.compile(r"\b[0-9A-F]{16,}\b")
_PORT = re.compile(r"[0-9]+(\.[0-9]+){3}:[0-9]+")
MOST = 80
"""Number of characters of a text that distinguish causes."""


def plain(value: Any, history: ParsedHistory) -> str:
    """Return a value without what depends on the program: names, numbers, and text in brackets."""
    if isinstance(value, list) and len(value) == 2 and isinstance(value[0], int):
        return f"{value[0]}: {plain(value[1], history)}"  # a response's code, with its remark
    if isinstance(value, dict):
        return "an entry"
    if not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False, default=lambda data: f"{len(data)} bytes")
    prefix = history.names.prefix
    text = re.sub(re.escape(prefix) + r"[^,\]]*", "*", value) if prefix else value
    return _NUMBER.sub("#", _INSIDE.sub("[…]", _ID.sub("#", _PORT.sub("#", text))))[:MOST]
