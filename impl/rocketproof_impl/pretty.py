"""JSON as a broker's files have it, quickly for tables of thousands of entries of which one has changed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def pretty(data: Any) -> str:
    """One tab a level, no blank after colons."""
    return json.dumps(data, indent="\t", separators=(",", ":"), ensure_ascii=False)


class PrettyTable:
    """A file's text, which is `pretty` of its data. The entries of one of its parts, the table, are kept as text from one time to the
    next: each new group or topic writes the whole file (PER-01), and three thousand of them held a broker for a minute."""

    __slots__ = ("_kept", "_table")

    def __init__(self, table: str) -> None:
        self._table = table
        self._kept: dict[str, tuple[Any, str]] = {}

    def text(self, data: Mapping[str, Any]) -> str:
        """The whole text. A field of an entry has one type: 1 and True are taken for the same."""
        parts = (self._entries(part) if name == self._table and part else _indented(part, 1) for name, part in data.items())
        return _object(zip(data, parts, strict=True), 0)

    def _entries(self, table: Mapping[str, Any]) -> str:
        known, self._kept = self._kept, {}
        for name, entry in table.items():
            before = known.get(name)
            self._kept[name] = before if before is not None and before[0] == entry else (entry, _indented(entry, 2))
        return _object(((name, text) for name, (_, text) in self._kept.items()), 1)


def _indented(data: Any, level: int) -> str:
    return pretty(data).replace("\n", "\n" + "\t" * level)


def _object(parts: Any, level: int) -> str:
    inner, outer = "\n" + "\t" * (level + 1), "\n" + "\t" * level
    return "{" + ",".join(f"{inner}{json.dumps(name, ensure_ascii=False)}:{text}" for name, text in parts) + outer + "}"
